"""Two runs overlap while they widen a date to a timestamp. Each stops or dies at every query.

The tables are stand-ins that execute a statement as Iceberg does. The functional test in the file
of the same name uses Spark. It stops the runs at fewer queries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from threading import Semaphore, Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.macros.package import Package, RefusedError, column, in_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CHANGELOG, STATE = "lake.files_changelog", "lake.files_state"
BEFORE = {"k": "string", "d": "date", "e": "date"}
AFTER = {"k": "string", "d": "timestamp", "e": "timestamp"}
DAYS = {"d": "day", "e": "other day"}


class FailedError(Exception):
    """The error of Spark for a statement that does not fit the table."""


class KilledError(Exception):
    """The process of the run was killed."""


@dataclass
class Table:
    """Columns and rows of texts. A date that becomes a timestamp gets ` at midnight` appended."""

    columns: dict[str, str] = field(default_factory=lambda: dict(BEFORE))
    rows: list[dict[str, str | None]] = field(default_factory=lambda: [dict(DAYS)])

    def execute(self, sql: str) -> None:
        """Execute a statement as Iceberg does, or fail."""
        told = (
            sql.rpartition("*/")[2]
            .strip()
            .partition(" ")[2]
            .removeprefix("table ")
            .partition(" ")[2]
        )
        names = re.findall(r"`([^`]+)`", told)
        if told.startswith("add column"):
            self.require(names[0], is_there=False)
            self.columns[names[0]] = "timestamp"
        elif told.startswith("drop column"):
            if "if exists" not in told:
                self.require(names[0])
            self.columns.pop(names[0], None)
            for row in self.rows:
                row.pop(names[0], None)
        elif told.startswith("rename column"):
            self.require(names[0])
            self.require(names[1], is_there=False)
            self.columns[names[1]] = self.columns.pop(names[0])
            for row in self.rows:
                row[names[1]] = row.pop(names[0], None)
        elif not told.startswith("set tblproperties"):
            assert told.startswith("set "), sql
            self.fill(told, *names[:2])

    def fill(self, told: str, target: str, source: str) -> None:
        """Fill a column with the timestamps of another."""
        self.require(target)
        self.require(source)
        if "raise_error" in told and self.columns[source] != "date":
            raise FailedError(told)
        is_copy = told.endswith(f"`{target}` is null")
        for row in self.rows:
            value = row.get(source)
            if value is not None and not (is_copy and row.get(target) is not None):
                row[target] = value + " at midnight" * (self.columns[source] == "date")

    def require(self, name: str, *, is_there: bool = True) -> None:
        """Fail unless a column exists, or with `is_there=False` does not exist."""
        if (name in self.columns) != is_there:
            raise FailedError(name)

    def append(self, columns: Mapping[str, str], row: Mapping[str, str | None]) -> None:
        """Append a row. Fail if the table has other columns by now."""
        if columns != self.columns:
            raise FailedError(columns)
        self.rows.append(dict(row))


class Lake:
    """The changelog and the state of a collection."""

    def __init__(self) -> None:
        """Begin with one settled row."""
        self.tables = {CHANGELOG: Table(), STATE: Table()}

    def query(self, sql: str) -> object:
        """Answer a query of a macro."""
        if sql.startswith("describe query "):
            return list(self.tables[sql.rpartition(" ")[2]].columns.items())
        if sql.startswith("set `spark.sql.timestampType`"):
            return SimpleNamespace(rows=[(None, "TIMESTAMP_LTZ")])
        if "show tblproperties" in sql:
            return SimpleNamespace(rows=[("format", "iceberg/parquet")])
        self.tables[next(word for word in sql.split() if word in self.tables)].execute(sql)
        return None

    def append_day(self) -> bool:
        """Append a batch that was staged before the log had timestamps. Return True if it fits."""
        try:
            self.tables[CHANGELOG].append(BEFORE, DAYS)
        except FailedError:
            return False
        return True


class Run:
    """A run in its own thread. The test lets it continue query by query."""

    def __init__(self, name: str) -> None:
        """Load the macros. The method `start` begins the run."""
        self.name = name
        self.package: Package = in_model("files_batch", queries=self.query, invocation_id=name)
        self.options = self.package._options()

    def start(self, lake: Lake) -> None:
        """Begin the run, and stop before its first query."""
        self.lake, self.is_killed, self.is_over, self.appended = lake, False, False, False
        self.may_go, self.has_stopped = Semaphore(0), Semaphore(0)
        self.thread = Thread(target=self.main)
        self.thread.start()
        self.has_stopped.acquire()

    def go(self, steps: int) -> None:
        """Let this number of queries through."""
        for _ in range(steps):
            if not self.is_over:
                self.may_go.release()
                self.has_stopped.acquire()

    def kill(self) -> None:
        """Kill the run if it is not over."""
        self.is_killed = True
        self.go(1)
        self.thread.join()

    def pause(self) -> None:
        """Wait until the test lets the run continue."""
        self.has_stopped.release()
        self.may_go.acquire()
        if self.is_killed:
            raise KilledError

    def query(self, sql: str) -> object:
        """Wait, and then answer a query of a macro."""
        self.pause()
        return self.lake.query(sql)

    def main(self) -> None:
        """Adapt the columns to the commands, append a batch with timestamps, and apply new rows."""
        try:
            collection = {
                "name": "orders",
                "changelog": CHANGELOG,
                "state": STATE,
                "unique_key": ["k"],
                "command_columns": [column(*one) for one in AFTER.items()],
                "options": self.options,
            }
            columns = self.package._ensure_columns(collection)
            staged = {one["name"]: one["type"] for one in columns}
            self.pause()
            self.lake.tables[CHANGELOG].append(staged, dict.fromkeys("de", f"noon of {self.name}"))
            self.appended = True
            self.pause()
            self.apply()
        except RefusedError as error:
            assert "columns moved" in str(error)  # noqa: PT017 - not the test's thread
        except (FailedError, KilledError):
            pass
        finally:
            # The test waits for this, even after an error.
            self.is_over = True
            self.has_stopped.release()

    def apply(self) -> None:
        """Append to the state the rows that only the changelog has."""
        changelog, state = (self.lake.tables[name] for name in (CHANGELOG, STATE))
        for row in changelog.rows[len(state.rows) :]:
            state.append(changelog.columns, row)


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [Run(name) for name in ("a", "b", "c")]


EVER = 1000
ENDS: dict[str, Callable[[Run, Run], object]] = {
    "the first is killed": lambda a, b: (a.kill(), b.go(EVER)),  # type: ignore[func-returns-value]
    "both go on": lambda a, b: (a.go(EVER), b.go(EVER)),  # type: ignore[func-returns-value]
    "both are killed": lambda a, b: (a.kill(), b.kill()),  # type: ignore[func-returns-value]
}


@pytest.mark.slow
@pytest.mark.long_cases
@pytest.mark.parametrize("end", ENDS)
def test_overlapping_runs_that_widen_a_column_lose_no_value(runs: list[Run], end: str) -> None:
    first, second, schedule_count = 0, 0, 0
    while True:
        schedule_count += 1
        over = check_schedule(runs, first, second, end)
        first, second = (first + 1, 0) if over[1] else (first, second + 1)
        if over[0]:
            break
    assert schedule_count > 200, "the runs have become shorter: are all statements still here?"


def check_schedule(runs: list[Run], first: int, second: int, end: str) -> tuple[bool, bool]:
    """Let two runs overlap and a third one finish their work. Return which of the two were over."""
    a, b, c = runs
    lake = Lake()
    a.start(lake)
    a.go(first)
    days = lake.append_day()
    b.start(lake)
    b.go(second)
    over = a.is_over, b.is_over
    ENDS[end](a, b)
    a.kill()
    b.kill()
    c.start(lake)
    c.go(EVER)
    where = f"{end}, after {first} and {second} queries: {lake.tables}"
    assert c.appended, where
    for name, day in DAYS.items():
        expected = [day + " at midnight"] * (1 + days)
        expected += [f"noon of {run.name}" for run in runs if run.appended]
        for table in lake.tables.values():
            assert table.columns == AFTER, where
            assert sorted(str(row.get(name)) for row in table.rows) == sorted(expected), where
    return over
