"""One key while a tick is open, in pure Python: the reference for `fold_bucket`.

A provisional value was emitted, but is not settled yet. It applies only at its own tick. The
persisted value changes only by feedback: if the changelog differs from what this process believes
it wrote, the changelog wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dbt_trueup.errors import ConsolidationError

from .accumulator import Accumulator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Order: TypeAlias = Any
"""Anything that can be compared, such as a number or a tuple. One type for each key."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a key is set to at a tick.

    Args:
        value: The encoded value; None is a delete. A value without bytes is a value.
        ts: The tick.
        order: The order among the commands of this key and tick. The greatest one wins.
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
    """What is known about one key. `State()` has no value: the key is absent or was deleted.

    Args:
        finalized: The persisted value; None if there is none. While only a part of a feedback has
            arrived, the sums of the key.
        provisional: The last command that won and whose updates were emitted; None if there is
            none. It applies only at its own tick. There, a delete hides the finalized value.
    """

    finalized: bytes | Accumulator | None = None
    provisional: Command | None = None

    def finalized_value(self) -> bytes | None:
        """Return the persisted value.

        Raises:
            ConsolidationError: Only a part of a feedback has arrived.
        """
        if isinstance(self.finalized, Accumulator):
            message = (
                "the key is still consolidating: a part of its feedback is missing\n"
                f"Got: {self.finalized}; call `feedback` with the rest"
            )
            raise ConsolidationError(message)
        return self.finalized

    def provisional_order(self, ts: int) -> Order | None:
        """Return the order that a command at the tick must beat; None if every order wins.

        Raises:
            ConsolidationError: Only a part of a feedback has arrived.
        """
        self.finalized_value()
        shown = self.provisional
        return shown.order if shown and shown.ts == ts else None

    def value_at(self, ts: int) -> bytes | None:
        """Return the value of the key at a tick; None if it has none.

        Raises:
            ConsolidationError: Only a part of a feedback has arrived.

        Example:
            >>> state = State(finalized=b"A", provisional=Command(value=None, ts=5, order=10))
            >>> state.value_at(5), state.value_at(6)
            (None, b'A')
        """
        finalized = self.finalized_value()
        shown = self.provisional
        return shown.value if shown and shown.ts == ts else finalized

    def apply(self, command: Command) -> tuple[State, list[Update]]:
        """Apply one command.

        Args:
            command: A command at a tick that is not settled. It is skipped unless its order is
                greater than the order at its tick.

        Returns:
            The state with the command as its provisional part, and the updates: the retraction of
            the value that the key had at this tick, then the addition of the new one. There are
            no updates if the value is the same, or if a key without a value is deleted.

        Note:
            Apply the commands of one tick in any order: the state and the consolidated updates
            are the same, unless two of the commands have an equal order.

        Raises:
            ConsolidationError: Only a part of a feedback has arrived.

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
        """Add a part of a feedback. The key has no value until `feedback` adds the rest.

        Example:
            >>> state = State(finalized=b"A").collect([Update(value=b"B", ts=5, diff=1)])
            >>> state.feedback([Update(value=b"A", ts=5, diff=-1)])
            State(finalized=b'B', provisional=None)
        """
        return State(finalized=self._add(updates))

    def feedback(self, updates: Sequence[Update]) -> State:
        """Add the persisted updates of the key to its finalized value.

        Args:
            updates: All persisted updates of the key since the last feedback, in any order. They
                need not be consolidated. If there are none, nothing changes.

        Returns:
            The persisted state, without a provisional part.

        Raises:
            ConsolidationError: The finalized value and the updates do not add up to one value or
                none.

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
    """Apply commands one after the other.

    Returns:
        The last state, and the updates of all commands in turn.

    Raises:
        ConsolidationError: Only a part of a feedback has arrived.

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
