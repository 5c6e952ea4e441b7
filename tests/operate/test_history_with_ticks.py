"""Operations and readers over a log that has ticks of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

MODEL = """{{{{ config(
    materialized='trueup', unique_key='k', meta={{'trueup': {{'verify': '{verify}'}}}}
) }}}}
{{{{ trueup.commands(
    relation='{schema}.log', ts='t', sequence_by=['ord'], delete_when="op = 'D'", columns=['a']
) }}}}"""


def write_model(project: Project, verify: str = "ancestry") -> None:
    project.write("models/c.sql", MODEL.format(schema=project.name, verify=verify))


def run(project: Project, *commands: tuple[Any, ...]) -> str:
    """Append commands and run. Return what dbt says of the model."""
    project.insert("log", list(commands))
    project.run("c")
    (message,) = project.messages
    return message.removeprefix("c: ")


def rows_of(project: Project, relation: str, columns: str = "k, a") -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in project.sql(f"select {columns} from {{}}.{relation}"))


@pytest.mark.long
def test_a_history_with_ticks_is_read_and_rewritten_alike(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("ticked")
    project.sql(
        "create table {}.log (k string, t int, ord int, op string, a string) using {format}"
    )
    write_model(project)
    project.write("models/c_history.sql", "{{ trueup.history('c') }}")
    project.write("models/c_corrections.sql", "{{ trueup.corrections('c') }}")
    project.write("models/c_log.sql", "{{ trueup.changelog('c', append_only=true) }}")
    project.write("models/at.sql", "{{ trueup.as_of('c', var('trueup_tick', 0)) }}")
    store = Store(project, "c", ["k"], ["a"])
    # Three ticks in one batch.
    first = [("x", 1, 1, "U", "x1"), ("y", 1, 1, "U", "y1"), ("x", 2, 1, "U", "x2")]
    project.insert("log", [*first, ("y", 3, 1, "D", None)])
    project.run("c", "c_history", "c_corrections", "c_log")
    versions = Counter([("x", "x1", 1, 2), ("x", "x2", 2, None), ("y", "y1", 1, 3)])
    assert rows_of(project, "c_history", "k, a, valid_from, valid_to") == versions
    assert not rows_of(project, "c_corrections")
    project.insert("log", [("x", 5, 1, "U", "x5")])
    corrections = rows_of(project, "c_corrections", "k, a, _diff, _cause")
    late = "late_command"
    assert corrections == Counter([("x", "x2", -1, late), ("x", "x5", 1, late)])
    run(project)
    project.run("c_log")
    copied = rows_of(project, "c_log", "k, a, _ts, _diff")
    assert copied == rows_of(project, "c__trueup where _kind = 'update'", "k, a, _ts, _diff")

    project.operate("compact", collection="c", since=3)
    for tick, right in {3: [("x", "x2")], 5: [("x", "x5")]}.items():
        project.run("at", tick=tick)
        assert rows_of(project, "at") == Counter(right)
    write_model(project, verify="always")
    assert run(project).startswith("up to date")
    run(project, ("z", 6, 1, "U", "z6"), ("y", 6, 1, "U", "y6"))
    project.operate("erase", collection="c", keys=["x"])
    assert run(project).startswith("up to date")
    assert store.rows() == {("y",): ("y6",), ("z",): ("z6",)}
    project.sql("update {}.c__trueup set a = 'bad' where k = 'y'")
    assert "restored from the snapshot" in run(project)
    assert store.rows() == {("y",): ("y6",), ("z",): ("z6",)}
    project.operate("doctor", collection="c")
