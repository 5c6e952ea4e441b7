"""Each model of docs/your-log.md gives the right rows of a log of its tool, in any sequence."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

PAGE = (Path(__file__).parents[2] / "docs" / "your-log.md").read_text()
LOGS: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("logs.yml").read_text())
SECTIONS = re.split("^### ", PAGE, flags=re.MULTILINE)[1:]
MODELS = {
    section.partition("\n")[0]: found[1]
    for section in SECTIONS
    if (found := re.search("```jinja\n(.*?)```", section, re.DOTALL))
}
"""The models of the page by the heading above them."""


def name_of(tool: str) -> str:
    """The name of the model of a tool."""
    return re.sub("[^a-z0-9]+", "_", tool.lower()).strip("_")


def insert(project: Project, tool: str, rows: list[dict[str, Any]]) -> None:
    """Append rows to the log of a tool."""
    log = LOGS[tool]
    table = f"{project.name}.{name_of(tool)}_log"
    types = {
        field.name: field.dataType.simpleString() for field in project.spark.table(table).schema
    }

    def write(name: str, value: Any) -> Any:
        if value is None or types[name] not in ("string", "binary"):
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        if "prefix" in log and types[name] == "binary":
            return base64.b64encode(bytes.fromhex(log["prefix"]) + text.encode()).decode()
        return text

    texts = [
        (json.dumps({name: write(name, value) for name, value in row.items()}),) for row in rows
    ]
    frame = project.spark.createDataFrame(texts, "text string").coalesce(1)
    fields = f"from_json(text, '{log['columns']}', map('mode', 'FAILFAST')) as row"
    frame.selectExpr(fields).select("row.*").writeTo(table).append()


def rows(project: Project, tool: str) -> list[str]:
    """The rows of the collection of a tool, as texts."""
    name = f"{project.name}.{name_of(tool)}"
    columns = [
        f"coalesce(cast(`{one}` as string), 'null')" for one in project.spark.table(name).columns
    ]
    return sorted(
        row[0] for row in project.sql(f"select concat_ws(', ', {', '.join(columns)}) from {name}")
    )


def error_kinds(project: Project, tool: str) -> list[str]:
    """The kinds of the open errors of a tool."""
    stored = f"{{}}.{name_of(tool)}__trueup where _kind = 'error'"
    return sorted(row[0] for row in project.sql(f"select _error_kind from {stored}"))


def log_test(model: str) -> dict[str, Any]:
    """The test `agrees_with_log` of a model, with the arguments that the model has."""
    calls: list[dict[str, Any]] = []
    configs: dict[str, Any] = {}

    def call(macro: str) -> Callable[..., dict[str, Any]]:
        def keep(relation: Any, **given: Any) -> dict[str, Any]:
            calls.append({"macro": macro, "relation": relation, **given})
            return calls[-1]

        return keep

    macros = {name: call(name) for name in re.findall(r"trueup\.(\w+)", model)}
    jinja2.Template(model).render(trueup=macros, config=configs.update)
    given, key = calls[-1], configs["unique_key"]
    macro, log = given.pop("macro"), given.pop("relation")
    keys = [key] if isinstance(key, str) else key
    if macro != "commands":
        columns = [name for name in given["schema"] if name not in keys]
        given = {"messages": {"macro": macro, **given}, "columns": columns}
    elif isinstance(log, dict):
        log, given["extract"] = log["relation"], log["ts"]
    return {"trueup.agrees_with_log": {"arguments": {"log": log, "key": keys, **given}}}


def test_the_page_has_a_row_and_a_model_of_each_tool() -> None:
    linked = set(re.findall(r"^\| \[.*?\]\(#(.*?)\)", PAGE, re.MULTILINE))
    anchors = {re.sub("[^a-z0-9_ -]", "", tool.lower()).replace(" ", "-") for tool in MODELS}
    assert linked == anchors
    assert MODELS.keys() == LOGS.keys()
    assert len(LOGS) >= 30


@pytest.mark.long
def test_each_model_of_the_page_gives_the_right_rows_in_any_sequence(
    own_project: Callable[[str], Project],
) -> None:
    project, models = own_project("your_log"), []
    for tool, log in LOGS.items():
        project.sql(f"create table {{}}.{name_of(tool)}_log ({log['columns']}) using {{format}}")
        # The newest change comes first, and each change comes twice.
        insert(project, tool, log["rows"][::-1] + log["rows"])
        model = MODELS[tool].replace("cdc.orders", f"{project.name}.{name_of(tool)}_log")
        project.write(f"models/{name_of(tool)}.sql", model)
        models.append({"name": name_of(tool), "data_tests": [log_test(model)]})
    project.write("models/tests.yml", json.dumps({"version": 2, "models": models}))

    project.run(command="build")

    found = {tool: (rows(project, tool), error_kinds(project, tool)) for tool in LOGS}
    right = {tool: (log["right"], log.get("errors", [])) for tool, log in LOGS.items()}
    assert found == right
