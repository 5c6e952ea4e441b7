"""PostgreSQL, Kafka, and Kafka Connect with Debezium, on free ports of loopback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from tests.conftest import ROOT
from tests.engines.servers import LOOPBACK, free_port, listens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PATIENCE = 120
"""Seconds to wait for a server."""

SMALL_JVM = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

POM = Path(__file__).with_name("pom.xml")
CACHE = ROOT / "target" / "live"
"""Maven's own repository, and the JARs. In ~/.m2 it would disturb the resolver of Spark."""

SPARK_JARS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""Spark's package for Kafka. Ivy would ask a server for it that is not reached everywhere."""


def binaries() -> Path | None:
    """The folder of the programs of the newest PostgreSQL; None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name))
    return found[-1] if found else None


def missing() -> str:
    """What is missing on this machine, and how to get it; empty if all is there."""
    folder = binaries()
    if folder is None or not (folder.parent / "lib" / "wal2json.so").exists():
        return "PostgreSQL with wal2json: apt-get install postgresql postgresql-NN-wal2json"
    return "" if shutil.which("mvn") else "Maven: apt-get install maven"


SERVER_MARKS = [
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.iceberg_only,
    pytest.mark.skipif(bool(missing()), reason=f"needs {missing()}"),
]
"""The marks of the tests that need these servers."""


def fetch_jars() -> None:
    """Fetch the JARs that are not there."""
    maven = ("mvn", "-q", "-B", f"-Dmaven.repo.local={CACHE}/m2", "-f", str(POM))
    here = CACHE / "servers"
    if not here.exists() or here.stat().st_mtime < POM.stat().st_mtime:
        part = here.with_suffix(".part")
        run([*maven, "dependency:copy-dependencies", f"-DoutputDirectory={part}"])
        shutil.rmtree(here, ignore_errors=True)
        part.rename(here)
    for jar in SPARK_JARS:
        if not (CACHE / "spark" / "{1}-{2}.jar".format(*jar.split(":"))).exists():
            folder = f"-DoutputDirectory={CACHE}/spark"
            run([*maven, "dependency:copy", f"-Dartifact={jar}", folder])


def run(
    command: Sequence[str], environment: Mapping[str, str] | None = None, seconds: float = 600
) -> None:
    """Run a command, with further variables. Raise with the end of what it said if it fails."""
    variables = os.environ | dict(environment or {})
    ran = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]


class Server:
    """A process in a group of its own, which can be killed and started again."""

    def __init__(  # noqa: PLR0913
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        is_ready: Callable[[], bool],
        *,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            name: Names its log.
            command: The words of the command.
            folder: Where it works and logs.
            is_ready: Whether it is ready.
            user: Who runs it.
            environment: Further variables.
        """
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = command
        self._folder = folder
        self._is_ready = is_ready
        self._user = user if os.geteuid() == 0 else None
        self._environment = os.environ | dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        who = {"user": self._user, "group": self._user, "extra_groups": []} if self._user else {}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # type: ignore[call-overload]
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **who,
            )
        end = time.monotonic() + PATIENCE
        while not self._is_ready():
            if not self.is_alive() or time.monotonic() > end:
                message = f"{self.name} did not start:\n{self.log.read_text()[-3000:]}"
                raise RuntimeError(message)
            time.sleep(0.2)

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> bool:
        """Kill it and its children, and wait for their end. Return whether it was alive."""
        if self._process is None:
            return False
        was_alive = self.is_alive()
        # The processes of PostgreSQL have sessions of their own, and keep its memory.
        ask = ["pgrep", "--parent", str(self._process.pid)]
        found = subprocess.run(ask, check=False, capture_output=True, text=True).stdout.split()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for child in map(int, found):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{child}").exists() for child in found) and time.monotonic() < end:
            time.sleep(0.05)
        return was_alive


class Source:
    """A database, a broker and a worker with a connector that follows some tables."""

    def __init__(self, folder: Path, tables: Sequence[str]) -> None:
        """Make the files of all servers. Start nothing yet."""
        self.folder = folder
        self.port, self.broker_port = free_port(), free_port()
        self.dsn = f"host={LOOPBACK} port={self.port} user=postgres dbname=postgres"
        self.brokers = f"{LOOPBACK}:{self.broker_port}"
        self.database = self._database()
        self._tables = tables

    def _database(self) -> Server:
        programs, data = binaries(), self.folder / "database"
        assert programs is not None
        user = "postgres" if os.geteuid() == 0 else None
        data.mkdir()
        if user:
            shutil.chown(data, user, user)
        initdb = [*(str(programs / "initdb"), "-D", str(data), "-U", "postgres"), "-A", "trust"]
        subprocess.run(initdb, user=user, cwd=data, check=True, stdout=subprocess.DEVNULL)
        settings = {
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": "",
            "wal_level": "logical",
            "fsync": "off",  # a killed process loses nothing that the system has
            "max_replication_slots": 20,
            "max_wal_senders": 20,
        }
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(programs / "postgres"), "-D", str(data), "-p", str(self.port), *given]
        ready = [str(programs / "pg_isready"), "-h", LOOPBACK, "-p", str(self.port), "-q"]
        return Server(
            "database",
            command,
            self.folder,
            lambda: subprocess.run(ready, check=False).returncode == 0,
            user=user,
        )

    @cached_property
    def broker(self) -> Server:
        """Kafka. The tests without it need no JARs."""
        controller = free_port()
        plain = f"PLAINTEXT://{self.brokers}"
        file = self._properties(
            "broker",
            {
                "process.roles": "broker,controller",
                "node.id": 1,
                "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
                "listeners": f"{plain},CONTROLLER://{LOOPBACK}:{controller}",
                "advertised.listeners": plain,
                "controller.listener.names": "CONTROLLER",
                "log.dirs": self.folder / "kafka",
                "num.partitions": 3,
                "offsets.topic.replication.factor": 1,
                "transaction.state.log.replication.factor": 1,
                "transaction.state.log.min.isr": 1,
            },
        )
        cluster = "MkU3OEVBNTcwNTJENDM2Qk"
        run(java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", file))
        return Server(
            "broker", java("kafka.Kafka", file), self.folder, lambda: listens(self.broker_port)
        )

    @cached_property
    def connect(self) -> Server:
        """The worker, Kafka Connect, with Debezium."""
        port = free_port()
        self.connector = f"http://{LOOPBACK}:{port}/connectors/shop"
        converter = "org.apache.kafka.connect.json.JsonConverter"
        worker = self._properties(
            "worker",
            {
                "bootstrap.servers": self.brokers,
                "listeners": f"http://{LOOPBACK}:{port}",
                "key.converter": converter,
                "value.converter": converter,
                "key.converter.schemas.enable": "false",
                "offset.storage.file.filename": self.offsets,
                "offset.flush.interval.ms": 1000,
                "plugin.discovery": "service_load",
            },
        )
        connector = self._properties(
            "connector",
            {
                "name": "shop",
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                "database.hostname": LOOPBACK,
                "database.port": self.port,
                "database.user": "postgres",
                "database.password": "none",
                "database.dbname": "postgres",
                "topic.prefix": "shop",
                "plugin.name": "pgoutput",
                "slot.name": "debezium",
                "publication.autocreate.mode": "filtered",
                "table.include.list": ",".join(f"public.{table}" for table in self._tables),
                "snapshot.mode": "when_needed",
                "skipped.operations": "none",  # by default truncates
                "poll.interval.ms": 100,
                "retriable.restart.connector.wait.ms": 1000,
            },
        )
        main = "org.apache.kafka.connect.cli.ConnectStandalone"
        return Server("connect", java(main, worker, connector), self.folder, lambda: listens(port))

    def restart_failed(self) -> bool:
        """Start the worker or its task again if it has ended, as an operator would.

        If the database is not there while they start, Debezium does not try again.
        """
        if not self.connect.is_alive():
            self.connect.start()
            return True
        with suppress(OSError):
            with urlopen(f"{self.connector}/status", timeout=5) as answer:  # noqa: S310
                has_failed = b'"FAILED"' in answer.read()
            if has_failed:
                again = f"{self.connector}/restart?includeTasks=true&onlyFailed=true"
                urlopen(Request(again, method="POST"), timeout=30).close()  # noqa: S310
            return has_failed
        return False

    @property
    def offsets(self) -> Path:
        """The file in which the worker notes how far it has read."""
        return self.folder / "offsets"

    def _properties(self, name: str, settings: Mapping[str, object]) -> str:
        """Write a file of settings, and return its name."""
        file = self.folder / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return str(file)


def java(main: str, *words: str) -> list[str]:
    """The command that starts a class of Kafka."""
    return [*SMALL_JVM, "-cp", f"{CACHE}/servers/*", main, *words]
