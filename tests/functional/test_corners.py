"""Where options meet: rules that a random log rarely finds, each a test of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

KEY = [Column("k", "string")]
VALUE = [Column("v", "string"), Column("w", "string"), Column("n", "double")]
EXTRA = ("truncate_when", "unchanged", "old_key")
MARKER = "1.5"
CHAIN = 5


def put(ts: int, order: int, key: str, *value: object, old_key: str | None = None) -> Command:
    """A command that leaves the columns given as `...` unchanged."""
    unchanged = frozenset(i for i, item in enumerate(value) if item is ...)
    said = tuple(None if item is ... else item for item in value)
    old = None if old_key is None else (old_key,)
    return Command(ts, (order,), (key,), said, unchanged=unchanged, old_key=old)


TRUNCATED = [
    put(1, 1, "old", "x", "big", 1.0),
    put(1, 1, "own", "x", "big", 1.0),
    Command(2, (1,), None, None, is_truncate=True),
    put(2, 1, "new", "y", ..., 2.0, old_key="old"),
    put(2, 1, "own", "y", ..., 2.0),
]
NAMED_TRUNCATE = [
    put(1, 1, "a", "x", "y", 1.0),
    Command(2, (2,), None, ("x", "y", 1.0), None, "truncate"),
    Command(1, (1,), None, None, is_truncate=True),
]
RENAMED = [
    put(1, 0, "0", "x", "big", 1.0),
    *(put(1, i, str(i), "x", ..., float(i), old_key=str(i - 1)) for i in range(1, CHAIN + 1)),
    *(Command(1, (i,), (str(i - 1),), None) for i in range(1, CHAIN + 1)),
]
NO_TIES = [
    put(1, 1, "junk", "x", "y", 1.0),
    Command(2, (1,), ("junk",), ("one", "z", 2.0), unchanged=frozenset([0])),
    Command(2, (1,), ("junk",), ("other", "z", 2.0), unchanged=frozenset([0])),
    put(2, 1, "whole", "x", "y", 1.0),
    put(2, 1, "whole", "x", "y", 1.0, old_key="junk"),
    Command(2, (1,), ("broken",), None, "bad"),
    Command(2, (1,), ("broken",), None, "bad", unchanged=frozenset([0])),
]
MARKED = [
    put(1, 1, "a", "x", "y", 2.5),
    put(2, 1, "a", "MS41", "z", 1.5),
    put(3, 1, "b", "$x", MARKER, 1.5),
]
LONG_TIE = [put(1, 1, "k" * 1_000_000, value, "y", 1.0) for value in "ab"]
LOGS = {
    "long_tie": LONG_TIE,
    "truncated": TRUNCATED,
    "named_truncate": NAMED_TRUNCATE,
    "renamed": RENAMED,
    "no_ties": NO_TIES,
    "marked": MARKED,
}


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    project = new_project("corners")
    for name, log in LOGS.items():
        arguments: dict[str, Any] = {"unchanged_value": MARKER} if name == "marked" else {}
        options = {"ties": "fail"} if name == "long_tie" else {}
        project.add_collection(name, KEY, VALUE, options, extra=EXTRA, **arguments)
        project.append(name, log)
    project.run(fails=None)
    return project


def check(project: Project, name: str, log: list[Command] | None = None) -> None:
    oracle = Collection(tie_breaker=lambda tied: tied[0])
    oracle.run(log or LOGS[name])
    assert multiset(project.rows(name)) == multiset(oracle.rows), project.messages
    assert multiset(project.errors(name)) == multiset(oracle.errors)


def test_a_key_change_at_the_order_of_a_truncate_finds_the_old_key_truncated(
    project: Project,
) -> None:
    check(project, "truncated")


def test_a_broken_key_of_the_bytes_truncate_truncates_nothing(project: Project) -> None:
    check(project, "named_truncate")


def test_a_key_may_be_renamed_any_number_of_times_in_a_batch(project: Project) -> None:
    check(project, "renamed")


def test_what_has_no_effect_makes_no_tie(project: Project) -> None:
    check(project, "no_ties")
    (progress,) = project.progress("no_ties")
    assert progress["_statistics"]["ties"] == 0


def test_only_the_marker_itself_in_a_text_or_in_bytes_is_the_marker(project: Project) -> None:
    read = [*MARKED[:2], put(3, 1, "b", "$x", ..., 1.5)]
    check(project, "marked", read)


def test_a_message_is_short_however_long_the_key_is_that_it_shows(project: Project) -> None:
    (said,) = [line for line in project.messages if line.startswith("long_tie_batch")]
    assert "nothing is staged" in said
    assert len(said) < 5_000


def test_steps_that_are_kept_go_with_their_run_or_a_day_later(project: Project, home: Path) -> None:
    old, others = "renamed_batch__kept_20200101000000_0123abcd", "renamed_batch__kept_archive"
    for name in (old, others):
        project.sql(f"create table {{}}.{name} as select 1 as a")
    project.append("renamed", [put(9, 1, "new", "z", ..., ...)])
    project.run("renamed_batch", "renamed_changelog", "renamed_state")

    kept = project.sql("show tables in {} like '*__kept_*'")
    names = sorted(row["tableName"] for row in kept)
    # That of the run that found a tie stays for a day.
    assert [name.rpartition("__kept_")[0] for name in names] == ["long_tie_batch", "renamed_batch"]
    assert names[1] == others
    folder = home / "warehouse" / project.name
    assert {file.parts[-3] for file in folder.glob("*__kept_*/data/*.parquet")} == set(names)
