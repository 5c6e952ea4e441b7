"""The error of a run that another run has overtaken. One statement imitates the other run."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column, multiset
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
PATIENCE = 60
"""Seconds to wait for the other side."""


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    return new_project("lost_races")


def wait_for(file: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.05)


def put(ts: int, key: str, value: str) -> Command:
    return Command(ts, (1,), (key,), (value,))


def test_a_state_that_is_replaced_during_the_apply_gives_a_short_error(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project.add_collection("replaced", KEY, VALUE)
    project.append("replaced", [put(1, "a", "first")])
    project.run("models/replaced")
    project.append("replaced", [put(2, "a", "second")])
    project.run("replaced_batch", "replaced_changelog")
    began, replaced = tmp_path / "began", tmp_path / "replaced"
    execute = Cursor.execute

    def hold(seq: int) -> int:
        """Hold up only one task, because the other statement needs the other core."""
        try:
            began.touch(exist_ok=False)
        except FileExistsError:
            return seq
        wait_for(replaced)
        return seq

    def execute_slowly(cursor: Cursor, sql: str, *parameters: Any) -> None:
        if "/* trueup: apply */" in sql:
            sql = sql.replace("where _seq > ", "where hold(_seq) > ")
        execute(cursor, sql, *parameters)

    def replace() -> None:
        wait_for(began)
        state = f"{project.name}.replaced_state"
        select = f"select * from {state}"
        project.sql(f"create or replace table {state} using {{format}} as {select}")
        replaced.touch()

    project.spark.udf.register("hold", hold, "bigint")
    monkeypatch.setattr(Cursor, "execute", execute_slowly)
    with ThreadPoolExecutor(1) as other:
        ended = other.submit(replace)
        project.run("replaced_state", fails=True)
        ended.result()
    monkeypatch.undo()

    (said,) = project.messages
    moved = "state moved: another run wrote to lost_races.replaced_state at the same moment;"
    assert f"{moved} nothing is applied; run again" in said
    assert "\tat org." not in said, "a page of Java"
    assert len(said.splitlines()) < 6
    project.run("models/replaced")
    assert multiset(project.rows("replaced")) == multiset([("a", "second")])
