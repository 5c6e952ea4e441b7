"""Lands the messages of a source: appends them to a table, each with its place in the source.

A message may be landed twice. This is harmless, because a collection finds two commands with one
order and one content equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_trueup import dbt
from dbt_trueup.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession


def open_session(options: Sequence[str]) -> SparkSession:
    """Return the Spark session of a project, for dbt's options."""
    dbt.query(options, "select 1 as one")
    session = dbt.spark_session()
    if session is None:
        message = "`trueup land` must have a target with the method `session`, for Spark's readers."
        raise UsageError(message)
    return session


def create_table(session: SparkSession, table: str, columns: Mapping[str, str]) -> None:
    """Create the table of the messages, and its schema, if they are missing."""
    schema, _, name = table.rpartition(".")
    if not schema or not name:
        message = f"TABLE must have its schema, as in cdc.messages.\nGot: {table}"
        raise UsageError(message)
    session.sql(f"create namespace if not exists {schema}")
    session.sql(f"create table if not exists {table} ({declared(columns)})")


def declared(columns: Mapping[str, str]) -> str:
    """Return columns as SQL declares them.

    Example:
        >>> declared({"lsn": "bigint", "value": "string"})
        'lsn bigint, value string'
    """
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())
