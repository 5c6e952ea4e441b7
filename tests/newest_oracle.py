"""Order mode in plain Python: key and order, no clock. Other tests compare their results with it.

Every run gets the commands that arrive in it, in any sequence. The oracle keeps what every command
has said so far and computes each key from all of it. So only order errors, and the columns that
a change of key takes from its old key, depend on the runs. All results are in canonical form.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tests.oracle import Identity, StoppedError, Value, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["value", "key", "null_key", "tie", "order"]
Ties = Literal["error", "prefer_upsert", "prefer_delete", "fail"]
Rank = tuple[tuple[bool, Any], ...]
"""An order in a form that can be compared. The empty one, less than all others, is no order."""

EXISTENCE = -1
"""The position of a pseudo-column. Every upsert and every error gives it."""


class TieError(StoppedError):
    """With `ties='fail'`, a tie would be open after the run. The run changed nothing."""


class Content(NamedTuple):
    """What a column holds: a good item (`broken` is None), or an error and its kind."""

    item: Any = None
    broken: Kind | None = None


PRESENT = Content()
TIED = Content(broken="tie")
UNKNOWN = Content(broken="order")
"""A change of key takes the column from its old key, but there it is missing or broken."""


@dataclass(frozen=True)
class Command:
    """One row of the log. Without value and error it is a delete, or a truncate.

    Attributes:
        order: Without it, or with a null as its first item, the command has no order.
        key: None for a truncate or a key error.
        error: The text of a value error. It breaks the columns that are not in `unchanged`.
        error_key: `null`, or `x` and hex, for a key error. A delete of it has no value and error.
        unchanged: Positions of the value columns that the command does not give. The items of
            `value` at these positions are ignored.
        old_key: The key before, if the command changes it. Nulls alone are no key.
    """

    order: tuple[Any, ...] | None
    key: Value | None
    value: Value | None
    error: str | None = None
    error_key: str | None = None
    unchanged: frozenset[int] = frozenset()
    is_truncate: bool = False
    old_key: Value | None = None

    def __post_init__(self) -> None:
        """Raise unless the command has one identity, or is a truncate with nothing else."""
        if self.is_truncate:
            given = (self.key, self.error_key, self.value, self.error, self.old_key)
            if given != (None,) * 5:
                message = f"A truncate is an order alone\nGot: {given}"
                raise ValueError(message)
        elif (self.key is None) == (self.error_key is None):
            message = f"Command takes either key or error_key\nGot: {self.key}, {self.error_key}"
            raise ValueError(message)
        elif self.is_delete and self.source is not None:
            message = f"A delete cannot change the key\nGot: {self.old_key}"
            raise ValueError(message)

    @cached_property
    def rank(self) -> Rank:
        """The order, or the empty rank. A null is less than every other item."""
        if not self.order or self.order[0] is None:
            return ()
        return tuple((item is not None, item) for item in self.order)

    @cached_property
    def identity(self) -> Identity:
        """The key or error key that the command sets or deletes."""
        return canonical(self.key), self.error_key

    @cached_property
    def source(self) -> Identity | None:
        """The identity of the old key, if the command changes the key."""
        if self.old_key is None or set(self.old_key) == {None}:
            return None
        source = (canonical(self.old_key), None)
        return None if source == self.identity else source

    @property
    def identities(self) -> list[Identity]:
        """The identities that the command changes. A truncate has none of its own."""
        own = [] if self.is_truncate else [self.identity]
        return own if self.source is None else [*own, self.source]

    @property
    def is_delete(self) -> bool:
        """Whether the command removes its key or key error."""
        return self.value is None and self.error is None and not self.is_truncate

    def columns(self, width: int) -> dict[int, Content]:
        """The columns that the command itself gives, without those of an old key.

        An error that gives no column breaks the existence of its key, or it would be lost.
        """
        if self.error_key is not None:
            return {EXISTENCE: PRESENT}
        given = [position for position in range(width) if position not in self.unchanged]
        if self.error is not None:
            error = Content(self.error, "value")
            return {EXISTENCE: PRESENT if given else error, **dict.fromkeys(given, error)}
        if self.value is None or len(self.value) != width:
            message = f"A value has {width} columns\nGot: {self.value}"
            raise ValueError(message)
        items = {position: Content(canonical(self.value[position])) for position in given}
        return {EXISTENCE: PRESENT, **items}


class Entry(NamedTuple):
    """What a command says about one column of a key, or that it deletes the key (no position)."""

    identity: Identity
    rank: Rank
    code: int
    position: int | None = None
    content: Content = PRESENT

    @property
    def place(self) -> tuple[Rank, int]:
        """The greater one is newer. At equal orders, newer code replaces what older code read."""
        return self.rank, self.code


Columns = dict[int, tuple[Rank, Content]]
"""The columns of an existing key by position, each with the order at which it was given."""


class Newest:
    """The collection that the runs over a log have made.

    Args:
        ties: Whether a tie is an error or stops the run, and which command wins if a delete and an
            upsert have equal orders. Different upserts of one order are a tie in any case.
        width: The number of value columns.
    """

    def __init__(self, *, ties: Ties = "error", width: int = 2) -> None:
        """Start empty."""
        self.ties = ties
        self.width = width
        self._entries = frozenset[Entry]()
        self._truncates = frozenset[Rank]()
        self._inherited = dict[tuple[Identity, Identity, Rank, int], Content]()
        """By new key, old key, order and position. A later run does not look again."""
        self._order_errors = frozenset[Identity]()
        self._code = 0

    def rows(self) -> dict[Value, Value]:
        """The live rows: values by key. A column that no command gave is null."""
        return {
            key: tuple(columns.get(each, (None, PRESENT))[1].item for each in range(self.width))
            for (key, error_key), columns in self._keys(self._entries, self._truncates).items()
            if key is not None and _kind((key, error_key), columns) is None
        }

    def errors(self) -> dict[Identity, Kind]:
        """The errors in place of a row, and the key errors."""
        keys = self._keys(self._entries, self._truncates)
        kinds = {identity: _kind(identity, columns) for identity, columns in keys.items()}
        return {identity: kind for identity, kind in kinds.items() if kind is not None}

    def order_errors(self) -> dict[Identity, Kind]:
        """The errors of commands without an order. The key may also have a row or another error."""
        return dict.fromkeys(self._order_errors, "order")

    def recode(self) -> None:
        """From now on, other code reads the log.

        At equal orders, its commands replace what the older code read. They are no tie.
        """
        self._code += 1

    def run(self, commands: Iterable[Command]) -> None:
        """Read the commands that arrive in one run.

        Raises:
            ValueError: A truncate has no order.
            TieError: A tie would be open, with `ties='fail'`.
        """
        log = sorted(commands, key=lambda command: command.rank)
        truncates = self._truncates | {command.rank for command in log if command.is_truncate}
        if () in truncates:
            message = f"A truncate takes an order\nGot: {log}"
            raise ValueError(message)
        entries = {*self._entries}
        for command in log:
            entries |= self._own_entries(command)
        inherited = dict(self._inherited)
        for command in log:  # in ascending order, because a key may change more than once
            for place, content in self._find_inherited(command, entries, truncates).items():
                kept = inherited.setdefault(place, content)
                entries.add(Entry(command.identity, command.rank, self._code, place[-1], kept))
        if self.ties == "fail":
            self._raise_if_tied(entries, truncates)
        self._order_errors = self._next_order_errors(log)
        self._entries, self._truncates = frozenset(entries), truncates
        self._inherited = inherited

    def _own_entries(self, command: Command) -> set[Entry]:
        """What a command says, except for the columns from an old key.

        A change of key deletes the old key.
        """
        if not command.rank or command.is_truncate:
            return set()
        deleted = [command.source, command.identity if command.is_delete else None]
        given = {} if command.is_delete else command.columns(self.width)
        place = command.rank, self._code
        return {Entry(identity, *place) for identity in deleted if identity is not None} | {
            Entry(command.identity, *place, *column) for column in given.items()
        }

    def _find_inherited(
        self, command: Command, entries: Iterable[Entry], truncates: Iterable[Rank]
    ) -> dict[tuple[Identity, Identity, Rank, int], Content]:
        """The columns of the old key just below the order of a change of key.

        A delete below that order took the columns before it. So did a truncate at or below that
        order. A greater truncate ends the change itself.
        """
        source = command.source
        if not command.rank or source is None or command.error_key is not None:
            return {}
        below = [each for each in entries if each.identity == source and each.rank < command.rank]
        held = self._columns(below, max(truncates, default=()))
        known = {position: each for position, (_, each) in held.items() if each.broken is None}
        return {
            (command.identity, source, command.rank, position): known.get(position, UNKNOWN)
            for position in command.unchanged
        }

    def _next_order_errors(self, log: list[Command]) -> frozenset[Identity]:
        """The order errors after a run.

        A truncate clears all of them if it is newer than all earlier truncates. A command clears
        that of its key if it is newer than everything that earlier runs read for the key,
        truncates included. Nothing clears an order error of the same run.
        """
        bound = max(self._truncates, default=())
        seen = defaultdict[Identity, Rank](lambda: bound)
        for entry in self._entries:
            seen[entry.identity] = max(seen[entry.identity], entry.rank)
        new = {each for command in log if not command.rank for each in command.identities}
        if any(command.is_truncate and command.rank > bound for command in log):
            return frozenset(new)
        cleared = {
            each for command in log for each in command.identities if command.rank > seen[each]
        }
        return frozenset(new | (self._order_errors - cleared))

    def _raise_if_tied(self, entries: Iterable[Entry], truncates: Iterable[Rank]) -> None:
        tied = {
            identity
            for identity, columns in self._keys(entries, truncates).items()
            if any(content.broken == "tie" for _, content in columns.values())
        }
        if tied:
            message = f"ties: {tied}"
            raise TieError(message)

    def _keys(self, entries: Iterable[Entry], truncates: Iterable[Rank]) -> dict[Identity, Columns]:
        """The keys and key errors that exist."""
        grouped = defaultdict[Identity, list[Entry]](list)
        for entry in entries:
            grouped[entry.identity].append(entry)
        bound = max(truncates, default=())
        found = {identity: self._columns(group, bound) for identity, group in grouped.items()}
        return {identity: columns for identity, columns in found.items() if columns}

    def _columns(self, entries: Iterable[Entry], bound: Rank) -> Columns:
        """The columns of one key: what was given last, if it is newer than the last delete."""
        live = [entry for entry in entries if entry.rank >= bound]
        deleted = max((entry.place for entry in live if entry.position is None), default=((), 0))
        groups = defaultdict[int, list[Entry]](list)
        for entry in live:
            survives = entry.place >= deleted
            if self.ties == "prefer_delete":
                survives = entry.place > deleted
            if entry.position is not None and survives:
                groups[entry.position].append(entry)
        columns: Columns = {}
        for position, given in groups.items():
            # Rule: a column that the old key does not know yields to one of the same order.
            newest = max(
                given, key=lambda entry: (entry.rank, entry.content != UNKNOWN, entry.code)
            )
            rivals = {entry.content for entry in given if entry.place == newest.place} - {UNKNOWN}
            is_tied = newest.place == deleted and self.ties != "prefer_upsert"
            content = TIED if is_tied or len(rivals) > 1 else newest.content
            columns[position] = newest.rank, content
        return columns


def _kind(identity: Identity, columns: Columns) -> Kind | None:
    """The kind of an error, that of its newest broken column. A row has none."""
    if identity[1] is not None and columns[EXISTENCE][1].broken is None:
        return "null_key" if identity[1] == "null" else "key"
    broken = [(rank, content.broken) for rank, content in columns.values() if content.broken]
    # Rule: at equal orders, a tie comes before a value error, and a value error before an order.
    severity = ("order", "value", "tie").index
    return max(broken, key=lambda each: (each[0], severity(each[1])))[1] if broken else None
