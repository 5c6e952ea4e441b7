"""The verification and the healing of a state, and the arguments of the certificate test."""

from __future__ import annotations

import json
from types import SimpleNamespace

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
    ("verify", "batches"),
    [("always", [1, 2, 3, 4, 5, 6]), ("never", []), (1, [1, 2, 3, 4, 5, 6]), (3, [3, 6])],
)
def test_the_option_verify_chooses_the_batches_after_which_the_state_is_verified(
    verify: object, batches: list[int]
) -> None:
    trueup = in_model("files_corrections")

    assert [seq for seq in range(7) if trueup._is_verification_due(verify, seq)] == batches


@pytest.mark.parametrize(
    ("found", "applied_seq", "last_seq", "expected"),
    [
        ("there", 3, 3, "kept"),
        ("there", 2, 3, "kept"),
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
    position = SimpleNamespace(applied_seq=applied_seq, last_seq=last_seq)
    is_lost = in_model("files_corrections")._is_state_lost(found == "there", position)

    assert is_lost == (expected == "lost")


@pytest.mark.parametrize("found", ["lost", "kept"])
def test_a_batch_that_arrives_during_verification_stops_the_heal(found: str) -> None:
    answers = {"buckets": "[7]", "last_seq": 6}
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


def test_the_certificate_test_compiles_before_the_first_run() -> None:
    trueup = in_model("files_state", command="compile")

    sql = str(trueup.test_matches_certificate("lake.files_state", ["path"])).strip()
    assert sql == "select * from lake.files_state"


def test_the_certificate_test_sends_no_query_while_dbt_parses() -> None:
    trueup = in_model("files_state", execute=False)

    assert not str(trueup.test_matches_certificate("lake.files_state", ["path"])).strip()
    with pytest.raises(QueriedError):
        in_model("files_state").test_matches_certificate("lake.files_state", ["path"])


def test_the_option_verify_must_be_always_never_or_a_positive_integer() -> None:
    must, _, _ = refused(in_model("files_batch", options={"verify": "often"})._options)

    assert must.endswith("must be always, never, or a positive integer.")


def test_the_digest_does_not_depend_on_the_order_of_columns() -> None:
    trueup = in_model("files_state")

    assert trueup._digest_expr(["path"], COLUMNS) == trueup._digest_expr(["path"], COLUMNS[::-1])


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
