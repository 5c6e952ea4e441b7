"""How long `trueup watch` takes from the commit of a command to its row in the collection.

    python -m benchmarks.freshness [commands] [--collections N]

It brings the demo to the HEAD of this checkout, in a temporary catalog, and watches it. With
`--collections` it makes that many small collections instead, each with a log of its own. Then it
appends one command at a time (ten) to the first log, at a random moment after the one before, and
asks until the collection has its row: once while the watcher rests, and once whatever it does. It
prints the seconds, their median and the worst, and how busy the machine was: a load above its cores
makes them longer.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import SparkSession

from benchmarks.degradation import ROOT, start
from dbt_trueup.plugin import session
from dbt_trueup.runner import growth
from dbt_trueup.runner.project import Project
from dbt_trueup.runner.screen import IDLE, Screen
from dbt_trueup.watch.loop import repeat
from demo import run
from tests.acceptance import Column
from tests.oracle import Command
from tests.project import Project as MadeProject

if TYPE_CHECKING:
    from collections.abc import Callable


COMMANDS = 10
EVERY, LOOK = 60.0, 0.5
"""The defaults of `trueup watch`."""

PAUSE = 6.0
"""The most seconds from one row to the next command; a round with a change takes about as long."""

ASK = 0.2
"""Seconds from one look for the row to the next, at versions alone: a query would compete."""


class Watched(Protocol):
    """What is watched."""

    runs: Project
    table: str
    """The table whose rows are waited for. Its key is the column `path`."""

    def append(self, path: str) -> None:
        """Commit a command that adds a path, at the next tick."""


class Demo:
    """The collections of the demo."""

    table = "trueup.files"
    log = "trueup.git_changes"

    def __init__(self, folder: Path) -> None:
        """Bring it to HEAD."""
        for name, part in (("TRUEUP_HOME", ""), ("DBT_TARGET_PATH", "target")):
            os.environ[name] = str(folder / part)
        run.run(run.ROOT)
        self.runs = Project([], ["--select", "path:models/demo"])
        self.spark = SparkSession.builder.getOrCreate()

    def append(self, path: str) -> None:
        """See `Watched`."""
        last = self.spark.table(self.log).agg({"commit_no": "max"}).collect()[0][0]
        row = (last + 1, 1, "", datetime.now(timezone.utc), path, "100644", "", "A")
        self.spark.createDataFrame([row], run.LOG_COLUMNS).writeTo(self.log).append()


class Collections:
    """Some small collections, each with a log of its own."""

    table = "freshness.c0_state"

    def __init__(self, folder: Path, number: int) -> None:
        """Make them, with a command each."""
        session.install()
        self.spark = start(folder)
        os.environ["DBT_PROFILES_DIR"] = str(folder)
        (folder / "project").mkdir()
        self.made = MadeProject(folder / "project", "freshness", self.spark, ROOT)
        self.tick = 0
        columns = [Column("path", "string")], [Column("mode", "string")]
        for each in range(number):
            self.made.add_collection(f"c{each}", *columns, {"verify": "always"})
            self.made.append(f"c{each}", [Command(0, (1,), ("first",), ("100644",))])
        self.runs = Project(["--project-dir", str(self.made.folder)], [])

    def append(self, path: str) -> None:
        """See `Watched`."""
        self.tick += 1
        self.made.append("c0", [Command(self.tick, (1,), (path,), ("100644",))])


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
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commands", type=int, nargs="?", default=COMMANDS)
    parser.add_argument("--collections", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        watched = Collections(folder, given.collections) if given.collections else Demo(folder)
        screen, stop = Resting(), Event()
        watcher = Thread(target=repeat, args=(watched.runs, EVERY, LOOK, stop, screen))
        watcher.start()
        try:
            measure(watched, given.commands, screen)
        finally:
            stop.set()
            watcher.join()


def measure(watched: Watched, commands: int, screen: Resting) -> None:
    """Append the commands of both kinds, and print what they took."""

    def rest() -> None:
        screen.rests.clear()
        screen.rests.wait()

    rest()
    watched.append("warm")
    for kind, wait in (("at rest", rest), ("at any moment", lambda: None)):
        taken = [one(watched, f"{kind} {number}", wait) for number in range(commands)]
        shown = ", ".join(f"{each:.1f}" for each in taken)
        busy = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        say(f"{kind}: median {median(taken):.1f} s, worst {max(taken):.1f} s ({shown}); {busy}")


def one(watched: Watched, path: str, wait: Callable[[], None]) -> float:
    """Append a command, and wait for its row. Gives the seconds from its commit."""
    sleep(random.uniform(0, PAUSE))  # noqa: S311 - no secret
    wait()
    watched.append(path)
    committed = perf_counter()
    before = None
    spark = SparkSession.builder.getOrCreate()
    while True:
        now = growth.tables({watched.table: frozenset()}, {})
        # Each look needs a new DataFrame: an old one only has the rows of its first look.
        if now != before and not spark.table(watched.table).where(f"path = '{path}'").isEmpty():
            return perf_counter() - committed
        before = now
        sleep(ASK)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
