"""What dbt and a project can do to a model with the materialization `trueup`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt.cli.main import dbtRunner

from tests.acceptance import Column
from tests.between import sent_through
from tests.newest_oracle import Command
from tests.project import QUIET

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only

KEY, VALUE = [Column("k", "string")], [Column("v", "string"), Column("n", "int")]
ARRIVED = [
    Command((1, 1), ("a",), ("one", 1)),
    Command((2, 1), ("b",), ("two", 2)),
    Command((3, 1), ("a",), None),
]
GIVEN = [
    {"k": "a", "v": "one", "log_ts": 1, "log_order": 7, "log_delete": False},
    {"k": "a", "v": "one", "log_ts": 2, "log_order": 8, "log_delete": True},
    {"k": None, "v": "two", "log_ts": 3, "log_order": 9, "log_delete": None},
]
EXPECTED: list[dict[str, Any]] = [
    {"k": "a", "_op": "upsert", "_error_key": None, "_order": "struct(0, 1, 7)"},
    {"k": "a", "_op": "delete", "_error_key": None, "_order": "struct(0, 2, 8)"},
    {"k": None, "_op": "upsert", "_error_key": "null", "_order": "struct(0, 3, 9)"},
]


def described(schema: str, type_of_n: str = "int", expected: int = 3) -> str:
    """The YAML of the project: a source, a contract, descriptions, data tests and a unit test."""
    columns = {"k": "string", "v": "string", "n": type_of_n}
    model = {
        "name": "files",
        "description": "All files.",
        "config": {
            "contract": {"enforced": True},
            "persist_docs": {"relation": True, "columns": True},
        },
        "columns": [
            {"name": name, "data_type": kind, "description": f"It's the column {name}."}
            for name, kind in columns.items()
        ],
        "data_tests": [{"unique": {"arguments": {"column_name": "k"}}}],
    }
    source = {"name": "shop", "schema": schema, "tables": [{"name": "files_log"}]}
    unit_test = {
        "name": "a_delete_is_a_command",
        "model": "files",
        "given": [{"input": "source('shop', 'files_log')", "rows": GIVEN}],
        "expect": {"rows": EXPECTED[:expected]},
    }
    return yaml.safe_dump({"sources": [source], "models": [model], "unit_tests": [unit_test]})


def open_project(own_project: OwnProject, name: str, **options: Any) -> Project:
    """A project with the collection `files`, whose log has a few commands."""
    project = own_project(name)
    project.add_collection("files", KEY, VALUE, options, keys=["k"])
    project.append("files", ARRIVED)
    return project


def add_to_config(project: Project, config: str, model: str = "files") -> None:
    """Add configs to a model."""
    text = (project.folder / f"models/{model}.sql").read_text()
    project.write(f"models/{model}.sql", text.replace("config(", f"config({config}, ", 1))


def said(project: Project) -> str:
    return "\n".join(project.messages)


def test_build_runs_unit_tests_a_contract_and_data_tests(own_project: OwnProject) -> None:
    project = open_project(own_project, "built")
    text = (project.folder / "models/files.sql").read_text()
    source = text.replace(f'"{project.name}.`files_log`"', "source('shop', 'files_log')")
    assert source != text
    project.write("models/files.sql", source)
    project.write("models/files.yml", described(project.name))
    project.run(command="build")
    assert project.rows("files") == [("b", "two", 2)]
    comments = {row["col_name"]: row["comment"] for row in project.sql("describe {}.files")}
    assert comments == {name: f"It's the column {name}." for name in ("k", "v", "n")}
    about = project.sql("describe extended {}.files")
    assert {row["data_type"] for row in about if row["col_name"] == "Comment"} == {"All files."}

    project.write("models/files.yml", described(project.name, expected=2))
    project.run("test_type:unit", command="test", fails=True)
    project.write("models/files.yml", described(project.name, type_of_n="bigint"))
    project.append("files", [Command((4, 1), ("c",), ("three", 3))])
    project.run("files", fails=True)
    assert "This model has an enforced contract that failed" in said(project)
    assert project.rows("files") == [("b", "two", 2)]


@pytest.mark.long
def test_a_table_of_the_name_is_kept_and_its_rows_are_the_first_batch(
    own_project: OwnProject,
) -> None:
    project = open_project(own_project, "adopted")
    project.sql(
        "create table {}.files using {format} as"
        " select 'b' as k, 'old' as v, 0 as n, false as log_delete"
    )
    project.sql("insert into {}.files values ('z', 'kept', 9, false), ('y', 'marked', 1, true)")
    project.run("files", fails=True)
    assert "Got: 1 with" in said(project)
    project.sql("delete from {}.files where log_delete")
    project.run("files")
    # The log wins over the table. A row that the log does not know stays.
    assert sorted(project.rows("files")) == [("b", "two", 2), ("z", "kept", 9)]
    before = project.sql("select k, v from {}.files__before order by k")
    assert [tuple(row) for row in before] == [("b", "old"), ("z", "kept")]
    assert {update["_cause"] for update in project.store("files").stored("_seq = 1")} >= {"adopted"}
    project.store("files").check_laws()
    # A rebase begins again from the table, too: its rows are in no log.
    project.run("files", "--full-refresh", rebase=True)
    assert sorted(project.rows("files")) == [("b", "two", 2), ("z", "kept", 9)]
    assert project.store("files").stored("_kind = 'update' and _seq = 1")
    project.store("files").check_laws()
    # What speaks against that is said before the store is dropped.
    project.sql("insert into {}.files__before values ('m', 'marked', 1, true)")
    project.run("files", "--full-refresh", rebase=True, fails=True)
    assert "Got: 1 with" in said(project)
    assert sorted(project.rows("files")) == [("b", "two", 2), ("z", "kept", 9)]
    project.sql("delete from {}.files__before where log_delete")

    def kill(execute: Callable[[str], None], sql: str) -> None:
        if "/* trueup: create */" in sql:
            message = "killed"
            raise RuntimeError(message)
        execute(sql)

    with sent_through(kill):
        project.run("files", "--full-refresh", rebase=True, fails=True)
    assert not project.spark.catalog.tableExists(f"{project.name}.files__trueup")
    project.run("files")
    assert sorted(project.rows("files")) == [("b", "two", 2), ("z", "kept", 9)]
    project.sql("drop table {}.files__before")
    project.run("files", "--full-refresh", rebase=True, fails=True)
    assert "has adopted its rows" in said(project)
    assert sorted(project.rows("files")) == [("b", "two", 2), ("z", "kept", 9)]


@pytest.mark.long
def test_a_full_refresh_keeps_the_history_and_a_rebase_begins_again(
    own_project: OwnProject,
) -> None:
    project = open_project(own_project, "refreshed")
    project.run("files")
    project.sql("delete from {}.files_log where true")
    project.append("files", [Command((9, 1), ("c",), ("three", 3))])
    project.run("files")
    rows, updates = sorted(project.rows("files")), project.updates("files")
    project.run("files", "--full-refresh")
    assert "current rows rebuilt from the history" in said(project)
    assert (sorted(project.rows("files")), project.updates("files")) == (rows, updates)
    project.store("files").check_laws()
    project.run("files", "--full-refresh", rebase=True, read_only=True, fails=True)
    assert sorted(project.rows("files")) == rows
    project.run("files", "--full-refresh", rebase=True)
    assert project.rows("files") == [("c", "three", 3)]
    assert [batch["seq"] for batch in project.progress("files")] == [0, 1]


@pytest.mark.parametrize("flag", ["--empty", "--sample=1 day"])
def test_a_run_over_some_of_the_rows_is_refused(own_project: OwnProject, flag: str) -> None:
    project = open_project(own_project, "some_rows")
    project.run("files")
    before = project.version("files__trueup")
    project.run("files", flag, fails=True)
    assert "must be one over all rows" in said(project)
    assert project.version("files__trueup") == before
    project.run("files", "--empty", command="compile")


def test_a_renamed_model_does_not_take_the_store_of_another_one(own_project: OwnProject) -> None:
    project = open_project(own_project, "renamed")
    project.run("files")
    rows = project.rows("files")
    project.folder.joinpath("models/files.sql").rename(project.folder / "models/documents.sql")
    add_to_config(project, "alias='files'", "documents")
    project.run("documents", fails=True)
    assert "must be a table that this model has made" in said(project)
    # The statement of the message hands the store over.
    statement = re.search(r"alter\s+table .*?\)", said(project), re.DOTALL)
    assert statement is not None
    project.spark.sql(" ".join(statement[0].split()))
    project.run("documents")
    assert project.rows("files") == rows
    assert "up to date at batch 1" in said(project)


def test_an_alias_and_a_schema_name_the_view_and_the_store(own_project: OwnProject) -> None:
    project = open_project(own_project, "aliased")
    add_to_config(project, f"alias='docs', schema='{project.name}_other'")
    project.write("models/changes.sql", "{{ trueup.changelog('files') }}")
    project.sql("create schema if not exists {}_other")
    project.run()
    assert [tuple(row) for row in project.sql("select * from {}_other.docs")] == [("b", "two", 2)]
    assert project.sql("select count(*) from {}_other.docs__trueup where _kind = 'row'")[0][0] == 1
    assert [row["v"] for row in project.sql("select v from {}.changes")] == ["two"]


def test_hooks_run_around_the_commit_and_a_failed_hook_writes_nothing(
    own_project: OwnProject,
) -> None:
    project = open_project(own_project, "hooked")
    project.sql("create table {}.noted (what string) using {format}")
    note = f"insert into {project.name}.noted select"
    count = f"from {project.name}.files__trueup where _kind = 'row'"
    add_to_config(
        project, f'''pre_hook="{note} 'before'", post_hook="{note} concat(count(*)) {count}"'''
    )
    project.run("files")
    assert {row["what"] for row in project.sql("select * from {}.noted")} == {"before", "1"}
    add_to_config(project, "pre_hook=\"select raise_error('stop')\"")
    project.append("files", [Command((4, 1), ("c",), ("three", 3))])
    before = project.version("files__trueup")
    project.run("files", fails=True)
    assert project.version("files__trueup") == before


def test_grants_stop_a_run_on_a_spark_without_them(own_project: OwnProject) -> None:
    project = open_project(own_project, "granted")
    add_to_config(project, "grants={'select': ['ada']}")
    project.run("files", fails=True)
    assert "The config `grants` must be left out: this Spark has no statement GRANT." in said(
        project
    )


def invoke(project: Project, *words: str) -> Any:
    invoked = dbtRunner().invoke([*words, "--project-dir", str(project.folder), *QUIET])
    assert invoked.success, invoked.exception or invoked.result
    return invoked.result


def test_docs_and_ls_show_one_node_with_the_store_behind_it(own_project: OwnProject) -> None:
    project = open_project(own_project, "documented")
    project.write("models/changes.sql", "{{ trueup.changelog('files') }}")
    project.run()
    invoke(project, "docs", "generate", "--write-json")
    manifest = json.loads((project.folder / "target/manifest.json").read_text())
    nodes = {node["name"]: node for node in manifest["nodes"].values()}
    assert nodes.keys() == {"files", "changes"}
    assert nodes["changes"]["depends_on"]["nodes"] == [nodes["files"]["unique_id"]]
    assert invoke(project, "ls", "--select", "files+") == [
        f"{project.name}.changes",
        f"{project.name}.files",
    ]
