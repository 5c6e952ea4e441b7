"""What the dbt plugin prepares before a Spark session starts, and what it refuses."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from dbt_trueup import conflicts, plugins
from dbt_trueup.conflicts import REPEATS, REWRITTEN, LostRaceError, lost_race, may_be_skipped
from dbt_trueup.session import JavaMissingError, prepare, require_java, warn_of_caches
from pyspark.sql import SparkSession

from tests.macros.package import ROOT, a_collection, column, in_model, refused

if TYPE_CHECKING:
    from pathlib import Path

TABLES = {"state": "s.files_state", "changelog": "s.files_changelog"}
CONFLICT = "org.apache.iceberg.exceptions.ValidationException: Found conflicting files that ..."


def fake_java(folder: Path, says: str) -> None:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_dbt_finds_the_plugin() -> None:
    assert "dbt_trueup" in [module.name for module in pkgutil.iter_modules()]
    assert [plugin.__name__ for plugin in plugins] == ["TrueupPlugin"]


def test_importing_the_plugin_imports_neither_pyspark_nor_pandas() -> None:
    code = "import sys, dbt_trueup; print({'pyspark', 'pandas', 'numpy'} & set(sys.modules))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "set()"


@pytest.mark.usefixtures("path")
def test_a_missing_java_is_refused_in_one_line_that_says_what_to_install() -> None:
    with pytest.raises(JavaMissingError) as refused:
        require_java()
    message = str(refused.value)
    assert "\n" not in message
    assert "needs Java 17 or newer" in message
    assert "no `java` in PATH" in message
    assert "openjdk-17" in message


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22"])
def test_a_java_that_is_too_old_is_refused(path: Path, version: str) -> None:
    fake_java(path, f'openjdk version "{version}" 2024-01-16')
    with pytest.raises(JavaMissingError, match=version):
        require_java()


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.1"])
def test_java_17_and_newer_are_taken(path: Path, version: str) -> None:
    fake_java(path, f'openjdk version "{version}" 2025-04-15')
    require_java()


def test_java_home_comes_before_path(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(path, 'openjdk version "21"')
    home = tmp_path_factory.mktemp("java_home")
    (home / "bin").mkdir()
    fake_java(home / "bin", 'openjdk version "11"')
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(JavaMissingError, match="JAVA_HOME"):
        require_java()


@pytest.mark.usefixtures("path")
def test_the_interpreter_of_a_cluster_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    prepare({"spark.remote": "sc://example.com", "spark.master": "spark://example.com:7077"})
    assert "PYSPARK_PYTHON" not in os.environ


def test_the_folder_of_a_catalog_in_a_file_is_made(path: Path) -> None:
    fake_java(path, 'openjdk version "17"')
    prepare({"spark.sql.catalog.lake.uri": f"jdbc:sqlite:{path}/new/catalog.db?busy_timeout=1"})
    assert (path / "new").is_dir()


LAKE = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}


@pytest.mark.parametrize("says", [{}, {"spark.sql.catalog.lake.cache-enabled": "true"}])
def test_a_catalog_that_caches_tables_is_warned_of_at_the_start(says: dict[str, str]) -> None:
    with pytest.warns(RuntimeWarning, match=r"set \S+\.lake\.cache-enabled to false"):
        warn_of_caches({**LAKE, **says})


def test_a_catalog_that_caches_nothing_is_not_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    warn_of_caches({**LAKE, "spark.sql.catalog.lake.cache-enabled": "false"})
    warn_of_caches({"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.DeltaCatalog"})
    assert not recwarn.list


def test_every_example_profile_turns_the_cache_of_its_catalog_off() -> None:
    text = (ROOT / "profiles.yml.example").read_text()
    lines = [line.strip(" #") for line in text.splitlines()]
    catalogs = [line.partition(":")[0] for line in lines if "iceberg.spark.SparkCatalog" in line]
    assert len(catalogs) > 1
    for name in set(catalogs):
        assert lines.count(f'{name}.cache-enabled: "false"') == catalogs.count(name)


@pytest.mark.usefixtures("path")
def test_python_workers_run_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    prepare({"spark.remote": "sc://example.com"})
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_a_failure_that_is_no_lost_race_is_left_as_it_is() -> None:
    append = str(in_model("files_changelog")._append_batch_sql("s.files_changelog", "select 1"))
    assert lost_race(append, "[DIVIDE_BY_ZERO]") is None
    # Statements of somebody else, whatever their aliases and columns are.
    assert lost_race("merge into s.mine as changelog using _batch_id", CONFLICT) is None
    assert lost_race("merge into s.mine as state using _error_key", CONFLICT) is None
    assert lost_race("create or replace table s.mine as select _error_key", CONFLICT) is None


def test_each_statement_that_writes_says_what_it_is_and_so_what_it_has_lost() -> None:
    trueup = in_model("files_state")
    collection = a_collection(trueup, **TABLES)
    columns = [column("path", "string")]
    found = {
        str(statement).split("*/")[0] + "*/": lost_race(str(statement), CONFLICT)
        for statement in (
            trueup._append_batch_sql("s.files_changelog", "select 1", "skip"),
            trueup._apply_updates_sql(collection, "select 1"),
            trueup._heal_sql(collection, columns, 1, [7]),
            trueup._compact_sql("s.files_changelog", ["path"], 3, 2),
            trueup._create_table_sql("s.files_state", "select 1"),
            trueup._begin_widening_sqls(
                "s.files_state", {"name": "day", "type": "timestamp", "old_type": "date"}
            )[1],
            trueup._unstage_sql("s.files_batch", "1b5f"),
        )
    }
    said = "at the same moment"
    assert found == {
        "/* trueup: append, on_conflict: skip */": f"upper mismatch: another run appended to"
        f" s.files_changelog {said}; nothing of this batch is written; run again",
        "/* trueup: apply */": f"state moved: another run wrote to s.files_state {said};"
        " nothing is applied; run again",
        "/* trueup: heal */": f"state moved: another run wrote to s.files_state {said};"
        " nothing is healed; run again",
        "/* trueup: compact */": f"another run wrote to s.files_changelog {said};"
        " nothing is compacted; run again",
        "/* trueup: create */": f"another run made s.files_state {said}; run again",
        "/* trueup: discard */": "upper mismatch: another run came first, and staged a batch in"
        f" s.files_batch {said}; nothing of this one is written; run again",
        "/* trueup: widen */": f"another run wrote to s.files_state {said}; run again",
    }


@pytest.mark.parametrize(
    "error",
    [
        "Snapshot 8504628880722896756 is not an ancestor of 8280891962937758956",
        "Cannot determine history between starting snapshot 1 and the last known ancestor 2",
        "Table UUID does not match: current=1 != refreshed=2",
    ],
)
def test_a_table_that_was_replaced_meanwhile_is_a_lost_race(error: str) -> None:
    trueup = in_model("files_state")
    apply = str(trueup._apply_updates_sql(a_collection(trueup, **TABLES), "select 1"))

    assert str(lost_race(apply, error)).startswith(
        "state moved: another run wrote to s.files_state"
    )


def test_a_step_that_nothing_names_gets_no_mark() -> None:
    must, _ = refused(in_model("files_state")._step_marker, "tidy")

    assert (
        "one of alter, append, apply, compact, create, discard, drop, heal, rebuild, widen" in must
    )


def test_a_lost_append_is_skipped_where_the_collection_says_so_and_nothing_else_is() -> None:
    trueup = in_model("files_changelog")
    skip, fail = (
        str(trueup._append_batch_sql("s.files_changelog", "select *, _error_key", policy))
        for policy in ("skip", "fail")
    )
    mismatch = "[USER_RAISED_EXCEPTION] upper mismatch: batch 3 expected lower 340, the ..."
    for error in (CONFLICT, mismatch):
        assert may_be_skipped(skip, error)
        assert not may_be_skipped(fail, error)
    # An error that quotes the statement, which has the words of the mismatch in it.
    assert not may_be_skipped(skip, f"[UNRESOLVED_COLUMN] d\n== SQL ==\n{skip}")
    assert not may_be_skipped(skip, "[DIVIDE_BY_ZERO]")


def test_an_apply_that_has_lost_to_a_rewrite_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trueup = in_model("files_state")
    collection = a_collection(trueup, **TABLES)
    apply = str(trueup._apply_updates_sql(collection, "select 1"))
    heal = str(trueup._heal_sql(collection, [column("path", "string")], 1, [7]))
    missing = f"org.apache.iceberg.exceptions.{REWRITTEN}: [a.parquet]"
    failures: list[str] = []

    def sql(_: object, statement: str) -> str:
        if failures:
            raise RuntimeError(failures.pop())
        return f"ran {statement}"

    monkeypatch.setattr(SparkSession, "sql", sql)
    conflicts.install()
    run: Any = SparkSession.sql
    failures[:] = [missing] * REPEATS
    assert run(None, apply) == f"ran {apply}"
    failures[:] = [missing] * (REPEATS + 1)
    with pytest.raises(LostRaceError, match="another run wrote to"):
        run(None, apply)
    # A heal says nothing of the batch that it was made for: another run may have applied one since.
    failures[:] = [missing]
    with pytest.raises(LostRaceError, match="state moved"):
        run(None, heal)
    failures[:] = ["[DIVIDE_BY_ZERO]"]
    with pytest.raises(RuntimeError, match="DIVIDE"):
        run(None, apply)
