"""Names and texts are quoted in SQL. Names that a format cannot store are refused."""

from __future__ import annotations

import re

import pytest

from tests.macros.package import in_model, refused

TRUEUP = in_model("files_state")
HOSTILE = [
    "path",
    "select",
    "two words",
    "",
    "`",
    "a`b``c",
    "it's",
    'say "hi"',
    "back\\slash",
    "ends with \\",
    "\\'",
    "two\nlines",
    "a.b, c -- d",
    "{{ jinja }}",
    "na\u00efve \U0001f98a",
]
each_text = pytest.mark.parametrize("text", HOSTILE, ids=ascii)


@each_text
def test_any_name_becomes_one_identifier(text: str) -> None:
    quoted = TRUEUP._quoted(text)

    assert re.fullmatch(r"`(?:[^`]|``)*`", quoted)
    assert quoted[1:-1].replace("``", "`") == text


@each_text
def test_any_text_becomes_one_literal(text: str) -> None:
    literal = TRUEUP._literal(text)

    assert re.fullmatch(r"'(?:[^'\\]|\\.)*'", literal, re.DOTALL)
    assert re.sub(r"\\(.)", r"\1", literal[1:-1], flags=re.DOTALL) == text


def test_a_number_becomes_a_literal_of_text() -> None:
    assert TRUEUP._literal(3) == "'3'"


def test_a_column_list_quotes_each_name_and_keeps_the_order() -> None:
    assert TRUEUP._column_list(["b", "a`", "a"]) == "`b`, `a```, `a`"


def test_a_column_list_with_an_alias_puts_it_before_each_column() -> None:
    assert TRUEUP._column_list(["b", "a"], alias="net") == "net.`b`, net.`a`"


def test_the_comparison_of_keys_is_null_safe_in_every_column() -> None:
    condition = TRUEUP._same_key_expr(["a", "b c"], "state", "net")

    assert condition == "state.`a` <=> net.`a` and state.`b c` <=> net.`b c`"


@pytest.mark.parametrize("name", ["two words", "a,b", "a;b", "a{b", "a)b", "a=b", "a\tb"])
def test_a_name_that_delta_must_map_is_refused_unless_it_does(name: str) -> None:
    columns = [{"name": "path", "type": "string"}, {"name": name, "type": "int"}]
    must, got, next_step = refused(
        in_model("files", file_format="delta")._require_storable_columns, columns
    )
    assert "on Delta must be named without a blank" in must
    assert got == f"Got: {name}"
    assert "delta.columnMapping.mode: name" in next_step
    mapped = {"delta.columnMapping.mode": "name"}
    trueup = in_model("files", file_format="delta", tblproperties=mapped)
    trueup._require_storable_columns(columns)
    in_model("files")._require_storable_columns(columns)
