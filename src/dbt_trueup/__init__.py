"""The Python side of trueup, which dbt finds as a plugin.

dbt imports every installed module whose name begins with `dbt_`, in every project of the
environment. So this file imports nothing heavy, and nothing happens until a Spark session starts.
"""

from __future__ import annotations

from dbt.plugins.manager import dbtPlugin


class TrueupPlugin(dbtPlugin):
    """Prepares the Spark sessions that dbt starts in this process."""

    def initialize(self) -> None:
        """Wrap the start of Spark sessions and their statements. dbt calls it for every project."""
        from .plugin import session, statements  # noqa: PLC0415 - these import pyspark, a heavy one

        session.install()
        statements.install()


plugins = [TrueupPlugin]
