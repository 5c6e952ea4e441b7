"""The arguments that the envelopes give to `trueup.commands`, and those that they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import in_model, refused

SCHEMA = {"path": "string", "size": "bigint"}
ENVELOPES = ("debezium", "wal2json", "maxwell", "goldengate", "cockroachdb", "dynamodb")
TYPES = "among tinyint, smallint, int, bigint, float, double, decimal"


def render(
    envelope: str, *, unique_key: Any = ("path",), execute: bool = True, **given: Any
) -> str:
    trueup = in_model("files", unique_key=unique_key, execute=execute)
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
        ("reclock", []),
        ("reclock", "offset"),
        ("schema", "path string"),
        ("schema", {}),
        ("schema", ["path"]),
        ("schema", {"path": "string", "Path": "string"}),
        ("schema", {"": "string"}),
    ],
)
def test_the_error_for_a_bad_argument_names_it_even_while_dbt_parses(
    envelope: str, argument: str, value: object
) -> None:
    must, got, _ = refused(render, envelope, execute=False, **{argument: value})

    assert must.startswith(f"`trueup.{envelope}` argument `{argument}` must be ")
    assert got == f"Got: {list(value) if isinstance(value, dict) else value}"


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize(
    "kind",
    [
        *("BIGINT", "long", "varchar(10)", "map<string, int>", "bigint, x int", "", 7),
        None,
        *("array", "struct", "bigint(20)", "int<x>", "decimal(10,2", "decimal(1,2,3)", "array(3)"),
        *("bigint from micros", "date from", "timestamp from days", "binary from text"),
    ],
)
def test_the_error_for_an_unknown_type_lists_the_known_types(envelope: str, kind: object) -> None:
    must, got, _ = refused(render, envelope, schema={"path": "string", "size": kind})

    assert TYPES in must
    assert got == f"Got: size {kind}"


@pytest.mark.parametrize("name", ["_ts", "_Command_of", "_old_key"])
def test_a_column_name_of_trueup_is_refused_in_the_schema(name: str) -> None:
    _, got, _ = refused(render, "debezium", schema=SCHEMA | {name: "string"})

    assert got == f"Got: {name}"


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_a_schema_without_the_key_is_refused(envelope: str) -> None:
    must, got, _ = refused(render, envelope, unique_key=["path", "line"])

    assert must == (
        f"`trueup.{envelope}` in files: each column of config `unique_key`"
        " must be a column of argument `schema` (path, size), and no variant."
    )
    assert got == "Got: line"


@pytest.mark.parametrize("table", ["orders", "", 7, ["public.orders"]])
def test_a_table_must_be_named_with_its_schema(table: object) -> None:
    must, got, _ = refused(render, "wal2json", table=table)

    assert must.startswith("`trueup.wal2json` argument `table` must be a table with its schema")
    assert got == f"Got: {table}"


@pytest.mark.parametrize("form", ["canal", "dms"])
def test_a_form_without_a_position_needs_an_order(form: str) -> None:
    must, _, advice = refused(render, form, execute=False)

    assert must.startswith(f"`trueup.{form}` argument `sequence_by` must be given: no field of")
    assert "`offset`" in advice
    assert render(form, sequence_by=["n"])
    assert render(form, ts="n")


@pytest.mark.parametrize(
    ("schema", "given", "got"),
    [
        (SCHEMA, {"snapshot": True, "sequence_by": ["offset"]}, "Got: ['offset']"),
        (SCHEMA, {"snapshot": True, "ts": "offset"}, "Got: offset"),
        (SCHEMA, {"snapshot": "last"}, "Got: last"),
        ({"_id": "string", **SCHEMA}, {"snapshot": True}, "Got: True"),
    ],
)
def test_a_snapshot_needs_the_position_at_which_it_began(
    schema: dict[str, str], given: dict[str, Any], got: str
) -> None:
    must, found, next_step = refused(render, "debezium", schema=schema, **given)
    assert "argument `snapshot` must be false, unless" in must
    assert found == got
    assert next_step.startswith("Leave out `sequence_by`")


@pytest.mark.parametrize("value", ["", 7, None])
def test_the_unchanged_value_must_be_a_text(value: object) -> None:
    must, _, _ = refused(render, "debezium", unchanged_value=value)

    assert must == "`trueup.debezium` argument `unchanged_value` must be a text."


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_commands_read_the_decoded_log_and_have_the_columns_of_the_schema(envelope: str) -> None:
    sql = one_line(render(envelope, unique_key=["PATH"]))

    assert sql.startswith("with log as ( select * from ( with messages as (")
    assert "select `PATH`, `size`, " in sql
    assert "'_1', _command.place ) as _order" in sql
    assert "when _command.op = 'truncate' then 'truncate'" in sql


def test_names_and_markers_with_special_characters_are_quoted() -> None:
    sql = render(
        "debezium", schema=SCHEMA | {"it's `odd` \\ -- {{ x }}": "string"}, unchanged_value="o'k"
    )

    assert "`it's ``odd`` \\ -- {{ x }}`" in sql
    assert "'it\\'s `odd` \\\\ -- {{ x }}'" in sql
    assert "'o\\'k'" in sql


@pytest.mark.parametrize(
    ("argument", "value"),
    [("relation", None), ("unique_key", "id"), ("unique_key", []), ("ts", None), ("ts", "")],
)
def test_snapshot_commands_refuses_a_bad_argument(argument: str, value: object) -> None:
    given: dict[str, Any] = {"relation": "lake.extracts", "unique_key": ["id"], "ts": "day"}
    must, got, _ = refused(in_model("files").snapshot_commands, **given | {argument: value})

    assert must.startswith(f"`trueup.snapshot_commands` argument `{argument}` must be ")
    assert got == f"Got: {value}"


@pytest.mark.parametrize("text", [None, "", 7])
def test_parse_json_requires_an_sql_expression(text: object) -> None:
    must, _, _ = refused(in_model("files").parse_json, text, SCHEMA)

    assert must == "`trueup.parse_json` argument `text` must be an SQL expression."


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_an_envelope_with_a_subquery_needs_the_whole_log(envelope: str) -> None:
    trueup = in_model("files")
    assert trueup._log_of_view(render(envelope)) == "lake.log"
    value = "case when (select max(x) from meta.y) > 1 then value end"
    assert trueup._log_of_view(render(envelope, value=value)) is None
    assert trueup._log_of_view(render(envelope, sequence_by=["k in (table y)"])) is None
