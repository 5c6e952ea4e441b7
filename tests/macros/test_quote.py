"""Names and texts are quoted in SQL."""

from __future__ import annotations

import re

import pytest

from tests.macros.package import in_model

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
