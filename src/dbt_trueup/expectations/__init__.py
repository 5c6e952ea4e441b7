"""Check a collection with Great Expectations: one command, a checkpoint, and Data Docs.

`trueup check files`, run in a dbt project, asks dbt what must hold of the collection `files`. It
opens the Spark session of dbt's profile, and runs a checkpoint over the tables of the collection.
It needs `pip install "dbt-trueup[expectations]"`.
"""

from __future__ import annotations

from .collection import read_collection

__all__ = ["read_collection"]
