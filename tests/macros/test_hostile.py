"""Every argument and option is quoted as a whole or refused, even with a hostile text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.macros.package import ROOT, RefusedError, in_model, refused

TEXTS = [
    "hostile",
    "hostile`s",
    "``hostile`",
    "it's hostile",
    "hostile\\",
    "\\'hostile",
    '"hostile"',
    "hostile -- comment",
    "/* hostile */",
    "x; drop table hostile",
    "'; drop table hostile; --",
    "{{ hostile }}",
    "{% hostile %}",
    "hostile\nhostile",
    "hostile\x00",
    "\U0001f98a hostile",
    "hostile" * 10_000,
]
each_text = pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:30]))
REPLACED = [
    "${env:HOME}",
    "hostile ${system:user.home}",
    "$${hostile}",
    "\\${env:HOME}",
    "${${env:HOME}}",
]
"""Spark replaces these in the text of a statement, even inside quotes."""
each_replaced = pytest.mark.parametrize("text", REPLACED)
QUOTED = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'", re.DOTALL)
"""An identifier or a literal, as Spark reads it."""


def render(unique_key: object = ("path",), **given: Any) -> str:
    arguments = {"relation": "lake.log", "ts": "tick", "sequence_by": ["line"]} | given
    return str(in_model("files_commands", unique_key=unique_key).commands(**arguments))


@each_text
@pytest.mark.parametrize(
    "argument",
    [
        *("columns", "except_columns", "column_list", "except_column_list", "reclock"),
        *("ignore_null_updates", "ignore_null_updates_column_list"),
        "ignore_null_updates_except_column_list",
    ],
)
def test_a_name_in_a_list_is_quoted_as_a_whole(argument: str, text: str) -> None:
    given = {"ts": None} if argument == "reclock" else {}
    sql = render(**given, **{argument: [text, "other"]})

    assert "hostile" in sql.lower()
    assert "hostile" not in QUOTED.sub("", sql)


@each_text
def test_the_name_of_a_key_column_is_quoted_as_a_whole(text: str) -> None:
    for role in ("commands", "batch", "changelog", "state", "errors", "collection"):
        model = "files" if role == "collection" else f"files_{role}"
        trueup = in_model(model, unique_key=[text])
        sql = render([text]) if role == "commands" else str(getattr(trueup, role)("files"))

        # The changelog and the view name no column.
        assert ("hostile" in sql) == (role not in ("changelog", "collection"))
        assert "hostile" not in QUOTED.sub("", sql)


@each_text
def test_the_unchanged_value_is_one_literal(text: str) -> None:
    sql = render(unchanged_value=text)

    assert "hostile" in sql
    assert "hostile" not in QUOTED.sub("", sql)


@each_replaced
def test_a_literal_has_no_text_that_spark_would_replace(text: str) -> None:
    sql = render(unchanged_value=text)

    assert "${" not in sql
    assert "$\\{" in sql


@each_replaced
@pytest.mark.parametrize("argument", ["columns", "except_columns", "ignore_null_updates"])
def test_a_name_with_text_that_spark_would_replace_is_refused(argument: str, text: str) -> None:
    must, got, _ = refused(render, **{argument: [text]})

    assert must == "Each column must be named without `${`, which Spark replaces in SQL text."
    assert got == f"Got: {text}"


def test_the_expressions_of_a_user_reach_spark_as_they_are() -> None:
    assert "'${env:HOME}'" in render(error="'${env:HOME}'")


@each_text
def test_the_name_of_inline_errors_is_quoted_as_a_whole(text: str) -> None:
    sql = str(in_model("files", options={"inline_errors": text}).collection("files"))

    assert "hostile" in sql
    assert "hostile" not in QUOTED.sub("", sql)


@each_text
@pytest.mark.parametrize(
    "option",
    [
        *("as_of", "errors", "late", "max_commands_per_batch", "null_keys", "on_schema_change"),
        "ties",
    ],
)
def test_a_hostile_value_of_an_option_is_refused(option: str, text: str) -> None:
    trueup = in_model("files_batch", options={option: text})

    must, got, _ = refused(trueup.batch, "files")

    assert option in must
    assert "hostile" not in must
    assert got == f"Got: {text}"


@each_text
def test_a_hostile_name_of_an_option_is_refused(text: str) -> None:
    must, _, _ = refused(in_model("files_batch", options={text: 1}).batch, "files")

    assert "must be one of as_of" in must


def test_only_words_of_the_package_are_put_between_quotes_without_an_escape() -> None:
    files = [*(ROOT / "macros").rglob("*.sql"), *(ROOT / "models" / "operations").glob("*.sql")]
    found = {name for file in files for name in re.findall(r"'\{\{ (\w+) \}\}'", file.read_text())}

    assert found == {"part", "event", "table", "invocation_id"}


@each_text
@pytest.mark.parametrize("role", ["batch", "changelog", "state", "errors"])
def test_a_hostile_name_of_a_collection_is_refused(role: str, text: str) -> None:
    with pytest.raises(RefusedError, match="must be called from the model"):
        getattr(in_model(f"files_{role}"), role)(text)
