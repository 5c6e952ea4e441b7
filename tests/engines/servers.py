"""Starts the servers of the installed pyspark on loopback, and stops them again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import pyspark
import pytest
import yaml

from tests.conftest import JAVA_OPTIONS, ROOT, SMALL, with_java_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MARKS = [
    pytest.mark.spark,
    pytest.mark.skipif("TRUEUP_ENGINES" not in os.environ, reason="run `make engines`"),
]
"""The marks of all tests that start a server."""

SPARK_HOME = Path(pyspark.__file__).parent
LOOPBACK = "127.0.0.1"
PATIENCE = 240
"""Seconds to wait for a server. The first start downloads JARs."""

SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""A server of a test ends too soon to profit from Java's second compiler."""


def settings(folder: Path) -> dict[str, str]:
    """The settings of the target `local` in profiles.yml.example, with all tables in a folder."""
    text = jinja2.Template((ROOT / "profiles.yml.example").read_text())
    environment = {"TRUEUP_HOME": str(folder), "TRUEUP_SCHEMA": "trueup"}
    outputs = yaml.safe_load(text.render(env_var=environment.get))["trueup"]["outputs"]
    example: dict[str, str] = outputs["local"]["server_side_parameters"]
    found = example | with_java_options(example, SMALL | {JAVA_OPTIONS: SMALL_JVM})
    del found["spark.trueup.jvm_log"]
    return found | {
        "spark.driver.memory": "2g",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
    }


def write_profile(folder: Path, given: Mapping[str, str]) -> None:
    """Write a profile with a session that has some settings, and let dbt use it."""
    output = {"type": "spark", "method": "session", "host": "localhost", "schema": "trueup"}
    output |= {"threads": 1, "server_side_parameters": dict(given)}  # type: ignore[dict-item]
    profile = {"trueup": {"target": "session", "outputs": {"session": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    os.environ["DBT_PROFILES_DIR"] = str(folder)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return int(taken.getsockname()[1])


def environment() -> dict[str, str]:
    """The environment of a server: this Spark, and this Python for its workers."""
    return os.environ | {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }


def run_module(name: str, *arguments: object, timeout: int) -> None:
    """Run a module of tests/engines in its own process. Raise with what it said if it fails."""
    ran = subprocess.run(
        [sys.executable, "-m", f"tests.engines.{name}", *map(str, arguments)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]


def jars(packages: str) -> list[Path]:
    """The files of the JARs that `spark.jars.packages` names. Downloads the missing ones."""
    folder = Path.home() / ".ivy2.5.2" / "jars"
    named = (package.split(":") for package in packages.strip().split(","))
    files = [folder / f"{group}_{name}-{version}.jar" for group, name, version in named]
    if not all(file.exists() for file in files):
        nothing = folder.parent / "nothing.py"
        nothing.parent.mkdir(parents=True, exist_ok=True)
        nothing.write_text("")
        command = [
            str(SPARK_HOME / "bin/spark-submit"),
            "--packages",
            packages.strip(),
            str(nothing),
        ]
        subprocess.run(command, env=environment(), check=True, timeout=PATIENCE)
    return files


@contextmanager
def server(
    command: list[str],
    log: Path,
    is_ready: Callable[[], bool],
    given: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """Start a process, wait until it is ready, and stop it and its children at the end.

    Args:
        command: The words of the command.
        log: A file for its output.
        is_ready: Whether the process is ready.
        given: Further variables of its environment.

    Yields:
        The id of the process.
    """
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            env=environment() | dict(given or {}),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=log.parent,
        )
    try:
        wait_until(is_ready, process, log)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(is_ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server is ready. Raise with the end of its log if it ends before."""
    until = time.monotonic() + PATIENCE
    while not is_ready():
        if process.poll() is not None or time.monotonic() > until:
            message = f"the server did not start:\n{log.read_text()[-3000:]}"
            raise RuntimeError(message)
        time.sleep(0.2)


def listens(port: int) -> bool:
    """Whether somebody listens on a port of loopback."""
    with socket.socket() as asked:
        return asked.connect_ex((LOOPBACK, port)) == 0


def submit(main: str, given: Mapping[str, str], *arguments: str) -> list[str]:
    """The command that starts a class of Spark with some settings."""
    confs = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
    return [
        *(str(SPARK_HOME / "bin/spark-submit"), "--class", main, *confs),
        *("spark-internal", *arguments),
    ]
