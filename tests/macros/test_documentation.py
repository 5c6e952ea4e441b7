"""Every macro is documented, with the arguments that it has."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.macros.package import ROLES, ROOT, in_model

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = sorted(path for path in (ROOT / "macros").rglob("*") if any(path.glob("*.sql")))
MACROS = in_model("files").macros
PUBLIC = (
    *(*ROLES, "collection", "completeness", "live"),
    *("debezium", "wal2json", "parse_json", "snapshot_commands"),
)


def page_of(folder: Path) -> list[dict[str, Any]]:
    page: list[dict[str, Any]] = yaml.safe_load((folder / f"_{folder.name}.yml").read_text())[
        "macros"
    ]
    return page


@lru_cache
def documented() -> dict[str, dict[str, Any]]:
    return {macro["name"]: macro for folder in FOLDERS for macro in page_of(folder)}


def defined_in(folder: Path) -> set[str]:
    sql = "".join(file.read_text() for file in folder.glob("*.sql"))
    blocks = re.findall(r"\{% (macro|test|materialization) (\w+)", sql)
    form = {"macro": "{}", "test": "test_{}", "materialization": "materialization_{}_spark"}
    return {form[block].format(name) for block, name in blocks}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_documents_its_own_macros_each_once(folder: Path) -> None:
    names = [macro["name"] for macro in page_of(folder)]

    assert sorted(names) == sorted(defined_in(folder))


def test_every_macro_is_documented_and_nothing_else_is() -> None:
    assert documented().keys() == MACROS.keys()


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_has_a_sentence_and_its_arguments_in_order(name: str) -> None:
    page = documented()[name]
    arguments = page.get("arguments", [])

    assert page["description"].strip().endswith((".", "`."))
    if arguments or not name.startswith("_"):
        assert tuple(argument["name"] for argument in arguments) == MACROS[name].arguments
    for argument in arguments:
        assert argument["type"]
        assert argument["description"].strip().endswith(".")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_macro_says_what_comes_back_what_holds_and_what_is_refused(name: str) -> None:
    description = documented()[name]["description"]

    for part in ("**Columns that come back", "**Rules**", "**Refused"):
        assert part in description
