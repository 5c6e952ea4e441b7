"""Compare the package with the oracle over random logs, also cut, shuffled and repeated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from tests import strategies
from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, check_updates

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project
    from tests.strategies import Step

VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]


@st.composite
def scripts(
    draw: st.DrawFn, split: Callable[[list[Command]], st.SearchStrategy[list[Step]]]
) -> tuple[int, list[Command], list[Step]]:
    """How many key columns a log has, the log, and a split of it."""
    width = draw(st.sampled_from([1, 2]))
    log = draw(strategies.logs(width, min_size=strategies.LEAST, max_size=60))
    return width, log, draw(split(log))


def arrivals(script: tuple[int, list[Command], list[Step]]) -> int:
    """How often commands arrive."""
    return sum(bool(step.commands) for step in script[2])


def oracle_of(steps: list[Step]) -> Collection:
    """The collection after all steps."""
    oracle, arrived = Collection(), list[Command]()
    for step in steps:
        arrived += step.commands
        oracle.run(arrived, step.until, step.max_commands)
    return oracle


def late_commands(script: tuple[int, list[Command], list[Step]]) -> tuple[bool, int]:
    """Scores a script: it has three arrivals and a cap, and then how many commands are late."""
    capped = any(step.until and step.max_commands for step in script[2])
    dropped = oracle_of(script[2]).counters["late_dropped"]
    return arrivals(script) >= 3 and capped and dropped > 0, dropped


def add(project: Project, name: str, width: int) -> str:
    key = [Column(*column) for column in strategies.KEY_COLUMNS[width]]
    project.add_collection(name, key, VALUE)
    return name


@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_every_run_over_a_random_log_equals_the_oracle(
    own_project: Callable[[str], Project], seed: int
) -> None:
    script = strategies.choose(scripts(strategies.late_splits), seed, late_commands)
    assert seed or late_commands(script) > (True, 1)
    width, _, steps = script
    project, oracle = own_project("random_logs"), Collection()
    name = add(project, "c", width)
    arrived: list[Command] = []
    key = [column for column, _ in strategies.KEY_COLUMNS[width]]
    before = None
    for step in steps:
        arrived += step.commands
        project.append(name, step.commands)
        options = {"max_commands_per_batch": step.max_commands} if step.max_commands else {}
        if options != before:
            project.configure(**{name: {"+unique_key": key, "+meta": {"trueup": options}}})
            before = options
        project.run_collection(name, until=step.until)
        oracle.run(arrived, step.until, step.max_commands)
        assert multiset(project.rows(name)) == multiset(oracle.rows)
        assert multiset(project.errors(name)) == multiset(oracle.errors)
    updates = project.updates(name)
    check_updates(updates, oracle.changelog)


@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_splitting_shuffling_or_repeating_a_log_changes_nothing(
    own_project: Callable[[str], Project], seed: int
) -> None:
    script = strategies.choose(scripts(strategies.tick_splits), seed + 1, arrivals)
    assert seed or arrivals(script) >= 3
    width, log, steps = script
    repeated = strategies.choose(strategies.duplicates(log), seed, len)
    again = strategies.sample(strategies.shuffles(repeated), 2, seed)[-1]
    assert seed or len(again) > len(log) > 0
    assert seed or again[: len(log)] != log
    project = own_project("random_logs")
    whole, shuffled, split = (add(project, name, width) for name in ("whole", "shuffled", "split"))
    project.append(whole, log)
    project.append(shuffled, again)
    project.run(f"models/{whole}", f"models/{shuffled}")
    for step in steps:
        project.append(split, step.commands)
        project.run(f"models/{split}", until=step.until)
    for table, columns in {
        "state": "* except (_seq, _upper)",
        "changelog": "* except (_seq, _lower, _upper, _batch_id, _statistics)",
    }.items():
        ordered = (
            f"select to_json(struct({columns})) from {{}}.%s_{table} where _kind <> 'progress'"
        )
        expected = sorted(row[0] for row in project.sql(ordered % whole))
        assert sorted(row[0] for row in project.sql(ordered % shuffled)) == expected
        assert sorted(row[0] for row in project.sql(ordered % split)) == expected
