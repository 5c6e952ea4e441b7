"""Counts the lives of keys: an insert begins the life of a key, a delete ends it.

A key that is inserted again while it exists lacks a column, such as the tenant: two rows of the
source would become one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import words
from .log import contents, hashable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Facts
    from .log import Row


class Lives(NamedTuple):
    """How many sampled keys have impossible lives."""

    inserted_again: int
    """Keys with more inserts than their deletes allow."""
    never_inserted: int
    """Keys with other operations, but without an insert. The log may begin after it."""


def count_lives(facts: Facts, key: Sequence[str]) -> Lives | None:
    """Count the lives of the sampled keys. The sequence of the rows does not matter.

    Returns:
        None if the log does not tell an insert from an update, or truncates the table.
    """
    return next(iter(lives_of_keys(facts, [key])), None)


def missing_columns(facts: Facts, key: Sequence[str]) -> list[str]:
    """The columns with which no key is inserted again, and with which no update lacks its insert.

    A value column is none of them: an update changes it, so the new value has no insert.
    """
    names = [
        name for name in facts.row_columns if name not in key and not facts.log.is_of_change(name)
    ]
    before = count_lives(facts, key)
    if before is None or not before.inserted_again:
        return []
    lives = lives_of_keys(facts, [[*key, name] for name in names])
    wanted = Lives(0, before.never_inserted)
    return [name for name, one in zip(names, lives, strict=True) if one == wanted]


def lives_of_keys(facts: Facts, keys: Sequence[Sequence[str]]) -> list[Lives]:
    """Count the lives for each of some keys; an empty list if the log does not tell."""
    column = next(iter(facts.log.named(words.OPERATION)), None)
    if column is None or facts.is_decoded:
        return []
    seen = {str(value).lower() for value in facts.log.values(column)}
    if not (seen & words.INSERTS and seen & words.UPDATES) or seen & words.TRUNCATES:
        return []
    # A duplicate of an insert begins no life.
    rows = dict(zip(contents(facts.log), facts.log.rows, strict=True)).values()
    kinds = [str(row[column]).lower() for row in rows]
    steps = [(kind in words.INSERTS, kind in words.DELETES) for kind in kinds]
    return [lives_in(list(zip(rows, steps, strict=True)), key) for key in keys]


def lives_in(steps: Sequence[tuple[Row, tuple[bool, bool]]], key: Sequence[str]) -> Lives:
    """Count the lives for one key. A step is a row, and whether it inserts or deletes."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, (is_insert, is_delete) in steps:
        counts = found.setdefault(tuple([hashable(row[name]) for name in key]), [0, 0])
        counts[0] += is_insert
        counts[1] += is_delete
    return Lives(
        sum(inserts > deletes + 1 for inserts, deletes in found.values()),
        sum(inserts == 0 for inserts, _ in found.values()),
    )
