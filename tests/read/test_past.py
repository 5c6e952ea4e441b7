"""The past of a collection: `as_of`, `changes_between` and `history` agree with each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

MODEL = """{{{{ config(materialized='trueup', unique_key='k') }}}}
{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], delete_when="op = 'D'", columns=['a', 'b'],
    error="if(a = 'bad', 'bad', null)"
) }}}}"""
RUNS: list[list[tuple[Any, ...]]] = [
    [("often", 1, "U", "x", 1), ("gone", 1, "U", "x", None), ("back", 1, "U", "x", 1)],
    [("often", 2, "U", "y", 1), ("gone", 2, "D", None, None), ("back", 2, "D", None, None)],
    [("often", 3, "U", "x", 1), ("back", 3, "U", "x", 1), ("broken", 1, "U", "z", 1)],
    [("broken", 2, "U", "bad", 1), ("nulls", 1, "U", None, None)],
    [("broken", 3, "U", "z", 1), ("nulls", 2, "U", None, 3)],
]
Rows = Counter[tuple[Any, ...]]


@pytest.fixture
def past(own_project: Callable[[str], Project]) -> Project:
    """A collection with five batches, and the models that read its past."""
    project = own_project("past")
    project.sql(
        "create table {}.log (k string, ord int, op string, a string, b int) using {format}"
    )
    project.write("models/c.sql", MODEL.format(schema=project.name))
    project.write("models/c_history.sql", "{{ trueup.history('c') }}")
    project.write("models/at.sql", "{{ trueup.as_of(ref('c'), var('trueup_tick', 0)) }}")
    between = "{{ trueup.changes_between('c', var('trueup_first', 0), var('trueup_last', 0)) }}"
    project.write("models/between.sql", between)
    for rows in RUNS:
        project.insert("log", rows)
        project.run("c")
    project.run("c_history")
    return project


def ticks(project: Project) -> list[int]:
    return [
        row["_ts"]
        for row in project.sql("select _ts from {}.c__trueup where _kind = 'batch' order by _seq")
    ]


def rows_of(project: Project, relation: str, columns: str = "k, a, b") -> Rows:
    return Counter(tuple(row) for row in project.sql(f"select {columns} from {{}}.{relation}"))


def raised(project: Project, relation: str) -> str:
    """Read all of a relation, which must fail. Return the error."""
    with pytest.raises((PySparkException, Py4JJavaError)) as found:
        project.sql(f"select * from {{}}.{relation}")
    return str(found.value)


def as_of(project: Project, tick: object) -> Rows:
    project.run("at", tick=tick)
    return rows_of(project, "at")


def test_history_and_as_of_and_changes_agree_at_every_tick(past: Project) -> None:
    known = ticks(past)
    states = []
    for tick in known:
        valid = f"c_history where valid_from <= {tick} and coalesce(valid_to > {tick}, true)"
        states.append(as_of(past, tick))
        assert rows_of(past, valid) == states[-1]
    assert states[-1] == rows_of(past, "c")
    assert sum(map(bool, states)) == len(RUNS)
    for first, last in [(0, 1), (1, 2), (2, 5), (0, 5), (3, 3)]:
        past.run("between", first=known[first], last=known[last])
        changes = past.sql("select * from {}.between")
        state = states[first].copy()
        state.update({tuple(row)[:3]: row["_diff"] for row in changes})
        assert +state == states[last]
        assert min(state.values(), default=0) >= 0


def test_history_has_each_version_once_with_its_interval(past: Project) -> None:
    at = ticks(past)
    found = rows_of(past, "c_history", "k, a, b, valid_from, valid_to, is_current")
    assert found == Counter(
        [
            ("often", "x", 1, at[1], at[2], False),
            ("often", "y", 1, at[2], at[3], False),
            ("often", "x", 1, at[3], None, True),
            ("gone", "x", None, at[1], at[2], False),
            ("back", "x", 1, at[1], at[2], False),
            ("back", "x", 1, at[3], None, True),
            # An error ends the version of its key.
            ("broken", "z", 1, at[3], at[4], False),
            ("broken", "z", 1, at[5], None, True),
            ("nulls", None, None, at[4], at[5], False),
            ("nulls", None, 3, at[5], None, True),
        ]
    )


@pytest.mark.long
def test_a_tick_that_nobody_can_read_is_refused(past: Project) -> None:
    newest = ticks(past)[-1]
    cases: dict[str, tuple[str, dict[str, Any], str]] = {
        "null": ("at", {"tick": "null"}, "must be a number"),
        "later": ("at", {"tick": newest + 1}, f"at most {newest}"),
        "turned": ("between", {"first": 5, "last": 4}, "at most the second"),
        "first": ("between", {"first": "null", "last": newest}, "must be a number"),
    }
    for model, variables, words in cases.values():
        past.run(model, **variables)
        assert words in raised(past, model)
    # Ticks below are refused after a compaction, and reads at or after it stay as they were.
    at = ticks(past)
    before = [as_of(past, tick) for tick in at[2:]]
    versions = rows_of(past, f"c_history where valid_to is null or valid_to >= {at[2]}", "k, a, b")
    past.operate("compact", collection="c", since=at[2])
    past.run("at", tick=at[2] - 1)
    assert f"at least {at[2]}" in raised(past, "at")
    past.run("between", first=at[2] - 1, last=newest)
    assert f"at least {at[2]}" in raised(past, "between")
    assert [as_of(past, tick) for tick in at[2:]] == before
    assert rows_of(past, "c_history", "k, a, b") == versions
