"""Random logs for order mode over few keys, and random ways to read a log in runs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from tests.newest_oracle import Command
from tests.strategies import KEY_COLUMNS, error_keys, keys, positions, values

if TYPE_CHECKING:
    from tests.oracle import Identity

MAX_RUNS = 4
Order = tuple[int | None, int | None]


class Kinds(NamedTuple):
    """The kinds of commands that a log may have besides whole upserts and deletes without ties.

    Without `ties`, no two commands of a key have the same order, except exact duplicates, and a
    delete of the old key beside a change of key.
    """

    errors: bool = True
    partial: bool = False
    truncates: bool = False
    ties: bool = False
    null_orders: bool = False
    duplicates: bool = False
    key_changes: bool = False


WHOLE = Kinds()
ALL_KINDS = Kinds(*[True] * 7)


def orders() -> st.SearchStrategy[Order]:
    """A few orders."""
    return st.tuples(st.integers(0, 1), st.integers(0, 3))


def null_orders() -> st.SearchStrategy[Order]:
    """No order: its first part is null."""
    return st.sampled_from([(None, None), (None, 1)])


@cache
@st.composite
def commands(draw: st.DrawFn, width: int, kinds: Kinds = WHOLE) -> Command:
    """An upsert, a delete, a value error or a truncate. The key is good, unreadable or missing."""
    order = draw(orders())
    if kinds.truncates and draw(st.integers(0, 9)) == 0:
        return Command(order, None, None, is_truncate=True)
    if kinds.null_orders and draw(st.integers(0, 5)) == 0:
        order = draw(null_orders())
    value = draw(st.none() | values())
    error = None
    if kinds.errors:
        error = draw(st.sampled_from([*[None] * 6, "", "not a number"]))
        if draw(st.integers(0, 5)) == 0:
            return Command(order, None, value, error, draw(error_keys()))
    key = draw(keys(width))
    if value is None and error is None:
        return Command(order, key, None)
    return Command(
        order,
        key,
        value if error is None else None,
        error,
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
    """A log in any sequence. `width` is the number of key columns; by default it is random.

    Like a real source, many changes of a key come with a delete of the old key.
    """
    chosen = width or draw(st.sampled_from(sorted(KEY_COLUMNS)))
    log = draw(st.lists(commands(chosen, kinds), min_size=min_size, max_size=max_size))
    if not kinds.ties:
        log = without_ties(log)
    for command in [*log]:
        if command.source is not None and draw(st.booleans()):
            log.append(Command(command.order, command.old_key, None))
    if kinds.duplicates and log:
        log += draw(st.lists(st.sampled_from(log), max_size=10))
    return log


def without_ties(log: list[Command]) -> list[Command]:
    """The first command of each key and order. A change of key counts for both of its keys."""
    seen: set[tuple[Identity, object]] = set()
    kept = []
    for command in log:
        places = {(each, command.rank) for each in command.identities}
        if not command.rank or not places & seen:
            kept.append(command)
            seen |= places
    return kept


@st.composite
def splits(draw: st.DrawFn, log: list[Command]) -> list[list[Command]]:
    """Up to four runs that read the whole log, in any sequence.

    A run may read some commands twice, and commands of earlier runs again.
    """
    shuffled = draw(st.permutations(log))
    cuts = sorted(draw(st.lists(st.integers(0, len(log)), max_size=MAX_RUNS - 1)))
    runs = []
    for first, last in zip([0, *cuts], [*cuts, len(log)], strict=True):
        again = draw(st.lists(st.sampled_from(shuffled[:last]), max_size=5)) if last else []
        runs.append(draw(st.permutations(shuffled[first:last] + again)))
    return runs
