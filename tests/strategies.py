"""Random logs over few keys, and random ways to bring one log to its collection."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from tests.oracle import Command, Value

KEY_COLUMNS = {
    1: (("k", "string"),),
    2: (("k1", "string"), ("k2", "double")),
}
"""Names and Spark SQL types by the number of key columns."""
VALUE_COLUMNS = (("v1", "string"), ("v2", "double"))
ORDER_COLUMNS = (("o1", "bigint"), ("o2", "bigint"))
MAX_TS = 6


class Step(NamedTuple):
    """Commands that arrive, and the caps of the one run that follows."""

    commands: list[Command]
    until: int | None = None
    max_commands: int | None = None


def texts() -> st.SearchStrategy[str]:
    """Texts that are easily mixed up, and any other that Spark can hold."""
    tricky = ["", "a", "A", " a", "null", "NaN", "\u00e9", "e\u0301", "\U0001f600", "a\x00b"]
    any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    return st.sampled_from(tricky) | any_text


def numbers() -> st.SearchStrategy[float]:
    """Doubles, NaN and -0.0 among them."""
    return st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, 2.0**53])


def values() -> st.SearchStrategy[Value]:
    """Values of VALUE_COLUMNS; all of them may be null."""
    return st.tuples(st.none() | texts(), st.none() | numbers())


def keys(width: int) -> st.SearchStrategy[Value]:
    """Few good keys; only a composite one may hold a null."""
    if width == 1:
        return st.tuples(st.sampled_from(["", "a", "A", "\u00e9"]))
    return st.tuples(
        st.sampled_from([None, "", "a"]), st.sampled_from([None, 0.0, -0.0, float("nan")])
    )


def error_keys() -> st.SearchStrategy[str]:
    """The missing key, zero bytes, and bytes that are no text."""
    return st.sampled_from(["null", "x", "x00", "xff"])


@st.composite
def commands(draw: st.DrawFn, width: int, *, errors: bool = True) -> Command:
    """An upsert, a delete, or a value error; the key is good, undecodable or missing."""
    ts = draw(st.integers(0, MAX_TS))
    order = draw(st.tuples(st.integers(0, 1), st.integers(0, 3)))
    value = draw(st.none() | values())
    if not errors:
        return Command(ts, order, draw(keys(width)), value)
    error = draw(st.sampled_from([None, None, "", "not a number", "not a record"]))
    if draw(st.integers(0, 3)) == 0:
        return Command(ts, order, None, value, error, draw(error_keys()))
    return Command(ts, order, draw(keys(width)), None if error is not None else value, error)


@st.composite
def logs(
    draw: st.DrawFn, width: int | None = None, *, errors: bool = True, max_size: int = 30
) -> list[Command]:
    """A log without ties, in any order; `width` is the number of key columns, or either."""
    chosen = width or draw(st.sampled_from(sorted(KEY_COLUMNS)))
    return draw(
        st.lists(
            commands(chosen, errors=errors),
            max_size=max_size,
            unique_by=lambda command: (command.identity, command.ts, command.order),
        )
    )


def shuffles(log: list[Command]) -> st.SearchStrategy[list[Command]]:
    """The same log in another order."""
    return st.permutations(log)


@st.composite
def duplicates(draw: st.DrawFn, log: list[Command]) -> list[Command]:
    """The same log, with some commands more than once."""
    return log + draw(st.lists(st.sampled_from(log), max_size=10)) if log else []


def untils() -> st.SearchStrategy[int | None]:
    """No cap, or one anywhere between before the first tick and after the last."""
    return st.none() | st.integers(0, MAX_TS + 3)


@st.composite
def tick_splits(draw: st.DrawFn, log: list[Command]) -> list[Step]:
    """Runs that never meet a late command: each is cut at a tick by arrival, a cap, or both."""
    ticks = st.integers(0, MAX_TS + 1)
    steps: list[Step] = []
    arrived = 0
    for until in sorted(draw(st.lists(ticks, max_size=4))):
        arriving = max(arrived, draw(st.integers(until, MAX_TS + 1)))
        part = [command for command in log if arrived <= command.ts < arriving]
        steps.append(Step(part, until, draw(st.none() | st.integers(1, 5))))
        arrived = arriving
    return [*steps, Step([command for command in log if command.ts >= arrived])]


@st.composite
def late_splits(draw: st.DrawFn, log: list[Command]) -> list[Step]:
    """Runs in any order of arrival, so that commands come late; the last run has no cap."""
    shuffled = draw(shuffles(log))
    cuts = sorted(draw(st.lists(st.integers(0, len(log)), max_size=4)))
    bounds = zip([0, *cuts], [*cuts, len(log)], strict=True)
    parts = [shuffled[first:last] for first, last in bounds]
    caps = st.none() | st.integers(1, 5)
    steps = [Step(part, draw(untils()), draw(caps)) for part in parts]
    return [*steps, Step([])]
