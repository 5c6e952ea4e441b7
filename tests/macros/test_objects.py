"""The pages and the YAML list the fields that the macros give to collections and batches."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.macros.package import ROOT, in_model

PAGE = (ROOT / "docs" / "objects.md").read_text()
HOLDERS = "plan|progress(?!\\.enabled|\\._)|tail"
"""Names in macros of a plan, of a part of it, and of the result of `_get_tail`."""
NOT_FIELDS = {"sql", "updates_ahead", "read"}
"""Other words that follow these names: a file ending, and fields of the tail."""


def fields(heading: str, until: str) -> list[str]:
    """Read the first column of the tables between two headings of the page."""
    part = PAGE.partition(heading)[2].partition(until)[0]
    return re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)


def source(path: str) -> str:
    """Read a file of the folder `macros`."""
    return (ROOT / "macros" / path).read_text()


def test_the_page_lists_the_fields_of_a_collection() -> None:
    built = list(in_model("files_batch")._collection("batch"))
    added = re.findall(r"^        (\w+)=", source("commands/input.sql"), re.MULTILINE)

    assert fields("## `collection`", "`_ensure_input") == built
    assert fields("`_ensure_input", "## `plan`") == added


def test_the_page_lists_exactly_the_fields_of_a_plan() -> None:
    listed = fields("The tables of the collection say", "## Findings")
    read = {
        field
        for file in (ROOT / "macros").rglob("*.sql")
        if file.parent.name not in ("certify", "collection")  # their CTEs have such names
        for field in re.findall(rf"\b(?:{HOLDERS})\.(?:get\('(?=\w))?(\w+)", file.read_text())
    }

    assert len(listed) == len(set(listed))
    assert set(listed) == read - NOT_FIELDS


def test_the_progress_row_has_the_fields_of_the_type_of_statistics() -> None:
    names = [field["name"] for field in in_model("files_batch")._statistics_fields()]
    macro = source("stage/batch_statistics.sql").partition("macro _staged_statistics_expr(")[2]
    row = macro.partition("named_struct(")[2].partition("endmacro")[0]
    written = re.findall(r"^    '(\w+)',", row, re.MULTILINE)

    assert [*written, "seal"] == names


def test_the_view_of_batches_reads_only_existing_statistics() -> None:
    names = {field["name"] for field in in_model("files_batch")._statistics_fields()}
    view = (ROOT / "models" / "operations" / "trueup_batches.sql").read_text()
    read = set(re.findall(r"_statistics\.(\w+)", view))

    assert read
    assert read <= names


def columns_of(model: str) -> dict[str, Any]:
    """Read the columns of a demo model from its YAML: types by name."""
    page = yaml.safe_load((ROOT / "models" / "demo" / "files" / f"{model}.yml").read_text())
    return {column["name"]: column["data_type"] for column in page["models"][0]["columns"]}


@pytest.mark.parametrize("model", ["files_batch", "files_changelog", "files_state"])
def test_the_yaml_of_the_demo_lists_the_columns_of_the_tables(model: str) -> None:
    trueup = in_model("files_batch")
    own = trueup._state_columns() if model == "files_state" else trueup._update_columns()

    assert list(columns_of(model)) == ["path", "mode", "blob", "_error", "_error_key", *own]


@pytest.mark.parametrize("model", ["files_batch", "files_changelog"])
def test_the_yaml_of_the_demo_has_the_types_of_the_progress_row(model: str) -> None:
    trueup, types = in_model("files_batch"), columns_of(model)

    assert types["_statistics"] == trueup._statistics_type()
    assert types["_certificate"] == trueup._certificate_type()
