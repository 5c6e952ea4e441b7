"""Runs on a cluster: a standalone master and two workers of one core, all on loopback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.engines.servers import (
    LOOPBACK,
    MARKS,
    SPARK_HOME,
    free_port,
    listens,
    run_module,
    server,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = MARKS
DEPLOY = "org.apache.spark.deploy"
LOOPBACK_2 = "127.0.0.2"
"""Spark starts a second copy of a task only on another host."""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with two workers."""
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    address = f"spark://{LOOPBACK}:{port}"
    spark_class = str(SPARK_HOME / "bin/spark-class")
    no_page = ["--webui-port", "0"]
    worker = [spark_class, f"{DEPLOY}.worker.Worker", *no_page, "--cores", "1", "--memory", "1g"]
    logs = [folder / f"worker_{number}.log" for number in range(2)]

    def is_registered(log: Path) -> bool:
        return "Successfully registered with master" in log.read_text()

    with (
        server(
            [
                spark_class,
                f"{DEPLOY}.master.Master",
                *no_page,
                "--host",
                LOOPBACK,
                "--port",
                str(port),
            ],
            folder / "master.log",
            lambda: listens(port),
        ),
        server(
            [*worker, "--host", LOOPBACK, "--work-dir", str(folder / "work_0"), address],
            logs[0],
            lambda: is_registered(logs[0]),
        ),
        server(
            [*worker, "--host", LOOPBACK_2, "--work-dir", str(folder / "work_1"), address],
            logs[1],
            lambda: is_registered(logs[1]),
        ),
    ):
        yield address


def test_killed_executors_and_failed_tasks_change_no_result(
    master: str, package: Path, tmp_path: Path
) -> None:
    run_module("on_cluster", tmp_path, master, package, timeout=1800)
    happened = json.loads((tmp_path / "happened.json").read_text())
    assert happened == {
        "commit: killed at its first task": 1,
        "commit: killed after a shuffle": 1,
        "attempts of a task that fails twice": 3,
        "copies of a slow task": 2,
    }
