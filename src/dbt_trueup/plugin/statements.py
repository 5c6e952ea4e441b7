"""Wraps `SparkSession.sql`: a statement that loses a race is repeated, skipped or explained.

It also explains the error of a Spark without grants. Statements without trueup's mark pass through
unchanged, and so do all other errors.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from dbt_trueup.errors import GrantsError, LostRaceError

from .commit_conflicts import describe_lost_race, may_be_repeated, may_be_skipped
from .grants import describe_missing_grants

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REPEATS = 3
"""How often an apply that lost to a rewrite of files is repeated."""

EMPTY_RESULT = "select 1 where false"


def install() -> None:
    """Wrap `SparkSession.sql` in this process. Calling this again has no effect."""
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
                raise

    sql_that_explains_lost_races.explains_lost_races = True  # type: ignore[attr-defined]
    SparkSession.sql = sql_that_explains_lost_races  # type: ignore[assignment]
