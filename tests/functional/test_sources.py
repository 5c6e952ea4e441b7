"""One collection from the logs of several sources, as docs/special-logs.md shows it."""

from __future__ import annotations

import random
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.acceptance import Column, multiset
from tests.conftest import ROOT
from tests.oracle import Collection, Command, check_updates
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

SOURCES = ("crm", "shop")
LEAST_UPPER = (
    "(select min(upper) from (select max(lsn) + 1 as upper from sources.both group by source))"
)
UNION = """{{ config(materialized='view') }}
select *, 'crm' as source from sources.crm
union all
select *, 'shop' as source from sources.shop
"""
COMMANDS = {
    "by_tick": "ts='lsn', sequence_by=['lsn', 'source']",
    "by_source": "reclock=['source', 'lsn'], sequence_by=['lsn', 'source']",
}


class Change(NamedTuple):
    """A row of the log of a source. It is a delete if it has no value."""

    source: str
    lsn: int
    key: str
    value: str | None


def changes() -> list[list[Change]]:
    """The rows that arrive before each run. The sources share keys and numbers, and one lags."""
    chosen = random.Random(4)  # noqa: S311 - a log, not a secret
    rounds = [
        {"crm": range(3), "shop": range(6)},
        {"crm": range(3, 5), "shop": range(0)},
        {"crm": range(5, 12), "shop": range(6, 11)},
    ]
    return [
        [
            Change(source, lsn, f"key {key}", chosen.choice([None, f"{source} {lsn}"]))
            for source, numbers in arrived.items()
            for lsn in numbers
            for key in range(4)
        ]
        for arrived in rounds
    ]


def command(change: Change, ts: int) -> Command:
    value = None if change.value is None else (change.value,)
    return Command(ts, (change.lsn, change.source), (change.key,), value)


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """Two collections that read the same sources, after one run for each round."""
    project = new_project("sources")
    options = {"by_tick": {"input_upper": LEAST_UPPER}, "by_source": None}
    project.write("models/both.sql", UNION)
    for name, arguments in COMMANDS.items():
        project.add_collection(
            name, [Column("k", "string")], [Column("v", "string")], options[name]
        )
        given = "ref('both'), columns=['v'], delete_when='v is null'"
        call = f"{{{{ trueup.commands({given}, {arguments}) }}}}"
        project.write(f"models/{name}/{name}_commands.sql", call)
    for source in SOURCES:
        project.sql(f"create table {{}}.{source} (lsn bigint, k string, v string) using {{format}}")
    tables = [f"{name}_{role}" for name in COMMANDS for role in TABLES]
    for number, arrived in enumerate(changes()):
        for source, rows in groupby(arrived, key=lambda change: change.source):
            project.insert(source, [row[1:] for row in rows])
        project.run(*(tables if number else ["both+"]))
    return project


def check(project: Project, name: str, oracle: Collection) -> None:
    updates = project.updates(name)
    check_updates(updates, oracle.changelog)
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    late = [row["_statistics"]["late_dropped"] for row in project.progress(name)]
    assert not any(late)


def test_the_source_breaks_equal_orders_and_a_slow_source_holds_the_frontier(
    project: Project,
) -> None:
    oracle = Collection()
    log: list[Change] = []
    for arrived in changes():
        log += arrived
        uppers = [max(one.lsn for one in log if one.source == source) + 1 for source in SOURCES]
        oracle.run([command(change, change.lsn) for change in log], until=min(uppers))
    check(project, "by_tick", oracle)
    assert [row["_upper"] for row in project.progress("by_tick")] == [3, 5, 11]


def test_each_source_can_be_a_partition_with_its_own_offsets(
    project: Project,
) -> None:
    oracle = Collection()
    log: list[Command] = []
    for tick, arrived in enumerate(changes()):
        log += [command(change, tick) for change in arrived]
        oracle.run(log)
    check(project, "by_source", oracle)


def test_the_page_shows_the_tested_arguments() -> None:
    page = " ".join((ROOT / "docs/special-logs.md").read_text().split())
    for arguments in COMMANDS.values():
        assert arguments in page
    assert LEAST_UPPER.replace("sources.both", "sales.customer_changes") in page
