"""Wraps what sends a statement: one that loses a race is repeated, skipped or explained.

It also explains the errors of wrong arguments and of a Spark without grants. It says in one line
what Spark reports as a page of Java: a fault of the storage, or an error that SQL raised. A select
meets them when dbt fetches its rows, so that is wrapped, too. All other errors pass through
unchanged.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import wraps
from typing import Any

from dbt.adapters.spark.connections import PyhiveConnectionWrapper, PyodbcConnectionWrapper
from dbt.adapters.spark.session import Cursor
from pyspark.sql import SparkSession

from dbt_trueup.errors import (
    ArgumentsError,
    GrantsError,
    LostRaceError,
    RaisedError,
    StorageError,
    TrueupError,
)

from .commit_conflicts import describe_lost_race, may_be_repeated, may_be_skipped
from .grants import describe_missing_grants
from .raised_errors import describe_raised_error
from .storage import describe_storage_fault
from .wrong_arguments import describe_wrong_arguments

REPEATS = 3
"""How often a statement that may be repeated is repeated."""

FETCHES = (
    (Cursor, "fetchall"),
    (Cursor, "fetchone"),
    (PyhiveConnectionWrapper, "fetchall"),
    (PyodbcConnectionWrapper, "fetchall"),
)
"""What fetches rows: a session, Thrift and HTTP, and ODBC."""

EMPTY_RESULT = "select 1 where false"


def install() -> None:
    """Wrap the statements of a session, of Thrift and HTTP, and of ODBC in this process.

    Spark Connect has a session class of its own. `session.install` wraps it when it starts.
    """
    wrap(SparkSession, "sql")
    wrap(PyhiveConnectionWrapper, "execute")
    wrap(PyodbcConnectionWrapper, "execute")
    for fetcher, method in FETCHES:
        wrap_fetch(fetcher, method)
    close_quietly()


def close_quietly() -> None:
    """Let a connection over Thrift end without an error. Calling this again has no effect.

    When a connection ends, a Thrift server with `singleSession` looks at all temporary views of the
    session. It fails if another run drops one of them meanwhile. Then dbt would call a model
    failed whose work is done.
    """
    close = PyhiveConnectionWrapper.close
    if hasattr(close, "is_quiet"):
        return

    @wraps(close)
    def close_without_error(connection: PyhiveConnectionWrapper) -> None:
        with suppress(Exception):
            close(connection)

    close_without_error.is_quiet = True  # type: ignore[attr-defined]
    PyhiveConnectionWrapper.close = close_without_error  # type: ignore[method-assign,assignment]


def wrap(sender: type, method: str) -> None:
    """Wrap a method that sends a statement. Calling this again has no effect.

    Args:
        sender: The class of the method.
        method: Its name. The statement is the first argument of the method.
    """
    send = getattr(sender, method)
    if hasattr(send, "explains_lost_races"):
        return

    @wraps(send)
    def send_and_explain_lost_races(connection: object, *given: Any, **named: Any) -> Any:
        # Python code of the user may give the statement by its name.
        statement = str(next(iter([*given, *named.values()]), ""))
        repeats = 0
        while True:
            try:
                return send(connection, *given, **named)
            except Exception as error:  # noqa: PERF203 - three times at most
                text = text_of(error)
                if may_be_repeated(statement, text) and repeats < REPEATS:
                    repeats += 1
                    continue
                if may_be_skipped(statement, text):
                    return send(connection, EMPTY_RESULT)
                explained = explain(statement, text)
                if explained is not None:
                    raise explained from error
                raise

    send_and_explain_lost_races.explains_lost_races = True  # type: ignore[attr-defined]
    setattr(sender, method, send_and_explain_lost_races)


def text_of(error: Exception) -> str:
    """Return the text of an error. Spark Connect has the class of Java in parentheses before it.

    Example:
        >>> text_of(RuntimeError("(org.apache.iceberg.exceptions.ValidationException) Found"))
        'org.apache.iceberg.exceptions.ValidationException: Found'
    """
    return re.sub(r"\(([\w.$]+(?:Exception|Error))\) ", r"\1: ", str(error))


def wrap_fetch(fetcher: type, method: str) -> None:
    """Wrap a method that fetches rows. Calling this again has no effect.

    Args:
        fetcher: The class of the method.
        method: Its name.
    """
    fetch = getattr(fetcher, method)
    if hasattr(fetch, "explains_faults"):
        return

    @wraps(fetch)
    def fetch_and_explain_faults(cursor: object) -> Any:
        try:
            return fetch(cursor)
        except Exception as error:
            short = without_page(text_of(error))
            if short is None:
                raise
            raise short from error

    fetch_and_explain_faults.explains_faults = True  # type: ignore[attr-defined]
    setattr(fetcher, method, fetch_and_explain_faults)


def explain(statement: str, error: str) -> TrueupError | None:
    """Return the error to raise instead of that of a failed statement, or none."""
    if lost_race := describe_lost_race(statement, error):
        return LostRaceError(lost_race)
    if no_grants := describe_missing_grants(statement, error):
        return GrantsError(no_grants)
    if short := without_page(error):
        return short
    wrong_arguments = describe_wrong_arguments(statement, error)
    return None if wrong_arguments is None else ArgumentsError(wrong_arguments)


def without_page(error: str) -> TrueupError | None:
    """Return the error to raise instead of one that Spark reports as a page of Java, or none."""
    fault = describe_storage_fault(error)
    if fault is not None:
        return StorageError(fault)
    raised = describe_raised_error(error)
    return None if raised is None else RaisedError(raised)
