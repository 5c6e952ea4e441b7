"""Lands the changes of a replication slot of PostgreSQL, in the form of wal2json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import LandError, SourceError
from dbt_trueup.libraries import require_library
from dbt_trueup.plural import count

from . import create_table, declared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from threading import Event

    from pyspark.sql import SparkSession

    from dbt_trueup.runner.screen import Screen

COLUMNS = {
    "commit_lsn": "bigint",
    "position": "bigint",
    "lsn": "bigint",
    "xid": "bigint",
    "data": "string",
}

MOST = 20_000
"""About how many changes a batch has: it ends with a transaction."""

CREATE = """
select pg_create_logical_replication_slot(%s, 'wal2json')
where not exists (select from pg_replication_slots where slot_name = %s)
"""
PEEK = """
select lsn - '0/0', xid::text::bigint, data
from pg_logical_slot_peek_changes(
    %s, pg_current_wal_lsn(), %s, 'format-version', '2', 'include-lsn', '1', 'add-tables', %s
)
"""
ADVANCE = "select pg_replication_slot_advance(%s, '0/0'::pg_lsn + %s)"


def land_slot(  # noqa: PLR0913 - each is an option of the command
    session: SparkSession,
    table: str,
    *,
    server: str,
    slot: str,
    tables: str | None,
    every: float | None,
    stop: Event,
    screen: Screen,
) -> None:
    """Append all changes of a slot that were not landed before.

    The slot is moved on after the table has the changes. If the process dies in between, they are
    landed twice.

    Args:
        session: The session.
        table: The table. It is created if it is missing.
        server: The connection string of the database.
        slot: The slot. It is created if it is missing.
        tables: The tables whose changes are landed, as wal2json takes them. None: all tables.
        every: The seconds to wait for changes. None: land what is there, and return.
        stop: Ends the command.
        screen: Prints the lines.

    Raises:
        SourceError: The database does not answer.
    """
    require_library("psycopg", "psycopg[binary]>=3.2,<4", "--postgres needs psycopg", LandError)
    import psycopg  # noqa: PLC0415 - not always installed

    try:
        with psycopg.connect(server, autocommit=True) as database:
            database.execute(CREATE, (slot, slot))
            create_table(session, table, COLUMNS)
            while not stop.is_set():
                changes = database.execute(PEEK, (slot, MOST, tables or "*.*")).fetchall()
                rows = [*with_places(changes)]
                if rows:
                    session.createDataFrame(rows, declared(COLUMNS)).writeTo(table).append()
                    screen.print_line(f"landed {count(len(rows), 'change')}")
                if changes:
                    database.execute(ADVANCE, (slot, changes[-1][0]))
                elif every is None:
                    return
                else:
                    stop.wait(every)
    except psycopg.Error as error:
        message = f"PostgreSQL: {error}".splitlines()[0]
        raise SourceError(message) from error


def with_places(
    changes: Iterable[tuple[Any, int, str]],
) -> Iterator[tuple[int, int, int, int, str]]:
    """Add the place of each change: the LSN of its commit, and its position in the transaction.

    Args:
        changes: The LSN, the transaction and the text of each one. Each transaction begins and
            ends with a text.

    Example:
        >>> begin, end = '{"action":"B","lsn":"0/20"}', '{"action":"C","lsn":"0/20"}'
        >>> [*with_places([(1, 7, begin), (16, 7, '{"action":"I"}'), (33, 7, end)])]
        [(32, 1, 16, 7, '{"action":"I"}')]
    """
    commit_lsn = position = 0
    for lsn, xid, text in changes:
        if text.startswith('{"action":"B"'):
            high, _, low = json.loads(text)["lsn"].partition("/")
            commit_lsn, position = (int(high, 16) << 32) + int(low, 16), 0
        elif not text.startswith('{"action":"C"'):
            position += 1
            yield commit_lsn, position, int(lsn), xid, text
