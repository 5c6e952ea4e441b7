"""The command line of the warm runner.

trueup watch [--every SECONDS] [--look SECONDS] [--once] [any option of `dbt run` ...]
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
from typing import TYPE_CHECKING

from dbt_trueup.errors import UsageError

from .loop import repeat, run_once
from .project import Project
from .screen import Screen

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

DBT_OPTIONS = ("--project-dir", "--profiles-dir", "--profile", "--target", "--vars")
"""The options that `dbt parse` takes, too. All others go to `dbt run` alone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words of the command line; by default those of this process.

    Returns:
        The exit code. 0: all models succeeded (with `--once`), or a signal stopped the watcher.
        1: a model failed (with `--once`). 2: there was nothing to run.
    """
    given, others = parse_arguments(arguments)
    options = [
        word
        for option in DBT_OPTIONS
        if (value := getattr(given, option[2:].replace("-", "_"))) is not None
        for word in (option, value)
    ]
    project, screen, stop = Project(options, others), Screen(), Event()
    # dbt and Spark run in a thread of their own: in the main thread a signal would interrupt them.
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
            # A failed dbt command leaves threads behind, and Python complains about them at exit.
            gc.collect()


def parse_arguments(arguments: Sequence[str] | None) -> tuple[Namespace, list[str]]:
    """Split a command line into our options and those that go to `dbt run` unchanged."""
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
        type=parse_seconds,
        default=60.0,
        metavar="SECONDS",
        help="run at least this often, even if nothing grows; default: 60",
    )
    parser.add_argument(
        "--look",
        type=parse_seconds,
        default=0.5,
        metavar="SECONDS",
        help="check this often whether a log has grown; default: 0.5",
    )
    parser.add_argument("--once", action="store_true", help="run once, and exit as `dbt run` does")
    for option in DBT_OPTIONS:
        short = ["-t"] if option == "--target" else []
        parser.add_argument(option, *short, help="as in dbt")
    given, others = parser.parse_known_args(arguments)
    if not given.once and {"--full-refresh", "-f"} & set(others):
        parser.error(
            "--full-refresh needs --once; got it without, which would rebuild the models in every"
            " round: run `dbt run --full-refresh`, then watch without it"
        )
    return given, others


def parse_seconds(text: str) -> float:
    """Read a number of seconds.

    Example:
        >>> parse_seconds("2.5")
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
    """Set `stop` at the first SIGINT or SIGTERM. The second one ends the process at once."""

    def handle_signal(number: int, _: object) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        screen.print_line("stops when this round is done; a second signal stops at once")

    if current_thread() is not main_thread():  # only the main thread may set handlers
        yield
        return
    before = {
        number: signal.signal(number, handle_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
