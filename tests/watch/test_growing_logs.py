"""Runs `trueup watch` over a project in a Spark session while its log grows."""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.runner import growth
from dbt_trueup.runner.project import Project as WatchedProject
from dbt_trueup.watch import loop
from tests.runner.fakes import Printed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.project import Project

PATIENCE = 120
"""Seconds after which a test gives up; a round takes about two."""


def add_collection(project: Project, name: str) -> None:
    """Write the model of a collection, and create its log."""
    project.sql(f"create table {{}}.{name}_log (k string, at bigint, v string) using {{format}}")
    project.write(
        f"models/{name}.sql",
        "{{ config(materialized='trueup', unique_key='k') }}\n"
        f"{{{{ trueup.commands(relation='{project.name}.{name}_log',"
        " sequence_by=['at'], columns=['v']) }}",
    )


def append(project: Project, name: str, *commands: tuple[str, int]) -> None:
    """Append commands to the log of a collection: a key and an order."""
    project.insert(f"{name}_log", [(key, at, f"value {at}") for key, at in commands])


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """Two collections, the first one with a command, a SELECT over it, and two views."""
    made = new_project("watched")
    for name in ("c", "other"):
        add_collection(made, name)
    made.write("models/one.sql", "{{ config(materialized='ephemeral') }} select 1 as x")
    made.write("models/two.sql", "{{ config(materialized='view') }} select * from {{ ref('one') }}")
    made.write("models/c_changelog.sql", "{{ trueup.changelog('c') }}")
    made.write(
        "models/totals.sql",
        "{{ config(materialized='trueup', unique_key='v') }}\n"
        "select v, count(*) as n from {{ ref('c') }} group by v",
    )
    append(made, "c", ("a", 1))
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
    watcher.wait_for("c: batch 1: 1 command, 1 inserted")
    # The stores of c and totals are read, too, but a round writes them itself.
    watcher.wait_for("looks at lake.watched.c_log, lake.watched.other_log every 0.1 s")
    assert project.rows("c") == [("a", "value 1")]

    # The second round runs all models, too: what grew during the first one is not known.
    append(project, "c", ("a", 2), ("b", 3))
    line = watcher.wait_for("c: batch 2: 2 commands, 1 inserted, 1 updated")
    assert "totals: batch 2: " in line, watcher.lines
    assert sorted(project.rows("c")) == [("a", "value 2"), ("b", "value 3")]
    assert sorted(project.rows("totals")) == [("value 2", 1), ("value 3", 1)]

    # Only the collection whose log has grown runs.
    append(project, "other", ("a", 1))
    line = watcher.wait_for("other: batch 1: 1 command, 1 inserted")
    assert " 1 model in " in line, watcher.lines

    # The SELECT over it is computed, too, but the view c_changelog is not made again.
    append(project, "c", ("b", 4))
    line = watcher.wait_for("c: batch 3: 1 command, 1 updated")
    assert " 2 models in " in line, watcher.lines
    assert "totals: batch 3: " in line, watcher.lines
    assert len(project.sql("select * from {}.c_changelog")) == 6

    # The project is parsed again. The log is settled although another model fails.
    project.write("models/broken.sql", "{{ config(materialized='table') }} select raise_error('!')")
    append(project, "c", ("c", 5))
    watcher.wait_for("c: batch 4: 1 command, 1 inserted")
    watcher.wait_for("failed")
    assert ("c", "value 5") in project.rows("c")
    watcher.stop.set()
    watcher.wait_for("stopped after")
    failures = [line for line in watcher.lines if "failed" in line]
    assert all("s; broken: " in line and "\n" not in line for line in failures), failures


@pytest.mark.long
def test_a_select_alone_runs_when_the_collection_that_it_reads_has_grown(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("watched_select")
    add_collection(project, "c")
    project.write(
        "models/totals.sql",
        "{{ config(materialized='trueup', unique_key='n') }}\n"
        "select 1 as n, count(*) as rows from {{ ref('c') }}",
    )
    append(project, "c", ("a", 1))
    project.run("c")
    runs = WatchedProject(["--project-dir", str(project.folder)], ["--select", "totals"])
    runs.run()
    before = runs.look()
    assert f"lake.{project.name}.c__trueup" in before
    append(project, "c", ("b", 2))
    assert runs.look() == before
    project.run("c")
    done = runs.run(loop.changes(before, runs.look()))
    assert (done.models, done.failures) == (1, ())
    assert project.rows("totals") == [(1, 2)]


def model(sql: str | None, name: str = "s.reader", **given: Any) -> growth.Model:
    """Return a model that reads what its SQL reads."""
    return growth.Model(name, "trueup", [], **{"inputs": [], "sql": sql, **given})


def versions(*selects: str, **others: growth.Model) -> dict[str, str | None]:
    """Return the versions of the tables that some SELECTs read and none of the models writes."""
    readers = {f"reader {number}": model(sql) for number, sql in enumerate(selects)}
    found = growth.tables({**readers, **others})
    return {table.name: table.version for table in found if table.writer is None}


def test_a_commit_changes_the_version_of_a_table_and_files_have_none(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    name = project.name
    spark.sql(f"create table {name}.grows (x int) using iceberg")
    spark.sql(f"create view {name}.over as with c as (select * from {name}.grows) select * from c")
    over = f"with a as (select * from {name}.over) select x + 1 as y from a order by y -- the end"
    spark.range(1).write.parquet(str(tmp_path / "files"))
    table = f"lake.{name}.grows"
    before = versions(over)
    assert list(before) == [table]
    assert growth.is_version(before[table])
    assert versions(f"select 1 where 1 in (select x from {name}.grows)") == before
    assert versions(f"select 1 from `{name}`.`grows`, values (2)") == before
    spark.sql(f"insert into {name}.grows values (1)")
    after = versions(over)
    assert after[table] != before[table]
    # What a model of the round writes is no growth: its table, or its store.
    assert versions(over, writer=model("select 1", f"`{name}`.`grows`")) == {}
    assert versions(over, writer=model("select 1", f"raw.{name}.grows")) == after
    spark.sql(f"create table {name}.m__trueup (x int) using iceberg")
    of_store = f"select * from {name}.m__trueup"
    assert versions(of_store, writer=model("select 1", f"{name}.m")) == {}
    assert versions(f"select * from parquet.`{tmp_path / 'files'}`") == {
        "the data of s.reader": None
    }
    # Without SQL, the names that dbt knows are looked at.
    assert versions(python=model(None, inputs=[f"{name}.over"])) == {f"{name}.over": after[table]}


def test_a_table_that_is_missing_is_found_when_it_comes(
    spark: SparkSession, project: Project
) -> None:
    readers = {"a": model(f"select * from {project.name}.comes")}
    [missing] = growth.tables(readers)
    assert (missing.name, missing.version) == ("the tables of s.reader", None)
    spark.sql(f"create table {project.name}.comes (x int) using iceberg")
    [found] = growth.tables(readers)
    assert found.name == f"lake.{project.name}.comes"
    spark.sql(f"drop table {project.name}.comes")
    [gone] = growth.tables(readers)
    assert (gone.name, gone.version) == (found.name, "AnalysisException")


def test_what_is_no_select_is_not_executed(spark: SparkSession, project: Project) -> None:
    [table] = growth.tables({"a": model(f"create table {project.name}.made (x int) using iceberg")})
    assert not growth.is_version(table.version)
    assert not spark.catalog.tableExists(f"{project.name}.made")


def test_a_log_of_files_is_named_although_no_source_names_it(
    own_project: Callable[[str], Project], tmp_path: Path
) -> None:
    project = own_project("watched_files")
    add_collection(project, "c")
    files = f"spark_catalog.{project.name}.c_files"
    project.sql("create database if not exists spark_catalog.{}")
    project.sql(
        f"create table {files} using parquet location '{tmp_path / 'files'}'"
        " as select * from {}.c_log"
    )
    text = (project.folder / "models/c.sql").read_text()
    project.write("models/c.sql", text.replace(f"{project.name}.c_log", files))
    runs = WatchedProject(["--project-dir", str(project.folder)], [])
    assert not runs.run().failures
    assert loop.describe_tables(runs.look(), 60, 1) == f"cannot see {files} grow; runs every 60 s"


def test_a_table_grows_even_if_one_select_reads_an_old_version_of_it(
    spark: SparkSession, project: Project
) -> None:
    table = f"{project.name}.travels"
    spark.sql(f"create table {table} (x int) using iceberg")
    spark.sql(f"insert into {table} values (1)")
    [first] = spark.table(f"{table}.snapshots").collect()
    old = f"select * from {table} version as of {first.snapshot_id}"
    before = versions(f"select * from {table}", old)
    spark.sql(f"insert into {table} values (2)")
    assert versions(f"select * from {table}", old) != before
    assert versions(old).keys() == before.keys()
