"""The plugin explains the config `grants` on a Spark without grants."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt_trueup.errors import GrantsError
from dbt_trueup.plugin import statements
from dbt_trueup.plugin.grants import describe_missing_grants

SYNTAX = "[PARSE_SYNTAX_ERROR] Syntax error at or near 'on': missing 'FUNCTIONS'."
QUESTION = '/* {"app": "dbt"} */\n\n    show grants on lake.`odd name`\n  '


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("select 'show grant'", SYNTAX),
        ("show tables in lake", SYNTAX),
        (QUESTION, "[INSUFFICIENT_PERMISSIONS] User does not have permission"),
    ],
)
def test_other_statements_and_other_errors_are_not_about_grants(statement: str, error: str) -> None:
    assert describe_missing_grants(statement, error) is None


def test_the_error_names_the_config_and_the_relation(monkeypatch: pytest.MonkeyPatch) -> None:
    def sql(*_: object) -> None:
        raise RuntimeError(SYNTAX)

    monkeypatch.setattr(SparkSession, "sql", sql)
    statements.install()
    run: Any = SparkSession.sql
    with pytest.raises(GrantsError) as stopped:
        run(None, QUESTION)
    required, got, then = str(stopped.value).splitlines()
    assert required == "The config `grants` must be left out: this Spark has no statement GRANT."
    assert got == "Got: grants for lake.`odd name`"
    assert then.startswith("Remove the config")
    with pytest.raises(RuntimeError, match="FUNCTIONS"):
        run(None, "select 1")
