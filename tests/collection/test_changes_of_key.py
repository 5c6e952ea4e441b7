"""Changes of key in a collection of one model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

MODEL = """
{{{{ config(materialized='trueup', unique_key='k') }}}}

{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], columns=['a', 'b'],
    delete_when="op = 'D'", truncate_when="op = 'T'",
    old_key='struct(old_k)', unchanged_value='__same__'
) }}}}
"""
SAME = "__same__"
Command = tuple[str, int | None, str | None, str | None, str | None]
"""A key, its order, two values and the old key."""


@pytest.fixture
def moved(own_project: Callable[[str], Project]) -> Project:
    """A project with a log whose commands change keys, and a collection over it."""
    project = own_project("moved")
    project.sql(
        "create table {}.log (k string, ord bigint, op string, a string, b string, old_k string)"
        " using {format}"
    )
    project.write("models/items.sql", MODEL.format(schema=project.name))
    project.write("models/items_errors.sql", "{{ trueup.errors(ref('items')) }}")
    return project


def run(project: Project, *commands: Command) -> None:
    project.insert("log", [(key, order, "U", a, b, old) for key, order, a, b, old in commands])
    project.run()


def rows(project: Project) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in project.sql("select k, a, b from {}.items"))


def errors(project: Project) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in project.sql("select k, _error_kind from {}.items_errors"))


@pytest.mark.long
def test_unchanged_columns_come_from_the_old_key_as_given_at_that_order(moved: Project) -> None:
    run(moved, ("k1", 1, "a1", "b1", None))
    run(moved, ("k2", 5, "a5", SAME, "k1"))
    assert rows(moved) == [("k2", "a5", "b1")]

    # A late command of the old key, and a chain in one batch: each change needs the one before.
    chain = [("k3", 9, SAME, SAME, "k2"), ("k4", 12, SAME, "b12", "k3")]
    run(moved, ("k1", 3, "late", "late", None), *chain)
    assert rows(moved) == [("k4", "a5", "b12")]

    run(moved, chain[0])
    assert rows(moved) == [("k4", "a5", "b12")]
    assert errors(moved) == []


@pytest.mark.long
def test_no_command_of_one_run_clears_the_order_error_of_the_same_run(moved: Project) -> None:
    # The chain makes two batches.
    chain = [("k2", 5, "a5", SAME, "k1"), ("k3", 9, SAME, SAME, "k2")]
    run(
        moved,
        ("k1", 1, "a1", "b1", None),
        *chain,
        ("x", None, "?", "?", None),
        ("x", 20, "x", "x", None),
    )
    assert "batches 1 to 2" in "\n".join(moved.messages)
    assert rows(moved) == [("k3", "a5", "b1"), ("x", "x", "x")]
    assert errors(moved) == [("x", "order")]
    run(moved, ("x", 21, "y", "y", None))
    assert errors(moved) == []


@pytest.mark.long
def test_a_change_of_key_that_needs_no_other_one_is_in_the_same_batch(moved: Project) -> None:
    run(
        moved,
        ("k1", 1, "a1", "b1", None),
        ("k2", 5, "a5", "b5", "k1"),
        ("k3", 9, "a9", "b9", "k2"),
        ("k4", 10, "a10", SAME, "k3"),
    )
    assert "batch 1: 4 commands" in "\n".join(moved.messages)
    assert rows(moved) == [("k4", "a10", "b9")]
    # The old key has gone before: what it had then must not come back.
    run(
        moved,
        ("k4", 12, "a12", "b12", None),
        ("k5", 13, "a13", "b13", "k4"),
        ("k6", 14, "a14", SAME, "k4"),
    )
    assert "batches 2 to 3" in "\n".join(moved.messages)
    assert rows(moved) == [("k5", "a13", "b13")]
    assert errors(moved) == [("k6", "order")]


@pytest.mark.long
def test_a_change_of_key_without_an_order_is_an_error_of_both_keys(moved: Project) -> None:
    run(moved, ("k1", 1, "a1", "b1", None), ("k1", 0, "a0", "b0", None))
    run(moved, ("k2", None, "a2", "b2", "k1"))
    assert "1 command, 2 errors" in "\n".join(moved.messages)
    assert rows(moved) == [("k1", "a1", "b1")]
    assert errors(moved) == [("k1", "order"), ("k2", "order")]
    run(moved, ("k1", 2, "a2", "b2", None))
    assert errors(moved) == [("k2", "order")]


@pytest.mark.long
def test_a_new_key_whose_old_values_are_unknown_is_an_error_until_they_are_given(
    moved: Project,
) -> None:
    run(moved, ("k6", 15, "x", SAME, "nobody"))
    assert rows(moved) == []
    assert errors(moved) == [("k6", "order")]

    run(moved, ("k6", 16, SAME, "known", None))
    assert rows(moved) == [("k6", "x", "known")]
    assert errors(moved) == []


@pytest.mark.long
def test_a_value_with_the_order_of_a_truncate_is_inherited(moved: Project) -> None:
    moved.insert("log", [("", 5, "T", None, None, None), ("old", 4, "U", "a4", "b4", None)])
    run(moved, ("k1", 5, "a5", "b5", None), ("k2", 6, "a6", SAME, "k1"))
    assert rows(moved) == [("k2", "a6", "b5")]
    run(moved, ("k3", 7, "a7", SAME, "old"))
    assert errors(moved) == [("k3", "order")]


@pytest.mark.long
def test_a_tie_of_the_old_key_is_not_inherited(moved: Project) -> None:
    tied = [("k1", 2, "a2", "b2", None), ("k1", 2, "a2", "other", None)]
    run(moved, ("k1", 1, "a1", "b1", None), *tied, ("k2", 5, SAME, SAME, "k1"))
    assert rows(moved) == []
    assert errors(moved) == [("k2", "order")]
    # The tie may be between a command of this batch and one of an earlier batch.
    run(moved, ("k3", 3, "a3", "b3", None))
    run(moved, ("k3", 3, "a3", "other", None), ("k4", 6, "a6", SAME, "k3"))
    assert errors(moved) == [("k2", "order"), ("k4", "order")]
    run(moved, ("k4", 7, "a7", "b7", None), ("k2", 8, "a8", "b8", None))
    assert rows(moved) == [("k2", "a8", "b8"), ("k4", "a7", "b7")]
