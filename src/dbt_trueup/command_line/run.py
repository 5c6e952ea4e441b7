"""`trueup run` and `trueup watch`: `dbt run` in one warm process, once or again and again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import click
from dbt.cli.main import cli as dbt_commands

from dbt_trueup.plural import count
from dbt_trueup.runner.project import Project
from dbt_trueup.runner.screen import RUNNING, JsonScreen, Screen
from dbt_trueup.watch.loop import repeat

from .options import dbt_options, epilog, json_option, seconds
from .signals import stop_on_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbt_trueup.runner.rounds import Runs

ALL_OTHERS = "All other options are those of `dbt run`, such as --select."

PASSES_OTHERS_ON = {"ignore_unknown_options": True}
"""Settings of a command whose other options go to dbt."""

RUN_EXAMPLE = """\
Example: one line for the collections that have changed
  $ trueup run --select orders
  12:00:49  1 model in 2.1 s; orders: batch 8: 120 commands, 40 inserted, 80 superseded"""

RUN_CODES = """\
Exit codes
  0  all models succeeded
  1  a model failed
  2  there was nothing to run"""

WATCH_EXAMPLE = """\
Example: a row is visible seconds after its command
  $ trueup watch --select orders --every 300"""

WATCH_CODES = """\
Exit codes
  0  a signal stopped it
  1  with --once, a model failed
  2  there was nothing to run
  3  Spark has stopped: start the command again"""


@click.command(
    context_settings=PASSES_OTHERS_ON,
    epilog=epilog(ALL_OTHERS, RUN_EXAMPLE, RUN_CODES),
    short_help="Run once, and print one line.",
)
@json_option
@dbt_options
@click.argument("others", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION OF dbt run]...")
def run(*, as_json: bool, dbt: list[str], others: tuple[str, ...]) -> int:
    """Run collections once, and print what has changed."""
    runs = Project(dbt, others)
    return in_a_warm_process(lambda _, screen: run_once(runs, screen), as_json=as_json)


@click.command(
    context_settings=PASSES_OTHERS_ON,
    epilog=epilog(ALL_OTHERS, WATCH_EXAMPLE, WATCH_CODES),
    short_help="Run again whenever a log grows.",
)
@click.option(
    "--every",
    type=seconds,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Run at least this often, even if nothing grows.",
)
@click.option(
    "--look",
    type=seconds,
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="Check this often whether a log has grown.",
)
@click.option("--once", is_flag=True, help="Run once, and exit as `dbt run` does.")
@json_option
@dbt_options
@click.argument("others", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION OF dbt run]...")
def watch(  # noqa: PLR0913 - each is an option of the command
    *,
    every: float,
    look: float,
    once: bool,
    as_json: bool,
    dbt: list[str],
    others: tuple[str, ...],
) -> int:
    """Run collections again as their logs grow, in one warm process."""
    if not once:
        require_no_full_refresh([*dbt, *others])

    runs = Project(dbt, others)

    def loop(stop: Event, screen: Screen) -> int:
        return run_once(runs, screen) if once else repeat(runs, every, look, stop, screen)

    return in_a_warm_process(loop, as_json=as_json)


def run_once(runs: Runs, screen: Screen) -> int:
    """Run a single round, and print it. Return the exit code that `dbt run` would have."""
    screen.show_status(RUNNING)
    done = runs.run()
    screen.print_round(done)
    if not done.changes and not done.failures:
        screen.print_line(
            f"no collection has changed: {count(done.models, 'model')} in {done.seconds:.1f} s"
        )
    return 1 if done.failures else 0


def require_no_full_refresh(options: Sequence[str]) -> None:
    """Raise if dbt would rebuild models with these options of `dbt run`: each round would do so.

    dbt itself reads the options and the environment: it knows `-xf`, too.
    """
    try:
        context = dbt_commands.commands["run"].make_context("run", list(options))
    except click.ClickException:
        return  # dbt says what is wrong
    if not context.params["full_refresh"]:
        return
    by = context.get_parameter_source("full_refresh")
    first = (
        "unset DBT_FULL_REFRESH and DBT_ENGINE_FULL_REFRESH"
        if by is click.core.ParameterSource.ENVIRONMENT
        else "run `dbt run --full-refresh`"
    )
    message = (
        "`trueup watch` must be without --full-refresh, which would rebuild the models in every"
        f" round: {first}, then `trueup watch`"
    )
    raise click.UsageError(message)


def in_a_warm_process(loop: Callable[[Event, Screen], int], *, as_json: bool) -> int:
    """Run a loop until it ends or a signal stops it. Return the exit code."""
    screen = JsonScreen() if as_json else Screen()
    stop = Event()
    # dbt and Spark run in a thread of their own: in the main thread a signal would interrupt them.
    with stop_on_signals(stop, screen), ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(loop, stop, screen).result()
        finally:
            screen.clear_status()
