"""Lets macros see how dbt connects to Spark, as `target.method`."""

from __future__ import annotations

from functools import wraps

from dbt.adapters.spark.connections import SparkCredentials


def install() -> None:
    """Add the method of the connection to dbt's `target`. Calling this again has no effect.

    Only with the method `session` a run surely has a Spark session of its own.
    """
    connection_keys = SparkCredentials._connection_keys  # noqa: SLF001 - dbt's own hook
    if hasattr(connection_keys, "has_method"):
        return

    @wraps(connection_keys)
    def keys_with_method(credentials: SparkCredentials) -> tuple[str, ...]:
        return (*connection_keys(credentials), "method")

    keys_with_method.has_method = True  # type: ignore[attr-defined]
    SparkCredentials._connection_keys = keys_with_method  # type: ignore[method-assign,assignment]  # noqa: SLF001
