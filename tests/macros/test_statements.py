"""The statements of the materializations, rendered without a warehouse."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.macros.package import (
    RELATIONS,
    ROOT,
    Package,
    Relation,
    a_collection,
    in_model,
    models,
    one_line,
    refused,
)
from tests.macros.package import (
    column as typed,
)

DECLARES = "macros/stage/plan_variable.sql"
PLAN = {
    "last_seq": 3,
    "applied_seq": 3,
    "staged_seq": None,
    "unsealed_seq": None,
    "format": 1,
    "lower": 0,
    "last_batch_id": "b3",
    "settled_before": 9,
    "null_ticks": 0,
    "last_tick": 9,
    "late_dropped": 0,
    "has_provisional": False,
    "last_position": None,
    "settled_definition": None,
    "commands_read": 9,
    "log_upper": 10,
}


def create(trueup: Package, **given: object) -> str:
    return " ".join(str(trueup._create_table_sql("lake.t", "select 1", **given)).split())


def properties(sql: str) -> dict[str, str]:
    return dict(re.findall(r"'([^']*)' = '([^']*)'", sql))


def progress(options: dict[str, object] | None = None) -> str:
    trueup = in_model("files_batch", options=options)
    return one_line(trueup._progress_select(a_collection(trueup), None))


def log(options: dict[str, object] | None = None, **variables: object) -> str:
    trueup = in_model("files_batch", options=options, variables=variables)
    return one_line(
        trueup._measured_log_select(RELATIONS[0], PLAN, settled=None, options=trueup._options())
    )


@pytest.mark.parametrize("file_format", ["parquet", "Iceberg", "hudi", 7])
def test_the_error_for_a_table_format_without_merge_lists_the_allowed_formats(
    file_format: object,
) -> None:
    must, got, _ = refused(create, in_model("files_state", file_format=file_format))

    assert must == (
        "Config `file_format` of files_state must be a table format with MERGE: iceberg, delta."
    )
    assert got == f"Got: {file_format}"


@pytest.mark.parametrize("config", [{}, {"file_format": None}, {"file_format": "iceberg"}])
def test_the_default_table_format_is_iceberg(
    config: dict[str, Any],
) -> None:
    sql = create(in_model("files_state", **config))

    assert " using iceberg " in sql
    assert properties(sql)["format-version"] == "3"


def test_a_delta_table_has_deltas_own_properties() -> None:
    sql = create(in_model("files_state", file_format="delta"))

    assert " using delta " in sql
    assert properties(sql) == {
        "delta.enableDeletionVectors": "true",
        "delta.isolationLevel": "Serializable",
    }


@pytest.mark.parametrize(
    ("file_format", "columns", "expected"),
    [
        ("iceberg", 30, []),
        ("iceberg", 100, [f"write.metadata.metrics.column.{n}" for n in ("_ts", "_kind", "_seq")]),
        ("delta", 10, []),
        ("delta", 30, ["delta.dataSkippingNumIndexedCols"]),
    ],
)
def test_a_wide_table_keeps_the_ranges_of_its_own_columns(
    file_format: str, columns: int, expected: list[str]
) -> None:
    trueup = in_model("files_state", file_format=file_format)
    values = [typed(f"v{number}", "int") for number in range(columns)]
    struct = [typed("v", f"struct<{','.join(f'f{n}:int' for n in range(columns))}>")]

    for given in (values, struct):
        assert list(trueup._range_properties(["k"], given)) == expected
    if file_format == "delta" and expected:
        # The key, the values, and the own columns up to `_seq`.
        assert trueup._range_properties(["k"], values)[expected[0]] > 1 + columns + 6


@pytest.mark.parametrize(
    "given",
    [
        {"write.merge.isolation-level": "snapshot"},
        {"write.delete.isolation-level": "snapshot"},
        {"write.update.isolation-level": "none"},
        {"delta.isolationLevel": "WriteSerializable"},
    ],
)
def test_a_table_property_that_weakens_the_isolation_level_is_refused(
    given: dict[str, str],
) -> None:
    must, got, next_step = refused(create, in_model("files_state", tblproperties=given))

    assert must.startswith("Config `tblproperties` of files_state must be with the isolation level")
    ((name, value),) = given.items()
    assert got == f"Got: {name} = {value}"
    assert next_step == "Leave the property out."


def test_a_user_cannot_set_a_table_property_of_trueup() -> None:
    given = {"trueup.unique_key": "`k`"}
    assert refused(create, in_model("files_state", tblproperties=given))[1] == (
        "Got: trueup.unique_key"
    )


def test_the_required_isolation_level_may_be_set_explicitly() -> None:
    given = {"write.merge.isolation-level": "SERIALIZABLE"}
    found = properties(create(in_model("files_state", tblproperties=given)))

    assert found.items() >= given.items()
    assert found["write.delete.isolation-level"] == "serializable"


def test_configured_table_properties_override_the_defaults() -> None:
    given = {"write.merge.mode": "copy-on-write", "owner": "me"}
    found = properties(create(in_model("files_state", tblproperties=given)))

    assert found.items() >= given.items()
    assert found["write.delete.mode"] == "merge-on-read"


def test_an_existing_table_is_kept_unless_replace_is_true() -> None:
    trueup = in_model("files_state")

    assert create(trueup).startswith("/* trueup: create */ create table if not exists lake.t ")
    assert " create or replace table lake.t " in create(trueup, replace=True)


def test_a_table_is_partitioned_only_by_the_given_column() -> None:
    trueup = in_model("files_state")

    assert "partitioned by" not in create(trueup)
    assert " partitioned by (_kind) " in create(trueup, partition_by="_kind")


def test_the_first_batch_begins_at_as_of() -> None:
    assert "coalesce(_last._upper, 0) as lower" in progress()
    assert "coalesce(_last._upper, -7) as lower" in progress({"as_of": -7})


def test_a_log_without_news_has_the_columns_of_a_measured_log() -> None:
    part = {"settled": {"commands": 9}, "commands_before": 9, "changelog": RELATIONS[1]}
    trueup = in_model("files_batch", options={"max_commands_per_batch": 5})
    sql = trueup._measured_log_select(
        RELATIONS[0], PLAN, settled=None, options=trueup._options(), part=part
    )
    columns = str(sql).rpartition("\nselect\n")[2].partition("\nfrom capped")[0]
    measured = trueup._measured_empty_part(PLAN, part)
    names = re.findall(r"^ {4}(?:\S.* )?(\w+),?$", columns, re.MULTILINE)
    assert set(names) - {"case"} == set(measured)
    assert (measured["commands_settled"], measured["late_dropped"]) == (9, 0)
    lost = trueup._measured_empty_part(PLAN, {**part, "commands_before": 8})
    assert lost["late_dropped"] is None


def test_without_as_of_the_first_batch_begins_at_0_or_a_smaller_tick() -> None:
    begins = "least(0, min(_ts)) as lower"
    given = {"progress": {**PLAN, "last_seq": 0}, "input_upper": None}

    def first(commands: str | None, options: dict[str, object], settled: str | None = None) -> str:
        trueup = in_model("files_batch", options=options)
        return one_line(
            trueup._measured_log_select(
                commands, settled=settled, options=trueup._options(), **given
            )
        )

    assert begins in first(RELATIONS[0], {})
    assert (
        "_ts >= cast(-9223372036854775808 as bigint)"
        in first(RELATIONS[0], {"max_commands_per_batch": 5}).partition("ticks as (")[2]
    )
    assert begins not in log()
    assert begins not in first(RELATIONS[0], {"as_of": 0})
    assert begins not in first(RELATIONS[0], {}, "settled")
    assert begins not in first(None, {})


def test_the_greatest_bigint_is_refused_as_a_tick() -> None:
    must, got, _ = refused(get_plan, last_tick=2**63 - 1)

    assert must.endswith(
        " must be below 9223372036854775807, the greatest bigint: a batch ends one after it."
    )
    assert got == "Got: a command with the tick 9223372036854775807"
    assert get_plan(last_tick=2**63 - 2)["last_tick"] == 2**63 - 2
    assert "try_add(max(_ts), 1) as log_upper" in log()


def test_the_upper_never_decreases() -> None:
    assert "greatest(lower, least(coalesce(log_upper, lower), null)) as upper" in log()


def test_the_upper_is_limited_by_trueup_until() -> None:
    for until in (0, 340):
        assert f"coalesce(log_upper, lower), {until})) as upper" in log(trueup_until=until)


def test_the_option_input_upper_replaces_the_upper_of_the_log() -> None:
    sql = log({"input_upper": "log_upper - 1"})

    assert "then cast((log_upper - 1) as bigint)" in sql
    assert "'Option `input_upper`', ' must be an integer or a timestamp." in sql


@pytest.mark.parametrize("until", ["340", 2**63, -(2**63) - 1])
def test_a_bad_trueup_until_is_refused(until: object) -> None:
    must, got, _ = refused(log, trueup_until=until)
    assert must == "Var `trueup_until` must be an integer, or null for no limit."
    assert got == f"Got: {until}"


def test_a_batch_is_cut_only_if_its_size_is_limited() -> None:
    assert "cut_upper" not in log()
    assert "commands_to_settle" not in log()
    assert "coalesce(cut_upper, upper) as upper" in log({"max_commands_per_batch": 500})


def test_a_cut_keeps_the_ticks_that_fit_and_at_least_the_first() -> None:
    sql = " ".join(str(in_model("files_batch")._cut_ctes(RELATIONS[0], 5, 500)).split())

    for column, end in (("_ts", " + 1 end as cut_upper"), ("command_count", " end as cut_count")):
        fits = f"max({column}) filter (where command_count <= 500), min({column}) )"
        assert f"case when max(command_count) > 500 then coalesce( {fits}{end}" in sql
    assert "coalesce(max(command_count), 0) as commands_to_settle from ticks" in sql


def get_plan(options: dict[str, object] | None = None, **row: object) -> dict[str, Any]:
    """Plan a run. The same row answers both queries, that of the tables and that of the log."""
    graph = {name: {**one, "raw_code": "select 1"} for name, one in models().items()}
    trueup = in_model(
        "files_batch", options=options, graph=graph, row={**PLAN, **row}, tables=RELATIONS
    )
    found: dict[str, Any] = trueup._ensure_plan(a_collection(trueup))
    return found


def test_a_plan_has_the_fields_that_were_read_and_those_of_the_run() -> None:
    plan = get_plan(lower=5)

    assert re.fullmatch("[0-9a-f]{32}", plan.pop("definition"))
    log = {
        "commands": Relation(None, "lake", "files_commands"),
        "position": None,
        "is_log_pinned": False,
        "whole_log_reason": (
            "the log is not an Iceberg table with rows or a Delta table,"
            " or the SQL of its commands has a window or a subquery"
        ),
    }
    newest = {"begins_orders": False, "takes_late": False, "tombstones": None}
    run = {"lower": 5, "tick": 5, "is_state_lost": False, "state_verified_by": None}
    assert plan == {**PLAN, **log, **newest, **run}


def test_a_null_tick_is_refused() -> None:
    must, got, _ = refused(get_plan, null_ticks=3)

    assert must == (
        "The tick (`ts`), or the partition and offset (`reclock`), of `trueup.commands` must be not"
        " null for every command of lake.files_commands."
    )
    assert got == "Got: 3 commands without one"


def test_with_late_fail_late_commands_stop_the_run_before_staging() -> None:
    must, got, next_step = refused(get_plan, {"late": "fail"}, lower=5, late_dropped=2)

    assert must == (
        "With option `late: fail` every command of lake.files_commands must be at tick 5 or later:"
        " all ticks before it are settled."
    )
    assert got == "Got: 2 commands of earlier ticks, which came late"
    assert next_step.startswith("Nothing is staged.")


@pytest.mark.parametrize(
    ("extras", "options", "reason", "what"),
    [
        (
            [],
            {"as_of": 3},
            "at tick 5 or later: all ticks before it are settled, or below the option `as_of` (3).",
            "earlier ticks, which came late",
        ),
        (
            ["_partition", "_offset"],
            {},
            "at an offset that no batch has settled.",
            "settled offsets",
        ),
    ],
)
def test_the_error_for_late_commands_says_why_they_are_late(
    extras: list[str], options: dict[str, object], reason: str, what: str
) -> None:
    trueup = in_model("files_batch", options={"late": "fail", **options})
    plan = {"lower": 5, "late_dropped": 2}

    must, got, _ = refused(trueup._raise_late_error, a_collection(trueup, extras=extras), plan)

    assert must.endswith(f"every command of lake.files_commands must be {reason}")
    assert got == f"Got: 2 commands of {what}"


@pytest.mark.parametrize(
    ("late", "late_dropped"), [("drop", 2), ("fail", 0), ("fail", None), ("correct", 2)]
)
def test_without_late_fail_or_without_late_commands_the_run_continues(
    late: str, late_dropped: int | None
) -> None:
    assert get_plan({"late": late}, late_dropped=late_dropped)["late_dropped"] == late_dropped


def test_a_rebase_requires_a_tick_or_an_offset_for_every_command() -> None:
    for extras in (["_partition", "_offset"], []):
        row = {"missing": 0, "last_tick": 9, "unarrived": 0, "truncates": 0}
        trueup = in_model("files_batch", row=row)
        trueup._require_ticks(a_collection(trueup, extras=extras))
        missing = in_model("files_batch", row=row | {"missing": 1})
        collection = a_collection(missing, extras=extras)
        assert refused(missing._require_ticks, collection)[1].startswith("Got: 1 ")


def test_the_batch_id_is_the_invocation_id() -> None:
    trueup = in_model("files_batch")
    names = re.findall(r"plan\.(\w+)", (ROOT / DECLARES).read_text())
    sql = trueup._plan_declaration(dict.fromkeys(names, 1) | {"late_dropped": None})

    assert "'batch_id', '1b5f'" in sql
    assert "'late_dropped', cast(null as bigint)" in sql


def test_an_append_fails_if_the_batch_number_is_taken() -> None:
    sql = in_model("files_changelog")._append_batch_sql("lake.files_changelog", "select 1", 7)

    assert "on changelog._kind = 'progress'" in sql
    assert re.search(r"when matched then update set\s+_batch_id = raise_error\(", sql)


def test_the_apply_statement_joins_every_identity_column_null_safe() -> None:
    trueup = in_model("files_state", unique_key=("a", "b"))
    tail = {"applied_seq": 6, "last_seq": 7}
    sql = trueup._apply_updates_sql(a_collection(trueup), tail, "select 1")

    for column in ("a", "b", "_error_key"):
        assert f"state.`{column}` <=> net.`{column}`" in sql


def test_an_empty_tail_does_not_change_the_progress() -> None:
    sql = in_model("files_state")._net_updates_select("lake.files_changelog", "`applied`", ["path"])

    assert "coalesce(max(_seq), `applied`) as _seq" in sql


@pytest.mark.parametrize("value", ["path", [], None, ["a", "A"]])
def test_one_live_row_per_key_requires_a_list_of_key_columns(value: object) -> None:
    must, got, _ = refused(in_model("t").test_one_live_row_per_key, "lake.files_changelog", value)

    assert must.startswith(
        "`trueup.one_live_row_per_key` argument `unique_key` must be a non-empty"
    )
    assert got == f"Got: {value}"


@pytest.mark.parametrize(
    ("count", "is_second", "compares_again"),
    [(0, False, "false"), (3, False, "true"), (3, True, "false")],
)
def test_after_a_comparison_with_corrections_the_next_run_compares_once_more(
    count: int, *, is_second: bool, compares_again: str
) -> None:
    statements: list[str] = []
    options = {"late": "correct", "compare": 50}
    trueup = in_model("files_corrections", options=options, queries=statements.append)
    scope = {"extent": "all", "is_second": is_second}

    trueup._ensure_comparison_noted(a_collection(trueup), scope, count, 51)

    (statement,) = statements
    assert "'trueup.compared_seq' = '51'" in statement
    assert f"'trueup.compares_again' = '{compares_again}'" in statement
