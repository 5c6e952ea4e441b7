"""Scripts: in which sequence several runs send their statements, and what must hold afterwards.

A script is a text such as `heal 0+7 1+12 0* 1*`. Here run 0 is a run and run 1 the other one of the
situation `heal`. Run 0 goes on to its stop 7, run 1 to its stop 12, then each goes on to its end.
`0@append` lets run 0 go on to its statement with the marker `append`. `01` lets both runs send the
statement at which they wait at the same moment.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.acceptance import Column, multiset
from tests.faults.workers import Workers
from tests.functional.test_schema_evolution import Evolving
from tests.oracle import Collection, Command, check_laws, consolidate
from tests.project import ROLES, TABLE_FORMAT, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.faults.workers import Outcome, Worker
    from tests.project import Project

SEED = int(os.environ.get("TRUEUP_SEED", "1"))
SECONDS = int(os.environ.get("TRUEUP_SECONDS", "0"))
"""How long the long form of a test may take; 0 for the short form."""

STOP = re.compile(
    r"^(/\*.*?\*/|\s|--.*\n)*(select|with|merge|insert|delete|update|alter|drop|call|truncate"
    r"|create (or replace )?table|create (or replace )?view|show (table|create|tblproperties)"
    # Delta's own commands.
    r"|describe (history|detail)|optimize|vacuum)\b",
    re.DOTALL | re.IGNORECASE,
)
"""A statement that reads or writes a table, a view or its properties. A run may stop before it."""

WRITE = re.compile(
    r"^(/\*.*?\*/|\s)*(merge|insert|delete|update|alter|drop|call|truncate|optimize|vacuum"
    r"|create (or replace )?(table|view))\b",
    re.DOTALL | re.IGNORECASE,
)

MARK = re.compile(r"/\* trueup: (\w+)")
"""The marker of a statement. It says which step of a run the statement is."""

LOST = re.compile(
    r"upper mismatch: |(batch|state|keys|columns|truncate) moved: |another run|nothing is compacted"
    r"|The state of `\w+` must be at batch|is gone: a rebase has dropped it"
)
"""Each error of a run that loses a race has one of these texts.

The last one is that of a compaction that begins between the append and the apply of a run.
"""

LOST_IN = {
    # Another run has widened the column meanwhile.
    "widen": re.compile(r"UNRESOLVED_COLUMN.*_widening_|ALREADY_EXISTS"),
    # The rebase has dropped the table and has not made it again yet.
    "rebase": re.compile(
        r"TABLE_OR_VIEW_NOT_FOUND.*_(batch|changelog|state|errors)`|a table: its state has applied"
    ),
}
"""Spark's own errors of a run that loses a race in one of these situations."""

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
DAY, NOON = "2024-02-03 00:00:00", "2024-02-03 12:34:56"
INPUTS = ("log", "view", "input", "desired")
"""What a collection of a test reads; its tables and views are named like the roles."""
DAY_SECONDS = 86_400
ORPHANS = "files that no table knew, removed by `trueup.maintain`"
UNKNOWN_STOPS = 25
"""How many stops a run may have, before any script has shown it."""

DATES = [f"d{number}" for number in range(8)]
"""Each script of the situation `widen` turns one more date into a timestamp."""


class Situation(NamedTuple):
    """What the other run does while a run of a collection goes on."""

    collection: str
    other: str


SITUATIONS = {
    "run": Situation("plain", "the same run"),
    "grow": Situation("plain", "the same run, after more commands arrived"),
    "append": Situation("plain", "`-s plain_changelog plain_state`, which appends a staged batch"),
    "heal": Situation("late", "the same run; both find an edited state"),
    "rebuild": Situation("plain", "`--full-refresh` of the state"),
    "compact": Situation("plain", "the operation `trueup.compact`"),
    "maintain": Situation("plain", "the operation `trueup.maintain`"),
    "rebase": Situation("plain", "a rebase"),
    "first": Situation("plain", "the same run; there are no tables yet"),
    "correct": Situation("late", "the same run; both find a late command"),
    "retry": Situation("retry", "the same run, with `on_conflict: retry`"),
    "select": Situation("selected", "the same run of a collection by a SELECT"),
    "widen": Situation("wide", "the same run; both widen a date to a timestamp"),
}
"""The situations in which two runs are interleaved."""

SITUATIONS_HERE = [name for name in SITUATIONS if name != "widen" or TABLE_FORMAT == "iceberg"]
"""Those of this table format. Delta renames a column only in a table that allows it."""


def select(name: str, *roles: str) -> list[str]:
    return ["--select", *(f"{name}_{role}" for role in roles or TABLES)]


class Subject:
    """A collection that scripts act on, with its oracle. It is never reset: it just goes on."""

    def __init__(self, project: Project, name: str) -> None:
        """Write the models."""
        self.project, self.name = project, name
        self.tick = 0
        self.write()

    def write(self) -> None:
        """Write the models of the collection."""
        options = {
            # Here no run repairs the state, so a wrong state is seen.
            "plain": {"verify": "never"},
            "late": {"verify": "content", "late": "correct"},
            "retry": {"verify": "always", "late": "newest", "on_conflict": "retry"},
        }[self.name]
        self.log: list[Command] = []
        self.oracle = Collection("correct" if self.name == "late" else "drop")
        self.project.add_collection(self.name, KEY, VALUE, options)
        self.add_tests()

    def add_tests(self) -> None:
        """Let dbt test the certificates and the frontier."""
        key = {"unique_key": [column.name for column in KEY]}
        certified = {"trueup.matches_certificate": {"arguments": key}}
        against = key | {"changelog": f"ref('{self.name}_changelog')"}
        models = [
            {
                "name": f"{self.name}_changelog",
                "data_tests": [certified, "trueup.has_monotone_frontier"],
            },
            {
                "name": f"{self.name}_state",
                "data_tests": [{"trueup.matches_certificate": {"arguments": against}}],
            },
        ]
        path = f"models/{self.name}/{self.name}.yml"
        self.project.write(path, json.dumps({"models": models}))

    def arrive(self, situation: str = "run") -> None:
        """Let commands of one more tick arrive, and a late one if the situation asks for it."""
        self.tick += 1
        ts = self.tick
        commands = [
            Command(ts, (1,), ("always",), (f"value {ts}",)),
            Command(ts, (1,), (f"key {ts % 7}",), None if ts % 3 == 0 else (f"of {ts}",)),
            Command(ts, (1,), (f"new {ts}",), ("new",)),
            Command(ts, (1,), (f"new {ts - 1}",), None),
        ]
        if situation == "correct":
            commands.append(Command(max(ts - 2, 1), (2,), (f"key {ts % 5}",), (f"late {ts}",)))
        self.log += commands
        self.project.append(self.name, commands)

    def prepare(self, situation: str, runs: int) -> list[list[str]]:
        """Make the situation. Give the invocation of each run."""
        invocations = [["run", *select(self.name)] for _ in range(runs)]
        schema, name = self.project.name, self.name
        if situation == "first":
            for role in TABLES:
                self.project.sql(f"drop table if exists {schema}.{name}_{role}")
            self.project.sql(f"delete from {schema}.{name}_log")
            self.log, self.oracle, self.tick = [], Collection(), 0
        if situation == "compact":
            arguments = {"collection": name, "since": self.oracle.upper}
            invocations[-1] = ["run-operation", "trueup.compact", "--args", json.dumps(arguments)]
        if situation == "maintain":
            arguments = {"collection": name}
            invocations[-1] = ["run-operation", "trueup.maintain", "--args", json.dumps(arguments)]
        if situation == "append":
            invocations[-1] = ["run", *select(name, "changelog", "state")]
        if situation == "rebuild":
            invocations[-1] = ["run", "--full-refresh", *select(name, "state")]
        if situation == "rebase":
            invocations[-1] = self.rebase
        if situation == "heal":
            state = f"{schema}.{name}_state"
            edits = [
                f"update {state} set v = 'edited' where k = 'always'",
                f"delete from {state} where k = 'always'",
                f"delete from {state} where _kind <> 'progress'",
                f"update {state} set v = concat(v, ', edited') where _kind <> 'progress'",
                f"insert into {state} select * from {state} where _kind <> 'progress'",
            ]
            self.project.sql(edits[self.tick % len(edits)])
        self.arrive(situation)
        return invocations

    @property
    def rebase(self) -> list[str]:
        """The invocation that drops the history and begins again."""
        variables = json.dumps({"trueup_rebase": True})
        return [
            "run",
            "--full-refresh",
            "--select",
            f"path:models/{self.name}",
            "--vars",
            variables,
        ]

    @property
    def run(self) -> list[str]:
        """The invocation of a run that completes everything."""
        return ["run", *select(self.name)]

    def written(self) -> dict[str, object]:
        """What must stay equal if a run changes nothing: the snapshots of changelog and state."""
        return {
            role: self.project.version(f"{self.name}_{role}") for role in ("changelog", "state")
        }

    def check(self) -> None:
        """Compare rows and changelog with the oracle, and look for tables that nobody owns."""
        project, name = self.project, self.name
        self.oracle.run(self.log)
        progress = project.progress(name)
        numbers = [row["_seq"] for row in progress]
        assert numbers == list(range(1, len(numbers) + 1)), numbers
        assert [row["_lower"] for row in progress[1:]] == [row["_upper"] for row in progress[:-1]]
        # A compaction notes its tick on the batch that was the last one when it began.
        since = max(row["_statistics"]["since"] or 0 for row in progress)
        assert multiset(project.rows(name)) == multiset(self.oracle.rows)
        updates = project.updates(name)
        check_laws(updates)
        found = consolidate(one for one in updates if one.ts >= since)
        right = consolidate(one for one in self.oracle.changelog if one.ts >= since)
        assert found == right, f"found {set(found) - set(right)}, missing {set(right) - set(found)}"
        count = sum(one.ts >= since for one in self.oracle.changelog)
        assert sum(one.ts >= since for one in updates) == count, "an update is doubled"
        self.check_tables()

    def check_tables(self) -> None:
        """Look for tables that nobody owns, and for a progress row of the state that is behind."""
        (last,) = self.project.sql(
            f"select max(_seq), max(_upper) from {{}}.{self.name}_changelog where"
            " _kind = 'progress'"
        )
        (applied,) = self.project.sql(
            f"select _seq, _upper from {{}}.{self.name}_state where _kind = 'progress'"
        )
        assert tuple(last) == tuple(applied)
        tables = {
            row["tableName"]
            for row in self.project.sql(f"show tables in {{}} like '{self.name}*'")
            if not row["isTemporary"]
        }
        # The catalog of Delta lists views, too.
        own = {self.name, *(f"{self.name}_{role}" for role in (*ROLES, *INPUTS))}
        assert tables <= own, tables

    def tables(self) -> list[str]:
        """The tables of the collection that there are."""
        names = {row["tableName"] for row in self.project.sql("show tables in {}")}
        own = names & {f"{self.name}_{role}" for role in TABLES}
        return [f"{self.project.name}.{name}" for name in sorted(own)]

    def files(self) -> set[Path]:
        """The data files in the folders of the tables."""
        locations = [
            row[1]
            for table in self.tables()
            for row in self.project.sql(f"describe table extended {table}")
            if row[0] == "Location"
        ]
        return {
            file
            for location in locations
            for file in (Path(location) / "data").rglob("[!.]*")
            if file.is_file()
        }

    def orphans(self) -> set[Path]:
        """The data files in the folders of the Iceberg tables that no snapshot knows."""
        known = {
            Path(row[0])
            for table in self.tables()
            for row in self.project.sql(f"select file_path from {table}.all_files")
        }
        assert known, f"no table of {self.name} has a file"
        files = self.files()
        assert known <= files, f"files of {self.name} are lost: {known - files}"
        return files - known


class Selected(Subject):
    """A collection by a SELECT over a table."""

    def write(self) -> None:
        """Write the models, and the table that the SELECT reads."""
        self.table = f"{self.project.name}.selected_input"
        self.project.sql(
            f"create table {self.table} using {{format}} as select 'always' as k, 0 as n"
        )
        self.query = f"select k, count(*) as c, max(n) as last from {self.table} group by k"
        self.project.add_select("selected", self.query, ["k"], verify="content")
        self.add_tests()

    def arrive(self, situation: str = "run") -> None:  # noqa: ARG002 - one situation
        """One key changes, one is new, and one is gone."""
        self.tick += 1
        self.project.sql(f"delete from {self.table} where k = 'new {self.tick - 1}'")
        self.project.sql(
            f"insert into {self.table} values ('always', {self.tick}), ('new {self.tick}', 1)"
        )

    def check(self) -> None:
        """The rows are those of the SELECT, and so are the sums of the changelog."""
        rows = [tuple(row) for row in self.project.sql(self.query)]
        updates = self.project.updates(self.name)
        check_laws(updates)
        assert multiset(self.project.rows(self.name)) == multiset(rows)
        sums = Counter[tuple[object, ...]]()
        for update in updates:
            sums[(update.key or ()) + (update.value or ())] += update.diff
        assert +sums == Counter(rows)
        numbers = [row["_seq"] for row in self.project.progress(self.name)]
        assert numbers == list(range(1, len(numbers) + 1)), numbers
        self.check_tables()

    def written(self) -> dict[str, object]:
        """The updates. A run without a difference still writes a progress row with its time."""
        return {"updates": self.project.updates(self.name)}


class Wide(Subject):
    """A collection of dates. Each script turns one more of them into a timestamp."""

    def write(self) -> None:
        """Write the models, with a view as the log."""
        self.widened = len(DATES)
        options = {"verify": "always", "late": "correct"}
        self.evolving = Evolving(self.project, "wide", dict.fromkeys(DATES, "string"), options)
        self.evolving.show(dict.fromkeys(DATES, "date"))
        self.add_tests()

    def arrive(self, situation: str = "run") -> None:
        """Let commands arrive. They have timestamps where the log has them."""
        if situation == "widen":
            name = DATES[self.widened]
            self.widened += 1
            self.evolving.show({**self.evolving.types, name: "timestamp"})
        self.tick += 1
        types = self.evolving.types
        value = {name: NOON if types[name] == "timestamp" else DAY for name in DATES}
        self.evolving.append_all((self.tick, "a", value), (self.tick, f"new {self.tick}", value))

    @property
    def is_used_up(self) -> bool:
        """Whether no date is left to widen."""
        return self.widened == len(DATES)

    def begin_again(self) -> None:
        """Drop the tables, and turn all timestamps back into dates."""
        for role in TABLES:
            self.project.sql(f"drop table if exists {{}}.wide_{role}")
        self.project.sql("delete from {}.wide_log")
        self.evolving.show(dict.fromkeys(DATES, "date"))
        self.evolving.log, self.evolving.oracle = [], Collection("correct")
        self.tick, self.widened = 0, 0

    @property
    def run(self) -> list[str]:
        """The invocation of a run that completes everything: the view gets the new types."""
        return [*super().run, self.name]

    def check(self) -> None:
        """Compare rows and changelog with the oracle, and look for a column that is left over."""
        self.evolving.run_oracle()
        self.evolving.check()
        for role in ("changelog", "state"):
            kinds = self.evolving.types_of(role)
            assert {name: kinds[name] for name in DATES} == self.evolving.types, role
            assert not [name for name in kinds if name.startswith("_widening")]
        self.check_tables()


def add_subjects(project: Project) -> dict[str, Subject]:
    """Write the models of all collections that scripts act on."""
    return {
        "plain": Subject(project, "plain"),
        "late": Subject(project, "late"),
        "retry": Subject(project, "retry"),
        "selected": Selected(project, "selected"),
        "wide": Wide(project, "wide"),
    }


class Stage:
    """Carries out scripts, and counts what happened."""

    def __init__(self, subjects: dict[str, Subject], workers: Workers) -> None:
        """Begin with collections that have not run yet."""
        self.subjects, self.workers = subjects, workers
        self.counts = Counter[str]()
        self._stops: dict[tuple[str, int], int] = {}
        self._steps: dict[str, set[str]] = {}

    def run_alone(self, subject: Subject, *invocation: str) -> Outcome:
        """Run dbt to its end, without any other run. It must succeed."""
        (worker,) = self.workers.hire(1)
        worker.begin(*invocation)
        outcome = worker.finish()
        self.workers.release(worker)
        assert outcome.success, f"{subject.name}: {outcome.text}"
        return outcome

    def prepare(self, situation: str, runs: int) -> tuple[Subject, list[list[str]]]:
        """Make a situation. Give its collection, and the invocation of each run."""
        subject = self.subjects[SITUATIONS[situation].collection]
        if isinstance(subject, Wide) and subject.is_used_up:
            subject.begin_again()
        if subject.tick == 0:
            subject.arrive()
            self.run_alone(subject, "run", "--select", f"path:models/{subject.name}")
            subject.check()
        invocations = subject.prepare(situation, runs)
        if situation == "widen":
            self.run_alone(subject, "run", "--select", "wide_commands")
        return subject, invocations

    def stops(self, situation: str) -> tuple[int, int]:
        """How many stops the runs of a situation have. Scripts that were played have shown it."""
        first, other = (self._stops.get((situation, number), UNKNOWN_STOPS) for number in (0, 1))
        return first, other

    def known_stops(self, situation: str) -> int:
        """How many stops a run of a situation has shown. 0 if none has come to its end."""
        return max(
            (shown for (name, _), shown in self._stops.items() if name == situation), default=0
        )

    def steps(self, situation: str) -> list[str]:
        """The markers of the statements by which the other run of a situation has written."""
        return sorted(self._steps.get(situation, ()))

    def learn(self, situation: str, number: int, worker: Worker) -> None:
        """Take the steps that a run has sent and, if it has come to its end, its number of stops.

        Only the first run of a situation may differ from the others. A run that found nothing to do
        has fewer stops, so the greatest number counts.
        """
        if number:
            marks = map(MARK.search, filter(WRITE.match, worker.sent))
            self._steps.setdefault(situation, set()).update(mark[1] for mark in marks if mark)
        if worker.outcome is not None and worker.outcome.success:
            place = situation, min(number, 1)
            stops = sum(bool(STOP.match(statement)) for statement in worker.sent)
            self._stops[place] = max(self._stops.get(place, 2), stops)

    def play(self, script: str) -> None:
        """Carry out a script, then check that nothing is lost or doubled."""
        situation, *moves = script.split()
        runs = 1 + max(actor for move in moves for actor in actors_of(move))
        subject, invocations = self.prepare(situation, runs)
        crew = list(self.workers.hire(runs))
        begun: set[int] = set()
        overlap = False
        for move in moves:
            actors = actors_of(move)
            for actor in actors:
                if actor not in begun:
                    if situation == "grow" and begun:
                        subject.arrive()
                    begun.add(actor)
                    crew[actor].begin(*invocations[actor])
                    # A run has begun while another one stands between two statements.
                    overlap |= any(crew[each].outcome is None for each in begun - {actor})
            self._move(move, [crew[actor] for actor in actors])
        outcomes = [worker.finish() for worker in crew]
        self.workers.release(*crew)
        for number, worker in enumerate(crew):
            self.learn(situation, number, worker)
        self.counts["runs"] += runs
        self.counts["interleavings"] += overlap
        for outcome in outcomes:
            self._count(outcome, situation, script)
        if situation == "rebase" and not outcomes[-1].success:
            self.run_alone(subject, *subject.rebase)
        self.settle(subject, situation)

    def _move(self, move: str, actors: list[Worker]) -> None:
        """Carry out a move of a script."""
        if "+" in move or "@" in move:
            advance(actors[0], move[2:])
        elif "*" in move:
            actors[0].finish()
        else:
            self.counts["pairs of statements sent at once"] += send_at_once(actors)

    def _count(self, outcome: Outcome, situation: str, script: str) -> None:
        """Count how a run ended. It may fail only because it lost a race, with no page of Java."""
        if not outcome.success:
            assert has_lost(outcome, situation), f"{script}: {outcome.text}"
            assert "\tat org." not in outcome.text, f"a page of Java: {outcome.text}"
            self.counts["runs that lost a race"] += 1
        elif re.search("skipped|nothing to append: another|staged again", outcome.text):
            self.counts["runs that stood back"] += 1

    def settle(self, subject: Subject, situation: str, *, is_disturbed: bool = False) -> None:
        """Run again, check everything, and check that one more run changes nothing.

        With `is_disturbed` the server may still complete a statement of a dead run.
        """
        run = subject.run
        if is_disturbed:
            self.meet(subject, situation, run)
        before = subject.written() if self._has_tables(subject) else {}
        self.run_alone(subject, *run)
        subject.check()
        now = subject.written()
        if now != before:
            self.run_alone(subject, *run)
            assert subject.written() == now, f"{situation}: running again changes something"
        self.run_alone(
            subject, "test", "--select", f"{subject.name}_changelog", f"{subject.name}_state"
        )
        self.counts["checks"] += 1

    def meet(self, subject: Subject, situation: str, invocation: list[str]) -> None:
        """Run dbt while the server completes a statement of a dead run. The run may lose a race."""
        (worker,) = self.workers.hire(1)
        worker.begin(*invocation)
        outcome = worker.finish()
        self.workers.release(worker)
        assert outcome.success or has_lost(outcome, situation), f"{subject.name}: {outcome.text}"
        self.counts["runs that lost to a dead run"] += not outcome.success

    def remove_orphans(self) -> None:
        """Maintain the collections that scripts have acted on. Then no file may be left over.

        On Delta there is no such check: `vacuum` keeps the files of the last week.
        """
        for subject in self.subjects.values():
            if subject.tick == 0 or TABLE_FORMAT != "iceberg":
                continue
            orphans = subject.orphans()
            for file in subject.files():
                # Maintenance leaves young files alone: another run may be writing them.
                os.utime(file, (time.time() - 4 * DAY_SECONDS,) * 2)
            arguments = json.dumps({"collection": subject.name, "idle": True})
            self.run_alone(subject, "run-operation", "trueup.maintain", "--args", arguments)
            assert not subject.orphans(), f"{subject.name}: {subject.orphans()}"
            self.counts[ORPHANS] += len(orphans)
            subject.check()

    def _has_tables(self, subject: Subject) -> bool:
        found = subject.project.sql(f"show tables in {{}} like '{subject.name}_state'")
        return bool(found) and bool(
            subject.project.sql(f"show tables in {{}} like '{subject.name}_changelog'")
        )


def has_lost(outcome: Outcome, situation: str) -> bool:
    """Whether a run has failed because it lost a race."""
    patterns = (LOST, LOST_IN.get(situation, LOST))
    return any(pattern.search(outcome.text) for pattern in patterns)


def actors_of(move: str) -> list[int]:
    """Give the numbers of the runs that a move is about."""
    return [int(digit) for digit in re.split("[+@*]", move)[0]]


def advance(worker: Worker, stop: str) -> None:
    """Let a worker go on to a stop, or to its end.

    Args:
        worker: A worker that waits at a statement.
        stop: The number of stops to pass, or the marker of the statement to stop at.
    """
    passed = 0
    while worker.outcome is None:
        statement = worker.statement or ""
        if STOP.match(statement):
            if stop == str(passed) or f"/* trueup: {stop}" in statement:
                break
            passed += 1
        worker.step()


def send_at_once(workers: Sequence[Worker]) -> int:
    """Let workers send the statements at which they wait at the same moment.

    Returns:
        1 if all of them had a statement to send, else 0.
    """
    if any(worker.statement is None for worker in workers):
        return 0
    for worker in workers:
        worker.order()
    for worker in workers:
        worker.await_next()
    return 1


@contextmanager
def open_stage(project: Project) -> Iterator[Stage]:
    """Add the collections of all situations to a project. The workers end with the block."""
    # The workers parse the project as soon as they exist, so all models must be there.
    subjects = add_subjects(project)
    workers = Workers(project.folder)
    try:
        yield Stage(subjects, workers)
    finally:
        workers.close()
