"""Runs over Spark Connect: the session of dbt-spark is on a server, which the test starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engines.servers import (
    LOOPBACK,
    MARKS,
    free_port,
    listens,
    run_module,
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


def test_batches_repairs_and_lost_races_over_connect_equal_the_oracle(
    port: int, package: Path, tmp_path: Path
) -> None:
    run_module("over_connect", tmp_path, port, package, timeout=600)
