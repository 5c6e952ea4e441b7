"""A run stands before each of its statements while another one goes to its end, and goes on."""

from __future__ import annotations

import os
import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.faults import counts
from tests.faults.counts import SECONDS
from tests.faults.stage import FOREIGN, SEED, SITUATIONS, advance, given_scripts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.stage import Stage

SHORT = ("stop heal commit",)
"""The script of the short form."""


def play(stage: Stage, script: str) -> bool:
    """Carry out a script such as `stop heal 7`.

    Returns:
        Whether the run stood at its stop: it was not over before.
    """
    _, situation, stop = script.split()
    random = Random(f"{SEED} {script}")  # noqa: S311 - the scripts must be repeatable
    subject = stage.prepare(situation, random)
    one, other = crew = stage.workers.hire(2)
    one.begin("run", "--select", subject.name)
    advance(one, stop)
    stood = one.outcome is None
    if situation in FOREIGN:
        if stage.project.spark.catalog.tableExists(subject.store):
            stage.act_beside(situation, subject, random)
    else:
        if situation == "meanwhile":
            subject.add_column()
        if situation == "meanwhile" or random.random() < 0.5:
            subject.arrive(random)
        other.begin("run", "--select", subject.name)
        # The first run stands still, so nothing disturbs this one.
        stage.note(situation, other, other.finish(), may_fail=False)
        if situation == "meanwhile":
            # These commands give the new column, which the first run does not know.
            subject.arrive(random)
    outcome = one.finish()
    stage.workers.release(*crew)
    stage.note(situation, one, outcome, may_fail=subject.may_fail)
    stage.settle(subject)
    return stood


def scripts(stage: Stage, random: Random) -> Iterator[str]:
    """Give the scripts of the short form, or every stop of every situation until the time is over.

    A situation shows the number of its stops when it is played for the first time.
    """
    if not SECONDS:
        yield from SHORT
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        for situation in SITUATIONS:
            yield f"stop {situation} commit"
        turn = [
            f"stop {situation} {stop}"
            for situation in SITUATIONS
            for stop in range(stage.statements[situation])
        ]
        random.shuffle(turn)
        for number, script in enumerate(turn):
            if time.monotonic() >= until:
                stage.counts["stops of the last turn that were not played"] = len(turn) - number
                return
            yield script
        stage.counts["full turns: every stop of every situation"] += 1


@pytest.mark.long
def test_a_run_that_stands_at_any_statement_loses_nothing_and_doubles_nothing(stage: Stage) -> None:
    if "TRUEUP_SCRIPT" in os.environ:
        for script in given_scripts("stop"):
            play(stage, script)
        return
    stage.counts.clear()
    stage.violations.clear()
    played = dict.fromkeys(SITUATIONS, 0)
    for script in scripts(stage, Random(SEED)):  # noqa: S311 - the scripts must be repeatable
        with stage.playing(script):
            played[script.split()[1]] += play(stage, script)
    counts.report("interleavings", SEED, played, stage.counts, stage.violations)
    assert not stage.violations, "\n\n".join(stage.violations)
    assert all(played[script.split()[1]] for script in SHORT), played
