"""Late commands, open ticks, live views and compaction, without a warehouse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import (
    RELATIONS,
    STORED,
    Package,
    a_collection,
    column,
    in_model,
    node,
    one_line,
    refused,
)

CHANGELOG, STATE = RELATIONS[1], RELATIONS[3]
CONTENT = ["path", "size", "_error", "_error_key"]
POSITION = {"applied_seq": 7, "last_seq": 7}
TICKS = {"last_seq": 7, "upper": 9, "since": 4}
EAGER = {"eager": True, "late": "correct"}
GRAPH = {name: node(name, resource_type="model") for name in ("files_changelog", "files_state")}
TABLES = ("lake.files_changelog", "lake.files_state")
OFFSETS = dict.fromkeys(("path", "size", "_ts", "_order", "_partition", "_offset"), "bigint")


def test_provisional_updates_in_the_changelog_require_the_option_eager() -> None:
    plan = {
        "last_seq": 1,
        "lower": 5,
        "last_batch_id": "b1",
        "settled_before": 0,
        "null_ticks": 0,
        "last_tick": 9,
        "late_dropped": 0,
        "has_provisional": True,
        "begins_orders": False,
    }
    for options, is_refused in ((None, True), ({"eager": True}, False)):
        trueup = in_model("files_batch", options=options)
        call = (a_collection(trueup), plan)
        if not is_refused:
            trueup._require_settleable(*call)
            continue
        must, got, next_step = refused(trueup._require_settleable, *call)
        assert must == (
            "Option `eager` of files_batch must be true as long as the changelog has updates of"
            " open ticks."
        )
        assert got == "Got: false"
        assert "`eager: true` and --vars '{trueup_until: 5}'" in next_step


@pytest.mark.parametrize(
    ("options", "open_upper"),
    [
        ({}, "upper as open_upper"),
        ({"eager": True}, "greatest(upper, read_upper) as open_upper"),
        (
            {"eager": True, "max_commands_per_batch": 9},
            "coalesce(cut_upper, greatest(upper, read_upper)) as open_upper",
        ),
    ],
)
def test_an_eager_batch_reaches_the_end_of_the_log_unless_it_is_cut(
    options: dict[str, Any], open_upper: str
) -> None:
    trueup = in_model("files_batch", options=options, variables={"trueup_until": 340})
    progress = {"last_seq": 0, "lower": 0, "last_batch_id": None, "settled_before": None}
    sql = one_line(
        trueup._measured_log_select(RELATIONS[0], progress, settled=None, options=trueup._options())
    )

    assert f" {open_upper}," in sql
    assert "then least(log_upper, 340) end as read_upper" in sql


@pytest.mark.parametrize(
    ("changed", "is_idle"),
    [
        ({}, True),
        ({"upper": 6}, False),
        ({"correction_count": 1}, False),
        ({"open_upper": 6}, False),
        ({"has_provisional": True}, False),
        ({"late_dropped": 1}, True),
        ({"takes_late": True}, True),
        ({"takes_late": True, "late_dropped": 1}, False),
    ],
)
def test_a_run_is_idle_only_without_ticks_corrections_and_open_updates(
    changed: dict[str, object], *, is_idle: bool
) -> None:
    idle = {"lower": 5, "upper": 5, "open_upper": 5, "correction_count": 0}
    plan = {**idle, "has_provisional": False, "takes_late": False, "late_dropped": 0, **changed}

    assert in_model("files_batch")._is_idle(plan) is is_idle


def persisted(**options: object) -> str:
    trueup = in_model("files_batch", options=options)
    columns = [{"name": "size", "type": "bigint"}]
    return one_line(trueup._persisted_select(a_collection(trueup), columns, "low"))


def test_persisted_rows_exclude_the_provisional_updates_of_an_eager_batch() -> None:
    assert CHANGELOG not in persisted()
    sql = persisted(eager=True)
    assert "-_diff from lake.files_changelog" in sql
    assert "where _kind = 'update' and _cause is null and _ts >= low and _seq <= (select" in sql


def test_only_an_eager_batch_retracts_earlier_provisional_updates() -> None:
    for options, is_there in (({}, False), ({"eager": True}, True)):
        sql = one_line(in_model("files_batch", options=options).batch("files"))
        for part in ("new_and_negated as (", "staged_updates as (", "where _step = 1 or _ts <"):
            assert (part in sql) is is_there


def test_a_batch_takes_only_corrections_made_after_the_batch_before_it() -> None:
    trueup = in_model("files_batch")
    collection = a_collection(trueup, corrections="made")
    sql = one_line(trueup._pending_corrections_select(collection, STORED))
    plan = trueup._session_name("files", "plan")

    assert f"least(_ts, greatest({plan}.lower, {plan}.upper - 1)) as _ts, _cause, " in sql
    assert f"from made where _after_batch_id <=> {plan}.last_batch_id" in sql


def test_a_batch_without_its_table_of_corrections_is_refused() -> None:
    trueup = in_model("files_batch", options={"late": "correct"}, tables=TABLES)

    assert refused(trueup.materialization_trueup_batch_spark) == (
        "files_batch must be run after files_corrections has made lake.files_corrections.",
        "Got: no such table",
        "Run: dbt run -s files_corrections+",
    )


def test_the_causes_of_a_correction_are_tried_in_a_fixed_order() -> None:
    sql = one_line(in_model("files_corrections").corrections("files"))
    causes = ["error_fixed", "late_command", "code_change", "unknown"]
    places = [sql.index(f"'{cause}'") for cause in causes]

    assert places == sorted(places)


def test_only_a_partial_log_compares_the_ticks_of_desired_and_persisted_rows() -> None:
    for log, is_asked in (("complete", False), ("partial", True)):
        sql = one_line(in_model("files_corrections", options={"log": log}).corrections("files"))
        assert ("desired._ts >= coalesce(persisted._ts, desired._ts)" in sql) is is_asked


def test_late_correct_is_refused_for_a_log_without_ticks() -> None:
    trueup = in_model("files_batch", options={"late": "correct"})
    must, got, _ = refused(trueup._require_no_correction_of_offsets, trueup._options())

    assert must.endswith("must be drop, newest or fail where the log has no ticks (`reclock`).")
    assert got == "Got: correct"
    trueup._require_no_correction_of_offsets(in_model("files_batch")._options())


@pytest.mark.parametrize("takes_back", [False, True])
def test_a_tail_that_retracts_provisional_updates_is_applied_from_the_history(
    takes_back: bool,  # noqa: FBT001 - the answer of a query
) -> None:
    trueup = in_model("files_state", row={})
    tail = {"last_seq": 5, "applied_seq": 3, "takes_back": takes_back}
    given = (a_collection(trueup), tail)
    sql = one_line(trueup._ensure_net_updates(*given, model_select="select 1"))
    caught_up = one_line(trueup._ensure_net_updates(*given))

    assert sql == (caught_up if takes_back else "select 1")
    assert ("history as (" in caught_up) is takes_back


def test_a_tail_may_retract_if_a_batch_before_its_last_was_provisional() -> None:
    sql = one_line(in_model("files_state")._tail_select(CHANGELOG, STATE))

    assert "_statistics.open_upper > _upper as _leaves_open" in sql
    assert "exists(_open_seqs, _seq -> _seq >= applied_seq and _seq < last_seq)" in sql


def look_ahead(extras: tuple[str, ...] = (), **options: object) -> str:
    trueup = in_model("files_live", options=options)
    return one_line(trueup._live_select(a_collection(trueup, extras=extras), STORED))


def test_the_live_view_begins_at_the_upper_of_the_state_or_as_of() -> None:
    sql = look_ahead(as_of=-7)

    upper = "(select coalesce(max(_upper), -7) from lake.files_state where _kind = 'progress')"
    assert f"where _ts >= {upper} and _ts < cast(9223372036854775807 as bigint)" in sql


def test_a_live_row_without_open_commands_is_final_and_errors_are_hidden() -> None:
    sql = look_ahead()

    assert "count_if(_step <> 0) = 0 as _is_final" in sql
    assert "select `path`, _value.`size`, _is_final from looked_ahead where" in sql
    assert "_value is not null and _value._error is null and _error_key is null" in sql


def test_the_live_view_of_an_eager_collection_undoes_its_provisional_updates() -> None:
    assert CHANGELOG not in look_ahead()
    assert f"-_diff from {CHANGELOG}" in look_ahead(eager=True)


def test_the_live_view_is_refused_before_the_first_batch() -> None:
    live = in_model("files_live", tables=())
    must, _, next_step = refused(live.materialization_trueup_live_spark)
    assert must.startswith("files_live must be run after files_batch has made")
    assert next_step == "Run: dbt run -s files_batch+"


def test_the_live_view_of_a_log_without_ticks_reads_the_progress_rows() -> None:
    sql = look_ahead(extras=("_partition", "_offset"))

    assert f"left join {CHANGELOG} as progress on progress._kind = 'progress'" in sql
    assert "from commands_ahead where _ts >=" in sql
    assert "commands_ahead" not in look_ahead()


def compacting(row: dict[str, object] | None = None, **given: Any) -> Package:
    """Return the macros as an operation sees them. Every query has the same row as its answer."""
    given = {"graph": GRAPH, "tables": TABLES, **given}
    trueup = in_model("no model", row={**POSITION, **TICKS, **(row or {})}, **given)
    del trueup.context["model"]
    return trueup


@pytest.mark.parametrize("since", [10, "5", 5.0, True, None, [5]])
def test_since_must_be_a_settled_tick(since: object) -> None:
    must, got, _ = refused(compacting().compact, "files", since)

    assert must == (
        "`trueup.compact` argument `since` must be a settled tick, at most the upper 9 of"
        " lake.files_changelog."
    )
    assert got == f"Got: {since}"


@pytest.mark.parametrize("since", [4, 0, -1])
def test_since_must_be_after_the_last_compaction(since: int) -> None:
    assert refused(compacting().compact, "files", since)[0] == (
        "`trueup.compact` argument `since` must be after 4, up to which lake.files_changelog is"
        " compacted already."
    )


@pytest.mark.parametrize(("applied_seq", "got"), [(6, "Got: batch 6"), (None, "Got: batch null")])
def test_compaction_is_refused_until_the_state_has_applied_every_batch(
    applied_seq: int | None, got: str
) -> None:
    trueup = compacting({"applied_seq": applied_seq})

    assert refused(trueup.compact, "files", 9) == (
        "The state of `files` must be at batch 7, the last of its changelog.",
        got,
        "Apply it first: dbt run -s files_state.",
    )


def test_compaction_requires_the_name_of_one_collection_that_has_run() -> None:
    subject = "`trueup.compact` argument `collection` must be"
    must, got, _ = refused(compacting().compact, "orders", 5)
    assert must == f"{subject} the name of one collection."
    assert got == "Got: orders: 0 enabled models are named orders_changelog"

    twice = GRAPH | {"other": GRAPH["files_changelog"]}
    assert "2 enabled models" in refused(compacting(graph=twice).compact, "files", 5)[1]

    must, got, _ = refused(compacting(tables=()).compact, "files", 5)
    assert must == f"{subject} the name of a collection that has run."
    assert got == "Got: files, without the table lake.files_changelog"


def test_a_compaction_changes_only_older_updates_and_the_last_progress_row() -> None:
    columns = [*CONTENT, *in_model("files_state")._update_columns()]
    found = {"last_seq": 7, "last_batch_id": "b7", "since": None}
    sql = one_line(in_model("files_state")._compact_sql(CHANGELOG, columns, 5, found))

    assert "when changelog._kind in ('update', 'order') and changelog._ts < 5 then 'purge'" in sql
    assert (
        "when changelog._kind = 'progress' then concat('progress ', changelog._seq) end when" in sql
    )
    assert (
        "select concat('progress ', _seq) as _match, * from lake.files_changelog"
        " where _kind = 'progress' and _seq = (select max(_seq) from" in sql
    )
    assert (
        "update set _statistics.since = cast(5 as bigint), _statistics.seal.committed = xxhash64("
        in sql
    )
    # Another compaction or a rebase may have come since the last batch was looked up.
    assert "count_if(_seq = 7 and _batch_id = 'b7') = 1 and max(_statistics.since) <=> null" in sql
    row = "`path`, `size`, `_error`, `_error_key`"
    assert f"from past group by {row}, _ts" in sql
    assert f"from ticks group by {row} having sum(_diff) <> 0" in sql
    assert "when snapshot._diff = 1 then 1 else raise_error(" in sql


def test_a_column_that_history_adds_is_refused() -> None:
    trueup = in_model("files_history")
    trueup._require_no_version_columns([column("path"), column("valid")])
    must, got, _ = refused(trueup._require_no_version_columns, [column("Is_Current")])
    assert "valid_from, valid_to, is_current" in must
    assert got == "Got: Is_Current"
