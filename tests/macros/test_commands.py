"""What `trueup.commands` renders and refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import Package, in_model, refused

LISTS = {
    "sequence_by": "a non-empty list of non-empty strings.",
    "columns": "a non-empty list of non-empty strings, none twice.",
}
EXPRESSIONS = ("ts", "delete_when", "error", "error_key")


def render(trueup: Package | None = None, **changed: object) -> str:
    given: dict[str, Any] = {"relation": "lake.log", "ts": "tick", "sequence_by": ["line"]}
    return str((trueup or in_model("files_commands")).commands(**given | changed))


def one_line(sql: str) -> str:
    return " ".join(sql.split())


@pytest.mark.parametrize("argument", LISTS)
@pytest.mark.parametrize(
    "value", ["a", [], {"a": 1}, 7, ["a", ""], ["a", " "], ["a", None], [1], [["a"]]]
)
def test_anything_but_a_list_of_strings_is_refused(argument: str, value: object) -> None:
    must, got = refused(render, **{argument: value})

    assert must == f"`trueup.commands` argument `{argument}` must be {LISTS[argument]}"
    assert got == f"Got: {value}"


@pytest.mark.parametrize("columns", [["a", "a"], ["a", "A"]])
def test_a_column_that_is_named_twice_is_refused_whatever_its_case(columns: list[str]) -> None:
    must, got = refused(render, columns=columns)

    assert must == f"`trueup.commands` argument `columns` must be {LISTS['columns']}"
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
def test_a_key_column_among_the_values_is_refused_whatever_its_case(name: str) -> None:
    trueup = in_model("files_commands", unique_key=["Path", "a`b"])

    must, got = refused(render, trueup, columns=["mode", name])

    assert must == "`trueup.commands` argument `columns` must be free of key columns."
    assert got == f"Got: {name}"


@pytest.mark.parametrize("argument", EXPRESSIONS)
@pytest.mark.parametrize("value", ["", "  ", 7, True, ["a"]])
def test_anything_but_an_expression_is_refused(argument: str, value: object) -> None:
    must, got = refused(render, **{argument: value})

    assert must == f"`trueup.commands` argument `{argument}` must be an SQL expression."
    assert got == f"Got: {value}"


@pytest.mark.parametrize("argument", ["ts", "sequence_by"])
def test_tick_and_order_have_no_default(argument: str) -> None:
    refused(render, **{argument: None})


def test_arguments_are_refused_already_while_dbt_parses() -> None:
    refused(render, in_model("files_commands", execute=False), columns="blob")


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


def test_without_delete_when_every_command_is_an_upsert() -> None:
    assert "'upsert' as _op" in render()
    assert "'delete'" not in render()


def test_a_command_is_a_delete_only_where_delete_when_is_true() -> None:
    sql = render(delete_when="op = 'D'")

    assert "case when op = 'D' then 'delete' else 'upsert' end as _op" in sql


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


def test_a_tick_of_another_type_is_refused_by_the_query_with_the_expression_that_came() -> None:
    sql = render(ts="date '2026-01-01'")

    assert "'date \\'2026-01-01\\'', ' of type ', typeof(date '2026-01-01')" in one_line(sql)


def test_before_the_cut_the_log_is_read_and_nothing_else_is_done() -> None:
    trueup = in_model("files_commands")
    before, cut, after = render(trueup).partition(trueup._log_ends_here())

    assert one_line(before) == "with log as ( select * from lake.log )"
    assert cut not in after
    assert after.endswith("from log")


def test_the_model_is_a_view_of_its_own_kind() -> None:
    trueup = in_model("files_commands")
    render(trueup)

    assert trueup.context["config"].set_by_model == {"materialized": "trueup_commands"}
