"""Runs over Spark Connect: the session of dbt-spark is on a server, which the test starts."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.engines.servers import (
    LOOPBACK,
    MARKS,
    environment,
    free_port,
    listens,
    server,
    settings,
    submit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = MARKS
MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Spark Connect server."""
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    given = settings(folder) | {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
    }
    with server(submit(MAIN, given), folder / "server.log", lambda: listens(port)):
        yield port


def test_batches_python_aggregates_and_lost_races_over_connect_equal_the_oracle(
    port: int, package: Path, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.engines.over_connect", tmp_path, str(port), package],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
