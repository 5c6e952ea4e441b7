"""The examples of `docs/which-options.md` give the rows that the page shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from tests.conftest import ROOT
from tests.project import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

PAGE = (ROOT / "docs" / "which-options.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^`(\w+)`:[^|]*?\n\n((?:\|[^\n]*\n)+)", re.MULTILINE)


class Shown(NamedTuple):
    """A table of the page: its name, its columns, and its cells as texts."""

    name: str
    columns: list[str]
    rows: list[list[str]]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


SHOWN = [
    Shown(name, cells(lines[0]), [cells(line) for line in lines[2:]])
    for name, table in TABLE.findall(PAGE)
    for lines in [table.strip().splitlines()]
]


@pytest.fixture(scope="module")
def shop(new_project: Callable[[str], Project]) -> Project:
    """The project from the code blocks of the page, after one run."""
    project = new_project("shop")
    config: dict[str, Any] = {}
    for language, text in BLOCK.findall(PAGE):
        model = re.match(r"-- (models/\S+\.sql)\n", text)
        if language == "yaml":
            config |= yaml.safe_load(text)
        elif model:
            project.write(model.group(1), text)
        else:
            for statement in text.split(";\n"):
                statement = statement.replace("using iceberg", "using {format}")  # noqa: PLW2901
                project.sql(statement) if statement.strip() else None
    tables = [{"name": name} for name in sorted(set(re.findall(r"source\('shop', '(\w+)'", PAGE)))]
    project.write(
        "models/sources.yml",
        yaml.safe_dump({"sources": [{"name": "shop", "schema": "shop", "tables": tables}]}),
    )
    for name in config:
        project.write(f"models/{name}/{name}.sql", f"{{{{ trueup.collection('{name}') }}}}")
        for role in ROLES[1:]:
            project.write(f"models/{name}/{name}_{role}.sql", f"{{{{ trueup.{role}('{name}') }}}}")
    project.configure(**config)
    project.run()
    return project


def test_the_page_has_eight_tables_of_rows() -> None:
    assert len(SHOWN) == 8
    assert all(shown.rows for shown in SHOWN)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.name)
def test_an_example_gives_the_rows_that_the_page_shows(shown: Shown, shop: Project) -> None:
    columns = ", ".join(
        f"coalesce(cast({name} as string), 'null') as {name}" for name in shown.columns
    )
    where = "where _kind = 'update'" if shown.name.endswith("_changelog") else ""
    found = shop.sql(f"select {columns} from {{}}.{shown.name} {where}")

    assert sorted(list(row) for row in found) == sorted(shown.rows)
