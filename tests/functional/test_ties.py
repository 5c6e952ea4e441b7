"""Ties: the content of the commands decides, also after their columns change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY = [Column("k", "string")]
KEYS = range(40)
GROWING: dict[str, dict[str, Any]] = {
    "whole": {},
    "ignoring_nulls": {"ignore_null_updates": True},
}
"""Collections whose logs get wider and new columns, with arguments of `trueup.commands`."""
NESTED = {
    "array": ("array<int>", [1, None], [None, 1]),
    "struct": ("struct<x: int, y: int>", (1, None), (None, 1)),
    "within": ("array<struct<x: array<int>>>", [([1, None],)], [([None, 1],)]),
}


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project], *, with_long: bool) -> Project:
    """The collections of long tests have run once, the others not yet."""
    project = new_project("ties")
    growing = GROWING if with_long else {}
    for name, arguments in growing.items():
        value = [Column("n", "int"), Column("f", "float"), Column("m", "string")]
        project.add_collection(name, KEY, value, {"late": "correct"}, **arguments)
        project.append(
            name,
            [
                Command(1, (1,), (str(key),), (key + place, *value))
                for key in KEYS
                for place, value in enumerate([(0.5, "x"), (None, "x"), (None, None)])
            ],
        )
    for name, (kind, *tied) in NESTED.items():
        project.add_collection(f"in_{name}", KEY, [Column("v", kind)], {"ties": "fail"})
        project.append(f"in_{name}", [Command(1, (1,), ("a",), (each,)) for each in tied])
    if growing:
        project.run(*(f"models/{name}" for name in growing))
    return project


@pytest.mark.long
@pytest.mark.parametrize("name", GROWING)
def test_ties_keep_their_winners_when_a_column_is_added_or_widened(
    project: Project, name: str
) -> None:
    select = f"select k, n, f, m from {{}}.{name} order by k"
    won = [tuple(row) for row in project.sql(select)]
    assert {row[1] - int(row[0]) for row in won} == {0, 1, 2}
    project.sql(f"alter table {{}}.{name}_log alter column n type bigint")
    project.sql(f"alter table {{}}.{name}_log alter column f type double")
    for added in (Column("a", "string"), Column("z", "array<int>")):
        project.set_column(name, added)

    project.run(f"models/{name}")

    assert f"{name}_corrections: corrections: none" in project.messages
    assert [tuple(row) for row in project.sql(select)] == won
    columns = dict(project.spark.table(f"ties.{name}_changelog").dtypes)
    assert (columns["n"], columns["f"], columns["a"]) == ("bigint", "double", "string")


@pytest.mark.long_cases
@pytest.mark.parametrize("name", NESTED)
def test_nested_values_with_nulls_in_different_places_make_a_tie(
    project: Project, name: str
) -> None:
    project.run(f"models/in_{name}", fails=True)

    assert "ties: 1 times commands of one key" in "\n".join(project.messages)
