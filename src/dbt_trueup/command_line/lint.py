"""`trueup lint`: the hazards in the incremental models and snapshots of a project."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from dbt_trueup.dbt import list_nodes, parse
from dbt_trueup.errors import UsageError
from dbt_trueup.lint.rules import lint as find
from dbt_trueup.lint.rules import models_of
from dbt_trueup.lint.screen import describe_findings

from .options import dbt_options, epilog, json_option, project_folder

EXAMPLE = """\
Example: one folder
  $ trueup lint models/marts
  models/marts/orders.sql:11  orders  late-rows-lost
    The filter reads only rows whose `updated_at` is above the greatest `updated_at` ...
    fix: where updated_at >= (select max(updated_at) - interval 3 days from {{ this }}); ...
  ..."""

CODES = """\
Exit codes
  0  no finding
  1  at least one finding
  2  it could not check the project: a wrong option, or dbt failed"""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Find hazards in incremental models.")
@click.argument("select", nargs=-1, metavar="[SELECT]...")
@json_option
@dbt_options
def lint(*, select: tuple[str, ...], as_json: bool, dbt: list[str]) -> int:
    """Find what makes the tables of incremental models and snapshots wrong, and print the fix.

    It reads the project as `dbt parse` does, and asks no warehouse. SELECT is a model, a folder or
    any other selection of `dbt ls --select`; by default all of the project.
    """
    project = project_folder(dbt)
    manifest = parse(dbt)
    selected = list_nodes(dbt, select) if select else list(manifest.nodes)
    if select and not selected:
        message = f"SELECT must select a model or a snapshot.\nGot: {' '.join(select)}"
        raise UsageError(message)
    models = models_of(manifest, project, set(selected))
    findings = find(models)
    if as_json:
        report = {"models": len(models), "findings": [asdict(one) for one in findings]}
        click.echo(json.dumps(report))
    else:
        click.echo(describe_findings(findings, len(models)))
    return 1 if findings else 0
