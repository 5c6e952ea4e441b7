"""Statements of a collection that lose a race are repeated or left out; those of others are not."""

from __future__ import annotations

import pytest

from dbt_trueup.plugin.commit_conflicts import may_be_repeated, may_be_skipped

MADE = "org.apache.iceberg.exceptions.AlreadyExistsException: Table was created concurrently: s.m"
TWICE = "[FIELD_ALREADY_EXISTS] Cannot add column, because `e` already exists"
BEHIND = "org.apache.iceberg.exceptions.CommitFailedException: Cannot commit"

CREATE = "/* trueup: create */\ncreate table if not exists s.m__trueup\nusing iceberg"
ADD = "/* trueup: alter */\nalter table s.m__trueup add column `e` string"
VIEW = "/* trueup: create */\n\n  create or replace view s.m\n  as select 1"


@pytest.mark.parametrize(
    ("statement", "error", "repeated", "skipped"),
    [
        (CREATE, MADE, False, True),
        (CREATE, BEHIND, False, False),
        (CREATE.replace("m__trueup", "m_changelog"), MADE, False, False),
        (ADD, TWICE, False, True),
        (ADD, BEHIND, True, False),
        (ADD.replace("m__trueup", "m_state"), TWICE, False, False),
        (ADD.replace("m__trueup", "m_state"), BEHIND, False, False),
        (VIEW, BEHIND, True, False),
        (VIEW, "[TABLE_OR_VIEW_NOT_FOUND] s.m__trueup", False, False),
        ("/* trueup: commit */ merge into s.m__trueup", BEHIND, False, True),
        ("/* trueup: commit */ merge into s.m__trueup", "[DIVIDE_BY_ZERO]", False, False),
    ],
)
def test_a_statement_of_a_store_that_loses_a_race_is_repeated_or_left_out(
    statement: str, error: str, *, repeated: bool, skipped: bool
) -> None:
    assert may_be_repeated(statement, error) is repeated
    assert may_be_skipped(statement, error) is skipped
