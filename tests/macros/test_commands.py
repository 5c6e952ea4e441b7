"""What `trueup.commands` renders and refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import Package, in_model, one_line, refused

NAMES = "a non-empty list of non-empty strings, none twice."
LISTS = {
    "sequence_by": "a non-empty list of non-empty strings.",
    "columns": NAMES,
    "except_columns": NAMES,
    "reclock": NAMES,
    "keys": NAMES,
}
EXPRESSIONS = ("ts", "delete_when", "truncate_when", "error", "error_key", "unchanged", "old_key")
ALIASES = {
    "apply_as_deletes": "delete_when",
    "apply_as_truncates": "truncate_when",
    "column_list": "columns",
    "except_column_list": "except_columns",
}
LOG: dict[str, Any] = {"relation": "lake.log"}
VALUES_AS_JSON = (
    "from_json( to_json(struct({}), map('ignoreNullFields', 'false')), 'map<string, string>' )"
)


def render(trueup: Package | None = None, **changed: object) -> str:
    given: dict[str, Any] = LOG | {"ts": "tick", "sequence_by": ["line"]}
    return str((trueup or in_model("files_commands")).commands(**given | changed))


def unchanged(**given: Any) -> str:
    """Give the expression of `_unchanged`."""
    sql = one_line(render(**given))
    return sql.partition(" as _error_key, ")[2].removesuffix(" as _unchanged from log")


@pytest.mark.parametrize("argument", LISTS)
@pytest.mark.parametrize(
    "value", [[], {"a": 1}, 7, ["a", ""], ["a", " "], ["a", None], [1], [["a"]]]
)
def test_anything_but_a_list_of_strings_is_refused(argument: str, value: object) -> None:
    must, got = refused(render, **{argument: value})

    assert must == f"`trueup.commands` argument `{argument}` must be {LISTS[argument]}"
    assert got == f"Got: {value}"


@pytest.mark.parametrize("argument", ["columns", "except_columns", "reclock"])
def test_a_name_is_no_list_of_columns(argument: str) -> None:
    must, got = refused(render, **{argument: "a"})

    assert must == f"`trueup.commands` argument `{argument}` must be {NAMES}"
    assert got == "Got: a"


@pytest.mark.parametrize("argument", ["columns", "except_columns", "keys", "ignore_null_updates"])
@pytest.mark.parametrize("columns", [["a", "a"], ["a", "A"]])
def test_a_column_that_is_named_twice_is_refused_whatever_its_case(
    argument: str, columns: list[str]
) -> None:
    must, got = refused(render, **{argument: columns})

    assert must == f"`trueup.commands` argument `{argument}` must be {NAMES}"
    assert got == f"Got: {columns}"


def test_terms_of_the_order_may_differ_in_case_only() -> None:
    sql = one_line(render(sequence_by=["payload:a", "payload:A"]))

    assert "named_struct( '_1', payload:a, '_2', payload:A ) as _order" in sql


@pytest.mark.parametrize("relation", [None, "", "  "])
def test_a_log_that_is_no_relation_is_refused(relation: object) -> None:
    must, got = refused(render, relation=relation)

    assert must == "`trueup.commands` argument `relation` must be a relation."
    assert got == f"Got: {relation}"


@pytest.mark.parametrize("name", ["path", "PATH", "a`b"])
def test_a_key_column_among_the_columns_comes_first_in_any_case(name: str) -> None:
    trueup = in_model("files_commands", unique_key=["Path", "a`b"])

    sql = one_line(render(trueup, columns=["mode", name]))

    assert "select `Path`, `a``b`, `mode`, case when typeof(tick)" in sql


def test_columns_of_the_key_alone_are_refused() -> None:
    must, got = refused(render, columns=["PATH"])

    assert must == "`trueup.commands` argument `columns` must be more than key columns."
    assert got == "Got: ['PATH']"


def test_the_key_cannot_be_left_out() -> None:
    must, got = refused(render, except_columns=["mode", "PATH"])

    assert must == "`trueup.commands` argument `except_columns` must be free of key columns."
    assert got == "Got: ['mode', 'PATH']"


def test_columns_are_either_named_or_left_out() -> None:
    must, got = refused(render, columns=["mode"], except_columns=["blob"])

    assert must == (
        "`trueup.commands` argument `columns` must be left out where `except_columns` is given."
    )
    assert got == "Got: ['mode']"


@pytest.mark.parametrize("argument", EXPRESSIONS)
@pytest.mark.parametrize("value", ["", "  ", 7, True, ["a"]])
def test_anything_but_an_expression_is_refused(argument: str, value: object) -> None:
    must, got = refused(render, **{argument: value})

    assert must == f"`trueup.commands` argument `{argument}` must be an SQL expression."
    assert got == f"Got: {value}"


@pytest.mark.parametrize("value", [7, True, ["a"], {"a": 1}])
def test_a_marker_that_is_no_text_is_refused(value: object) -> None:
    must, got = refused(render, unchanged_value=value)

    assert must == "`trueup.commands` argument `unchanged_value` must be a text."
    assert got == f"Got: {value}"


@pytest.mark.parametrize("ts", ["tick", None])
def test_the_order_has_no_default(ts: str | None) -> None:
    must, got = refused(render, ts=ts, sequence_by=None)

    assert must == f"`trueup.commands` argument `sequence_by` must be {LISTS['sequence_by']}"
    assert got == "Got: None"


def test_arguments_are_refused_already_while_dbt_parses() -> None:
    parsing = in_model("files_commands", execute=False)

    for argument, value in {"columns": "blob", "keys": [], "column_list": [1]}.items():
        refused(render, parsing, **{argument: value})


def tick_and_order(**given: object) -> dict[str, Any]:
    nothing: dict[str, object] = {"ts": None, "sequence_by": None, "reclock": None}
    found: dict[str, Any] = in_model("files_commands")._tick_and_order(**nothing | given)
    return found


def test_one_expression_is_an_order_of_one() -> None:
    assert tick_and_order(ts="t", sequence_by="a, b")["sequence_by"] == ["a, b"]


def test_without_a_tick_it_is_the_first_of_the_sequence() -> None:
    found = tick_and_order(sequence_by=["lsn", "line"])

    assert (found["ts"], found["sequence_by"]) == ("lsn", ["lsn", "line"])
    assert "'Without `ts` the first expression of `sequence_by`'" in render(ts=None)


def test_with_reclock_the_batch_gives_the_tick_and_the_offset_is_the_order() -> None:
    found = tick_and_order(reclock=["part`", "off set"])

    assert (found["ts"], found["sequence_by"]) == (None, ["`off set`", "`part```"])


def test_with_reclock_a_sequence_is_still_the_order() -> None:
    assert tick_and_order(reclock=["p", "o"], sequence_by="lsn")["sequence_by"] == ["lsn"]
    refused(tick_and_order, reclock=["p", "o"], sequence_by=[])


@pytest.mark.parametrize("reclock", [["o"], ["p", "o", "q"]])
def test_a_reclock_that_is_no_pair_is_refused(reclock: list[str]) -> None:
    must, got = refused(render, ts=None, reclock=reclock)

    assert must == (
        "`trueup.commands` argument `reclock` must be two columns, the partition and the offset"
        " in it."
    )
    assert got == f"Got: {reclock}"


def test_a_tick_beside_reclock_is_refused() -> None:
    must, got = refused(render, reclock=["p", "o"])

    assert must == "`trueup.commands` argument `ts` must be left out where `reclock` is given."
    assert got == "Got: tick"


def test_with_reclock_the_commands_have_no_tick_but_a_place_in_the_log() -> None:
    sql = one_line(render(ts=None, sequence_by=None, reclock=["p`", "o"]))

    assert "cast(null as bigint) as _ts, named_struct( '_1', `o`, '_2', `p``` ) as _order" in sql
    assert "cast(`p``` as string) as _partition, case when typeof(`o`) in ('tinyint'," in sql
    assert sql.endswith(
        "must end with a column of integers, the offset.\\nGot: ', 'o', ' of type ', typeof(`o`) ))"
        " end as _offset from log"
    )


@pytest.mark.parametrize(("alias", "argument"), ALIASES.items())
def test_a_name_of_auto_cdc_is_another_name_of_the_argument(alias: str, argument: str) -> None:
    value: Any = "op = 'D'" if argument.endswith("_when") else ["mode", "blob"]

    assert render(**{alias: value}) == render(**{argument: value})


@pytest.mark.parametrize(("alias", "argument"), ALIASES.items())
def test_a_name_of_auto_cdc_beside_the_argument_is_refused(alias: str, argument: str) -> None:
    must, got = refused(render, **{alias: ["a"], argument: ["a"]})

    assert must == (
        f"`trueup.commands` argument `{alias}` must be left out where `{argument}` is given."
    )
    assert got == "Got: ['a']"


def test_a_value_that_is_false_is_given() -> None:
    either = in_model("files_commands")._given_value

    assert either("columns", None, "column_list", []) == []
    refused(either, "columns", [], "column_list", [])


@pytest.mark.parametrize("keys", ["path", ["a", "b"]])
def test_keys_are_the_key_of_the_collection(keys: object) -> None:
    trueup = in_model("files_commands")
    render(trueup, keys=keys)

    assert trueup.context["config"].set_by_model["unique_key"] == keys


def test_a_key_that_is_no_name_is_refused() -> None:
    assert refused(render, keys=" ")[1] == "Got: [' ']"


def test_a_missing_key_is_refused() -> None:
    refused(render, in_model("files_commands", unique_key=None))


def test_with_columns_the_values_are_exactly_these_in_their_order() -> None:
    sql = one_line(render(columns=["mode", "two `words`"]))

    assert "select `path`, `mode`, `two ``words```, case when typeof(tick)" in sql


def test_without_columns_the_values_are_all_of_the_log_but_the_key() -> None:
    trueup = in_model("files_commands", unique_key=["a", "b`"])

    assert "select `a`, `b```, * except (`a`, `b```), case" in one_line(render(trueup))


def test_the_order_has_a_field_for_each_expression_in_sequence() -> None:
    sql = one_line(render(sequence_by=["epoch", "-line", "coalesce(part, 0)"]))

    assert "named_struct( '_1', epoch, '_2', -line, '_3', coalesce(part, 0) ) as _order" in sql


def test_except_columns_are_left_out_beside_the_key() -> None:
    assert "select `path`, * except (`path`, `op`, `b```), case" in one_line(
        render(except_columns=["op", "b`"])
    )


@pytest.mark.parametrize(
    ("delete_when", "truncate_when", "operation"),
    [
        (None, None, "'upsert'"),
        ("op = 'D'", None, "case when op = 'D' then 'delete' else 'upsert' end"),
        (None, "op = 'T'", "case when op = 'T' then 'truncate' else 'upsert' end"),
        ("d", "t", "case when t then 'truncate' when d then 'delete' else 'upsert' end"),
    ],
)
def test_a_command_is_a_truncate_or_else_a_delete_where_that_is_true_or_else_an_upsert(
    delete_when: str | None, truncate_when: str | None, operation: str
) -> None:
    assert in_model("files_commands")._op_expr(delete_when, truncate_when) == operation
    assert f" {operation} as _op," in render(delete_when=delete_when, truncate_when=truncate_when)


def test_no_command_is_partial_unless_an_argument_says_so() -> None:
    for given in ({}, {"ignore_null_updates": False}, {"old_key": "struct(old_path)"}):
        assert "_unchanged" not in render(**given)


def test_the_source_may_name_the_columns_that_are_unchanged() -> None:
    assert unchanged(unchanged="missing") == (
        "concat(coalesce(cast(missing as array<string>), array()))"
    )


@pytest.mark.parametrize("marker", ["__unavailable__", "", "it's"])
def test_a_marker_stands_beside_the_values_for_the_batch_to_compare(marker: str) -> None:
    literal = in_model("files_commands")._literal(marker)

    assert f"as _unchanged, {literal} as _unchanged_value" in one_line(
        render(unchanged_value=marker)
    )


IGNORED = {
    "in all columns": ({"ignore_null_updates": True}, "* except (`path`)"),
    "in some columns": ({"ignore_null_updates": ["A", "b`"]}, "`A`, `b```"),
    "but in some": ({"ignore_null_updates": {"except": ["a"]}}, "* except (`path`, `a`)"),
    "as a list": ({"ignore_null_updates_column_list": ["a"]}, "`a`"),
    "as a list but for some": (
        {"ignore_null_updates_except_column_list": ["a"], "except_columns": ["op"]},
        "* except (`path`, `op`, `a`)",
    ),
    "true beside a list": (
        {"ignore_null_updates": True, "ignore_null_updates_column_list": ["a"]},
        "`a`",
    ),
    "among named columns": (
        {"ignore_null_updates": {"except": ["A"]}, "columns": ["path", "a", "b"]},
        "`b`",
    ),
}


@pytest.mark.parametrize(("given", "columns"), IGNORED.values(), ids=IGNORED)
def test_a_null_is_ignored_in_the_columns_that_are_meant(
    given: dict[str, object], columns: str
) -> None:
    expression = unchanged(**given)

    assert VALUES_AS_JSON.format(columns) + ", (name, value) -> value is null" in expression


def test_all_that_says_unchanged_counts_together() -> None:
    expression = unchanged(unchanged="missing", unchanged_value="?", ignore_null_updates=["a"])

    assert expression.startswith(
        "concat(coalesce(cast(missing as array<string>), array()),"
        " cast(array() as array<string>), map_keys("
    )


@pytest.mark.parametrize(
    "value", [7, "a", {"a": ["b"]}, {"except": "a"}, {"except": ["a"], "only": ["b"]}]
)
def test_nulls_that_are_ignored_in_another_form_are_refused(value: object) -> None:
    must, got = refused(render, ignore_null_updates=value)

    assert must == (
        "`trueup.commands` argument `ignore_null_updates` must be true, a list of columns, or a"
        " mapping of `except` to such a list."
    )
    assert got == f"Got: {value}"


@pytest.mark.parametrize("value", [False, ["a"], {"except": ["a"]}])
def test_beside_a_list_nulls_are_ignored_or_it_is_refused(value: object) -> None:
    must, got = refused(render, ignore_null_updates=value, ignore_null_updates_column_list=["b"])

    assert must == (
        "`trueup.commands` argument `ignore_null_updates` must be true where a list of its columns"
        " is given."
    )
    assert got == f"Got: {value}"


def test_nulls_are_ignored_in_a_list_or_but_in_a_list() -> None:
    must, got = refused(
        render,
        ignore_null_updates_column_list=["a"],
        ignore_null_updates_except_column_list=["b"],
    )

    assert must == (
        "`trueup.commands` argument `ignore_null_updates_except_column_list` must be left out where"
        " `ignore_null_updates_column_list` is given."
    )
    assert got == "Got: ['b']"


@pytest.mark.parametrize("name", ["size", "path"])
def test_a_null_can_be_ignored_in_value_columns_alone(name: str) -> None:
    for value in (["mode", name], {"except": [name]}):
        must, got = refused(render, columns=["path", "mode", "blob"], ignore_null_updates=value)

        assert must == (
            "`trueup.commands` argument `ignore_null_updates` must be of the value columns"
            " (mode, blob)."
        )
        assert got == f"Got: {name}"


def test_an_old_key_is_taken_as_it_is() -> None:
    assert "struct(old_path) as _old_key" in one_line(render(old_key="struct(old_path)"))


def test_a_good_value_and_a_good_key_have_no_error() -> None:
    trueup = in_model("files_commands", options={"null_keys": "value"})
    sql = render(trueup)

    assert "cast(null as string) as _error," in sql
    assert "cast(null as string) as _error_key\n" in sql


def test_an_error_and_an_error_key_are_texts() -> None:
    trueup = in_model("files_commands", unique_key=["a", "b"])
    sql = render(trueup, error="bad", error_key="raw")

    assert "cast(bad as string) as _error," in sql
    assert "cast(raw as string) as _error_key\n" in sql


def test_a_null_in_a_key_of_one_column_is_a_missing_key() -> None:
    sql = one_line(render(error_key="raw"))

    assert (
        "coalesce( cast(raw as string), case when `path` is null then 'null' end ) as _error_key"
        in sql
    )


def test_with_null_keys_value_a_null_key_is_a_value() -> None:
    trueup = in_model("files_commands", options={"null_keys": "value"})

    assert "is null then 'null'" not in render(trueup)


def test_a_null_in_one_of_several_key_columns_is_a_value() -> None:
    trueup = in_model("files_commands", unique_key=["a", "b"], options={"null_keys": "error"})

    assert "is null then 'null'" not in render(trueup)


@pytest.mark.parametrize("unique_key", [["path"], ["a", "b"]])
def test_a_bad_option_is_refused_whatever_the_key(unique_key: list[str]) -> None:
    for options in ({"null_key": "value"}, {"null_keys": "maybe"}):
        refused(render, in_model("files_commands", unique_key=unique_key, options=options))


def test_an_integer_tick_is_the_bare_column_so_that_its_bounds_reach_the_scan() -> None:
    assert (
        "case when typeof(tick) in ('tinyint', 'smallint', 'int', 'bigint')"
        " then cast(tick as bigint)"
        " when typeof(tick) = 'timestamp' then unix_micros(cast(tick as timestamp))"
    ) in one_line(render())


def test_a_tick_of_another_type_is_refused_by_the_query_with_the_expression_that_came() -> None:
    sql = render(ts="date '2026-01-01'")

    assert "'date \\'2026-01-01\\'', ' of type ', typeof(date '2026-01-01')" in one_line(sql)


def test_before_the_cut_the_log_is_read_and_nothing_else_is_done() -> None:
    trueup = in_model("files_commands")
    before, cut, after = render(trueup).partition(trueup._log_boundary())

    assert one_line(before) == "with log as ( select * from lake.log )"
    assert cut not in after
    assert after.endswith("from log")


def test_the_model_is_a_view_of_its_own_kind() -> None:
    trueup = in_model("files_commands")
    render(trueup)

    assert trueup.context["config"].set_by_model == {"materialized": "trueup_commands"}
