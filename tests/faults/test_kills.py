"""A run is killed right after one of its statements. The next run repairs everything."""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.between import killed_after
from tests.oracle import Collection, Command, check_laws, check_updates

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

WRITES = re.compile(r"(create|declare|merge|delete|insert|drop|alter)\b")
STRIDE = int(os.environ.get("TRUEUP_KILL_STRIDE", "4"))
"""The tests kill a run after every n-th write. A long run sets 1."""

SELECT_STRIDE = 2 * STRIDE - 1
"""The same for the longer run of a collection by a select."""

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]


def commands(ts: int) -> list[Command]:
    return [
        Command(ts, (1,), ("always",), (f"value {ts}",)),
        Command(ts, (1,), (f"new {ts}",), ("new",)),
        Command(ts, (1,), (f"new {ts - 1}",), None),
    ]


def check(project: Project, name: str, oracle: Collection) -> None:
    updates = project.updates(name)
    check_updates(updates, oracle.changelog)
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    progress = project.progress(name)
    assert [row["_seq"] for row in progress] == list(range(1, len(progress) + 1))


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("kills")


@pytest.mark.long
def test_a_first_run_killed_after_any_write_loses_nothing(
    own_project: Callable[[str], Project],
) -> None:
    for statement_no in count(1, STRIDE):
        project, name = own_project("kills"), "first"
        project.add_collection(name, KEY, VALUE)
        project.append(name, commands(1))
        with killed_after(statement_no, WRITES) as written:
            project.run(f"{name}_commands", fails=None)
            project.run(f"{name}_batch+", fails=None)
        ended = len(written) < statement_no
        project.run(f"models/{name}")
        oracle = Collection()
        oracle.run(commands(1))
        check(project, name, oracle)
        if ended:
            break
    assert statement_no > 8, "the run has become shorter: are all of its writes still here?"


def test_a_later_run_killed_after_any_write_loses_nothing(project: Project) -> None:
    project.add_collection("later", KEY, VALUE)
    log, oracle = commands(1), Collection()
    project.append("later", log)
    project.run("models/later")
    oracle.run(log)
    for statement_no in count(1, STRIDE):
        arriving = commands(statement_no + 1)
        log += arriving
        project.append("later", arriving)
        with killed_after(statement_no, WRITES) as written:
            project.run("later_batch", "later_changelog", "later_state", fails=None)
        ended = len(written) < statement_no
        project.run("later_batch", "later_changelog", "later_state")
        oracle.run(log)
        check(project, "later", oracle)
        if ended:
            break
    assert statement_no > 5, "the run has become shorter: are all of its writes still here?"


@pytest.mark.long
def test_a_run_of_a_select_killed_after_any_write_loses_nothing(project: Project) -> None:
    table = f"{project.name}.counts_input"
    project.sql(f"create table {table} using {{format}} as select 'always' as k, 0 as n")
    counted = f"select k, count(*) as c, max(n) as last from {table} group by k"
    project.add_select("counts", counted, ["k"])
    project.run("models/counts")
    tables = ["counts_corrections", "counts_batch", "counts_changelog", "counts_state"]
    for statement_no in count(1, SELECT_STRIDE):
        # One key changes, one is new, and one is gone.
        gone = f"new {statement_no - SELECT_STRIDE}"
        project.sql(f"delete from {table} where k = '{gone}'")
        project.sql(
            f"insert into {table} values ('always', {statement_no}), ('new {statement_no}', 1)"
        )
        with killed_after(statement_no, WRITES) as written:
            project.run(*tables, fails=None)
        ended = len(written) < statement_no
        project.run(*tables)
        rows = [tuple(row) for row in project.sql(counted)]
        updates = project.updates("counts")
        check_laws(updates)
        assert multiset(project.rows("counts")) == multiset(rows)
        sums = Counter[tuple[Any, ...]]()
        for update in updates:
            sums[(update.key or ()) + (update.value or ())] += update.diff
        assert +sums == Counter(rows)
        progress = project.progress("counts")
        assert [row["_seq"] for row in progress] == list(range(1, len(progress) + 1))
        if ended:
            break
    assert statement_no > 8, "the run has become shorter: are all of its writes still here?"
