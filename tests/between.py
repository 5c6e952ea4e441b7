"""Lets a test watch the statements of a run, and act between two of them as somebody else might."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark.session import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def before(statement: str, act: Callable[[], object]) -> Iterator[list[str]]:
    """Act once, right before the first statement that matches a pattern.

    Args:
        statement: A regular expression.
        act: The action. Its own statements are not matched against the pattern.

    Yields:
        A list that receives the statement. The block fails if no statement matches.
    """
    execute = Cursor.execute
    found: list[str] = []

    def watched(cursor: Cursor, sql: str, *parameters: Any) -> None:
        if not found and re.search(statement, sql):
            found.append(sql)
            Cursor.execute = execute  # type: ignore[method-assign]
            act()
        execute(cursor, sql, *parameters)

    Cursor.execute = watched  # type: ignore[assignment]
    try:
        yield found
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]
    assert found, f"no statement of the run has {statement!r}"


@contextmanager
def sent(statement: str) -> Iterator[list[str]]:
    """Collect the statements that match a pattern.

    Args:
        statement: A regular expression.

    Yields:
        A list that receives these statements, each before it is executed.
    """
    execute = Cursor.execute
    found: list[str] = []

    def watched(cursor: Cursor, sql: str, *parameters: Any) -> None:
        if re.search(statement, sql):
            found.append(sql)
        execute(cursor, sql, *parameters)

    Cursor.execute = watched  # type: ignore[assignment]
    try:
        yield found
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]
