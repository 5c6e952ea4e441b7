"""On Delta, a run reads a log by its versions, and verifies a state by its versions.

`make delta` runs these tests, and all others that are not about Iceberg, on Delta. The tests
build on one collection, so that it is made only once. tests/macros/test_delta_versions.py tests
what each commit of a Delta table means, without Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.runner import growth
from tests.acceptance import Column, multiset
from tests.between import sent
from tests.functional.edits import delete, insert, merge, update
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "int")], [Column("v", "string")]
SCAN = "select buckets from wrong_buckets"
"""The statement that scans the rows of the state to verify them."""
RUN = ("orders_corrections", "orders_batch", "orders_changelog", "orders_state")

pytestmark = pytest.mark.delta_only


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """The collection `orders` with its first batch. The change feed of its log is off."""
    project = new_project("delta_tables")
    project.add_collection("orders", KEY, VALUE, {"verify": "always"})
    set_feed(project, "false")
    project.append("orders", [put(1, 1, "a"), put(1, 2, "b")])
    project.run()
    return project


def put(ts: int, key: int, value: str) -> Command:
    return Command(ts, (ts,), (key,), (value,))


def settle(project: Project, *commands: Command) -> Any:
    """Append commands to the log, run, and return the statistics of the last batch."""
    project.append("orders", commands)
    project.run(*RUN)
    return project.progress("orders")[-1]["_statistics"]


def stage(project: Project) -> Any:
    """Stage a batch that is not appended, and return its statistics."""
    project.run("orders_batch")
    return project.sql("select _statistics from {}.orders_batch where _kind = 'progress'")[0][0]


def set_feed(project: Project, value: str) -> None:
    project.sql(
        f"alter table {{}}.orders_log set tblproperties ('delta.enableChangeDataFeed' = '{value}')"
    )


def set_retention(project: Project, interval: str) -> None:
    project.sql(
        "alter table {}.orders_log set tblproperties"
        f" ('delta.deletedFileRetentionDuration' = '{interval}')"
    )


def make_again(project: Project) -> None:
    project.sql(
        "create table {}.orders_copy using delta as select * except (extra) from {}.orders_log"
    )
    project.sql("drop table {}.orders_log")
    project.sql("alter table {}.orders_copy rename to {}.orders_log")
    set_feed(project, "true")


def test_a_run_reads_only_the_commands_of_the_versions_after_the_last_batch(
    project: Project,
) -> None:
    first = project.progress("orders")[-1]["_statistics"]
    assert "whose change feed is off" in first.whole_log_reason
    set_feed(project, "true")
    second = settle(project, put(2, 3, "c"))
    assert second.whole_log_reason == "no position in the log is settled yet"
    third = settle(project, put(3, 1, "d"), put(1, 4, "late"))

    assert [each.commands_read for each in (first, second, third)] == [2, 3, 2]
    assert (third.whole_log_reason, third.late_dropped) == (None, 1)
    assert multiset(project.rows("orders")) == multiset([(1, "d"), (2, "b"), (3, "c")])

    # These staged batches are not appended. Each reads the log from the same version.
    project.append("orders", [put(4, 5, "e")])
    project.sql("optimize {}.orders_log")
    project.sql("alter table {}.orders_log add column extra int")
    project.sql(
        "merge into {}.orders_log as log using (select 6 as k) as new on log.k = new.k"
        " when not matched then insert (log_ts, log_order, k, v) values (5, 5, 6, 'f')"
    )
    found = stage(project)
    assert (found.whole_log_reason, found.commands_read) == (None, 2)
    for change, reason in (
        (lambda: set_feed(project, "false"), "whose change feed is off"),
        (lambda: set_feed(project, "true"), "the change feed of the log was switched on or off"),
        (lambda: project.sql("delete from {}.orders_log where k = 5"), "were deleted"),
        (lambda: project.sql("update {}.orders_log set v = v where k = 6"), "were overwritten"),
        (lambda: make_again(project), "no longer has the snapshot"),
    ):
        change()
        found = stage(project)
        assert reason in found.whole_log_reason
        assert found.commands_read == project.sql("select count(*) from {}.orders_log")[0][0]

    # The next batch is read as a whole, and the one after it by its versions.
    assert settle(project).whole_log_reason is not None
    last = settle(project, put(6, 7, "g"))
    assert (last.whole_log_reason, last.commands_read) == (None, 1)
    assert (6, "f") in project.rows("orders")

    # Delta refuses to read a version that is older than this, also if all its files are there.
    set_retention(project, "interval 1 second")
    old = settle(project, put(7, 8, "h"))
    assert "keeps its old versions for too short a time" in old.whole_log_reason
    assert (8, "h") in project.rows("orders")
    set_retention(project, "interval 1 week")


def test_a_session_in_which_a_merge_adds_columns_stops_a_run(project: Project) -> None:
    setting = "spark.databricks.delta.schema.autoMerge.enabled"
    columns = project.spark.table("delta_tables.orders_state").columns
    project.append("orders", [put(8, 9, "i")])
    project.spark.conf.set(setting, "true")
    try:
        project.run(*RUN, fails=True)
        said = "\n".join([*project.messages, *project.operate("doctor", collection="orders")])
    finally:
        project.spark.conf.unset(setting)
    assert f"The Spark setting `{setting}` must be false" in said
    assert f"WRONG  the Spark setting {setting} is true" in said
    project.run(*RUN)
    assert (9, "i") in project.rows("orders")
    assert project.spark.table("delta_tables.orders_state").columns == columns


def state(project: Project) -> Any:
    return multiset(project.sql("select * from {}.orders_state"))


def restore(project: Project) -> None:
    """Go back to the version before the last two batches."""
    batches = [
        row.version
        for row in project.sql("describe history {}.orders_state")
        if row.operation == "MERGE" and "tail was read" in str(row.operationParameters)
    ]
    project.restore({"orders_state": batches[1] - 1})


def replace(project: Project) -> None:
    project.sql(
        "create or replace table {}.orders_state using delta as"
        " select k, if(k = 1, 'replaced', v) as v, * except (k, v) from {}.orders_state"
    )


def test_an_edit_of_the_state_is_found_by_its_versions_without_a_scan_of_an_unedited_state(
    project: Project,
) -> None:
    settle(project, put(10, 1, "x"), put(10, 2, "y"))
    for edit in (restore, update, delete, insert, merge, replace):
        project.run("orders_corrections")  # it scans the healed state
        healthy = state(project)
        project.sql("optimize {}.orders_state")
        with sent(SCAN) as found:
            project.run("orders_corrections")
        assert not found

        edit(project)
        assert state(project) != healthy
        project.run("orders_corrections")

        assert "healed" in project.messages[0] or "rebuilt" in project.messages[0]
        assert state(project) == healthy


def test_a_longer_varchar_of_the_log_fits_into_the_tables(project: Project) -> None:
    project.add_collection("varied", KEY, [Column("v", "varchar(3)")])
    project.append("varied", [put(1, 1, "abc")])
    project.run("models/varied")
    project.sql("alter table {}.varied_log alter column v type varchar(9)")
    project.append("varied", [put(2, 1, "abcdefghi")])
    project.run("models/varied")
    assert project.rows("varied") == [(1, "abcdefghi")]


def test_the_watcher_sees_a_log_that_was_dropped_and_made_again(project: Project) -> None:
    """It begins with version 0 again."""
    make = "create table {}.remade using delta as select 1 as k"
    project.sql(make)
    names = {"delta_tables.remade": frozenset[str]()}
    before = growth.tables(names, {})
    assert growth.tables(names, {}) == before
    project.sql("drop table {}.remade")
    project.sql(make)
    assert growth.tables(names, {}) != before


def test_a_batch_without_the_corrections_refuses_a_state_that_somebody_has_replaced(
    project: Project,
) -> None:
    """A table that is replaced loses the note of its last scan."""
    settle(project, put(20, 1, "x"), put(20, 2, "y"))
    project.append("orders", [put(21, 1, "new")])
    replace(project)

    project.run("orders_batch", fails=True)

    assert "nobody has verified" in "\n".join(project.messages)
    project.run(*RUN)
    assert (1, "new") in project.rows("orders")
    assert (1, "replaced", -1) not in {
        (row.k, row.v, row._diff) for row in project.sql("select * from {}.orders_changelog")
    }


def test_the_tables_take_no_default_of_a_column(project: Project) -> None:
    """Delta makes no table with a default, unless the table has a property for it."""
    allowed = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    project.add_collection("defaulted", KEY, VALUE, {"late": "correct"})
    project.sql(f"alter table {{}}.defaulted_log set {allowed}")
    project.sql("alter table {}.defaulted_log alter column k set default 7")
    project.append("defaulted", [put(1, 1, "a"), put(2, 2, "b")])
    project.sql(
        f"create table {{}}.kept (k int default 7, v string default 'x') using delta {allowed}"
    )
    project.sql("insert into {}.kept values (1, 'a'), (3, 'drift')")

    project.run("models/defaulted", adopt="delta_tables.kept")
    project.run("models/defaulted")

    assert multiset(project.rows("defaulted")) == multiset([(1, "a"), (2, "b")])


def test_a_maintenance_keeps_the_content_and_the_runs_after_it_agree(project: Project) -> None:
    tables = ("orders_changelog", "orders_state", "orders_batch")
    project.run()
    before = {table: multiset(project.sql(f"select * from {{}}.{table}")) for table in tables}
    files = project.sql("describe detail {}.orders_state")[0]["numFiles"]
    assert files > 1

    printed = project.operate("maintain", collection="orders", idle=True)

    said = [line for line in printed if line.startswith("Maintained ")]
    names = [line.partition(":")[0].rpartition(".")[2] for line in said]
    assert names == [*tables, "orders_corrections"]
    assert f"files {files} -> 1" in said[1]
    for table, rows in before.items():
        assert multiset(project.sql(f"select * from {{}}.{table}")) == rows
    with sent(SCAN) as found:
        settle(project, put(project.progress("orders")[-1]["_upper"], 77, "after"))
    assert not found
    assert (77, "after") in project.rows("orders")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"retain_hours": 24}, "`retain_hours` must be 0 on Delta, or left out."),
        ({"retain_hours": 0}, "`retain_hours` must be given with `idle: true` on Delta"),
        ({"retain_hours": 0, "idle": True}, "retentionDurationCheck.enabled` must be false"),
    ],
)
def test_a_retention_that_delta_ignores_or_refuses_is_refused_before_any_work(
    project: Project, arguments: dict[str, Any], says: str
) -> None:
    before = project.versions("orders_changelog")

    printed = project.operate("maintain", collection="orders", fails=True, **arguments)

    assert says in "\n".join(printed)
    assert project.versions("orders_changelog") == before
