"""The loop of the watcher: run a round, wait until something has grown, run the next one."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Protocol

from dbt_trueup.plural import count
from dbt_trueup.runner.growth import is_version
from dbt_trueup.runner.rounds import Runs, attempt
from dbt_trueup.runner.screen import IDLE, RUNNING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from dbt_trueup.runner.screen import Screen

MOST_DOUBLINGS = 20
"""How often the pause after failures is doubled."""


class Watchable(Runs, Protocol):
    """Something that `repeat` can run, such as `Project`."""

    def look(self) -> Mapping[str, object]:
        """Return the versions of everything that is read. They are equal while nothing is new.

        The version of a table is a string. It is None if the table has no versions.
        """

    def require_spark(self) -> None:
        """Raise SparkStoppedError if Spark has stopped, and this process cannot start it again."""


def repeat(runs: Watchable, every: float, look: float, stop: Event, screen: Screen) -> int:
    """Run rounds until `stop` is set.

    Args:
        runs: The models to run.
        every: The longest time from one round of all models to the next, in seconds. The rounds
            between them run only the models that read what has grown, and all models after those.
        look: The pause between two looks, in seconds.
        stop: Ends the loop after the current round.
        screen: Prints the lines.

    Returns:
        0. The last line that is printed sums up the rounds.

    Raises:
        UsageError: The first round has nothing to run. If a later round has nothing to run, it is
            tried again.
        SparkStoppedError: Spark has stopped. Every later round would fail.
    """
    number = changed = failed = 0
    printed_tables = ""
    seen: Mapping[str, object] = {}
    runs_all = True
    while not stop.is_set():
        # Look before the run: then the first look after it sees what grew meanwhile.
        before, seen = seen, runs.look()
        number += 1
        screen.show_status(RUNNING)
        grown = None if runs_all else changes(before, seen)
        done = attempt(runs, grown, is_first=number == 1)
        if runs_all:
            all_until = monotonic() + every
        screen.print_round(done, f"round {number}: ")
        changed += bool(done.changes)
        failed = failed + 1 if done.failures else 0
        if done.failures and not stop.is_set():
            runs.require_spark()
        # Any model may have failed, not only those that read what grows next.
        runs_all = bool(failed)
        if stop.is_set():
            continue
        now = runs.look()
        tables = describe_tables(now, every, look)
        if tables != printed_tables:
            screen.print_line(tables)
            printed_tables = tables
        # After a failure the next try comes soon, then less and less often.
        pause = look * 2 ** min(failed, MOST_DOUBLINGS) if failed else every
        end = min(monotonic() + pause, all_until)
        while now == seen and monotonic() < end and not stop.wait(min(look, end - monotonic())):
            screen.show_status(IDLE)
            now = runs.look()
        runs_all = runs_all or monotonic() >= all_until
    screen.print_line(
        f"stopped after {count(number, 'round')}, {changed} of which changed something"
    )
    return 0


def changes(before: Mapping[str, object], seen: Mapping[str, object]) -> set[str]:
    """Return the names whose version has changed, has come or has gone.

    Example:
        >>> sorted(changes({"lake.a": "1", "lake.b": "7"}, {"lake.a": "2", "lake.c": "1"}))
        ['lake.a', 'lake.b', 'lake.c']
    """
    return {name for name in {*before, *seen} if before.get(name) != seen.get(name)}


def describe_tables(seen: Mapping[str, object], every: float, look: float) -> str:
    """Describe which tables are looked at, and which have no versions to look at.

    Example:
        >>> describe_tables({"lake.log": "7", "/models/a.sql": 123}, 60, 1)
        'looks at lake.log every 1 s; runs every 60 s at the latest'
        >>> describe_tables({"shop.files": None}, 60, 1)
        'cannot see shop.files grow; runs every 60 s'
    """
    unversioned = [name for name, version in seen.items() if not is_version(version)]
    # The version of a file of the project is a number. It is not listed.
    versioned = [
        name for name, version in seen.items() if isinstance(version, str) and is_version(version)
    ]
    texts = [
        *([f"looks at {', '.join(versioned)} every {look:g} s"] if versioned else []),
        *([f"cannot see {', '.join(unversioned)} grow"] if unversioned else []),
        f"runs every {every:g} s" + (" at the latest" if versioned and not unversioned else ""),
    ]
    return "; ".join(texts)
