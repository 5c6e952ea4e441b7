"""The Python side of trueup, which dbt finds as a plugin.

dbt imports every installed module named `dbt_*`, in every project of the environment. So nothing
heavy is imported here, and nothing happens until a Spark session starts.
"""

from __future__ import annotations

from dbt.plugins.manager import dbtPlugin


class TrueupPlugin(dbtPlugin):
    """Prepares the Spark sessions that dbt starts in this process; see `plugin`."""

    def initialize(self) -> None:
        """Wrap the start of Spark sessions, and their errors. Called by dbt for every project."""
        from .plugin import conflicts, session  # noqa: PLC0415 - these import pyspark, which is heavy

        session.install()
        conflicts.install()


plugins = [TrueupPlugin]
