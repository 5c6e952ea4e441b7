"""Runs are killed before, after and inside their statements. The next run repairs everything."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

from tests.faults import counts
from tests.faults.counts import SECONDS
from tests.faults.stage import SEED, advance, given_scripts
from tests.faults.stage import SITUATIONS as ALL_SITUATIONS
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.faults.stage import Stage
    from tests.faults.subjects import Subject
    from tests.faults.workers import Worker

SITUATIONS = ("run", "first", "heal", "schema", "select", "adopt", "ticks", "slices")
"""What the run finds that is killed."""

FAULTS = {
    "before": "SIGKILL before a statement",
    "after": "SIGKILL after a statement",
    "during": "SIGKILL of the run during a statement, which Spark completes meanwhile",
    "lose": "a reply is lost after its statement has committed",
    "twice": "a statement is executed twice",
    "tasks": "SIGKILL of the run and its JVM while the tasks of the commit write",
    "swap": "SIGKILL of both when all files of the commit are written, before the catalog's swap",
    "answer": "SIGKILL of both after the catalog's swap, before the answer",
}
"""The faults. The last three happen inside the MERGE; see INSIDE."""
INSIDE = ("tasks", "swap", "answer") if TABLE_FORMAT == "iceberg" else ()
"""They kill a JVM. With the in-memory catalog of Delta, no other JVM would find the tables."""

SHORT = ("after run commit", "lose heal commit")
"""The scripts of the short form."""


class Catalog:
    """The SQLite file of the catalog, and the files of a store."""

    def __init__(self, home: Path, subject: Subject) -> None:
        """Look at the store of a collection."""
        self.file = home / "catalog.db"
        self.subject = subject
        self.folder = home / "warehouse" / subject.project.name / f"{subject.name}__trueup"

    def location(self) -> str | None:
        """The metadata file of the store that the catalog knows."""
        query = (
            "select metadata_location from iceberg_tables"
            " where table_namespace = ? and table_name = ?"
        )
        names = self.subject.project.name, f"{self.subject.name}__trueup"
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=60)) as catalog:
            found = catalog.execute(query, names).fetchone()
        return None if found is None else str(found[0])

    def files(self, kind: str) -> set[Path]:
        """The files in the folder of the data, or in that of the metadata tables."""
        pattern = "data/**/*.parquet" if kind == "data" else "metadata/*.metadata.json"
        return set(self.folder.glob(pattern))


def play(stage: Stage, home: Path, script: str) -> str | None:
    """Carry out a script such as `before heal 7`, and let the next run repair what it has left.

    With a last word `more`, more commands arrive before the next run.

    Returns:
        The fault if it happened: the run was not over before its stop, and the statement was where
        it should be when it was killed.
    """
    fault, situation, stop, *more = script.split()
    random = Random(f"{SEED} {script}")  # noqa: S311 - the scripts must be repeatable
    if fault in INSIDE:
        happened = kill_inside(stage, home, fault, situation, random)
    else:
        happened = kill_between(stage, fault, situation, stop, random)
    subject = stage.subjects[ALL_SITUATIONS[situation].subject]
    if more:
        subject.arrive(random)
    if fault == "during":
        # The statement of the dead run goes on, and may make this run lose.
        (worker,) = stage.workers.hire(1)
        worker.begin("run", "--select", subject.name)
        stage.note(situation, worker, worker.finish(), may_fail=False)
        stage.workers.release(worker)
    stage.settle(subject)
    return fault if happened else None


def kill_between(stage: Stage, fault: str, situation: str, stop: str, random: Random) -> bool:
    """Let a fault happen at a statement of a run whose JVM goes on.

    Returns:
        Whether it happened.
    """
    subject = stage.prepare(situation, random)
    (worker,) = stage.workers.hire(1)
    worker.begin("run", "--select", subject.name)
    advance(worker, stop)
    happened = worker.outcome is None
    if happened and fault in ("lose", "twice"):
        worker.step("lose" if fault == "lose" else "twice")
        said = worker.finish()
        assert said.success or "the reply was lost" in said.text, said.text
        assert "\tat org." not in said.text, f"a page of Java: {said.text}"
    elif happened:
        if fault == "after":
            worker.step("halt")
        elif fault == "during":
            worker.order("tell")
            happened = worker.is_still_executing(random.random() * 0.2)
        worker.kill()
    stage.statements[situation] = max(stage.statements.get(situation, 0), len(worker.sent))
    if worker.outcome is not None:
        stage.workers.release(worker)
    return happened


def kill_inside(stage: Stage, home: Path, fault: str, situation: str, random: Random) -> bool:
    """Kill a run and its JVM inside a commit.

    Returns:
        Whether the commit was where it should be.
    """
    process = stage.workers.start_alone()
    subject = stage.prepare(situation, random)
    worker = stage.workers.accept_alone()
    try:
        worker.begin("run", "--select", subject.name)
        advance(worker, "commit")
        assert worker.outcome is None, worker.outcome
        catalog = Catalog(home, subject)
        location, data = catalog.location(), catalog.files("data")
        metadata = catalog.files("metadata")
        with closing(sqlite3.connect(catalog.file, isolation_level=None, timeout=60)) as holder:
            if fault == "swap":
                # Others may read the catalog, but not write to it. So the commit waits.
                holder.execute("begin immediate")
            worker.order("tell")
            worker.is_still_executing(0)
            wait_until(worker, fault, catalog, (location, data, metadata))
            has_answered = worker._link.poll()
            worker.kill()
            process.wait()
    except BaseException:
        process.kill()
        raise
    is_written = catalog.location() != location
    return not has_answered and is_written == (fault == "answer")


def wait_until(
    worker: Worker,
    fault: str,
    catalog: Catalog,
    before: tuple[str | None, set[Path], set[Path]],
) -> None:
    """Wait until the commit of a worker is where the fault happens, or over."""
    location, data, metadata = before
    until = time.monotonic() + 120
    while not worker._link.poll() and time.monotonic() < until:
        if fault == "tasks" and catalog.files("data") != data:
            return
        if fault == "swap" and catalog.files("metadata") != metadata:
            time.sleep(0.3)
            return
        if fault == "answer" and catalog.location() != location:
            return


def scripts(stage: Stage, random: Random) -> Iterator[str]:
    """Give the scripts of the short form, or new ones until the time is over.

    In the long form, every statement of every situation gets each fault, in a random sequence, and
    every eighth script kills a commit from inside.
    """
    if not SECONDS:
        yield from SHORT
    until = time.monotonic() + SECONDS
    inside = 0
    while time.monotonic() < until:
        for situation in SITUATIONS:
            yield f"after {situation} commit"
        turn = [
            f"{fault} {situation} {stop}{random.choice(['', ' more'])}"
            for fault in ("before", "after", "during", "lose", "twice")
            for situation in SITUATIONS
            for stop in range(stage.statements[situation])
        ]
        random.shuffle(turn)
        for number, script in enumerate(turn):
            if time.monotonic() >= until:
                stage.counts["faults of the last turn that were not played"] = len(turn) - number
                return
            if INSIDE and number % 8 == 0:
                situation = SITUATIONS[inside // len(INSIDE) % len(SITUATIONS)]
                yield f"{INSIDE[inside % len(INSIDE)]} {situation} commit"
                inside += 1
            yield script


def test_the_next_run_completes_what_a_killed_run_has_left(stage: Stage, home: Path) -> None:
    if "TRUEUP_SCRIPT" in os.environ:
        for script in given_scripts(*FAULTS):
            play(stage, home, script)
        return
    stage.counts.clear()
    stage.violations.clear()
    played = dict.fromkeys(FAULTS, 0)
    for script in scripts(stage, Random(SEED)):  # noqa: S311 - the scripts must be repeatable
        with stage.playing(script):
            fault = play(stage, home, script)
            if fault is not None:
                played[fault] += 1
    counts.report("kills", SEED, played, stage.counts, stage.violations)
    assert not stage.violations, "\n\n".join(stage.violations)
    expected = () if SECONDS else {script.split()[0] for script in SHORT}
    assert sum(played.values()), "no fault happened"
    assert all(played[fault] for fault in expected), f"a fault did not happen: {played}"
