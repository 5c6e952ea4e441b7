"""The index from each rule, and each row of Moving here, to its tests is complete."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from functools import cache
from typing import Any

import yaml

from tests.conftest import ROOT, SLOWEST_FIRST
from tests.test_docs import first_cells

RULES: list[dict[str, Any]] = yaml.safe_load((ROOT / "tests" / "rules.yml").read_text())
CASES = ROOT / "tests" / "acceptance" / "order_cases.json"


@cache
def functions_of(file: str) -> set[str]:
    path = ROOT / file
    tree = ast.parse(path.read_text()) if path.exists() else ast.parse("")
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_rule_names_tests_that_exist() -> None:
    named = [test.partition("::") for rule in RULES for test in rule["tests"]]
    missing = [f"{file}::{test}" for file, _, test in named if test not in functions_of(file)]

    assert len(named) > 25
    assert missing == []
    assert all(rule["tests"] for rule in RULES)


def test_each_rule_of_the_page_and_of_the_cases_is_in_the_index() -> None:
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    section = page.partition("\n## Rules\n")[2].partition("\nKeys are compared")[0]
    written = re.findall(r"^\d+\. \*\*(.+?)[.,*]", section, re.MULTILINE)
    indexed = [rule["page"].partition(",")[0] for rule in RULES if "page" in rule]

    assert len(written) > 8
    assert written == indexed
    cases = {case["rule"] for case in json.loads(CASES.read_text())["cases"]}
    assert cases <= {rule["case"] for rule in RULES if "case" in rule}


def test_each_row_of_the_tables_of_moving_here_is_in_the_index() -> None:
    indexed: dict[str, list[str]] = {}
    for rule in RULES:
        for section, cells in rule.get("rows", {}).items():
            indexed.setdefault(section, []).extend(cells)

    page = ROOT / "docs" / "moving-here.md"
    assert len(indexed) == len(re.findall("^## ", page.read_text(), re.MULTILINE))
    assert {section: sorted(first_cells(page, section)) for section in indexed} == {
        section: sorted(cells) for section, cells in indexed.items()
    }


def test_each_file_of_tests_has_a_name_of_its_own() -> None:
    """Else a name on the screen, in the index or in the sequence of a run says two things."""
    names = Counter(file.stem for file in (ROOT / "tests").rglob("test_*.py"))

    assert len(names) > 50
    assert [name for name, count in names.items() if count > 1] == []
    assert {f"test_{name}" for name in SLOWEST_FIRST} <= names.keys()
