"""`trueup land`: the messages of a source, appended to a table."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import click

from dbt_trueup.errors import SourceError
from dbt_trueup.land import open_session
from dbt_trueup.land.slot import land_slot
from dbt_trueup.land.topics import land_topics

from .options import dbt_options, epilog, json_option, seconds
from .run import in_a_warm_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from dbt_trueup.runner.screen import Screen

EXAMPLE = """\
Example: the topics of Debezium, again and again
  $ trueup land cdc.messages --kafka localhost:9092 --topics 'shop[.].*' --every 2
  12:00:49  landed 120 messages

Example: straight from PostgreSQL, with wal2json
  $ trueup land cdc.changes --postgres 'host=localhost dbname=shop' --slot shop
  12:00:49  landed 120 changes"""

CODES = """\
Exit codes
  0  all is landed, or a signal stopped it
  2  the source or the table failed: start the command again"""

TRIES = 5
"""So often in a row the source may fail before the command ends."""
PAUSE, LONG = 5.0, 60.0
"""The seconds after a failure, and those after which a failure is a new one."""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Append the messages of a source.")
@click.argument("table")
@click.option("--kafka", metavar="HOST:PORT", help="The brokers of Kafka, separated by commas.")
@click.option("--topics", metavar="PATTERN", help="A regular expression for the topics.")
@click.option(
    "--checkpoint",
    metavar="FOLDER",
    help="Where to note the offsets that were read; by default below spark.sql.warehouse.dir.",
)
@click.option("--postgres", metavar="CONNECTION", help="The connection string of a database.")
@click.option("--slot", metavar="NAME", help="The slot, which is created if it is missing.")
@click.option("--tables", metavar="LIST", help="Only these tables, such as public.a,public.b.")
@click.option(
    "--every",
    type=seconds,
    metavar="SECONDS",
    help="Go on, and look again after so many seconds. By default it lands what is there now.",
)
@json_option
@dbt_options
def land(  # noqa: PLR0913 - each is an option of the command
    *,
    table: str,
    kafka: str | None,
    topics: str | None,
    checkpoint: str | None,
    postgres: str | None,
    slot: str | None,
    tables: str | None,
    every: float | None,
    as_json: bool,
    dbt: list[str],
) -> int:
    """Append the messages of Kafka or of PostgreSQL to a table, each with its place.

    The table is made for `trueup.debezium` and the like, or for `trueup.wal2json`.
    """
    given = [option is not None for option in (kafka, topics, postgres, slot)]
    if given not in ([True, True, False, False], [False, False, True, True]):
        message = "give --kafka with --topics, or --postgres with --slot"
        raise click.UsageError(message)
    misplaced = tables if kafka else checkpoint
    if misplaced is not None:
        message = "--checkpoint goes with --kafka, and --tables with --postgres"
        raise click.UsageError(message)
    land_from = (
        partial(land_topics, servers=kafka, topics=topics, checkpoint=checkpoint)
        if kafka and topics
        else partial(land_slot, server=postgres or "", slot=slot or "", tables=tables)
    )

    def loop(stop: Event, screen: Screen) -> int:
        land_once = partial(
            land_from, open_session(dbt), table, every=every, stop=stop, screen=screen
        )
        keep_landing(land_once, every, stop, screen)
        return 0

    return in_a_warm_process(loop, as_json=as_json)


def keep_landing(
    land_once: Callable[[], None], every: float | None, stop: Event, screen: Screen
) -> None:
    """Land until it is stopped. With `every` a source that fails is tried again.

    Raises:
        SourceError: The source has failed, without `every` or several times in a row.
    """
    failures = 0
    while not stop.is_set():
        began = time.monotonic()
        try:
            land_once()
        except SourceError as error:
            failures = 1 if time.monotonic() - began > LONG else failures + 1
            if every is None or failures == TRIES:
                raise
            screen.print_line(f"{error}. Tries again in {PAUSE:.0f} s")
            stop.wait(PAUSE)
        else:
            return
