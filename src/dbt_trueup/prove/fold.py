"""The rules of a collection in plain Python: a dict of each key to its newest command.

It shares no code with the macros. A partial command has a newest command for each of its columns.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .evidence import Command, Rank, Value

ROW = ""
"""The name of the column that stands for the row. A whole command has no other one."""


class Content(NamedTuple):
    """What a column holds: its text, or all texts of a whole row; or the kind of an error."""

    value: str | Value | None = None
    kind: str | None = None
    error: str | None = None


TIED = Content(kind="tie")
UNKNOWN = Content(kind="origin")
"""A change of key takes the column from the old key, which does not have it."""


class Entry(NamedTuple):
    """What a command says about one column of a key, or that it deletes the key (no column)."""

    rank: Rank
    column: str | None = None
    content: Content = Content()
    is_inherited: bool = False


class Column(NamedTuple):
    """The newest content of a column."""

    rank: Rank
    contents: frozenset[Content]
    """One content. With `ties: greatest` all that have the newest order, and one of them wins."""
    is_inherited: bool


@dataclass(frozen=True)
class Key:
    """What a key has, or that it does not exist (no columns)."""

    top: Rank
    """The greatest order of all its commands that no truncate has made void."""
    deleted: Rank
    """The order of its newest delete."""
    columns: dict[str, Column] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[Rank, bool, str, str] | None:
        """The newest of its broken columns: order, whether it is a tie, kind and text."""
        found = [
            (column.rank, content.kind == "tie", content.kind, content.error or "")
            for column in self.columns.values()
            for content in column.contents
            if content.kind is not None
        ]
        return max(found, default=None)

    @property
    def is_inherited(self) -> bool:
        """Whether a column comes from another key."""
        return any(column.is_inherited for column in self.columns.values())


@dataclass(frozen=True)
class Fold:
    """All keys of some commands."""

    keys: dict[str, Key]
    scope: tuple[str, ...] = ()
    """The key columns that say which keys a truncate deletes; none if it deletes all."""
    bounds: dict[tuple[object, ...], Rank] = field(default_factory=dict)
    """The order of the newest truncate of each scope."""

    def bound_of(self, identity: str) -> Rank:
        """Return the order of the newest truncate of a key; `()` if there is none."""
        return self.bounds.get(values_of(identity, self.scope), ())


def fold(
    commands: Iterable[Command],
    columns: Sequence[str],
    ties: str,
    *,
    is_partial: bool,
    scope: tuple[str, ...] = (),
) -> Fold:
    """Fold commands in any sequence.

    Args:
        commands: The commands. Those without an order have no effect here.
        columns: The names of the value columns in lower case.
        ties: The option `ties`.
        is_partial: Whether commands may leave columns unchanged.
        scope: The option `truncate_scope`.

    Returns:
        Each key that a command sets or deletes.
    """
    ordered = sorted((one for one in commands if one.rank), key=lambda one: one.rank)
    truncates = [one for one in ordered if one.op == "truncate"]
    # The greatest comes last.
    folded = Fold({}, scope, {values_of(one.scope, scope): one.rank for one in truncates})
    names = columns if is_partial else ()
    entries: dict[str, list[Entry]] = defaultdict(list)
    for command in ordered:
        if command.identity is not None:
            entries[command.identity] += own_entries(command, names, is_partial=is_partial)
        if command.old_identity is not None:
            entries[command.old_identity].append(Entry(command.rank))
    for command in ordered:  # the least first, because a key may change more than once
        if command.identity is not None and command.old_identity is not None:
            below = [one for one in entries[command.old_identity] if one.rank < command.rank]
            bound = folded.bound_of(command.old_identity)
            held = newest_columns(below, bound, ties).columns
            entries[command.identity] += [
                Entry(command.rank, name, inherited(held.get(name)), is_inherited=True)
                for name in names
                if name in command.unchanged
            ]
    for identity, each in entries.items():
        folded.keys[identity] = newest_columns(each, folded.bound_of(identity), ties)
    return folded


def values_of(columns: str | None, names: Sequence[str]) -> tuple[object, ...]:
    """Return the values of some key columns.

    Example:
        >>> values_of('{"shard":"a","id":7,"_error_key":null}', ["shard"])
        ('a',)
    """
    found = json.loads(columns) if columns else {}
    return tuple(found.get(name) for name in names)


def inherited(column: Column | None) -> Content:
    """Return what a new key gets from a column of the old one. A broken column is not known."""
    if column is None or any(content.kind is not None for content in column.contents):
        return UNKNOWN
    return next(iter(column.contents))


def own_entries(command: Command, names: Sequence[str], *, is_partial: bool) -> list[Entry]:
    """Return what a command says about its own key, without the columns of an old key."""
    rank = command.rank
    if command.op == "delete":
        return [Entry(rank)]
    if (error_key := command.error_key) is not None:
        return [Entry(rank, ROW, Content(kind="null_key" if error_key == "null" else "key"))]
    error = None if command.error is None else Content(kind="value", error=command.error)
    if not is_partial:
        return [Entry(rank, ROW, error or Content(command.value))]
    texts = dict(zip(names, command.value, strict=True))
    given = [name for name in names if name not in command.unchanged]
    # An error that gives no column breaks the row itself, or it would be lost.
    row = Entry(rank, ROW, error if error and not given else Content())
    return [row, *(Entry(rank, name, error or Content(texts[name])) for name in given)]


def newest_columns(entries: Sequence[Entry], bound: Rank, ties: str) -> Key:
    """Return the columns of a key that were given last, and that no later delete has taken."""
    live = [one for one in entries if one.rank >= bound]
    top = max((one.rank for one in live), default=())
    deleted = max((one.rank for one in live if one.column is None), default=())
    groups: dict[str, list[Entry]] = defaultdict(list)
    for one in live:
        survives = one.rank > deleted or (one.rank == deleted and ties != "prefer_delete")
        if one.column is not None and survives:
            groups[one.column].append(one)
    return Key(
        top, deleted, {name: newest_content(each, deleted, ties) for name, each in groups.items()}
    )


def newest_content(entries: Sequence[Entry], deleted: Rank, ties: str) -> Column:
    """Return the newest content of a column. Two of one order are a tie."""
    rank = max(one.rank for one in entries)
    newest = [one for one in entries if one.rank == rank]
    # What a change of key could not find yields to what is known.
    contents = {one.content for one in newest if one.content != UNKNOWN} or {UNKNOWN}
    is_tie = len(contents) > 1 or (rank == deleted and ties in {"error", "fail"})
    if is_tie and ties != "greatest":
        contents = {TIED}
    return Column(rank, frozenset(contents), any(one.is_inherited for one in newest))


def verdict(command: Command, identity: str, folded: Fold) -> tuple[str, str]:
    """Say whether a command has an effect on a key, and why.

    Args:
        command: A command of the key, a truncate, or one that changes the key to another one.
        identity: The key.
        folded: All commands of the key.

    Returns:
        A word, and the rule in a sentence.
    """
    key = folded.keys.get(identity) or Key((), ())
    if not command.rank:
        return "no_order", "its first term of `sequence_by` is null: an error beside the row"
    if command.rank < folded.bound_of(identity):
        return "truncated", "a truncate has a greater order"
    if command.op == "truncate":
        which = f" and the same {', '.join(folded.scope)}" if folded.scope else ""
        return "truncate", f"it deletes every key with a lower order{which}"
    if command.op == "delete" or command.identity != identity:
        return verdict_on_delete(command, key)
    return verdict_on_upsert(command, key)


TIE = ("tie", "another command of the same order has another content")


def verdict_on_upsert(command: Command, key: Key) -> tuple[str, str]:
    """Say whether an upsert has an effect: it may have it for some of its columns."""
    given = {name: column for name, column in key.columns.items() if column.rank == command.rank}
    names = sorted(name for name in given if name != ROW and name not in command.unchanged)
    is_part = bool(given) and len(given) < len(key.columns)
    is_error = command.error is not None or command.error_key is not None
    cases = [
        (command.rank < key.deleted, ("deleted", "a delete of the key has a greater order")),
        (any(TIED in column.contents for column in given.values()), TIE),
        (
            not given and command.rank == key.deleted,
            ("deleted", "a delete of the same order counts (option `ties: prefer_delete`)"),
        ),
        (not given, ("superseded", "a command of the key has a greater order")),
        (is_error, ("error", "its order is the greatest, and it is an error")),
        (
            is_part and not names,
            ("superseded", "each column that it gives has a command of a greater order"),
        ),
        (is_part, ("wins", f"its order is the greatest for {', '.join(names)}")),
    ]
    rule = ("wins", "its order is the greatest")
    return next((case for applies, case in cases if applies), rule)


def verdict_on_delete(command: Command, key: Key) -> tuple[str, str]:
    """Say whether a delete, or a change to another key, has an effect."""
    if command.rank < key.deleted:
        return "superseded", "another delete of the key has a greater order"
    rivals = [column for column in key.columns.values() if column.rank == command.rank]
    if any(TIED in column.contents for column in rivals):
        return TIE
    if not key.columns:
        return "wins", "its order is the greatest, so the key does not exist"
    return "superseded", "an upsert of the key has the same order or a greater one"
