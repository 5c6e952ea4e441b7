"""`trueup report`: one HTML file that shows what the collections did."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dbt_trueup.report.data import read_data
from dbt_trueup.report.metrics import read_statistics, require_prometheus, write_metrics
from dbt_trueup.report.page import to_document, write_page
from dbt_trueup.report.summary import summarize
from dbt_trueup.runner.sources import target_folder

from .options import dbt_options, epilog, json_option, project_folder

EXAMPLE = """\
Example: a file to open in a browser or to send to somebody
  $ trueup report orders payments
  2 collections: all of the log is read.
  No store differs from its certificate.
  12 open errors: orders 10, payments 2.
  report  /srv/shop/target/trueup_report.html

Example: metrics for Prometheus
  $ trueup report --prometheus /var/lib/node_exporter/trueup.prom
  metrics  /var/lib/node_exporter/trueup.prom"""

CODES = """\
Exit codes
  0  the report is written, or the metrics are, whatever they show
  2  it could not be written"""


@click.command(
    epilog=epilog(EXAMPLE, CODES), short_help="Write what collections did, as one HTML file."
)
@click.argument("collections", nargs=-1, metavar="[COLLECTION]...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write; by default trueup_report.html in the target folder of dbt.",
)
@click.option(
    "--show-values",
    is_flag=True,
    help="Show keys and the texts of errors; by default only their first character and length.",
)
@click.option(
    "--prometheus",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the model trueup_statistics to this file as metrics for Prometheus, and no page.",
)
@json_option
@dbt_options
def report(  # noqa: PLR0913 - each is an option
    *,
    collections: tuple[str, ...],
    output: Path | None,
    show_values: bool,
    prometheus: Path | None,
    as_json: bool,
    dbt: list[str],
) -> int:
    """Write a report of collections (by default all of them) as one HTML file.

    It needs no server and no network. With --json it prints what the report shows, and writes no
    file.
    """
    if prometheus:
        return report_metrics(dbt, collections, prometheus, as_json=as_json)
    data = read_data(dbt, collections, show_values=show_values)
    if as_json:
        click.echo(json.dumps(to_document(data)))
        return 0
    file = (output or target_folder(project_folder(dbt)) / "trueup_report.html").resolve()
    write_page(data, file)
    for line in summarize(data.collections, data.unreadable):
        click.echo(line.text)
    click.echo(f"report  {file}")
    return 0


def report_metrics(
    dbt: list[str], collections: tuple[str, ...], file: Path, *, as_json: bool
) -> int:
    """Write the statistics for Prometheus. With `as_json`, print them and write no file."""
    require_prometheus()
    rows = read_statistics(dbt, collections)
    if as_json:
        click.echo(json.dumps(rows))
        return 0
    write_metrics(rows, file)
    click.echo(f"metrics  {file.resolve()}")
    return 0
