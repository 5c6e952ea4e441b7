"""Every macro is documented, with the arguments that it has."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
import yaml

from tests.macros.package import ROOT, in_model

FOLDERS = sorted(path for path in (ROOT / "macros").iterdir() if any(path.glob("*.sql")))
MACROS = in_model("files").macros
PUBLIC = ("commands", "batch", "changelog", "state", "collection", "errors")


@lru_cache
def documented() -> dict[str, dict[str, Any]]:
    pages = [folder / f"_{folder.name}.yml" for folder in FOLDERS]
    return {
        macro["name"]: macro
        for page in pages
        for macro in yaml.safe_load(page.read_text())["macros"]
    }


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
