"""Every acceptance case runs through the package, one `dbt run` after the other.

Cases share a collection if they have the same columns and their runs settle the same ticks. Each
case has its own keys. A run of a collection costs the same for one case as for eight.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests import acceptance, oracle
from tests.acceptance import multiset
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

CASES = acceptance.load()
OWN_NUMBERS = 10**6
"""Each case has this many numbers for its keys."""


def settled_by(case: acceptance.Case) -> list[tuple[int | None, int]]:
    """Give the cap and the upper of each run of a case."""
    found: list[tuple[int | None, int]] = []
    upper = 0
    for run in case.runs:
        arrived = max((command.ts + 1 for command in run.commands), default=0)
        upper = max(upper, arrived if run.until is None else min(arrived, run.until))
        found.append((run.until, upper))
    return found


@dataclass
class Shared:
    """A collection and the cases that share it."""

    cases: list[acceptance.Case] = field(default_factory=list)
    settled: list[tuple[int | None, int]] = field(default_factory=list)

    def admits(self, case: acceptance.Case) -> bool:
        """Tell whether a case fits into the collection.

        It must have the same types of columns and the same `late`, and settle the same ticks in the
        runs that both have. Only one case of a collection may have commands without a key.
        """
        first, settled = self.cases[0], settled_by(case)
        common = min(len(settled), len(self.settled))
        has_errors = any(without_key(each) for each in self.cases)
        return (
            (types(first), first.late) == (types(case), case.late)
            and self.settled[:common] == settled[:common]
            and not (has_errors and without_key(case))
        )

    def add(self, case: acceptance.Case) -> None:
        """Let a case share the collection."""
        self.cases.append(case)
        self.settled = max(self.settled, settled_by(case), key=len)

    @property
    def name(self) -> str:
        """The name of the first case."""
        return self.cases[0].name

    def owner(self, key: oracle.Value | None) -> acceptance.Case:
        """Give the case that owns a key of the collection. There must be exactly one."""
        if len(self.cases) == 1:
            return self.cases[0]
        parts = [part for part in key or () if part is not None]
        (found,) = (
            case for case in self.cases if (is_own(case, parts[0]) if parts else without_key(case))
        )
        return found


def types(case: acceptance.Case) -> list[list[str]]:
    return [[column.type for column in columns] for columns in (case.key, case.value)]


def without_key(case: acceptance.Case) -> bool:
    """Tell whether the case has commands without a key. Their errors do not name the case."""
    return any(command.key is None for run in case.runs for command in run.commands)


def shared() -> list[Shared]:
    """Put each case into the first collection that admits it."""
    found: list[Shared] = []
    for case in CASES:
        place = next((each for each in found if each.admits(case)), None)
        if place is None:
            found.append(place := Shared())
        place.add(case)
    return found


def own(case: acceptance.Case, key: oracle.Value | None) -> oracle.Value | None:
    """Give the key that a key of a case has in the shared collection."""
    place = CASES.index(case) * OWN_NUMBERS
    return key and tuple(
        part if part is None else f"{case.name}|{part}" if isinstance(part, str) else place + part
        for part in key
    )


def is_own(case: acceptance.Case, part: str | int) -> bool:
    """Tell whether a part of a key of a shared collection belongs to the case."""
    if isinstance(part, str):
        return part.startswith(f"{case.name}|")
    return CASES.index(case) == part // OWN_NUMBERS


class Outcome(NamedTuple):
    """Rows and errors after one run of a case, and the updates that the run wrote."""

    rows: list[oracle.Value]
    errors: list[oracle.Error]
    updates: list[oracle.Update]


def outcomes_of(project: Project, each: Shared, after: int) -> dict[str, Outcome]:
    """Give the outcome of the last run of a collection, for each of its cases."""
    width = len(each.cases[0].key)
    left = {case.name: Outcome([], [], []) for case in each.cases}
    for row in project.rows(each.name):
        left[each.owner(row[:width]).name].rows.append(row)
    for error in project.errors(each.name):
        left[each.owner(error.key).name].errors.append(error)
    for update in project.updates(each.name, after=after):
        left[each.owner(update.key).name].updates.append(update)
    return left


@pytest.fixture(scope="module")
def outcomes(new_project: Callable[[str], Project]) -> dict[str, list[Outcome]]:
    """The outcomes of all runs of each case. Runs with the same cap share a dbt run."""
    project = new_project("acceptance")
    collections = shared()
    for each in collections:
        first = each.cases[0]
        project.add_collection(each.name, first.key, first.value, {"late": first.late})
    outcomes: dict[str, list[Outcome]] = {case.name: [] for case in CASES}
    for run_no in range(max(len(each.settled) for each in collections)):
        together: dict[int | None, list[Shared]] = defaultdict(list)
        for each in collections:
            if run_no < len(each.settled):
                together[each.settled[run_no][0]].append(each)
                project.append(
                    each.name,
                    [
                        replace(command, key=own(case, command.key))
                        for case in each.cases
                        if run_no < len(case.runs)
                        for command in case.runs[run_no].commands
                    ],
                )
        for until, sharing in together.items():
            # Only the first run creates the views of a collection.
            tables = [f"{each.name}_{role}" for each in sharing for role in TABLES]
            before = {
                each.name: len(project.progress(each.name)) if run_no else 0 for each in sharing
            }
            project.run(
                *(tables if run_no else [f"models/{each.name}" for each in sharing]), until=until
            )
            for each in sharing:
                left = outcomes_of(project, each, before[each.name])
                for case in each.cases:
                    outcomes[case.name] += [left[case.name]] if run_no < len(case.runs) else []
    return outcomes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_gives_its_expected_rows_errors_and_updates(
    case: acceptance.Case, outcomes: dict[str, list[Outcome]]
) -> None:
    assert len(outcomes[case.name]) == len(case.runs)
    for run, (rows, errors, updates) in zip(case.runs, outcomes[case.name], strict=True):
        width = len(case.key)
        expected = [(*(own(case, row[:width]) or ()), *row[width:]) for row in run.rows]
        assert multiset(rows) == multiset(expected)
        assert multiset(errors) == multiset(
            error._replace(key=own(case, error.key)) for error in run.errors
        )
        if run.changelog is not None:
            changelog = [each._replace(key=own(case, each.key)) for each in run.changelog]
            assert oracle.consolidate(updates) == oracle.consolidate(changelog)
            assert len(updates) == len(changelog), "an update was written for nothing"
