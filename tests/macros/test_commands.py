"""The SQL that `trueup.commands` renders, and the arguments that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import Package, Relation, in_model, one_line, refused

NAMES = "a non-empty list of non-empty strings, without duplicates."
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
    "from_json( to_json(struct({}), map('ignoreNullFields', 'false')), 'map<string, string>',"
    " map('maxStringLen', '2147483647') )"
)


def render(trueup: Package | None = None, **changed: object) -> str:
    given: dict[str, Any] = LOG | {"ts": "tick", "sequence_by": ["line"]}
    return str((trueup or in_model("files_commands")).commands(**given | changed))


def unchanged(**given: Any) -> str:
    """Return the expression of `_unchanged`."""
    sql = one_line(render(**given))
    return sql.partition(" as _error_key, ")[2].removesuffix(" as _unchanged from log")


@pytest.mark.parametrize("argument", LISTS)
@pytest.mark.parametrize(
    "value", [[], {"a": 1}, 7, ["a", ""], ["a", " "], ["a", None], [1], [["a"]]]
)
def test_a_list_argument_must_be_a_list_of_strings(argument: str, value: object) -> None:
    must, got, _ = refused(render, **{argument: value})

    assert must == f"`trueup.commands` argument `{argument}` must be {LISTS[argument]}"
    assert got == f"Got: {value}"


@pytest.mark.parametrize("argument", ["columns", "except_columns", "reclock"])
def test_a_single_name_instead_of_a_list_of_columns_is_refused(argument: str) -> None:
    must, got, _ = refused(render, **{argument: "a"})

    assert must == f"`trueup.commands` argument `{argument}` must be {NAMES}"
    assert got == "Got: a"


@pytest.mark.parametrize("argument", ["columns", "except_columns", "keys", "ignore_null_updates"])
@pytest.mark.parametrize("columns", [["a", "a"], ["a", "A"]])
def test_a_column_must_not_be_named_twice_even_in_different_case(
    argument: str, columns: list[str]
) -> None:
    must, got, _ = refused(render, **{argument: columns})

    assert must == f"`trueup.commands` argument `{argument}` must be {NAMES}"
    assert got == f"Got: {columns}"


def test_two_order_expressions_may_differ_only_in_case() -> None:
    sql = one_line(render(sequence_by=["payload:a", "payload:A"]))

    assert "named_struct( '_1', payload:a, '_2', payload:A ) as _order" in sql


@pytest.mark.parametrize("relation", [None, "", "  "])
def test_the_log_must_be_a_relation(relation: object) -> None:
    must, got, _ = refused(render, relation=relation)

    assert must == (
        "`trueup.commands` argument `relation` must be `ref(...)`, `source(...)`, or a SELECT in"
        " parentheses."
    )
    assert got == f"Got: {relation}"


@pytest.mark.parametrize("name", ["path", "PATH", "a`b"])
def test_a_key_column_in_columns_comes_first_regardless_of_case(name: str) -> None:
    trueup = in_model("files_commands", unique_key=["Path", "a`b"])

    sql = one_line(render(trueup, columns=["mode", name]))

    assert "select `Path`, `a``b`, `mode`, case when typeof(tick)" in sql


def test_columns_must_have_at_least_one_value_column() -> None:
    must, got, _ = refused(render, columns=["PATH"])

    assert must == (
        "`trueup.commands` argument `columns` must be a list with at least one column that is not"
        " in the key."
    )
    assert got == "Got: ['PATH']"


def test_except_columns_must_not_name_a_key_column() -> None:
    must, got, _ = refused(render, except_columns=["mode", "PATH"])

    assert must == "`trueup.commands` argument `except_columns` must be a list without key columns."
    assert got == "Got: ['mode', 'PATH']"


def test_columns_and_except_columns_cannot_be_given_together() -> None:
    must, got, _ = refused(render, columns=["mode"], except_columns=["blob"])

    assert must == (
        "`trueup.commands` argument `columns` must be left out, because `except_columns` is given."
    )
    assert got == "Got: ['mode']"


@pytest.mark.parametrize("argument", EXPRESSIONS)
@pytest.mark.parametrize("value", ["", "  ", 7, True, ["a"]])
def test_an_expression_argument_must_be_an_sql_expression(argument: str, value: object) -> None:
    must, got, _ = refused(render, **{argument: value})

    assert must == f"`trueup.commands` argument `{argument}` must be an SQL expression."
    assert got == f"Got: {value}"


@pytest.mark.parametrize("arrived", ["landed_at", "date(snapshot_ts)"])
def test_over_full_extracts_only_the_extract_says_what_arrived(arrived: str) -> None:
    trueup = in_model("files_commands")
    extracts = str(trueup.snapshot_commands("lake.extracts", ["path"], "day"))

    must, got, _ = refused(render, relation=extracts, arrived=arrived)

    assert must.startswith("`trueup.commands` argument `arrived` must be snapshot_ts over ")
    assert got == f"Got: {arrived}"
    assert "`Snapshot_TS` as _arrived" in render(relation=extracts, arrived="`Snapshot_TS`")
    text = "(select * from lake.log where v <> '_ts_extracted')"
    assert f"{arrived} as _arrived" in render(relation=text, arrived=arrived)


@pytest.mark.parametrize("value", [7, True, ["a"], {"a": 1}])
def test_the_unchanged_value_must_be_a_text(value: object) -> None:
    must, got, _ = refused(render, unchanged_value=value)

    assert must == "`trueup.commands` argument `unchanged_value` must be a text."
    assert got == f"Got: {value}"


@pytest.mark.parametrize("ts", ["tick", None])
def test_sequence_by_has_no_default(ts: str | None) -> None:
    must, got, _ = refused(render, ts=ts, sequence_by=None)

    assert must == f"`trueup.commands` argument `sequence_by` must be {LISTS['sequence_by']}"
    assert got == "Got: None"


def test_bad_arguments_are_refused_even_while_dbt_parses() -> None:
    parsing = in_model("files_commands", execute=False)

    for argument, value in {"columns": "blob", "keys": [], "column_list": [1]}.items():
        must, got, _ = refused(render, parsing, **{argument: value})
        name = ALIASES.get(argument, argument)
        assert must.startswith(f"`trueup.commands` argument `{name}` must be a non-empty list of")
        assert got == f"Got: {value}"


def tick_and_order(**given: object) -> dict[str, Any]:
    nothing: dict[str, object] = {"ts": None, "sequence_by": None, "reclock": None}
    found: dict[str, Any] = in_model("files_commands")._tick_and_order(**nothing | given)
    return found


def test_a_single_expression_is_accepted_as_sequence_by() -> None:
    assert tick_and_order(ts="t", sequence_by="a, b")["sequence_by"] == ["a, b"]


def test_without_ts_the_tick_is_the_first_expression_of_sequence_by() -> None:
    found = tick_and_order(sequence_by=["lsn", "line"])

    assert (found["ts"], found["sequence_by"]) == ("lsn", ["lsn", "line"])
    assert "'Without `ts` the first expression of `sequence_by`'" in render(ts=None)


def test_with_reclock_there_is_no_ts_and_the_offset_is_the_order() -> None:
    found = tick_and_order(reclock=["part`", "off set"])

    assert (found["ts"], found["sequence_by"]) == (None, ["`off set`", "`part```"])


def test_with_reclock_a_given_sequence_by_is_the_order() -> None:
    assert tick_and_order(reclock=["p", "o"], sequence_by="lsn")["sequence_by"] == ["lsn"]
    must, got, _ = refused(tick_and_order, reclock=["p", "o"], sequence_by=[])
    assert must == f"`trueup.commands` argument `sequence_by` must be {LISTS['sequence_by']}"
    assert got == "Got: []"


def test_with_reclock_and_the_newest_command_of_each_key_a_sequence_is_required() -> None:
    trueup = in_model("files_commands", options={"late": "newest"})

    must, got, _ = refused(trueup._tick_and_order, None, None, ["p", "o"])
    assert "`sequence_by` must be given with `reclock` and `late: newest`" in must
    assert got == "Got: none"
    assert trueup._tick_and_order(None, ["lsn"], ["p", "o"])["sequence_by"] == ["lsn"]


@pytest.mark.parametrize("reclock", [["o"], ["p", "o", "q"]])
def test_reclock_must_be_two_columns(reclock: list[str]) -> None:
    must, got, _ = refused(render, ts=None, reclock=reclock)

    assert must == (
        "`trueup.commands` argument `reclock` must be two columns: the partition, and the offset"
        " in it."
    )
    assert got == f"Got: {reclock}"


def test_ts_and_reclock_cannot_be_given_together() -> None:
    must, got, _ = refused(render, reclock=["p", "o"])

    assert must == "`trueup.commands` argument `ts` must be left out, because `reclock` is given."
    assert got == "Got: tick"


def test_with_reclock_commands_have_a_partition_and_offset_and_no_tick() -> None:
    sql = one_line(render(ts=None, sequence_by=None, reclock=["p`", "o"]))

    assert "cast(null as bigint) as _ts, named_struct( '_1', `o`, '_2', `p``` ) as _order" in sql
    assert "cast(`p``` as string) as _partition, case when typeof(`o`) in ('tinyint'," in sql
    assert sql.endswith(
        "must end with a column of integers, the offset.\\nGot: ', 'o', ' of type ', typeof(`o`) ))"
        " end as _offset from log"
    )


@pytest.mark.parametrize(("alias", "argument"), ALIASES.items())
def test_an_auto_cdc_alias_of_an_argument_renders_the_same_sql(alias: str, argument: str) -> None:
    value: Any = "op = 'D'" if argument.endswith("_when") else ["mode", "blob"]

    assert render(**{alias: value}) == render(**{argument: value})


@pytest.mark.parametrize(("alias", "argument"), ALIASES.items())
def test_an_argument_and_its_auto_cdc_alias_cannot_be_given_together(
    alias: str, argument: str
) -> None:
    must, got, _ = refused(render, **{alias: ["a"], argument: ["a"]})

    assert must == (
        f"`trueup.commands` argument `{alias}` must be left out, because `{argument}` is given."
    )
    assert got == "Got: ['a']"


def test_an_empty_list_counts_as_a_given_argument() -> None:
    either = in_model("files_commands")._given_value

    assert either("columns", None, "column_list", []) == []
    must, got, _ = refused(either, "columns", [], "column_list", [])
    assert must.endswith("`column_list` must be left out, because `columns` is given.")
    assert got == "Got: []"


@pytest.mark.parametrize("keys", ["path", ["a", "b"]])
def test_the_argument_keys_sets_the_config_unique_key(keys: object) -> None:
    trueup = in_model("files_commands")
    render(trueup, keys=keys)

    assert trueup.context["config"].set_by_model["unique_key"] == keys


def test_a_blank_key_name_is_refused() -> None:
    assert refused(render, keys=" ")[1] == "Got: [' ']"


def test_a_missing_key_is_refused() -> None:
    must, got, _ = refused(render, in_model("files_commands", unique_key=None))
    assert must.endswith("config `unique_key` must be a non-empty list of key columns.")
    assert got == "Got: nothing"


def test_the_argument_columns_gives_the_value_columns_in_their_order() -> None:
    sql = one_line(render(columns=["mode", "two `words`"]))

    assert "select `path`, `mode`, `two ``words```, case when typeof(tick)" in sql


def test_by_default_all_log_columns_outside_the_key_are_value_columns() -> None:
    trueup = in_model("files_commands", unique_key=["a", "b`"])

    assert "select `a`, `b```, * except (`a`, `b```), case" in one_line(render(trueup))


def test_the_order_has_one_field_per_expression_of_sequence_by() -> None:
    sql = one_line(render(sequence_by=["epoch", "-line", "coalesce(part, 0)"]))

    assert "named_struct( '_1', epoch, '_2', -line, '_3', coalesce(part, 0) ) as _order" in sql


def test_the_value_columns_exclude_the_key_and_the_except_columns() -> None:
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
def test_truncate_when_comes_before_delete_when_and_upsert_is_the_default(
    delete_when: str | None, truncate_when: str | None, operation: str
) -> None:
    assert in_model("files_commands")._op_expr(delete_when, truncate_when) == operation
    assert f" {operation} as _op," in render(delete_when=delete_when, truncate_when=truncate_when)


def test_commands_are_partial_only_if_an_argument_says_so() -> None:
    for given in ({}, {"ignore_null_updates": False}, {"old_key": "struct(old_path)"}):
        assert "_unchanged" not in render(**given)


def test_the_argument_unchanged_gives_the_names_of_unchanged_columns() -> None:
    assert unchanged(unchanged="missing") == (
        "concat(coalesce(cast(missing as array<string>), array()))"
    )


@pytest.mark.parametrize("marker", ["__unavailable__", "", "it's"])
def test_the_unchanged_value_is_a_column_of_the_commands(marker: str) -> None:
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
def test_ignore_null_updates_applies_to_the_selected_columns(
    given: dict[str, object], columns: str
) -> None:
    expression = unchanged(**given)

    read = VALUES_AS_JSON.format(columns)
    assert f"coalesce( {read}, raise_error(" in expression
    assert "), (name, value) -> value is null" in expression


def test_a_column_is_left_out_once_even_if_two_arguments_leave_it_out() -> None:
    text = unchanged(except_columns=["op"], ignore_null_updates={"except": ["op", "path", "note"]})
    assert "struct(* except (`path`, `op`, `note`))" in text


def test_the_arguments_for_unchanged_columns_are_combined() -> None:
    expression = unchanged(unchanged="missing", unchanged_value="?", ignore_null_updates=["a"])

    assert expression.startswith(
        "concat(coalesce(cast(missing as array<string>), array()),"
        " cast(array() as array<string>), map_keys("
    )


@pytest.mark.parametrize(
    "value", [7, "a", {"a": ["b"]}, {"except": "a"}, {"except": ["a"], "only": ["b"]}]
)
def test_ignore_null_updates_in_any_other_form_is_refused(value: object) -> None:
    must, got, _ = refused(render, ignore_null_updates=value)

    assert must == (
        "`trueup.commands` argument `ignore_null_updates` must be true, a list of columns, or a"
        " mapping of `except` to such a list."
    )
    assert got == f"Got: {value}"


@pytest.mark.parametrize("value", [False, ["a"], {"except": ["a"]}])
def test_with_a_column_list_ignore_null_updates_must_be_true_or_left_out(value: object) -> None:
    must, got, _ = refused(render, ignore_null_updates=value, ignore_null_updates_column_list=["b"])

    assert must == (
        "`trueup.commands` argument `ignore_null_updates` must be true or left out, because a list"
        " of its columns is given."
    )
    assert got == f"Got: {value}"


def test_the_two_column_lists_of_ignore_null_updates_cannot_be_given_together() -> None:
    must, got, _ = refused(
        render,
        ignore_null_updates_column_list=["a"],
        ignore_null_updates_except_column_list=["b"],
    )

    assert must == (
        "`trueup.commands` argument `ignore_null_updates_except_column_list` must be left out,"
        " because `ignore_null_updates_column_list` is given."
    )
    assert got == "Got: ['b']"


@pytest.mark.parametrize("name", ["PATH", "op"])
def test_ignore_null_updates_of_a_column_that_is_no_value_is_refused(name: str) -> None:
    """A null in such a column would stop every run, and an append-only log cannot lose it."""
    must, got, _ = refused(render, except_columns=["op"], ignore_null_updates=[name, "note"])
    assert must == (
        "`trueup.commands` argument `ignore_null_updates` must be a list of value columns, without"
        " path, op."
    )
    assert got == f"Got: {name}"


@pytest.mark.parametrize("name", ["size", "path"])
def test_ignore_null_updates_accepts_only_value_columns(name: str) -> None:
    for value in (["mode", name], {"except": [name]}):
        must, got, _ = refused(render, columns=["path", "mode", "blob"], ignore_null_updates=value)

        assert must == (
            "`trueup.commands` argument `ignore_null_updates` must be a list of value columns"
            " (mode, blob)."
        )
        assert got == f"Got: {name}"


def test_the_expression_of_the_old_key_is_not_changed() -> None:
    assert "struct(old_path) as _old_key" in one_line(render(old_key="struct(old_path)"))


def test_without_error_arguments_the_commands_have_no_errors() -> None:
    trueup = in_model("files_commands", options={"null_keys": "value"})
    sql = render(trueup)

    assert "cast(null as string) as _error," in sql
    assert "cast(null as string) as _error_key\n" in sql


def test_errors_and_error_keys_are_cast_to_string() -> None:
    trueup = in_model("files_commands", unique_key=["a", "b"])
    sql = render(trueup, error="bad", error_key="raw")

    assert "cast(bad as string) as _error," in sql
    assert "cast(raw as string) as _error_key\n" in sql


def test_a_null_in_a_key_of_one_column_is_a_null_key_error() -> None:
    sql = one_line(render(error_key="raw"))

    assert (
        "coalesce( cast(raw as string), case when `path` is null then 'null' end ) as _error_key"
        in sql
    )


def test_with_null_keys_value_a_null_key_is_not_an_error() -> None:
    trueup = in_model("files_commands", options={"null_keys": "value"})

    assert "is null then 'null'" not in render(trueup)


def test_a_null_in_a_key_of_several_columns_is_not_an_error() -> None:
    trueup = in_model("files_commands", unique_key=["a", "b"], options={"null_keys": "error"})

    assert "is null then 'null'" not in render(trueup)


@pytest.mark.parametrize("unique_key", [["path"], ["a", "b"]])
@pytest.mark.parametrize("null_keys", ["error", "value"])
@pytest.mark.parametrize("error", ["cast(a as string)", "case\n  when a then 'b'\nend", None])
def test_the_check_of_the_errors_finds_their_expressions(
    unique_key: list[str], null_keys: str, error: str | None
) -> None:
    trueup = in_model("files_commands", unique_key=unique_key, options={"null_keys": null_keys})
    sql = render(trueup, error=error, error_key="k", delete_when="op = 'D'")

    found = {"error": error or "null", "error_key": "k"}
    assert trueup._error_expressions(sql) == found


def test_a_text_that_looks_like_the_sql_of_the_commands_does_not_mislead_the_check() -> None:
    trueup = in_model("files_commands")
    text = "' as _op,\n    cast(x as string) as _error,\n    cast(y as string) as _error_key'"
    end = f"case when a then '{trueup._log_boundary()}' end"

    sql = render(trueup, error=f"concat({text}, b)", error_key=end, delete_when=f"op = {text}")

    found = {"error": f"concat({text}, b)", "error_key": end}
    assert trueup._error_expressions(sql) == found


@pytest.mark.parametrize("unique_key", [["path"], ["a", "b"]])
def test_a_bad_option_is_refused_for_every_key(unique_key: list[str]) -> None:
    for options, subject, bad in (
        ({"null_key": "value"}, "Each option in", "null_key"),
        ({"null_keys": "maybe"}, "Option `null_keys` in", "maybe"),
    ):
        trueup = in_model("files_commands", unique_key=unique_key, options=options)
        must, got, _ = refused(render, trueup)
        assert must.startswith(f"{subject} `meta.trueup` of files_commands must be one of ")
        assert got == f"Got: {bad}"


def test_an_integer_tick_is_cast_to_bigint_and_a_timestamp_to_microseconds() -> None:
    assert (
        "case when typeof(tick) in ('tinyint', 'smallint', 'int', 'bigint')"
        " then cast(tick as bigint)"
        " when typeof(tick) = 'timestamp' then unix_micros(cast(tick as timestamp_ltz))"
    ) in one_line(render())


def test_the_query_error_for_a_bad_tick_names_its_expression_and_type() -> None:
    sql = render(ts="date '2026-01-01'")

    assert "'date \\'2026-01-01\\'', ' of type ', typeof(date '2026-01-01')" in one_line(sql)


def test_before_the_log_boundary_the_sql_only_reads_the_log() -> None:
    trueup = in_model("files_commands")
    before, cut, after = render(trueup).partition(trueup._log_boundary())

    assert one_line(before) == "with log as ( select * from lake.log /* the log */ )"
    assert cut not in after
    assert after.endswith("from log")


@pytest.mark.parametrize(
    ("relation", "log"),
    [
        ("lake.log", "lake.log"),
        ("`my lake`.`a.b`.log", "`my lake`.`a.b`.log"),
        ("log", "log"),
        ("lake.log l", None),
        ("lake.log as l join lake.other", None),
        ("lake.log version as of 123", None),
        ("lake.log.branch_audit", None),
        ("lake.log.`tag_v1`", None),
        ("parquet.`/files/log`", None),
        ("(select * from lake.log)", None),
        ("range(10)", None),
    ],
)
def test_only_the_plain_name_of_a_table_is_marked_as_the_log(
    relation: str, log: str | None
) -> None:
    trueup = in_model("files_commands")
    sql = render(trueup, relation=relation)

    assert trueup._log_of_view(sql) == log
    if log:
        part = trueup._log_part_select(sql, "lake.log version as of 7")
        assert one_line(part).startswith("with log as ( select * from lake.log version as of 7 )")


def test_a_table_that_dbt_names_may_be_called_like_a_branch() -> None:
    trueup = in_model("files_commands")
    sql = render(trueup, relation=Relation(None, "cms", "tag_changes"))

    assert trueup._log_of_view(sql) == "cms.tag_changes"


@pytest.mark.parametrize(
    "expression",
    [
        "count(*) over (partition by k)",
        "max(v) OVER w",
        "v = (select max(v) from log)",
        "k in ( table blocked)",
    ],
)
def test_an_argument_over_other_rows_needs_the_whole_log(expression: str) -> None:
    trueup = in_model("files_commands")

    assert trueup._log_of_view(render(trueup, error=expression)) is None
    for other in ("overlay", "extract(year from v)"):
        assert trueup._log_of_view(render(trueup, error=other)) == "lake.log"


@pytest.mark.parametrize(
    "expression",
    [
        "v = 'handed over (twice)'",
        "v = 'it''s (select 1)'",
        "v = 'a \\' over ('",
        'v = "(select a"',
        "v = r'\\' or w = 'over ('",
        "v = upper('from lake.log /* the log */')",
        "`over` = `(select x) from y`",
        "v /* select, or over ( */ = 1",
        "v = 1 -- select it\n",
        "v like 'select%' or v like 'select_'",
    ],
)
def test_a_word_in_a_text_a_name_or_a_comment_needs_only_what_is_new(expression: str) -> None:
    trueup = in_model("files_commands")
    sql = render(trueup, error=f"case when {expression} then 'bad' end")

    assert trueup._log_of_view(sql) == "lake.log"
    part = str(trueup._log_part_select(sql, "lake.part"))
    assert part == sql.replace("from lake.log /* the log */\n)", "from lake.part\n)")


@pytest.mark.parametrize(
    ("sql", "blank"),
    [
        ("a 'b' \"c d\" `e` f", "a '_' \"___\" `_` f"),
        ("'it''s' x", "'__''_' x"),
        (r"'\' x' y '\\' z", "'____' y '__' z"),
        ("r'\\' x R\"\\\" y", "'__' x \"__\" y"),
        ("bar'x' `a``'` 'b'", "bar'_' `_``_` '_'"),
        ("a /* 'b */ c", "a          c"),
        ("a /* x /* ' */ ' */ c", "a                   c"),
        ("a -- it's\nb 'c'", "a        \nb '_'"),
        ("'-- a' - 1 / 2 '/* b'", "'____' - 1 / 2 '____'"),
        ("'two\nlines'", "'_________'"),
        ("/* the log */ 'x'", "/* the log */ '_'"),
        ("it's", "it's"),
        ("", ""),
    ],
)
def test_texts_names_and_comments_of_sql_are_blanked_in_place(sql: str, blank: str) -> None:
    assert len(blank) == len(sql)
    assert in_model("files_commands")._without_texts(sql) == blank


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("CREATE VIEW v (\n  k)\nAS\nwith log as (\n  x", "with log as (\n  x"),
        (
            "CREATE VIEW v\nAS -- ours\n/* here */ with log as (x",
            "-- ours\n/* here */ with log as (x",
        ),
        ("CREATE VIEW v (k COMMENT 'as\nAS is')\nAS with log as (x", "with log as (x"),
        ("CREATE VIEW v AS select 1", None),
        ("CREATE VIEW v\nAS select * from (with log as (x", None),
        ("CREATE TABLE v", None),
    ],
)
def test_the_query_of_a_view_begins_with_the_log(statement: str, query: str | None) -> None:
    assert in_model("files_batch")._query_of_view(statement) == query


def test_the_model_of_the_commands_has_its_own_materialization() -> None:
    trueup = in_model("files_commands")
    render(trueup)

    assert trueup.context["config"].set_by_model == {"materialized": "trueup_commands"}


@pytest.mark.parametrize(
    ("expression", "has_one"),
    [
        ("k in (select k from blocked)", True),
        ("k in (table blocked)", True),
        ("( /* the operators */ SELECT max(t) from w)", True),
        ("(-- select\n 1)", False),
        ("(-- the operators\nvalues (1))", True),
        ("greatest(selected, 1)", False),
        ("trim('a' from v) = '(select'", False),
        ("v in ('a', (select'b'))", True),
        # A pattern that matches the comments in many ways would try all of them.
        ("(" + "/* a */" * 60 + " 1)", False),
    ],
)
def test_a_subquery_is_recognised_by_its_first_word(expression: str, *, has_one: bool) -> None:
    assert in_model("files_commands")._has_subquery(expression) is has_one
