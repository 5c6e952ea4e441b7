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


class KilledError(RuntimeError):
    """The process ended here."""


@contextmanager
def killed_after(statement_no: int, statement: re.Pattern[str]) -> Iterator[list[str]]:
    """Stop each statement of a run that comes after some that match a pattern.

    Args:
        statement_no: How many of the matching statements are executed.
        statement: Matches the beginning of such a statement, after its comments.

    Yields:
        A list that receives the beginning of each matching statement that was executed.
    """
    written: list[str] = []

    def counting(execute: Callable[[str], None], sql: str) -> None:
        if len(written) == statement_no:
            message = f"killed after: {written[-1:]}"
            raise KilledError(message)
        execute(sql)
        bare = re.sub(r"^(/\*.*?\*/|\s)*", "", sql, flags=re.DOTALL)
        if statement.match(bare):
            written.append(" ".join(bare.split()[:6]))

    with sent_through(counting):
        yield written


@contextmanager
def views_kept() -> Iterator[dict[str, str]]:
    """Keep the session views that a run would drop at its end, and the variables that they read.

    Yields:
        A dict that receives the full name of the last view of each collection and object, such as
        `files__steps`.
    """
    names: dict[str, str] = {}

    def keeping(execute: Callable[[str], None], sql: str) -> None:
        made = re.search(r"create or replace temporary view (`trueup__(\w+)__\w{8}(__\w+)`)", sql)
        if made:
            names[made[2] + made[3]] = made[1]
        drops = re.search(r"drop (view|temporary variable) if exists `trueup__", sql)
        # dbt asks for the result of each statement, so there must be one.
        execute("select 1 where false" if drops else sql)

    with sent_through(keeping):
        yield names
