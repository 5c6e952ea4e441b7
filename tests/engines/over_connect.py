"""Runs collections over a Spark Connect server.

Usage: `python -m tests.engines.over_connect FOLDER PORT PACKAGE`. It is a process of its own,
because a process has either a Spark session of its own or one of Spark Connect.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.engines.script import lose_a_race, open_project, run_script
from tests.engines.servers import LOOPBACK


def main() -> None:
    """Run everything. The process fails with the first check that fails."""
    folder, port, package = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    given = {"spark.remote": f"sc://{LOOPBACK}:{port}"}
    project = open_project(folder, "connected", given, package)
    run_script(project)
    lose_a_race(project)


if __name__ == "__main__":
    main()
