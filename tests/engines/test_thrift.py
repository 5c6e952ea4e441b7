"""Runs over a Spark Thrift server, by dbt-spark's method `thrift`. The server has no Python."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt.adapters.spark.connections import PyhiveConnectionWrapper

from tests.conftest import ROOT
from tests.engines.remote import ThriftProject, ThriftSession
from tests.engines.script import (
    KEY,
    VALUE,
    check,
    fold_open_ticks_and_rebuild,
    lose_a_race,
    put,
    race_two_processes,
    run_script,
)
from tests.engines.servers import (
    LOOPBACK,
    MARKS,
    free_port,
    jars,
    listens,
    server,
    settings,
    submit,
)
from tests.oracle import Collection
from tests.project import QUIET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = MARKS
MAIN = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Thrift server that has one session for all connections."""
    folder, port = tmp_path_factory.mktemp("thrift"), free_port()
    given = settings(folder)
    # The server closes the loader of `spark.jars.packages` when the first connection ends.
    files = jars(given.pop("spark.jars.packages"))
    given |= {
        "spark.driver.extraClassPath": ":".join(map(str, files)),
        "spark.sql.hive.thriftServer.singleSession": "true",
    }
    hive = {"hive.server2.thrift.port": port, "hive.server2.thrift.bind.host": LOOPBACK}
    arguments = [part for each in hive.items() for part in ("--hiveconf", "=".join(map(str, each)))]
    command = submit(MAIN, given, *arguments)
    with server(command, folder / "server.log", lambda: listens(port)):
        # PyHive begins with `use default`. A new catalog has no such schema.
        ThriftSession(port, "spark_catalog`.`default").sql("create schema lake.default")
        ThriftSession(port, "spark_catalog`.`default").sql("use lake.default")
        yield port


@pytest.fixture(scope="module", autouse=True)
def _profiles(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A profile for the server."""
    folder = tmp_path_factory.mktemp("profiles")
    output = {"type": "spark", "method": "thrift", "host": LOOPBACK, "port": port}
    output |= {"schema": "trueup", "threads": 2, "poll_interval": 1}
    profile = {"trueup": {"target": "thrift", "outputs": {"thrift": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    before = os.environ.get("DBT_PROFILES_DIR")
    os.environ["DBT_PROFILES_DIR"] = str(folder)
    yield
    if before is None:
        del os.environ["DBT_PROFILES_DIR"]
    else:
        os.environ["DBT_PROFILES_DIR"] = before


@pytest.fixture(scope="module")
def project(port: int, package: Path, tmp_path_factory: pytest.TempPathFactory) -> ThriftProject:
    return ThriftProject(tmp_path_factory.mktemp("thrift"), "thrift", port, package)


def test_batches_late_commands_and_corrections_over_thrift_equal_the_oracle(
    project: ThriftProject,
) -> None:
    run_script(project, "dropped", late="drop")
    run_script(project, "corrected", late="correct")


def test_open_ticks_and_a_rebuild_need_no_python_on_the_server(project: ThriftProject) -> None:
    fold_open_ticks_and_rebuild(project)


def test_a_run_leaves_no_view_and_no_variable_in_a_shared_session(project: ThriftProject) -> None:
    run_script(project, "tidy", late="correct")
    assert not [row for row in project.sql("show views") if "trueup__" in str(row)]


def before(
    monkeypatch: pytest.MonkeyPatch, statement: str, act: Callable[[], object], **changes: str
) -> list[str]:
    """Act once before the first statement that matches, and change texts in it.

    Returns:
        A list that receives the statement.
    """
    execute = PyhiveConnectionWrapper.execute
    found: list[str] = []

    def watched(connection: PyhiveConnectionWrapper, sql: str, bindings: Any = None) -> None:
        if not found and re.search(statement, sql):
            found.append(sql)
            act()
            for old, new in changes.items():
                assert old in sql
                sql = sql.replace(old, new)
        execute(connection, sql, bindings)

    monkeypatch.setattr(PyhiveConnectionWrapper, "execute", watched)
    return found


def run_elsewhere(project: ThriftProject, *arguments: str) -> None:
    """Run dbt in another process, on the same server."""
    folder = project.folder / "elsewhere"
    command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "run", *QUIET]
    command += ["--project-dir", str(project.folder), "--target-path", str(folder), *arguments]
    subprocess.run(command, check=True, cwd=ROOT, timeout=300)


def test_two_runs_in_one_session_of_the_server_do_not_mix_their_plans(
    project: ThriftProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = [put(1, "a", "one"), put(1, "b", "two"), put(2, "a", "three")]
    project.add_collection("shared", KEY, VALUE)
    project.append("shared", log)
    project.run("models/shared", until=0)
    other = json.dumps({"trueup_until": 2, "trueup_read_only": True})

    found = before(
        monkeypatch,
        r"create or replace table \S*shared_batch",
        lambda: run_elsewhere(project, "--select", "shared_batch", "--vars", other),
    )
    project.run("models/shared", until=3)
    monkeypatch.undo()

    assert found
    oracle = Collection()
    oracle.run(log)
    check(project, "shared", oracle)
    assert project.progress("shared")[-1]["_upper"] == 3


def test_an_apply_that_loses_a_race_over_thrift_gives_one_line(project: ThriftProject) -> None:
    lose_a_race(project, PyhiveConnectionWrapper)


def test_two_runs_at_once_over_thrift_write_each_batch_once_and_lose_nothing(
    project: ThriftProject,
) -> None:
    race_two_processes(project, rounds=4)
