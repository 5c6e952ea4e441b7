"""Runs collections on a cluster whose executors are killed and whose tasks fail.

Usage: `python -m tests.engines.on_cluster FOLDER MASTER PACKAGE`. It is a process of its own,
because a JVM keeps its master. It writes to `happened.json` how often each fault happened.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.functions import udf

import demo.run
from tests.between import sent_through
from tests.engines.script import KEY, VALUE, check, open_project, put, run_script
from tests.engines.servers import settings
from tests.git_repository import FILE, commit, new_repository
from tests.newest_oracle import Newest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from tests.project import Project

COMMIT = "/* trueup: commit */"
"""What the statement that is hurt has in it."""
MOMENTS = ("at its first task", "after a shuffle")
"""When executors are killed. After a shuffle, the files of the shuffle are lost, too."""

happened: Counter[str] = Counter()


def executors(app: str) -> list[int]:
    """The ids of the executor processes of an application."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in line and app in line:
            found.append(int(entry.name))
    return found


def is_reached(spark: SparkSession, moment: str) -> bool:
    """Whether a task runs now; or, after a shuffle, a task that reads one."""
    tracker = spark.sparkContext.statusTracker()
    for number in tracker.getActiveJobsIds():
        job = tracker.getJobInfo(number)
        for stage in job.stageIds if job else []:
            info = tracker.getStageInfo(stage)
            is_later = stage > min(job.stageIds) if job else False
            if info and info.numActiveTasks and (is_later or moment == MOMENTS[0]):
                return True
    return False


def kill_executors(spark: SparkSession, moment: str, ended: Event) -> None:
    """Kill all executors as soon as a moment is reached, unless the statement ends before."""
    found = executors(spark.sparkContext.applicationId)
    while not ended.is_set():
        if is_reached(spark, moment):
            for executor in found:
                os.kill(executor, signal.SIGKILL)
            return


def hurt(act: Callable[[Callable[[str], None], str], None]) -> AbstractContextManager[None]:
    """Let `act(execute, sql)` send the commit."""

    def send(execute: Callable[[str], None], sql: str) -> None:
        if COMMIT in sql:
            act(execute, sql)
        else:
            execute(sql)

    return sent_through(send)


def cluster_settings(folder: Path, master: str) -> dict[str, str]:
    """The settings of a session on the cluster."""
    return settings(folder) | {
        "spark.master": master,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.task.maxFailures": "4",
        # If the only task of a stage runs for two seconds, Spark starts a copy on the other host.
        "spark.speculation": "true",
        "spark.speculation.task.duration.threshold": "2s",
        # Executors are killed on purpose, and the cluster must not give up.
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.excludeOnFailure.enabled": "false",
        "spark.trueup.jvm_log": str(folder / "driver.log"),
    }


class Hurt:
    """A collection whose runs are hurt, with its log and the oracle's answer."""

    def __init__(self, spark: SparkSession, project: Project, folder: Path) -> None:
        """Make the collection, with a first batch."""
        self.spark, self.project, self.folder = spark, project, folder
        self.oracle = Newest(width=1)
        self.runs = 0
        project.add_collection("hurt", KEY, VALUE, {"verify": "always"})
        self.run()

    def run(self) -> None:
        """Run a batch that changes, adds and deletes keys, and compare the result."""
        self.runs += 1
        ts = self.runs
        arriving = [put(ts, f"key {key}", f"value {ts}") for key in range(200)]
        arriving += [put(ts, f"key of {ts}", "new"), put(ts, f"key of {ts - 1}", None)]
        self.project.append("hurt", arriving)
        self.project.run("hurt")
        self.oracle.run(arriving)
        check(self.project, "hurt", self.oracle)

    def kill(self, moment: str) -> None:
        """Kill the executors in a commit. Repeat this until a task was lost."""

        def send(execute: Callable[[str], None], sql: str) -> None:
            ended = Event()
            killer = Thread(target=kill_executors, args=(self.spark, moment, ended))
            killer.start()
            try:
                execute(sql)
            finally:
                ended.set()
                killer.join()

        lost = self.lost_tasks()
        for _ in range(5):
            with hurt(send):
                self.run()
            if self.lost_tasks() > lost:
                happened[f"commit: killed {moment}"] += 1
                return

    def lost_tasks(self) -> int:
        """How many tasks have been lost with their executor."""
        return (self.folder / "driver.log").read_text().count("ExecutorLostFailure")

    def write_with(self, name: str, task: Callable[[str], bool]) -> None:
        """Call a function in the tasks that read the log."""
        self.spark.udf.register(name, udf(task, "boolean").asNondeterministic())

        def send(execute: Callable[[str], None], sql: str) -> None:
            log = f"(select * from log where {name}(k))"
            assert "from log" in sql, sql
            execute(re.sub(r"from log\b", f"from {log} as log", sql))

        with hurt(send):
            self.run()


def hurt_batches(spark: SparkSession, project: Project, folder: Path) -> None:
    """Kill executors in each step, and let tasks fail."""
    collection = Hurt(spark, project, folder)
    for moment in MOMENTS:
        collection.kill(moment)

    def fails_twice(_: str) -> bool:
        """Raise in the first two attempts of each task."""
        context = TaskContext.get()
        assert context is not None
        (folder / f"attempt {context.attemptNumber()}").touch()
        if context.attemptNumber() < 2:
            raise RuntimeError
        return True

    collection.write_with("fails_twice", fails_twice)
    attempts = [(folder / f"attempt {number}").exists() for number in range(3)]
    happened["attempts of a task that fails twice"] = sum(attempts)

    def is_slow_once(_: str) -> bool:
        """Sleep for a minute, but only in the first attempt."""
        context = TaskContext.get()
        assert context is not None
        attempt = folder / f"copy {context.attemptNumber()}"
        if not attempt.exists():
            attempt.touch()
            time.sleep(60 if context.attemptNumber() == 0 else 0)
        return True

    began = time.monotonic()
    collection.write_with("is_slow_once", is_slow_once)
    assert time.monotonic() - began < 60, "the slow task was waited for"
    happened["copies of a slow task"] = len(list(folder.glob("copy *")))


def run_demo(folder: Path) -> None:
    """Run the demo over a small repository, twice. It compares the table with git."""
    os.environ |= {"DBT_TARGET_PATH": str(folder / "target"), "TRUEUP_HOME": str(folder)}
    repository = new_repository(folder / "small.git")
    for content in ("1", "2"):
        commit(repository, {b"same": (FILE, "1"), b"changed": (FILE, content)})
        assert demo.run.main(["--repository", str(repository)]) == 0


def main() -> None:
    """Run everything, and write the counts."""
    folder, master, package = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    project = open_project(folder, "cluster", cluster_settings(folder, master), package)
    run_script(project)
    run_demo(folder)
    hurt_batches(project.spark, project, folder)
    project.spark.stop()
    (folder / "happened.json").write_text(json.dumps(happened))


if __name__ == "__main__":
    main()
