"""How long `trueup watch` takes from the commit of a command to its row in the collection.

    python -m benchmarks.freshness [commands]

It brings the demo to the HEAD of this checkout, in a temporary catalog, and watches it. Then it
appends one command at a time (ten), at a random moment after the one before, and asks until `files`
has its row: once while the watcher rests, and once whatever it does. It prints the seconds, their
median and the worst, and how busy the machine was: a load above its cores makes them longer.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from dbt_trueup.runner import growth
from dbt_trueup.runner.project import Project
from dbt_trueup.runner.screen import IDLE, Screen
from dbt_trueup.watch.loop import repeat
from demo import run

if TYPE_CHECKING:
    from collections.abc import Callable


COMMANDS = 10
EVERY, LOOK = 60.0, 0.5
"""The defaults of `trueup watch`."""

PAUSE = 6.0
"""The most seconds from one row to the next command; a round with a change takes about as long."""

ASK = 0.2
"""Seconds from one look for the row to the next, at versions alone: a query would compete."""


class Resting(Screen):
    """Knows whether the watcher rests."""

    def __init__(self) -> None:
        """Begin without a rest."""
        self.rests = Event()

    def show_status(self, text: str) -> None:
        """Note when it rests."""
        if text == IDLE:
            self.rests.set()


def main() -> None:
    """Print all figures."""
    commands = int(sys.argv[1]) if len(sys.argv) > 1 else COMMANDS
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("TRUEUP_HOME", ""), ("DBT_TARGET_PATH", "target")):
            os.environ[name] = str(Path(folder, part))
        run.run(run.ROOT)
        screen, stop = Resting(), Event()
        project = Project([], ["--select", "path:models/demo"])
        watcher = Thread(target=repeat, args=(project, EVERY, LOOK, stop, screen))
        watcher.start()
        try:
            measure(commands, screen)
        finally:
            stop.set()
            watcher.join()


def measure(commands: int, screen: Resting) -> None:
    """Append the commands of both kinds, and print what they took."""
    spark = SparkSession.builder.getOrCreate()

    def rest() -> None:
        screen.rests.clear()
        screen.rests.wait()

    rest()
    append(spark, "warm")
    for kind, wait in (("at rest", rest), ("at any moment", lambda: None)):
        taken = [one(spark, f"{kind} {number}", wait) for number in range(commands)]
        shown = ", ".join(f"{each:.1f}" for each in taken)
        busy = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        say(f"{kind}: median {median(taken):.1f} s, worst {max(taken):.1f} s ({shown}); {busy}")


def one(spark: SparkSession, path: str, wait: Callable[[], None]) -> float:
    """Append a command, and wait for its row. Gives the seconds from its commit."""
    sleep(random.uniform(0, PAUSE))  # noqa: S311 - no secret
    wait()
    append(spark, path)
    committed = perf_counter()
    before = None
    while True:
        now = growth.versions(["trueup.files"], [])
        if now != before and not spark.table("trueup.files").where(f"path = '{path}'").isEmpty():
            return perf_counter() - committed
        before = now
        sleep(ASK)


def append(spark: SparkSession, path: str) -> None:
    """Commit a command that adds a path, at the next tick."""
    log = "trueup.git_changes"
    last = spark.table(log).agg({"commit_no": "max"}).collect()[0][0]
    row = (last + 1, 1, "", datetime.now(timezone.utc), path, "100644", "", "A")
    spark.createDataFrame([row], run.LOG_COLUMNS).writeTo(log).append()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
