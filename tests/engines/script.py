"""What every engine must do: batches, late commands, nothing to do, repairs, dbt's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from dbt.adapters.spark.session import Cursor
from pyspark.sql import SparkSession

from dbt_trueup.plugin import session
from tests.acceptance import Column
from tests.between import sent_through
from tests.engines.servers import write_profile
from tests.newest_oracle import Command, Newest
from tests.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]


def put(order: int, key: str, value: str | None) -> Command:
    """A command that sets a key, or deletes it if there is no value."""
    return Command((order, 1), (key,), None if value is None else (value,))


BATCHES = [
    [put(1, "a", "one"), put(1, "b", "two"), put(2, "a", "three")],
    [put(3, "b", None), put(3, "c", "four")],
    [put(2, "b", "late"), put(1, "d", "late"), put(4, "a", "five")],
]
"""The commands that arrive before each run."""


def agrees(project: Project, name: str) -> str:
    """The YAML of a collection: it must be what its log says."""
    arguments = {
        "log": f"{project.name}.{name}_log",
        "key": ["k"],
        "sequence_by": ["log_ts", "log_order"],
        "delete_when": "log_delete",
        "columns": ["v"],
    }
    test = {"trueup.agrees_with_log": {"arguments": arguments}}
    return yaml.safe_dump({"models": [{"name": name, "data_tests": [test]}]})


def open_project(folder: Path, name: str, given: Mapping[str, str], package: Path) -> Project:
    """Start a session with some settings, and make an empty project that uses it."""
    write_profile(folder, given)
    session.install()
    spark = SparkSession.builder.config(map={**given}).getOrCreate()
    (folder / "project").mkdir()
    return Project(folder / "project", name, spark, package)


def check(project: Project, name: str, oracle: Newest) -> None:
    """Compare the rows of a collection with the oracle's, and check the store."""
    store = project.store(name)
    assert store.rows() == oracle.rows()
    store.check_laws()


def run_script(project: Project, name: str = "script") -> None:
    """Run batches, compare each result with the oracle, and repair an edit."""
    project.add_collection(name, KEY, VALUE, {"verify": "always"})
    project.write(f"models/{name}.yml", agrees(project, name))
    oracle = Newest(width=1)
    for arriving in BATCHES:
        project.append(name, arriving)
        oracle.run(arriving)
        project.run(name)
        check(project, name, oracle)
    project.run(name)
    assert "up to date at batch 3" in project.messages[0]
    project.sql(f"update {{}}.{name}__trueup set v = 'bad' where _kind = 'row' and k = 'a'")
    project.run(name)
    assert "rebuilt from the history" in project.messages[0]
    check(project, name, oracle)
    project.run(name, command="test")


def lose_a_race(project: Project, connection: type[Any] = Cursor) -> None:
    """Edit the store right before the commit. The run commits nothing, repairs, and commits again.

    Args:
        project: A project without a collection `raced`.
        connection: The class by which dbt sends statements.
    """
    project.add_collection("raced", KEY, VALUE)
    oracle, commits = Newest(width=1), list[str]()

    def send(execute: Callable[[str], None], sql: str) -> None:
        if "/* trueup: commit */" in sql:
            commits.append(sql)
            if len(commits) == 1:
                project.sql("update {}.raced__trueup set v = 'bad' where _kind = 'row'")
        execute(sql)

    for order in (1, 2):
        arriving = [put(order, key, f"{key} {order}") for key in "abc"[order - 1 :]]
        project.append("raced", arriving)
        oracle.run(arriving)
        if order == 1:
            project.run("raced")
    with sent_through(send, connection):
        project.run("raced")
    assert len(commits) > 1
    check(project, "raced", oracle)
