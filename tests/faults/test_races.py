"""Several processes run the same collection at the same moment."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack
from random import Random
from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest

from tests.faults import counts
from tests.faults.counts import SECONDS
from tests.faults.stage import FOREIGN, SEED, SITUATIONS, advance, given_scripts
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.faults.stage import Stage
    from tests.faults.workers import Worker

RACES = int(os.environ.get("TRUEUP_RACES", "0"))
"""How many races the long form has at least. `TRUEUP_SECONDS` may ask for more."""

SITUATIONS_HERE = [name for name in SITUATIONS if name not in ("meanwhile", "damage", "adopt")]
SHORT = ("race run 2 commit", "race first 2 commit")
"""The scripts of the short form."""


def at_once(actions: Sequence[Callable[[], object]]) -> None:
    """Start all actions at the same moment, each in a thread of its own, and wait for them.

    Raises:
        ExceptionGroup: Some of them have raised. The first error is raised alone.
    """
    start, errors = Barrier(len(actions)), list[BaseException]()

    def act(action: Callable[[], object]) -> None:
        start.wait()
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            errors.append(error)

    threads = [Thread(target=act, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def play(stage: Stage, script: str, guests: Sequence[Worker] = ()) -> bool:
    """Carry out a script such as `race run 3 commit grow`.

    Three processes begin a run at the same moment. With `commit`, they wait for each other before
    their first commit; with `free`, they do not. With `grow`, more commands arrive meanwhile.

    Args:
        stage: Where the collections are.
        script: The script.
        guests: Workers that have a JVM of their own. They race, too.

    Returns:
        Whether a run has lost: it failed, or it committed again.
    """
    _, situation, number, meet, *grow = script.split()
    random = Random(f"{SEED} {script}")  # noqa: S311 - the scripts must be repeatable
    subject = stage.prepare(situation, random)
    hired = stage.workers.hire(int(number))
    crew = [*hired, *guests]
    lost = stage.lost

    def begin(worker: Worker) -> None:
        worker.begin("run", "--select", subject.name)
        if meet == "commit":
            advance(worker, "commit")

    def act_beside() -> None:
        try:
            stage.act_beside(situation, subject, random)
        except Exception as error:
            # The other one knows nothing of trueup, and may lose the race itself.
            if not re.search("ValidationException|CommitFailed|DELTA_CONCURRENT", str(error)):
                raise
            stage.counts["statements of somebody else that failed"] += 1

    at_once([lambda worker=worker: begin(worker) for worker in crew])  # type: ignore[misc]
    beside: list[Callable[[], object]] = [act_beside] if situation in FOREIGN else []
    beside += [lambda: subject.arrive(random)] if grow else []
    at_once([*(worker.finish for worker in crew), *beside])
    stage.workers.release(*hired)
    # Three repeats are not always enough for all of many runs.
    may_fail = subject.may_fail or len(crew) > 4
    for worker in crew:
        assert worker.outcome is not None
        stage.note(situation, worker, worker.outcome, may_fail=may_fail)
    assert any(worker.outcome and worker.outcome.success for worker in crew), "nobody won"
    # An edit may come after the last commit.
    if situation not in ("edit", "select"):
        subject.check(is_complete=not grow)
    stage.settle(subject)
    return stage.lost > lost


def scripts(random: Random) -> Iterator[str]:
    """Give the scripts of the short form, or new ones until the time is over."""
    if not SECONDS and not RACES:
        yield from SHORT
        return
    until, played = time.monotonic() + SECONDS, 0
    while time.monotonic() < until or played < RACES:
        for situation in SITUATIONS_HERE:
            number = random.randrange(2, 5)
            if situation in FOREIGN:
                number -= 1
            meet = random.choice(["commit", "free"])
            yield f"race {situation} {number} {meet}{random.choice(['', ' grow'])}"
            played += 1


@pytest.mark.long
def test_runs_at_the_same_moment_write_each_batch_once_and_lose_nothing(stage: Stage) -> None:
    if "TRUEUP_SCRIPT" in os.environ:
        for script in given_scripts("race"):
            play(stage, script)
        return
    stage.counts.clear()
    stage.violations.clear()
    random = Random(SEED)  # noqa: S311 - the scripts must be repeatable
    played, lost = dict.fromkeys(SITUATIONS_HERE, 0), dict.fromkeys(SITUATIONS_HERE, 0)
    with ExitStack() as stack:
        guests: list[Worker] = []
        # With the in-memory catalog of Delta, another JVM would not find the tables.
        if SECONDS and TABLE_FORMAT == "iceberg":
            process = stage.workers.start_alone()
            guests.append(stage.workers.accept_alone())
            stack.callback(process.wait)
            stack.callback(guests[0].dismiss)
        for script in scripts(random):
            invited = guests if random.random() < 0.5 else []
            with stage.playing(script):
                lost[script.split()[1]] += play(stage, script, invited)
                played[script.split()[1]] += 1
                stage.counts["races of two JVMs"] += bool(invited)
    print(f"races that somebody lost: {lost}")  # noqa: T201
    counts.report("races", SEED, played, stage.counts, stage.violations)
    assert not stage.violations, "\n\n".join(stage.violations)
    assert sum(lost.values()), "nobody lost: the processes did not race"
