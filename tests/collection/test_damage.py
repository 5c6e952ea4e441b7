"""Stores that somebody else has changed: what a run repairs, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance import Column
from tests.newest_oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle import Update
    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only

LOG = [
    *(Command((1, place), (key,), (key,)) for place, key in enumerate("abcde")),
    Command((2, 1), ("a",), ("a2",)),
    Command((2, 2), ("b",), None),
    Command((2, 3), ("c",), None, "broken"),
    Command((2, 4), None, (None,), "no key", "xff"),
]
LATE = [Command((1, 9), ("b",), ("zombie",)), Command((2, 0), ("a",), ("older",))]
"""Commands that are older than what their keys have seen."""

EDITS = {
    "a value": "update {store} set v = 'bad' where k = 'd' and _kind = 'row'",
    "a row is gone": "delete from {store} where k = 'd' and _kind = 'row'",
    "a row twice": "insert into {store} select * from {store} where k = 'd' and _kind = 'row'",
    "an order": "update {store} set _order = concat_ws(char(2), 0, 1, 0)"
    " where k = 'a' and _kind = 'row'",
    "a tombstone is gone": "delete from {store} where k = 'b' and _kind = 'tombstone'",
    "an error is gone": "delete from {store} where _kind = 'error' and k = 'c'",
    "a key error": "update {store} set _error = 'other' where _kind = 'error' and k is null",
    "an update is gone": "delete from {store} where k = 'a' and _kind = 'update' and _diff = -1",
    "an update": "update {store} set v = 'bad' where k = 'a' and _kind = 'update' and _diff = 1",
    "the tick of an update": "update {store} set _ts = _ts + 1 where k = 'a' and _kind = 'update'",
    "the cause of nothing": "update {store} set _seq = 9 where k = 'e' and _kind = 'update'",
    "the newest batch row": "delete from {store} where _kind = 'batch' and _seq = 2",
    "an older batch row": "delete from {store} where _kind = 'batch' and _seq = 1",
    "everything": "delete from {store} where true",
}


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection of two batches."""
    project = new_project("damage")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    for part in (LOG[:5], LOG[5:]):
        project.append("c", part)
        project.run("c")
    return project


def content(updates: list[Update]) -> list[str]:
    """The updates without their ticks."""
    return sorted(str(update._replace(ts=0)) for update in updates)


LONG = (
    *("a row is gone", "a row twice", "an error is gone", "a key error"),
    *("an update", "an update is gone", "the tick of an update", "the cause of nothing"),
    "an older batch row",
)
"""Edits that are much like others."""


@pytest.mark.parametrize(
    "edit", [pytest.param(edit, marks=[pytest.mark.long] if edit in LONG else []) for edit in EDITS]
)
def test_an_edit_is_repaired_and_no_older_command_brings_a_key_back(
    project: Project, edit: str
) -> None:
    """The run repairs first. Then it reads commands that must stay without effect."""
    snapshot = project.version("c__trueup")
    assert snapshot is not None
    rows, errors = sorted(project.rows("c")), project.errors("c")
    updates = project.updates("c")
    project.sql(EDITS[edit].replace("{store}", "{}.c__trueup"))
    project.append("c", LATE)
    project.run("c", fails=None)
    said = "\n".join(project.messages)
    if edit == "everything":
        # Nothing says what the newest batch was. The run must not begin again.
        assert "must be a table with at least batch row 0" in said, said
        assert project.sql("select * from {}.c__trueup") == []
    else:
        assert "rebuilt from the history" in said or "restored from the snapshot" in said, said
        assert (sorted(project.rows("c")), project.errors("c")) == (rows, errors)
        assert content(project.updates("c")) == content(updates)
        if edit != "the newest batch row":
            # Without it, batch 2 is made again from the log, at another tick.
            assert sorted(map(str, project.updates("c"))) == sorted(map(str, updates))
        project.store("c").check_laws()
    project.restore({"c__trueup": snapshot})
    project.sql("delete from {}.c_log where v in ('zombie', 'older')")


def test_a_weaker_isolation_is_refused_before_anything_is_written(own_project: OwnProject) -> None:
    project = own_project("isolation")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    project.append("c", LOG[:2])
    project.run("c")
    weaker = "alter table {}.c__trueup set tblproperties ('write.merge.isolation-level'='snapshot')"
    project.sql(weaker)
    project.append("c", LOG[2:5])
    before = project.version("c__trueup")
    project.run("c", fails=True)
    assert "serializable" in "\n".join(project.messages)
    assert project.version("c__trueup") == before


@pytest.mark.long
def test_compaction_and_expiry_are_no_damage(own_project: OwnProject) -> None:
    project = own_project("maintained")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    for part in (LOG[:5], LOG[5:]):
        project.append("c", part)
        project.run("c")
    project.rewrite_files("c__trueup")
    expire = (
        "call lake.system.expire_snapshots(table => '{}.%s', older_than => %s, retain_last => 1)"
    )
    for table in ("c__trueup", "c_log"):
        project.sql(expire % (table, "timestamp '2100-01-01'"))
    project.run("c")
    assert "rebuilt" not in project.messages[0]
    assert "restored" not in project.messages[0]
    project.run("c")
    assert "up to date at batch" in project.messages[0]
    project.append("c", LATE)
    project.run("c")
    # The log has lost the snapshot of the last run, so the run reads all of it.
    assert "superseded" in project.messages[0]
    assert sorted(project.rows("c")) == [("a", "a2"), ("d", "d"), ("e", "e")]
    project.store("c").check_laws()


def test_with_errors_none_of_the_store_is_taken_from_another_model(own_project: OwnProject) -> None:
    project = own_project("foreign")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    project.append("c", LOG[:2])
    project.sql("create table {}.c__trueup using iceberg as select 1 as mine")
    project.run("c", fails=True)
    assert [tuple(row) for row in project.sql("select * from {}.c__trueup")] == [(1,)]
