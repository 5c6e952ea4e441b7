"""The program `trueup`.

trueup run [--until-caught-up] [any option of `dbt run` ...]
trueup watch [--every SECONDS] [--look SECONDS] [--once] [any option of `dbt run` ...]
"""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

from dbt_trueup.catch_up.loop import run_until_caught_up
from dbt_trueup.errors import UsageError
from dbt_trueup.runner.once import run_once
from dbt_trueup.runner.project import Project
from dbt_trueup.runner.screen import Screen
from dbt_trueup.watch.loop import repeat

from .parser import DBT_OPTIONS, parse_arguments
from .signals import stop_on_signals

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words of the command line; by default those of this process.

    Returns:
        The exit code. 0: all models succeeded, everything is settled (with `--until-caught-up`),
        or a signal stopped `trueup watch`. 1: a model failed, or (with `--until-caught-up`)
        something is left to settle. 2: there was nothing to run.
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
        try:
            return pool.submit(run_command, given, project, stop, screen).result()
        except UsageError as error:
            sys.stderr.write(f"trueup {given.command}: {error}\n")
            return 2
        finally:
            # A failed dbt command leaves threads behind, and Python complains about them at exit.
            gc.collect()


def run_command(given: Namespace, project: Project, stop: Event, screen: Screen) -> int:
    """Run the rounds that a command asks for. Return the exit code."""
    if given.command == "watch" and not given.once:
        return repeat(project, given.every, given.look, stop, screen)
    if given.command == "run" and given.until_caught_up:
        return run_until_caught_up(project, stop, screen)
    return run_once(project, screen)
