"""`--defer`: a collection may read its inputs in the production schema, but not its own models."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

SCHEMA = "{% macro generate_schema_name(custom_schema_name, node) %}NAME{% endmacro %}"
COUNTED = "select v, count(*) as c from {{ ref('files') }} group by v"


class Schemas:
    """A project that runs in two schemas: production and development."""

    def __init__(self, project: Project) -> None:
        """Write a collection over a model, and a second one by a select over the first."""
        self.project = project
        project.add_collection("files", [Column("k", "string")], [Column("v", "string")])
        log = f"{project.name}.files_log"
        project.write("models/upstream/upstream.sql", f"select * from {log}")
        model = project.folder / "models" / "files" / "files_commands.sql"
        text = model.read_text().replace(f'relation="{log}"', "relation=ref('upstream')")
        project.write("models/files/files_commands.sql", text)
        project.add_select("counts", COUNTED, ["v"], of=["files"])
        self.run("prod")
        state = project.folder / "state"
        state.mkdir()
        shutil.copy(project.folder / "target" / "manifest.json", state / "manifest.json")

    def run(self, schema: str, *select: str, fails: bool = False) -> str:
        """Run models in a schema, and give the messages of dbt."""
        path, text = "macros/generate_schema_name.sql", SCHEMA.replace("NAME", schema)
        if (self.project.folder / path).read_text() != text:
            self.project.write(path, text)
        # The manifest of production becomes the state to which the others defer.
        state = f"--state={self.project.folder / 'state'}"
        flags = ("--write-json",) if schema == "prod" else (state, "--defer")
        self.project.run(*flags, *select, fails=fails)
        return "\n".join(self.project.messages)

    def append(self, ts: int, value: str) -> None:
        """Append a command with a new key, and run production."""
        self.project.append("files", [Command(ts, (1,), (f"key {ts}",), (value,))])
        self.run("prod")

    def rows(self, table: str) -> list[tuple[object, ...]]:
        """Give the rows of a table."""
        return [tuple(row) for row in self.project.sql(f"select * from {table}")]

    def upper(self, schema: str, collection: str) -> int:
        """Give the frontier of a collection in a schema."""
        query = f"select max(_upper) from {schema}.{collection}_changelog"
        return int(self.project.sql(query)[0][0])


@pytest.fixture(scope="module")
def schemas(new_project: Callable[[str], Project]) -> Schemas:
    made = Schemas(new_project("defer"))
    made.append(1, "a")
    return made


@pytest.mark.long
@pytest.mark.parametrize("role", ["corrections", "batch", "changelog", "state"])
def test_one_model_of_a_deferred_collection_cannot_run_alone(schemas: Schemas, role: str) -> None:
    said = schemas.run("empty", f"counts_{role}", fails=True)
    reads = {"batch": "desired", "changelog": "batch", "state": "changelog"}.get(role, "desired")
    assert f"The model counts_{reads}, which counts_{role} reads, must be empty.counts_" in said
    assert f"Got: prod.counts_{reads}, by --defer" in said
    assert "Run the whole collection: dbt run -s counts_desired+" in said
    # Delta's catalog also lists the views of runs that have failed in this session.
    made = schemas.project.sql("show tables in empty")
    assert not [row for row in made if not row["isTemporary"]]


@pytest.fixture(scope="module")
def developed(schemas: Schemas) -> Schemas:
    """Both collections in the development schema. They read the model of production."""
    schemas.run("dev", "models/files", "models/counts")
    return schemas


@pytest.mark.long
def test_a_whole_collection_reads_its_inputs_in_the_production_schema(developed: Schemas) -> None:
    assert not [row for row in developed.project.sql("show tables in dev") if "upstream" in row]
    for table in ("files", "counts"):
        assert multiset(developed.rows(f"dev.{table}")) == multiset(developed.rows(f"prod.{table}"))
    assert developed.rows("dev.files") == [("key 1", "a")]


@pytest.mark.long
@pytest.mark.parametrize("role", ["batch", "changelog", "state"])
def test_favor_state_does_not_split_a_collection_over_two_schemas(
    developed: Schemas, role: str
) -> None:
    before = developed.rows(f"dev.files_{role}")
    developed.append(developed.upper("prod", "files"), "later")
    said = developed.run("dev", f"files_{role}", "--favor-state", fails=True)
    assert f"which files_{role} reads, must be dev.files_" in said
    assert "Got: prod.files_" in said
    assert multiset(developed.rows(f"dev.files_{role}")) == multiset(before)
    developed.run("dev", "models/files", "--favor-state")
    assert multiset(developed.rows("dev.files")) == multiset(developed.rows("prod.files"))


@pytest.mark.long
def test_the_upper_of_a_select_comes_from_the_schema_that_it_reads(developed: Schemas) -> None:
    developed.append(developed.upper("prod", "files"), "last")
    # The view reads production. The collection there is ahead of the one in development.
    developed.run("dev", "models/counts", "--favor-state")
    assert multiset(developed.rows("dev.counts")) == multiset(developed.rows("prod.counts"))
    assert developed.upper("dev", "counts") == developed.upper("prod", "files")
    assert developed.upper("dev", "files") < developed.upper("prod", "files")


def test_the_lag_of_deferred_collections_is_that_of_production(developed: Schemas) -> None:
    project = developed.project
    changelogs = "{'files': ref('files_changelog'), 'counts': ref('counts_changelog')}"
    project.write("models/lag.sql", f"{{{{ trueup._lag_select({changelogs}) }}}}")
    project.append("files", [Command(100, (1,), ("ahead",), ("a",))])
    developed.run("lagging", "lag")
    (project.folder / "models" / "lag.sql").unlink()
    upper = developed.upper("prod", "files")
    shown = project.sql("select collection, frontier, log_upper, commands_waiting from lagging.lag")
    assert multiset(shown) == multiset([("files", upper, 101, 1), ("counts", upper, upper, None)])
    (view,) = project.sql("show create table lagging.lag")
    assert "prod.files_commands" in view[0].replace("`", "")
    assert "lagging.files" not in view[0].replace("`", "")


@pytest.mark.long
def test_a_select_that_reads_a_collection_in_two_schemas_is_refused(developed: Schemas) -> None:
    project = developed.project
    project.write("models/upstream/between.sql", "select * from {{ ref('files') }}")
    developed.run("prod")
    shutil.copy(project.folder / "target" / "manifest.json", project.folder / "state")
    # dbt-spark finds the state, an Iceberg table, in this schema. It does not look for the view.
    both = "select v, count(*) as c from (select v from {{ ref('files_state') }} union all"
    both += " select v from {{ ref('between') }}) where v is not null group by v"
    project.write("models/counts/counts_desired.sql", both)
    said = developed.run("dev", "models/counts", fails=True)
    assert "The collection `files` in option `of` of counts_corrections must be read in one" in said
