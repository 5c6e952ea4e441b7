"""What the protocol relies on of tables and of Spark: anything else stops a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance import Column
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

LEVELS = [f"write.{action}.isolation-level" for action in ("delete", "update", "merge")]


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    project = new_project("settings")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    project.append("c", [Command(1, (1,), ("a",), ("one",))])
    project.run()
    project.append("c", [Command(2, (1,), ("a",), ("two",))])
    return project


def said(project: Project) -> str:
    project.run(fails=True)
    return "\n".join(project.messages)


def test_changelog_and_state_are_made_with_the_isolation_that_the_protocol_needs(
    project: Project,
) -> None:
    for table in ("c_changelog", "c_state"):
        rows = project.sql(f"show tblproperties {{}}.{table}")
        found = {row["key"]: row["value"] for row in rows}
        assert [found[level] for level in LEVELS] == ["serializable"] * 3


@pytest.mark.parametrize("table", ["c_changelog", "c_state"])
def test_a_table_with_a_weaker_isolation_stops_a_run(project: Project, table: str) -> None:
    level = LEVELS[2]
    project.sql(f"alter table {{}}.{table} set tblproperties ('{level}' = 'snapshot')")
    try:
        message = said(project)
    finally:
        project.sql(f"alter table {{}}.{table} unset tblproperties ('{level}')")
    assert f"settings.{table} must be with the isolation level serializable" in message
    assert f"Got: {level} = snapshot" in message
    assert project.rows("c") == [("a", "one")]


def test_a_spark_that_writes_ctes_out_stops_a_run(project: Project) -> None:
    setting = "spark.sql.legacy.inlineCTEInCommands"
    project.append("c", [Command(3, (1,), ("a",), ("three",))])
    project.spark.conf.set(setting, "true")
    try:
        message = said(project)
    finally:
        project.spark.conf.unset(setting)
    assert f"The Spark setting `{setting}` must be false" in message
    project.run()
    assert project.rows("c") == [("a", "three")]
