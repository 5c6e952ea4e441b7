"""`trueup prove` on real tables: it proves a good collection, and finds what is wrong."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from tests import strategies
from tests.collection.test_random_orders import PARTIAL, WHOLE, scripts, variety
from tests.collection.test_random_orders import add_log as add_random_log
from tests.collection.test_random_orders import append as append_random
from tests.collection.test_random_orders import write_model as write_random_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

MODEL = """
{{{{ config(materialized='trueup', unique_key=['k', 'n'], meta={{'trueup': {options}}}) }}}}

{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['moment', 'ord'], delete_when="op = 'D'",
    truncate_when="op = 'T'", columns=['A', 'b'], old_key='old', unchanged_value='__same__',
    error='err'
) }}}}
"""
LOG = """create table {}.log (
    k double, n string, moment timestamp, ord decimal(20, 1), op string, A string,
    b struct<x: double>, old struct<k: double, n: string>, err string
) using {format}"""


def prove(project: Project, *words: str, code: int = 0) -> Any:
    """Run `trueup prove --json`. Return the document, or the error."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        exit_code = main(["prove", *words, "--json", "--project-dir", str(project.folder)])
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return json.loads(out.getvalue()) if code < 2 else err.getvalue()


def add_items(project: Project, **options: Any) -> None:
    project.sql(LOG)
    project.write("models/items.sql", MODEL.format(schema=project.name, options=options))


def append(project: Project, *values: str) -> None:
    project.sql(f"insert into {{}}.log values {', '.join(values)}")


def put(key: str, order: str, a: str = "'a'", b: str = "struct(1.5D)", old: str = "null") -> str:
    return f"({key}, timestamp '2026-03-29 {order}, 'U', {a}, {b}, {old}, null)"


FIRST = [
    put("0D, 'x'", "01:00:00', 1"),
    put("-0D, 'x'", "01:00:00', 10", "'newest'", "struct(-0D)"),
    put("0D, 'x'", "01:00:00', 9"),
    put("0D, null", "01:00:00', 1", "null", "null"),
    put("double('NaN'), 'gone'", "01:00:00', 1"),
    "(double('NaN'), 'gone', timestamp '2026-03-29 03:30:00', 5, 'D', null, null, null, null)",
    put("1D, 'tie'", "02:00:00', 1"),
    put("1D, 'tie'", "02:00:00', 1", "'other'"),
    "(1D, 'bad', timestamp '2026-03-29 03:30:00', 5, 'U', 'a', null, null, 'too bad')",
    "(1D, 'never', null, 5, 'U', 'a', null, null, null)",
    put("2D, 'old'", "04:00:00', 1", "'kept'"),
]
LATER = [
    put("2D, 'new'", "04:00:00', 2", "'__same__'", "null", "struct(2D, 'old')"),
    put("double('NaN'), 'gone'", "02:00:00', 9"),
    put("0D, 'x'", "05:00:00', 1", "'__same__'", "struct(7D)"),
]


@pytest.fixture(scope="module")
def proved(new_project: Callable[[str], Project]) -> Project:
    """A project whose collection has read its log in two runs."""
    project = new_project("proved")
    add_items(project)
    append(project, *FIRST)
    project.run("items")
    append(project, *LATER)
    project.run("items")
    return project


def test_a_collection_is_proved_up_to_its_newest_batch(proved: Project) -> None:
    # What no run has read does not count.
    append(proved, put("0D, 'x'", "06:00:00', 1", "'unread'"))
    found = prove(proved, "items", "--all")
    assert found["holds"], found
    assert found["is_pinned"]
    assert (found["keys"], found["commands"], found["differences"]) == (8, 14, [])
    assert found["left_out"] == {}
    assert found["damage"] == {"buckets": [], "history": False}
    # A sample has the same keys each time, and other seeds have others.
    samples = [prove(proved, "items", "--keys", "2", "--seed", str(seed)) for seed in (1, 1, 2)]
    assert samples[0] == samples[1]
    assert all(each["share"] == 4 for each in samples)
    assert any(0 < each["keys"] < 8 for each in samples)


def test_each_kind_of_damage_is_found(proved: Project) -> None:
    version = proved.version("items__trueup")
    assert version is not None
    damages = {
        "the log and the row": (
            "update {}.items__trueup set A = 'wrong' where k = 0 and _kind = 'row'"
        ),
        "the sum of the history and the row": (
            "delete from {}.items__trueup where n = 'x' and _kind = 'update' and _diff = -1"
        ),
    }
    for places, damage in damages.items():
        proved.sql(damage)
        found = prove(proved, "items", "--all", code=1)
        assert places in {one["places"] for one in found["differences"]}, found
        assert found["damage"]["buckets"] or found["damage"]["history"]
        proved.restore({"items__trueup": version})
    # A deleted tombstone, and an order that is behind, show in no row.
    proved.sql("delete from {}.items__trueup where _kind = 'tombstone' and n = 'gone'")
    (one,) = prove(proved, "items", "--all", code=1)["differences"]
    assert one["expected"].startswith("(deleted) at order 2026-03-29 03:30:00.000000, 5")
    assert one["got"] == "(no row)"
    proved.restore({"items__trueup": version})
    proved.sql(
        "update {}.items__trueup"
        " set _order = concat(substring_index(_order, char(2), 2), char(2), 0)"
        " where _kind = 'row' and k = 0 and n is null"
    )
    (one,) = prove(proved, "items", "--all", code=1)["differences"]
    assert one["identity"] == '{"k":0.0,"n":null,"_error_key":null}'
    proved.restore({"items__trueup": version})
    assert prove(proved, "items", "--all")["holds"]


def test_what_the_log_has_lost_is_left_out(own_project: Callable[[str], Project]) -> None:
    project = own_project("forgotten")
    add_items(project)
    append(project, *FIRST)
    project.run("items")
    project.sql("delete from {}.log where n = 'x' and ord = 10")
    append(project, put("5D, 'x'", "01:00:00', 1"))
    project.run("items")
    found = prove(project, "items", "--all")
    assert found["left_out"] == {"lost": ['{"k":0.0,"n":"x","_error_key":null}']}
    assert found["holds"]


def test_a_collection_by_a_select_is_proved(own_project: Callable[[str], Project]) -> None:
    project = own_project("chosen")
    project.sql("create table {}.src using {format} as select 1 as k, 'a' as v, -0D as d")
    config = "{{ config(materialized='trueup', unique_key='k') }}"
    project.write("models/c.sql", f"{config} select k, v, d from {project.name}.src")
    project.run("c")
    found = prove(project, "c")
    assert (found["holds"], found["keys"], found["is_pinned"]) == (True, 1, False)
    project.sql("insert into {}.src values (2, 'b', 1)")
    (one,) = prove(project, "c", code=1)["differences"]
    assert one["got"] == "(no row)"


@pytest.mark.long
@pytest.mark.long_cases
@pytest.mark.parametrize(
    ("is_partial", "has_ticks"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_random_logs_are_proved(
    own_project: Callable[[str], Project], *, is_partial: bool, has_ticks: bool
) -> None:
    script = strategies.choose(scripts(PARTIAL if is_partial else WHOLE, "error"), 3, variety)
    project = own_project("random_proof")
    add_random_log(project, script.width)
    write_random_model(
        project, script, is_partial=is_partial, has_ticks=has_ticks, verify="ancestry"
    )
    for run in script.runs:
        append_random(project, script.width, run)
        project.run("c")
    found = prove(project, "c", "--all")
    assert found["holds"], found
    assert found["left_out"] == {}
    assert found["commands"] == len(script.log)


def test_without_a_collection_or_a_run_it_cannot_run(own_project: Callable[[str], Project]) -> None:
    project = own_project("not_run")
    add_items(project)
    assert "COLLECTION must be one of items" in prove(project, "other", code=2)
    assert "The collection items must be one that has run" in prove(project, "items", code=2)
