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


@contextmanager
def views_kept() -> Iterator[dict[str, str]]:
    """Keep the session views that a run would drop at its end.

    Yields:
        A dict that receives the full name of the last view of each collection and object, such as
        `files__steps`.
    """
    execute = Cursor.execute
    names: dict[str, str] = {}

    def keeping(cursor: Cursor, sql: str, *parameters: Any) -> None:
        made = re.search(r"create or replace temporary view (`trueup__(\w+)__\w{8}(__\w+)`)", sql)
        if made:
            names[made[2] + made[3]] = made[1]
        if not re.search(r"drop (view|temporary variable) if exists `trueup__", sql):
            execute(cursor, sql, *parameters)

    Cursor.execute = keeping  # type: ignore[assignment]
    try:
        yield names
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]
