"""The options of the command line. All others go to `dbt run` unchanged."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

DBT_OPTIONS = ("--project-dir", "--profiles-dir", "--profile", "--target", "--vars")
"""The options that `dbt parse` takes, too. All others go to `dbt run` alone."""


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
