"""Maintenance without Spark: its statements, when it is due, and the arguments it refuses."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from tests.macros.package import RELATIONS, Relation, in_model, node, one_line, refused

STATE = Relation(None, "lake", "files_state")
GRAPH = {
    name: node(name, resource_type="model")
    for name in ("files_changelog", "files_state", "files_batch")
}
TIME = r"timestamp '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00'"


def steps(provider: str, relation: object = STATE, **keep: int) -> list[str]:
    detail = {"provider": provider, "catalog": "my-lake"}
    trueup = in_model("files_state")
    found = [
        trueup._rewrite_sql(relation, detail),
        *trueup._removal_sqls(relation, detail, trueup._maintenance_defaults() | keep),
    ]
    return [re.sub(TIME, "TIME", str(step)) for step in found]


def test_iceberg_files_are_rewritten_before_old_snapshots_and_files_are_removed() -> None:
    table = "table => 'lake.files_state'"
    lost = "options => map('partial-progress.enabled', 'true')"
    assert steps("iceberg") == [
        f"call `my-lake`.system.rewrite_data_files({table}, {lost})",
        f"call `my-lake`.system.expire_snapshots({table}, older_than => TIME, retain_last => 10)",
        f"call `my-lake`.system.remove_orphan_files({table}, older_than => TIME)",
    ]


@pytest.mark.parametrize(
    ("name", "says", "detail"),
    [
        ("Provider", "Iceberg", {"provider": "iceberg", "catalog": ""}),
        ("Name", "spark_catalog.lake.files_state", {"provider": "", "catalog": "spark_catalog"}),
    ],
)
def test_the_format_and_the_catalog_of_a_table_come_from_spark(
    name: str, says: str, detail: dict[str, str]
) -> None:
    row = {"col_name": name, "data_type": says}

    assert in_model("files_state", row=row)._get_table_detail(STATE) == detail


def test_a_quote_in_a_table_name_is_escaped() -> None:
    assert r"(table => 'lake.it\'s'" in steps("iceberg", Relation(None, "lake", "it's"))[0]


def test_delta_tables_are_vacuumed_with_deltas_own_retention() -> None:
    assert steps("delta") == ["optimize `lake`.`files_state`", "vacuum `lake`.`files_state`"]
    assert steps("delta", retain_hours=0)[1] == "vacuum `lake`.`files_state` retain 0 hours"


@pytest.mark.parametrize(
    ("hours", "idle", "setting", "must"),
    [
        (24, True, "false", "0 on Delta, or left out"),
        (0, False, "false", "given with `idle: true` on Delta"),
        (0, True, "<undefined>", "false for `retain_hours: 0`"),
    ],
)
def test_delta_takes_only_a_retention_of_0_and_only_while_nothing_runs(
    hours: int, *, idle: bool, setting: str, must: str
) -> None:
    trueup = in_model("files", queries=lambda _: SimpleNamespace(rows=[("", setting)]))
    assert must in refused(trueup._require_delta_retention, hours, idle=idle)[0]

    trueup = in_model("files", queries=lambda _: SimpleNamespace(rows=[("", "false")]))
    trueup._require_delta_retention(0, idle=True)


def test_each_format_has_its_own_query_for_the_size_of_a_table() -> None:
    trueup = in_model("files_state")

    assert trueup._table_figures_select(STATE, "delta") == "describe detail `lake`.`files_state`"
    sql = one_line(trueup._table_figures_select(STATE, "iceberg"))
    assert sql.endswith(
        "(select count(*) from lake.files_state.snapshots) as snapshots from lake.files_state.files"
    )


def test_the_maintenance_report_uses_the_same_words_for_both_formats() -> None:
    say = in_model("files_state")._maintenance_report
    iceberg = {"files": 14, "bytes": 184901, "delete_files": 7, "snapshots": 8}
    after = {"files": 1, "bytes": 2500, "delete_files": 0, "snapshots": 3}
    delta = {"format": "delta", "numFiles": 14, "sizeInBytes": 184901}

    assert say(iceberg, after) == [
        "files 14 -> 1",
        "bytes 184,901 -> 2,500",
        "delete files 7 -> 0",
        "snapshots 8 -> 3",
    ]
    assert say(delta, delta | {"numFiles": 1}) == ["files 14 -> 1", "bytes 184,901 -> 184,901"]


@pytest.mark.parametrize(
    ("every", "applied_seq", "last_seq", "is_due"),
    [
        ("never", 0, 50, False),
        ("always", 0, 1, True),
        (1, 0, 1, True),
        (50, 48, 49, False),
        (50, 49, 50, True),
        (50, 50, 51, False),
        (50, 48, 53, True),
        (50, 99, 100, True),
    ],
)
def test_maintenance_is_due_if_a_multiple_is_among_the_newly_applied_batches(
    every: object, applied_seq: int, last_seq: int, *, is_due: bool
) -> None:
    tail = {"applied_seq": applied_seq, "last_seq": last_seq}

    assert in_model("files_state")._is_maintenance_due(every, tail) is is_due


@pytest.mark.parametrize(
    ("name", "least"), [("retain_hours", 0), ("retain_last", 1), ("orphan_hours", 24)]
)
def test_a_number_must_be_an_integer_in_its_range(name: str, least: int) -> None:
    for value in (least - 1, 100_001, "24", 24.0, True):
        must, got, _ = refused(in_model("files").maintain, "files", **{name: value})

        assert must == (
            f"`trueup.maintain` argument `{name}` must be an integer from {least} to 100000."
        )
        assert got == f"Got: {value}"


@pytest.mark.parametrize("idle", ["true", 1, None])
def test_idle_must_be_true_or_false(idle: object) -> None:
    must, got, _ = refused(in_model("files").maintain, "files", idle=idle)

    assert must == "`trueup.maintain` argument `idle` must be true or false."
    assert got == f"Got: {idle}"


@pytest.mark.parametrize("tables", [(), RELATIONS[3:], RELATIONS[1:3]])
def test_a_collection_that_has_not_run_is_refused(tables: tuple[str, ...]) -> None:
    trueup = in_model("files", graph=GRAPH, tables=tables)

    must, got, _ = refused(trueup.maintain, "files")

    assert must == (
        "`trueup.maintain` argument `collection` must be the name of a collection that has run."
    )
    assert got.startswith("Got: files, without the table lake.files_")


def test_missing_tables_are_left_out() -> None:
    trueup = in_model("files", graph=GRAPH, tables=RELATIONS)
    assert [str(found) for found in trueup._get_replaced_tables("files")] == ["lake.files_batch"]
    trueup = in_model("files", graph=GRAPH, tables=())
    assert trueup._get_replaced_tables("files") == []
