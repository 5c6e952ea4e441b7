"""The command line of `python -m dbt_trueup.expectations`."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_trueup.errors import ExpectationsError

from .collection import read_collection, require_session
from .report import Report, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

DBT_OPTIONS = ("project-dir", "profiles-dir", "profile", "target", "vars")
"""The options that go to dbt unchanged."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a collection and print the findings.

    Args:
        arguments: The words of the command line; by default those of this process.

    Returns:
        The exit code. 0: every expectation holds. 1: one does not. 2: the check could not run.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.max_errors < 0:
        parser.error(f"--max-errors must be at least 0, got {given.max_errors}")
    options = [
        word
        for name in DBT_OPTIONS
        if (value := getattr(given, name.replace("-", "_"))) is not None
        for word in (f"--{name}", value)
    ]
    folder = Path(given.output or default_folder(given.project_dir or ".")).resolve()
    try:
        report = check(given.collection, given.max_errors, folder, options)
    except ExpectationsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(describe(report))
    return 0 if report.has_passed() else 1


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m dbt_trueup.expectations",
        description="Check a collection with Great Expectations: one command, a checkpoint, and"
        " Data Docs.",
    )
    parser.add_argument("collection", help="its name, which is that of its view")
    parser.add_argument(
        "--max-errors",
        type=int,
        default=0,
        metavar="N",
        help="how many open errors are allowed; default: 0",
    )
    parser.add_argument(
        "--output", metavar="PATH", help="folder of the results; default: target/expectations"
    )
    for name in DBT_OPTIONS:
        parser.add_argument(f"--{name}", help="as in dbt")
    return parser


def default_folder(project: str) -> Path:
    """Return the folder of the results. It is in the target folder of the dbt project."""
    return Path(project, os.environ.get("DBT_TARGET_PATH", "target"), "expectations")


def check(name: str, max_errors: int, folder: Path, options: Sequence[str] = ()) -> Report:
    """Run the checkpoint of a collection and write its Data Docs.

    Args:
        name: The collection.
        max_errors: How many open errors are allowed.
        folder: The folder for results and Data Docs, absolute.
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.

    Raises:
        ExpectationsError: Great Expectations is not installed, dbt does not know the collection,
            the collection has not run yet, or dbt has no Spark session in this process.
    """
    require_great_expectations()
    collection = read_collection(name, max_errors, options)
    require_session(name)
    from . import suite  # noqa: PLC0415 - heavy, and not always installed

    return suite.run_checkpoint(collection, folder)


def require_great_expectations() -> None:
    """Check that Great Expectations is installed.

    Raises:
        ExpectationsError: It is not. The message says what to install.
    """
    if find_spec("great_expectations") is None:
        message = (
            "python -m dbt_trueup.expectations needs Great Expectations, which is not installed.\n"
            'Run: pip install "great-expectations~=1.24.0"'
        )
        raise ExpectationsError(message)
