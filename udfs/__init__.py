"""The Python side of trueup, which dbt finds as a plugin.

dbt imports every installed module named `dbt_*`, in every project of the environment. So nothing
heavy is imported here, and nothing happens until a Spark session starts.
"""

from __future__ import annotations

from typing import ClassVar

from dbt.plugins.manager import dbtPlugin


class TrueupPlugin(dbtPlugin):
    """Prepares the Spark sessions that dbt starts in this process; see `session`."""

    def initialize(self) -> None:
        """Wrap the start of Spark sessions. Called by dbt once per project that it loads."""
        from . import session  # noqa: PLC0415 - imports pyspark, which not every project has

        session.install()


plugins: ClassVar = [TrueupPlugin]
