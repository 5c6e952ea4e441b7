"""Every acceptance case, through the package: `dbt run` after `dbt run`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests import acceptance, oracle
from tests.acceptance import multiset

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

CASES = acceptance.load()
SHARD = ("corrections", "batch", "changelog", "state")


class Outcome(NamedTuple):
    """What one run of a case left, and the updates that it wrote."""

    rows: list[oracle.Value]
    errors: list[oracle.Error]
    updates: list[oracle.Update]


@pytest.fixture(scope="module")
def outcomes(new_project: Callable[[str], Project]) -> dict[str, list[Outcome]]:
    """The outcomes of all runs of each case. Runs with the same cap share a dbt run."""
    project = new_project("acceptance")
    for case in CASES:
        project.add_collection(case.name, case.key, case.value, {"late": case.late})
    outcomes: dict[str, list[Outcome]] = {case.name: [] for case in CASES}
    for run_no in range(max(len(case.runs) for case in CASES)):
        together: dict[int | None, list[str]] = defaultdict(list)
        for case in CASES:
            if run_no < len(case.runs):
                together[case.runs[run_no].until].append(case.name)
                project.append(case.name, case.runs[run_no].commands)
        for until, names in together.items():
            # The views of a collection stay as its first run has made them.
            shard = [f"{name}_{role}" for name in names for role in SHARD]
            before = {name: len(project.progress(name)) if run_no else 0 for name in names}
            project.run(*(shard if run_no else [f"models/{name}" for name in names]), until=until)
            for name in names:
                updates = project.updates(name, after=before[name])
                outcomes[name].append(Outcome(project.rows(name), project.errors(name), updates))
    return outcomes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: acceptance.Case, outcomes: dict[str, list[Outcome]]) -> None:
    assert len(outcomes[case.name]) == len(case.runs)
    for run, (rows, errors, updates) in zip(case.runs, outcomes[case.name], strict=True):
        assert multiset(rows) == multiset(run.rows)
        assert multiset(errors) == multiset(run.errors)
        if run.changelog is not None:
            assert oracle.consolidate(updates) == oracle.consolidate(run.changelog)
            assert len(updates) == len(run.changelog), "an update was written for nothing"
