"""Runs collections over a Spark Connect server.

Usage: `python -m tests.engines.over_connect FOLDER PORT PACKAGE`. It is a process of its own,
because a process has either a Spark session of its own or one of Spark Connect.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from dbt_trueup.plugin import session
from tests.acceptance import multiset
from tests.between import sent_through
from tests.engines.script import KEY, VALUE, put, run_python_aggregates, run_script
from tests.engines.servers import LOOPBACK, write_profile
from tests.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable

SLOW = "java_method('java.lang.Thread', 'sleep', 4000L) = 'null'"
"""A condition that takes four seconds for each row."""


def lose_a_race(project: Project) -> None:
    """Replace the state while an apply reads the changelog. The run says so in one line."""
    project.add_collection("replaced", KEY, VALUE)
    project.append("replaced", [put(1, "a", "first")])
    project.run("models/replaced")
    project.append("replaced", [put(2, "a", "second")])
    project.run("replaced_batch", "replaced_changelog")
    state = f"{project.name}.replaced_state"

    def send(execute: Callable[[str], None], sql: str) -> None:
        if "/* trueup: apply" in sql:
            assert "where _seq > " in sql
            sql = sql.replace("where _seq > ", f"where {SLOW} and _seq > ")
            replace = f"create or replace table {state} as select * from {state}"
            Timer(2, lambda: project.sql(replace)).start()
        execute(sql)

    with sent_through(send):
        project.run("replaced_state", fails=True)
    (said,) = project.messages
    moved = f"state moved: another run wrote to {state} at the same moment;"
    assert f"{moved} nothing is applied; run again" in said, said
    assert "\tat org." not in said, said
    project.run("models/replaced")
    assert multiset(project.rows("replaced")) == multiset([("a", "second")])


def main() -> None:
    """Run everything. The process fails with the first check that fails."""
    folder, port, package = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    given = {"spark.remote": f"sc://{LOOPBACK}:{port}"}
    write_profile(folder, given)
    session.install()
    spark = SparkSession.builder.config(map={**given}).getOrCreate()
    (folder / "project").mkdir()
    project = Project(folder / "project", "connected", spark, package)
    run_script(project, "dropped", late="drop")
    run_script(project, "corrected", late="correct")
    run_python_aggregates(project)
    lose_a_race(project)


if __name__ == "__main__":
    main()
