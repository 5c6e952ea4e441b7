"""The plugin repeats, skips or explains a statement of trueup that loses a race."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt_trueup.errors import LostRaceError
from dbt_trueup.plugin import statements
from dbt_trueup.plugin.commit_conflicts import (
    REWRITTEN,
    describe_lost_race,
    may_be_repeated,
    may_be_skipped,
)
from dbt_trueup.plugin.statements import REPEATS
from tests.macros.package import a_collection, column, in_model, refused

CONFLICT = "org.apache.iceberg.exceptions.ValidationException: Found conflicting files that ..."
FOUND = {"last_seq": 2, "last_batch_id": "b2", "since": None}
TABLES = {"changelog": "s.files_changelog", "state": "s.files_state"}
TAIL = {"applied_seq": 1, "last_seq": 2}


def test_other_errors_and_foreign_statements_are_not_lost_races() -> None:
    append = str(in_model("files_changelog")._append_batch_sql("s.files_changelog", "select 1", 7))
    assert describe_lost_race(append, "[DIVIDE_BY_ZERO]") is None
    # These are not statements of trueup, although they have its aliases and columns.
    assert describe_lost_race("merge into s.mine as changelog using _batch_id", CONFLICT) is None
    assert describe_lost_race("merge into s.mine as state using _error_key", CONFLICT) is None
    assert (
        describe_lost_race("create or replace table s.mine as select _error_key", CONFLICT) is None
    )


def test_the_mark_of_a_statement_chooses_the_message_of_its_lost_race() -> None:
    trueup = in_model("files_state")
    columns = [column("path", "string")]
    found = {
        str(statement).split("*/")[0] + "*/": describe_lost_race(str(statement), CONFLICT)
        for statement in (
            trueup._apply_updates_sql(a_collection(trueup, **TABLES), TAIL, "select 1"),
            trueup._heal_sql(a_collection(trueup, **TABLES), columns, 1, [7]),
            trueup._compact_sql("s.files_changelog", ["path"], 3, FOUND),
            trueup._create_table_sql("s.files_state", "select 1"),
            trueup._begin_widening_sqls(
                "s.files_state", {"name": "day", "type": "timestamp", "old_type": "date"}
            )[1],
            trueup._unstage_sql("s.files_batch", "1b5f"),
        )
    }
    said = "at the same moment"
    assert found == {
        "/* trueup: apply */": f"state moved: another run wrote to s.files_state {said};"
        " nothing is applied; run again",
        "/* trueup: heal */": f"state moved: another run wrote to s.files_state {said};"
        " nothing is healed; run again",
        "/* trueup: compact */": f"another run wrote to s.files_changelog {said};"
        " nothing is compacted; run again",
        "/* trueup: create */": f"another run made s.files_state {said}; run again",
        "/* trueup: discard */": "upper mismatch: another run came first, and staged a batch in"
        f" s.files_batch {said}; nothing of this one is written; run again",
        "/* trueup: widen */": f"another run wrote to s.files_state {said}; run again",
    }


@pytest.mark.parametrize(
    "error",
    [
        "Snapshot 8504628880722896756 is not an ancestor of 8280891962937758956",
        "Cannot determine history between starting snapshot 1 and the last known ancestor 2",
        "Table UUID does not match: current=1 != refreshed=2",
    ],
)
def test_a_table_that_another_run_replaced_is_a_lost_race(error: str) -> None:
    trueup = in_model("files_state")
    apply = str(trueup._apply_updates_sql(a_collection(trueup, **TABLES), TAIL, "select 1"))

    assert str(describe_lost_race(apply, error)).startswith(
        "state moved: another run wrote to s.files_state"
    )


@pytest.mark.parametrize(
    "error",
    [
        *("CONCURRENT_APPEND", "CONCURRENT_WRITE", "METADATA_CHANGED", "PROTOCOL_CHANGED"),
        "SCHEMA_CHANGE_SINCE_ANALYSIS",
    ],
)
def test_a_conflict_of_delta_is_a_lost_race(error: str) -> None:
    found = f"[DELTA_{error}] SQLSTATE: 2D521"
    append = str(in_model("files_changelog")._append_batch_sql("s.files_changelog", "select 1", 7))
    discard = str(in_model("files_changelog")._unstage_sql("s.files_batch", "1b5f"))

    assert may_be_skipped(append, found)
    assert str(describe_lost_race(discard, found)).startswith(
        "upper mismatch: another run came first"
    )


@pytest.mark.parametrize(
    "error",
    [
        "org.apache.iceberg.exceptions.AlreadyExistsException: Table already exists: s.files_state",
        "[DELTA_TABLE_ALREADY_EXISTS] Table `s`.`files_state` already exists. SQLSTATE: 42P07",
    ],
)
def test_a_table_that_another_run_has_made_meanwhile_is_a_lost_race(error: str) -> None:
    create = str(in_model("files_state")._create_table_sql("s.files_state", "select 1"))
    assert describe_lost_race(create, error) == (
        "another run made s.files_state at the same moment; run again"
    )


def test_a_folder_that_a_killed_run_has_left_is_explained() -> None:
    create = str(in_model("files_state")._create_table_sql("s.files_state", "select 1"))
    said = describe_lost_race(create, "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] ...")
    assert said is not None
    assert "If it has a folder _delta_log, let the catalog know the table: create table" in said
    assert "create table s.files_state using delta location" in said
    assert "If it has none, nothing was committed: delete the folder" in said


def test_a_table_that_a_rebase_has_dropped_is_named() -> None:
    gone = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `s`.`files_state` cannot be found. SQLSTATE"
    look = "/* trueup: look */show tblproperties s.files_state"
    assert describe_lost_race(look, gone) == (
        "s.files_state is gone: a rebase has dropped it, or somebody else; run again"
    )
    assert describe_lost_race(look, CONFLICT) is None
    assert describe_lost_race("show tblproperties s.files_state", gone) is None


def test_a_mark_needs_a_known_step() -> None:
    must, _, _ = refused(in_model("files_state")._step_marker, "tidy")

    assert (
        "one of alter, append, apply, check, commit, compact, compare, create, discard, drop, heal,"
        " look, rebuild, record, widen" in must
    )


def test_only_a_lost_append_is_skipped() -> None:
    trueup = in_model("files_changelog")
    append = str(trueup._append_batch_sql("s.files_changelog", "select *, _error_key", 7))
    apply = str(trueup._apply_updates_sql(a_collection(trueup, **TABLES), TAIL, "select 1"))
    mismatch = "[USER_RAISED_EXCEPTION] upper mismatch: batch 3 expected lower 340, the ..."
    for error in (CONFLICT, mismatch):
        assert may_be_skipped(append, error)
        assert not may_be_skipped(apply, error)
    # This error quotes the statement. The statement has the words of the mismatch.
    assert not may_be_skipped(append, f"[UNRESOLVED_COLUMN] d\n== SQL ==\n{append}")
    assert not may_be_skipped(append, "[DIVIDE_BY_ZERO]")


def test_an_apply_is_repeated_if_its_files_were_rewritten_and_a_heal_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trueup = in_model("files_state")
    apply = str(trueup._apply_updates_sql(a_collection(trueup, **TABLES), TAIL, "select 1"))
    columns = [column("path", "string")]
    heal = str(trueup._heal_sql(a_collection(trueup, **TABLES), columns, 1, [7]))
    missing = f"org.apache.iceberg.exceptions.{REWRITTEN}: [a.parquet]"
    failures: list[str] = []

    def sql(_: object, statement: str) -> str:
        if failures:
            raise RuntimeError(failures.pop())
        return f"ran {statement}"

    monkeypatch.setattr(SparkSession, "sql", sql)
    statements.install()
    run: Any = SparkSession.sql
    failures[:] = [missing] * REPEATS
    assert run(None, apply) == f"ran {apply}"
    failures[:] = [missing] * (REPEATS + 1)
    with pytest.raises(LostRaceError, match="another run wrote to"):
        run(None, apply)
    # A heal does not check its batch, and another run may have applied the next batch.
    failures[:] = [missing]
    with pytest.raises(LostRaceError, match="state moved"):
        run(None, heal)
    failures[:] = ["[DIVIDE_BY_ZERO]"]
    with pytest.raises(RuntimeError, match="DIVIDE"):
        run(None, apply)


CONFLICT_OF_DELTA = "[DELTA_CONCURRENT_{} Transaction conflict detected{} a concurrent {} data"


@pytest.mark.parametrize(
    ("error", "is_repeated"),
    [
        (("APPEND.WITH_PARTITION_HINT]", ".", "OPTIMIZE added"), True),
        (("DELETE_READ.WITHOUT_HINT]", ",", "REORG deleted"), True),
        (("APPEND.WITHOUT_HINT]", ".", "MERGE added"), False),
    ],
)
def test_on_delta_an_append_and_an_apply_are_repeated_if_their_files_were_rewritten(
    error: tuple[str, ...], *, is_repeated: bool
) -> None:
    found = CONFLICT_OF_DELTA.format(*error)
    trueup = in_model("files_changelog")
    append = str(trueup._append_batch_sql("s.files_changelog", "select 1", 7))
    apply = str(trueup._apply_updates_sql(a_collection(trueup, **TABLES), TAIL, "select 1"))
    heal = str(trueup._heal_sql(a_collection(trueup, **TABLES), [column("path", "string")], 1, [7]))

    assert may_be_repeated(append, found) is is_repeated
    assert may_be_repeated(apply, found) is is_repeated
    assert not may_be_repeated(heal, found)
    # If it loses again and again, the run looks for its batch and does not find it.
    assert may_be_skipped(append, found)


def test_a_statement_is_recognised_by_its_mark_alone() -> None:
    assert describe_lost_race("/* trueup: apply */ optimize s.mine", CONFLICT) == (
        "state moved: another run wrote to the table at the same moment; nothing is applied;"
        " run again"
    )
