"""Runs are stopped at their statements while others go on. Nothing is lost, nothing is doubled."""

from __future__ import annotations

import os
import re
import time
from itertools import cycle, product
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.faults import counts
from tests.faults.counts import MANY
from tests.faults.scripts import SECONDS, SEED, SITUATIONS_HERE, open_stage
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.scripts import Stage
    from tests.project import Project

SHORT = ("run 0@append 1@append 01 0* 1*", "append 0@append 1@append 01 0* 1*")
"""The scripts of the short form."""

PAIRS = "pairs of stops of two equal runs, the early ones first"
MET = "pairs whose first run stood at its stop when the other one began (since 2026-11-26)"


@pytest.fixture(scope="module")
def stage(new_project: Callable[[str], Project]) -> Iterator[Stage]:
    with open_stage(new_project("fire")) as stage:
        yield stage


def write_script(stage: Stage, situation: str, random: Random) -> str:
    """Write a script of two runs, or for the situation `run` of three or four."""
    stops = stage.stops(situation)
    if situation == "run":
        runs = random.choice([3, 4])
        moves = []
        for _ in range(3 * runs):
            one, other = random.sample(range(runs), 2)
            moves.append(f"{one}+{random.randrange(1, 1 + stops[0] // 2)}")
            if random.random() < 0.4:
                moves.append(f"{one}{other}")
        ends = random.sample(range(runs), runs)
        return " ".join([situation, *moves, *(f"{number}*" for number in ends)])
    first = random.randrange(2)
    stops = stops if first == 0 else stops[::-1]
    pair = random.choice(pairs_of_stops(*stops))
    return of_two_runs(situation, (first, 1 - first), pair, random)


def pairs_of_stops(first: int, other: int) -> list[tuple[int, int]]:
    """All pairs of stops of a run that begins first, and of another one."""
    return list(product(range(1, first), range(1, other + 1)))


def of_two_runs(
    situation: str, runs: tuple[int, int], pair: tuple[int, int], random: Random
) -> str:
    """Write a script of two runs, the one that begins first, and the other one."""
    (first, other), (i, j) = runs, pair
    at_once = random.choice(["", "", f" {first}{other}"])
    return f"{situation} {first}+{i} {other}+{j}{at_once} {first}* {other}*"


def pairs_in_turn(stops: int) -> list[tuple[int, int]]:
    """Give all pairs of stops of two equal runs, in the sequence in which they are played.

    If a later run shows more stops, the new pairs come last. So no pair moves to another place.
    """
    return sorted(pairs_of_stops(stops, stops), key=lambda pair: (max(pair), pair))


def scripts(stage: Stage, random: Random) -> Iterator[str]:
    """Give the scripts of the short form, or new ones until the time is over.

    Every second script of the long form is a pair of stops, because these must all be played.
    """
    if not SECONDS:
        yield from SHORT
    until = time.monotonic() + SECONDS
    played = counts.totals("interleavings", "happened", TABLE_FORMAT)[PAIRS]
    for situation in cycle(SITUATIONS_HERE):
        if time.monotonic() >= until:
            return
        yield write_script(stage, situation, random)
        if pairs := pairs_in_turn(stage.known_stops("run")):
            pair = pairs[(played + stage.counts[PAIRS]) % len(pairs)]
            met = stage.counts["interleavings"]
            yield of_two_runs("run", (0, 1), pair, random)
            # The test asks for the next script only if this one has found no violation.
            stage.counts[PAIRS] += 1
            stage.counts[MET] += stage.counts["interleavings"] - met


def class_of(script: str) -> str:
    """Give the class as which a script is counted: its situation, or that it has many runs."""
    return MANY if re.search(r" 2[+@*]", script) else script.split(maxsplit=1)[0]


def test_no_pair_of_stops_moves_to_another_place_if_a_run_shows_more_stops() -> None:
    for stops in range(30):
        before, now = pairs_in_turn(stops), pairs_in_turn(stops + 1)
        assert now[: len(before)] == before
    assert sorted(now) == sorted(product(range(1, 30), range(1, 31)))


@pytest.mark.long
def test_runs_that_are_stopped_at_any_statement_lose_nothing_and_double_nothing(
    stage: Stage,
) -> None:
    random = Random(SEED)  # noqa: S311 - the scripts must be repeatable
    if "TRUEUP_SCRIPT" in os.environ:
        stage.play(os.environ["TRUEUP_SCRIPT"])
        return
    played = dict.fromkeys([*SITUATIONS_HERE, MANY], 0)
    for script in scripts(stage, random):
        before = stage.counts.copy()
        try:
            stage.play(script)
        except BaseException:
            print(f'TRUEUP_SCRIPT="{script}" plays this again; seed {SEED}')  # noqa: T201
            if SECONDS:
                # The scripts before this one count.
                counts.add("interleavings", SEED, played, before)
            raise
        played[class_of(script)] += stage.counts["interleavings"] - before["interleavings"]
    print(f"seed {SEED}: {played} {dict(stage.counts)}")  # noqa: T201
    pairs = pairs_in_turn(stage.known_stops("run"))
    print(f"pairs of stops of two equal runs: {len(pairs)}")  # noqa: T201
    try:
        stage.remove_orphans()
    finally:
        if SECONDS:
            counts.add("interleavings", SEED, played, stage.counts)
    if SECONDS:
        assert stage.counts["interleavings"], "two runs were never open at once"
    else:
        assert stage.counts["interleavings"] == len(SHORT), "the runs were not open at once"
        assert stage.counts["pairs of statements sent at once"], "no statements met"
