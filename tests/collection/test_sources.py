"""Sources that restart, send snapshots, have clocks that lie, or a log without snapshots."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only

LOG = "k string, ord bigint, op string, v string, snap string, last boolean, at timestamp"


class Log:
    """A log, and the collection `c` over it."""

    def __init__(self, project: Project, *, source: str = "iceberg", **given: Any) -> None:
        """Create the log and write the model: `given` has arguments and `options`."""
        self.project = project
        self.store = Store(project, "c", ["k"], ["v"])
        project.sql(f"create table {{}}.log ({LOG}) using {source}")
        self.write(**given)

    def write(
        self, *, order: str = "ord", options: dict[str, Any] | None = None, more: str = ""
    ) -> None:
        """Write the model."""
        call = f"""trueup.commands(
            relation='{self.project.name}.log', sequence_by=['{order}'], columns=['v'],
            delete_when="op = 'D'"{more}
        )"""
        self.project.write_model("c", f"{{{{ {call} }}}}", ["k"], options or {})

    def run(self, *rows: str, **variables: Any) -> str:
        """Append rows, each the items of `values`. Return what the run says."""
        if rows:
            self.project.sql("insert into {}.log values " + ", ".join(f"({row})" for row in rows))
        self.project.run("c", fails=None, **variables)
        (message,) = self.project.messages
        return message.removeprefix("c: ")

    @property
    def rows(self) -> dict[str, str]:
        """The values by key."""
        return {key: value for (key,), (value,) in self.store.rows().items()}


def put(
    key: str, order: int, value: str, *, snapshot: str | None = None, last: bool = False
) -> str:
    snap = "null" if snapshot is None else f"'{snapshot}'"
    return f"'{key}', {order}, 'U', '{value}', {snap}, {str(last).lower()}, null"


def test_a_complete_snapshot_deletes_what_it_does_not_have(own_project: OwnProject) -> None:
    given = ", snapshot={'id': 'snap', 'start': ['20'], 'end': 'last'}"
    log = Log(own_project("complete"), more=given)
    log.run(put("a", 10, "a10"), put("gone", 11, "g11"), put("c", 30, "c30"), put("d", 9, "d9"))
    # The rows of the snapshot arrive in two runs. Until its end was read, nothing is deleted.
    log.run(put("a", 1, "a20", snapshot="s"), put("c", 2, "c20", snapshot="s"))
    assert log.rows == {"a": "a20", "gone": "g11", "c": "c30", "d": "d9"}
    log.run(put("d", 3, "d20", snapshot="s", last=True))
    assert log.rows == {"a": "a20", "c": "c30", "d": "d20"}
    # A change that was made before the snapshot began does not bring the row back.
    log.run(put("gone", 12, "g12"))
    assert "gone" not in log.rows
    test: dict[str, Any] = {"log": f"{log.project.name}.log", "key": ["k"], "columns": ["v"]}
    test |= {"sequence_by": ["ord"], "delete_when": "op = 'D'"}
    test |= {"snapshot": {"id": "snap", "start": ["20"], "end": "last"}}
    tests = [{"trueup.agrees_with_log": {"arguments": test}}]
    models = {"version": 2, "models": [{"name": "c", "data_tests": tests}]}
    log.project.write("models/c.yml", json.dumps(models))
    log.project.run("c", command="test")
    log.store.check_laws()


def begin_again(log: Log) -> str:
    """Write four rows. Then the source begins with small orders, and changes three of them."""
    log.run(*(put(key, 100 + place, f"{key}1") for place, key in enumerate("abcd")))
    return log.run(put("a", 1, "a2"), put("b", 2, "b2"), put("c", 3, "c2"))


def test_orders_that_begin_again_are_said_loudly_until_somebody_decides(
    own_project: OwnProject,
) -> None:
    log = Log(own_project("again"))
    message = begin_again(log)
    assert "; WARNING: 3 of 3 keys got commands that are older than their rows" in message
    assert log.rows == {"a": "a1", "b": "b1", "c": "c1", "d": "d1"}
    log.run(put("d", 200, "d2"))
    assert log.store.batches()[-1]["doubt"]["seq"] == 2
    # The table has the newest commands of its log. The test fails all the same.
    add_agrees_with_log(log.project)
    log.project.run("c", command="test", fails=True)
    assert "Got 1 result" in log.project.messages[0]
    log.run(approve="orders")
    assert log.store.batches()[-1]["doubt"] is None
    log.project.run("c", command="test")
    assert log.run(approve="orders") == "up to date at batch 4"


def add_agrees_with_log(project: Project) -> None:
    """Write the test of the collection against its log."""
    arguments = (
        "{log: '%s.log', key: [k], sequence_by: [ord], columns: [v], delete_when: \"op = 'D'\"}"
    )
    project.write(
        "models/c.yml",
        "models:\n  - name: c\n    data_tests:\n      - trueup.agrees_with_log:\n"
        "          arguments: " + arguments % project.name,
    )


@pytest.mark.long
def test_order_epoch_compares_before_the_order(own_project: OwnProject) -> None:
    log = Log(own_project("epoch"))
    begin_again(log)
    # The batch in doubt was read with the wrong epoch: it is read again.
    log.write(options={"order_epoch": 1})
    log.run()
    expected = {"a": "a2", "b": "b2", "c": "c2", "d": "d1"}
    assert log.rows == expected
    assert log.store.batches()[-1]["doubt"] is None
    assert log.run() == "up to date at batch 3"
    add_agrees_with_log(log.project)
    log.project.run("c", command="test")
    # Another model text reads the whole log, and each part of it with its epoch.
    log.write(options={"order_epoch": 1}, more=", skip_when='false'")
    log.run(put("a", 4, "a3"))
    assert log.rows == expected | {"a": "a3"}
    log.project.write("models/c_corrections.sql", "{{ trueup.corrections('c') }}")
    log.project.run("c_corrections", fails=True)
    assert "a collection whose orders have not begun again" in log.project.messages[0]
    log.write(options={"order_epoch": 0})
    assert "Option `order_epoch`" in log.run()
    # Each epoch is a part of the log.
    log.write(options={"order_epoch": 2})
    log.run(put("b", 1, "b3"), put("d", 2, "d3"))
    log.write(options={"order_epoch": 2}, more=", skip_when='false'")
    log.run()
    assert log.rows == {"a": "a3", "b": "b3", "c": "c2", "d": "d3"}
    log.project.run("c", command="test")
    log.write(options={"order_epoch": 3})
    assert "raised twice at most" in log.run()
    log.store.check_laws()


@pytest.mark.long
def test_a_replay_and_one_late_command_are_not_doubted(own_project: OwnProject) -> None:
    log = Log(own_project("replay"))
    first = [put(key, 100 + place, f"{key}1") for place, key in enumerate("abcd")]
    log.run(*first)
    log.run(*(put(key, 200 + place, f"{key}2") for place, key in enumerate("abcd")))
    assert "WARNING" not in log.run(*first)
    assert "WARNING" not in log.run(put("a", 150, "late"))
    # Newer commands of their own batch have replaced these, so the history does not know them.
    replaced = [put(key, 300, f"{key}3") for key in "ab"]
    log.run(*replaced, *(put(key, 301, f"{key}4") for key in "ab"))
    assert "WARNING" not in log.run(*replaced)
    assert "WARNING: 2 of 2 keys" in log.run(*(put(key, 300, "new") for key in "ab"))


@pytest.mark.long
def test_a_select_or_a_window_in_an_argument_makes_each_run_read_the_whole_log(
    own_project: OwnProject,
) -> None:
    project = own_project("depends")
    project.sql("create table {}.hidden using iceberg as select 'a' as k")
    more = f", skip_when='k in (select hidden.k from {project.name}.hidden)'"
    log = Log(project, more=more)
    log.run(put("a", 1, "a1"), put("b", 1, "b1"))
    assert log.rows == {"b": "b1"}
    project.sql("delete from {}.hidden")
    log.run(put("c", 1, "c1"))
    assert log.rows == {"a": "a1", "b": "b1", "c": "c1"}
    window = Log(own_project("depends_too"), order="ord + 0 * count(*) over ()")
    window.run(put("a", 1, "a1"))
    window.run(put("b", 1, "b1"))
    assert window.store.batches()[-1]["statistics"]["messages_received"] == 2


def test_an_order_far_ahead_of_the_clock_is_said(own_project: OwnProject) -> None:
    log = Log(own_project("ahead"), order="at")
    row = "'{}', 0, 'U', '{}', null, false, timestamp'{}'"
    message = log.run(row.format("a", "a", "9999-12-31"), row.format("b", "b", "2026-01-01"))
    assert "WARNING: 1 key has an order more than a day ahead of the clock" in message
    log.run(row.format("a", "a2", "2026-02-01"), row.format("b", "b2", "2026-02-01"))
    assert log.rows == {"a": "a", "b": "b2"}


def test_a_log_without_snapshots_is_idle_if_it_is_the_same(own_project: OwnProject) -> None:
    log = Log(own_project("parquet"), source="parquet")
    log.run(put("a", 1, "a1"))
    assert log.run() == "up to date at batch 1"
    assert log.run(put("a", 2, "a2")).startswith("batch 2")
    assert log.run() == "up to date at batch 2"
    assert log.rows == {"a": "a2"}


def delete(key: str, order: int) -> str:
    return f"'{key}', {order}, 'D', null, null, false, null"


@pytest.mark.long
def test_tombstones_are_forgotten_after_their_age(own_project: OwnProject) -> None:
    kept = Log(own_project("kept"))
    kept.run(put("a", 10, "a10"), delete("a", 11))
    kept.run(put("b", 12, "b12"))
    kept.run(put("a", 5, "a5"))
    assert kept.rows == {"b": "b12"}

    log = Log(own_project("forgotten"), options={"tombstones": 1})
    log.run(put("a", 10, "a10"), delete("a", 11))
    assert log.run(put("b", 12, "b12")).endswith("; 1 tombstones forgotten")
    assert log.store.stored("_kind = 'tombstone'") == []
    # Nobody can know now whether the key was deleted. The line says so.
    message = log.run(put("a", 5, "a5"), put("c", 13, "c13"))
    assert "WARNING: 1 new key has an order below that of forgotten tombstones" in message
    assert log.rows == {"a": "a5", "b": "b12", "c": "c13"}
    log.store.check_laws()
    log.write(options={"tombstones": "30 days", "verify": "always"})
    assert log.run().startswith("up to date")
    log.write(options={"tombstones": "soon"})
    assert "Option `tombstones`" in log.run()
