"""The operation `trueup.maintain` and the option `maintain` shrink tables but keep the content."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from time import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, check_updates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
MODELS = ("m_batch", "m_changelog", "m_state")
TABLES = ("m_changelog", "m_state", "m_batch")
DAYS = 86_400


def commands(ts: int) -> list[Command]:
    """Give a small batch: a new key, a key that always changes, and a delete of an older key."""
    return [
        Command(ts, (1,), (f"k{ts}",), (f"v{ts}",)),
        Command(ts, (1,), ("often",), (f"v{ts}",)),
        Command(ts, (1,), (f"k{ts - 2}",), None),
    ]


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection with two batches. It maintains itself after every third batch."""
    project = new_project("maintain")
    project.add_collection("m", KEY, VALUE, {"maintain": 3})
    project.run("m_commands")
    batches(project, 0, 2)
    return project


def batches(project: Project, first: int, last: int) -> None:
    for ts in range(first, last):
        project.append("m", commands(ts))
        project.run(*MODELS)
        assert project.messages[-1] == f"m_state: applied batch {ts + 1}"


def maintain(project: Project, **arguments: Any) -> list[str]:
    """Run the operation. Give its line about each table."""
    printed = project.operate("maintain", **arguments)
    return [line for line in printed if line.startswith("Maintained ")]


def figures(project: Project, table: str) -> tuple[int, int, int]:
    """Count the files, delete files and snapshots of a table."""
    files = project.sql(
        f"select count_if(content = 0), count_if(content > 0) from {{}}.{table}.files"
    )
    snapshots = project.sql(f"select count(*) from {{}}.{table}.snapshots")
    return files[0][0], files[0][1], snapshots[0][0]


def content(project: Project) -> dict[str, Any]:
    """Read all tables and views of the collection. The changelog holds the certificates."""
    views = [row["viewName"] for row in project.sql("show views in {}") if not row["isTemporary"]]
    return {name: multiset(project.sql(f"select * from {{}}.{name}")) for name in (*TABLES, *views)}


def plant(folder: Path) -> Path:
    """Add a file to the state that no snapshot knows, and make all files four days old."""
    orphan = folder / "m_state" / "data" / "orphan.parquet"
    orphan.write_text("killed while it was written")
    for file in folder.rglob("*"):
        os.utime(file, (time() - 4 * DAYS,) * 2)
    return orphan


@pytest.mark.long
def test_maintenance_keeps_the_content_of_every_table_and_view(
    own_project: Callable[[str], Project], home: Path
) -> None:
    project = own_project("maintain")
    project.add_collection("m", KEY, VALUE)
    for ts in (1, 4):
        project.write(f"models/m/m_at_{ts}.sql", f"{{{{ trueup.as_of('m', {ts}) }}}}")
    project.write("models/m/m_from_1_to_4.sql", "{{ trueup.changes_between('m', 1, 4) }}")
    project.run("m_commands")
    batches(project, 0, 5)
    project.run("m", "m_errors", "m_at_1", "m_at_4", "m_from_1_to_4")
    before = content(project)
    assert len(before) == len(TABLES) + 6
    folder = home / "warehouse" / project.name
    orphan = plant(folder)
    recent = folder / "m_state" / "data" / "recent.parquet"
    recent.write_text("somebody is writing it")
    files, deletes, _ = figures(project, "m_state")
    assert (files, deletes) == (6, 5)

    said = maintain(project, collection="m", retain_hours=0, retain_last=2, idle=True)

    assert content(project) == before
    assert not orphan.exists()
    assert recent.exists()
    assert figures(project, "m_state") == (1, 0, 2)
    # One file holds the updates, the other one the progress rows.
    assert figures(project, "m_changelog") == (2, 0, 2)
    # Each run replaces this table, so its newest snapshot has no parent.
    assert figures(project, "m_batch") == (1, 0, 1)
    tables = [f"Maintained {project.name}.{table}: " for table in (*TABLES, "m_corrections")]
    assert len(said) == len(tables)
    assert all(line.startswith(table) for line, table in zip(said, tables, strict=True))
    form = (
        r"files 6 -> 1, bytes [\d,]+ -> [\d,]+, delete files 5 -> 0,"
        r" snapshots \d+ -> 2, orphan files removed: [1-9]\d*"
    )
    assert re.fullmatch(form, said[1].removeprefix(tables[1]))


def test_a_run_maintains_the_tables_after_every_third_batch(project: Project, home: Path) -> None:
    orphan = plant(home / "warehouse" / project.name)
    project.run(*MODELS)
    assert orphan.exists()
    batches(project, 2, 3)
    assert not orphan.exists()
    # By default, maintenance keeps the last 24 hours.
    assert figures(project, "m_state")[2] > 2
    snapshots = figures(project, "m_batch")[2]
    said = maintain(project, collection="m", retain_hours=0)
    assert [line.split()[1] for line in said] == [f"maintain.{table}:" for table in TABLES[:2]]
    assert figures(project, "m_batch")[2] == snapshots
    orphan = plant(home / "warehouse" / project.name)
    project.run(*MODELS)
    batches(project, 3, 4)
    assert orphan.exists()


@pytest.mark.long
def test_runs_after_a_maintenance_agree_with_the_oracle(project: Project) -> None:
    # The test above, too, makes batches.
    batches(project, len(project.progress("m")), 7)
    project.run("m")
    oracle = Collection()
    log: list[Command] = []
    for ts in range(7):
        log += commands(ts)
        oracle.run(log)
    assert multiset(project.rows("m")) == multiset(oracle.rows)
    updates = project.updates("m")
    check_updates(updates, oracle.changelog)
    rows = multiset(project.sql("select * from {}.m_state"))
    project.run("m_state", "--full-refresh")
    assert multiset(project.sql("select * from {}.m_state")) == rows
    project.run(*MODELS)
    assert project.messages[-1] == "m_state: up to date at batch 7"


def test_maintenance_removes_tables_and_files_that_killed_runs_left(
    project: Project, home: Path
) -> None:
    recent = f"{datetime.now(tz=timezone.utc):%Y%m%d%H%M%S}_0123abcd"
    left, running = "m_batch__kept_20200101000000_0123abcd", f"m_batch__kept_{recent}"
    for name in (left, running):
        project.sql(f"create table {{}}.{name} using {{format}} as select 1 as a")
    maintain(project, collection="m")
    folder = home / "warehouse" / project.name
    kept = {file.parts[-3] for file in folder.glob("*__kept_*/data/*.parquet")}
    assert kept == {running}


def test_a_rebase_removes_the_files_of_the_tables_that_it_drops(
    project: Project, home: Path
) -> None:
    folder = home / "warehouse" / project.name
    known = [
        folder / row[0].rpartition(f"/{project.name}/")[2]
        for table in TABLES[:2]
        for row in project.sql(f"select file_path from {{}}.{table}.files")
    ]
    assert all(file.exists() for file in known)
    project.run("m_commands+", "--full-refresh", rebase=True)
    assert not [file for file in known if file.exists()]


def test_maintenance_refuses_wrong_arguments(project: Project) -> None:
    for name in ("nothing", None):
        message = "\n".join(project.operate("maintain", fails=True, collection=name))
        assert "`trueup.maintain` argument `collection` must be the name of one coll" in message
    message = "\n".join(project.operate("maintain", fails=True, collection="m", orphan_hours=23))
    assert "`trueup.maintain` argument `orphan_hours` must be an integer from 24 to" in message
