"""A run reads only what came after the position of the last batch, and each command exactly once.

The oracle never reads less than the whole log. So a command that a run skips, or counts
twice, shows up as a difference between the two.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import strategies as st
from pyspark.sql.datasource import DataSource, DataSourceReader

from tests import strategies
from tests.acceptance import Column, multiset
from tests.between import before, sent
from tests.oracle import Collection, Command, check_updates
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from tests.project import Project
    from tests.strategies import Step

KEY, VALUE = [Column("k", "int")], [Column("v", "string")]
FEED = "'delta.enableChangeDataFeed' = 'true'"
"""The property that a copy of a log needs, too. Iceberg keeps it."""
numbers = count(1)


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("log_position")


def add(project: Project, **options: Any) -> str:
    """Add a collection, and return its name."""
    name = f"c{next(numbers)}"
    project.add_collection(name, KEY, VALUE, options)
    return name


def settle(project: Project, name: str, *commands: Command, **variables: Any) -> Any:
    """Append commands to the log, run, and return the statistics of the last batch."""
    project.append(name, commands)
    run(project, name, **variables)
    return project.progress(name)[-1]["_statistics"]


def run(project: Project, name: str, **variables: Any) -> None:
    """Run the models that write, and before the first time all others, too."""
    is_new = not project.spark.catalog.tableExists(f"{project.name}.{name}_state")
    roles = ("commands", "batch", "changelog", "state")
    project.run(
        *([f"models/{name}"] if is_new else [f"{name}_{each}" for each in roles]), **variables
    )


def change_call(project: Project, name: str, old: str, new: str) -> None:
    """Change the call of `trueup.commands`."""
    path = f"models/{name}/{name}_commands.sql"
    text = (project.folder / path).read_text()
    assert old in text
    project.write(path, text.replace(old, new))


def put(ts: int, key: int, value: str) -> Command:
    return Command(ts, (ts,), (key,), (value,))


def expect(project: Project, name: str, *rows: tuple[int, str]) -> None:
    assert multiset(project.rows(name)) == multiset(rows)


def compact(project: Project, name: str, _upper: int) -> None:
    """Rewrite the files of the log. Its rows stay."""
    project.rewrite_files(f"{name}_log")


# ------------------------------------------------------------------------------- what a run reads


@pytest.mark.long
def test_a_run_reads_only_the_commands_that_came_after_the_last_batch(project: Project) -> None:
    name = add(project)
    first = settle(project, name, put(1, 1, "a"), put(1, 2, "b"), put(2, 3, "c"))
    second = settle(project, name, put(3, 1, "d"), put(4, 4, "e"))
    third = settle(project, name, put(5, 2, "f"))

    assert [each.commands_read for each in (first, second, third)] == [3, 2, 1]
    assert [each.commands_settled for each in (first, second, third)] == [3, 5, 6]
    assert first.whole_log_reason == "no position in the log is settled yet"
    assert second.whole_log_reason is third.whole_log_reason is None
    expect(project, name, (1, "d"), (2, "f"), (3, "c"), (4, "e"))


@pytest.mark.long
def test_late_commands_are_counted_once_and_exactly(project: Project) -> None:
    name = add(project)
    settle(project, name, put(10, 1, "a"))
    project.append(name, [put(3, 2, "late"), put(4, 3, "late")])
    project.run(f"models/{name}")
    note = "late commands have no effect (option `late: drop`)"
    assert f"{name}_batch: up to date at 11; 2 {note}" in project.messages
    second = settle(project, name, put(11, 4, "b"), put(5, 5, "late"))
    assert f"{name}_batch: batch 2 [11, 12); 3 {note}" in project.messages
    third = settle(project, name, put(12, 4, "c"))

    # The run without a batch reads the late commands, and the next batch counts them.
    assert (second.late_dropped, second.commands_read) == (3, 4)
    assert (third.late_dropped, third.commands_read) == (0, 1)
    expect(project, name, (1, "a"), (4, "c"))


@pytest.mark.long
def test_commands_that_wait_are_read_again_until_they_are_settled(project: Project) -> None:
    name = add(project, input_upper="log_upper - 1")
    settle(project, name, put(1, 1, "a"), put(2, 2, "b"))
    read = [settle(project, name, put(ts, ts, f"{ts}")).commands_read for ts in range(3, 7)]

    # The last tick of the log is always open, so the next batch settles what this one has read.
    assert read == [3, 2, 2, 2]
    expect(project, name, (1, "a"), (2, "b"), (3, "3"), (4, "4"), (5, "5"))


@pytest.mark.long
def test_a_command_far_ahead_does_not_hide_the_commands_before_it(project: Project) -> None:
    name = add(project)
    settle(project, name, put(1, 1, "a"))
    settle(project, name, put(1000, 9, "far"), put(2, 2, "b"), until=3)
    settle(project, name, put(4, 4, "c"), until=5)
    settle(project, name, put(6, 6, "d"), until=7)
    expect(project, name, (1, "a"), (2, "b"), (4, "c"), (6, "d"))

    settle(project, name)
    expect(project, name, (1, "a"), (2, "b"), (4, "c"), (6, "d"), (9, "far"))


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"max_commands_per_batch": 1}])
def test_a_log_that_ends_at_the_tick_minus_one_is_settled_as_a_whole(
    project: Project, options: dict[str, int]
) -> None:
    name = add(project, **options)
    settle(project, name, put(-3, 1, "a"), put(-1, 2, "b"), until=-1)
    settle(project, name)
    settle(project, name)

    expect(project, name, (1, "a"), (2, "b"))


@pytest.mark.long
def test_a_large_log_is_settled_in_limited_batches(project: Project) -> None:
    name = add(project, max_commands_per_batch=2)
    project.append(name, [put(ts, ts, "a") for ts in range(1, 6)])
    for _ in range(4):
        project.run(f"models/{name}")
    expect(project, name, *((ts, "a") for ts in range(1, 6)))

    assert settle(project, name, put(6, 6, "b")).commands_read == 1


# ------------------------------------------------------------------------------- distrust


def overwritten(project: Project, name: str) -> None:
    project.sql(f"update {{}}.{name}_log set log_order = log_order where k = 1")


def deleted(project: Project, name: str) -> None:
    project.sql(f"delete from {{}}.{name}_log where log_ts = 1")


def roll_back(project: Project, name: str) -> None:
    """Set the log back to its first snapshot."""
    table = f"{project.name}.{name}_log"
    if project.table_format == "delta":
        # Version 0 has no rows.
        project.sql(f"restore table {table} to version as of 1")
        return
    snapshots = f"select snapshot_id from {table}.snapshots order by committed_at"
    first = project.sql(snapshots)[0][0]
    project.sql(f"call system.rollback_to_snapshot('{table}', {first})")


def rolled_back(project: Project, name: str) -> None:
    # The next run reads a snapshot that the log then forgets.
    project.append(name, [put(2, 1, "lost")])
    project.run(f"models/{name}")
    roll_back(project, name)


def expired(project: Project, name: str) -> None:
    project.append(name, [put(2, 7, "more")])
    project.append(name, [put(2, 8, "more")])
    table = f"{project.name}.{name}_log"
    project.sql(
        f"call system.expire_snapshots(table => '{table}', older_than => now(), retain_last => 1)"
    )


def made_again(project: Project, name: str) -> None:
    project.sql(
        f"create table {{}}.{name}_copy using {{format}} tblproperties ({FEED})"
        f" as select * from {{}}.{name}_log"
    )
    project.sql(f"drop table {{}}.{name}_log")
    project.sql(f"alter table {{}}.{name}_copy rename to {{}}.{name}_log")


def replaced(project: Project, name: str) -> None:
    project.sql(
        f"create or replace table {{}}.{name}_log using {{format}} tblproperties ({FEED})"
        f" as select * from {{}}.{name}_log"
    )


def with_other_code(project: Project, name: str) -> None:
    change_call(project, name, '"log_error"', '"upper(log_error)"')


def with_another_macro(project: Project, _name: str) -> None:
    """Change what an argument means. The text of the model stays as it is."""
    project.write("macros/the_order.sql", "{% macro the_order() %}log_order + 1{% endmacro %}")


GONE = "no longer has the snapshot"
ROLLED_BACK = {"iceberg": GONE, "delta": "rows of the log were overwritten"}[TABLE_FORMAT]
UNTRUSTED = {
    "overwritten": (overwritten, "rows of the log were overwritten"),
    "deleted": (deleted, "rows of the log were deleted"),
    "rolled back": (rolled_back, ROLLED_BACK),
    # A version of Delta expires after days.
    **({"expired": (expired, GONE)} if TABLE_FORMAT == "iceberg" else {}),
    "made again": (made_again, GONE),
    "replaced": (replaced, GONE),
    "other code": (with_other_code, "the code of the commands changed"),
    "another macro": (with_another_macro, "the code of the commands changed"),
}


@pytest.mark.long
@pytest.mark.parametrize("case", UNTRUSTED)
def test_a_run_reads_the_whole_log_if_it_cannot_trust_the_position(
    project: Project, case: str
) -> None:
    change, reason = UNTRUSTED[case]
    name = add(project)
    project.write("macros/the_order.sql", "{% macro the_order() %}log_order{% endmacro %}")
    change_call(project, name, '["log_order"]', "[the_order()]")
    settle(project, name, put(1, 1, "a"))
    change(project, name)
    found = settle(project, name, put(3, 2, "b"))

    assert reason in found.whole_log_reason
    assert found.commands_read == project.sql(f"select count(*) from {{}}.{name}_log")[0][0]
    assert (2, "b") in project.rows(name)
    # The batch after it reads only what is new again.
    assert settle(project, name, put(4, 3, "c")).commands_read == 1


@pytest.mark.long
@pytest.mark.parametrize("late", ["drop", "correct"])
def test_a_log_that_is_rolled_back_while_commands_wait_is_read_as_a_whole(
    project: Project, late: str
) -> None:
    name = add(project, late=late, max_commands_per_batch=2)
    settle(project, name, put(1, 1, "a"))
    settle(project, name, put(2, 2, "b"), put(3, 3, "c"), put(4, 4, "d"), put(5, 5, "e"))
    assert project.progress(name)[-1]["_upper"] == 4  # d and e wait
    roll_back(project, name)
    project.append(name, [put(2, 2, "x"), put(3, 3, "y"), put(4, 4, "d"), put(5, 5, "e")])
    project.run(f"models/{name}")

    assert ROLLED_BACK in project.progress(name)[-1]["_statistics"].whole_log_reason
    b, c = ("b", "c") if late == "drop" else ("x", "y")
    expect(project, name, (1, "a"), (2, b), (3, c), (4, "d"), (5, "e"))


@pytest.mark.long
def test_a_comparison_that_planned_more_ticks_does_not_move_the_position(project: Project) -> None:
    name = add(project, late="correct")
    settle(project, name, *(put(ts, ts, "a") for ts in (0, 9)))
    settle(project, name, *(put(ts, ts, "a") for ts in (10, 12, 14, 16, 17)), until=12)
    # This comparison is of a run that would settle all ticks. No batch follows it.
    project.run(f"{name}_corrections", compare=True)
    settle(project, name, until=15)
    settle(project, name)
    expect(project, name, *((ts, "a") for ts in (0, 9, 10, 12, 14, 16, 17)))


@pytest.mark.long
@pytest.mark.parametrize("position", ["snapshot", "arrived"])
def test_an_input_upper_beyond_the_log_settles_nothing_if_nothing_is_new(
    project: Project, position: str
) -> None:
    name = add(project, input_upper="least(log_upper, 100)")
    if position == "arrived":
        change_call(project, name, "sequence_by=", "arrived='log_ts', sequence_by=")
    settle(project, name, put(9, 1, "a"))
    settle(project, name)
    assert [row["_upper"] for row in project.progress(name)] == [10]
    settle(project, name, put(10, 1, "b"))
    expect(project, name, (1, "b"))


@pytest.mark.long
def test_an_input_upper_that_reads_the_log_sees_all_of_it(project: Project) -> None:
    """Two sources write to one log, and a tick is settled if both have passed it."""
    name = f"c{next(numbers)}"
    ends = f"select max(log_ts) + 1 as upper from {project.name}.{name}_log group by v"
    options = {"input_upper": f"(select min(upper) from ({ends}))"}
    project.add_collection(name, KEY, VALUE, options)
    settle(project, name, put(1, 1, "crm"), put(1, 2, "shop"))
    settle(project, name, put(2, 2, "shop"), put(3, 2, "shop"))
    assert [row["_upper"] for row in project.progress(name)] == [2]
    found = settle(project, name, put(2, 1, "crm"))
    assert [row["_upper"] for row in project.progress(name)] == [2, 3]
    assert (found.late_dropped, found.whole_log_reason) == (0, None)


@pytest.mark.long
def test_what_an_input_upper_promises_is_in_the_part_of_the_log_that_the_run_reads(
    project: Project,
) -> None:
    promised = f"{project.name}.promised"
    project.sql(f"create or replace table {promised} using {{format}} as select 6L as upper")
    name = add(project, input_upper=f"(select max(upper) from {promised})")
    settle(project, name, put(5, 1, "a"))
    project.append(name, [put(7, 2, "open")])

    def promise() -> None:
        project.append(name, [put(6, 1, "b")])
        project.sql(f"insert into {promised} values (7)")

    with before("promised", promise):
        run(project, name)
    assert [row["_upper"] for row in project.progress(name)] == [6, 7]
    expect(project, name, (1, "b"))
    assert settle(project, name, put(8, 1, "c")) == project.progress(name)[1]["_statistics"]


@pytest.mark.long
def test_a_column_may_have_any_name_beside_arrived(project: Project) -> None:
    name = f"c{next(numbers)}"
    project.add_collection(name, KEY, [Column("seen_arrived", "string")])
    change_call(project, name, "sequence_by=", "arrived='log_ts', sequence_by=")
    settle(project, name, put(1, 1, "a"))
    settle(project, name, put(2, 1, "b"))
    expect(project, name, (1, "b"))


@pytest.mark.long
def test_a_partial_log_may_lose_old_commands(project: Project) -> None:
    name = add(project, log="partial")
    settle(project, name, put(1, 1, "a"))
    settle(project, name, put(2, 2, "b"))
    deleted(project, name)
    found = settle(project, name, put(3, 3, "c"), put(1, 4, "late"))

    assert (found.whole_log_reason, found.commands_read, found.late_dropped) == (None, 2, 1)
    expect(project, name, (1, "a"), (2, "b"), (3, "c"))


@pytest.mark.long
@pytest.mark.parametrize("position", ["snapshot", "arrived"])
def test_a_partial_log_that_loses_commands_before_a_position_is_settled_counts_no_late_ones(
    project: Project, position: str
) -> None:
    name = add(project, log="partial", input_upper="log_upper - 1")
    if position == "arrived":
        change_call(project, name, "sequence_by=", "arrived='log_ts', sequence_by=")
    project.append(name, [put(1, key, "a") for key in (1, 2, 3)])
    settle(project, name, put(2, 1, "b"))
    project.sql(f"delete from {{}}.{name}_log where log_ts = 1")
    found = [settle(project, name, put(ts, 1, f"of {ts}")) for ts in (3, 4, 5, 6)]

    # The run that reads the whole log does not know how many came late.
    assert [each.late_dropped for each in found] == [None, 0, 0, 0]
    if position == "arrived":
        # The last one is read again, because more may arrive with its value.
        assert [each.commands_read for each in found[1:]] == [3, 3, 3]
        return
    assert [each.commands_read for each in found[1:]] == [2, 2, 2]
    assert settle(project, name, put(1, 2, "late"), put(7, 1, "c")).late_dropped == 1


@pytest.mark.long
@pytest.mark.parametrize("position", ["snapshot", "arrived"])
def test_a_late_command_is_found_if_the_log_has_lost_as_many_commands(
    project: Project, position: str
) -> None:
    options: dict[str, Any] = {"log": "partial", "late": "newest", "max_commands_per_batch": 2}
    name = add(project, **options, **({"errors": "fail"} if position == "arrived" else {}))
    if position == "arrived":
        change_call(project, name, "sequence_by=", "arrived='log_order', sequence_by=")
    settle(project, name, put(1, 1, "a1"), put(2, 2, "b2"), put(3, 3, "c3"))
    project.sql(f"delete from {{}}.{name}_log where log_ts = 1")
    newer = Command(2, (3,), (1,), ("a2",))
    for _ in range(2):
        settle(project, name, newer, put(4, 4, "d4"))
        newer = put(5, 4, "d5")
    expect(project, name, (1, "a2"), (2, "b2"), (3, "c3"), (4, "d5"))


@pytest.mark.long
def test_a_compaction_of_the_log_changes_no_position(project: Project) -> None:
    name = add(project)
    for ts in (1, 2, 3):
        settle(project, name, put(ts, ts, "a"))
    compact(project, name, 0)
    found = settle(project, name, put(4, 4, "b"))

    assert (found.whole_log_reason, found.commands_read) == (None, 1)


def test_new_columns_of_the_log_are_read_at_once(project: Project) -> None:
    name = add(project)
    settle(project, name, put(1, 1, "a"))
    project.set_column(name, Column("w", "int"))
    project.run(f"models/{name}")
    project.append(name, [Command(2, (2,), (2,), ("b", 5))])
    project.run(f"models/{name}")

    assert multiset(project.rows(name)) == multiset([(1, "a", None), (2, "b", 5)])


@pytest.mark.long
def test_a_log_of_another_format_is_read_as_a_whole(project: Project) -> None:
    name = add(project)
    project.sql(f"alter table {{}}.{name}_log rename to {{}}.{name}_old")
    project.sql(f"create view {{}}.{name}_log as select * from {{}}.{name}_old")
    for ts in (1, 2):
        project.sql(f"insert into {{}}.{name}_old values ({ts}, 1, false, null, null, {ts}, 'a')")
        project.run(f"models/{name}")
    found = project.progress(name)[-1]["_statistics"]

    assert "not an Iceberg table with rows" in found.whole_log_reason
    assert found.position is None
    expect(project, name, (1, "a"), (2, "a"))


@pytest.mark.long
@pytest.mark.parametrize(
    "relation",
    ["{log} as l", "{log} natural join {schema}.once"],
)
def test_a_relation_that_is_not_the_name_of_a_table_is_read_as_a_whole(
    project: Project, relation: str
) -> None:
    name = add(project)
    project.sql("create table {}.once using {format} as select 1 as one")
    log = f"{project.name}.{name}_log"
    changed = relation.format(log=log, schema=project.name)
    change_call(project, name, f'"{log}"', f'"{changed}"')
    settle(project, name, put(1, 1, "a"))

    assert settle(project, name, put(2, 2, "b")).commands_read == 2
    expect(project, name, (1, "a"), (2, "b"))


@pytest.mark.long
def test_with_a_subquery_in_the_sql_of_the_commands_the_whole_log_is_read(project: Project) -> None:
    name = add(project)
    change_call(project, name, '"log_ts"', '"log_ts - (select min(log_ts) from log)"')
    settle(project, name, put(5, 1, "a"))

    assert settle(project, name, put(6, 2, "b")).commands_read == 2
    expect(project, name, (1, "a"), (2, "b"))


@pytest.mark.long
def test_an_idle_run_of_an_eager_collection_stages_nothing(project: Project) -> None:
    name = add(project, eager=True)
    settle(project, name, put(1, 1, "a"), until=2)
    project.run(f"models/{name}", until=9)

    assert any("up to date at 2" in said for said in project.messages)


@pytest.mark.long
def test_with_late_fail_a_refused_command_can_be_deleted(project: Project) -> None:
    name = add(project, log="partial", late="fail")
    settle(project, name, put(5, 1, "a"))
    project.append(name, [put(1, 2, "late")])
    project.run(f"models/{name}", fails=True)
    assert "Got: 1 commands of earlier ticks, which came late" in "\n".join(project.messages)
    deleted(project, name)

    settle(project, name, put(6, 3, "b"))
    expect(project, name, (1, "a"), (3, "b"))


@pytest.mark.long
def test_with_a_window_in_the_sql_of_the_commands_the_whole_log_is_read(project: Project) -> None:
    name = add(project)
    window = "row_number() over (partition by k order by log_order)"
    change_call(project, name, '["log_order"]', f'["{window}"]')
    settle(project, name, put(1, 1, "a"))

    assert settle(project, name, put(2, 1, "b")).commands_read == 2


# ------------------------------------------------------------------------------- `arrived`

ARRIVALS = {
    "bigint": "cast({} as bigint)",
    "int": "cast({} as int)",
    "date": "date_from_unix_date({})",
    "timestamp": "timestamp_micros({} * 1000000 + 1)",
}


def add_view(project: Project, landed: str) -> str:
    """Add a collection over a view. The column `at` of its log says when a command arrived."""
    name = f"c{next(numbers)}"
    project.add_collection(name, KEY, VALUE, arrived="landed")
    project.sql(f"alter table {{}}.{name}_log rename to {{}}.{name}_rows")
    project.sql(f"alter table {{}}.{name}_rows add column at bigint")
    project.sql(
        f"create view {{}}.{name}_log as select * except (at), {landed.format('at')} as landed"
        f" from {{}}.{name}_rows"
    )
    return name


def land(project: Project, name: str, at: int | None, *commands: tuple[int, int, str]) -> Any:
    """Append commands that arrive at a time, run, and return the statistics of the last batch."""
    at_sql = "null" if at is None else str(at)
    for ts, key, value in commands:
        project.sql(
            f"insert into {{}}.{name}_rows"
            f" values ({ts}, {ts}, false, null, null, {key}, '{value}', {at_sql})"
        )
    run(project, name)
    return project.progress(name)[-1]["_statistics"]


@pytest.mark.long
@pytest.mark.parametrize("type_", ARRIVALS)
def test_with_arrived_a_run_reads_what_arrived_at_or_after_the_last_value(
    project: Project, type_: str
) -> None:
    name = add_view(project, ARRIVALS[type_])
    found = [land(project, name, 5, (1, 1, "a"), (2, 2, "b"))]
    found.append(land(project, name, 5, (3, 1, "c")))
    found.append(land(project, name, 6, (4, 3, "d"), (1, 4, "late")))
    found.append(land(project, name, 7, (5, 1, "e")))

    # Commands that arrived at the last value are read once more: others may still arrive with it.
    assert [each.commands_read for each in found] == [2, 3, 5, 3]
    assert [each.late_dropped for each in found] == [0, 0, 1, 0]
    assert [each.whole_log_reason is None for each in found] == [False, True, True, True]
    expect(project, name, (1, "e"), (2, "b"), (3, "d"))


@pytest.mark.long
def test_a_command_with_a_null_in_arrived_is_refused(project: Project) -> None:
    name = add_view(project, "at")
    land(project, name, 5, (1, 1, "a"))
    project.sql(f"insert into {{}}.{name}_rows values (2, 2, false, null, null, 2, 'b', null)")
    project.run(f"models/{name}", fails=True)

    said = "\n".join(project.messages)
    assert "argument `arrived` must be not null for every command" in said
    assert "Got: 1 commands without a value" in said
    expect(project, name, (1, "a"))


def test_arrived_of_another_type_is_refused(project: Project) -> None:
    name = add_view(project, "cast(at as string)")
    project.run(f"models/{name}", fails=True)

    assert "must be an expression of one of these types: tinyint, " in "\n".join(project.messages)


@pytest.mark.long
def test_a_rebase_refuses_a_null_in_arrived_before_it_drops_anything(project: Project) -> None:
    name = add_view(project, "at")
    land(project, name, 5, (1, 1, "a"))
    project.sql(f"insert into {{}}.{name}_rows values (2, 2, false, null, null, 2, 'b', null)")
    project.run(f"models/{name}", "--full-refresh", rebase=True, fails=True)

    said = "\n".join(project.messages)
    assert "argument `arrived` must be not null for every command" in said
    expect(project, name, (1, "a"))


@pytest.mark.long
def test_if_the_type_of_arrived_changes_the_whole_log_is_read(project: Project) -> None:
    name = add_view(project, "date_from_unix_date(at)")
    land(project, name, 20000, (1, 1, "a"))
    project.sql(
        f"create or replace view {{}}.{name}_log as"
        f" select * except (at), timestamp_micros(at) as landed from {{}}.{name}_rows"
    )
    found = land(project, name, 20001, (2, 2, "b"))

    assert found.whole_log_reason == "the code of the commands changed"
    assert found.late_dropped == 0


def test_a_log_that_lost_its_last_arrivals_is_read_as_a_whole(project: Project) -> None:
    name = add_view(project, "at")
    land(project, name, 50, (1, 1, "a"))
    project.sql(f"delete from {{}}.{name}_rows")
    found = land(project, name, 3, (2, 2, "b"))

    assert "no longer has a command with the last value of `arrived`" in found.whole_log_reason
    expect(project, name, (1, "a"), (2, "b"))


@pytest.mark.long
def test_a_log_can_get_and_lose_the_argument_arrived(project: Project) -> None:
    name = add(project)
    settle(project, name, put(1, 1, "a"))
    change_call(project, name, "sequence_by=", "arrived='log_ts', sequence_by=")
    changed = settle(project, name, put(2, 2, "b"))
    same = settle(project, name, put(3, 3, "c"))
    change_call(project, name, "arrived='log_ts', ", "")
    back = settle(project, name, put(4, 4, "d"))

    assert changed.whole_log_reason == back.whole_log_reason == "the code of the commands changed"
    assert (same.whole_log_reason, same.commands_read) == (None, 2)
    expect(project, name, (1, "a"), (2, "b"), (3, "c"), (4, "d"))


# ------------------------------------------------------------------------------- at the same moment


@pytest.mark.long
@pytest.mark.parametrize(
    "statement", ["temporary view.*log_part", "log_upper", "create or replace table"]
)
def test_commands_that_arrive_during_a_run_wait_for_the_next_one(
    project: Project, statement: str
) -> None:
    name = add(project)
    settle(project, name, put(1, 1, "a"))
    project.append(name, [put(2, 2, "b")])
    with before(statement, lambda: project.append(name, [put(2, 3, "late"), put(3, 4, "c")])):
        project.run(*(f"{name}_{role}" for role in ("batch", "changelog", "state")))
    found = settle(project, name, put(4, 5, "d"))

    # Its tick was settled by the run that it arrived in: it is late, and counted once.
    assert (found.late_dropped, found.commands_read) == (1, 3)
    expect(project, name, (1, "a"), (2, "b"), (4, "c"), (5, "d"))


@pytest.mark.long
def test_with_arrived_the_log_may_grow_between_two_reads_of_a_statement(
    project: Project, tmp_path: Path
) -> None:
    name, reads = add_view(project, "at"), tmp_path / "reads"
    with sent("log_upper") as found:
        land(project, name, 5, (1, 1, "a"))

    class Reader(DataSourceReader):
        def read(self, partition: InputPartition) -> Iterator[tuple[int, int, str]]:  # noqa: ARG002
            """Give the commands 0, 1, 2 and so on, and one more with each read."""
            with reads.open("a") as file:
                file.write(".")
            return ((ts, ts // 3, "upsert") for ts in range(8 + reads.stat().st_size))

    class Growing(DataSource):
        @classmethod
        def name(cls) -> str:
            return "growing"

        def schema(self) -> str:
            return "_ts bigint, _arrived bigint, _op string"

        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
            return Reader()

    project.spark.dataSource.register(Growing)
    project.spark.read.format("growing").load().createOrReplaceTempView("growing")
    measure = re.sub(rf"[\w.`]+{name}_commands`?", "growing", found[0])
    places = [project.sql(measure)[0] for _ in range(6)]
    for place in places:
        assert place.commands_read > 8
        before_last = place.commands_read - place.commands_arrived_last
        # If nothing is known of the last arrivals, the batch keeps no position.
        assert place.last_arrived in (None, before_last / 3)
    assert any(place.last_arrived is not None for place in places)


# ------------------------------------------------------------------------------- the random test

BEFORE_APPLY = ("commands", "corrections", "batch", "changelog")


def nothing(_project: Project, _name: str, _upper: int) -> None:
    """Change nothing."""


def overwrite(project: Project, name: str, upper: int) -> None:
    project.sql(f"update {{}}.{name}_log set log_order = log_order where log_ts < {upper}")


def retain(project: Project, name: str, upper: int) -> None:
    project.sql(f"delete from {{}}.{name}_log where log_ts < {upper}")


CHANGES = [nothing, nothing, overwrite, retain, compact]


class Round(NamedTuple):
    """Commands that arrive, what happens to the log before, and whether a run is killed."""

    step: Step
    change: Callable[[Project, str, int], None]
    is_killed: bool


@st.composite
def rounds(draw: st.DrawFn) -> list[Round]:
    """A log in parts."""
    log = draw(strategies.logs(1, min_size=strategies.LEAST, max_size=60))
    steps = draw(strategies.late_splits(log))
    return [Round(step, draw(st.sampled_from(CHANGES)), draw(st.booleans())) for step in steps]


def events(script: list[Round]) -> tuple[int, int]:
    """Scores a script: how many kinds of events it has, and how many commands are late.

    The kinds are a third arrival, a late command, a killed run with new commands, an overwritten
    log that is not empty, and one that has lost commands.
    """
    oracle, arrived = Collection(), list[Command]()
    changed = set()
    for step, change, _ in script:
        if oracle.upper:
            changed.add(change)
        arrived += step.commands
        oracle.run(arrived, step.until, step.max_commands)
    late = oracle.counters["late_dropped"]
    kinds = (
        sum(bool(each.step.commands) for each in script) >= 3,
        late > 0,
        any(each.is_killed and each.step.commands for each in script[1:]),
        overwrite in changed,
        retain in changed,
    )
    return sum(kinds), late


@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_no_command_is_lost_or_counted_twice_between_two_positions(
    project: Project, seed: int
) -> None:
    script = strategies.choose(rounds(), seed, events)
    assert seed or events(script) >= (4, 1)
    name, oracle = f"c{next(numbers)}", Collection()
    key = [Column(*column) for column in strategies.KEY_COLUMNS[1]]
    project.add_collection(name, key, [Column(*column) for column in strategies.VALUE_COLUMNS])
    arrived: list[Command] = []
    for step, change, is_killed in script:
        options = {"max_commands_per_batch": step.max_commands} if step.max_commands else {}
        meta = {"trueup": {"log": "partial", **options}}
        project.configure(**{name: {"+unique_key": [column.name for column in key], "+meta": meta}})
        change(project, name, oracle.upper)
        arrived += step.commands
        project.append(name, step.commands)
        if is_killed:
            # The run is killed before it applies its batch.
            project.run(*(f"{name}_{role}" for role in BEFORE_APPLY), until=step.until)
            oracle.run(arrived, step.until, step.max_commands)
        project.run(f"models/{name}", until=step.until)
        oracle.run(arrived, step.until, step.max_commands)
        assert multiset(project.rows(name)) == multiset(oracle.rows)
        assert multiset(project.errors(name)) == multiset(oracle.errors)
    updates = project.updates(name)
    check_updates(updates, oracle.changelog)
    batches = [row["_statistics"] for row in project.progress(name)]
    changes = {each.change for each in script}
    if overwrite not in changes or retain not in changes:
        assert sum(each.late_dropped for each in batches) == oracle.counters["late_dropped"]
