"""The names and types of columns, and the changes of columns that a table accepts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros.package import (
    RELATIONS,
    STORED,
    QueriedError,
    a_collection,
    column,
    in_model,
    refused,
)

TRUEUP = in_model("files_commands")
OWN = TRUEUP._own_columns()
LOG = {"path": "string", "a b": "map<string,int>", "op": "string"}


@pytest.mark.parametrize("own", OWN)
def test_a_user_column_that_begins_with_a_name_of_trueup_is_refused(own: str) -> None:
    for name in (own, f"{own}_2", f"{own}x", own.upper()):
        must, got, next_step = refused(
            TRUEUP._require_user_columns, [column("path", "string"), column(name)]
        )

        assert must.startswith("`trueup.commands` in files_commands: a key or value column must be")
        assert "named other than trueup's own columns, which begin with _" in must
        assert got == f"Got: {name}"
        assert "Rename it" in next_step


@pytest.mark.parametrize("name", ["ts", "is_row", "_", "_t", "__ts", "a_ts", "#", "Diff"])
def test_a_user_column_that_only_resembles_one_of_trueup_is_accepted(name: str) -> None:
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
def test_a_column_of_a_type_that_cannot_be_compared_is_refused(kind: str) -> None:
    must, got, next_step = refused(TRUEUP._require_user_columns, [column("a b", kind)])

    assert "must be of a type that can be compared; maps and variants cannot" in must
    assert got == f"Got: a b {kind}"
    assert "to_json" in next_step


@pytest.mark.parametrize(
    "kind", ["void", "array<void>", "struct<a:int,b:struct<c:void>>", "struct<a:b:int>"]
)
def test_a_column_without_a_type_is_refused_before_a_table_has_it(kind: str) -> None:
    changes = {"added": [column("gift", kind)], "changed": [], "widened": [], "dropped": []}
    must, got, next_step = refused(TRUEUP._require_evolvable, a_collection(TRUEUP), changes)

    assert must.startswith("A key or value column must be of one of the types array, bigint,")
    assert got == f"Got: gift {kind}"
    assert next_step.startswith("Cast it to one of them")
    ignoring = TRUEUP._options() | {"on_schema_change": "ignore"}
    TRUEUP._require_evolvable(a_collection(TRUEUP, options=ignoring), changes)


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
def test_a_field_whose_name_contains_a_type_name_is_accepted(kind: str) -> None:
    TRUEUP._require_user_columns([column("a b", kind)])


def test_the_user_columns_of_a_table_keep_their_order() -> None:
    found = {"path": "string", "#": "array<double>", "a`b": "int", "_": "struct<_ts:int>"}
    trueup = in_model("files_batch", columns=found | dict.fromkeys(OWN, "string"))

    assert trueup._get_user_columns(RELATIONS[0]) == [
        {"name": name, "type": kind} for name, kind in found.items()
    ]


@pytest.mark.parametrize("key", [["path"], ["PATH", "a b"]])
def test_the_search_for_a_key_column_in_the_log_ignores_case(key: list[str]) -> None:
    in_model("files_commands", columns=LOG)._require_log_columns("select 1", key)


def test_the_error_for_a_missing_key_column_lists_the_columns_of_the_log() -> None:
    trueup = in_model("files_commands", columns=LOG)

    must, got, _ = refused(trueup._require_log_columns, "select 1", ["path", "pth"])

    assert "each column of config `unique_key` must be a column of the log (path, a b, op)." in must
    assert got == "Got: pth"


@pytest.mark.parametrize(
    ("came", "changed"),
    [
        (STORED[::-1], {}),
        (STORED[:1], {"dropped": ["size"]}),
        ([*STORED, column("mode", "string")], {"added": ["mode"]}),
        ([STORED[0], column("SIZE", "double")], {}),
        ([STORED[0], column("Size", "float")], {"changed": ["size"]}),
        ([STORED[0], column("length", "double")], {"added": ["length"], "dropped": ["size"]}),
    ],
)
def test_columns_are_compared_by_name_regardless_of_order_and_case(
    came: list[dict[str, str]], changed: dict[str, list[str]]
) -> None:
    found = in_model("files_batch")._schema_changes(came, STORED)

    assert {kind: [one["name"] for one in columns] for kind, columns in found.items()} == {
        kind: changed.get(kind, []) for kind in ("added", "dropped", "widened", "changed")
    }


def test_a_table_on_delta_keeps_small_integers_and_widens_them() -> None:
    old, new = [column("a", "smallint")], [column("a", "int")]
    schema_changes = in_model("files_batch")._schema_changes

    assert schema_changes(new, old)["widened"] == [
        {"name": "a", "type": "int", "old_type": "smallint"}
    ]
    for same in (old, new):
        assert not any(schema_changes(old, same).values())


def test_a_changed_column_has_the_name_and_the_old_type_of_the_table() -> None:
    old = [column("A", "int"), column("b", "int"), column("c", "int"), column("d", "date")]
    new = [
        column("a", "bigint"),
        column("B", "string"),
        column("c", "tinyint"),
        column("d", "date"),
    ]
    found = in_model("files_batch")._schema_changes(new, old)

    assert found["widened"] == [{"name": "A", "type": "bigint", "old_type": "int"}]
    assert found["changed"] == [{"name": "b", "type": "string", "old_type": "int"}]


@pytest.mark.parametrize(
    ("old", "new", "is_wider"),
    [
        ("int", "bigint", True),
        ("smallint", "bigint", True),
        ("tinyint", "int", True),
        ("smallint", "tinyint", False),
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
TABLE = [*STORED, column("count", "int")]


def evolvable(came: list[dict[str, str]], on_schema_change: str = "append_new_columns") -> None:
    trueup = in_model("files_batch", options={"on_schema_change": on_schema_change})
    changes = trueup._schema_changes(came, TABLE)
    trueup._require_evolvable(a_collection(trueup, unique_key=["PATH"]), changes)


def typed(**types: str) -> list[dict[str, str]]:
    return [column(one["name"], types.get(one["name"], one["type"])) for one in TABLE]


@pytest.mark.parametrize("on_schema_change", POLICIES)
@pytest.mark.parametrize("name", ["size", "path", "count"])
def test_the_error_for_a_type_that_is_not_wider_names_both_types(
    on_schema_change: str, name: str
) -> None:
    must, got, next_step = refused(evolvable, typed(**{name: "binary"}), on_schema_change)

    assert must.startswith(
        "Each key and value column of files_commands must be of the type that it has in"
        " lake.files_changelog"
    )
    assert ("or of a wider one" in must) == (on_schema_change == "append_new_columns")
    old = {one["name"]: one["type"] for one in TABLE}
    assert got == f"Got: {name}, which was {old[name]} and is binary"
    assert "trueup_rebase" in next_step


def test_a_wider_type_needs_append_new_columns_and_a_value_column() -> None:
    evolvable(typed(count="bigint"))
    for on_schema_change in POLICIES[1:]:
        _, got, _ = refused(evolvable, typed(count="bigint"), on_schema_change)
        assert got == "Got: count, which was int and is bigint"

    trueup = in_model("files_batch")
    changes = trueup._schema_changes(typed(count="bigint"), TABLE)
    _, got, _ = refused(
        trueup._require_evolvable, a_collection(trueup, unique_key=["Count"]), changes
    )
    assert got == "Got: count, which was int and is bigint"


def test_new_and_missing_columns_are_refused_only_with_on_schema_change_fail() -> None:
    came = [*TABLE[:2], column("mode", "string")]
    evolvable(came)
    evolvable(came, "ignore")

    must, got, _ = refused(evolvable, came, "fail")

    assert must == (
        "With option `on_schema_change: fail` the columns of files_commands must be those of"
        " lake.files_changelog."
    )
    assert got == "Got: mode, which is new; count, which is missing"


MIDNIGHT = (
    "timestamp_micros(case when typeof(`%s`) = 'date' then unix_date(cast(`%s` as date)) *"
    " 86400000000 else unix_micros(cast(`%s` as timestamp_ltz)) end)"
)


ALTER = "/* trueup: alter */\nalter table t"


def midnight(name: str) -> str:
    return MIDNIGHT.replace("%s", name)


def test_a_date_is_widened_through_helper_columns_that_name_the_run() -> None:
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


def test_a_rebase_drops_nothing_if_a_column_has_no_type() -> None:
    statements: list[str] = []
    trueup = in_model("files_batch", queries=statements.append)
    columns = [column("path", "string"), column("note", "void")]
    must, got, _ = refused(
        trueup._ensure_dropped_for_rebase, a_collection(trueup, command_columns=columns)
    )
    assert must.startswith("A key or value column must be of one of the types ")
    assert got == "Got: note void"
    assert statements == []


@pytest.mark.parametrize("file_format", ["iceberg", "delta"])
def test_a_column_with_a_backquote_in_its_name_is_refused_on_delta(file_format: str) -> None:
    columns = [column("path", "string"), column("a`b", "int")]
    trueup = in_model("files_batch", file_format=file_format)
    if file_format == "iceberg":
        trueup._require_storable_columns(columns)
    else:
        must, got, _ = refused(trueup._require_storable_columns, columns)
        assert "named without a backquote" in must
        assert got == "Got: a`b"


@pytest.mark.parametrize("mode", [None, "none", "name", "id"])
def test_on_delta_a_date_is_widened_only_in_a_table_with_column_mapping(mode: str | None) -> None:
    properties = [("delta.minReaderVersion", "1")]
    properties += [("delta.columnMapping.mode", mode)] if mode else []
    trueup = in_model("files_batch", queries=lambda _: SimpleNamespace(rows=properties))
    if mode in ("name", "id"):
        trueup._require_widenable("lake.t", [widened("date", "timestamp")])
    else:
        must, _, next_step = refused(
            trueup._require_widenable, "lake.t", [widened("date", "timestamp")]
        )
        assert "'delta.columnMapping.mode' = 'name', because d was date and is timestamp" in must
        assert "cast the column back to date" in next_step


@pytest.mark.parametrize("value", [None, "false", "true"])
def test_on_delta_another_type_is_widened_only_in_a_table_that_allows_it(value: str | None) -> None:
    properties = [("delta.minReaderVersion", "1")]
    properties += [("delta.enableTypeWidening", value)] if value else []
    trueup = in_model("files_batch", queries=lambda _: SimpleNamespace(rows=properties))
    if value == "true":
        trueup._require_widenable("lake.t", [widened("int", "bigint")])
    else:
        must, _, _ = refused(trueup._require_widenable, "lake.t", [widened("int", "bigint")])
        assert "'delta.enableTypeWidening' = 'true', because d was int and is bigint" in must


def widened(old: str, new: str) -> dict[str, str]:
    return {"name": "d", "old_type": old, "type": new}


def test_a_live_view_casts_no_value_to_the_type_of_the_changelog() -> None:
    trueup = in_model("files_batch")
    came = a_collection(trueup, command_columns=typed(count="bigint"))
    must, got, next_step = refused(trueup._require_types_of_changelog, came, TABLE)
    assert must.startswith("Each column of files_commands must be of the type that it has in")
    assert got == "Got: count, which was int and is bigint"
    assert "dbt run -s files_commands+" in next_step
    trueup._require_types_of_changelog(a_collection(trueup, command_columns=TABLE), TABLE)


def test_a_field_with_the_name_of_a_type_keeps_its_name() -> None:
    stored = in_model("files_batch")._stored_type
    assert stored("struct<a:int,smallint:smallint>") == "struct<a:int,smallint:int>"
    assert stored("map<tinyint,array<smallint>>") == "map<int,array<int>>"
    assert stored("tinyint") == "int"


@pytest.mark.parametrize(
    ("kind", "term"),
    [
        ("string", "cast(`v` as string) as `v`"),
        ("struct<a:array<string>>", "cast(`v` as struct<`a`:array<string>>) as `v`"),
        ("int", "coalesce(`v`) as `v`"),
        ("string collate UTF8_LCASE", "coalesce(`v`) as `v`"),
    ],
)
def test_a_new_table_takes_no_length_of_a_varchar_and_no_default(kind: str, term: str) -> None:
    columns = [column("k", "int"), column("v", kind)]
    made = in_model("files_batch")._empty_changelog_select("source", ["k"], columns)
    assert term in made


@pytest.mark.parametrize(("old", "new"), [("int", "bigint"), ("decimal(5,2)", "decimal(9,2)")])
def test_any_other_type_is_widened_in_place(old: str, new: str) -> None:
    made = {"name": "d`", "type": new, "old_type": old}

    assert in_model("files_batch")._begin_widening_sqls("t", made) == [
        f"{ALTER} alter column `d``` type {new}"
    ]


def asked(macro: str, *arguments: object, **given: Any) -> str:
    """Return the first statement that a macro sends to the warehouse."""
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
"""Columns of a table, and the next statements of a run that finish the widenings there."""


@pytest.mark.parametrize(("columns", "expected"), FOUND.values(), ids=FOUND)
def test_a_run_continues_an_unfinished_widening_from_the_columns_it_finds(
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


def test_a_column_is_added_with_its_sql_type() -> None:
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
def test_the_field_names_of_a_type_are_quoted(described: str, written: str) -> None:
    assert in_model("files_batch")._sql_type(described) == written


def test_a_type_that_spark_shortens_is_queried_again_in_full() -> None:
    cut = {"a": "int", "w`": "struct<f0:int,... 5 more fields>"}
    row: Any = {0: "struct<f0:int>"}

    assert in_model("files_batch", columns=cut, row=row)._get_columns("select 1") == [
        column("a", "int"),
        column("w`", "struct<f0:int>"),
    ]
    assert "select typeof(described.`w```)" in asked("_get_columns", "select 1", columns=cut)


def test_the_order_must_have_the_types_that_the_changelog_was_made_with() -> None:
    trueup = in_model("files_batch")
    require = trueup._require_same_order
    made = a_collection(trueup, changelog=RELATIONS[1], order_type="struct<_1:bigint>")
    properties = {"trueup.order": "struct<_1:bigint>"}
    require(made, properties)

    given = {**made, "order_type": "struct<_1:string>"}
    must, got, next_step = refused(require, given, properties)

    assert must.endswith("of the types that lake.files_changelog was made with: struct<_1:bigint>.")
    assert got == "Got: struct<_1:string>"
    assert (
        "set tblproperties ('trueup.order' = 'struct<_1:string>', 'trueup.order_md5' =" in next_step
    )
    # Without ticks, all orders of a key are compared, so none may be of another type.
    newest = {**given, "extras": ("_offset",), "options": {**made["options"], "late": "newest"}}
    assert "trueup_rebase" in refused(require, newest, properties)[2]
    must, _, next_step = refused(require, given, {})
    assert must.endswith("lake.files_changelog must be one with the property `trueup.order`.")
    assert (
        "set tblproperties ('trueup.order' = 'struct<_1:string>', 'trueup.order_md5' =" in next_step
    )


def test_a_key_that_spark_hides_is_compared_by_its_hash() -> None:
    """Spark shows no property that looks like a URL or a secret, such as the key `url`."""
    trueup = in_model("files_batch")
    made = {**a_collection(trueup, changelog=RELATIONS[1]), "unique_key": ["url"]}
    hidden = trueup._made_with_properties("trueup.unique_key", "`url`") | {
        "trueup.unique_key": "*********(redacted)"
    }
    trueup._require_same_key(made, hidden)
    _, got, _ = refused(trueup._require_same_key, {**made, "unique_key": ["token"]}, hidden)
    assert got == "Got: `token`"
    # Spark may be set to hide more.
    for found in (
        {"trueup.unique_key": "***(redacted)"},
        {**hidden, "trueup.unique_key_md5": "*(redacted)"},
    ):
        _, got, next_step = refused(trueup._require_same_key, made, found)
        assert "a property that Spark hides" in got
        assert "rebase" not in next_step
    # A table of an earlier version has only the text.
    trueup._require_same_key(made, {"trueup.unique_key": "`url`"})
    must, got, _ = refused(trueup._require_same_key, made, {"trueup.unique_key": "`id`"})
    assert must.endswith("must be the key that lake.files_changelog was made with: `id`.")
    assert got == "Got: `url`"


@pytest.mark.parametrize("name", ["path", "SIZE"])
def test_inline_errors_must_not_be_the_name_of_an_existing_column(name: str) -> None:
    must, got, _ = refused(in_model("files_batch")._require_free_name, name, STORED)

    assert must == (
        "Option `inline_errors` in `meta.trueup` of files_batch must be a name that no key or value"
        " column has (path, size)."
    )
    assert got == f"Got: {name}"


@pytest.mark.parametrize("name", ["_kind", "_Certificate"])
def test_inline_errors_must_not_make_a_state_or_a_changelog_of_the_view(name: str) -> None:
    must, got, _ = refused(in_model("files_batch")._require_free_name, name, STORED)

    assert must.endswith(
        " must be a name other than _kind and _certificate, which only a state or a changelog has."
    )
    assert got == f"Got: {name}"


@pytest.mark.parametrize("name", [None, "error", "_error", "path2"])
def test_inline_errors_may_be_any_other_name_or_none(name: str | None) -> None:
    in_model("files_batch")._require_free_name(name, STORED)
