"""`trueup adopt`: what changes if a table that has drifted becomes a collection."""

from __future__ import annotations

import json
import shlex

import click

from dbt_trueup.adopt.drift import preview
from dbt_trueup.adopt.screen import describe_drift

from .options import dbt_options, epilog, json_option

EXAMPLE = """\
Example: shop.orders, until now an incremental model or a snapshot
  $ trueup adopt orders     # says what will change, and changes nothing
  $ dbt run -s orders       # adopts the table and corrects it"""

STEPS = """\
next: {run}
  1. The table is renamed to {table}__before. No row of it is changed, and it is never dropped.
  2. Its rows become batch 1 of the collection, with the cause `adopted`.
  3. Batch 2 corrects them from the log. A key that the log never had keeps its row."""

CODES = """\
Exit codes
  0  the table equals its log
  1  the table differs from its log
  2  they could not be compared"""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Say what an adoption will change.")
@click.argument("collection")
@click.option(
    "--show-values",
    is_flag=True,
    help="Show keys and values; by default only their first character and length.",
)
@json_option
@dbt_options
def adopt(*, collection: str, show_values: bool, as_json: bool, dbt: list[str]) -> int:
    """Show how the table of a model differs from its log, before trueup takes it over.

    Use it when the model has `materialized='trueup'` already and has not run yet. A dry run writes
    the rows that the log gives into a plan table. Nothing else is written.
    """
    table, drift = preview(dbt, collection, show_values=show_values)
    if as_json:
        click.echo(json.dumps(drift.to_document(collection=collection, table=table)))
    else:
        click.echo(describe_drift("the log", table, drift))
        run = shlex.join(["dbt", "run", "-s", collection, *dbt])
        click.echo(STEPS.format(run=run, table=table))
    return 1 if drift.differing_rows else 0
