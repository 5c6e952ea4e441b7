"""The statements of the materializations, rendered without a warehouse."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.macros.package import Package, in_model, refused

RELATIONS = ("lake.files_commands", "lake.files_changelog", "lake.files_batch", "lake.files_state")


def create(trueup: Package, **given: object) -> str:
    return " ".join(str(trueup.create_table_sql("lake.t", "select 1", **given)).split())


def properties(sql: str) -> dict[str, str]:
    return dict(re.findall(r"'([^']*)' = '([^']*)'", sql))


def frontier(options: dict[str, object] | None = None, **variables: object) -> str:
    trueup = in_model("files_batch", options=options, variables=variables)
    return " ".join(str(trueup.frontier_sql(*RELATIONS, trueup._options())).split())


@pytest.mark.parametrize("file_format", ["parquet", "Iceberg", "hudi", 7])
def test_a_table_format_without_merge_is_refused_with_those_that_have_it(
    file_format: object,
) -> None:
    must, got = refused(create, in_model("files_state", file_format=file_format))

    assert must == (
        "Config `file_format` of files_state must be a table format with MERGE: iceberg, delta."
    )
    assert got == f"Got: {file_format}"


@pytest.mark.parametrize("config", [{}, {"file_format": None}, {"file_format": "iceberg"}])
def test_the_table_format_is_iceberg_unless_the_config_says_otherwise(
    config: dict[str, Any],
) -> None:
    sql = create(in_model("files_state", **config))

    assert " using iceberg " in sql
    assert properties(sql)["format-version"] == "3"


def test_a_delta_table_has_deltas_own_properties() -> None:
    sql = create(in_model("files_state", file_format="delta"))

    assert " using delta " in sql
    assert properties(sql) == {"delta.enableDeletionVectors": "true"}


def test_table_properties_of_the_config_win_over_ours() -> None:
    given = {"write.merge.mode": "copy-on-write", "owner": "me"}
    found = properties(create(in_model("files_state", tblproperties=given)))

    assert found.items() >= given.items()
    assert found["write.delete.mode"] == "merge-on-read"


def test_a_table_that_is_there_is_kept_unless_it_is_to_be_replaced() -> None:
    trueup = in_model("files_state")

    assert create(trueup).startswith("create table if not exists lake.t ")
    assert create(trueup, replace=True).startswith("create or replace table lake.t ")


def test_a_table_is_partitioned_only_by_what_is_said() -> None:
    trueup = in_model("files_state")

    assert "partitioned by" not in create(trueup)
    assert " partitioned by (_kind) " in create(trueup, partition_by="_kind")


def test_the_first_batch_begins_at_as_of() -> None:
    assert "coalesce(max_by(_upper, _seq), 0) as lower" in frontier()
    assert "coalesce(max_by(_upper, _seq), -7) as lower" in frontier({"as_of": -7})


def test_the_upper_never_goes_back() -> None:
    assert "greatest(lower, least( coalesce(log_upper, lower), null )) as upper" in frontier()


def test_the_upper_is_capped_by_trueup_until() -> None:
    for until in (0, 340):
        assert f"coalesce(log_upper, lower), {until} )) as upper" in frontier(trueup_until=until)


def test_the_input_upper_takes_the_place_of_the_logs() -> None:
    sql = frontier({"input_upper": "log_upper - 1"})

    assert "then cast((log_upper - 1) as bigint)" in sql
    assert "Option `input_upper`" in sql


def test_a_bad_until_is_refused() -> None:
    refused(frontier, trueup_until="340")


def test_a_batch_is_cut_only_where_its_size_is_limited() -> None:
    assert "cut_upper" not in frontier()
    assert "coalesce((select cut_upper from cut), upper) as upper" in frontier(
        {"max_commands_per_batch": 500}
    )


def test_a_cut_is_after_the_last_tick_that_fits_and_never_before_the_first() -> None:
    sql = " ".join(str(in_model("files_batch").cut_at_a_tick(RELATIONS[0], 500)).split())

    assert (
        "case when max(command_count) > 500 then coalesce( "
        "max(_ts) filter (where command_count <= 500), min(_ts) ) + 1 end as cut_upper"
    ) in sql


def test_a_null_tick_is_refused() -> None:
    trueup = in_model("files_batch", row={"null_ticks": 3})

    must, got = refused(trueup.get_frontier, *RELATIONS, trueup._options())[:2]

    assert "argument `ts` must be not null for every command of lake.files_commands" in must
    assert "3" in got


TRUEUP = in_model("files_commands")
OWN = TRUEUP._own_columns()
LOG = {"path": "string", "a b": "map<string,int>", "op": "string"}
SHARD = [{"name": "path", "type": "string"}, {"name": "size", "type": "double"}]


def column(name: str, kind: str = "int") -> dict[str, str]:
    return {"name": name, "type": kind}


@pytest.mark.parametrize("own", OWN)
def test_a_column_that_begins_with_one_of_ours_is_refused(own: str) -> None:
    for name in (own, f"{own}_2", f"{own}x", own.upper()):
        must, got, next_step = refused(
            TRUEUP._require_user_columns, [column("path", "string"), column(name)]
        )

        assert must.startswith("`trueup.commands` in files_commands: a key or value column must be")
        assert "named other than trueup's own columns, which begin with _" in must
        assert got == f"Got: {name}"
        assert "Rename it" in next_step


def test_every_name_with_an_underscore_that_the_models_write_is_one_of_ours() -> None:
    batch = in_model("files_batch")
    sql = [
        batch.batch("files"),
        batch.input_view_sql("files", RELATIONS[0], ["path"], SHARD),
        in_model("files_changelog").changelog("files"),
        in_model("files_state").state("files"),
    ]
    written = set(re.findall(r"(?<![\w`])_\w+", re.sub(r"--.*", "", "".join(map(str, sql)))))

    assert {"_hash", "_prior", "_last", "_is_row", "_command_rank"} <= written
    assert [name for name in sorted(written) if not name.startswith(tuple(OWN))] == []


@pytest.mark.parametrize("name", ["ts", "is_row", "_", "_t", "__ts", "a_ts", "#", "Diff"])
def test_a_column_that_only_resembles_one_of_ours_is_fine(name: str) -> None:
    TRUEUP._require_user_columns([column(name)])


@pytest.mark.parametrize(
    "kind",
    [
        "map<string,int>",
        "array<map<string,int>>",
        "struct<a:map<int,int>>",
        "variant",
        "array<variant>",
        "struct<a:variant,b:int>",
        "struct<a:int,b:variant>",
        "struct<a:array<struct<b:variant>>>",
    ],
)
def test_a_column_that_cannot_be_compared_is_refused(kind: str) -> None:
    must, got, next_step = refused(TRUEUP._require_user_columns, [column("a b", kind)])

    assert "must be of a type that can be compared; maps and variants cannot" in must
    assert got == f"Got: a b {kind}"
    assert "to_json" in next_step


@pytest.mark.parametrize(
    "kind",
    [
        "struct<variant_id:int>",
        "struct<a:int,variant:string>",
        "struct<invariant:int,map:string>",
        "array<struct<map_id:int,variant_:array<int>>>",
        "binary",
        "decimal(10,2)",
    ],
)
def test_a_field_that_is_named_like_a_type_is_no_type(kind: str) -> None:
    TRUEUP._require_user_columns([column("a b", kind)])


def test_the_shard_has_the_users_columns_in_their_order() -> None:
    found = {"path": "string", "#": "array<double>", "a`b": "int", "_": "struct<_ts:int>"}
    trueup = in_model("files_batch", columns=found | dict.fromkeys(OWN, "string"))

    assert trueup.get_shard_columns(RELATIONS[0]) == [
        {"name": name, "type": kind} for name, kind in found.items()
    ]


def test_the_columns_of_the_changelog_are_the_same_in_any_order() -> None:
    in_model("files_batch")._require_same_columns(RELATIONS[0], SHARD[::-1], SHARD)


@pytest.mark.parametrize(
    "came",
    [
        [],
        SHARD[:1],
        [*SHARD, column("mode", "string")],
        [SHARD[0], column("size", "float")],
        [SHARD[0], column("length", "double")],
    ],
)
def test_changed_columns_are_refused_with_those_of_the_changelog(
    came: list[dict[str, str]],
) -> None:
    trueup = in_model("files_batch")

    must, got, next_step = refused(trueup._require_same_columns, RELATIONS[0], came, SHARD)

    assert must == (
        "The key and value columns of lake.files_commands must be those that its changelog was made"
        " with: path string, size double."
    )
    assert got == "Got: " + ", ".join(sorted(f"{one['name']} {one['type']}" for one in came))
    assert "trueup_rebase: true" in next_step


@pytest.mark.parametrize("key", [["path"], ["PATH", "a b"]])
def test_a_key_column_is_found_in_the_log_whatever_its_case(key: list[str]) -> None:
    in_model("files_commands", columns=LOG)._require_log_columns("select 1", key)


def test_a_key_column_that_the_log_does_not_have_is_refused_with_those_that_it_has() -> None:
    trueup = in_model("files_commands", columns=LOG)

    must, got = refused(trueup._require_log_columns, "select 1", ["path", "pth"])

    assert "each column of config `unique_key` must be a column of the log (path, a b, op)." in must
    assert got == "Got: pth"


def input_view(columns: list[dict[str, str]], unique_key: list[str]) -> str:
    trueup = in_model("files_batch")
    return " ".join(str(trueup.input_view_sql("files", RELATIONS[0], unique_key, columns)).split())


def test_an_input_takes_the_ticks_from_the_lower_to_before_the_upper() -> None:
    trueup = in_model("files_batch")
    sql = input_view(SHARD, ["path"])

    variable = trueup._session_name("files", "frontier")
    assert f"where _ts >= {variable}.lower and _ts < {variable}.upper" in sql
    view = trueup._session_name("files", "input")
    assert sql.startswith(f"create or replace temporary view {view} as")


def test_an_input_takes_columns_of_any_name() -> None:
    sql = input_view([column(name, "string") for name in ("a`b", "it's", "back\\slash")], ["a`b"])

    assert "case when _error_key is null then `a``b` end as `a``b`" in sql
    for literal, name in (("'it\\'s'", "`it's`"), ("'back\\\\slash'", "`back\\slash`")):
        assert f"case when _is_row then {name} end as {name}" in sql
        assert f"{literal}, {name}," in sql


def test_only_an_upsert_without_an_error_has_a_content() -> None:
    sql = input_view(SHARD, ["path"])

    assert "_op <> 'delete' and _error is null and _error_key is null as _is_row" in sql
    assert "case when _is_row then `size` + cast(0 as double) end as `size`" in sql
    assert "case when _op <> 'delete' then case when _error_key is null then _error" in sql


def test_the_hash_covers_the_content_and_nothing_else() -> None:
    sql = input_view([*SHARD, column("mode", "string")], ["path"])

    assert (
        "xxhash64( _op, _error, `size` is null, `size`, `mode` is null, `mode` ) as _hash"
        " from contents"
    ) in sql


@pytest.mark.parametrize("number", ["float", "double"])
def test_a_floating_point_column_has_one_form_for_both_zeros(number: str) -> None:
    expression = in_model("files_batch")._one_form_expr({"name": "a`b", "type": number})

    assert expression == f"`a``b` + cast(0 as {number})"


@pytest.mark.parametrize("other", ["string", "int", "decimal(10,2)", "array<double>", "date"])
def test_a_column_of_another_type_is_taken_as_it_is(other: str) -> None:
    assert in_model("files_batch")._one_form_expr({"name": "a", "type": other}) == "`a`"


def test_a_batch_id_is_that_of_the_invocation() -> None:
    trueup = in_model("files_batch")
    known = dict.fromkeys(("seq", "lower", "upper", "commands_settled", "records_indexed"), 1)
    sql = trueup.declare_frontier_sql("files", {**known, "late_dropped": None})

    assert "'batch_id', '1b5f'" in sql
    assert "'late_dropped', cast(null as bigint)" in sql


def test_an_append_is_refused_where_the_number_of_the_batch_is_taken() -> None:
    sql = in_model("files_changelog").append_batch_sql("lake.files_changelog", "select 1")

    assert "on shard._kind = 'progress'" in sql
    assert re.search(r"when matched then update set\s+_batch_id = raise_error\(", sql)


def test_an_apply_joins_every_column_of_the_identity_null_safe() -> None:
    sql = in_model("files_state").apply_updates_sql("lake.files_state", "select 1", ["a", "b"])

    for column in ("a", "b", "_error_key"):
        assert f"state.`{column}` <=> net.`{column}`" in sql


def test_a_tail_without_a_batch_leaves_the_progress_where_it_was() -> None:
    sql = in_model("files_state").consolidate_tail("lake.files_changelog", "`applied`", ["path"])

    assert "coalesce(max(_seq), `applied`) as _seq" in sql


@pytest.mark.parametrize("value", ["path", [], None, ["a", "A"]])
def test_a_data_test_of_the_key_takes_a_list_of_names(value: object) -> None:
    must, got = refused(in_model("t").test_one_live_row_per_key, "lake.files_changelog", value)

    assert must.startswith(
        "`trueup.one_live_row_per_key` argument `unique_key` must be a non-empty"
    )
    assert got == f"Got: {value}"
