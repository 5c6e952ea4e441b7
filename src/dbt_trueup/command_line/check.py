"""`trueup check`: the expectations of a collection, checked by Great Expectations."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from dbt_trueup.expectations import check as expectations
from dbt_trueup.expectations.report import describe

from .options import dbt_options, epilog, json_option, project_folder

EXAMPLE = """\
Example: a few broken keys are allowed
  $ trueup check orders --max-errors 100
  orders: 6 of 6 expectations hold
  ..."""

CODES = """\
Exit codes
  0  every expectation holds
  1  one does not
  2  the check could not run"""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Check with Great Expectations.")
@click.argument("collection")
@click.option(
    "--max-errors",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many open errors are allowed.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the results; by default target/expectations.",
)
@json_option
@dbt_options
def check(
    *, collection: str, max_errors: int, output: Path | None, as_json: bool, dbt: list[str]
) -> int:
    """Check a collection with Great Expectations: a checkpoint, and Data Docs."""
    folder = (output or expectations.default_folder(project_folder(dbt))).resolve()
    report = expectations.check(collection, max_errors, folder, dbt)
    click.echo(json.dumps(asdict(report)) if as_json else describe(report), nl=as_json)
    return 0 if report.has_passed() else 1
