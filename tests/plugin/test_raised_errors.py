"""An error that SQL raises is told in its own words, wherever Spark meets it."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.spark.session import Cursor

from dbt_trueup.errors import RaisedError
from dbt_trueup.plugin import statements
from dbt_trueup.plugin.raised_errors import describe_raised_error

TEXT = "[USER_RAISED_EXCEPTION] the offset must be an integer.\nGot: x; {at} SQLSTATE: P0001"
PAGE = (
    "An error occurred while calling o73.sql.\n: java.util.concurrent.ExecutionException:"
    " org.apache.spark.SparkRuntimeException: {}\n"
    "\tat org.apache.spark.sql.catalyst.expressions.RaiseError.eval(misc.scala:94)\n"
    "Caused by: org.apache.spark.SparkRuntimeException: {}\n\t... 1 more"
)


def test_the_text_of_a_page_is_the_text_that_sql_raised() -> None:
    assert describe_raised_error(PAGE.format(TEXT, TEXT)) == TEXT


@pytest.mark.parametrize("error", [TEXT, PAGE.format("[DIVIDE_BY_ZERO] SQLSTATE: 22012", "")])
def test_another_error_is_none(error: str) -> None:
    assert describe_raised_error(error) is None


@pytest.mark.parametrize("name", ["fetchall", "fetchone"])
def test_the_text_is_told_if_the_error_is_met_when_rows_are_fetched(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fetch(_: Any) -> None:
        raise RuntimeError(PAGE.format(TEXT, TEXT))

    monkeypatch.setattr(Cursor, name, fetch)
    statements.install()
    with pytest.raises(RaisedError) as raised:
        getattr(Cursor(), name)()
    assert str(raised.value) == TEXT


def test_a_statement_may_be_given_by_its_name() -> None:
    class Session:
        def sql(self, sqlQuery: str, args: object = None) -> tuple[str, object]:  # noqa: N803
            return sqlQuery, args

    statements.wrap(Session, "sql")
    assert Session().sql(sqlQuery="select 1", args=[1]) == ("select 1", [1])
    assert Session().sql("select 1", args=[1]) == ("select 1", [1])
