"""Lets a test watch the statements of a run, and act between two of them as somebody else might."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark.session import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def sent_through(
    send: Callable[[Callable[[str], None], str], object], connection: type[Any] = Cursor
) -> Iterator[None]:
    """Let `send(execute, sql)` send each statement of a run, by `execute` if it wants to.

    `connection` is the class by which dbt sends statements.
    """
    execute = connection.execute

    def sending(cursor: Any, sql: str, *parameters: Any) -> None:
        send(lambda statement: execute(cursor, statement, *parameters), sql)

    connection.execute = sending
    try:
        yield
    finally:
        connection.execute = execute


@contextmanager
def sent(statement: str) -> Iterator[list[str]]:
    """Collect the statements that match a pattern.

    Args:
        statement: A regular expression.

    Yields:
        A list that receives these statements, each before it is executed.
    """
    found: list[str] = []

    def collecting(execute: Callable[[str], None], sql: str) -> None:
        if re.search(statement, sql):
            found.append(sql)
        execute(sql)

    with sent_through(collecting):
        yield found
