"""Whose the columns are, and what becomes of the tables when they change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import RELATIONS, SHARD, QueriedError, column, in_model, refused

TRUEUP = in_model("files_commands")
OWN = TRUEUP._own_columns()
LOG = {"path": "string", "a b": "map<string,int>", "op": "string"}


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

    assert trueup._get_user_columns(RELATIONS[0]) == [
        {"name": name, "type": kind} for name, kind in found.items()
    ]


@pytest.mark.parametrize("key", [["path"], ["PATH", "a b"]])
def test_a_key_column_is_found_in_the_log_whatever_its_case(key: list[str]) -> None:
    in_model("files_commands", columns=LOG)._require_log_columns("select 1", key)


def test_a_key_column_that_the_log_does_not_have_is_refused_with_those_that_it_has() -> None:
    trueup = in_model("files_commands", columns=LOG)

    must, got = refused(trueup._require_log_columns, "select 1", ["path", "pth"])

    assert "each column of config `unique_key` must be a column of the log (path, a b, op)." in must
    assert got == "Got: pth"


@pytest.mark.parametrize(
    ("came", "changed"),
    [
        (SHARD[::-1], {}),
        (SHARD[:1], {"dropped": ["size"]}),
        ([*SHARD, column("mode", "string")], {"added": ["mode"]}),
        ([SHARD[0], column("SIZE", "double")], {}),
        ([SHARD[0], column("Size", "float")], {"changed": ["size"]}),
        ([SHARD[0], column("length", "double")], {"added": ["length"], "dropped": ["size"]}),
    ],
)
def test_columns_are_compared_by_name_whatever_their_order_and_case(
    came: list[dict[str, str]], changed: dict[str, list[str]]
) -> None:
    found = in_model("files_batch")._schema_changes(came, SHARD)

    assert {kind: [one["name"] for one in columns] for kind, columns in found.items()} == {
        kind: changed.get(kind, []) for kind in ("added", "dropped", "widened", "changed")
    }


def test_a_column_of_another_type_is_named_and_typed_as_the_table_has_it() -> None:
    old = [column("A", "int"), column("b", "int"), column("c", "smallint"), column("d", "date")]
    new = [column("a", "bigint"), column("B", "string"), column("c", "int"), column("d", "date")]
    found = in_model("files_batch")._schema_changes(new, old)

    assert found["widened"] == [{"name": "A", "type": "bigint", "old_type": "int"}]
    assert found["changed"] == [{"name": "b", "type": "string", "old_type": "int"}]


@pytest.mark.parametrize(
    ("old", "new", "is_wider"),
    [
        ("int", "bigint", True),
        ("smallint", "bigint", True),
        ("bigint", "int", False),
        ("float", "double", True),
        ("date", "timestamp", True),
        ("decimal(5,2)", "decimal(9,2)", True),
        ("decimal(5,2)", "decimal(9,3)", False),
        ("decimal(9,2)", "decimal(5,2)", False),
        ("int", "string", False),
    ],
)
def test_a_type_is_wider_if_it_holds_all_values_of_the_other_exactly(
    old: str,
    new: str,
    is_wider: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    assert in_model("files_batch")._is_wider(new, old) is is_wider


POLICIES = ("append_new_columns", "fail", "ignore")
TABLE = [*SHARD, column("count", "int")]


def evolvable(came: list[dict[str, str]], on_schema_change: str = "append_new_columns") -> None:
    trueup = in_model("files_batch", options={"on_schema_change": on_schema_change})
    changes = trueup._schema_changes(came, TABLE)
    trueup._require_evolvable(RELATIONS[1], changes, ["PATH"], trueup._options())


def typed(**types: str) -> list[dict[str, str]]:
    return [column(one["name"], types.get(one["name"], one["type"])) for one in TABLE]


@pytest.mark.parametrize("on_schema_change", POLICIES)
@pytest.mark.parametrize("name", ["size", "path", "count"])
def test_a_type_that_is_not_wider_is_refused_with_both_types(
    on_schema_change: str, name: str
) -> None:
    must, got, next_step = refused(evolvable, typed(**{name: "binary"}), on_schema_change)

    assert must.startswith(
        "Each key and value column of the commands must be of the type that it has in"
        " lake.files_changelog"
    )
    assert ("or of a wider one" in must) == (on_schema_change == "append_new_columns")
    old = {one["name"]: one["type"] for one in TABLE}
    assert got == f"Got: {name}, which was {old[name]} and is binary"
    assert "trueup_rebase: true" in next_step


def test_a_wider_type_is_taken_over_where_columns_are_appended_and_not_in_the_key() -> None:
    evolvable(typed(count="bigint"))
    for on_schema_change in POLICIES[1:]:
        _, got, _ = refused(evolvable, typed(count="bigint"), on_schema_change)
        assert got == "Got: count, which was int and is bigint"

    trueup = in_model("files_batch")
    changes = trueup._schema_changes(typed(count="bigint"), TABLE)
    _, got, _ = refused(
        trueup._require_evolvable, RELATIONS[1], changes, ["Count"], trueup._options()
    )
    assert got == "Got: count, which was int and is bigint"


def test_other_columns_are_refused_only_where_that_is_the_policy() -> None:
    came = [*TABLE[:2], column("mode", "string")]
    evolvable(came)
    evolvable(came, "ignore")

    must, got, _ = refused(evolvable, came, "fail")

    assert must == (
        "With option `on_schema_change: fail` the columns of the commands must be those of"
        " lake.files_changelog."
    )
    assert got == "Got: mode, which is new; count, which is missing"


MIDNIGHT = (
    "timestamp_micros(case when typeof(`%s`) = 'date' then unix_date(cast(`%s` as date)) *"
    " 86400000000 else unix_micros(cast(`%s` as timestamp)) end)"
)


ALTER = "/* trueup: alter */\nalter table t"


def midnight(name: str) -> str:
    return MIDNIGHT.replace("%s", name)


def test_a_date_is_widened_through_columns_that_have_the_run_in_their_name() -> None:
    made = {"name": "d`", "type": "timestamp", "old_type": "date"}

    add, fill, rename = in_model("files_batch")._begin_widening_sqls("t", made)

    assert add == f"{ALTER} add column `_widening_to_1b5f_d``` timestamp"
    moved = (
        "columns moved: another run changes the columns of t at the same moment; nothing is"
        " written, run again"
    )
    assert fill == (
        "/* trueup: widen */\nupdate t set `_widening_to_1b5f_d``` ="
        " case when typeof(`d```) = 'date' then"
        f" {midnight('d``')} else raise_error('{moved}') end"
        " where `d``` is not null or _kind = 'progress'"
    )
    assert rename == f"{ALTER} rename column `d``` to `_widening_from_1b5f_d```"


@pytest.mark.parametrize(("old", "new"), [("int", "bigint"), ("decimal(5,2)", "decimal(9,2)")])
def test_any_other_type_is_widened_in_place(old: str, new: str) -> None:
    made = {"name": "d`", "type": new, "old_type": old}

    assert in_model("files_batch")._begin_widening_sqls("t", made) == [
        f"{ALTER} alter column `d``` type {new}"
    ]


def asked(macro: str, *arguments: object, **given: Any) -> str:
    """The first statement that a macro asks the warehouse to run."""
    with pytest.raises(QueriedError) as stopped:
        getattr(in_model("files_batch", **given), macro)(*arguments)
    return str(stopped.value)


FOUND = {
    "nothing": ({"d": "date"}, []),
    "a helper": ({"d": "date", "_widening_to_1_d": "timestamp"}, ["drop `_widening_to_1_d`"]),
    "a helper of a column that is gone": (
        {"_widening_to_1_d": "timestamp"},
        ["drop `_widening_to_1_d`"],
    ),
    "an old column, and helpers of its run and of another": (
        {
            "_widening_to_2_d": "timestamp",
            "_widening_from_1_d": "date",
            "_widening_to_1_d": "timestamp",
        },
        ["rename `_widening_to_1_d` to `d`"],
    ),
    "an old column, and a helper of another run": (
        {"_widening_to_2_d": "timestamp", "_widening_from_1_d": "date"},
        ["rename `_widening_from_1_d` to `d`"],
    ),
    "a widened column that a late run has renamed": (
        {"_widening_from_2_d": "timestamp", "_widening_to_2_d": "timestamp"},
        ["rename `_widening_from_2_d` to `d`"],
    ),
    "a widened column, what it was made of, and a helper of another run": (
        {"_widening_to_2_d": "timestamp", "_widening_from_1_d": "date", "D": "timestamp"},
        [
            (
                f"/* trueup: widen */\nupdate t set `d` = {midnight('_widening_from_1_d')}"
                " where `_widening_from_1_d` is not null and `d` is null"
            ),
            "drop `_widening_from_1_d`",
            "drop `_widening_to_2_d`",
        ],
    ),
    "two columns": (
        {"_widening_from_1_d": "date", "e": "date", "_widening_to_1_e": "timestamp"},
        ["rename `_widening_from_1_d` to `d`", "drop `_widening_to_1_e`"],
    ),
}
"""Columns of a table, and what a run does next to settle the widenings that they show."""


@pytest.mark.parametrize(("columns", "expected"), FOUND.values(), ids=FOUND)
def test_a_widening_goes_on_from_what_the_columns_show(
    columns: dict[str, str], expected: list[str]
) -> None:
    found = in_model("files_batch")._next_widening_sqls(
        "t", [column(*one) for one in columns.items()]
    )

    assert [
        one.replace(f"{ALTER} ", "").replace("column if exists ", "").replace("column ", "")
        for one in found
    ] == expected


def changes(**found: object) -> dict[str, object]:
    return {"added": [], "widened": []} | found


def test_a_column_is_added_with_its_type_in_sql() -> None:
    added = [column("a`b", "array<struct<x y:int,z:decimal(5,2)>>")]

    assert asked("_ensure_table_columns", "t", changes(added=added)) == (
        f"{ALTER} add column `a``b` array<struct<`x y`:int,`z`:decimal(5,2)>>"
    )


@pytest.mark.parametrize(
    ("described", "written"),
    [
        ("int", "int"),
        ("decimal(5,2)", "decimal(5,2)"),
        ("array<array<string>>", "array<array<string>>"),
        ("struct<a:int,b:string>", "struct<`a`:int,`b`:string>"),
        (
            "struct<a b:struct<c-d.e:decimal(5,2),f(g):date>,h`i:array<struct<j:int>>>",
            "struct<`a b`:struct<`c-d.e`:decimal(5,2),`f(g)`:date>,`h``i`:array<struct<`j`:int>>>",
        ),
    ],
)
def test_the_fields_of_a_type_are_quoted(described: str, written: str) -> None:
    assert in_model("files_batch")._sql_type(described) == written


def test_a_type_that_spark_cuts_short_is_asked_for_in_full() -> None:
    cut = {"a": "int", "w`": "struct<f0:int,... 5 more fields>"}
    row: Any = {0: "struct<f0:int>"}

    assert in_model("files_batch", columns=cut, row=row)._get_columns("select 1") == [
        column("a", "int"),
        column("w`", "struct<f0:int>"),
    ]
    assert "select typeof(described.`w```)" in asked("_get_columns", "select 1", columns=cut)


def test_another_order_than_that_of_the_changelog_is_refused() -> None:
    in_model("files_batch", row={})._require_same_order(RELATIONS[1], "struct<_1:bigint>")

    trueup = in_model("files_batch", row={})
    must, got, next_step = refused(trueup._require_same_order, RELATIONS[1], "struct<_1:string>")

    assert must.endswith("of the types that lake.files_changelog was made with: struct<_1:bigint>.")
    assert got == "Got: struct<_1:string>"
    assert "trueup.order" in next_step


@pytest.mark.parametrize("name", ["path", "SIZE"])
def test_a_column_of_inline_errors_that_is_there_already_is_refused(name: str) -> None:
    must, got = refused(in_model("files_batch")._require_free_name, name, SHARD)

    assert must == (
        "Option `inline_errors` in `meta.trueup` of files_batch must be a name that no key or value"
        " column has (path, size)."
    )
    assert got == f"Got: {name}"


@pytest.mark.parametrize("name", [None, "error", "path2"])
def test_a_column_of_inline_errors_may_have_any_other_name(name: str | None) -> None:
    in_model("files_batch")._require_free_name(name, SHARD)
