"""Real processes are killed at any statement, lose replies, and send statements twice."""

from __future__ import annotations

import os
import re
import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.faults import counts
from tests.faults.scripts import (
    SECONDS,
    SEED,
    SITUATIONS_HERE,
    WRITE,
    advance,
    has_lost,
    open_stage,
)
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.scripts import Stage
    from tests.project import Project

SITUATIONS = [name for name in SITUATIONS_HERE if name != "grow"]
"""The run that is killed: the other run of the situation, as in the interleavings.

`grow` is left out: alone, its run is that of `run`.
"""

FAULTS = [name for name in counts.FAULTS if name != "jvm" or TABLE_FORMAT == "iceberg"]
"""The list of the Delta tables of a test dies with its JVM, so that nothing could be checked."""

SHORT = ("after run append more", "lose run apply", "twice run append", "during run append")
"""The scripts of the short form."""


@pytest.fixture(scope="module")
def stage(new_project: Callable[[str], Project]) -> Iterator[Stage]:
    with open_stage(new_project("fire_kills")) as stage:
        yield stage


def play(stage: Stage, script: str, random: Random) -> bool:
    """Carry out a script such as `before heal 7`, then check that nothing is lost or doubled.

    With a last word `more`, more commands arrive before the collection runs again. `jvm 2 700`
    kills the run and its JVM 700 ms after the beginning of its second write.

    Returns:
        Whether the fault happened: the run was not over before its stop, and if it was killed
        during a statement, the statement went on.
    """
    fault, *words = script.split()
    if fault == "jvm":
        return kill_jvm(stage, int(words[0]), int(words[1]) / 1000)
    situation, stop, *more = words
    subject, invocations = stage.prepare(situation, 2)
    (worker,) = stage.workers.hire(1)
    worker.begin(*invocations[-1])
    advance(worker, stop)
    happened = worker.outcome is None
    if happened:
        is_write = WRITE.match(worker.statement or "")
        if fault in ("before", "after", "during"):
            if fault == "after":
                worker.step("halt")
            if fault == "during":
                worker.order("tell")
                happened = worker.is_still_executing(random.random() * 0.15)
            worker.kill()
        else:
            worker.step("lose" if fault == "lose" else "twice")
            outcome = worker.finish()
            said = outcome.text
            assert outcome.success or "the reply was lost" in said or has_lost(outcome, situation)
            assert "\tat org." not in said, f"a page of Java: {said}"
            stage.counts["runs that failed"] += not outcome.success
        stage.counts[f"faults at a {'write' if is_write else 'read'}"] += happened
    stage.learn(situation, 1, worker)
    if worker.outcome is not None:
        stage.workers.release(worker)
    if more:
        subject.arrive()
    is_disturbed = fault == "during"
    if situation == "rebase" and (worker.outcome is None or not worker.outcome.success):
        # Only a rebase completes what a rebase has begun.
        if is_disturbed:
            stage.meet(subject, situation, subject.rebase)
        stage.run_alone(subject, *subject.rebase)
    stage.settle(subject, situation, is_disturbed=is_disturbed)
    return happened


def kill_jvm(stage: Stage, number: int, seconds: float) -> bool:
    """Kill a process and its JVM inside one of its writes.

    Args:
        stage: Where the collections are.
        number: Which write, from 1 on.
        seconds: How long after the beginning of the write.

    Returns:
        Whether the write went on at that moment.
    """
    process = stage.workers.start_alone()
    worker = stage.workers.accept_alone()
    subject, invocations = stage.prepare("run", 1)
    worker.begin(*invocations[0])
    left = number
    while worker.outcome is None:
        left -= bool(re.search(r"/\* trueup: (create|append|apply|alter)", worker.statement or ""))
        if left == 0:
            break
        worker.step()
    happened = worker.outcome is None
    if happened:
        worker.order("tell")
        happened = worker.is_still_executing(seconds)
    worker.kill()
    process.wait()
    stage.settle(subject, "run")
    return happened


def scripts(stage: Stage, random: Random) -> Iterator[str]:
    """Give the scripts of the short form, or new ones until the time is over."""
    if not SECONDS:
        yield from SHORT
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        fault, situation = random.choice(FAULTS), random.choice(SITUATIONS)
        stops = range(1, stage.stops(situation)[1])
        stop = random.choice([random.choice(stops), random.choice(stage.steps(situation) or stops)])
        more = random.choice(["", " more"])
        # A process with a JVM of its own has run nothing before, so a write takes about a second.
        yield (
            f"jvm {random.randrange(1, 4)} {random.randrange(1000)}"
            if fault == "jvm"
            else f"{fault} {situation} {stop}{more}"
        )


@pytest.mark.long
def test_the_next_run_completes_what_a_killed_process_has_left(stage: Stage) -> None:
    random = Random(SEED)  # noqa: S311 - the scripts must be repeatable
    if "TRUEUP_SCRIPT" in os.environ:
        play(stage, os.environ["TRUEUP_SCRIPT"], random)
        return
    played = dict.fromkeys(FAULTS, 0)
    for script in scripts(stage, random):
        before = stage.counts.copy()
        try:
            happened = play(stage, script, random)
        except BaseException:
            print(f'TRUEUP_SCRIPT="{script}" plays this again; seed {SEED}')  # noqa: T201
            if SECONDS:
                # The scripts before this one count.
                counts.add("kills", SEED, played, before)
            raise
        played[script.split()[0]] += happened
    print(f"seed {SEED}: {played} {dict(stage.counts)}")  # noqa: T201
    try:
        stage.remove_orphans()
    finally:
        if SECONDS:
            counts.add("kills", SEED, played, stage.counts)
    expected = () if SECONDS else {script.split()[0] for script in SHORT}
    assert all(played[fault] for fault in expected), f"a fault did not happen: {played}"
    assert sum(played.values()), "no fault happened"
