"""What the envelopes hand to `trueup.commands`, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import in_model, refused

SCHEMA = {"path": "string", "size": "bigint"}
ENVELOPES = ("debezium", "wal2json")
TYPES = "of types in lower case among tinyint, smallint, int, bigint, float, double, decimal"


def render(
    envelope: str, *, unique_key: Any = ("path",), execute: bool = True, **given: Any
) -> str:
    trueup = in_model("files_commands", unique_key=unique_key, execute=execute)
    arguments: dict[str, Any] = {"relation": "lake.log", "schema": SCHEMA}
    return str(getattr(trueup, envelope)(**arguments | given))


def one_line(sql: str) -> str:
    return " ".join(sql.split())


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("relation", None),
        ("relation", " "),
        ("value", ""),
        ("value", None),
        ("ts", " "),
        ("ts", 7),
        ("sequence_by", "n"),
        ("sequence_by", []),
        ("reclock", "n"),
        ("reclock", ["n"]),
        ("schema", "path string"),
        ("schema", {}),
        ("schema", ["path"]),
        ("schema", {"path": "string", "Path": "string"}),
        ("schema", {"": "string"}),
    ],
)
def test_a_bad_argument_is_refused_by_name_while_dbt_parses(
    envelope: str, argument: str, value: object
) -> None:
    must, got = refused(render, envelope, execute=False, **{argument: value})

    assert must.startswith(f"`trueup.{envelope}` argument `{argument}` must be ")
    assert str(value if argument != "schema" or not isinstance(value, dict) else "") in got


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize(
    "kind",
    ["BIGINT", "long", "varchar(10)", "map<string, int>", "variant", "bigint, x int", "", 7, None],
)
def test_an_unknown_type_is_refused_with_those_that_there_are(envelope: str, kind: object) -> None:
    must, got = refused(render, envelope, schema={"path": "string", "size": kind})

    assert TYPES in must
    assert got == f"Got: size {kind}"


@pytest.mark.parametrize("name", ["_ts", "_Command_of", "_old_key"])
def test_a_name_of_ours_is_refused(name: str) -> None:
    _, got = refused(render, "debezium", schema=SCHEMA | {name: "string"})

    assert got == f"Got: {name}"


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_a_schema_without_the_key_is_refused(envelope: str) -> None:
    must, got = refused(render, envelope, unique_key=["path", "line"])

    assert must == (
        f"`trueup.{envelope}` in files_commands: each column of config `unique_key`"
        " must be a column of argument `schema` (path, size)."
    )
    assert got == "Got: line"


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_reclock_is_refused_beside_a_tick(envelope: str) -> None:
    must, _ = refused(render, envelope, ts="n", reclock=["p", "n"])

    assert must == (
        f"`trueup.{envelope}` argument `reclock` must be two columns, the partition and the"
        " offset in it, without `ts`."
    )


@pytest.mark.parametrize("table", ["orders", "", 7, ["public.orders"]])
def test_a_table_without_its_schema_is_refused(table: object) -> None:
    must, got = refused(render, "wal2json", table=table)

    assert must.startswith("`trueup.wal2json` argument `table` must be a table with its schema")
    assert got == f"Got: {table}"


@pytest.mark.parametrize("value", ["", 7, None])
def test_an_unchanged_value_that_is_no_text_is_refused(value: object) -> None:
    must, _ = refused(render, "debezium", unchanged_value=value)

    assert must == "`trueup.debezium` argument `unchanged_value` must be a text."


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_commands_read_the_decoded_log_and_have_the_values_of_the_schema(envelope: str) -> None:
    sql = one_line(render(envelope, unique_key=["PATH"]))

    assert sql.startswith("with log as ( select * from ( with messages as (")
    assert "select `PATH`, `size`, " in sql
    assert "named_struct( '_1', _command.sequence ) as _order" in sql
    assert "when _command.op = 'truncate' then 'truncate'" in sql


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_with_reclock_the_order_is_the_offset_unless_another_is_given(envelope: str) -> None:
    by_offset = one_line(render(envelope, reclock=["p", "n"]))
    by_time = one_line(render(envelope, reclock=["p", "n"], sequence_by=["at"]))

    assert "'_1', `_command_offset`, '_2', `_command_partition`" in by_offset
    assert "named_struct( '_1', _command.sequence ) as _order" in by_time


@pytest.mark.parametrize(
    ("given", "are_commands"),
    [
        ({}, False),
        ({"ts": "n"}, False),
        ({"ts": "n", "sequence_by": ["n"]}, True),
        ({"reclock": ["p", "n"]}, True),
        ({"reclock": ["p", "n"], "old_key": "h"}, False),
        ({"reclock": ["p", "n"], "key": None}, False),
        ({"sequence_by": ["n"]}, False),
    ],
)
def test_tombstones_are_commands_where_they_have_a_key_a_tick_and_an_order(
    given: dict[str, Any], *, are_commands: bool
) -> None:
    sql = one_line(render("debezium", **given))

    assert ("when envelope.op = 'm' then null" in sql) == are_commands
    assert ("when envelope.op = 'm' or is_tombstone then null" in sql) == (not are_commands)


def test_names_and_marks_are_quoted_whatever_they_hold() -> None:
    sql = render(
        "debezium", schema=SCHEMA | {"it's `odd` \\ -- {{ x }}": "string"}, unchanged_value="o'k"
    )

    assert "`it's ``odd`` \\ -- {{ x }}`" in sql
    assert "_fields['it\\'s `odd` \\\\ -- {{ x }}']" in sql
    assert "'o\\'k'" in sql


@pytest.mark.parametrize(
    ("argument", "value"),
    [("relation", None), ("unique_key", "id"), ("unique_key", []), ("ts", None), ("ts", "")],
)
def test_snapshot_commands_refuses_a_bad_argument(argument: str, value: object) -> None:
    given: dict[str, Any] = {"relation": "lake.extracts", "unique_key": ["id"], "ts": "day"}
    must, got = refused(in_model("files_commands").snapshot_commands, **given | {argument: value})

    assert must.startswith(f"`trueup.snapshot_commands` argument `{argument}` must be ")
    assert got == f"Got: {value}"


@pytest.mark.parametrize("text", [None, "", 7])
def test_parse_json_refuses_a_text_that_is_no_expression(text: object) -> None:
    must, _ = refused(in_model("files").parse_json, text, SCHEMA)

    assert must == "`trueup.parse_json` argument `text` must be an SQL expression."
