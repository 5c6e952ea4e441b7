"""Carries out scripts: what runs do at the same moment, and what must hold afterwards."""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.faults.counts import SECONDS
from tests.faults.subjects import Selected, Sliced, Subject, Ticked
from tests.faults.workers import Workers
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.faults.workers import Outcome, Worker
    from tests.project import Project

SEED = int(os.environ.get("TRUEUP_SEED", "1"))

COMMIT = re.compile(r"/\* trueup: (commit|heal) \*/")
"""The marker of the two statements that write batches."""
REPAIRED = re.compile("rebuilt from the history|restored from the snapshot")


LOST = (
    "runs that failed with `upper mismatch`",
    "runs that committed again",
    "runs that looked again and found nothing new",
)
"""The ways in which a run loses a race."""


class Situation(NamedTuple):
    """What the runs of a script find, and what happens beside them."""

    subject: str
    says: str


SITUATIONS = {
    "run": Situation("retry", "the same run"),
    "first": Situation("retry", "the same run; there is no store yet"),
    "heal": Situation("retry", "the same run; both find an edited store"),
    "schema": Situation("retry", "the same run; both find a new column"),
    "meanwhile": Situation("retry", "the same run, after the log got a new column"),
    "fail": Situation("fail", "the same run, with `on_conflict: fail`"),
    "select": Situation("selected", "the same run of a collection by a SELECT"),
    "ticks": Situation("ticked", "the same run of a log with ticks"),
    "slices": Situation("sliced", "the same run; a first load by slices of the keys"),
    "adopt": Situation("retry", "the same run; a table of the name of the model is there"),
    "compact": Situation("retry", "a compaction of the store by somebody else"),
    "edit": Situation("retry", "an edit of current rows by somebody else"),
    "damage": Situation("retry", "an edit of the history by somebody else"),
}
"""The situations of two runs, or of a run and somebody else. The text says what the other does."""
SEEN = 5
"""How many edits of current rows a commit sees if they were made after the look of its run."""
if TABLE_FORMAT == "delta":
    # A statement cannot ask for the version of its target. So it sees only that a row was changed.
    # After other edits a commit may follow, and then the next run may refuse the store.
    SEEN = 1
    del SITUATIONS["damage"]

FOREIGN = ("compact", "edit", "damage")
"""The situations in which the other one is not a run."""


class Stage:
    """Carries out scripts, and counts what happened."""

    def __init__(self, project: Project, workers: Workers, subjects: list[Subject]) -> None:
        """Begin with collections that have not run yet."""
        self.project, self.workers = project, workers
        self.subjects = {subject.name: subject for subject in subjects}
        self.counts = Counter[str]()
        self.violations: list[str] = []
        self.statements: dict[str, int] = {}
        """How many statements a run of each situation sends, by the longest one so far."""

    def run_alone(self, subject: Subject) -> Outcome:
        """Run dbt to its end, without any other run. It must succeed."""
        (worker,) = self.workers.hire(1)
        worker.begin("run", "--select", subject.name)
        outcome = worker.finish()
        self.workers.release(worker)
        assert outcome.success, outcome.text
        return outcome

    def prepare(self, situation: str, random: Random) -> Subject:
        """Make a situation."""
        subject = self.subjects[SITUATIONS[situation].subject]
        # A first load reads only the log: it does not know rows that were adopted.
        if subject.is_used_up or (situation == "first" and subject.has_adopted):
            subject.begin_again()
        if situation == "adopt":
            subject.begin_with_a_table()
        elif situation in {"first", "slices"}:
            subject.drop()
            while situation == "slices" and subject.tick < 3:
                subject.arrive(random)
        elif not subject.tick:
            subject.arrive(random)
            self.run_alone(subject)
        if situation == "heal":
            self.project.sql(random.choice(subject.edits()))
        if situation == "schema":
            subject.add_column()
        subject.arrive(random)
        return subject

    def act_beside(self, situation: str, subject: Subject, random: Random) -> None:
        """Do what somebody else does while a run goes on or stands between two statements."""
        if situation == "compact":
            self.project.rewrite_files(f"{subject.name}__trueup")
        else:
            edits = subject.edits()
            self.project.sql(random.choice(edits[:SEEN] if situation == "edit" else edits[5:]))

    def note(self, situation: str, worker: Worker, outcome: Outcome, *, may_fail: bool) -> None:
        """Count how a run ended. It may fail only because it lost a race."""
        self.statements[situation] = max(self.statements.get(situation, 0), len(worker.sent))
        self.counts["runs"] += 1
        commits = sum(bool(COMMIT.search(statement)) for statement in worker.sent)
        if not outcome.success:
            assert "upper mismatch" in outcome.text, outcome.text
            assert "\tat org." not in outcome.text, f"a page of Java: {outcome.text}"
            self.counts["runs that failed with `upper mismatch`"] += 1
            assert may_fail, f"a run with `on_conflict: retry` failed: {outcome.text}"
        elif commits > 1 and situation != "slices":
            self.counts["runs that committed again"] += 1
        elif commits and "up to date at batch" in outcome.text:
            self.counts["runs that looked again and found nothing new"] += 1

    @property
    def lost(self) -> int:
        """How many runs have lost a race."""
        return sum(number for name, number in self.counts.items() if name in LOST)

    def written(self, subject: Subject) -> int | None:
        """The last version with rows. On Delta, a new property of the table is a version, too."""
        if TABLE_FORMAT == "iceberg":
            return self.project.version(f"{subject.name}__trueup")
        history = self.project.sql(f"describe history `{{}}`.{subject.name}__trueup")
        return max(int(row[0]) for row in history if row["operation"] != "SET TBLPROPERTIES")

    def settle(self, subject: Subject) -> None:
        """Run again, compare with the oracle, and verify: there must be no damage."""
        self.run_alone(subject)
        subject.check()
        before = self.written(subject)
        self.project.run(subject.name)
        said = "\n".join(self.project.messages)
        assert not REPAIRED.search(said), said
        assert self.written(subject) == before, said
        self.counts["checks"] += 1

    @contextmanager
    def playing(self, script: str) -> Iterator[None]:
        """Note a violation of a script. The long form goes on; the collection begins again."""
        try:
            yield
        except Exception as error:
            print(f'TRUEUP_SCRIPT="{script}" plays this again; seed {SEED}')  # noqa: T201
            if not SECONDS:
                raise
            self.violations.append(f"{script}: {type(error).__name__}: {error}")
            print(self.violations[-1][:4000], flush=True)  # noqa: T201
            self.subjects[SITUATIONS[script.split()[1]].subject].begin_again()


def given_scripts(*kinds: str) -> list[str]:
    """The scripts of TRUEUP_SCRIPT, between semicolons, that begin with one of these words."""
    scripts = os.environ["TRUEUP_SCRIPT"].split(";")
    return [script for script in scripts if script.split()[0] in kinds]


def advance(worker: Worker, stop: str) -> None:
    """Let a worker go on to the statement of this number, to its first commit, or to its end."""
    while worker.outcome is None:
        if stop == "commit":
            if COMMIT.search(worker.statement or ""):
                return
        elif len(worker.sent) >= int(stop):
            return
        worker.step()


@contextmanager
def open_stage(project: Project) -> Iterator[Stage]:
    """Write the models, and start the workers, which end with the block."""
    subjects = [
        Subject(project, "retry"),
        Subject(project, "fail", on_conflict="fail"),
        Selected(project, "selected"),
        Ticked(project, "ticked"),
        Sliced(project, "sliced", max_commands=20),
    ]
    workers = Workers(project.folder)
    with pytest.MonkeyPatch.context() as patch:
        # The workers look for damage as dbt does by default. The runs of this process always do.
        patch.setenv("TRUEUP_TEST_VERIFY", "always")
        project.run(command="ls")
    try:
        yield Stage(project, workers, subjects)
    finally:
        workers.close()
