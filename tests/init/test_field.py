"""Situations that people have reported: `trueup init`, then `dbt run`, over real tables."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from dbt_trueup.init.log import quoted_text
from tests.acceptance import FOLDER
from tests.init.test_forms import FORMS
from tests.stores import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

CASES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("field/*.json"))}

NUMBER = re.compile(r"-?\d+\.\d+")

QUESTIONS = {
    "dms_without_sequence": ("no column says which is newer: 3 groups of different changes have",),
    "extract_delivered_twice": ("it was delivered twice", "which delivery is the newer one"),
}
"""The cases in which `trueup init` must ask, and what it must say."""

LONG = ("replay_after_restart", "debezium_oracle", "debezium_logical_types")
"""The slowest cases."""


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Iterator[Project]:
    """An empty project, and an empty schema for the logs."""
    project = own_project("field")
    project.sql("create schema if not exists cdc")
    yield project
    for row in project.sql("show tables in cdc"):
        project.sql(f"drop table cdc.{row['tableName']}")


def init(project: Project, relation: str, *words: str, name: str = "c") -> int:
    """Run `trueup init` over a log."""
    folder = str(project.folder)
    return main(["init", relation, *words, "--name", name, "--project-dir", folder])


def plain(value: Any) -> Any:
    """A value as the cases have it, with times as texts. Texts of decimals are numbers, too."""
    if isinstance(value, Decimal) or (isinstance(value, str) and NUMBER.fullmatch(value)):
        return Decimal(value).normalize()
    return str(value) if hasattr(value, "isoformat") else value


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in LONG else [])
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
            assert init(project, case["relation"], *case["init"]) == 0
        # Also the tests that `trueup init` has written: `agrees_with_log` is one of them.
        project.run("c", command="build", fails=False)
        columns = list(right[0])
        rows = project.sql(f"select {', '.join(columns)} from {{}}.c")
        found = [{column: plain(row[column]) for column in columns} for row in rows]
        expected = [{column: plain(value) for column, value in row.items()} for row in right]
        assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("name", QUESTIONS)
def test_init_asks_and_names_what_is_missing(
    project: Project, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    for statement in case["runs"][0]:
        project.sql(statement)
    assert init(project, case["relation"], *case["init"]) == 2
    printed = capsys.readouterr()
    for text in QUESTIONS[name]:
        assert text in printed.err
    assert "the model to start from:" in printed.out
    assert not [*project.folder.glob("models/*")]


DELETED = {
    *("AWS DMS to Kafka/Kinesis JSON", "Maxwell JSON", "CockroachDB changefeed", "Canal"),
    *("GoldenGate, JSON", "Debezium for MySQL", "Debezium, flattened JSON"),
    *("wal2json, format 1", "wal2json, format 2"),
}
"""The forms whose last row deletes the only key."""

ANSWERS = {"OLake append": "coalesce(_cdc_timestamp, timestamp'1970-01-01 00:00:00')"}
"""The order to answer with where the right column lacks values: the model of the page has it."""

LEFT = {
    "Singer, log based": ["b"],
    "Hudi, incremental": [11.0],
    "An application with names in camel case": ["ada l"],
    "Full extracts": ["a"],
    **{form: [] for form in DELETED},
}
"""The values that a form leaves, if it is not one row with `paid`."""

VALUES = {"status", "name", "fare", "username"}
"""The columns of the forms with these values, in lower case."""


def create(project: Project, form: dict[str, Any]) -> str:
    """Create the log of a form, with its rows. Return its name."""
    log = f"cdc.{form['table']}_log"
    names = ", ".join(f"{quote(name)} {kind}" for name, kind in form["types"].items())
    schema = ", ".join(f"{quote(name)}: {kind}" for name, kind in form["types"].items())
    project.sql(f"create table {log} ({names}) using iceberg")
    texts = ", ".join(f"({quoted_text(json.dumps(row))})" for row in form["rows"])
    options = "map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    parsed = f"from_json(text, {quoted_text(f'struct<{schema}>')}, {options})"
    project.sql(
        f"insert into {log} select one.* from"
        f" (select {parsed} as one from values {texts} as rows (text))"
    )
    return log


@pytest.mark.long_cases
@pytest.mark.parametrize("form", FORMS, ids=[form["form"] for form in FORMS])
def test_the_model_of_a_form_has_the_right_rows(
    project: Project, form: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The names of columns are those of real tools. A field that init asks for is answered."""
    log, name = create(project, form), form["table"]
    code = init(project, log, "--json", name=name)
    guesses = {one["field"]: one for one in json.loads(capsys.readouterr().out)["guesses"]}
    unsure = [one for one in guesses.values() if not one["is_sure"]]
    assert code == (2 if unsure else 0)
    answers = [
        (f"--{field.replace('_', '-')}", ANSWERS.get(form["form"], form["right"][field][0]))
        for field in (one["field"] for one in unsure)
    ]
    if answers:
        assert init(project, log, *chain(*answers), name=name) == 0
    assert "agrees_with_log" in (project.folder / f"models/{name}.yml").read_text()
    project.run(name, command="build", fails=False)
    rows = project.sql(f"select * from {{}}.{name}")
    (value,) = {column for row in rows for column in row.asDict() if column.lower() in VALUES} or {
        ""
    }
    assert [row[value] for row in rows] == LEFT.get(form["form"], ["paid"])
