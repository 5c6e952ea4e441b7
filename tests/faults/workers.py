"""Workers that run dbt and stop before each statement, as the scheduler of a test needs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Listener
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pyspark import SparkContext

from tests.conftest import ROOT
from tests.project import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

PATIENCE = 300
"""Seconds to wait for the next message of a worker."""

Order = Literal["go", "halt", "lose", "twice", "tell"]
"""What to do with the statement.

`go` sends it. `halt` sends it and halts. `lose` sends it and loses its reply. `twice` sends it two
times. `tell` says when it begins and when it has ended.
"""


class Outcome(NamedTuple):
    """How an invocation of dbt ended."""

    success: bool
    messages: list[str]

    @property
    def text(self) -> str:
        """All messages."""
        return "\n".join(self.messages)


class Worker:
    """A process that runs dbt in a Spark session of its own. It waits at each statement."""

    def __init__(self, link: Connection, pid: int, *, is_group: bool = False) -> None:
        """Take over a worker that has just connected. `is_group` if it has its own JVM."""
        self._is_group = is_group
        self._link = link
        self.pid = pid
        self.statement: str | None = None
        """The statement that the worker wants to send next; None if it runs nothing."""
        self.sent: list[str] = []
        """The statements that the invocation has sent."""
        self.outcome: Outcome | None = None
        """How the last invocation ended; None while it goes on."""

    def begin(self, *invocation: str) -> None:
        """Start an invocation of dbt, and wait for its first statement."""
        self.outcome = None
        self.sent = []
        self._link.send(invocation)
        self._wait()

    def order(self, order: Order = "go") -> None:
        """Let the worker send its statement. `finish` waits for what it wants next."""
        self.sent.append(self.statement or "")
        self._link.send(order)

    def step(self, order: Order = "go") -> None:
        """Let the worker send its statement, and wait for what it wants next."""
        self.order(order)
        self._wait()

    def await_next(self) -> None:
        """Wait for what the worker wants next, after `order`."""
        self._wait()

    def is_still_executing(self, seconds: float) -> bool:
        """Wait for the start of the statement after the order `tell`, and then for some seconds.

        Returns:
            Whether the statement has not ended since.
        """
        self._wait()
        time.sleep(seconds)
        return not self._link.poll()

    def finish(self) -> Outcome:
        """Let the invocation go on to its end."""
        while self.outcome is None:
            self.step()
        return self.outcome

    def kill(self) -> None:
        """Kill the process, and its JVM if it has one. It gets no chance to do anything else."""
        (os.killpg if self._is_group else os.kill)(self.pid, signal.SIGKILL)
        self._link.close()

    def dismiss(self) -> None:
        """Let an idle worker end."""
        self._link.send(())
        self._link.close()

    def _wait(self) -> None:
        if not self._link.poll(PATIENCE):
            message = f"worker {self.pid} said nothing for {PATIENCE} s after: {self.statement}"
            raise TimeoutError(message)
        kind, content = self._link.recv()
        self.statement = content if kind == "statement" else None
        if kind == "done":
            self.outcome = Outcome(*content)


class Workers:
    """Starts workers for a project. They share the JVM of this process."""

    def __init__(self, folder: Path) -> None:
        """Parse the project once, for all workers."""
        self._room = tempfile.TemporaryDirectory(prefix="trueup_")
        self._folder = folder
        socket, self._door = (str(Path(self._room.name) / name) for name in ("forked", "alone"))
        self._listener = Listener(socket, "AF_UNIX")
        # A process with its own JVM starts slowly, so it must not take the place of a fork.
        self._listener_alone = Listener(self._door, "AF_UNIX")
        for listener in (self._listener, self._listener_alone):
            # Otherwise a process that does not start would be waited for without an end.
            listener._listener._socket.settimeout(PATIENCE)  # type: ignore[attr-defined]
        # dbt prints the errors of runs that lose a race.
        self._output = (folder / "workers.log").open("a")
        gateway = SparkContext._gateway
        assert gateway is not None, "workers need the JVM of a Spark session"
        parameters = gateway.gateway_parameters
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nursery", str(folder), socket],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            text=True,
            cwd=ROOT,
            env=os.environ
            | {
                "PYSPARK_GATEWAY_PORT": str(parameters.port),
                "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
                "PYSPARK_PYTHON": sys.executable,
            },
        )
        self._idle: list[Worker] = []
        self._hired = 0

    def hire(self, count: int) -> Sequence[Worker]:
        """Give idle workers. New ones are started if there are too few."""
        while len(self._idle) < count:
            self._hired += 1
            assert self._nursery.stdin is not None
            self._nursery.stdin.write(f"{self._hired}\n")
            self._nursery.stdin.flush()
            link = self._listener.accept()
            self._idle.append(Worker(link, link.recv()))
        hired, self._idle = self._idle[:count], self._idle[count:]
        return hired

    def start_alone(self) -> subprocess.Popen[bytes]:
        """Start a process with a JVM of its own, which `accept_alone` waits for."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_G")
        }
        return subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nursery", str(self._folder), self._door, "alone"],
            stdout=self._output,
            stderr=self._output,
            cwd=ROOT,
            env=environment | SHORT_LIVED,
            # The process and its JVM are one group: they are killed together.
            start_new_session=True,
        )

    def accept_alone(self) -> Worker:
        """Wait for the worker of a process with a JVM of its own."""
        link = self._listener_alone.accept()
        return Worker(link, link.recv(), is_group=True)

    def release(self, *workers: Worker) -> None:
        """Take back workers that run nothing."""
        self._idle += workers

    def close(self) -> None:
        """End all workers."""
        for worker in self._idle:
            worker.dismiss()
        self._nursery.communicate()
        self._listener.close()
        self._listener_alone.close()
        self._output.close()
        self._room.cleanup()
