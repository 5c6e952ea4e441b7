"""The options of the command line. All others go to `dbt run` unchanged."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction
    from collections.abc import Sequence
    from typing import TypeAlias

    Commands: TypeAlias = _SubParsersAction[ArgumentParser]

DBT_OPTIONS = ("--project-dir", "--profiles-dir", "--profile", "--target", "--vars")
"""The options that `dbt parse` takes, too. All others go to `dbt run` alone."""


ALL_OTHERS = "All other options are those of `dbt run`, such as --select."

EXAMPLE = """\
example: a large log, in batches of at most 1,000,000 commands
  # dbt_project.yml
  models:
    my_project:
      orders:
        +meta: {trueup: {max_commands_per_batch: 1000000}}

  $ trueup run --until-caught-up --select orders
  ...
  12:00:49  orders: 4,000,000 of 10,000,000 commands (40 %), 20,408/s, 5 min left
"""

FULL_REFRESH = {"--full-refresh", "-f"}
"""The option of dbt that would rebuild the models in every round."""


def parse_arguments(arguments: Sequence[str] | None) -> tuple[Namespace, list[str]]:
    """Split a command line into our options and those that go to `dbt run` unchanged."""
    parser = ArgumentParser(
        prog="trueup",
        description="Run the models of a dbt project in one warm process.",
        epilog="`trueup run --help` and `trueup watch --help` show the options of a command.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="{run,watch}")
    run, watch = add_run(commands), add_watch(commands)
    for command in (run, watch):
        for option in DBT_OPTIONS:
            short = ["-t"] if option == "--target" else []
            command.add_argument(option, *short, help="as in dbt")
    given, others = parser.parse_known_args(arguments)
    if FULL_REFRESH & set(others):
        if given.command == "watch" and not given.once:
            watch.error(
                "--full-refresh needs --once; got it without, which would rebuild the models in"
                " every round: run `dbt run --full-refresh`, then watch without it"
            )
        if given.command == "run" and given.until_caught_up:
            run.error(
                "--until-caught-up must be without --full-refresh; got both, which would rebuild"
                " the models in every round: run `dbt run --full-refresh`, then"
                " `trueup run --until-caught-up`"
            )
    return given, others


def add_run(commands: Commands) -> ArgumentParser:
    """Add `trueup run`."""
    command = commands.add_parser(
        "run",
        usage="trueup run [--until-caught-up] [option of dbt run ...]",
        help="run once, or until everything is settled",
        description="Run collections once, or again and again until everything is settled.",
        epilog=f"{ALL_OTHERS}\n\n{EXAMPLE}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument(
        "--until-caught-up",
        action="store_true",
        help="repeat `dbt run` until no collection has anything left to settle",
    )
    return command


def add_watch(commands: Commands) -> ArgumentParser:
    """Add `trueup watch`."""
    command = commands.add_parser(
        "watch",
        usage="trueup watch [--every SECONDS] [--look SECONDS] [--once] [option of dbt run ...]",
        help="run again whenever a log grows",
        description="Run collections again as their logs grow, in one warm process.",
        epilog=ALL_OTHERS,
        allow_abbrev=False,
    )
    command.add_argument(
        "--every",
        type=parse_seconds,
        default=60.0,
        metavar="SECONDS",
        help="run at least this often, even if nothing grows; default: 60",
    )
    command.add_argument(
        "--look",
        type=parse_seconds,
        default=0.5,
        metavar="SECONDS",
        help="check this often whether a log has grown; default: 0.5",
    )
    command.add_argument(
        "--once", action="store_true", help="run once, and exit as `dbt run` does; see `trueup run`"
    )
    return command


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
