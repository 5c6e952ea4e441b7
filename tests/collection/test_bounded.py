"""The option `max_commands`: a run reads a big log in several batches, with the same result."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from tests import newest_logs, strategies
from tests.acceptance import Column
from tests.between import sent_through
from tests.collection.test_random_orders import (
    PARTIAL,
    VALUE,
    WHOLE,
    Script,
    Ticks,
    add_log,
    append,
    check_history,
    compare,
    variety,
    write_model,
)
from tests.monitoring.shop import add_monitoring, row
from tests.monitoring.test_monitoring import MODELS
from tests.newest_oracle import Command, Newest
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.newest_logs import Kinds
    from tests.project import Project

    OwnProject = Callable[[str], Project]

COMMIT = "/* trueup: commit */"


def kill() -> None:
    message = "killed"
    raise RuntimeError(message)


@contextmanager
def at_commit(number: int, act: Callable[[], None] = kill) -> Iterator[None]:
    """Act before a run sends its commit with this number. By default the run is killed."""
    commits = 0

    def send(execute: Callable[[str], None], sql: str) -> None:
        nonlocal commits
        commits += COMMIT in sql
        if COMMIT in sql and commits == number:
            act()
        execute(sql)

    with sent_through(send):
        yield


@st.composite
def big_logs(draw: st.DrawFn, kinds: Kinds) -> Script:
    """A script with one big first run, and more runs."""
    log = draw(newest_logs.logs(1, kinds, min_size=40, max_size=60))
    return Script(1, "error", [log, *draw(newest_logs.splits(log))[:2]])


def shows(project: Project, view: str) -> bool:
    return bool(project.sql(f"show views in {{}} like '{view}'"))


def received(batches: list[dict[str, Any]]) -> int:
    """How many commands some batches have read."""
    return sum(batch["statistics"]["messages_received"] for batch in batches if batch["seq"])


@pytest.mark.long
@pytest.mark.parametrize("is_partial", [False, True])
def test_slices_of_keys_give_the_rows_of_one_batch(
    own_project: OwnProject, *, is_partial: bool
) -> None:
    project = own_project("slices")
    script = strategies.choose(big_logs(PARTIAL if is_partial else WHOLE), 3, variety)
    first, *others = script.runs
    add_log(project, script.width)
    write_model(project, script, is_partial=is_partial, has_ticks=False, max_commands=12)
    write_model(project, script, is_partial=is_partial, has_ticks=False, name="whole")
    key = [name for name, _ in strategies.KEY_COLUMNS[script.width]]
    store, whole = Store(project, "c", key, VALUE), Store(project, "whole", key, VALUE)
    append(project, script.width, first)
    n = -(-len(first) // 12)
    # A kill leaves whole slices, and the view appears after the last one.
    with at_commit(3):
        project.run("c", fails=True)
    assert [batch.get("slices", {}).get("done") for batch in store.batches()] == [None, 1, 2]
    assert store.batches()[-1]["slices"]["n"] == n
    assert store.batches()[-1]["position"] is None
    assert not shows(project, "c")
    assert f"2 of {n} are done" in "\n".join(project.operate("doctor", collection="c"))
    add_monitoring(project)
    project.run(*MODELS)
    assert row(project, "trueup_statistics")["snapshot_committed"] is False
    # The next run goes on, at the snapshot of the log where the first one has begun.
    append(project, script.width, others[0])
    project.run("c")
    assert project.messages[0].startswith("c: batches 3 to ")
    assert store.batches()[n]["slices"] is None
    assert received(store.batches()[1 : n + 1]) == len(first)
    assert received(store.batches()[n + 1 :]) == len(others[0])
    newest = Newest(ties=script.ties)
    newest.run(first)
    newest.run(others[0])
    compare(store, newest)
    for run in others[1:]:
        append(project, script.width, run)
        newest.run(run)
    project.run("c")
    compare(store, newest)
    store.check_laws()
    # The same log in one batch leaves the same rows.
    project.run("whole")
    assert len(whole.batches()) == 2
    assert whole.rows() == store.rows()
    project.run("c")
    assert project.messages[0].startswith("c: up to date")


class Log:
    """A log of one key and one value, and the collection `c` over it."""

    def __init__(self, project: Project, **options: Any) -> None:
        """Create the log and write the model."""
        self.project = project
        project.add_collection(
            "c", [Column("k", "int")], [Column("v", "string")], options, extra=["truncate_when"]
        )
        self.store = project.store("c")

    def append(self, order: int, keys: range, value: str | None) -> None:
        """Append one upsert for each key, or one delete, in one commit."""
        given = None if value is None else (value,)
        self.project.append("c", [Command((order, key), (key,), given) for key in keys])

    def rows(self) -> dict[Any, Any]:
        """The value of each key."""
        return {row[0]: row[1] for row in self.project.rows("c")}


@pytest.mark.long
@pytest.mark.iceberg_only
def test_slices_begin_again_if_their_snapshot_has_expired(own_project: OwnProject) -> None:
    project = own_project("expired_pin")
    log = Log(project, max_commands=10)
    log.append(1, range(30), "one")
    with at_commit(3):
        project.run("c", fails=True)
    log.append(2, range(5), "two")
    log.append(3, range(5, 8), None)
    expire = "older_than => now(), retain_last => 1"
    project.sql(f"call lake.system.expire_snapshots(table => '{{}}.c_log', {expire})")
    project.run("c")
    assert [batch["slices"]["done"] for batch in log.store.batches()[1:-1]] == [1, 2, 1, 2, 3]
    assert log.rows() == {key: "two" if key < 5 else "one" for key in {*range(30)} - {5, 6, 7}}
    log.store.check_laws()
    project.run("c")
    assert project.messages == ["c: up to date at batch 6"]


@pytest.mark.long
def test_changed_code_reads_the_log_again_in_slices(own_project: OwnProject) -> None:
    project = own_project("again_in_slices")
    log = Log(project)
    log.append(1, range(30), "one")
    project.run("c")
    project.set_options("c", max_commands=10)
    project.set_arguments("c", delete_when="log_delete or k < 15")
    with at_commit(3):
        project.run("c", fails=True)
    assert len(log.store.batches()) == 4
    log.append(2, range(20, 22), "two")
    project.run("c")
    assert project.messages[0].startswith("c: batches 4 to 5: ")
    assert log.rows() == {key: "two" if key in (20, 21) else "one" for key in range(15, 30)}
    updates = log.store.stored("_kind = 'update' and _seq between 2 and 4")
    assert {row["k"] for row in updates} == {*range(15)}
    assert {row["_cause"] for row in updates} == {"code_change"}
    log.store.check_laws()


@pytest.mark.long
def test_a_batch_ends_at_a_snapshot_of_the_log(own_project: OwnProject) -> None:
    project = own_project("by_snapshots")
    log = Log(project, max_commands=4)
    log.append(1, range(4), "one")
    project.run("c")
    for order in range(2, 7):
        log.append(order, range(2), f"{order}")
    project.rewrite_files("c_log")
    log.append(7, range(9), "seven")
    log.append(8, range(1), "eight")
    with at_commit(2):
        project.run("c", fails=True)
    assert log.rows() == {0: "3", 1: "3", 2: "one", 3: "one"}
    project.run("c")
    assert project.messages[0].startswith("c: batches 3 to 6: 16 commands, 5 inserted")
    assert [received([batch]) for batch in log.store.batches()] == [0, 4, 4, 4, 2, 9, 1]
    assert log.rows() == {key: "seven" if key else "eight" for key in range(9)}
    log.store.check_laws()
    project.run("c")
    assert project.messages == ["c: up to date at batch 6"]
    # A run ends where it has looked first, so a log that grows faster cannot keep it for ever.
    log.append(9, range(3), "nine")
    log.append(10, range(3), "ten")
    with at_commit(1, lambda: log.append(11, range(3), "eleven")):
        project.run("c")
    assert project.messages == ["c: batches 7 to 8: 6 commands, 6 updated"]
    project.run("c")
    assert project.messages == ["c: batch 9: 3 commands, 3 updated"]
    project.set_options("c", max_commands=0)
    project.run("c", fails=True)
    assert "a positive integer" in project.messages[0]


@pytest.mark.long
def test_max_retractions_counts_all_batches_of_a_run(own_project: OwnProject) -> None:
    project = own_project("counted_over_the_run")
    log = Log(project)
    log.append(1, range(10), "one")
    project.run("c")
    project.set_options("c", max_commands=2, max_retractions=0.5)
    for order in range(2, 5):
        log.append(order, range(2), f"{order}")
    project.run("c", fails=True)
    assert "Got: 6 of 10 rows" in project.messages[0]
    assert len(log.store.batches()) == 4
    # The next run counts from its own beginning.
    project.run("c")
    assert log.rows() == {key: "4" if key < 2 else "one" for key in range(10)}
    # An approved plan is that of the first batch. The limit holds for the rest of the run.
    log.append(5, range(6), "five")
    log.append(6, range(4), "six")
    log.append(7, range(2), "seven")
    project.run("c", fails=True)
    project.run("c", fails=True, approve=project.printed_plan)
    assert "Got: 6 of 10 rows" in project.messages[0]
    assert log.rows()[3] == "six"
    project.run("c")
    assert log.rows()[0] == "seven"
    log.store.check_laws()


@pytest.mark.long
def test_a_batch_of_a_log_with_ticks_ends_at_a_tick(own_project: OwnProject) -> None:
    project = own_project("by_ticks")
    script = strategies.choose(big_logs(WHOLE._replace(null_orders=False)), 5, variety)
    add_log(project, script.width)
    write_model(project, script, is_partial=False, has_ticks=True, max_commands=15)
    key = [name for name, _ in strategies.KEY_COLUMNS[script.width]]
    store, newest, ticks = Store(project, "c", key, VALUE), Newest(ties="error"), Ticks("error")
    first, *others = script.runs
    append(project, script.width, first)
    with at_commit(2):
        project.run("c", fails=True)
    assert 15 <= received(store.batches()) < len(first)
    assert not shows(project, "c")
    project.run("c")
    for run in others:
        append(project, script.width, run)
        project.run("c")
    for run in script.runs:
        newest.run(run)
        ticks.run(run)
    compare(store, newest)
    check_history(store, ticks)
    assert len(store.batches()) > len(script.runs) + 1
    assert received(store.batches()) == sum(map(len, script.runs))
    store.check_laws()
    project.run("c")
    assert project.messages[0].startswith("c: up to date")
