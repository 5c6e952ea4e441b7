"""One key while a tick is open: what is persisted, and what was emitted but is not settled yet.

A provisional value counts at its own tick alone. What is persisted changes by feedback alone, so
what was written wins over what this process believes that it wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from .consolidation import Accumulator, ConsolidationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Order: TypeAlias = Any
"""Anything that compares, as a number or a tuple does; alike for all commands of a key."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a key is set to at a tick.

    Args:
        value: The encoded value; None is a delete, no bytes are a value.
        ts: The tick.
        order: The place among the commands of this key and tick; the greatest wins.
    """

    value: bytes | None
    ts: int
    order: Order


@dataclass(frozen=True, slots=True)
class Update:
    """An addition (`diff` +1) or a retraction (-1) of a value of the key at a tick."""

    value: bytes
    ts: int
    diff: int


@dataclass(frozen=True, slots=True)
class State:
    """What is known of one key. `State()` is no value: an absent key and a tombstone are alike.

    Args:
        finalized: The value that is persisted, None where none is; its sums while a feedback is
            only partly in.
        provisional: The command that won last, whose updates were emitted; None where none was.
            It counts at its own tick alone, and there a delete hides the finalized value.
    """

    finalized: bytes | Accumulator | None = None
    provisional: Command | None = None

    def finalized_value(self) -> bytes | None:
        """Read what is persisted.

        Raises:
            ConsolidationError: A feedback is only partly in.
        """
        if isinstance(self.finalized, Accumulator):
            message = f"the key is still consolidating, it has no value yet\nGot: {self.finalized}"
            raise ConsolidationError(message)
        return self.finalized

    def provisional_order(self, ts: int) -> Order | None:
        """Give the order that a command at the tick must beat; None, less than all, where none.

        Raises:
            ConsolidationError: A feedback is only partly in.
        """
        self.finalized_value()
        shown = self.provisional
        return shown.order if shown and shown.ts == ts else None

    def value_at(self, ts: int) -> bytes | None:
        """Read the key at a tick; None where it has no value.

        Raises:
            ConsolidationError: A feedback is only partly in.

        Example:
            >>> state = State(finalized=b"A", provisional=Command(value=None, ts=5, order=10))
            >>> state.value_at(5), state.value_at(6)
            (None, b'A')
        """
        finalized = self.finalized_value()
        shown = self.provisional
        return shown.value if shown and shown.ts == ts else finalized

    def apply(self, command: Command) -> tuple[State, list[Update]]:
        """Take one command.

        Args:
            command: At a tick that is not settled. It is skipped where its order does not beat the
                order found at its tick.

        Returns:
            The state with the command as its provisional part, and what it changes: the
            retraction of the value read at its tick, then its addition; nothing for an equal
            value, or for the delete of none.

        Note:
            The commands of one tick come to the same state and the same consolidated updates in
            any order, where no two of them have an equal order.

        Raises:
            ConsolidationError: A feedback is only partly in.

        Example:
            >>> state, updates = State(finalized=b"A").apply(Command(value=b"B", ts=5, order=10))
            >>> [(update.value, update.diff) for update in updates]
            [(b'A', -1), (b'B', 1)]
            >>> state.apply(Command(value=b"C", ts=5, order=10)) == (state, [])
            True
        """
        order = self.provisional_order(command.ts)
        if order is not None and order >= command.order:
            return self, []
        before, after = self.value_at(command.ts), command.value
        changes = [] if before == after else [(before, -1), (after, 1)]
        updates = [Update(value, command.ts, diff) for value, diff in changes if value is not None]
        return State(self.finalized, command), updates

    def collect(self, updates: Iterable[Update]) -> State:
        """Take a part of a feedback; the key cannot be read before `feedback` took the rest.

        >>> state = State(finalized=b"A").collect([Update(value=b"B", ts=5, diff=1)])
        >>> state.feedback([Update(value=b"A", ts=5, diff=-1)])
        State(finalized=b'B', provisional=None)
        """
        return State(finalized=self._add(updates))

    def feedback(self, updates: Sequence[Update]) -> State:
        """Take what was persisted of the key: its updates are added to the finalized value.

        Args:
            updates: All persisted updates of the key since the last feedback, in any order, not
                necessarily consolidated. None of them: nothing changes.

        Returns:
            The state that was persisted, without a provisional part.

        Raises:
            ConsolidationError: The finalized value and the updates do not add up to one or none.

        Example:
            >>> state = State(finalized=b"A", provisional=Command(value=b"B", ts=5, order=10))
            >>> state.feedback([Update(b"A", ts=5, diff=-1), Update(b"Z", ts=5, diff=1)])
            State(finalized=b'Z', provisional=None)
        """
        if not updates and not isinstance(self.finalized, Accumulator):
            return self
        return State(finalized=self._add(updates).decode())

    def _add(self, updates: Iterable[Update]) -> Accumulator:
        sums = Accumulator() if self.finalized is None else self.finalized
        if isinstance(sums, bytes):
            sums = Accumulator.from_update(sums, 1)
        for update in updates:
            sums = sums.update(update.value, update.diff)
        return sums


def fold(state: State, commands: Iterable[Command]) -> tuple[State, list[Update]]:
    """Apply commands one after the other; no command changes nothing.

    Returns:
        The last state, and the updates of all commands in turn.

    Raises:
        ConsolidationError: A feedback is only partly in.

    Example:
        >>> late = [Command(b"B", ts=5, order=2), Command(b"A", ts=5, order=1)]
        >>> state, updates = fold(State(), late)
        >>> state.value_at(5), len(updates)
        (b'B', 1)
    """
    updates: list[Update] = []
    for command in commands:
        state, changed = state.apply(command)
        updates += changed
    return state, updates


def fold_bucket(
    keys: pa.Array, values: pa.Array, ticks: pa.Array, orders: pa.Array, is_emitted: pa.Array
) -> dict[str, Any]:
    """Fold the commands of many keys over what is persisted, each tick as `State.apply` would.

    Args:
        keys: The encoded keys; binary, shape `(rows,)`, no nulls.
        values: The encoded value of each row, null for a delete; binary, shape `(rows,)`.
        ticks: The tick of each command; null where the row is the finalized value of its key,
            at most one for a key; int64, shape `(rows,)`.
        orders: The order of each command; int64, shape `(rows,)`, null where the tick is.
        is_emitted: Whether a command is the provisional part of its key, whose updates were
            emitted before; bool, shape `(rows,)`, no nulls.

    Returns:
        Arrays of the shape `(pairs of key and tick,)`, by tick within a key: `key`, `ts`; the
        greatest order and its value, as `rank` and `value`; and the change since what was emitted
        at this tick, or else since the finalized value: `retracted` and `added`. A value that is
        not there is None. Keys without a command are left out.

    Note:
        The order of the rows changes nothing, where no two commands of a key and tick have an equal
        order. A command whose order is that of the provisional part is skipped.

    Raises:
        ConsolidationError: A key has two finalized values.
        ValueError: There is a null where none may be.

    Example:
        >>> folded = fold_bucket(
        ...     keys=pa.array([b"k", b"k", b"k"]),
        ...     values=pa.array([b"A", b"B", None]),
        ...     ticks=pa.array([None, 5, 5]),
        ...     orders=pa.array([None, 10, 9]),
        ...     is_emitted=pa.array([False, False, False]),
        ... )
        >>> {name: column.tolist() for name, column in folded.items() if name != "key"}
        {'ts': [5], 'rank': [10], 'value': [b'B'], 'retracted': [b'A'], 'added': [b'B']}
    """
    is_final = ticks.is_null().to_numpy(zero_copy_only=False)
    if keys.null_count or is_emitted.null_count or orders.filter(pa.array(~is_final)).null_count:
        message = "fold_bucket: a key, a flag or the order of a command is null"
        raise ValueError(message)
    encoded_keys, encoded_values = keys.dictionary_encode(), values.dictionary_encode()
    slots = encoded_keys.indices.to_numpy()
    # A value as its place in the dictionary, so that numpy compares; no value is -1, the None.
    places = encoded_values.indices.fill_null(-1).to_numpy()
    texts = np.append(encoded_values.dictionary.to_numpy(zero_copy_only=False), [None])
    finals = np.bincount(slots[is_final], minlength=1)
    if finals.max() > 1:
        message = "the key is still consolidating, it has more than one finalized value\n"
        message += f"Got: {finals.max()} for {encoded_keys.dictionary[int(finals.argmax())]}"
        raise ConsolidationError(message)
    finalized = np.full(len(encoded_keys.dictionary), -1)
    finalized[slots[is_final]] = places[is_final]

    rows = np.flatnonzero(~is_final)
    ts = ticks.fill_null(0).to_numpy()
    rank = orders.fill_null(0).to_numpy()
    emitted = is_emitted.to_numpy(zero_copy_only=False)
    # The last row of each key and tick wins; of equal orders the one that was emitted.
    rows = rows[np.lexsort((emitted[rows], rank[rows], ts[rows], slots[rows]))]
    is_other = (np.diff(slots[rows]) != 0) | (np.diff(ts[rows]) != 0)
    pair = np.append(np.zeros(min(len(rows), 1), np.int64), np.cumsum(is_other))
    winners = rows[np.append(is_other, np.ones(min(len(rows), 1), np.bool_))]
    before, after = finalized[slots[winners]], places[winners]
    before[pair[emitted[rows]]] = places[rows[emitted[rows]]]
    is_change = before != after
    return {
        "key": encoded_keys.dictionary.to_numpy(zero_copy_only=False)[slots[winners]],
        "ts": ts[winners],
        "rank": rank[winners],
        "value": texts[after],
        "retracted": texts[np.where(is_change, before, -1)],
        "added": texts[np.where(is_change, after, -1)],
    }
