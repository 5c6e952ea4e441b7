"""The plugin repeats, skips or explains a statement of trueup that loses a race."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt_trueup.errors import LostRaceError
from dbt_trueup.plugin import statements
from dbt_trueup.plugin.commit_conflicts import (
    describe_lost_race,
    may_be_repeated,
    may_be_skipped,
)
from dbt_trueup.plugin.statements import REPEATS
from tests.macros.package import in_model, refused

CONFLICT = "org.apache.iceberg.exceptions.ValidationException: Found conflicting files that ..."
COMMIT = "/* trueup: commit */ merge into s.files__trueup as store"
CREATE = "/* trueup: create */ create or replace table s.files_plan as select 1"


def test_other_errors_and_foreign_statements_are_not_lost_races() -> None:
    assert describe_lost_race(COMMIT, "[DIVIDE_BY_ZERO]") is None
    # These are not statements of trueup, although they have its aliases and columns.
    assert describe_lost_race("merge into s.mine as changelog using _batch_id", CONFLICT) is None
    assert describe_lost_race("merge into s.mine as state using _error_key", CONFLICT) is None
    assert (
        describe_lost_race("create or replace table s.mine as select _error_key", CONFLICT) is None
    )


@pytest.mark.parametrize(
    "error",
    [
        CONFLICT,
        "[USER_RAISED_EXCEPTION] upper mismatch: s.files__trueup is no longer at batch 3",
        "Snapshot 8504628880722896756 is not an ancestor of 8280891962937758956",
        "Cannot determine history between starting snapshot 1 and the last known ancestor 2",
        "Table UUID does not match: current=1 != refreshed=2",
        *(
            f"[DELTA_{each}] SQLSTATE: 2D521"
            for each in (
                *("CONCURRENT_APPEND", "CONCURRENT_WRITE", "METADATA_CHANGED", "PROTOCOL_CHANGED"),
                "SCHEMA_CHANGE_SINCE_ANALYSIS",
            )
        ),
    ],
)
def test_a_commit_that_lost_is_skipped_and_the_run_looks_again(error: str) -> None:
    assert may_be_skipped(COMMIT, error)
    assert not may_be_skipped(CREATE, error)


def test_a_commit_that_failed_for_another_reason_is_an_error() -> None:
    # This error quotes the statement. The statement has the words of the mismatch.
    quoted = f"{COMMIT} raise_error('upper mismatch: batch')"
    assert not may_be_skipped(quoted, f"[UNRESOLVED_COLUMN] d\n== SQL ==\n{quoted}")
    assert not may_be_skipped(COMMIT, "[DIVIDE_BY_ZERO]")


@pytest.mark.parametrize(
    "error",
    [
        "org.apache.iceberg.exceptions.AlreadyExistsException: Table already exists: s.files_plan",
        "[DELTA_TABLE_ALREADY_EXISTS] Table `s`.`files_plan` already exists. SQLSTATE: 42P07",
    ],
)
def test_a_table_that_another_run_has_made_meanwhile_is_a_lost_race(error: str) -> None:
    assert describe_lost_race(CREATE, error) == (
        "another run made s.files_plan at the same moment; run again"
    )


def test_a_folder_that_a_killed_run_has_left_is_explained() -> None:
    said = describe_lost_race(CREATE, "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] ...")
    assert said is not None
    assert "If it has a folder _delta_log, let the catalog know the table: create table" in said
    assert "create table s.files_plan using delta location" in said
    assert "If it has none, nothing was committed: delete the folder" in said


def test_a_table_that_a_rebase_has_dropped_is_named() -> None:
    gone = (
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `s`.`files__trueup` cannot be found. SQLSTATE"
    )
    look = "/* trueup: look */show tblproperties s.files__trueup"
    assert describe_lost_race(look, gone) == (
        "s.files__trueup is gone: a rebase has dropped it, or somebody else; run again"
    )
    assert describe_lost_race(look, CONFLICT) is None
    assert describe_lost_race("show tblproperties s.files__trueup", gone) is None


def test_a_mark_needs_a_known_step() -> None:
    must, _, _ = refused(in_model("files")._step_marker, "tidy")

    assert "one of alter, check, commit, create, drop, look" in must


def test_a_statement_is_recognised_by_its_mark_alone() -> None:
    assert describe_lost_race("/* trueup: drop */ optimize s.mine", CONFLICT) == (
        "another run wrote to the table at the same moment; run again"
    )


MADE = "org.apache.iceberg.exceptions.AlreadyExistsException: Table was created concurrently: s.m"
TWICE = "[FIELD_ALREADY_EXISTS] Cannot add column, because `e` already exists"
BEHIND = "org.apache.iceberg.exceptions.CommitFailedException: Cannot commit"

STORE = "/* trueup: create */\ncreate table if not exists s.m__trueup\nusing iceberg"
ADD = "/* trueup: alter */\nalter table s.m__trueup add column `e` string"
VIEW = "/* trueup: create */\n\n  create or replace view s.m\n  as select 1"


@pytest.mark.parametrize(
    ("statement", "error", "repeated", "skipped"),
    [
        (STORE, MADE, False, True),
        (STORE, BEHIND, False, False),
        (STORE.replace("m__trueup", "m_changelog"), MADE, False, False),
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


def test_a_view_and_a_new_column_are_sent_again_if_they_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If two runs do it at once, they do the same."""
    failures: list[str] = []

    def sql(_: object, statement: str) -> str:
        if failures:
            raise RuntimeError(failures.pop())
        return f"ran {statement}"

    monkeypatch.setattr(SparkSession, "sql", sql)
    statements.install()
    run: Any = SparkSession.sql
    for statement in (VIEW, ADD):
        failures[:] = [CONFLICT] * REPEATS
        assert run(None, statement) == f"ran {statement}"
        failures[:] = [CONFLICT] * (REPEATS + 1)
        with pytest.raises(LostRaceError, match="at the same moment"):
            run(None, statement)
        failures[:] = ["[DIVIDE_BY_ZERO]"]
        with pytest.raises(RuntimeError, match="DIVIDE"):
            run(None, statement)
    failures[:] = [CONFLICT]
    with pytest.raises(LostRaceError, match="at the same moment"):
        run(None, CREATE)
