"""The Python side of trueup, which dbt finds as a plugin.

dbt imports every installed module whose name begins with `dbt_`, in every project of the
environment. So this file imports nothing heavy. When dbt starts a command, the plugin wraps what
dbt-spark will call. This imports pyspark, which takes about half a second.
"""

from __future__ import annotations

from dbt.plugins.manager import dbtPlugin


class TrueupPlugin(dbtPlugin):
    """Prepares the Spark sessions that dbt starts in this process."""

    def initialize(self) -> None:
        """Wrap what dbt-spark starts, sends and lists. dbt calls it for every project."""
        # These import pyspark, a heavy one.
        from .plugin import session, statements, views  # noqa: PLC0415

        session.install()
        statements.install()
        views.install()


plugins = [TrueupPlugin]
