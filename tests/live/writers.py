"""Writes to the database what a log finds hard to follow, as a seed says."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.sql import SQL, Identifier, Placeholder

from .tables import ACCOUNTS, MARKS, NOTES, THINGS, long_text, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tables import Table

KEYS = 200
"""So many keys are written again and again."""
SCRIPT = Path(__file__).with_name("accounts.sql")
"""What pgbench does in each transaction."""
CHANGES_OF_SCRIPT = 41
"""At least so many rows a transaction of it changes."""


class Rows:
    """Changes of the rows of a table, within the transaction of a connection."""

    def __init__(self, random: Random, database: psycopg.Connection, table: Table) -> None:
        """Take the connection."""
        self.random = random
        self.database = database
        self.table = table

    def key(self, number: int | None = None) -> list[Any]:
        """A key: one of a few, or that of a number."""
        number = self.random.randrange(KEYS) if number is None else number
        return [
            f"shop {number % 3}" if kind == "text" else number for kind in self.table.key.values()
        ]

    def value(self, name: str) -> Any:
        """A value of a column."""
        if name in ("body", "data") and self.random.random() < 0.5:
            text = long_text(self.random)
            return text if name == "body" else text.encode()
        return value(self.random, self.table.values[name])

    def run(self, text: str, given: list[Any], *names: str) -> int:
        """Run a statement with the names of columns in `{}`, and return the count of rows."""
        parts = {
            "table": Identifier(self.table.name),
            "where": SQL(" and ").join(
                SQL("{} = {}").format(Identifier(name), Placeholder()) for name in self.table.key
            ),
            "key": SQL(", ").join(map(Identifier, self.table.key)),
            "values": SQL(", ").join(Placeholder() for _ in self.table.columns),
            "columns": SQL(", ").join(map(Identifier, self.table.columns)),
            "changes": SQL(", ").join(
                SQL("{0} = excluded.{0}").format(Identifier(name)) for name in self.table.values
            ),
            "set": SQL(", ").join(
                SQL("{} = {}").format(Identifier(name), Placeholder()) for name in names
            ),
        }
        return self.database.execute(SQL(text).format(**parts), given).rowcount

    def put(self) -> int:
        """Insert a row or replace it."""
        row = [*self.key(), *map(self.value, self.table.values)]
        put = "insert into {table} ({columns}) values ({values})"
        return self.run(f"{put} on conflict ({{key}}) do update set {{changes}}", row)

    def change(self) -> int:
        """Change some columns. The others stay, and the long ones of them are not sent."""
        names = self.random.sample([*self.table.values], self.random.randint(1, 2))
        given = [*map(self.value, names), *self.key()]
        return self.run("update {table} set {set} where {where}", given, *names)

    def touch(self) -> int:
        """Update all rows without a change."""
        name = next(iter(self.table.values))
        return self.run(f"update {{table}} set {name} = {name}", [])

    def delete(self) -> int:
        """Delete a row."""
        return self.run("delete from {table} where {where}", self.key())

    def move(self, old: list[Any] | None = None, new: list[Any] | None = None) -> int:
        """Give a row another key. If the key is taken, nothing happens."""
        try:
            with self.database.transaction():
                given = [*(new or self.key()), *(old or self.key())]
                return self.run("update {table} set {set} where {where}", given, *self.table.key)
        except psycopg.errors.UniqueViolation:
            return 0

    def circle(self) -> int:
        """Swap the keys of two rows, by way of a third one."""
        one, other, free = self.key(), self.key(), self.key(-1 - self.random.randrange(9))
        return self.move(one, free) + self.move(other, one) + self.move(free, other)

    def undo(self) -> int:
        """Change rows, and take that back within the transaction."""
        with self.database.transaction() as point:
            self.put()
            self.delete()
            raise psycopg.Rollback(point)
        return 0

    def many(self) -> int:
        """Insert many rows in one statement, and delete some of them."""
        low = self.random.randrange(1000, 5000)
        keys = [self.key(number) for number in range(low, low + 30)]
        with self.database.cursor() as cursor:
            text = "insert into {table} ({key}) values ({keys}) on conflict do nothing"
            cursor.executemany(
                SQL(text).format(
                    table=Identifier(self.table.name),
                    key=SQL(", ").join(map(Identifier, self.table.key)),
                    keys=SQL(", ").join(Placeholder() for _ in self.table.key),
                ),
                keys,
            )
            inserted = cursor.rowcount
        return inserted + self.run("delete from {table} where {where}", keys[0])

    def truncate(self) -> int:
        """Delete all rows at once, and insert some in the same transaction."""
        self.run("truncate {table}", [])
        return 1 + sum(self.put() for _ in range(self.random.randrange(5)))

    def alter(self) -> int:
        """Add a column that no model has, or give it another name, or drop it. Change a row."""
        given = "select column_name from information_schema.columns where table_name = %s"
        there = {name for (name,) in self.database.execute(given, [self.table.name])}
        if "extra" not in there:
            self.run("alter table {table} add column if not exists extra text default 'x'", [])
        elif "renamed" not in there:
            self.run("alter table {table} rename column extra to renamed", [])
        if "renamed" in there:
            self.run("alter table {table} drop column if exists renamed", [])
        return self.put()


OPERATIONS: dict[Callable[[Rows], int], int] = {
    Rows.put: 800,
    Rows.change: 800,
    Rows.delete: 160,
    Rows.move: 16,
    Rows.circle: 1,
    Rows.undo: 80,
    Rows.touch: 4,
    Rows.many: 40,
    Rows.truncate: 8,
    Rows.alter: 16,
}
"""How often each of them is done. A chain of changes of key is a batch for each of its links."""


class Writers:
    """Threads that write until they are stopped. They can be paused."""

    def __init__(self, dsn: str, seed: int, tables: list[Table]) -> None:
        """Start the threads, paused: those that these tables need."""
        self.done: Counter[str] = Counter()
        """What was committed, and how often."""
        self.accounts_a_second = 1
        """So many transactions of the script pgbench tries to make in a second."""
        self._counting = threading.Lock()
        self._dsn = dsn
        self._tables = [table for table in tables if table in (NOTES, THINGS)]
        self._accounts = sum(table in ACCOUNTS for table in tables)
        self._stop = threading.Event()
        self._go = threading.Event()
        self._busy: list[threading.Lock] = []
        self._threads = []
        works: list[Callable[[Random, psycopg.Connection], None]] = [
            *[self._write] * 2,
            self._write_slowly,
            *[self._mark] * (MARKS in tables),
            *[self._bench] * (self._accounts > 0),
        ]
        for number, work in enumerate(works):
            busy = threading.Lock()
            self._busy.append(busy)
            random = Random(f"{seed} {number}")  # noqa: S311
            thread = threading.Thread(target=self._loop, args=(work, random, busy), daemon=True)
            thread.start()
            self._threads.append(thread)

    def resume(self) -> None:
        """Let them write."""
        self._go.set()

    def pause(self) -> None:
        """Let them end their transactions, and wait for that."""
        self._go.clear()
        for busy in self._busy:
            with busy:
                pass

    def write_last(self) -> None:
        """Pause, and commit one more row of each table."""
        self.pause()
        random = Random(time.monotonic_ns())  # noqa: S311 - only to be another row than before
        with psycopg.connect(self._dsn) as database:
            for table in self._tables:
                Rows(random, database, table).put()

    def is_alive(self) -> bool:
        """Whether all threads still write."""
        return all(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """End the threads."""
        self._stop.set()
        self._go.set()
        for thread in self._threads:
            thread.join()

    def _loop(
        self,
        work: Callable[[Random, psycopg.Connection], None],
        random: Random,
        busy: threading.Lock,
    ) -> None:
        """Work as long as it may, over one connection after the other."""
        while not self._stop.is_set():
            self._go.wait()
            try:
                with busy, psycopg.connect(self._dsn) as database:
                    database.execute("set lock_timeout = '500ms'")
                    database.commit()
                    while self._go.is_set() and not self._stop.is_set():
                        # Two of them may alter a table at once.
                        with suppress(
                            psycopg.errors.LockNotAvailable,
                            psycopg.errors.DeadlockDetected,
                            psycopg.errors.UndefinedColumn,
                            psycopg.errors.DuplicateColumn,
                        ):
                            work(random, database)
            except (psycopg.OperationalError, psycopg.Rollback):  # of a connection that is lost
                with self._counting:
                    self.done["lost connections"] += 1
                time.sleep(0.5)

    def _write(self, random: Random, database: psycopg.Connection) -> None:
        """A short transaction."""
        self._transact(random, database, random.randint(1, 4), 0)
        time.sleep(random.random())

    def _write_slowly(self, random: Random, database: psycopg.Connection) -> None:
        """A transaction of some seconds. Others that begin later commit before it."""
        self._transact(random, database, random.randint(2, 6), 1)

    def _transact(
        self, random: Random, database: psycopg.Connection, count: int, pause: float
    ) -> None:
        done: Counter[str] = Counter()
        with database.transaction():
            for _ in range(count):
                rows = Rows(random, database, random.choice(self._tables))
                operation = random.choices([*OPERATIONS], [*OPERATIONS.values()])[0]
                if pause and operation in (Rows.truncate, Rows.alter):
                    continue  # its lock would stop all others
                changes = operation(rows)
                done["changes"] += changes
                done[operation.__name__] += changes > 0 or operation is Rows.undo
                time.sleep(pause * random.random())
            if random.random() < 0.1:
                done = Counter(rollbacks=1)
                raise psycopg.Rollback
            done["long transactions"] += pause > 0
        with self._counting:
            self.done.update(done)

    def _mark(self, _: Random, database: psycopg.Connection) -> None:
        """A row with the time of its commit."""
        database.execute(
            "insert into marks values (1 + (select count(*) from marks), clock_timestamp())"
        )
        database.commit()
        time.sleep(0.5)

    def _bench(self, random: Random, _: psycopg.Connection) -> None:
        """Two seconds of pgbench. If the database is killed, its changes are not counted."""
        program = [
            *("pgbench", "--no-vacuum", "--time", "2", "--rate", str(self.accounts_a_second)),
            *("--random-seed", str(random.getrandbits(31)), "--file", str(SCRIPT)),
            *("--define", f"tables={self._accounts}"),
        ]
        ran = subprocess.run([*program, self._dsn], check=False, capture_output=True, text=True)
        found = re.search(r"actually processed: (\d+)", ran.stdout)
        if ran.returncode:
            raise psycopg.OperationalError(ran.stderr)
        with self._counting:
            self.done["changes"] += CHANGES_OF_SCRIPT * int(found[1] if found else 0)
