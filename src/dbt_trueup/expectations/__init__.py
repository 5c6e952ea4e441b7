"""Check a collection with Great Expectations: one command, a checkpoint, and Data Docs.

`trueup check files`, run in a dbt project, asks dbt what must hold of the collection `files`. It
opens the Spark session of dbt's profile, and runs a checkpoint over the tables of the collection.
It needs `pip install "dbt-trueup[expectations]"`.

A program can take the suite, add expectations of its own, and run it in its own context:

    from dbt_trueup.expectations import read_collection
    from dbt_trueup.expectations.suite import build_suite

    collection = read_collection("files", max_errors=10)
    suite = build_suite(collection)

`read_collection` lets dbt start the Spark session, so call it before any other use of Spark. Build
the suite again for each run: its queries name the columns that the collection has now.
"""

from __future__ import annotations

from .collection import Check, Collection, read_collection

__all__ = ["Check", "Collection", "read_collection"]
