"""Runs `trueup watch` over a project in a Spark session while its log grows."""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

from dbt_trueup.runner import growth
from dbt_trueup.runner.project import Project as WatchedProject
from dbt_trueup.watch import loop
from tests.acceptance import Column
from tests.oracle import Command
from tests.runner.fakes import Printed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.project import Project

PATIENCE = 120
"""Seconds after which a test gives up; a round takes about two."""


def put(ts: int, key: str = "a") -> Command:
    return Command(ts, (1,), (key,), (f"value {ts}",))


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """Two collections, the first one with a command, and views over it and an ephemeral model."""
    made = new_project("watched")
    for name in ("c", "other"):
        made.add_collection(name, [Column("k", "string")], [Column("v", "string")])
    made.write("models/one.sql", "{{ config(materialized='ephemeral') }} select 1 as x")
    made.write("models/two.sql", "{{ config(materialized='view') }} select * from {{ ref('one') }}")
    made.write("models/sum_desired.sql", "select count(*) as n from {{ ref('c') }}")
    made.append("c", [put(1)])
    return made


class Watcher:
    """Runs the loop in its own thread, and keeps the lines that it prints."""

    def __init__(self, project: Project) -> None:
        """Start the loop. It runs again only if its input grows."""
        self.lines = Printed()
        self.stop = Event()
        runs = WatchedProject(["--project-dir", str(project.folder)], [])
        arguments = (runs, 3600, 0.1, self.stop, self.lines)
        self.thread = Thread(target=loop.repeat, args=arguments)
        self.thread.start()

    def wait_for(self, text: str) -> str:
        """Wait for a line that contains a text, and return it."""
        end = monotonic() + PATIENCE
        while not (found := [line for line in self.lines if text in line]):
            assert self.thread.is_alive(), self.lines
            assert monotonic() < end, self.lines
            sleep(0.05)
        return found[0]


@pytest.fixture
def watcher(project: Project) -> Iterator[Watcher]:
    started = Watcher(project)
    yield started
    started.stop.set()
    started.thread.join()


def test_appended_commands_become_visible_even_beside_a_failing_model(
    project: Project, watcher: Watcher
) -> None:
    watcher.wait_for("c_changelog: batch 1: 1 update, upper 2")
    # The state of c is under `sum_desired`, but a round writes it itself.
    watcher.wait_for("looks at lake.watched.c_log, lake.watched.other_log every 0.1 s")
    assert project.rows("c") == [("a", "value 1")]

    project.append("c", [put(2), put(3, "b")])
    watcher.wait_for("c_changelog: batch 2: 3 updates, upper 4")
    assert sorted(project.rows("c")) == [("a", "value 2"), ("b", "value 3")]

    # Only the seven models of the collection whose log has grown run.
    project.append("other", [put(1)])
    line = watcher.wait_for("other_changelog: batch 1: 1 update, upper 2")
    assert " 7 models in " in line, watcher.lines

    # The project is parsed again. The log is settled although another model fails.
    project.write("models/broken.sql", "{{ config(materialized='table') }} select raise_error('!')")
    project.append("c", [put(4, "c")])
    watcher.wait_for("c_changelog: batch 3: 1 update, upper 5")
    watcher.wait_for("failed")
    assert ("c", "value 4") in project.rows("c")
    watcher.stop.set()
    watcher.wait_for("stopped after")
    failures = [line for line in watcher.lines if "failed" in line]
    assert all("s; broken: " in line and "\n" not in line for line in failures), failures


def test_a_select_over_another_table_settles_after_growth_of_its_input(
    new_project: Callable[[str], Project],
) -> None:
    project = new_project("watched_select")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    project.write("models/days.sql", "{{ config(materialized='table') }} select 1 as day")
    select = "select k, day from {{ ref('c') }} cross join {{ ref('days') }}"
    project.add_select("by_day", select, ["k"], of=["c"])
    project.append("c", [put(1)])
    runs = WatchedProject(["--project-dir", str(project.folder)], [])
    runs.run()
    before = runs.look()
    project.append("c", [put(2, "b")])
    done = runs.run(loop.changes(before, runs.look()))
    assert not done.failures
    assert project.progress("by_day")[-1]._upper == project.progress("c")[-1]._upper == 3


def versions(*names: str, own: str = "") -> dict[str, str | None]:
    """Return the versions of the tables under some names but the model's own."""
    found = growth.tables(dict.fromkeys(names, frozenset({"reader"})), {"writer": own})
    assert all(table.readers == {"reader"} for table in found)
    return {table.name: table.version for table in found if table.writer is None}


def test_a_commit_changes_the_version_of_a_table_and_files_have_none(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    name = project.name
    spark.sql(f"create table {name}.grows (x int) using iceberg")
    spark.sql(f"create view {name}.over as with c as (select * from {name}.grows) select * from c")
    chosen = f"select 1 where 1 in (select x from {name}.grows)"
    spark.sql(f"create or replace temporary view chosen as {chosen}")
    spark.sql(f"create or replace temporary view nothing as select 1 from {name}.grows, values (2)")
    spark.range(1).write.parquet(str(tmp_path / "files"))
    spark.read.parquet(str(tmp_path / "files")).createOrReplaceTempView("files_of_a_folder")
    table = f"lake.{name}.grows"
    before = versions(f"{name}.over", "nothing")
    assert list(before) == [table]
    assert versions("chosen") == before
    assert versions(f"`{name}`.`grows`") == before
    spark.sql(f"insert into {name}.grows values (1)")
    after = versions(f"{name}.over")
    assert after[table] != before[table]
    assert versions(f"{name}.over", own=f"`{name}`.`grows`") == {}
    assert versions(f"{name}.over", own=f"raw.{name}.grows") == after
    assert versions("files_of_a_folder") == {"the data of files_of_a_folder": None}
    # A SELECT that is a table: its model writes it, so it is no growth.
    (itself,) = growth.tables({f"{name}.grows": frozenset("w")}, {"w": f"`{name}`.`grows`"})
    assert itself.writer == "w"
    assert versions("not_there") == {"not_there": "AnalysisException"}


def test_a_log_of_files_is_named_although_no_source_names_it(
    new_project: Callable[[str], Project], tmp_path: Path
) -> None:
    project = new_project("watched_files")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    files = f"spark_catalog.{project.name}.c_files"
    project.sql("create database if not exists spark_catalog.{}")
    project.sql(
        f"create table {files} using parquet location '{tmp_path / 'files'}'"
        " as select * from {}.c_log"
    )
    path = "models/c/c_commands.sql"
    text = (project.folder / path).read_text()
    project.write(path, text.replace(f"{project.name}.c_log", files))
    runs = WatchedProject(["--project-dir", str(project.folder)], [])
    assert not runs.run().failures
    assert loop.describe_tables(runs.look(), 60, 1) == (f"cannot see {files} grow; runs every 60 s")
    project.sql(f"drop table {files}")
    assert loop.describe_tables(runs.look(), 60, 1) == (
        f"cannot see {project.name}.c_commands grow; runs every 60 s"
    )


def test_a_table_grows_even_if_one_view_reads_an_old_version_of_it(
    spark: SparkSession, project: Project
) -> None:
    table = f"{project.name}.travels"
    spark.sql(f"create table {table} (x int) using iceberg")
    spark.sql(f"insert into {table} values (1)")
    [first] = spark.table(f"{table}.snapshots").collect()
    old = f"select * from {table} version as of {first.snapshot_id}"
    spark.sql(f"create or replace temporary view a_new as select * from {table}")
    spark.sql(f"create or replace temporary view b_old as {old}")
    before = versions("a_new", "b_old")
    spark.sql(f"insert into {table} values (2)")
    assert versions("a_new", "b_old") != before
    assert versions("b_old").keys() == before.keys()
