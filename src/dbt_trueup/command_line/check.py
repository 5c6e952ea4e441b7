"""`trueup check`: a collection against an extract of its source, or by Great Expectations."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dbt_trueup.adopt.drift import compare
from dbt_trueup.adopt.screen import describe_drift
from dbt_trueup.expectations import check as expectations
from dbt_trueup.expectations.report import describe

from .options import dbt_options, epilog, json_option, project_folder

EXAMPLE = """\
Example: an extract of the source, loaded into a table
  $ trueup check orders --against raw.orders_today
  raw.orders_today and orders: 0 differences, 1,204 equal rows

Example: Great Expectations; a few broken keys are allowed
  $ trueup check orders --max-errors 100
  orders: 6 of 6 expectations hold
  ..."""

CODES = """\
Exit codes
  0  the two are equal, or every expectation holds
  1  they differ, or one does not hold
  2  the check could not run"""


PLACE = re.compile(r"(?:(?P<topic>.+):)?(?P<partition>[^:]+):(?P<offset>[0-9]+)")


def tick_time_or_place(text: str) -> int | str | dict[str, Any]:
    """Read a tick, a time as a text that Spark reads, or a place. A time without a zone is in UTC.

    Example:
        >>> tick_time_or_place("17"), tick_time_or_place("2026-01-05T10:00+01:00")
        (17, '2026-01-05T09:00:00+00:00')
        >>> tick_time_or_place("shop.orders:0:17")
        {'topic': 'shop.orders', 'partition': '0', 'offset': 17}
    """
    if text.isdigit():
        return int(text)
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        place = PLACE.fullmatch(text)
        if place is None:
            message = (
                "--as-of must be a tick, a time such as 2026-01-05T10:00, or a place such as"
                f" orders:0:17; got {text}"
            )
            raise click.UsageError(message) from None
        return {**place.groupdict(), "offset": int(place["offset"])}
    zoned = time if time.tzinfo else time.replace(tzinfo=dt.timezone.utc)
    return zoned.astimezone(dt.timezone.utc).isoformat()


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Check against a table, or the rules.")
@click.argument("collection")
@click.option(
    "--against",
    metavar="TABLE",
    help="A table with its schema, or a SELECT in parentheses, that must have the same rows.",
)
@click.option(
    "--as-of",
    callback=lambda _, __, text: None if text is None else tick_time_or_place(text),
    metavar="TICK|TIME|PLACE",
    help="Compare the rows at the end of this tick, at a time such as 2026-01-05T10:00, in UTC, or"
    " at the newest batch that read nothing after a place: [TOPIC:]PARTITION:OFFSET.",
)
@click.option(
    "--show-values",
    is_flag=True,
    help="Show keys and values; by default only their first character and length.",
)
@click.option(
    "--max-errors",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many open errors are allowed. Not with --against.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the results; by default target/expectations. Not with --against.",
)
@json_option
@dbt_options
def check(  # noqa: PLR0913 - each is an option of the command
    *,
    collection: str,
    against: str | None,
    as_of: int | str | dict[str, Any] | None,
    show_values: bool,
    max_errors: int,
    output: Path | None,
    as_json: bool,
    dbt: list[str],
) -> int:
    """Check a collection.

    With --against, compare its rows with those of another table, such as an extract of the source,
    and count the differences by cause. Columns that only one side has are not compared. Without
    it, check the collection with Great Expectations: a checkpoint, and Data Docs.
    """
    if against is not None:
        drift = compare(dbt, collection, against, as_of, show_values=show_values)
        document = drift.to_document(collection=collection, against=against, as_of=as_of)
        there = "the extract" if against.startswith("(") else against
        click.echo(json.dumps(document) if as_json else describe_drift(collection, there, drift))
        return 1 if drift.differing_rows else 0
    if as_of is not None or show_values:
        message = "--as-of and --show-values must be given with --against."
        raise click.UsageError(message)
    folder = (output or expectations.default_folder(project_folder(dbt))).resolve()
    report = expectations.check(collection, max_errors, folder, dbt)
    click.echo(json.dumps(asdict(report)) if as_json else describe(report), nl=as_json)
    return 0 if report.has_passed() else 1
