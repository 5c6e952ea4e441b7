"""Two processes, each with its own Spark, run the same collection at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.conftest import ROOT
from tests.faults.racer import PROCESSES, Race
from tests.oracle import Collection, Command, check_laws, check_updates
from tests.project import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

ROUNDS = int(os.environ.get("TRUEUP_RACES", "5"))
"""The rounds of the collection over commands. A long run sets more."""
SELECT_ROUNDS = max(3, ROUNDS // 4)
KEYS = 5
TABLE = "races.counted_input"
COUNTED = f"select n % 2 as k, count(*) as c, max(n) as last from {TABLE} group by n % 2"

LOST = ("upper mismatch: ", "batch moved: ", "state moved: ", "another run made ")
"""Each error of a run that loses a race has one of these texts."""


def log() -> list[Command]:
    """At each tick every key gets a value, takes the value of another key, or is deleted."""
    return [
        Command(ts, (key,), (f"key {key}",), None)
        if (ts + key) % 4 == 0
        else Command(
            *(ts, (key,), (f"key {key}",), ("left",)),
            unchanged=frozenset([0]),
            old_key=(f"key {(key + 1) % KEYS}",),
        )
        if (ts + key) % 4 == 1
        else Command(ts, (key,), (f"key {key}",), (f"value {ts}",))
        for ts in range(ROUNDS)
        for key in range(KEYS)
    ]


def race(project: Project, one: Race) -> list[dict[str, Any]]:
    """Let two processes run a collection, and give the results of all runs."""
    command = [sys.executable, "-m", "tests.faults.racer", str(project.folder)]
    racers = [
        subprocess.Popen(
            [*command, str(number), json.dumps(one)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | SHORT_LIVED,
        )
        for number in range(PROCESSES)
    ]
    outputs = [racer.communicate(timeout=1500)[0] for racer in racers]
    runs = [
        json.loads(line) for output in outputs for line in output.splitlines() if line[0] == "{"
    ]
    assert len(runs) == one.rounds * PROCESSES
    return runs


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    return new_project("races")


@pytest.mark.long
def test_two_runs_at_once_write_each_batch_once_and_lose_nothing(project: Project) -> None:
    extra = ("unchanged", "old_key")
    project.add_collection("race", [Column("k", "string")], [Column("v", "string")], extra=extra)
    project.append("race", log())
    project.run("models/race", until=0)
    rounds = race(project, Race("race", ROUNDS))
    project.run("models/race")

    losers = [one for one in rounds if not one["success"]]
    for loser in losers:
        assert any(text in said for said in loser["said"] for text in LOST), loser["said"]
        assert not any("\tat org." in said for said in loser["said"]), "a page of Java"
    oracle = Collection()
    oracle.run(log())
    progress = project.progress("race")
    assert [row["_seq"] for row in progress] == list(range(1, len(progress) + 1))
    assert [row["_lower"] for row in progress[1:]] == [row["_upper"] for row in progress[:-1]]
    updates = project.updates("race")
    check_updates(updates, oracle.changelog)
    assert multiset(project.rows("race")) == multiset(oracle.rows)
    position = f"select _seq, _upper from {project.name}.race_state where _kind = 'progress'"
    (applied,) = project.sql(position)
    assert (applied["_seq"], applied["_upper"]) == (progress[-1]["_seq"], progress[-1]["_upper"])
    assert losers, "nobody lost: the processes did not race"


@pytest.mark.long
def test_two_runs_of_a_select_at_once_write_each_difference_once(project: Project) -> None:
    project.sql(f"create table {TABLE} using {{format}} as select 0 as n")
    project.add_select("counted", COUNTED, ["k"])
    project.run("models/counted")
    rounds = race(project, Race("counted", SELECT_ROUNDS, TABLE))
    project.run("models/counted")

    for one in rounds:
        said = " ".join(one["said"])
        assert one["success"] or any(text in said for text in (*LOST, "another run")), said
        assert "\tat org." not in said, "a page of Java"
    lost = [one for one in rounds if not one["success"] or "skipped: " in " ".join(one["said"])]
    assert lost, "nobody lost: the processes did not race"
    rows = [tuple(row) for row in project.sql(COUNTED)]
    assert len(project.sql(f"select * from {TABLE}")) == SELECT_ROUNDS
    assert multiset(project.rows("counted")) == multiset(rows)
    updates = project.updates("counted")
    check_laws(updates)
    progress = project.progress("counted")
    assert [row["_seq"] for row in progress] == list(range(1, len(progress) + 1))
    # Each input row makes a retraction and an addition; the first row of a key only an addition.
    assert len(updates) == len(rows) + 2 * (SELECT_ROUNDS - len(rows))
