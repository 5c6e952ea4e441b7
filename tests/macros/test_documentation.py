"""Macros for users are documented; the others are hidden from dbt's documentation."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.macros.package import ROOT, in_model

if TYPE_CHECKING:
    from pathlib import Path

MACROS = in_model("files").macros
PAGES = [page for page in (ROOT / "macros").rglob("_*.yml") if page.name != "_hidden.yml"]
HIDDEN = ROOT / "macros" / "_hidden.yml"
FULLY_DESCRIBED = ("commands", "debezium", "wal2json", "parse_json", "snapshot_commands")


@lru_cache
def documented() -> dict[str, tuple[Path, dict[str, Any]]]:
    return {
        macro["name"]: (page, macro)
        for page in PAGES
        for macro in yaml.safe_load(page.read_text())["macros"]
    }


def defined_in(folder: Path) -> set[str]:
    sql = "".join(file.read_text() for file in folder.glob("*.sql"))
    blocks = re.findall(r"\{% (macro|test|materialization) (\w+)", sql)
    form = {"macro": "{}", "test": "test_{}", "materialization": "materialization_{}_spark"}
    return {form[block].format(name) for block, name in blocks}


def test_a_macro_for_users_is_documented_and_every_other_is_hidden() -> None:
    hidden = yaml.safe_load(HIDDEN.read_text())["macros"]

    assert [macro["name"] for macro in hidden] == sorted(
        name for name in MACROS if name.startswith("_")
    )
    assert all(macro["docs"] == {"show": False} for macro in hidden)
    assert documented().keys() == {name for name in MACROS if not name.startswith("_")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_documents_only_macros_of_its_own_folder(page: Path) -> None:
    assert {name for name, (at, _) in documented().items() if at == page} <= defined_in(page.parent)


@pytest.mark.parametrize("name", [name for name in MACROS if not name.startswith("_")])
def test_a_macro_for_users_has_a_description_and_its_arguments_in_order(name: str) -> None:
    _, page = documented()[name]
    arguments = page.get("arguments", [])

    assert page["description"].strip().endswith((".", "`."))
    assert tuple(argument["name"] for argument in arguments) == MACROS[name].arguments
    for argument in arguments:
        assert argument["type"]
        assert argument["description"].strip().endswith(".")


@pytest.mark.parametrize("name", FULLY_DESCRIBED)
def test_a_description_has_sections_for_columns_rules_and_refusals(name: str) -> None:
    description = documented()[name][1]["description"]

    for part in ("**Columns that come back", "**Rules**", "**Refused"):
        assert part in description
