"""A run finds every edit of the changelog or the staged batch, made before or during the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.between import before
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
APPEND = r"merge into \S*_changelog"
APPLY = r"merge into \S*_state"


def put(ts: int, key: str = "a") -> Command:
    return Command(ts, (1,), (key,), (f"value {ts}",))


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """The collection `orders` after two batches. Each run scans its state, after any test."""
    project = new_project("edits")
    project.add_collection("orders", KEY, VALUE, {"verify": "content"})
    for ts in (1, 2):
        project.append("orders", [put(ts), put(ts, f"new {ts}")])
        project.run()
    return project


@pytest.fixture
def restored(project: Project) -> Any:
    """The project. Its tables are restored after the test."""
    tables = ["orders_changelog", "orders_state"]
    kept = {table: project.sql(f"select * from {{}}.{table}") for table in tables}
    versions = {table: project.versions(table)[0] for table in tables}
    yield project
    project.restore(versions)
    for table in tables:
        assert multiset(project.sql(f"select * from {{}}.{table}")) == multiset(kept[table])


LIVE = "update {}.orders_changelog set v = 'edited' where k = 'a' and _ts = 2 and _diff = 1"


@pytest.mark.long
def test_a_full_refresh_of_the_state_refuses_an_edited_changelog(restored: Project) -> None:
    before_it = multiset(restored.sql("select * from {}.orders_state"))
    restored.sql(LIVE)

    restored.run("orders_state", "--full-refresh", fails=True)

    assert (
        "Batch 2 of edits.orders_changelog must be what its certificate says"
        in (restored.messages[0])
    )
    assert multiset(restored.sql("select * from {}.orders_state")) == before_it


@pytest.mark.long
@pytest.mark.parametrize("model", ["orders_batch", "orders_state"])
def test_a_missing_state_is_not_rebuilt_from_an_edited_changelog(
    project: Project, model: str
) -> None:
    kept = project.versions("orders_changelog")[0]
    project.sql(LIVE)
    project.sql("drop table {}.orders_state")

    project.run(model, fails=True)

    assert "Batch 2 of edits.orders_changelog" in project.messages[0]
    project.restore({"orders_changelog": kept})
    project.run("orders_state")


EDITS = {
    "_upper": "_upper = 9",
    "_lower": "_lower = -1",
    "_batch_id": "_batch_id = 'edited'",
    **{
        f"_statistics.{field}": f"_statistics.{field} = {value}"
        for field, value in {
            "commands_settled": 1,
            "updates_staged": 7,
            "inserts": 9,
            "late_dropped": 3,
            "tie_samples": "array('a')",
            "records_indexed": 99,
            "open_upper": 99,
            "since": 1,
            "definition": "'edited'",
            "partitions": "array(named_struct('_partition', 'a', 'first_offset', 1L,"
            " 'next_offset', 2L))",
            "committed_at": "timestamp '2001-01-01'",
            "seal.own": 1,
            "seal.certificate": 1,
            "seal.updates": 1,
            "seal.previous": 1,
            "seal.committed": 1,
        }.items()
    },
}
ONE_OF_EACH_KIND = [
    *("_upper", "_statistics.inserts", "_statistics.definition", "_statistics.committed_at"),
    *("_statistics.seal.own", "_statistics.seal.previous"),
]


@pytest.mark.long
@pytest.mark.parametrize(("seq", "fields"), [(1, [*EDITS]), (2, ONE_OF_EACH_KIND)])
def test_an_edit_of_a_progress_row_stops_the_run_and_names_the_batch(
    restored: Project, seq: int, fields: list[str]
) -> None:
    name = f"{restored.name}.orders_changelog"
    kept = restored.versions("orders_changelog")[0]
    for field in fields:
        restored.sql(f"update {name} set {EDITS[field]} where _kind = 'progress' and _seq = {seq}")

        restored.run("orders_corrections", fails=True)

        assert f"Batch {seq} of {name} must be" in restored.messages[0], field
        restored.restore({"orders_changelog": kept})


def test_an_edit_of_the_last_certificate_stops_the_next_run(restored: Project) -> None:
    restored.append("orders", [put(2, "late")])
    restored.sql(
        "update {}.orders_changelog set _certificate = slice(_certificate, 2, 9)"
        " where _kind = 'progress' and _seq = 2"
    )

    restored.run("orders_corrections", fails=True)

    assert "the certificate of batch 2" in restored.messages[0]


def test_an_edit_of_the_tick_of_an_update_stops_a_rebuild_of_the_state(restored: Project) -> None:
    restored.sql("update {}.orders_changelog set _ts = 1 where k = 'a' and _ts = 2")

    restored.run("orders_state", "--full-refresh", fails=True)

    assert "Batch 2 of edits.orders_changelog must be" in restored.messages[0]


@pytest.mark.long
def test_an_edit_of_the_upper_before_the_apply_does_not_reach_the_state(restored: Project) -> None:
    restored.append("orders", [put(3)])

    def edit() -> None:
        restored.sql(
            "update {}.orders_changelog set _upper = 99 where _kind = 'progress' and _seq = 3"
        )

    with before(APPLY, edit):
        restored.run(fails=True)

    assert any("the progress row of batch 3" in said for said in restored.messages)
    (row,) = restored.sql("select max(_upper) from {}.orders_state")
    assert row[0] == 3


def test_an_edited_batch_that_a_killed_run_left_behind_does_not_reach_the_state(
    restored: Project,
) -> None:
    restored.append("orders", [put(3)])
    restored.run("orders_commands", "orders_corrections", "orders_batch", "orders_changelog")
    state = multiset(restored.sql("select * from {}.orders_state"))
    kept = {"orders_changelog": restored.versions("orders_changelog")[0]}
    for change in ("v = 'edited'", "_kind = 'order'"):
        restored.sql(
            f"update {{}}.orders_changelog set {change} where k = 'a' and _seq = 3 and _diff = 1"
        )
        for models in ((), ("orders_state",)):
            restored.run(*models, fails=True)

            said = "\n".join(restored.messages)
            assert "Batch 3 of edits.orders_changelog must be" in said, (change, models)
            assert multiset(restored.sql("select * from {}.orders_state")) == state
        restored.restore(kept)


STAGED_EDITS = {
    "value": "update {} set v = 'edited' where k = 'a' and _diff = 1",
    "tick": "update {} set _ts = 0 where k = 'a' and _diff = 1",
    "kind": "update {} set _kind = 'order' where k = 'a' and _diff = 1",
    "cause": "update {} set _cause = 'unknown' where k = 'a' and _diff = 1",
    "row_lost": "delete from {} where k = 'a' and _diff = 1",
    "row_doubled": "insert into {} select * from {} where k = 'a'",
    "row_of_another_batch": "update {} set _seq = 2 where k = 'a' and _diff = 1",
    "row_of_another_run": "update {} set _batch_id = 'x' where k = 'a' and _diff = 1",
    "no_lower": "update {} set _lower = null where _kind = 'progress'",
    "no_upper": "update {} set _upper = null where _kind = 'progress'",
    "upper": "update {} set _upper = 99 where _kind = 'progress'",
    "certificate": "update {} set _certificate = array() where _kind = 'progress'",
    "statistic": "update {} set _statistics.records_indexed = 0 where _kind = 'progress'",
    "progress_doubled": "insert into {} select * from {} where _kind = 'progress'",
}


@pytest.mark.long
@pytest.mark.parametrize("moment", ["after it was staged", "right before the append"])
def test_an_edited_staged_batch_is_never_appended(project: Project, moment: str) -> None:
    name, appended = f"{project.name}.orders_batch", len(project.progress("orders"))
    project.append("orders", [put(10 * appended)])
    project.run("orders_corrections", "orders_batch")
    staged = project.versions("orders_batch")[0]
    for edit in STAGED_EDITS.values():
        statement = edit.replace("{}", name)
        if moment == "after it was staged":
            project.sql(statement)
            project.run("orders_changelog", fails=True)
        else:
            with before(APPEND, lambda statement=statement: project.sql(statement)):  # type: ignore[misc]
                project.run("orders_changelog", fails=True)

        said = project.messages[0]
        assert re.search("(damaged batch|batch moved|upper mismatch): ", said), (edit, said)
        # An error of the SQL would repeat the statement, and with it these words.
        assert "UNRESOLVED" not in said, (edit, said)
        assert len(project.progress("orders")) == appended, edit
        project.restore({"orders_batch": staged})
    # The restored batch can be appended.
    project.run("orders_changelog", "orders_state")
    assert len(project.progress("orders")) == appended + 1
    assert ("a", f"value {10 * appended}") in project.rows("orders")
