"""`trueup adopt`: from a table that has drifted to a collection."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict

import click

from dbt_trueup.adopt import steps
from dbt_trueup.adopt.drift import read_drift, read_facts
from dbt_trueup.adopt.screen import describe_drift
from dbt_trueup.dbt import parse

from .options import dbt_options, epilog, json_option

EXAMPLE = """\
Example: the table shop.orders, and the log from which it should have been made
  $ trueup init cdc.orders_log --name orders
  $ trueup adopt shop.orders
  $ trueup adopt shop.orders --apply"""

CODES = """\
Exit codes
  0  the table equals its log, or with --apply it is adopted and corrected
  1  the table differs from its log
  2  it could not compare or adopt; call it again after the cause is removed"""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Make a collection of a table.")
@click.argument("table")
@click.option("--collection", help="The collection of the log; by default the name of the table.")
@click.option("--apply", is_flag=True, help="Adopt the table and correct it from the log.")
@click.option(
    "--show-values",
    is_flag=True,
    help="Show keys and values; by default only their first character and length.",
)
@json_option
@dbt_options
def adopt(  # noqa: PLR0913 - each is an option of the command
    *,
    table: str,
    collection: str | None,
    apply: bool,
    show_values: bool,
    as_json: bool,
    dbt: list[str],
) -> int:
    """Show how a table differs from its log, and make a collection of it.

    TABLE is a table with its schema. Without --apply only the view of the commands is made. With
    --apply the rows of the table become the first batch of the collection, and the second batch
    corrects the differences. If the collection needs the name of the table, the table is renamed
    to <table>_before_trueup. No row of it is changed.
    """
    name = collection or table.rpartition(".")[2]
    models = steps.models_of(parse(dbt), name)
    facts = read_facts(dbt, name, table)
    steps.make_commands(dbt, name, models)
    drift = read_drift(dbt, name, table, show_values=show_values)
    if not as_json:
        click.echo(describe_drift(steps.plain_name(facts.now), name, drift))
    corrected = None
    if apply:
        steps.adopt(dbt, name, table, facts, models)
        corrected = steps.read_corrections(dbt, name)
    if as_json:
        where = {"table": steps.plain_name(facts.now), "is_adopted": apply or facts.is_adopted}
        report = {**where, **asdict(drift), "corrected": corrected}
        click.echo(json.dumps(report))
    elif corrected is not None:
        click.echo(
            f"adopted {corrected['adopted']:,} rows in batch 1; corrections since then remove"
            f" {corrected['removed']:,} and add {corrected['added']:,} rows"
            f"\nthe old table is {steps.plain_name(facts.then)}"
        )
    elif facts.is_adopted:
        click.echo(f"{name} has adopted these rows already; its changelog has the corrections")
    else:
        named = ["--collection", collection] if collection else []
        click.echo(f"next: {shlex.join(['trueup', 'adopt', table, '--apply', *named, *dbt])}")
    return 0 if apply or not drift.differing_rows else 1
