"""Wraps `SparkSession.sql`: a statement that loses a race is repeated, skipped or explained.

It also explains the error of a Spark without grants, and a fault of the storage. A select meets
such a fault when dbt fetches its rows, so that is wrapped, too. All other errors pass through
unchanged.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark.session import Cursor
from pyspark.sql import SparkSession

from dbt_trueup.errors import GrantsError, LostRaceError, StorageError

from .commit_conflicts import describe_lost_race, may_be_repeated, may_be_skipped
from .grants import describe_missing_grants
from .storage import describe_storage_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

REPEATS = 3
"""How often an apply that lost to a rewrite of files is repeated."""

EMPTY_RESULT = "select 1 where false"


def install() -> None:
    """Wrap the statements of this process. Calling this again has no effect."""
    _install_in_sql()
    _install_in_fetch()


def _install_in_sql() -> None:
    sql = SparkSession.sql
    if hasattr(sql, "explains_lost_races"):
        return

    @wraps(sql)
    def sql_that_explains_lost_races(
        session: SparkSession, statement: str, *rest: Any, **named: Any
    ) -> DataFrame:
        repeats = 0
        while True:
            try:
                return sql(session, statement, *rest, **named)
            except Exception as error:  # noqa: PERF203 - three times at most
                if may_be_repeated(statement, str(error)) and repeats < REPEATS:
                    repeats += 1
                    continue
                if may_be_skipped(statement, str(error)):
                    return sql(session, EMPTY_RESULT)
                lost_race = describe_lost_race(statement, str(error))
                if lost_race is not None:
                    raise LostRaceError(lost_race) from error
                no_grants = describe_missing_grants(statement, str(error))
                if no_grants is not None:
                    raise GrantsError(no_grants) from error
                fault = describe_storage_fault(str(error))
                if fault is not None:
                    raise StorageError(fault) from error
                raise

    sql_that_explains_lost_races.explains_lost_races = True  # type: ignore[attr-defined]
    SparkSession.sql = sql_that_explains_lost_races  # type: ignore[assignment]


def _install_in_fetch() -> None:
    for name in ("fetchall", "fetchone"):
        fetch = getattr(Cursor, name)
        if not hasattr(fetch, "explains_faults"):
            setattr(Cursor, name, _explain_faults(fetch))


def _explain_faults(fetch: Callable[[Cursor], Any]) -> Callable[[Cursor], Any]:
    @wraps(fetch)
    def fetch_that_explains_faults(cursor: Cursor) -> Any:
        try:
            return fetch(cursor)
        except Exception as error:
            fault = describe_storage_fault(str(error))
            if fault is None:
                raise
            raise StorageError(fault) from error

    fetch_that_explains_faults.explains_faults = True  # type: ignore[attr-defined]
    return fetch_that_explains_faults
