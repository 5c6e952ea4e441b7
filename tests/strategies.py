"""Random logs over few keys, and random ways to split a log into runs."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import hypothesis
from hypothesis import strategies as st

from tests.oracle import Command, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

KEY_COLUMNS = {
    1: (("k", "string"),),
    2: (("k1", "string"), ("k2", "double")),
}
"""Names and Spark SQL types by the number of key columns."""
EXAMPLES = int(os.environ.get("TRUEUP_EXAMPLES", "1"))
"""How many examples a test with `choose` has. A long run sets a greater number."""
LEAST = 0 if "TRUEUP_EXAMPLES" in os.environ else 20
"""How many commands the log of such a test has at least. A long run draws tiny logs, too."""
VALUE_COLUMNS = (("v1", "string"), ("v2", "double"))
MAX_TS = 6


class Kinds(NamedTuple):
    """The kinds of commands that a log may have besides whole upserts and deletes without ties."""

    errors: bool = True
    partial: bool = False
    key_changes: bool = False
    truncates: bool = False
    null_orders: bool = False
    ties: bool = False


WHOLE = Kinds()
ALL_KINDS = Kinds(*[True] * 6)


class Step(NamedTuple):
    """Commands that arrive before a run, and the caps of that run."""

    commands: list[Command]
    until: int | None = None
    max_commands: int | None = None


Drawn = TypeVar("Drawn")


def sample(strategy: st.SearchStrategy[Drawn], count: int, seed: int) -> list[Drawn]:
    """Draw about `count` examples at once, for a test with expensive runs."""
    found: list[Drawn] = []

    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.seed(seed)
    @hypothesis.given(strategy)
    def draw(one: Drawn) -> None:
        found.append(one)

    draw()
    return found


def choose(
    strategy: st.SearchStrategy[Drawn], seed: int, score: Callable[[Drawn], object]
) -> Drawn:
    """Draw 20 examples and choose the one with the greatest score, the same one each time."""
    return max(sample(strategy, 20, seed), key=score)  # type: ignore[arg-type]


@cache
def texts() -> st.SearchStrategy[str]:
    """Texts that are easily confused, and any other text that Spark can store."""
    tricky = ["", "a", "A", " a", "null", "NaN", "\u00e9", "e\u0301", "\U0001f600", "a\x00b"]
    any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    return st.sampled_from(tricky) | any_text


def numbers() -> st.SearchStrategy[float]:
    """Doubles, including NaN and -0.0."""
    return st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, 2.0**53])


def values() -> st.SearchStrategy[Value]:
    """Values of VALUE_COLUMNS. Each column may be null."""
    return st.tuples(st.none() | texts(), st.none() | numbers())


@cache
def positions() -> st.SearchStrategy[frozenset[int]]:
    """Positions of value columns."""
    return st.frozensets(st.integers(0, len(VALUE_COLUMNS) - 1))


def keys(width: int) -> st.SearchStrategy[Value]:
    """A few good keys. Only a composite key may have a null."""
    if width == 1:
        return st.tuples(st.sampled_from(["", "a", "A", "\u00e9"]))
    return st.tuples(
        st.sampled_from([None, "", "a"]), st.sampled_from([None, 0.0, -0.0, float("nan")])
    )


@cache
def error_keys() -> st.SearchStrategy[str]:
    """Error keys: a missing key, no bytes, a zero byte, and a byte that is not text."""
    return st.sampled_from(["null", "x", "x00", "xff"])


@cache
def orders(kinds: Kinds) -> st.SearchStrategy[tuple[int | None, int | None]]:
    """A few orders. All parts of a null order are null."""
    known = st.tuples(st.integers(0, 1), st.integers(0, 3))
    return st.just((None, None)) | known if kinds.null_orders else known


def order_before(order: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the next smaller order. The smallest order and a null order stay as they are."""
    major, minor = order
    if major is None or minor is None or (major, minor) == (0, 0):
        return order
    return (major, minor - 1) if minor else (major - 1, 3)


@cache
@st.composite
def commands(draw: st.DrawFn, width: int, kinds: Kinds = WHOLE) -> Command:
    """An upsert, a delete, a value error or a truncate. The key is good, unreadable or missing."""
    ts = draw(st.integers(0, MAX_TS))
    order = draw(orders(kinds))
    if kinds.truncates and draw(st.integers(0, 9)) == 0:
        return Command(ts, order, None, None, is_truncate=True)
    value = draw(st.none() | values())
    if kinds.errors:
        error = draw(st.sampled_from([None, None, "", "not a number", "not a record"]))
        if draw(st.integers(0, 3)) == 0:
            return Command(ts, order, None, value, error, draw(error_keys()))
        if error is not None:
            return Command(ts, order, draw(keys(width)), None, error)
    key = draw(keys(width))
    if value is None:
        return Command(ts, order, key, None)
    return Command(
        ts,
        order,
        key,
        value,
        unchanged=draw(positions()) if kinds.partial else frozenset(),
        old_key=draw(st.none() | keys(width)) if kinds.key_changes else None,
    )


@st.composite
def logs(
    draw: st.DrawFn,
    width: int | None = None,
    kinds: Kinds = WHOLE,
    min_size: int = 0,
    max_size: int = 30,
) -> list[Command]:
    """A log in any order. `width` is the number of key columns; by default it is random.

    Like a real source, most changes of a key come with a delete of the old key. The delete has
    the order of the change, or the next smaller order.
    """
    chosen = width or draw(st.sampled_from(sorted(KEY_COLUMNS)))
    drawn = draw(st.lists(commands(chosen, kinds), min_size=min_size, max_size=max_size))
    for command in [*drawn]:
        if command.old_key is not None and draw(st.integers(0, 3)) > 0:
            order = draw(st.sampled_from([command.order, order_before(command.order)]))
            drawn.append(Command(command.ts, order, command.old_key, None))
    if kinds.ties:
        return drawn
    return list({(each.identity, each.ts, each.order): each for each in drawn}.values())


def ignoring_nulls(log: list[Command], positions: Collection[int]) -> list[Command]:
    """The same log, but a null in one of these value columns means that the column is unchanged."""
    return [
        replace(
            command,
            unchanged=command.unchanged | {i for i in positions if command.value[i] is None},
        )
        if command.value is not None
        else command
        for command in log
    ]


def shuffles(log: list[Command]) -> st.SearchStrategy[list[Command]]:
    """The same log in another order."""
    return st.permutations(log)


@st.composite
def duplicates(draw: st.DrawFn, log: list[Command]) -> list[Command]:
    """The same log, with some commands more than once."""
    return log + draw(st.lists(st.sampled_from(log), max_size=10)) if log else []


def untils() -> st.SearchStrategy[int | None]:
    """No cap, or a cap anywhere from before the first tick to after the last tick."""
    return st.none() | st.integers(0, MAX_TS + 3)


@st.composite
def tick_splits(draw: st.DrawFn, log: list[Command]) -> list[Step]:
    """Runs without late commands. Arrival, a cap, or both end each run at a tick."""
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
    """Runs whose commands arrive in any order, so that some are late. The last run has no cap."""
    shuffled = draw(shuffles(log))
    cuts = sorted(draw(st.lists(st.integers(0, len(log)), max_size=4)))
    bounds = zip([0, *cuts], [*cuts, len(log)], strict=True)
    parts = [shuffled[first:last] for first, last in bounds]
    caps = st.none() | st.integers(1, 5)
    steps = [Step(part, draw(untils()), draw(caps)) for part in parts]
    return [*steps, Step([])]
