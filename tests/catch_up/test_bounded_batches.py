"""Settles a log in bounded batches with `trueup run --until-caught-up`, in a Spark session."""

from __future__ import annotations

import re
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.catch_up.loop import run_until_caught_up
from dbt_trueup.runner.project import Project as WarmProject
from tests.acceptance import Column, multiset
from tests.between import sent_through
from tests.oracle import Collection, Command, check_laws, consolidate
from tests.runner.fakes import Printed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

LOG = [
    Command(
        number // 2,
        (number,),
        (f"key {number % 7}",),
        None if number % 11 == 0 else (f"value {number}",),
    )
    for number in range(50)
]
"""50 commands at 25 ticks."""


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection with limited batches, and a collection by a select that reads it."""
    made = new_project("bounded")
    options = {"max_commands_per_batch": 10}
    made.add_collection("c", [Column("k", "string")], [Column("v", "string")], options)
    made.add_select("s", "select v, count(*) as n from {{ ref('c') }} group by v", ["v"])
    made.append("c", LOG)
    return made


def catch_up(project: Project, *arguments: str) -> tuple[int, list[str]]:
    """Return the exit code, and the printed lines without the figures of time."""
    printed: Any = Printed()
    runs = WarmProject(["--project-dir", str(project.folder), *arguments], [])
    exit_code = run_until_caught_up(runs, Event(), printed)
    return exit_code, [
        re.sub(r", [\d.]+/s|, \d+ s left| in [\d.]+ s", "", each) for each in printed
    ]


def progress(lines: list[str]) -> list[str]:
    return [line for line in lines if "commands (" in line]


@contextmanager
def killed_before(statement: str, times: int) -> Iterator[None]:
    """Stop every statement from the n-th one on that matches a pattern."""
    found: list[str] = []

    def counting(execute: Callable[[str], None], sql: str) -> None:
        if re.search(statement, sql):
            found.append(sql)
        if len(found) >= times:
            message = "killed"
            raise RuntimeError(message)
        execute(sql)

    with sent_through(counting):
        yield


@pytest.mark.long
def test_a_log_is_settled_in_bounded_batches_also_after_a_kill(project: Project) -> None:
    # Nothing can be settled: the run says why, and ends.
    exit_code, lines = catch_up(project, "--vars", "{trueup_read_only: true}")
    assert exit_code == 1
    assert "no progress in two rounds; c: read only: batch 1 is staged, not appended" in lines
    assert progress(lines) == []
    assert "/* trueup: create */" in (project.folder / "logs" / "dbt.log").read_text()

    # The run is killed in its second round: the batch is appended, but not applied.
    with killed_before(r"(?s)trueup: apply.*c_state", times=2):
        exit_code, lines = catch_up(project)
    assert exit_code == 1
    assert progress(lines) == ["c: 10 of 50 commands (20 %)"]
    assert lines[-1].startswith("round 2: failed after")
    assert "killed" in lines[-1]

    # The same command goes on where it was.
    exit_code, lines = catch_up(project)
    assert (exit_code, progress(lines)) == (
        0,
        [
            "c: 30 of 50 commands (60 %)",
            "c: 40 of 50 commands (80 %)",
            "c: 50 of 50 commands (100 %)",
        ],
    )
    assert lines[-1] == "caught up after 4 rounds"

    oracle = Collection()
    oracle.run(LOG)
    updates = project.updates("c")
    check_laws(updates)
    assert consolidate(updates) == consolidate(oracle.changelog)
    assert multiset(project.rows("c")) == multiset(oracle.rows)
    assert [row["_statistics"]["commands_settled"] for row in project.progress("c")] == [
        *(10, 20, 30, 40, 50)
    ]
    counted = project.sql("select v, count(*) as n from {}.c group by v")
    assert multiset(project.rows("s")) == multiset([tuple(row) for row in counted])
