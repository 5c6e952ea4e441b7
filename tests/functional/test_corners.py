"""Rules for combined options that a random log rarely reaches. Each rule has a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

KEY = [Column("k", "string")]
VALUE = [Column("v", "string"), Column("w", "string"), Column("n", "double")]
EXTRA = ("truncate_when", "unchanged", "old_key")
MARKER = "1.5"
CHAIN = 1000
"""A key is renamed this often. To follow one link at a time would take as many rounds."""


def put(ts: int, order: int, key: str, *value: object, old_key: str | None = None) -> Command:
    """A command that leaves the columns given as `...` unchanged."""
    unchanged = frozenset(i for i, item in enumerate(value) if item is ...)
    said = tuple(None if item is ... else item for item in value)
    old = None if old_key is None else (old_key,)
    return Command(ts, (order,), (key,), said, unchanged=unchanged, old_key=old)


def delete(ts: int, order: int, key: str) -> Command:
    return Command(ts, (order,), (key,), None)


TRUNCATED = [
    put(1, 1, "old", "x", "big", 1.0),
    put(1, 1, "own", "x", "big", 1.0),
    Command(2, (1,), None, None, is_truncate=True),
    put(2, 1, "new", "y", ..., 2.0, old_key="old"),
    put(2, 1, "own", "y", ..., 2.0),
    # One old key is deleted before the truncate, the other after it.
    *(put(1, 1, "first", "x", "big", 1.0), delete(2, 0, "first")),
    put(2, 2, "first2", "y", ..., 2.0, old_key="first"),
    *(put(1, 1, "then", "x", "big", 1.0), delete(2, 2, "then")),
    put(2, 3, "then2", "y", ..., 2.0, old_key="then"),
]
NAMED_TRUNCATE = [
    put(1, 1, "a", "x", "y", 1.0),
    Command(2, (2,), None, ("x", "y", 1.0), None, "truncate"),
    Command(1, (1,), None, None, is_truncate=True),
]
RENAMED = [
    put(1, 0, "0", "x", "big", 1.0),
    *(put(1, 2 * i, str(i), "x", ..., float(i), old_key=str(i - 1)) for i in range(1, CHAIN + 1)),
    *(delete(1, 2 * i - i % 2, str(i - 1)) for i in range(1, CHAIN + 1)),
]
RENAMED_DAILY = [
    put(0, 0, "0", "x", "big", 1.0),
    *(put(i, 2, f"{i % 3}", "x", ..., float(i), old_key=f"{(i - 1) % 3}") for i in range(1, CHAIN)),
    *(delete(i, 1, f"{(i - 1) % 3}") for i in range(1, CHAIN)),
]
DELETED_FIRST = [
    *(put(1, 1, key, "x", f"{key} big", 1.0) for key in "acdfhij"),
    # The change follows the delete, continues a chain, or has the order of the delete.
    *(delete(2, 1, "a"), put(2, 2, "a2", "y", ..., 2.0, old_key="a")),
    *(delete(2, 3, "a2"), put(2, 4, "a3", "z", ..., ..., old_key="a2")),
    *(delete(2, 5, "a3"), put(2, 5, "a4", ..., ..., 3.0, old_key="a3")),
    # The old key first gets an upsert, or a partial upsert.
    *(put(2, 1, "c", "y", "c new", 1.0), delete(2, 2, "c")),
    put(2, 3, "c2", "z", ..., 3.0, old_key="c"),
    *(
        put(2, 1, "d", "y", ..., 2.0),
        delete(2, 2, "d"),
        put(2, 3, "d2", ..., ..., ..., old_key="d"),
    ),
    # The old key is used again, before and after the change of key.
    *(delete(2, 1, "f"), put(2, 2, "f", "y", "f new", 2.0)),
    *(
        put(2, 3, "f2", "z", ..., 3.0, old_key="f"),
        delete(2, 4, "f"),
        put(2, 5, "f", "y", "z", 0.0),
    ),
    put(2, 6, "f3", "z", ..., 3.0, old_key="f"),
    # A value that was deleted in an earlier tick is not taken.
    *(delete(2, 1, "h"), delete(3, 1, "h"), put(3, 2, "h2", "y", ..., 2.0, old_key="h")),
    # The old key held an error before the delete.
    Command(2, (1,), ("i",), None, "bad"),
    *(delete(2, 2, "i"), put(2, 3, "i2", "y", ..., 2.0, old_key="i")),
    # A change of a key to itself counts as a plain upsert.
    *(delete(2, 1, "j"), put(2, 2, "j", "y", ..., 2.0, old_key="j")),
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
# `struct(old_id)` of a log is a struct of null if the key did not change.
NO_OLD_KEY = [
    put(1, 1, "a", "x", "big", 1.0),
    Command(2, (1,), ("a",), ("y", None, 2.0), unchanged=frozenset([1]), old_key=(None,)),
    put(2, 2, "b", "y", ..., 2.0, old_key="a"),
]
MARKED = [
    put(1, 1, "a", "x", "y", 2.5),
    put(2, 1, "a", "MS41", "z", 1.5),
    put(3, 1, "b", "$x", MARKER, 1.5),
]
LONG_TIE = [put(1, 1, "k" * 1_000_000, value, "y", 1.0) for value in "ab"]
OPTIONS: dict[str, dict[str, Any]] = {
    "long_tie": {"ties": "fail"},
    "renamed_daily": {"late": "correct"},
}
LOGS = {
    "long_tie": LONG_TIE,
    "truncated": TRUNCATED,
    "named_truncate": NAMED_TRUNCATE,
    "deleted_first": DELETED_FIRST,
    "renamed": RENAMED,
    "renamed_daily": RENAMED_DAILY,
    "no_ties": NO_TIES,
    "no_old_key": NO_OLD_KEY,
    "marked": MARKED,
}


OF_LONG_TESTS = ("truncated", "renamed_daily")


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project], *, with_long: bool) -> Project:
    project = new_project("corners")
    for name, log in LOGS.items():
        if name in OF_LONG_TESTS and not with_long:
            continue
        arguments: dict[str, Any] = {"unchanged_value": MARKER} if name == "marked" else {}
        options = OPTIONS.get(name, {})
        project.add_collection(name, KEY, VALUE, options, extra=EXTRA, **arguments)
        project.append(name, log)
    project.run(fails=None)
    return project


def check(project: Project, name: str, log: list[Command] | None = None) -> None:
    oracle = Collection(tie_breaker=lambda tied: tied[0])
    oracle.run(log or LOGS[name])
    assert multiset(project.rows(name)) == multiset(oracle.rows), project.messages
    assert multiset(project.errors(name)) == multiset(oracle.errors)


@pytest.mark.long
def test_a_change_of_key_takes_no_value_from_before_a_truncate(project: Project) -> None:
    check(project, "truncated")


def test_an_error_key_named_truncate_does_not_truncate(project: Project) -> None:
    check(project, "named_truncate")


def test_a_changed_key_takes_the_last_value_of_a_deleted_old_key(project: Project) -> None:
    check(project, "deleted_first")


def test_a_key_may_be_renamed_a_thousand_times_in_a_batch(project: Project) -> None:
    check(project, "renamed")


def test_commands_that_differ_without_effect_are_not_ties(project: Project) -> None:
    check(project, "no_ties")
    (progress,) = project.progress("no_ties")
    assert progress["_statistics"]["ties"] == 0


def test_an_old_key_of_nulls_is_no_old_key(project: Project) -> None:
    check(project, "no_old_key")


def test_only_a_text_that_equals_the_marker_means_unchanged(project: Project) -> None:
    read = [*MARKED[:2], put(3, 1, "b", "$x", ..., 1.5)]
    check(project, "marked", read)


def test_an_error_message_with_a_long_key_is_short(project: Project) -> None:
    (said,) = [line for line in project.messages if line.startswith("long_tie_batch")]
    assert "nothing is staged" in said
    assert len(said) < 5_000


@pytest.mark.long
def test_a_late_command_is_corrected_through_a_long_chain_of_renames(project: Project) -> None:
    check(project, "renamed_daily")
    late = [put(0, 1, "0", "x", "late", 1.0)]
    project.append("renamed_daily", late)
    project.run(*(f"renamed_daily_{role}" for role in TABLES))
    assert "renamed_daily_corrections: corrections: 1 late_command" in project.messages
    check(project, "renamed_daily", RENAMED_DAILY + late)


@pytest.mark.iceberg_only
def test_kept_fold_steps_are_dropped_after_their_run_or_a_day_later(
    project: Project, home: Path
) -> None:
    old, others = "renamed_batch__kept_20200101000000_0123abcd", "renamed_batch__kept_archive"
    for name in (old, f"{old}_links", others):
        project.sql(f"create table {{}}.{name} as select 1 as a")
    project.append("renamed", [put(9, 1, "new", "z", ..., ...)])
    project.run("renamed_batch", "renamed_changelog", "renamed_state")

    kept = project.sql("show tables in {} like '*__kept_*'")
    names = sorted(row["tableName"] for row in kept)
    # The run that found a tie failed. Its steps stay for a day.
    begun = [name.rpartition("__kept_")[0] for name in names]
    assert begun == ["long_tie_batch", "long_tie_batch", "renamed_batch"]
    assert names[1] == f"{names[0]}_links"
    assert names[2] == others
    folder = home / "warehouse" / project.name
    # No key changed here, so no table of links has a file.
    files = {file.parts[-3] for file in folder.glob("*__kept_*/data/*.parquet")}
    assert files == {names[0], others}
