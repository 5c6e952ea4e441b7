"""The acceptance cases of order mode, on Spark: rows and errors after each run.

All cases share the runs. They share a collection for each form of commands, too: its key is the
case and the key in the case, and its truncates concern their case only (`truncate_scope`). Cases
with truncates also run in collections without that option.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

CASES = json.loads((Path(__file__).parents[1] / "acceptance" / "order_cases.json").read_text())
UNCHANGED = "__same__"
KEY, VALUE = ["c", "k"], ["a", "b"]
COLUMNS = (
    "c string, k string, ord bigint, op string, a string, b string, error string, old_k string"
)

Case = dict[str, Any]


def is_partial(case: Case) -> bool:
    """Whether a command of the case leaves a column unchanged."""
    return any(UNCHANGED in command.values() for command in commands(case))


def commands(case: Case) -> list[dict[str, Any]]:
    return [command for run in case["runs"] for command in run["commands"]]


def truncates(case: Case) -> str:
    """The truncates of a case, each as its run and its order. Nothing if there are none."""
    found = [
        f"{run}_{command['ord']}"
        for run, each in enumerate(case["runs"])
        for command in each["commands"]
        if command["op"] == "T"
    ]
    return "_".join(found)


COLLECTIONS = defaultdict[str, list[Case]](list)
for each_case in CASES["cases"]:
    forms = ["moved" if each_case["rule"] == "7" else "partial"]
    forms += [] if is_partial(each_case) else ["whole"]
    for form in forms:
        COLLECTIONS[f"{form}_scoped"].append(each_case)
        if truncates(each_case):
            COLLECTIONS[f"{form}_truncated_{truncates(each_case)}"].append(each_case)
RUNS = max(len(case["runs"]) for case in CASES["cases"])


def add(project: Project, name: str) -> None:
    project.sql(
        f"create table {{}}.{name}_log ({COLUMNS}) using {{format}}"
        " tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    partial = "" if name.startswith("whole") else f", unchanged_value='{UNCHANGED}'"
    if name.startswith("moved"):
        partial += ", old_key='if(old_k is null, null, struct(c, old_k))'"
    options = {"truncate_scope": "c"} if name.endswith("_scoped") else {}
    project.write(
        f"models/{name}.sql",
        f"""{{{{ config(materialized='trueup', unique_key={KEY}, meta={{'trueup': {options}}}) }}}}
        {{{{ trueup.commands(
            relation='{project.name}.{name}_log', sequence_by=['ord'], columns={VALUE},
            delete_when="op = 'D'", truncate_when="op = 'T'", error='error'{partial}
        ) }}}}""",
    )


def append(project: Project, name: str, run: int) -> None:
    rows = [
        tuple(
            case["name"] if column == "c" else command.get(column)
            for column in ("c", "k", "ord", "op", "a", "b", "error", "old_k")
        )
        for case in COLLECTIONS[name]
        for command in (case["runs"][run]["commands"] if run < len(case["runs"]) else [])
    ]
    project.insert(f"{name}_log", rows)


def result_of(store: Store) -> dict[str, tuple[list[Any], list[Any]]]:
    """By case: the rows, and the errors with their kinds."""
    found: dict[str, tuple[list[Any], list[Any]]] = {}
    for (case, key), value in store.rows().items():
        found.setdefault(case, ([], []))[0].append((key, *value))
    for errors in (store.errors(), store.order_errors()):
        for (identity, _), kind in errors.items():
            assert identity is not None
            found.setdefault(identity[0], ([], []))[1].append((identity[1], kind))
    return {case: (sorted(rows, key=str), sorted(errors)) for case, (rows, errors) in found.items()}


@pytest.fixture(scope="module")
def results(own_project: Callable[[str], Project]) -> list[dict[str, Any]]:
    """After each run: by collection and case, the rows and the errors."""
    project = own_project("order_rules")
    stores = {name: Store(project, name, KEY, VALUE) for name in COLLECTIONS}
    for name in COLLECTIONS:
        add(project, name)
    found = []
    for run in range(RUNS):
        for name in COLLECTIONS:
            append(project, name, run)
        project.run()
        found.append({name: result_of(store) for name, store in stores.items()})
    for store in stores.values():
        store.check_laws()
    return found


@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize("run", range(RUNS))
def test_each_case_has_its_rows_and_errors_after_each_run(
    results: list[dict[str, Any]], collection: str, run: int
) -> None:
    for case in COLLECTIONS[collection]:
        expected = case["runs"][min(run, len(case["runs"]) - 1)]
        rows, errors = results[run][collection].get(case["name"], ([], []))
        assert rows == sorted(
            ((row["k"], row["a"], row["b"]) for row in expected["rows"]), key=str
        ), case["name"]
        assert errors == sorted((each["k"], each["kind"]) for each in expected["errors"])
