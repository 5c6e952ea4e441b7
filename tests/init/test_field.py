"""Situations that people have reported: `trueup init`, then `dbt run`, over real tables."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from tests.acceptance import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

CASES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("field/*.json"))}

QUESTIONS = {
    "dms_without_sequence": ("no column says which is newer: 3 groups of different changes have",),
    "extract_delivered_twice": ("it was delivered twice", "which delivery is the newer one"),
}
"""The cases in which `trueup init` must ask, and what it must say."""

PENDING = ("debezium_logical_types", "debezium_oracle")
"""The cases that need the types and positions that `trueup.debezium` does not read yet."""


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Iterator[Project]:
    """An empty project, and an empty schema for the logs."""
    project = own_project("field")
    project.sql("create schema if not exists cdc")
    yield project
    for row in project.sql("show tables in cdc"):
        project.sql(f"drop table cdc.{row['tableName']}")


def init(project: Project, case: dict[str, Any], *words: str) -> int:
    """Run `trueup init` over the log of a case."""
    folder = ("--project-dir", str(project.folder))
    return main(["init", case["relation"], *case["init"], *words, "--name", "c", *folder])


def plain(value: Any) -> Any:
    """A value as the cases have it: decimals and times are texts."""
    if isinstance(value, Decimal):
        return str(value.normalize())
    return str(value) if hasattr(value, "isoformat") else value


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(name in PENDING, reason=str(PENDING)))
        for name in CASES
        if name not in QUESTIONS
    ],
)
def test_the_rows_are_right_after_each_run(project: Project, name: str) -> None:
    case = CASES[name]
    for statements, right in zip(case["runs"], case["right"], strict=True):
        for statement in statements:
            project.sql(statement)
        if not (project.folder / "models/c.sql").exists():
            assert init(project, case) == 0
        project.run("c", fails=False)
        columns = list(right[0])
        rows = project.sql(f"select {', '.join(columns)} from {{}}.c")
        found = [{column: plain(row[column]) for column in columns} for row in rows]
        assert sorted(found, key=str) == sorted(right, key=str)


@pytest.mark.parametrize("name", QUESTIONS)
def test_init_asks_and_names_what_is_missing(
    project: Project, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    for statement in case["runs"][0]:
        project.sql(statement)
    assert init(project, case) == 2
    printed = capsys.readouterr()
    for text in QUESTIONS[name]:
        assert text in printed.err
    assert "the model to start from:" in printed.out
    assert not [*project.folder.glob("models/*")]
