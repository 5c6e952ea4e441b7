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
from tests.engines.script import (
    KEY,
    VALUE,
    check,
    open_project,
    put,
    run_python_aggregates,
    run_script,
)
from tests.engines.servers import settings
from tests.git_repository import FILE, commit, new_repository
from tests.oracle import Collection, Command

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from tests.project import Project

STEPS = {
    "stage": r"create or replace table \S*hurt_batch",
    "append": r"/\* trueup: append",
    "apply": r"/\* trueup: apply",
}
"""The statement of each step that is hurt."""
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


def hurt(
    step: str, act: Callable[[Callable[[str], None], str], None]
) -> AbstractContextManager[None]:
    """Let `act(execute, sql)` send the statement of a step."""

    def send(execute: Callable[[str], None], sql: str) -> None:
        if re.search(STEPS[step], sql):
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
        self.oracle, self.log = Collection(), list[Command]()
        project.add_collection("hurt", KEY, VALUE, {"verify": "always"})
        self.run()

    def run(self) -> None:
        """Run a batch that changes, adds and deletes keys, and compare the result."""
        ts = len(self.project.progress("hurt")) + 1 if self.log else 1
        arriving = [put(ts, f"key {key}", f"value {ts}") for key in range(200)]
        arriving += [put(ts, f"key of {ts}", "new"), put(ts, f"key of {ts - 1}", None)]
        self.log += arriving
        self.project.append("hurt", arriving)
        self.project.run("models/hurt")
        self.oracle.run(self.log)
        check(self.project, "hurt", self.oracle)

    def kill(self, step: str, moment: str) -> None:
        """Kill the executors in a step. Repeat this until a task was lost."""

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
            with hurt(step, send):
                self.run()
            if self.lost_tasks() > lost:
                happened[f"{step}: killed {moment}"] += 1
                return

    def lost_tasks(self) -> int:
        """How many tasks have been lost with their executor."""
        return (self.folder / "driver.log").read_text().count("ExecutorLostFailure")

    def write_with(self, name: str, task: Callable[[str], bool]) -> None:
        """Call a function in the tasks that write the staged batch."""
        self.spark.udf.register(name, udf(task, "boolean").asNondeterministic())

        def send(execute: Callable[[str], None], sql: str) -> None:
            assert sql.rstrip().endswith("from staged"), sql
            execute(f"{sql.rstrip()}\nwhere {name}(_kind)")

        with hurt("stage", send):
            self.run()


def hurt_batches(spark: SparkSession, project: Project, folder: Path) -> None:
    """Kill executors in each step, and let tasks fail."""
    collection = Hurt(spark, project, folder)
    for step in STEPS:
        for moment in MOMENTS:
            collection.kill(step, moment)

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
    run_script(project, "dropped", late="drop")
    run_script(project, "corrected", late="correct")
    run_demo(folder)
    hurt_batches(project.spark, project, folder)
    run_python_aggregates(project)
    project.spark.stop()
    (folder / "happened.json").write_text(json.dumps(happened))


if __name__ == "__main__":
    main()
