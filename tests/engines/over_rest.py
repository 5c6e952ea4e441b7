"""Runs collections whose catalog is a REST server.

Usage: `python -m tests.engines.over_rest FOLDER ADDRESS PACKAGE`. It is a process of its own,
because the process of the tests has a JVM with another catalog.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.engines.script import lose_a_race, open_project, run_script
from tests.engines.servers import settings


def main() -> None:
    """Run everything. The process fails with the first check that fails."""
    folder, address, package = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    given = settings(folder) | {
        "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.uri": address,
    }
    # The server knows the warehouse.
    del (
        given["spark.sql.catalog.lake.warehouse"],
        given["spark.sql.catalog.lake.jdbc.schema-version"],
    )
    project = open_project(folder, "rested", given, package)
    run_script(project)
    lose_a_race(project)


if __name__ == "__main__":
    main()
