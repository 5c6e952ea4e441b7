"""The logs that landing tools write: no guess is sure and wrong, and most need no question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbt_trueup.init.files import Place, write_files
from dbt_trueup.init.guess import guess
from dbt_trueup.init.log import read_log
from dbt_trueup.init.words import collection_name
from tests.acceptance import FOLDER

FILES = (FOLDER / "init_forms.json", Path(__file__).parent / "forms.json")
"""The acceptance forms, and more of the same kind."""

FORMS = [form for file in FILES for form in json.loads(file.read_text())["forms"]]

FIELDS = {"skipped": "skip_when"}
"""The fields that have another name in the forms."""

RIGHT = 0.85
"""The least share of the guesses that must be right without a question."""


def guesses(form: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """The guess of each field that the form names, and whether it is sure."""
    log = read_log(form["table"], form["types"], form["rows"])
    facts = guess(log, collection_name(form["table"]), {})
    made = {field: facts.guesses[FIELDS.get(field, field)] for field in form["right"]}
    return {field: (one.text().replace("`", ""), one.is_sure) for field, one in made.items()}


@pytest.mark.parametrize("form", FORMS, ids=[form["form"] for form in FORMS])
def test_no_guess_is_sure_and_wrong(form: dict[str, Any]) -> None:
    for field, (found, is_sure) in guesses(form).items():
        assert found in form["right"][field] or not is_sure, field


@pytest.mark.parametrize("form", FORMS, ids=[form["form"] for form in FORMS])
def test_a_form_needs_one_model_and_at_most_60_lines(form: dict[str, Any]) -> None:
    log = read_log(form["table"], form["types"], form["rows"])
    facts = guess(log, "orders", {})
    files = write_files(facts, Place("source('cdc', 'orders')", "models", "cdc"))
    assert [*files] == ["models/orders.sql", "models/orders.yml"]
    assert "".join(files.values()).count("\n") <= 60


def test_most_guesses_are_right_without_a_question() -> None:
    assert len(FORMS) >= 30
    right = [
        is_sure and found in form["right"][field]
        for form in FORMS
        for field, (found, is_sure) in guesses(form).items()
    ]
    assert sum(right) / len(right) >= RIGHT
