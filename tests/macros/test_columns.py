"""Whose the columns are, and what becomes of the tables when they change."""

from __future__ import annotations

import pytest

from tests.macros.package import RELATIONS, SHARD, column, in_model, refused

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

    assert trueup.get_shard_columns(RELATIONS[0]) == [
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
        ([SHARD[0], column("size", "float")], {"changed": ["size"]}),
        ([SHARD[0], column("length", "double")], {"added": ["length"], "dropped": ["size"]}),
    ],
)
def test_columns_are_compared_by_name_whatever_their_order_and_case(
    came: list[dict[str, str]], changed: dict[str, list[str]]
) -> None:
    found = in_model("files_batch").find_schema_changes(came, SHARD)

    for kind, columns in found.items():
        assert [one["name"] for one in columns] == changed.get(kind, []), kind


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


def evolvable(came: list[dict[str, str]], on_schema_change: str = "append_new_columns") -> None:
    trueup = in_model("files_batch", options={"on_schema_change": on_schema_change})
    changes = trueup.find_schema_changes(came, SHARD)
    trueup._require_evolvable(RELATIONS[1], changes, ["path"], trueup._options())


@pytest.mark.parametrize("on_schema_change", ["append_new_columns", "fail", "ignore"])
@pytest.mark.parametrize("name", ["size", "path"])
def test_a_type_that_is_not_wider_is_refused_with_both_types(
    on_schema_change: str, name: str
) -> None:
    came = [column(one["name"], "int" if one["name"] == name else one["type"]) for one in SHARD]

    must, got, next_step = refused(evolvable, came, on_schema_change)

    assert must.startswith(
        "Each key and value column of the commands must be of the type that it has in"
        " lake.files_changelog"
    )
    assert got.startswith(f"Got: {name}, which was ")
    assert got.endswith(" and is int")
    assert "trueup_rebase: true" in next_step


@pytest.mark.parametrize("came", [SHARD[:1], [*SHARD, column("mode", "string")]])
def test_other_columns_are_refused_only_where_that_is_the_policy(
    came: list[dict[str, str]],
) -> None:
    evolvable(came)
    evolvable(came, "ignore")

    must, got, _ = refused(evolvable, came, "fail")

    assert must.startswith("With option `on_schema_change: fail` the columns of the commands must")
    assert got in ("Got: size, which is missing", "Got: mode, which is new")


def test_a_date_is_widened_through_a_helper_column_from_wherever_a_run_was_killed() -> None:
    made = {"name": "d`", "type": "timestamp", "old_type": "date"}
    widen = in_model("files_batch").widen_column_sqls
    statements = widen("t", made, is_begun=False)

    assert statements == [
        "alter table t add column `_widening_d``` timestamp",
        (
            "update t set `_widening_d``` = cast(`d``` as timestamp)"
            " where `d``` is not null or _kind = 'progress'"
        ),
        "alter table t drop column `d```",
        "alter table t rename column `_widening_d``` to `d```",
    ]
    assert widen("t", made, is_begun=True) == statements[1:]


def test_another_order_than_that_of_the_changelog_is_refused() -> None:
    in_model("files_batch", row={}).require_same_order(RELATIONS[1], "struct<_1:bigint>")

    trueup = in_model("files_batch", row={})
    must, got, next_step = refused(trueup.require_same_order, RELATIONS[1], "struct<_1:string>")

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
