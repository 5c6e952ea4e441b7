"""The settings of tables and of Spark that the protocol needs. Other settings stop a run."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def errors(project: Project, *words: str, **variables: Any) -> list[str]:
    """Run models, which must fail, and give the messages."""
    project.run(*words, fails=True, **variables)
    return project.messages


def ranges_of(project: Project, table: str) -> list[Any]:
    """The least `_seq` of each data file of a table, as the table format keeps it."""
    if project.table_format == "iceberg":
        query = f"select readable_metrics._seq.lower_bound from {project.name}.{table}.files"
        return [row[0] for row in project.sql(query)]
    (detail,) = project.sql(f"describe detail {{}}.{table}")
    found: list[Any] = []
    commits = Path(detail["location"].removeprefix("file:"), "_delta_log").glob("*.json")
    for commit in sorted(commits):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "metaData" in action:
                # With column mapping a column has another name in the files.
                fields = json.loads(action["metaData"]["schemaString"])["fields"]
                (field,) = [one for one in fields if one["name"] == "_seq"]
                found.clear()
        added = [json.loads(action["add"]["stats"]) for action in actions if "add" in action]
        name = field["metadata"]["delta.columnMapping.physicalName"]
        found += [stats["minValues"].get(name) for stats in added if stats["numRecords"]]
    return found


@pytest.mark.long
def test_a_run_finds_the_new_rows_of_a_wide_table_by_the_ranges_of_its_files(
    project: Project,
) -> None:
    values = [Column(f"v{number}", "int") for number in range(110)]
    project.add_collection("wide", [Column("k", "string")], values)
    project.append("wide", [Command(1, (1,), ("a",), tuple(range(110)))])
    project.run("models/wide")
    for table in ("wide_changelog", "wide_state"):
        ranges = ranges_of(project, table)
        assert ranges, table
        assert None not in ranges, table
    project.run("wide_state", "--full-refresh")
    ranges = ranges_of(project, "wide_state")
    assert ranges
    assert None not in ranges


def test_changelog_and_state_are_made_with_serializable_isolation(
    project: Project,
) -> None:
    levels = LEVELS if project.table_format == "iceberg" else ["delta.isolationLevel"]
    for table in ("c_changelog", "c_state"):
        rows = project.sql(f"show tblproperties {{}}.{table}")
        found = {row["key"]: row["value"].lower() for row in rows}
        assert {found[level] for level in levels} == {"serializable"}


@contextmanager
def weak(project: Project, table: str) -> Iterator[list[str]]:
    """Weaken the isolation of a table. Fill the given list with what a run says of it."""
    level = LEVELS[2]
    project.sql(f"alter table {{}}.{table} set tblproperties ('{level}' = 'snapshot')")
    said: list[str] = []
    try:
        yield said
    finally:
        project.sql(f"alter table {{}}.{table} unset tblproperties ('{level}')")
    message = "\n".join(said)
    assert f"settings.{table} must be with the isolation level serializable" in message
    assert f"Got: {level} = snapshot" in message


@pytest.mark.long_cases
@pytest.mark.parametrize("table", ["c_changelog", "c_state"])
def test_a_table_with_a_weaker_isolation_stops_a_run(project: Project, table: str) -> None:
    with weak(project, table) as said:
        said.extend(errors(project))
    assert project.rows("c") == [("a", "one")]


@pytest.mark.long
def test_a_state_with_a_weaker_isolation_does_not_catch_up(project: Project) -> None:
    project.append("c", [Command(3, (1,), ("a",), ("three",))])
    project.run("c_batch", "c_changelog")
    with weak(project, "c_state") as said:
        said.extend(errors(project, "c_batch"))
    assert project.rows("c") != [("a", "three")]
    project.run()
    assert project.rows("c") == [("a", "three")]


@pytest.mark.long
def test_a_state_with_a_weaker_isolation_is_not_healed(project: Project) -> None:
    project.configure(c={"+unique_key": ["k"], "+meta": {"trueup": {"verify": "always"}}})
    project.sql("update {}.c_state set v = 'edited' where _kind = 'row'")
    with weak(project, "c_state") as said:
        said.extend(errors(project, "c_corrections"))
    assert project.rows("c") == [("a", "edited")]
    project.run()
    assert project.rows("c") == [("a", "three")]


def test_a_changelog_with_a_weaker_isolation_is_not_compacted(project: Project) -> None:
    before = multiset(project.updates("c"))
    with weak(project, "c_changelog") as said:
        said.extend(project.operate("compact", fails=True, collection="c", since=2))
    assert multiset(project.updates("c")) == before


@pytest.mark.long
def test_a_session_whose_timestamps_have_no_zone_stops_a_run(project: Project) -> None:
    setting = "spark.sql.timestampType"
    project.append("c", [Command(6, (1,), ("a",), ("six",))])
    before = project.rows("c")
    project.spark.conf.set(setting, "TIMESTAMP_NTZ")
    try:
        messages = errors(project)
    finally:
        project.spark.conf.unset(setting)
    assert f"The Spark setting `{setting}` must be TIMESTAMP_LTZ" in "\n".join(messages)
    assert project.rows("c") == before
    project.run()
    assert project.rows("c") == [("a", "six")]


@pytest.mark.long
def test_a_session_whose_timestamps_have_no_zone_adds_no_column(project: Project) -> None:
    setting, name = "spark.sql.timestampType", "dated"
    project.add_collection(
        name, [Column("k", "string")], [Column("v", "string")], {"late": "correct"}
    )
    project.append(name, [Command(1, (1,), ("a",), ("one",))])
    project.run(f"models/{name}")
    project.set_column(name, Column("at", "timestamp"))
    project.spark.conf.set(setting, "TIMESTAMP_NTZ")
    try:
        messages = errors(project, f"models/{name}")
    finally:
        project.spark.conf.unset(setting)
    assert f"The Spark setting `{setting}` must be TIMESTAMP_LTZ" in "\n".join(messages)
    assert "at" not in project.spark.table(f"{project.name}.{name}_changelog").columns
    project.run(f"models/{name}")
    assert dict(project.spark.table(f"{project.name}.{name}").dtypes)["at"] == "timestamp"


@pytest.mark.long
def test_a_spark_that_inlines_ctes_in_commands_stops_a_run(project: Project) -> None:
    setting = "spark.sql.legacy.inlineCTEInCommands"
    project.append("c", [Command(7, (1,), ("a",), ("seven",))])
    before = project.rows("c")
    assert before != [("a", "seven")]
    project.spark.conf.set(setting, "true")
    try:
        outcomes = [errors(project), errors(project, "--full-refresh", rebase=True)]
    finally:
        project.spark.conf.unset(setting)
    for messages in outcomes:
        assert f"The Spark setting `{setting}` must be false" in "\n".join(messages)
    assert project.rows("c") == before
    project.run()
    assert project.rows("c") == [("a", "seven")]
