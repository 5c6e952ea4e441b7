"""One key while a tick is open: what is persisted, and what was emitted but is not settled yet.

A provisional value counts at its own tick alone. What is persisted changes by feedback alone, so
what was written wins over what this process believes that it wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

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
