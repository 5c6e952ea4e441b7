"""`trueup land`: the messages of a source, appended to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dbt_trueup.land import open_session
from dbt_trueup.land.slot import land_slot
from dbt_trueup.land.topics import land_topics

from .options import dbt_options, epilog, json_option, seconds
from .run import in_a_warm_process

if TYPE_CHECKING:
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

    def loop(stop: Event, screen: Screen) -> int:
        session = open_session(dbt)
        if kafka and topics:
            land_topics(
                session,
                table,
                servers=kafka,
                topics=topics,
                checkpoint=checkpoint,
                every=every,
                stop=stop,
                screen=screen,
            )
        elif postgres and slot:
            land_slot(
                session, table, server=postgres, slot=slot, every=every, stop=stop, screen=screen
            )
        return 0

    return in_a_warm_process(loop, as_json=as_json)
