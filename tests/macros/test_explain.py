"""Renders the select of `explain`, and compares its verdicts with the page about them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dbt_trueup.explain.screen import DEBEZIUM_POSITION
from tests.macros.package import ROOT, Package, in_model, one_line, refused

COLUMNS = [
    {"name": "a`b", "type": "string"},
    {"name": "n", "type": "int"},
    {"name": "line\n  end", "type": "double"},
]
PAGE = (ROOT / "docs" / "explain.md").read_text()


def collection(trueup: Package, **changes: Any) -> dict[str, Any]:
    """Return what `_get_explained_collection` returns, without a query."""
    given = {
        "name": "files",
        "unique_key": ["a`b", "n"],
        "identity": ["a`b", "n", "_error_key"],
        "options": trueup._options(),
        "is_by_select": False,
        "changelog": "lake.files_changelog",
        "state": "lake.files_state",
        "commands": "lake.files_commands",
        "command_columns": COLUMNS,
        "extras": [],
        "columns": COLUMNS,
    }
    return given | changes


@pytest.fixture
def trueup() -> Package:
    return in_model("files_batch")


def test_every_verdict_is_on_the_page_and_every_verdict_of_the_page_exists(trueup: Package) -> None:
    commands = list(trueup._command_verdicts(trueup._options()))
    section = PAGE.partition("## The verdicts on commands")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == commands

    section = PAGE.partition("## The verdicts on rows")[2].partition("\n## ")[0]
    cells = [row.split("|")[2] for row in re.findall(r"^\| .*", section, re.MULTILINE)]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(trueup._row_verdicts())


@pytest.mark.parametrize("late", ["drop", "correct", "newest", "fail"])
def test_every_verdict_that_the_select_gives_has_a_rule(late: str) -> None:
    trueup = in_model("files_batch", options={"late": late, "as_of": 3})
    given = collection(trueup)
    sql = str(trueup._explained_verdict_expr(given))
    found = set(re.findall(r"(?:then|else) '(\w+)'", sql))
    assert {"wins", "before_as_of", "not_settled"} < found
    assert found <= set(trueup._command_verdicts(given["options"]))

    sql = str(trueup._row_facts_select(given, ["v"])).partition("from (")[2]
    found = set(re.findall(r"(?:then|else) '(\w+)'", sql))
    assert {"agree", "late", "waits", "differ", "behind", "edited"} <= found
    assert found <= set(trueup._row_verdicts())


def test_the_names_of_columns_keep_their_quotes_and_line_ends(trueup: Package) -> None:
    sql = str(trueup._explained_select(collection(trueup), "`a``b` <=> 'x'", 5))

    assert "'line\n  end', _row.`line\n  end`" in sql
    assert "`line\n    " not in sql
    assert "where row_no <= 5 or verdict = 'wins'" in sql
    assert "row_no <=" not in str(trueup._explained_select(collection(trueup), "true", None))


def test_a_collection_by_a_select_has_no_commands(trueup: Package) -> None:
    sql = str(trueup._explained_select(collection(trueup, is_by_select=True), "true", None))

    assert "judged" not in sql
    assert "'select' as source" in sql


def test_a_key_is_compared_null_safe_with_values_of_its_types() -> None:
    trueup = in_model("files_batch", row={"a": True, "b": True})

    condition = trueup._get_is_identity_expr(collection(trueup), {"N": None, "A`b": "it's"}, None)

    assert one_line(condition) == (
        "(_error_key <=> null and `a``b` <=> try_cast('it\\'s' as string)"
        " and `n` <=> cast(null as int))"
    )


def test_an_error_key_has_no_key_columns(trueup: Package) -> None:
    condition = trueup._get_is_identity_expr(collection(trueup), None, "x00")

    assert condition == "(_error_key <=> 'x00' and `a``b` <=> null and `n` <=> null)"


@pytest.mark.parametrize(
    ("key", "error_key", "got"),
    [
        (None, None, "Got: neither"),
        ({"n": 1}, "x00", "Got: both"),
        ({"n": 1}, None, "Got: {'n': 1}"),
        ({"n": 1, "a`b": 2, "c": 3}, None, "Got: {'n': 1, 'a`b': 2, 'c': 3}"),
        ("a", None, "Got: a"),
    ],
)
def test_a_key_without_each_of_its_columns_is_refused(
    trueup: Package, key: object, error_key: str | None, got: str
) -> None:
    given = collection(trueup)

    assert refused(trueup._get_is_identity_expr, given, key, error_key)[1] == got


@pytest.mark.parametrize("latest", [0, -1, 2**63, 1.5, "5", True])
def test_the_number_of_the_latest_commands_must_be_positive(latest: object) -> None:
    must, got, _ = refused(in_model("why").explain, "files", {"n": 1}, None, latest)

    assert must.startswith("`trueup.explain` argument `latest` must be a positive integer, or none")
    assert got == f"Got: {latest}"


def test_a_value_that_cannot_be_cast_is_refused() -> None:
    trueup = in_model("files_batch", row={"a": True, "b": False})
    given = collection(trueup)

    must, got, _ = refused(trueup._get_is_identity_expr, given, {"n": "one", "a`b": "x"}, None)

    assert must.endswith("must be a value of the type int for the column n.")
    assert got == "Got: one"


def test_a_log_of_which_a_sample_does_not_say_all_cannot_be_proved(trueup: Package) -> None:
    partial = {**trueup._options(), "log": "partial"}
    for changes, why in (
        ({"is_by_select": True}, "a collection by a SELECT"),
        ({"options": partial}, "the option `log: partial`"),
    ):
        must, got, _ = refused(trueup._require_provable, collection(trueup, **changes))
        assert "of `trueup prove` must be made by a log that has all commands of each key" in must
        assert got.startswith(f"Got: {why}")
    trueup._require_provable(collection(trueup))
    trueup._require_provable(collection(trueup, extras=["_old_key", "_unchanged"]))


def test_a_sample_that_takes_values_from_too_many_keys_is_refused(trueup: Package) -> None:
    must, got, then = refused(
        trueup._require_small_sample, collection(trueup), {"keys": 100}, 10_001
    )
    assert "its 100 keys take values, must be at most 10000 keys" in must
    assert (got, then) == ("Got: 10001 keys or more", "Take fewer keys: `--keys`.")
    trueup._require_small_sample(collection(trueup), {"keys": 100}, 10_000)


def test_the_first_dealt_batch_begins_with_nothing_and_the_next_with_what_it_left(
    trueup: Package,
) -> None:
    first, second = (
        one_line(trueup._dealt_updates_select(collection(trueup), number)) for number in (1, 2)
    )

    assert "_step_batch = 1" in first
    assert "having sum(_diff) > 0" not in first
    assert "having sum(_diff) > 0" in second


@pytest.mark.parametrize(
    ("number", "is_rounded"),
    [
        ("1.005", True),
        ("-0.001", True),
        ("1005e-3", True),
        ("1E-8", True),
        (" .125 ", True),
        ("1.00", False),
        ("1.500", False),
        ("100", False),
        ("0.000", False),
        ("0E-9", False),
        ("1.5e1", False),
        ("2E+3", False),
        (1.5, False),
        ("one", False),
    ],
)
def test_a_decimal_is_not_rounded_to_another_key(
    trueup: Package, number: object, *, is_rounded: bool
) -> None:
    literal = trueup._typed_literal_expr(number, "decimal(10,2)")

    assert (literal == "cast(null as decimal(10,2))") == is_rounded
    # A whole decimal and a double stay as they are.
    assert trueup._typed_literal_expr(number, "double").startswith("try_cast(")


def test_only_decimals_that_may_have_more_digits_are_checked_in_a_struct(trueup: Package) -> None:
    many = trueup._with_most_decimals(
        "struct<a:decimal(10,2),b:decimal(38,9),c:array<decimal(1,1)>>"
    )
    assert many == "struct<a:decimal(38,30),b:decimal(38,9),c:array<decimal(38,38)>>"
    assert trueup._typed_literal_expr("{}", "struct<a:int>").startswith("try_variant_get(")


def test_the_screen_knows_the_fields_of_a_position_of_debezium(trueup: Package) -> None:
    position = trueup._sequence_expr(trueup._debezium_positions())
    assert tuple(re.findall(r"'(\w+)'", position)) == DEBEZIUM_POSITION
