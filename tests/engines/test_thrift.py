"""Runs over a Spark Thrift server, by dbt-spark's method `thrift`. The server has no Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import yaml
from dbt.adapters.spark.connections import PyhiveConnectionWrapper

from tests.engines.remote import ThriftProject, ThriftSession
from tests.engines.script import lose_a_race, run_script
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

if TYPE_CHECKING:
    from collections.abc import Iterator
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


def test_batches_and_repairs_over_thrift_equal_the_oracle(project: ThriftProject) -> None:
    """The server has no Python, so the repair needs no aggregate of Python."""
    run_script(project)


def test_a_run_that_loses_a_race_over_thrift_commits_again(project: ThriftProject) -> None:
    lose_a_race(project, PyhiveConnectionWrapper)
