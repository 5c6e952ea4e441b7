"""`trueup demo`: a messy log of ten lines, and what a plain MERGE and trueup make of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from dbt_trueup.demo.page import write_page
from dbt_trueup.demo.play import play
from dbt_trueup.demo.reasons import notes_of, reasons
from dbt_trueup.demo.screen import describe
from dbt_trueup.runner.screen import Screen

from .options import epilog, json_option

EXAMPLE = """\
Example: on the terminal, and as a page to send to somebody
  $ trueup demo --html demo.html"""

CODES = """\
Exit codes
  0  the example was shown
  2  Spark or dbt could not run"""


@click.command(
    epilog=epilog(EXAMPLE, CODES), short_help="Show what trueup does, without a project."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page, too: one file, without scripts.",
)
@json_option
def demo(*, html: Path | None, as_json: bool) -> int:
    """Show a messy log of ten lines, and the tables that a plain MERGE and trueup make of it.

    Spark and dbt run in a temporary folder. It needs Java, and the first time the network.
    """
    screen = Screen()
    outcome = play((lambda _: None) if as_json else screen.show_status)
    screen.clear_status()
    if html:
        write_page(outcome, html)
    if as_json:
        found = {"notes": list(notes_of(outcome.lines)), "reasons": reasons(outcome)}
        lines = [line._asdict() for line in outcome.lines]
        told = [reason._asdict() for reason in reasons(outcome)]
        click.echo(json.dumps({**asdict(outcome), **found, "lines": lines, "reasons": told}))
        return 0
    click.echo(describe(outcome))
    if html:
        click.echo(f"page  {html.resolve()}")
    return 0
