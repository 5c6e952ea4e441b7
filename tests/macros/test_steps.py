"""The input of the fold: the form of the commands, and all steps of their keys."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros.package import RELATIONS, STORED, a_collection, column, in_model, one_line

OWN = in_model("files_batch")._own_columns()
EXTRAS = ("_unchanged", "_old_key", "_partition", "_offset")
KEY = ["path", "_error_key"]
PLAN_OF_HEAL = {"last_seq": 1, "last_batch_id": "b1", "seq": 2, "lower": 3}
FOUND = {"last_seq": 2, "last_batch_id": "b2", "since": None}
"""What a compaction has found."""
ALONE = {"_id"}
"""Names that never stand in one relation with a user column."""


def select_input(
    columns: list[dict[str, str]] = STORED,
    unique_key: tuple[str, ...] = ("path",),
    extras: tuple[str, ...] = (),
    came: list[dict[str, str]] | None = None,
    **options: object,
) -> str:
    trueup = in_model("files_batch", options=options, unique_key=unique_key)
    return one_line(
        trueup._input_select(
            a_collection(trueup, command_columns=came or columns, extras=extras),
            columns,
            "low",
            "up",
            partitions="seen" if "_offset" in extras else None,
        )
    )


def test_the_input_has_the_ticks_from_the_lower_to_below_the_upper() -> None:
    assert "from lake.files_commands where _ts >= low and _ts < up )" in select_input()


def test_the_input_of_a_partition_ends_at_the_offset_of_the_progress_row() -> None:
    assert (
        "_ts < up and _offset < try_element_at(map_from_entries(transform(seen,"
        " each -> struct(each._partition, each.next_offset))), _partition) )"
    ) in select_input(extras=("_partition", "_offset"))


def test_the_input_accepts_column_names_with_quotes_and_backslashes() -> None:
    columns = [column(name, "string") for name in ("a`b", "it's", "back\\slash")]
    sql = select_input(columns, ("a`b",))

    assert "case when _error_key is null then `a``b` end as `a``b`" in sql
    for literal, name in (("'it\\'s'", "`it's`"), ("'back\\\\slash'", "`back\\slash`")):
        assert f"case when _is_row then {name} end as {name}" in sql
        assert f"{literal}, {name}," in sql


def test_a_column_that_the_commands_no_longer_have_is_null() -> None:
    sql = select_input(came=STORED[:1])

    assert "cast(null as double) as `size`" in sql
    assert "cast(null" not in select_input(came=[STORED[0], column("SIZE", "double")])


def test_only_an_upsert_without_an_error_has_values() -> None:
    sql = select_input()

    assert "_op = 'upsert' and _error is null and _error_key is null as _is_row" in sql
    assert "case when _is_row then `size` + cast(0 as double) end as `size`" in sql
    assert "case when _op = 'upsert' then case when _error_key is null then _error" in sql


def test_a_truncate_gets_its_own_error_key_and_a_flag() -> None:
    sql = select_input()

    assert "case when _op = 'truncate' then 'truncate' when startswith" in sql
    assert "_op = 'truncate' as _is_truncate," in sql


def test_the_hash_covers_the_content_regardless_of_column_order() -> None:
    columns = [*STORED, column("mode", "string")]
    content = (
        "if(contents.`_error` is null, null, xxhash64('_error')), contents.`_error`,"
        " if(contents.`mode` is null, null, xxhash64('mode')), contents.`mode`,"
        " if(contents.`size` is null, null, xxhash64('size')), contents.`size` + 0D"
    )

    for given in (columns, columns[::-1]):
        assert f"xxhash64( _op, {content} ) as _hash from contents" in select_input(given)
    sql = select_input(columns, extras=EXTRAS)
    assert "xxhash64('path')), contents._old_key.`path` ) as _hash, concat(" in sql
    assert "if(array_contains(_unchanged, 'size'), '1', '0')) as _unchanged) as _hash" in sql


@pytest.mark.parametrize(
    ("ties", "preferred"), [("prefer_delete", "delete"), ("prefer_upsert", "upsert")]
)
def test_a_tie_is_broken_by_the_operation_only_if_one_is_preferred(
    ties: str, preferred: str
) -> None:
    assert f"_op = '{preferred}' as _is_preferred," in select_input(ties=ties)
    assert "_is_preferred" not in select_input()


def test_unchanged_columns_must_be_value_columns_regardless_of_case() -> None:
    expression = one_line(
        in_model("files_batch")._known_names_expr([column("Size"), column("it's")], ["path"])
    )

    assert "when lower(name) in ('size', 'it\\'s') then lower(name)" in expression
    assert "raise_error(" in expression
    assert one_line(expression) in select_input(
        [STORED[0], column("Size"), column("it's")], extras=EXTRAS
    )


def test_an_old_key_has_the_types_of_the_key() -> None:
    columns = [column("a", "string"), column("b`", "double"), column("size")]
    sql = select_input(columns, ("a", "b`"), extras=EXTRAS)

    assert "cast(_old_key as struct<`a`: string, `b```: double>) as _old_key" in sql


def select_steps(
    extras: tuple[str, ...] = (),
    *,
    persisted: str | None = "persisted",
    corrections: str | None = None,
    has_truncates: bool = False,
    **options: object,
) -> str:
    trueup = in_model("files_batch", options=options)
    return one_line(
        trueup._steps_select(
            a_collection(trueup, extras=extras),
            "input",
            persisted,
            ["size", "it's"],
            has_truncates,
            corrections,
        )
    )


SOURCES = {
    "prior_and_given": {},
    "given": {"persisted": None},
    "steps_and_truncations": {"has_truncates": True},
    "filled": {"extras": ("_unchanged",), "has_truncates": True},
}


@pytest.mark.parametrize(
    ("source", "given"), [*SOURCES.items(), ("filled", {"extras": ("_unchanged", "_old_key")})]
)
def test_the_steps_end_with_the_cte_that_the_log_needs(source: str, given: dict[str, Any]) -> None:
    sql = select_steps(**given)
    made = re.findall(r"(?:with|,) (\w+) as \( (?:select|with recursive)", sql)

    assert made[-1] == source
    marks = ", _carrier, _missing, _old_key" if "_old_key" in given.get("extras", ()) else ""
    assert sql.endswith(
        f"select `path`, `_error_key`, _step, _ts, _cause, _order, _hash, _value{marks}"
        f" from {source}"
    )


def test_the_unchanged_value_is_compared_only_with_string_and_binary_columns() -> None:
    columns = [column("path", "string"), column("t", "string"), column("b", "binary"), column("n")]
    sql = select_input(columns, extras=("_unchanged", "_unchanged_value"))

    assert "case when `t` = _unchanged_value then 't' end" in sql
    assert "case when `b` = cast(_unchanged_value as binary) then 'b' end" in sql
    assert "`n` = " not in sql
    assert "`path` = " not in sql


def test_an_old_key_without_unchanged_columns_does_not_change_the_steps() -> None:
    assert select_steps(("_old_key",)) == select_steps()


def test_a_change_of_key_reads_the_value_of_the_old_key_too() -> None:
    touched = "select _old_key.*, null as _error_key from given where _old_key is not null"

    assert touched in select_steps(("_unchanged", "_old_key"))
    assert touched not in select_steps(("_unchanged",))


def test_a_batch_reads_every_key_only_if_it_has_a_truncate() -> None:
    semi_join = "left semi join touched on"

    assert semi_join in select_steps()
    assert semi_join not in select_steps(has_truncates=True)


def test_a_truncate_removes_only_rows_that_are_older_in_tick_and_order() -> None:
    sql = select_steps(has_truncates=True)

    assert "filter(_positions, _position -> _position > struct(_ts, _order))" in sql
    assert "max(_order) as _order from given where _is_truncate group by _ts" in sql


def test_an_unchanged_column_takes_its_last_known_value() -> None:
    sql = select_steps(("_unchanged",), ties="prefer_delete")

    assert (
        "last_value( case when not array_contains( coalesce(_unchanged, array()), 'it\\'s' )"
        " then struct(_value.`it's` as _value) end, true ) over (partition by `path`, `_error_key`,"
        " _segment order by _step, _ts, _order, _is_preferred, _hash, _value rows unbounded"
        " preceding) as _known_2"
    ) in sql


def test_a_partial_command_keeps_an_error_and_a_complete_one_starts_again() -> None:
    sql = select_steps(("_unchanged",))

    assert (
        "count_if( _value is null or _value._error is not null"
        " or coalesce(size(_unchanged), 0) <= 0 ) over ("
    ) in sql
    assert "when _first_value._error is not null then _first_value" in sql


def test_the_old_key_is_read_just_before_the_command_that_changes_it() -> None:
    sql = one_line(
        in_model("files_batch")._links_select("lake.kept", KEY, ["_order", "_hash", "_value"])
    )

    assert "case when _step = 2 and _hash is null then 0 else 2 end as _step_place" in sql
    assert "_old_key.*, null as _error_key, 2 as _step, _ts, 1 as _step_place" in sql
    assert "order by _step, _ts, _order, _step_place, _hash rows between" in sql


def test_a_view_resolves_chains_with_a_limit_of_a_million_levels() -> None:
    sql = one_line(
        in_model("files_live")._resolved_links_ctes(
            "filled", KEY, ["_order", "_hash", "_value"], ["size"]
        )
    )

    assert "with recursive chain max recursion level 1000000 as (" in sql


@pytest.mark.parametrize("number", ["float", "double"])
def test_a_floating_point_column_has_one_form_for_both_zeros(number: str) -> None:
    expression = in_model("files_batch")._one_form_expr({"name": "a`b", "type": number})

    assert expression == f"`a``b` + cast(0 as {number})"


@pytest.mark.parametrize("other", ["string", "int", "decimal(10,2)", "array<double>", "date"])
def test_a_column_of_another_type_is_not_converted(other: str) -> None:
    assert in_model("files_batch")._one_form_expr({"name": "a", "type": other}) == "`a`"


def test_a_subquery_keeps_the_line_breaks_in_a_column_name() -> None:
    trueup = in_model("files_batch")
    select = "select `a\r\nb`\nfrom lake.t"

    assert trueup._subquery(select) == f"({chr(10)}{select}{chr(10)})"
    assert select in trueup._digested_steps_select(select, ["path"], STORED)


def test_every_name_that_begins_with_an_underscore_is_reserved_by_trueup() -> None:
    options = {"eager": True, "ties": "prefer_delete", "errors": "fail", "late": "correct"}
    batch = in_model("files_batch", options=options)
    collection = a_collection(batch)
    changelog = RELATIONS[1]
    sql = [
        batch.batch("files"),
        select_input(extras=EXTRAS),
        select_steps(extras=EXTRAS, has_truncates=True, corrections="waiting"),
        batch._links_select("kept", KEY, ["_order", "_hash", "_value"]),
        batch._unknown_ctes(
            collection, "persisted", ["size"], list(EXTRAS[:2]), has_truncates=True
        ),
        batch._known_links_select("links", "kept", "persisted", KEY, ["size"]),
        batch._doubled_links_select("links", ["size"]),
        in_model("files_corrections").corrections("files"),
        in_model("files_changelog").changelog("files"),
        in_model("files_state", options=options).state("files"),
        batch._reclocked_commands_select(RELATIONS[0], 5, "settled"),
        batch._pending_corrections_select(collection, STORED),
        batch._compact_sql(changelog, ["path", *OWN], 3, FOUND),
        batch._external_edits_select(collection, PLAN_OF_HEAL, STORED, [7]),
        batch._retractions_select(RELATIONS[0], "1b5f", KEY),
    ]
    text = " ".join(map(one_line, sql))
    written = set(re.findall(r"(?<![\w`])_\w+", text)) - set(re.findall(r"(_\w+) ->", text))

    assert {"_hash", "_prior", "_last", "_is_row", "_command_rank"} <= written
    found = [name for name in sorted(written - ALONE) if not name.startswith(tuple(OWN))]
    assert found == []


@pytest.mark.parametrize(
    ("commands", "keys", "changes", "is_asked", "has_few"),
    [
        (20_000_000, 100_000, {}, True, True),
        (20_000_000, 5_000_000, {}, True, False),
        (1_000_000, 10, {}, False, False),
        # Without a snapshot of the log, two reads may differ. Without ticks there is one tick.
        (20_000_000, 10, {"is_log_pinned": False}, False, False),
        (20_000_000, 10, {"extras": ["_offset"]}, False, False),
    ],
)
def test_only_a_large_log_with_ticks_and_a_snapshot_is_asked_for_its_keys(
    commands: int, keys: int, changes: dict[str, Any], *, is_asked: bool, has_few: bool
) -> None:
    asked: list[str] = []

    def answer(query: str) -> object:
        asked.append(query)
        return SimpleNamespace(rows=[(keys,)])

    trueup = in_model("files_batch", queries=answer)
    collection = a_collection(trueup, extras=changes.get("extras", []))
    plan = {
        "takes_late": False,
        "commands_ahead": commands,
        "correction_count": 0,
        "is_log_pinned": changes.get("is_log_pinned", True),
    }
    assert trueup._get_has_few_keys(collection, "select 1", plan) is has_few
    assert bool(asked) is is_asked
