"""The verification and the healing of a state, and the arguments of the certificate test."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros.package import (
    Package,
    QueriedError,
    RefusedError,
    a_collection,
    in_model,
    refused,
)

COLUMNS = [{"name": "path", "type": "string"}, {"name": "size", "type": "int"}]
STATE_COLUMNS = {"path": "string", "size": "int", "_error": "string", "_kind": "string"}
TYPES = {0: "string", 1: "int"}
CHANGELOG_COLUMNS = STATE_COLUMNS | {"_certificate": "array<struct<bucket:int>>"}


@pytest.mark.parametrize(
    ("verify", "scanned", "batches"),
    [
        ("content", 6, [6, 7]),
        ("always", None, [1, 2, 3, 4, 5, 6, 7]),
        ("always", 1, []),
        ("always", 99, [100, 101]),
        (1, 3, [4, 5]),
        (3, 1, [3, 4, 5]),
        (3, 3, [6, 7]),
    ],
)
def test_the_option_verify_chooses_the_batches_after_which_the_state_is_scanned(
    verify: object, scanned: int | None, batches: list[int]
) -> None:
    trueup = in_model("files_corrections")
    properties = {} if scanned is None else {"trueup.scanned_seq": str(scanned)}
    after = range(scanned or 1, batches[-1] + 1 if batches else 100)

    assert [seq for seq in after if trueup._is_scan_due(verify, properties, seq)] == batches


@pytest.mark.parametrize(
    ("operations", "state"),
    [
        ([], "edited"),
        (["overwrite"], "edited"),
        (["overwrite", "overwrite"], "untouched"),
        (["overwrite", "replace", "append"], "untouched"),
        (["overwrite", "overwrite", "delete"], "edited"),
        (None, "edited"),
    ],
)
def test_a_state_is_untouched_if_it_has_one_commit_for_each_batch(
    operations: list[str] | None, state: str
) -> None:
    ids = [str(number) for number in range(7, 8 + len(operations or []))]
    commits = zip(ids[1:], ids[:-1], operations or [], strict=True)
    answer = SimpleNamespace(
        rows=list(commits) if operations is not None else [("9", "8", "append")]
    )
    trueup = in_model("files_corrections", queries=lambda _: answer)
    snapshot = ids[-1] if operations is not None else "9"
    properties = {
        "format": "iceberg/parquet",
        "current-snapshot-id": snapshot,
        "trueup.scanned_snapshot": "7",
        "trueup.scanned_seq": "3",
        "trueup.scanned_at": "0",
    }

    is_untouched = trueup._get_is_untouched("lake.files_state", properties, snapshot, 5)
    assert is_untouched == (state == "untouched")
    for note in ("trusted", "none", "unverified", None):
        without = properties | {"trueup.scanned_snapshot": note}
        assert not trueup._get_is_untouched("lake.files_state", without, snapshot, 5)


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        # Somebody has replaced the table.
        ({}, "unverified"),
        ({"scanned_snapshot": "7"}, "verified"),
        ({"scanned_snapshot": "7", "forgotten": "a"}, "unverified"),
        ({"scanned_snapshot": "7", "forgotten": "a", "noted_after": "a"}, "verified"),
        ({"scanned_snapshot": "7", "forgotten": "b", "noted_after": "a"}, "unverified"),
        ({"scanned_snapshot": "trusted", "forgotten": "a", "noted_after": "a"}, "verified"),
        # Words of earlier versions.
        ({"scanned_snapshot": "none"}, "unverified"),
        ({"scanned_snapshot": "unverified"}, "unverified"),
    ],
)
def test_a_note_of_a_scan_counts_until_a_run_forgets_the_scans(
    note: dict[str, str], expected: str
) -> None:
    trueup = in_model("files_corrections")
    properties = {f"trueup.{name}": value for name, value in note.items()}

    assert trueup._is_unverified(properties) == (expected == "unverified")
    snapshot = note.get("scanned_snapshot") if expected == "verified" else None
    assert trueup._scanned_snapshot(properties) == (None if snapshot == "trusted" else snapshot)


@pytest.mark.parametrize(
    ("found", "applied_seq", "last_seq", "expected"),
    [
        ("there", 3, 3, "kept"),
        ("there", 2, 3, "kept"),
        ("there with two progress rows", 2, 3, "lost"),
        ("there", 1, 3, "lost"),
        ("there", None, 3, "lost"),
        ("missing", 0, 1, "lost"),
        ("missing", 0, 0, "kept"),
        ("there", 0, 1, "kept"),
        ("there", 9, 3, "kept"),
    ],
)
def test_a_state_is_lost_if_missing_without_progress_or_two_batches_behind(
    found: str, applied_seq: int | None, last_seq: int, expected: str
) -> None:
    tail = {"applied_seq": applied_seq, "last_seq": last_seq}
    answer = SimpleNamespace(rows=[["two" in found]])
    trueup = in_model("files_corrections", queries=lambda _: answer)
    is_lost = trueup._get_is_state_lost(a_collection(trueup), found == "missing", tail)

    assert is_lost == (expected == "lost")


@pytest.mark.parametrize(
    ("applied_seq", "applied_upper", "since", "expected"),
    [
        (2, 7, 7, "kept"),
        (2, 7, 8, "lost"),
        (2, 7, None, "kept"),
        (3, 7, 8, "kept"),
        # `first_batch: snapshot` begins with a compacted changelog.
        (0, None, 8, "kept"),
    ],
)
def test_a_state_is_lost_if_it_is_behind_a_compaction(
    applied_seq: int, applied_upper: int | None, since: int | None, expected: str
) -> None:
    tail = {
        "applied_seq": applied_seq,
        "last_seq": 3 if applied_seq else 1,
        "applied_upper": applied_upper,
        "since": since,
    }
    answer = SimpleNamespace(rows=[[False]])
    trueup = in_model("files_corrections", queries=lambda _: answer)
    is_lost = trueup._get_is_state_lost(a_collection(trueup), is_missing=False, tail=tail)

    assert is_lost == (expected == "lost")


@pytest.mark.parametrize("found", ["lost", "kept"])
def test_a_batch_that_arrives_during_verification_stops_the_heal(found: str) -> None:
    answers = {"buckets": "[7]", "last_seq": 6, "applied_seq": 6, "unsealed_seq": None}
    trueup = in_model("files_corrections", options={"verify": "always"}, row=answers)
    answering = Package(trueup.context | {"fromjson": json.loads})
    plan = {"last_seq": 5, "lower": 9, "is_state_lost": found == "lost"}

    with pytest.raises(RefusedError, match=r"state moved: batch 6 came while .* at batch 5;"):
        answering._ensure_healed(a_collection(answering), plan, COLUMNS)


def test_the_certificate_test_of_a_state_requires_its_changelog() -> None:
    trueup = in_model("files_state", columns=STATE_COLUMNS)

    must, got, _ = refused(trueup.test_matches_certificate, "lake.files_state", ["path"])

    assert must.startswith("`trueup.matches_certificate` argument `changelog` must be ")
    assert must.endswith("the changelog of the collection, such as ref('files_changelog').")
    assert got == "Got: None"


@pytest.mark.parametrize("unique_key", ["path", [], [" "], ["path", "PATH"]])
def test_the_certificate_test_requires_a_list_of_key_columns(unique_key: object) -> None:
    trueup = in_model("files_state", columns=STATE_COLUMNS)

    assert "argument `unique_key`" in refused(trueup.test_matches_certificate, "t", unique_key)[0]


def test_the_certificate_test_recognizes_the_kind_of_table_by_its_columns() -> None:
    trueup = in_model("files_state", columns=CHANGELOG_COLUMNS, row=TYPES)

    assert "progress_count" in str(trueup.test_matches_certificate("lake.c", ["path"]))
    for columns, is_state in ((STATE_COLUMNS, True), ({"path": "string", "size": "int"}, False)):
        trueup = in_model("files", columns=columns, row=TYPES)
        sql = str(trueup.test_matches_certificate("lake.t", ["path"], changelog="lake.c"))
        assert ("where not (_kind <=> 'progress')" in sql) == is_state


@pytest.mark.parametrize("unique_key", [["size"], ["path", "size"]])
def test_a_test_with_another_key_than_its_changelog_is_refused(unique_key: list[str]) -> None:
    """With another key each row would look like damage, or none."""
    trueup = in_model("files_changelog", columns=CHANGELOG_COLUMNS, row=TYPES, command="test")
    of_view = in_model("files", columns={"path": "string", "size": "int"}, row=TYPES)

    for call, *given in (
        (trueup.test_matches_certificate, "lake.c", unique_key),
        (trueup.test_one_live_row_per_key, "lake.c", unique_key),
        (of_view.test_matches_certificate, "lake.v", unique_key, "lake.c"),
    ):
        must, got, _ = refused(call, *given)
        assert must.endswith(
            "argument `unique_key` must be the key that lake.c was made with: `path`."
        )
        assert got == f"Got: {', '.join(f'`{name}`' for name in unique_key)}"


def test_the_key_of_a_test_may_have_another_case_and_sequence() -> None:
    properties = {"trueup.unique_key": "`K`, `d`"}
    trueup = in_model(
        "files_changelog", queries=lambda _: SimpleNamespace(rows=[*properties.items()])
    )

    trueup._require_key_of_test("one_live_row_per_key", ["D", "k"], "lake.c")
    for unknown in ({}, {"trueup.unique_key": "*********(redacted)"}):
        properties.clear()
        properties.update(unknown)
        trueup._require_key_of_test("one_live_row_per_key", ["x"], "lake.c")


@pytest.mark.parametrize(
    ("test", "given"),
    [
        ("matches_certificate", {"unique_key": ["path"]}),
        ("one_live_row_per_key", {"unique_key": ["path"]}),
        ("consolidates_to_state", {"state": "lake.files_state"}),
        ("has_monotone_frontier", {}),
    ],
)
def test_a_test_of_a_whole_table_refuses_a_where(test: str, given: dict[str, Any]) -> None:
    trueup = in_model("files_changelog", where="_ts > 100", columns=CHANGELOG_COLUMNS, row=TYPES)

    must, got, _ = refused(getattr(trueup, f"test_{test}"), "(select 1) t", **given)
    assert must.startswith(f"The test `trueup.{test}` must be without the config `where`")
    assert got == "Got: _ts > 100"


def test_the_certificate_test_compiles_before_the_first_run() -> None:
    trueup = in_model("files_state", command="compile")

    sql = str(trueup.test_matches_certificate("lake.files_state", ["path"])).strip()
    assert sql == "select * from lake.files_state"


def test_the_certificate_test_sends_no_query_while_dbt_parses() -> None:
    trueup = in_model("files_state", execute=False)

    assert not str(trueup.test_matches_certificate("lake.files_state", ["path"])).strip()
    with pytest.raises(QueriedError):
        in_model("files_state").test_matches_certificate("lake.files_state", ["path"])


def test_the_option_verify_must_be_always_content_never_or_a_positive_integer() -> None:
    must, _, _ = refused(in_model("files_batch", options={"verify": "often"})._options)

    assert must.endswith("must be always, content, never, or a positive integer.")


def test_the_digest_does_not_depend_on_the_order_of_columns() -> None:
    trueup = in_model("files_state")

    assert trueup._digest_expr(["path"], COLUMNS) == trueup._digest_expr(["path"], COLUMNS[::-1])


def test_the_digest_names_each_column_as_rarely_as_it_can() -> None:
    """Java interprets a method of more than 8,000 bytes. So the code for each command is short.

    Each hash and each length also tests for null. The key is hashed for its bucket, too.
    """
    digest = in_model("files_batch")._digest_expr(["path"], COLUMNS)
    assert digest.count("`size`") == 2 + 1
    assert digest.count("`path`") == 2 + 2 + 2


def test_the_digest_refuses_a_map_column() -> None:
    columns = [*COLUMNS, {"name": "more", "type": "map<string,int>"}]

    assert "Got: map<string,int>" in refused(
        in_model("files_state")._digest_expr, ["path"], columns
    )


def test_the_heal_statement_writes_columns_by_name() -> None:
    trueup = in_model("files_corrections")
    sql = str(trueup._heal_sql(a_collection(trueup), COLUMNS, 3, [1, 2]))

    assert "insert *" not in sql
    assert "insert (`path`, `size`, `_error`" in sql
