"""Check a collection with Great Expectations: one command, a checkpoint, and Data Docs.

`trueup check files` is run in a dbt project. It asks dbt what must hold of the
collection `files`, opens the Spark session of dbt's profile, and runs a checkpoint over its tables.
It needs `pip install "dbt-trueup[expectations]"`.
"""

from __future__ import annotations

from .collection import read_collection

__all__ = ["read_collection"]
