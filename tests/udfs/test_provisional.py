"""Tests one key during an open tick: with the acceptance vectors, and with random input."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from dbt_trueup.udfs.accumulator import Accumulator
from dbt_trueup.udfs.provisional import Command, State, Update, fold
from hypothesis import given
from hypothesis import strategies as st

from dbt_trueup.errors import ConsolidationError
from tests import acceptance

if TYPE_CHECKING:
    from collections.abc import Iterable


def vectors(section: str) -> list[Any]:
    return [pytest.param(item, id=item["name"]) for item in acceptance.read("provisional")[section]]


def value_of(item: str | None) -> bytes | None:
    return None if item is None else item.encode()


def command_of(item: dict[str, Any]) -> Command:
    return Command(value=value_of(item["value"]), ts=item["ts"], order=item["order"])


def update_of(item: dict[str, Any]) -> Update:
    return Update(value=item["value"].encode(), ts=item["ts"], diff=item["diff"])


def state_of(item: dict[str, Any] | str | None) -> State:
    """Read a state. An absent key and a deleted key have the same state."""
    if item is None:
        return State()
    if isinstance(item, str):
        assert item == "consolidating"
        return State(finalized=Accumulator())
    provisional = item["provisional"]
    return State(
        finalized=value_of(item["finalized"]),
        provisional=None if provisional is None else command_of(provisional),
    )


def net(updates: Iterable[Update]) -> Counter[tuple[bytes, int]]:
    """Sum the diffs of equal updates and drop zeros."""
    sums = Counter[tuple[bytes, int]]()
    for update in updates:
        sums[update.value, update.ts] += update.diff
    return Counter({place: diff for place, diff in sums.items() if diff})


# ------------------------------------------------------------------------------- acceptance cases


@pytest.mark.parametrize("vector", vectors("accessors"))
def test_a_state_gives_the_values_of_the_vector(vector: dict[str, Any]) -> None:
    state, ts = state_of(vector["state"]), vector["ts"]
    if "error" in vector:
        for read in (
            state.finalized_value,
            lambda: state.value_at(ts),
            lambda: state.provisional_order(ts),
            lambda: state.apply(Command(value=None, ts=ts, order=1)),
        ):
            with pytest.raises(ConsolidationError, match=vector["error"]):
                read()
        return
    assert state.provisional_order(ts) == vector["provisional_order"]
    assert state.value_at(ts) == value_of(vector["provisional_value"])
    assert state.finalized_value() == value_of(vector["finalized_value"])


@pytest.mark.parametrize("vector", vectors("constructors"))
def test_a_command_gives_the_state_of_the_vector(vector: dict[str, Any]) -> None:
    state, _ = state_of(vector["from"]).apply(command_of(vector["command"]))
    assert state == state_of(vector["to"])


@pytest.mark.parametrize("vector", vectors("scenarios"))
def test_each_step_gives_the_updates_state_and_values_of_the_scenario(
    vector: dict[str, Any],
) -> None:
    state = state_of(vector["start"])
    all_emitted: list[Update] = []
    for step in vector["steps"]:
        emitted: list[Update] = []
        if "command" in step:
            state, emitted = state.apply(command_of(step["command"]))
        else:
            state = state.feedback([update_of(item) for item in step["feedback"]])
        assert emitted == [update_of(item) for item in step["emitted"]]
        assert state == state_of(step["state"])
        for read in step["reads"]:
            assert state.value_at(read["ts"]) == value_of(read["value"])
        all_emitted += emitted
    assert net(all_emitted) == net(update_of(item) for item in vector["net"])


# ------------------------------------------------------------------------------- the rules


def test_an_equal_value_emits_nothing_but_advances_the_order() -> None:
    command = Command(value=b"A", ts=5, order=3)
    assert State(finalized=b"A").apply(command) == (State(b"A", command), [])


def test_an_empty_value_is_a_value_and_not_a_delete() -> None:
    state, updates = State(finalized=b"").apply(Command(value=None, ts=5, order=1))
    assert updates == [Update(b"", 5, -1)]
    assert state.feedback(updates) == State()
    assert State().feedback([Update(b"", 5, 1)]) == State(finalized=b"")


@pytest.mark.parametrize(
    ("updates", "fault"),
    [
        ([Update(b"B", 5, 1)], "non 0/1 diff_sum"),
        ([Update(b"B", 5, -1)], "checksum_sum is non-0"),
        ([Update(b"A", 5, -2)], "non 0/1 diff_sum"),
        ([Update(b"B", 5, -1), Update(b"C", 5, 1)], "checksum_sum does not match"),
    ],
)
def test_feedback_must_leave_one_value_or_none(updates: list[Update], fault: str) -> None:
    state = State(finalized=b"A", provisional=Command(value=b"B", ts=5, order=1))
    with pytest.raises(ConsolidationError, match=fault):
        state.feedback(updates)


def test_a_state_cannot_be_read_while_feedback_is_incomplete() -> None:
    retracted = State(finalized=b"A").collect([Update(b"A", 5, -1)])
    with pytest.raises(ConsolidationError, match=r"consolidating.*\nGot: diff_sum 0"):
        retracted.value_at(5)
    assert retracted.feedback([]) == State()


def test_folding_no_commands_keeps_the_state() -> None:
    state = State(b"A", Command(value=b"B", ts=5, order=1))
    assert fold(state, []) == (state, [])


# ------------------------------------------------------------------------------- the laws

values = st.sampled_from([b"", b"A", b"B", b"C"])
finalized = st.none() | values
commands = st.builds(
    Command,
    value=st.none() | values,
    ts=st.integers(5, 6),
    order=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)


SUMS = r"(diff_sum|non-0|is negative|len_sum|does not match)\nGot: diff_sum -?\d+, len_sum "
"""The message names the first sum that is wrong, and shows all of them."""


def of_one_tick(max_size: int = 6) -> st.SearchStrategy[list[Command]]:
    """Commands at tick 5 with different orders."""
    return st.lists(
        st.builds(Command, st.none() | values, st.just(5), st.integers(0, 9)),
        max_size=max_size,
        unique_by=lambda command: command.order,
    )


@given(finalized, st.data())
def test_the_greatest_order_of_a_tick_wins_in_any_order_of_arrival(
    start: bytes | None, data: st.DataObject
) -> None:
    tick = data.draw(of_one_tick())
    state, updates = fold(State(start), data.draw(st.permutations(tick)))
    in_order, same_updates = fold(State(start), sorted(tick, key=lambda each: each.order))
    winner = max(tick, key=lambda each: each.order, default=None)
    assert state == in_order == State(start, winner)
    assert net(updates) == net(same_updates)


@given(finalized, of_one_tick())
def test_updates_of_a_tick_sum_to_one_change_and_feedback_finalizes_it(
    start: bytes | None, tick: list[Command]
) -> None:
    state, updates = fold(State(start), tick)
    value = state.value_at(5)
    change = Counter({(each, 5): 1 for each in (value,) if each is not None})
    change.subtract({(each, 5): 1 for each in (start,) if each is not None})
    assert net(updates) == {place: diff for place, diff in change.items() if diff}
    if updates:
        assert state.feedback(updates) == State(value)


@given(st.builds(State, finalized, st.none() | commands), st.lists(commands, max_size=8))
def test_commands_never_change_the_finalized_value(state: State, log: list[Command]) -> None:
    after, _ = fold(state, log)
    assert after.finalized == state.finalized
    assert after.value_at(7) == state.finalized


@given(
    finalized,
    st.none() | commands,
    st.lists(st.builds(Update, values, st.integers(5, 6), st.integers(-1, 2)), max_size=5),
    st.integers(0, 5),
)
def test_feedback_clears_the_provisional_value_and_may_come_in_parts(
    start: bytes | None, provisional: Command | None, updates: list[Update], cut: int
) -> None:
    counts = Counter[bytes]([] if start is None else [start])
    for update in updates:
        counts[update.value] += update.diff
    left = {value: count for value, count in counts.items() if count}
    state = State(start, provisional)
    parts = state.collect(updates[:cut])
    if len(left) > 1 or set(left.values()) - {1}:
        with pytest.raises(ConsolidationError, match=SUMS) as at_once:
            state.feedback(updates)
        with pytest.raises(ConsolidationError, match=SUMS) as in_parts:
            parts.feedback(updates[cut:])
        assert str(in_parts.value) == str(at_once.value)
        return
    expected = State(next(iter(left), None))
    assert parts.feedback(updates[cut:]) == expected
    assert state.feedback(updates) == (expected if updates else state)
