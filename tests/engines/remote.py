"""A dbt project over a connection to a server, with the part of a session that tests use."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from pyhive import hive  # type: ignore[import-untyped]
from pyspark.sql import Row

from tests.engines.servers import LOOPBACK
from tests.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests import oracle
    from tests.newest_oracle import Command


class Result(NamedTuple):
    """What a statement returned."""

    rows: list[Row]
    columns: list[str]

    def collect(self) -> list[Row]:
        """Return the rows, as a data frame does."""
        return self.rows


class ThriftSession:
    """Sends each statement over a connection of its own, as dbt does for each model."""

    def __init__(self, port: int, database: str = "default") -> None:
        """Remember the port, and the schema that a connection begins with."""
        self.port = port
        self.database = database

    def sql(self, statement: str) -> Result:
        """Execute a statement, and return its rows."""
        with (
            closing(hive.connect(LOOPBACK, self.port, database=self.database)) as connection,
            closing(connection.cursor()) as cursor,
        ):
            cursor.execute(statement)
            columns = [each[0].split(".")[-1] for each in cursor.description or []]
            rows = cursor.fetchall() if columns else []
        return Result([Row(**dict(zip(columns, row, strict=True))) for row in rows], columns)

    def table(self, name: str) -> Result:
        """Return the columns of a table."""
        return self.sql(f"select * from {name} limit 0")


class ThriftProject(Project):
    """A project whose tables are read, and whose log is written, over Thrift."""

    spark: Any

    def __init__(self, folder: Path, name: str, port: int, package: Path) -> None:
        """Write an empty project for the server on a port of loopback."""
        super().__init__(folder, name, ThriftSession(port), package)  # type: ignore[arg-type]

    def append(self, name: str, commands: Iterable[oracle.Command | Command]) -> None:
        """Append commands with one value column to a log, in one INSERT."""
        key, value = self._columns[name]
        rows = ", ".join(
            "(" + ", ".join(map(literal, row(command, len(value)))) + ")" for command in commands
        )
        columns = ["log_ts", "log_order", "log_delete", *(each.name for each in (*key, *value))]
        self.sql(f"insert into {{}}.{name}_log ({', '.join(columns)}) values {rows}")


def row(command: oracle.Command | Command, width: int) -> list[Any]:
    """The columns of a log: both parts of the order, delete, key, value."""
    value = command.value or (None,) * width
    order = command.order or (None, None)
    return [*order, command.value is None, *(command.key or ()), *value]


def literal(item: object) -> str:
    """Write a number, a boolean, a plain text or a null as SQL."""
    return "null" if item is None else json.dumps(item)
