"""`trueup explain`: why a row looks as it does."""

from __future__ import annotations

import json

import click

from dbt_trueup.explain.facts import explain as explain_key
from dbt_trueup.explain.screen import describe

from .options import dbt_options, epilog, json_option

EXAMPLE = """\
Example: why is this order paid, and not sent?
  $ trueup explain orders 1
  orders: order_id = '1'
  ..."""

CODES = """\
Exit codes
  0  log and store agree, or a rule says why not
  1  they do not agree
  2  the key could not be explained"""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Say why a row looks as it does.")
@click.argument("collection")
@click.argument("key", nargs=-1, metavar="[VALUE|COLUMN=VALUE]...")
@click.option("--null", "nulls", multiple=True, metavar="COLUMN", help="A key column that is null.")
@click.option("--error-key", help="The error key of a broken key, such as x00ff, or null.")
@click.option(
    "--latest",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many commands, and how many updates, are shown.",
)
@json_option
@dbt_options
def explain(  # noqa: PLR0913 - each is an option of the command
    *,
    collection: str,
    key: tuple[str, ...],
    nulls: tuple[str, ...],
    error_key: str | None,
    latest: int,
    as_json: bool,
    dbt: list[str],
) -> int:
    """Explain one key of a collection: its row, its commands and its updates.

    If the key has one column, its value is enough. Else write COLUMN=VALUE for each key column.
    Values are cast to the type of the column.
    """
    explanation = explain_key(dbt, collection, key, nulls, error_key=error_key, latest=latest)
    if as_json:
        click.echo(json.dumps(explanation.to_document()))
    else:
        click.echo(describe(explanation))
    return 0 if explanation.agrees else 1
