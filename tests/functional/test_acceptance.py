"""Every acceptance case, through the package: `dbt run` after `dbt run`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from tests import acceptance, oracle
from tests.acceptance import multiset

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

CASES = [case for case in acceptance.load() if case.late == "drop"]

Outcome = tuple[list[oracle.Value], list[oracle.Error], list[oracle.Update]]


@pytest.fixture(scope="module")
def outcomes(new_project: Callable[[str], Project]) -> dict[str, list[Outcome]]:
    """What each run of each case left. Cases at the same run, with the same cap, share a dbt run."""
    project = new_project("acceptance")
    for case in CASES:
        project.add_collection(case.name, case.key, case.value)
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for run_no in range(max(len(case.runs) for case in CASES)):
        capped: dict[Any, list[acceptance.Case]] = defaultdict(list)
        for case in CASES:
            if run_no < len(case.runs):
                capped[case.runs[run_no].until].append(case)
                project.append(case.name, case.runs[run_no].commands)
        for until, cases in capped.items():
            roles = [""] if run_no == 0 else ["_batch", "_changelog", "_state"]
            names = [case.name for case in cases]
            select = [f"models/{name}" for name in names] if run_no == 0 else [
                name + role for name in names for role in roles
            ]
            seen = {case.name: len(project.progress(case.name)) for case in cases} if run_no else {}
            project.run(*select, until=until)
            for name in names:
                outcomes[name].append(
                    (
                        project.rows(name),
                        project.errors(name),
                        project.updates(name, after=seen.get(name, 0)),
                    )
                )
    return outcomes


@pytest.mark.skipif(not CASES, reason="../shared/acceptance is not there")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: acceptance.Case, outcomes: dict[str, list[Outcome]]) -> None:
    assert len(outcomes[case.name]) == len(case.runs)
    for run, (rows, errors, updates) in zip(case.runs, outcomes[case.name], strict=True):
        assert multiset(rows) == multiset(run.rows)
        assert multiset(errors) == multiset(run.errors)
        if run.changelog is not None:
            assert oracle.consolidate(updates) == oracle.consolidate(run.changelog)
            assert len(updates) == len(run.changelog), "an update was written for nothing"
