"""Collections work with the commands of dbt that connect to Spark, or refuse them plainly."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command
from tests.project import QUIET, ROLES, TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string"), Column("n", "int")]
ARRIVED = [
    Command(1, (1,), ("a",), ("one", 1)),
    Command(2, (1,), ("b",), ("two", 2)),
    Command(3, (1,), ("a",), None),
]
LOG = {
    "name": "shop",
    "schema": "commands_of_dbt",
    "tables": [
        {
            "name": "changes",
            "identifier": "files_log",
            "config": {
                "loaded_at_field": "timestamp_seconds(log_ts)",
                "freshness": {"error_after": {"count": 1, "period": "day"}},
            },
        }
    ],
}
COMMENTED = {"persist_docs": {"relation": True, "columns": True}}
CHANGELOG_TESTS = [
    {"trueup.consolidates_to_state": {"arguments": {"state": "ref('files_state')"}}},
    # Spark ignores the case of names, and so does the test.
    {"trueup.matches_certificate": {"arguments": {"unique_key": ["K"]}}},
]
GIVEN = [
    {"k": "a", "v": "one", "log_ts": 1, "log_order": 7, "log_delete": False},
    {"k": "a", "v": "one", "log_ts": 2, "log_order": 8, "log_delete": True},
    {"k": None, "v": "two", "log_ts": 3, "log_order": 9, "log_delete": None},
]
EXPECTED: list[dict[str, Any]] = [
    {"k": "a", "_ts": 1, "_op": "upsert", "_error_key": None, "_order": "struct(7)"},
    {"k": "a", "_ts": 2, "_op": "delete", "_error_key": None, "_order": "struct(8)"},
    {"k": None, "_ts": 3, "_op": "upsert", "_error_key": "null", "_order": "struct(9)"},
]


def unit_test(name: str, expected: list[dict[str, Any]]) -> dict[str, Any]:
    """A unit test of the commands: what they make of the rows GIVEN."""
    given = {"input": "source('shop', 'changes')", "rows": GIVEN}
    expect = {"rows": expected}
    return {"name": name, "model": "files_commands", "given": [given], "expect": expect}


def properties(type_of_n: str = "int") -> str:
    """The YAML of the project. The contract of the view promises a type for the column `n`."""
    columns = {"k": "string", "v": "string", "n": type_of_n}
    described = [
        {"name": name, "data_type": kind, "description": f"It's the column {name}."}
        for name, kind in columns.items()
    ]
    state = {"file_format": TABLE_FORMAT, **COMMENTED}
    models = [
        {"name": "files_changelog", "data_tests": CHANGELOG_TESTS},
        {"name": "files_state", "config": state, "columns": described[:2]},
        {
            "name": "files",
            "description": "All files.",
            "config": {"contract": {"enforced": True}, **COMMENTED},
            "columns": described,
            "data_tests": [{"unique": {"arguments": {"column_name": "k"}}}],
        },
    ]
    tests = [unit_test("right", EXPECTED), unit_test("wrong", EXPECTED[:2])]
    return yaml.safe_dump({"sources": [LOG], "models": models, "unit_tests": tests})


def dbt(project: Project, *words: str, fails: bool = False) -> Any:
    """Run dbt. Return its result."""
    invoked = dbtRunner().invoke([*words, "--project-dir", str(project.folder), *QUIET])
    assert invoked.success != fails, invoked.exception or invoked.result
    return invoked.result


def outcomes(result: Any) -> dict[str, tuple[str, str]]:
    """The status and the message of each node."""
    return {one.node.name: (str(one.status), str(one.message)) for one in result.results}


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection over a source, with a contract, descriptions, data tests and unit tests."""
    project = new_project("commands_of_dbt")
    project.add_collection("files", KEY, VALUE, {"late": "correct"}, keys=["k"])
    model = "models/files/files_commands.sql"
    text = (project.folder / model).read_text()
    source = "relation=source('shop', 'changes')"
    project.write(model, text.replace('relation="commands_of_dbt.files_log"', source))
    project.write("models/files/files.yml", properties())
    project.append("files", ARRIVED)
    return project


@pytest.fixture(scope="module")
def built(project: Project) -> dict[str, tuple[str, str]]:
    """What `dbt build` says of each node, without the unit test that must fail."""
    return outcomes(dbt(project, "build", "--exclude", "test_name:wrong"))


def test_build_runs_unit_tests_models_and_data_tests_in_one_go(
    project: Project, built: dict[str, tuple[str, str]]
) -> None:
    assert {status for status, _ in built.values()} == {"success", "pass"}
    models = {"files", *(f"files_{role}" for role in ROLES)}
    assert models < built.keys()
    assert len(built) == len(models) + len(CHANGELOG_TESTS) + 2
    assert project.rows("files") == [("b", "two", 2)]


def test_a_unit_test_of_the_commands_compares_the_rows_that_it_expects(
    project: Project, built: dict[str, tuple[str, str]]
) -> None:
    assert built["right"][0] == "pass"
    result = dbt(project, "test", "--select", "test_type:unit", fails=True)
    assert {name: status for name, (status, _) in outcomes(result).items()} == {
        "right": "pass",
        "wrong": "fail",
    }


@pytest.mark.usefixtures("built")
def test_docs_generate_shows_the_tables_and_a_graph_without_the_loop(project: Project) -> None:
    dbt(project, "docs", "generate", "--write-json")
    target = project.folder / "target"
    catalog = json.loads((target / "catalog.json").read_text())["nodes"]
    names = {name.removeprefix("model.commands_of_dbt.files_"): at for name, at in catalog.items()}
    # dbt-spark does not list the views of Iceberg.
    views = (
        {"commands", "errors", "model.commands_of_dbt.files"} if TABLE_FORMAT == "delta" else set()
    )
    assert names.keys() == {"corrections", "batch", "changelog", "state"} | views
    assert {"k", "v", "n", "_ts"} <= names["state"]["columns"].keys()
    nodes = json.loads((target / "manifest.json").read_text())["nodes"]
    parents = {
        name: {parent.rpartition("_")[2] for parent in at["depends_on"]["nodes"]}
        for name, at in nodes.items()
    }
    # The batch reads the state, too, but by its name. So dbt knows no parent that is a child.
    assert parents["model.commands_of_dbt.files_state"] == {"changelog"}
    assert parents["model.commands_of_dbt.files_changelog"] == {"batch"}
    assert parents["model.commands_of_dbt.files_batch"] == {"commands", "corrections"}
    compiled = (target / "compiled/commands_of_dbt/models/files/files_batch.sql").read_text()
    assert "commands_of_dbt.files_state" in compiled


def test_source_freshness_looks_at_the_log(project: Project) -> None:
    (log,) = dbt(project, "source", "freshness", fails=True).results
    assert log.status == "error"
    last = max(command.ts for command in ARRIVED)
    assert log.max_loaded_at == datetime.fromtimestamp(last, timezone.utc)


@pytest.mark.usefixtures("built")
def test_persist_docs_comments_the_columns_of_tables_and_the_whole_view(project: Project) -> None:
    comments = {
        table: {row["col_name"]: row["comment"] for row in project.sql(f"describe {{}}.{table}")}
        for table in ("files", "files_state")
    }
    assert comments["files"] == {name: f"It's the column {name}." for name in ("k", "v", "n")}
    assert comments["files_state"]["k"] == "It's the column k."
    assert comments["files_state"]["n"] is None
    about = project.sql("describe extended {}.files")
    assert {row["data_type"] for row in about if row["col_name"] == "Comment"} == {"All files."}


@pytest.mark.usefixtures("built")
def test_a_contract_on_the_view_stops_a_run_with_another_type(project: Project) -> None:
    before = project.rows("files")
    project.write("models/files/files.yml", properties(type_of_n="bigint"))
    stopped = outcomes(dbt(project, "run", "--select", "path:models/files/files.sql", fails=True))
    project.write("models/files/files.yml", properties())
    said = stopped["files"][1]
    assert "This model has an enforced contract that failed" in said
    assert "| n           | int             | bigint        | data type mismatch |" in said
    assert project.rows("files") == before


@pytest.fixture
def in_schema_cloned(project: Project) -> Iterator[str]:
    """The models have the schema `cloned`. Gives the folder with the manifest of the real ones."""
    state = project.folder / "state"
    state.mkdir()
    dbt(project, "parse", "--write-json")
    shutil.copy(project.folder / "target/manifest.json", state)
    schema = project.folder / "macros/generate_schema_name.sql"
    text = schema.read_text()
    schema.write_text(text.replace("commands_of_dbt", "cloned"))
    yield str(state)
    schema.write_text(text)
    project.sql("delete from {}.files_log where k = 'c'")


@pytest.mark.iceberg_only
@pytest.mark.usefixtures("built")
def test_clone_is_refused_for_iceberg_and_makes_nothing(
    project: Project, in_schema_cloned: str
) -> None:
    cloned = outcomes(dbt(project, "clone", "--state", in_schema_cloned, fails=True))
    assert len(cloned) == len(ROLES) + 1
    for status, said in cloned.values():
        assert status == "error"
        assert "shallow clone requires file_format be set to 'delta'" in said
    assert project.sql("show tables in cloned") == []


@pytest.mark.delta_only
@pytest.mark.usefixtures("built")
def test_a_clone_on_delta_settles_new_commands_and_leaves_the_original_alone(
    project: Project, in_schema_cloned: str
) -> None:
    tables = ("corrections", "batch", "changelog", "state")
    before = {table: project.versions(f"files_{table}")[0] for table in tables}
    original = project.rows("files")
    dbt(project, "clone", "--state", in_schema_cloned)
    project.append("files", [Command(4, (1,), ("c",), ("cloned", 3))])

    dbt(project, "run", "--select", "path:models/files")

    assert multiset(project.sql("select * from cloned.files")) == multiset(
        [("b", "two", 2), ("c", "cloned", 3)]
    )
    assert project.rows("files") == original
    assert {table: project.versions(f"files_{table}")[0] for table in tables} == before


def use(session: SparkSession) -> None:
    """Let dbt take this session."""
    SparkSession._instantiatedSession = session
    of_java = SparkSession._get_j_spark_session_class(session._jvm)
    of_java.setDefaultSession(session._jsparkSession)
    of_java.setActiveSession(session._jsparkSession)


@pytest.fixture
def in_a_new_process(project: Project, spark: SparkSession) -> Iterator[Callable[[str], str]]:
    """A function that runs one model as another process would: in a Spark session of its own.

    A new session has the tables, but no variable, temporary view, function or setting of another.
    """

    def run(model: str) -> str:
        use(spark.newSession())
        SparkSession.builder.getOrCreate()  # The plugin adds the aggregates.
        project.run(f"path:models/files/{model}.sql")
        (said,) = project.messages
        return said.removeprefix(f"{model}: ")

    yield run
    use(spark)


@pytest.mark.long
@pytest.mark.usefixtures("built")
def test_one_process_per_model_with_retries_settles_the_batch_once(
    project: Project, in_a_new_process: Callable[[str], str]
) -> None:
    models = [*(f"files_{role}" for role in ROLES), "files"]
    late = Command(2, (2,), ("b",), ("late", 9))
    arrived = [Command(4, (1,), ("c",), ("three", 3)), Command(4, (1,), ("a",), None), late]
    project.append("files", arrived)
    oracle = Collection("correct")
    oracle.run(ARRIVED)
    oracle.run([*ARRIVED, *arrived])

    said = {model: (in_a_new_process(model), in_a_new_process(model)) for model in models}

    assert said["files_corrections"] == ("corrections: 1 late_command",) * 2
    assert said["files_batch"] == ("batch 2 [4, 5)",) * 2
    assert said["files_changelog"][0].startswith("batch 2: 3 updates")
    assert said["files_changelog"][1] == "nothing to append"
    assert said["files_state"] == ("applied batch 2", "up to date at batch 2")
    assert [row["_seq"] for row in project.progress("files")] == [1, 2]
    assert multiset(project.updates("files")) == multiset(oracle.changelog)
    assert multiset(project.rows("files")) == multiset(oracle.rows)


@pytest.mark.usefixtures("built")
def test_grants_stop_a_run_on_a_spark_without_them(project: Project) -> None:
    folder = project.config["files"]
    project.configure(files={**folder, "+grants": {"select": ["ada"]}})
    stopped = outcomes(dbt(project, "run", "--select", "files_commands", fails=True))
    project.configure(files=folder)
    said = stopped["files_commands"][1]
    assert "The config `grants` must be left out: this Spark has no statement GRANT." in said
    assert "Got: grants for commands_of_dbt.files_commands" in said
