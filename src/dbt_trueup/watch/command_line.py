"""The warm runner: `trueup watch` runs collections again as their logs grow, in one process.

    trueup watch [--every SECONDS] [--look SECONDS] [--once] [any option of `dbt run` ...]

dbt does the work: a round is one `dbt run` by `dbtRunner`, in the Spark session of the rounds
before, over a project that is parsed once. Between rounds nothing but the versions of what the
models read is looked at, and the times of the project's files.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from time import monotonic, strftime
from typing import TYPE_CHECKING, Protocol

from .rounds import Project, Round, UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

DBT_OPTIONS = ("--project-dir", "--profiles-dir", "--profile", "--target", "--vars")
"""The options that `dbt parse` gets, too; all others are for `dbt run` alone."""

MOST_DOUBLINGS = 20
"""How often the pause after failures is doubled."""


class Runs(Protocol):
    """What `repeat` runs."""

    def run(self) -> Round:
        """Run the models once. Raises UsageError where there is nothing to run."""

    def look(self) -> Mapping[str, object]:
        """Say what there is, cheaply: equal as long as nothing is new. A None: that cannot tell."""


class Screen:
    """Where lines are printed: an idle one is replaced on a terminal, and left out elsewhere."""

    idle = ""
    """What stands in the last line of a terminal."""

    def say(self, text: str) -> None:
        """Print a line at once, with the time."""
        blank = " " * len(self.idle)
        erased = f"\r{blank}\r" if blank else ""
        self.idle = ""
        sys.stdout.write(f"{erased}{strftime('%H:%M:%S')}  {text}\n")
        sys.stdout.flush()

    def rest(self) -> None:
        """Say on a terminal that nothing is to be done."""
        if not self.idle and sys.stdout.isatty():
            self.idle = f"{strftime('%H:%M:%S')}  idle"
            sys.stdout.write(self.idle)
            sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Watch as the command line asks.

    Args:
        arguments: Those of the command line, where they are not given.

    Returns:
        The exit code: 0 after a signal, or, with `--once`, where all models succeeded; 1 where one
        failed; 2 where nothing could be run.
    """
    given, others = parse_arguments(arguments)
    options = [
        word
        for option in DBT_OPTIONS
        if (value := getattr(given, option[2:].replace("-", "_"))) is not None
        for word in (option, value)
    ]
    project, screen, stop = Project(options, others), Screen(), Event()
    # dbt and Spark have a thread of their own: in this one they would break off at a signal.
    with stop_on_signals(stop, screen), ThreadPoolExecutor(1) as pool:
        work = (
            pool.submit(run_once, project, screen)
            if given.once
            else pool.submit(repeat, project, given.every, given.look, stop, screen)
        )
        try:
            return work.result()
        except UsageError as error:
            sys.stderr.write(f"trueup watch: {error}\n")
            return 2
        finally:
            # dbt leaves threads of a failed command to the end of Python, which complains of them.
            gc.collect()


def parse_arguments(arguments: Sequence[str] | None) -> tuple[Namespace, list[str]]:
    """Split a command line into our options, and those that are handed to `dbt run` as they are."""
    parser = ArgumentParser(
        prog="trueup",
        usage="trueup watch [--every SECONDS] [--look SECONDS] [--once] [option of dbt run ...]",
        description="Run collections again as their logs grow, in one warm process.",
        epilog="All other options are those of `dbt run`, such as --select.",
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=["watch"], metavar="watch")
    parser.add_argument(
        "--every",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="run at least this often, whether or not anything grows; default: 60",
    )
    parser.add_argument(
        "--look",
        type=seconds,
        default=0.5,
        metavar="SECONDS",
        help="look this often whether a log has grown; default: 0.5",
    )
    parser.add_argument("--once", action="store_true", help="run once, and end as `dbt run` does")
    for option in DBT_OPTIONS:
        short = ["-t"] if option == "--target" else []
        parser.add_argument(option, *short, help="as in dbt")
    given, others = parser.parse_known_args(arguments)
    if not given.once and {"--full-refresh", "-f"} & set(others):
        parser.error(
            "--full-refresh would rebuild the models in every round; got it without --once: "
            "run `dbt run --full-refresh`, then watch without it"
        )
    return given, others


def seconds(text: str) -> float:
    """Read a number of seconds.

    Example:
        >>> seconds("2.5")
        2.5
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        message = f"must be a number of seconds above 0, such as 2 or 0.5; got {text!r}"
        raise ArgumentTypeError(message)
    return number


@contextmanager
def stop_on_signals(stop: Event, screen: Screen) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM; the second ends the process as it stands."""

    def answer(number: int, _: object) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        screen.say("stops when this round is done; a second signal stops at once")

    if current_thread() is not main_thread():  # only the main thread may
        yield
        return
    before = {number: signal.signal(number, answer) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_once(runs: Runs, screen: Screen) -> int:
    """Run a single round; its exit code is that of `dbt run`."""
    done = runs.run()
    tell(done, "", screen)
    if not done.changes and not done.failures:
        screen.say(f"nothing to do: {done.models} models in {done.seconds:.1f} s")
    return 1 if done.failures else 0


def repeat(runs: Runs, every: float, look: float, stop: Event, screen: Screen) -> int:
    """Run, wait until something has grown, and run again, until `stop` is set.

    Args:
        runs: What is run.
        every: Seconds from the end of a round to the next, at most.
        look: Seconds between looks.
        stop: Ends it after the round that runs.
        screen: Where lines are printed.

    Returns:
        0: the last line says what was done.

    Raises:
        UsageError: The first round has nothing to run. Later ones are tried again.
    """
    number = changed = failed = 0
    told = ""
    while not stop.is_set():
        # Before the run: what grows while it runs is seen by the first look after it.
        seen = runs.look()
        number += 1
        done = attempt(runs, is_first=number == 1)
        tell(done, f"round {number}: ", screen)
        changed += bool(done.changes)
        failed = failed + 1 if done.failures else 0
        if stop.is_set() or (done.has_more and not failed):
            continue
        now = runs.look()
        tables = describe_tables(now, every, look)
        if tables != told:
            screen.say(tables)
            told = tables
        # What has failed is tried again soon, then less and less often.
        end = monotonic() + min(every, look * 2 ** min(failed, MOST_DOUBLINGS) if failed else every)
        while now == seen and monotonic() < end and not stop.wait(min(look, end - monotonic())):
            screen.rest()
            now = runs.look()
    screen.say(f"stopped after {number} rounds, {changed} of which changed something")
    return 0


def attempt(runs: Runs, *, is_first: bool) -> Round:
    """Run a round. What breaks it is a failure like that of a model, unless it is the first."""
    began = monotonic()
    try:
        return runs.run()
    except UsageError as error:
        if is_first:
            raise
        return Round(seconds=monotonic() - began, failures=(str(error),))


def tell(done: Round, prefix: str, screen: Screen) -> None:
    """Print what a round did: a line, and one for each model that failed."""
    if done.changes:
        what = "; ".join(done.changes)
        screen.say(f"{prefix}{done.models} models in {done.seconds:.1f} s; {what}")
    for failure in done.failures:
        screen.say(f"{prefix}failed after {done.seconds:.1f} s; {failure}")


def describe_tables(seen: Mapping[str, object], every: float, look: float) -> str:
    """Say what is looked at, and what cannot be.

    Example:
        >>> describe_tables({"lake.log": "7", "/models/a.sql": 123}, 60, 1)
        'looks at lake.log every 1 s; runs every 60 s at the latest'
        >>> describe_tables({"shop.files": None}, 60, 1)
        'cannot see shop.files grow; runs every 60 s'
    """
    tables = [name for name, version in seen.items() if isinstance(version, str)]
    blind = [name for name, version in seen.items() if version is None]
    texts = [
        *([f"looks at {', '.join(tables)} every {look:g} s"] if tables else []),
        *([f"cannot see {', '.join(blind)} grow"] if blind else []),
        f"runs every {every:g} s" + (" at the latest" if tables and not blind else ""),
    ]
    return "; ".join(texts)
