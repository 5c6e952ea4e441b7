"""The append-only changelog: a copy of the history that streams can read."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

MODEL = """{{{{ config(materialized='trueup', unique_key='k') }}}}
{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], delete_when="op = 'D'", columns={columns}
) }}}}"""


@pytest.fixture
def streamed(own_project: Callable[[str], Project]) -> Project:
    """A collection with an append-only changelog."""
    project = own_project("streamed")
    project.sql(
        "create table {}.log (k string, ord int, op string, a int, b string) using {format}"
    )
    write_model(project, ["a"])
    project.write("models/c_log.sql", "{{ trueup.changelog('c', append_only=true) }}")
    return project


def write_model(project: Project, columns: list[str]) -> None:
    project.write("models/c.sql", MODEL.format(schema=project.name, columns=columns))


def put(project: Project, *commands: tuple[str, int, str, int | None]) -> None:
    project.insert("log", [(*command, None) for command in commands])
    project.run("c")


def copy(project: Project, *flags: str, fails: bool = False) -> str:
    """Run the changelog alone. Return what dbt says of it."""
    project.run("c_log", *flags, fails=fails)
    (message,) = project.messages
    return message.removeprefix("c_log: ")


def is_copy(project: Project) -> bool:
    """Whether the table has each update of the store once."""
    names = "k, a, _ts, _diff, _cause, _seq"
    copied, stored = (
        Counter(tuple(row) for row in project.sql(f"select {names} from {{}}.{relation}"))
        for relation in ("c_log", "c__trueup where _kind = 'update'")
    )
    return copied == stored


def operations(project: Project) -> list[str]:
    return [row[0] for row in project.sql("select operation from {}.c_log.snapshots")]


def test_each_run_appends_the_updates_of_new_batches_once(streamed: Project) -> None:
    put(streamed, ("x", 1, "U", 1), ("y", 1, "U", 1))
    assert copy(streamed) == "appended 2 updates up to batch 1"
    assert copy(streamed) == "up to date at batch 1"
    put(streamed, ("x", 2, "U", 2))
    put(streamed, ("y", 2, "D", None))
    assert copy(streamed) == "appended 3 updates up to batch 3"
    assert is_copy(streamed)
    # Each commit is an append, so a stream can follow.
    assert {*operations(streamed)} == {"append"}
    # A new column, and a wider one.
    streamed.sql("alter table {}.log alter column a type bigint")
    write_model(streamed, ["a", "b"])
    streamed.insert("log", [("z", 1, "U", 2**40, "new")])
    streamed.run("c")
    assert copy(streamed) == "appended 1 updates up to batch 4"
    assert is_copy(streamed)
    assert streamed.sql("select a, b from {}.c_log where k = 'z'") == [(2**40, "new")]


@pytest.mark.long
def test_a_chain_of_batches_that_it_has_not_read_is_refused(streamed: Project) -> None:
    put(streamed, ("x", 1, "U", 1))
    copy(streamed)
    # The collection begins again: another chain with the same numbers.
    streamed.run("c", "--full-refresh", rebase=True)
    put(streamed, ("x", 2, "U", 2))
    version = streamed.version("c_log")
    assert "another one, which has begun again" in copy(streamed, fails=True)
    assert streamed.version("c_log") == version
    assert copy(streamed, "--full-refresh") == "appended 3 updates up to batch 2"
    assert is_copy(streamed)
    # A compaction takes away updates that were not copied.
    put(streamed, ("x", 3, "U", 3))
    (row,) = streamed.sql("select max(_ts) from {}.c__trueup where _kind = 'batch'")
    streamed.operate("compact", collection="c", since=row[0] + 1)
    assert "updates of 1 later batches" in copy(streamed, fails=True)
    copy(streamed, "--full-refresh")
    # One that takes away only what was copied is no obstacle, also of a batch without a row left.
    put(streamed, ("x", 4, "U", 4), ("y", 4, "U", 4))
    put(streamed, ("y", 5, "D", None))
    copy(streamed)
    put(streamed, ("y", 4, "U", 4))
    (row,) = streamed.sql("select max(_ts) from {}.c__trueup where _kind = 'batch'")
    streamed.operate("compact", collection="c", since=row[0] + 1)
    put(streamed, ("x", 5, "U", 5))
    assert copy(streamed) == "appended 2 updates up to batch 9"
    copy(streamed, "--full-refresh")
    put(streamed, ("x", 6, "D", None))
    assert copy(streamed) == "appended 1 updates up to batch 10"


@pytest.mark.long
def test_of_two_appends_at_once_one_writes_nothing(
    streamed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(streamed, ("x", 1, "U", 1))
    copy(streamed)
    put(streamed, ("x", 2, "U", 2))
    # Withhold the statement of a run, which then looks again until it gives up.
    withheld: list[str] = []
    send = SparkSession.sql

    def withhold(session: SparkSession, text: str, *given: Any, **named: Any) -> Any:
        if "as copied" in text:
            withheld.append(text)
            text = "select 1 where false"
        return send(session, text, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(SparkSession, "sql", withhold)
        assert "other runs append" in copy(streamed, fails=True)
    append, count = withheld[0], len(operations(streamed))
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(streamed.spark.sql, [append] * 3))
    assert is_copy(streamed)
    assert len(operations(streamed)) == count + 1
    streamed.spark.sql(append)
    assert is_copy(streamed)
    assert copy(streamed) == "up to date at batch 2"
