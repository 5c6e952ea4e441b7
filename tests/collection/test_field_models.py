"""Situations from public reports (tests/acceptance/field), each with a model of a user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

FOLDER = Path(__file__).parents[1] / "acceptance" / "field"


class Model(NamedTuple):
    """What a user writes for a log, and the arguments of `agrees_with_log` if the log is plain."""

    key: str
    call: str
    test: dict[str, Any] | None = None


def commands(key: str, order: str, delete: str, columns: list[str], *, skip: str = "") -> Model:
    """The model of a log whose columns are the key, the order and the values."""
    call = f"sequence_by=['{order}'], columns={columns}, delete_when={delete!r}"
    call += f", skip_when={skip!r}" if skip else ""
    test: dict[str, Any] = {
        "key": [key],
        "sequence_by": [order],
        "delete_when": delete,
        "columns": columns,
    }
    if skip:
        test["skip_when"] = skip
    return Model(key, f"trueup.commands(relation='{{log}}', {call})", test)


SCN = "cast(get_json_object(value, '$.source.scn') as bigint)"
MODELS = {
    "replay_after_restart": Model(
        "id", "trueup.debezium(relation='{log}', schema={{'id': 'bigint', 'status': 'string'}})"
    ),
    "debezium_oracle": Model(
        "id",
        f"trueup.debezium(relation='{{log}}', sequence_by=[{SCN!r}],"
        " schema={{'id': 'bigint', 'sal': 'string'}})",
    ),
    "qlik_before_images": commands(
        *("id", "header__change_seq", "header__change_oper = 'D'", ["name"]),
        skip="header__change_oper = 'B'",
    ),
    "deletes_singer": commands(
        "id", "_sdc_sequence", "_sdc_deleted_at is not null", ["name", "city"]
    ),
    "deletes_camel_case": commands("id", "updatedAt", "isDeleted", ["userName"]),
    "deletes_hudi": commands("trip_id", "_hoodie_commit_seqno", "_hoodie_is_deleted", ["fare"]),
}
"""Cases with right rows, each with its model."""


def open_case(own_project: Callable[[str], Project], name: str) -> tuple[Project, dict[str, Any]]:
    found = json.loads((FOLDER / f"{name}.json").read_text())
    project = own_project("field")
    for run in found["runs"]:
        run[:] = [each.replace(found["relation"], f"{project.name}.log") for each in run]
    return project, found


def write(project: Project, model: Model) -> None:
    log = f"{project.name}.log"
    project.write_model("items", f"{{{{ {model.call.format(log=log)} }}}}", [model.key], {})
    if model.test is not None:
        test = {"trueup.agrees_with_log": {"arguments": {"log": log, **model.test}}}
        described = {"models": [{"name": "items", "data_tests": [test]}]}
        project.write("models/items.yml", yaml.safe_dump(described))


@pytest.mark.long
@pytest.mark.parametrize("case", MODELS)
def test_a_log_from_the_field_gives_the_right_rows(
    case: str, own_project: Callable[[str], Project]
) -> None:
    project, found = open_case(own_project, case)
    write(project, MODELS[case])
    for statements, right in zip(found["runs"], found["right"], strict=True):
        for statement in statements:
            project.spark.sql(statement)
        project.run("items", command="build")

        names = list(right[0])
        got = project.sql(f"select {', '.join(names)} from {{}}.items order by {MODELS[case].key}")
        assert [row.asDict() for row in got] == right
    test = MODELS[case].test
    if test is not None:
        # The test finds a value that nobody has sent.
        column = test["columns"][-1]
        project.sql(f"update {{}}.items__trueup set {column} = null where _kind = 'row'")
        project.run("items", command="test", fails=True)


def test_changes_of_one_time_without_an_order_are_ties(
    own_project: Callable[[str], Project],
) -> None:
    """DMS without a sequence: no column says which of two changes is newer."""
    project, found = open_case(own_project, "dms_without_sequence")
    write(project, commands("item_id", "ts", "Op = 'D'", ["name"]))
    for statement in found["runs"][0]:
        project.spark.sql(statement)
    project.write("models/items_errors.sql", "{{ trueup.errors(ref('items')) }}")
    no_errors = {"models": [{"name": "items_errors", "data_tests": ["trueup.no_open_errors"]}]}
    project.write("models/items_errors.yml", yaml.safe_dump(no_errors))
    project.run()
    project.run(command="test", fails=True)

    assert project.rows("items") == []
    errors = project.sql("select item_id, _error_kind from {}.items_errors order by 1")
    assert [tuple(row) for row in errors] == [(key, "tie") for key in (1, 2, 3)]
