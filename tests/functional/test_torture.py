"""Run every line of docs/torture.md through the package.

Scenarios share a collection if they do not affect each other. Each scenario has its own keys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests import torture
from tests.acceptance import Column
from tests.oracle import Error, consolidate
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle import Command, Update, Value
    from tests.project import Project
    from tests.torture import Scenario

ARGUMENTS = ("ignore_null_updates", "unchanged_value")
KEYS = {1: [Column("k", "string")], 2: [Column("k1", "string"), Column("k2", "string")]}
VALUES = [Column("v", "string"), Column("w", "string")]
SCENARIOS = torture.load()


class Outcome(NamedTuple):
    """The live rows and errors, the updates and the messages of a shared collection."""

    live: list[Value | Error]
    updates: list[Update]
    messages: list[str]


def fits(scenario: Scenario, others: list[Scenario]) -> bool:
    """Say if a scenario may share the collection of other scenarios."""

    def agrees(other: Scenario) -> bool:
        same = all(other.options.get(each, it) == it for each, it in scenario.options.items())
        layouts = [(one.key_width, one.options.get("inline_errors")) for one in (other, scenario)]
        nulls = [any(each.key == (None,) for each in one.commands) for one in (other, scenario)]
        return same and layouts[0] == layouts[1] and not all(nulls) and not other.is_alone

    return not scenario.is_alone and all(map(agrees, others))


def shared(scenarios: list[Scenario]) -> list[list[Scenario]]:
    """Put each scenario into the first collection where it fits."""
    collections: list[list[Scenario]] = []
    for scenario in scenarios:
        for others in collections:
            if fits(scenario, others):
                others.append(scenario)
                break
        else:
            collections.append([scenario])
    return collections


def own(key: Value | None, scenario: Scenario) -> Value | None:
    """Give a key that only this scenario has. The null parts of a key stay null."""
    prefix = SCENARIOS.index(scenario)
    return key and tuple(part if part is None else f"{prefix} {part}" for part in key)


def is_own(key: Value | None, scenario: Scenario) -> bool:
    parts = [part for part in key or () if part is not None]
    if not parts:
        return any(command.key == (None,) for command in scenario.commands)
    return bool(parts[0].startswith(f"{SCENARIOS.index(scenario)} "))


def as_it_arrives(command: Command, scenario: Scenario) -> Command:
    key, old_key = own(command.key, scenario), own(command.old_key, scenario)
    return replace(command, key=key, old_key=old_key)


@pytest.fixture(scope="module")
def outcomes(new_project: Callable[[str], Project]) -> dict[str, Outcome]:
    """The outcome of the collection that each scenario is in."""
    project = new_project("torture")
    collections = {f"c{i}": scenarios for i, scenarios in enumerate(shared(SCENARIOS))}
    for name, scenarios in collections.items():
        given: dict[str, Any] = {}
        for scenario in scenarios:
            given |= scenario.options
        options = {each: it for each, it in given.items() if each not in ARGUMENTS}
        arguments = {each: given[each] for each in ARGUMENTS if each in given}
        project.add_collection(
            name,
            KEYS[scenarios[0].key_width],
            [*VALUES, *filter(None, scenarios[0].columns[:1])],
            options,
            extra=("truncate_when", "unchanged", "old_key"),
            **arguments,
        )
    messages = []
    for run_no, until in enumerate(torture.UNTILS):
        for name, scenarios in collections.items():
            column = scenarios[0].columns[run_no]
            if run_no and column:
                project.set_column(name, column)
            commands = [as_it_arrives(each, one) for one in scenarios for each in one.runs[run_no]]
            project.append(name, commands)
        # The views are made again only if the columns change.
        selected = []
        for name, scenarios in collections.items():
            is_same = run_no and not any(scenarios[0].columns)
            selected += [f"{name}_{role}" for role in TABLES] if is_same else [f"models/{name}"]
        project.run(*selected, until=until, fails=None)
        messages += project.messages
    outcomes: dict[str, Outcome] = {}
    for name, scenarios in collections.items():
        said = [line for line in messages if line.startswith(f"{name}_")]
        inline = any("inline_errors" in scenario.options for scenario in scenarios)
        live: list[Value | Error] = []
        # A refused run may leave some views out.
        if not scenarios[0].refused:
            live += map(as_error, project.rows(name)) if inline else project.rows(name)
            live += project.errors(name)
        outcome = Outcome(live, project.updates(name), said)
        outcomes |= {scenario.name: outcome for scenario in scenarios}
    return outcomes


def as_error(row: Value) -> Value | Error:
    """Turn a row with an inline error into an error. Other rows lose only the error column."""
    key, text, *values = row
    if text is None:
        return (key, *values)
    assert set(values) == {None}
    return Error((key,), None, text)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_package_gives_the_result_of_the_scenario(
    scenario: Scenario, outcomes: dict[str, Outcome]
) -> None:
    outcome = outcomes[scenario.name]
    if scenario.refused:
        ours = ("Got: ", "nothing is staged")
        refusals = [line for line in outcome.messages if any(part in line for part in ours)]
        assert any(scenario.refused in line for line in refusals), outcome.messages
    else:
        width = scenario.key_width
        live = {
            one
            for one in outcome.live
            if is_own(one.key if isinstance(one, Error) else one[:width], scenario)
        }
        assert live in [
            {
                one._replace(key=own(one.key, scenario))
                if isinstance(one, Error)
                else (*(own(one[:width], scenario) or ()), *one[width:])
                for one in each
            }
            for each in scenario.collections
        ]
    updates = [each for each in outcome.updates if is_own(each.key, scenario)]
    expected = [
        [each._replace(key=own(each.key, scenario)) for each in changelog]
        for changelog in scenario.changelogs
    ]
    assert consolidate(updates) in [consolidate(each) for each in expected]
    assert len(updates) in [len(each) for each in expected], "an update was written for nothing"
