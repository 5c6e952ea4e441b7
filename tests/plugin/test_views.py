"""dbt knows the views of an Iceberg catalog."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.spark.relation import SparkRelation
from dbt.cli.main import dbtRunner
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from dbt_trueup.plugin import views

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

SCHEMA: Any = SparkRelation.create(schema="s")
SAYS = """\
{{ config(materialized='table') }}
{% set shown = load_relation(ref('shown')) if execute else ref('shown') %}
select '{{ shown.type if shown else 'missing' }}' as type
"""


def a_table(*, is_iceberg: bool) -> Any:
    return SparkRelation.create(schema="s", identifier="t", is_iceberg=is_iceberg)


def adapter(*names: str | None, fails: bool = False) -> Any:
    """Stand for an adapter. None is a temporary view."""

    def execute(sql: str, *, fetch: bool) -> tuple[None, list[dict[str, str]]]:
        assert (sql, fetch) == ("show views in s", True)
        if fails:
            message = "the catalog has no views"
            raise DbtRuntimeError(message)
        rows = [
            {"namespace": "s" if name else "", "viewName": name or "temporary"} for name in names
        ]
        return None, rows

    return SimpleNamespace(execute=execute, Relation=SparkRelation)


def test_views_are_listed_once_and_temporary_ones_not() -> None:
    found = views.views(adapter("a", "t", None), SCHEMA, [a_table(is_iceberg=True)])
    assert [(one.schema, one.identifier, one.type) for one in found] == [("s", "a", "view")]
    assert [one.identifier for one in views.views(adapter("a"), SCHEMA, [])] == ["a"]


def test_a_catalog_without_views_or_with_views_among_its_tables_has_no_more() -> None:
    assert views.views(adapter(fails=True), SCHEMA, [a_table(is_iceberg=True)]) == []
    assert views.views(adapter("a"), SCHEMA, [a_table(is_iceberg=False)]) == []


@pytest.mark.iceberg_only
def test_dbt_knows_a_view_and_replaces_it_by_a_table(
    own_project: Callable[[str], Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = own_project("views")
    project.write("models/shown.sql", "{{ config(materialized='view') }} select 1 as x")
    project.write("models/says.sql", SAYS)
    project.run("shown")
    sent: list[str] = []
    sql: Any = SparkSession.sql

    def note(session: SparkSession, statement: str, *given: Any, **named: Any) -> Any:
        sent.append(statement)
        return sql(session, statement, *given, **named)

    monkeypatch.setattr(SparkSession, "sql", note)
    project.run("says")
    assert project.rows("says") == [("view",)]
    assert sum("show views" in statement for statement in sent) == 1
    # Spark refuses to make a table over a view, so dbt must know that it has to drop the view.
    project.write("models/shown.sql", "{{ config(materialized='table') }} select 2 as x")
    project.run("shown")
    assert project.rows("shown") == [(2,)]


@pytest.mark.iceberg_only
def test_defer_and_the_catalog_see_a_view(own_project: Callable[[str], Project]) -> None:
    project = own_project("deferred")
    project.write("models/shown.sql", "{{ config(materialized='view') }} select 1 as x")
    project.write(
        "models/reads.sql", "{{ config(materialized='table') }} select * from {{ ref('shown') }}"
    )
    project.run("shown")
    folder = project.folder / "state"
    words = ["--project-dir", str(project.folder), "--quiet", "--no-use-colors"]
    assert dbtRunner().invoke(["parse", *words, "--target-path", str(folder)]).success
    state = folder / "manifest.json"
    manifest = json.loads(state.read_text())
    node = manifest["nodes"][f"model.{project.name}.shown"]
    node["schema"], node["relation_name"] = "elsewhere", "elsewhere.shown"
    state.write_text(json.dumps(manifest))
    # The other environment has no such view, so dbt has to read this one.
    project.run("reads", "--defer", f"--state={folder}")
    assert project.rows("reads") == [(1,)]
    assert dbtRunner().invoke(["docs", "generate", *words]).success
    catalog = json.loads((project.folder / "target" / "catalog.json").read_text())
    assert f"model.{project.name}.shown" in catalog["nodes"]


@pytest.mark.long
@pytest.mark.iceberg_only
def test_the_view_of_a_collection_is_made_again_only_if_it_changes(
    own_project: Callable[[str], Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = own_project("made_once")
    model = "{{ config(materialized='trueup', unique_key='k') }} select 1 as k, 2 as v"
    project.write("models/c.sql", model)
    sent: list[str] = []
    sql: Any = SparkSession.sql

    def note(session: SparkSession, statement: str, *given: Any, **named: Any) -> Any:
        sent.append(" ".join(statement.split()))
        return sql(session, statement, *given, **named)

    monkeypatch.setattr(SparkSession, "sql", note)

    def is_made() -> bool:
        sent.clear()
        project.run("c")
        return any("create or replace view" in statement for statement in sent)

    assert is_made()
    assert not is_made()
    project.sql("drop view {}.c")
    assert is_made()
    project.write("models/c.sql", model.replace("2 as v", "3 as v"))
    assert not is_made()
    assert project.rows("c") == [(1, 3)]
    project.write("models/c.sql", model.replace("2 as v", "3 as v, 4 as w"))
    assert is_made()
    assert project.rows("c") == [(1, 3, 4)]
    described = {"name": "c", "description": "said", "config": {"persist_docs": {"relation": True}}}
    project.write("models/c.yml", json.dumps({"models": [described]}))
    assert is_made()
