"""The process that workers are forked from. A worker runs dbt and asks before each statement.

Usage: `python -m tests.faults.nursery FOLDER SOCKET [alone]`. FOLDER holds a project. The process
parses it once, and then forks a worker for each line of its input. A worker connects to SOCKET. So
a worker starts in a moment, and it can be killed for real.

All workers share the JVM of the test, but each has a Spark session of its own. So the variables and
temporary views of a run die with its worker, and no other run sees them. With `alone`, the process
is a worker itself and starts a JVM, which can be killed with it.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial, wraps
from multiprocessing.connection import Client
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import yaml
from dbt.adapters.spark.session import Cursor
from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner
from dbt_common.tests import enable_test_caching
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from tests.project import QUIET, messages

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from dbt.contracts.graph.manifest import Manifest


class LostReplyError(RuntimeError):
    """The statement ran, but its reply did not arrive."""


class Gate:
    """Asks the scheduler before each statement of this worker."""

    def __init__(self) -> None:
        """Stay open until there is a scheduler."""
        self.scheduler: Connection | None = None
        self._lock = RLock()

    def pass_through(self, statement: str, send: Callable[[], DataFrame]) -> DataFrame:
        """Send a statement as the scheduler says."""
        if self.scheduler is None:
            return send()
        with self._lock:
            self.scheduler.send(("statement", statement))
            order = self.scheduler.recv()
            if order == "tell":
                self.scheduler.send(("begins", statement))
            if order == "twice":
                execute(send())
            answer = send()
            if order in ("halt", "lose", "tell"):
                execute(answer)
            if order == "tell":
                self.scheduler.send(("ended", statement))
            if order == "halt":
                self.scheduler.send(("halted", statement))
                self.scheduler.recv()
            if order == "lose":
                message = "the reply was lost"
                raise LostReplyError(message)
            return answer


def execute(answer: DataFrame) -> None:
    """Execute a query. Other statements were executed when they were sent."""
    answer.collect()


GATE = Gate()


def install_gate() -> None:
    """Watch `SparkSession.sql`, below the wrapper of trueup's plugin, as the engine would."""
    sql = SparkSession.sql

    @wraps(sql)
    def watched(session: SparkSession, statement: str, *rest: Any, **named: Any) -> DataFrame:
        return GATE.pass_through(statement, lambda: sql(session, statement, *rest, **named))

    SparkSession.sql = watched  # type: ignore[assignment]


def join_session() -> None:
    """Make a new session in the JVM that the environment names, as this process's only one."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)
    context = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
    own = SparkContext(conf=SparkConf(_jconf=java.getConf()), gateway=gateway, jsc=java)
    first = gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    SparkSession._instantiatedSession = SparkSession(own, first.newSession())
    # dbt-spark asks the builder for the session at each statement. The first one registers the
    # aggregates of trueup.
    Cursor().execute("select 1")


def work(folder: str, socket: str, number: str, manifest: Manifest) -> None:
    """Run each invocation that the scheduler sends, until it sends none."""
    with Client(socket, "AF_UNIX") as scheduler:
        scheduler.send(os.getpid())
        arguments = ["--project-dir", folder, *QUIET]
        arguments += ["--target-path", f"{folder}/target_{number}", "--threads", "1"]
        while invocation := scheduler.recv():
            GATE.scheduler = scheduler
            errors: list[str] = []
            runner = dbtRunner(manifest=manifest, callbacks=[partial(note_error, errors)])
            invoked = runner.invoke([*invocation, *arguments])
            GATE.scheduler = None
            said = messages(invoked) if isinstance(invoked.result, RunExecutionResult) else []
            scheduler.send(("done", (invoked.success, [*said, *errors])))


def note_error(errors: list[str], event: Any) -> None:
    """Collect what dbt prints of an error. The result of an operation does not have it."""
    if event.info.level == "error":
        errors.append(str(event.info.msg))


def main() -> None:
    """Fork workers until the input ends."""
    folder, socket, *alone = sys.argv[1:]
    install_gate()
    enable_test_caching()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    parsed = dbtRunner().invoke(["parse", "--project-dir", folder, *QUIET, "--no-partial-parse"])
    manifest = cast("Manifest", parsed.result)
    if alone:
        profile = yaml.safe_load(
            (Path(os.environ["DBT_PROFILES_DIR"]) / "profiles.yml").read_text()
        )
        settings = profile["trueup"]["outputs"]["local"]["server_side_parameters"]
        Cursor(server_side_parameters=settings).execute("select 1")
        work(folder, socket, "alone", manifest)
        return
    for line in iter(sys.stdin.readline, ""):
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            join_session()
            work(folder, socket, line.strip(), manifest)
            os._exit(0)


if __name__ == "__main__":
    main()
