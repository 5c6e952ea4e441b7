"""Logs of messages and of full extracts through whole runs: snapshots, places, deliveries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.prove.test_prove import prove
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only


def change(  # noqa: PLR0913, PLR0917
    op: str,
    key: int,
    lsn: int,
    status: str = "",
    snapshot: str = "false",
    before: int | None = None,
) -> str:
    """A message of Debezium for PostgreSQL. `before` is the place of the commit before it."""
    after = None if op == "d" else {"id": key, "status": status}
    source = {"lsn": lsn, "snapshot": snapshot, "sequence": json.dumps([before, str(lsn)])}
    return json.dumps({"op": op, "before": None, "after": after, "source": source})


class Topic:
    """A topic of Debezium in two partitions, and the collection `c` over it."""

    def __init__(self, project: Project) -> None:
        """Create the log and write the model."""
        self.project, self.next = project, [0, 0]
        self.store = Store(project, "c", ["id"], ["status"])
        columns = "key string, value string, part int, off bigint"
        project.sql(f"create table {{}}.log ({columns}) using iceberg")
        call = f"""trueup.debezium(
            relation='{project.name}.log', schema={{'id': 'bigint', 'status': 'string'}},
            snapshot=true, reclock=["'orders'", 'part', 'off']
        )"""
        project.write_model("c", f"{{{{ {call} }}}}", ["id"], {})

    def run(self, *messages: tuple[Any, ...]) -> dict[int, str]:
        """Append messages, with the key beside each, and run. Return the rows."""
        rows = []
        for op, key, *others in messages:
            part = key % 2
            rows.append((f'{{"id": {key}}}', change(op, key, *others), part, self.next[part]))
            self.next[part] += 1
        self.project.insert("log", rows)
        self.project.run("c")
        return {key: status for (key,), (status,) in self.store.rows().items()}


@pytest.mark.long
def test_a_collection_of_debezium_is_compared_with_its_log(own_project: OwnProject) -> None:
    """One topic has the changes of several tables, and a header has the old key."""
    project = own_project("debezium_compared")
    log, schema = f"{project.name}.log", {"id": "bigint", "status": "string"}
    columns = "key string, value string, before string"
    project.sql(f"create table {{}}.log ({columns}) using iceberg")
    given = {"schema": schema, "table": "public.c", "old_key": "before", "snapshot": True}
    words = ", ".join(f"{name}={one!r}" for name, one in given.items()).replace("True", "true")
    project.write_model("c", f"{{{{ trueup.debezium('{log}', {words}) }}}}", ["id"], {})
    arguments = {
        "log": log,
        "key": ["id"],
        "columns": ["status"],
        "messages": {"macro": "debezium", **given},
    }
    models = [{"name": "c", "data_tests": [{"trueup.agrees_with_log": {"arguments": arguments}}]}]
    project.write("models/c.yml", json.dumps({"version": 2, "models": models}))

    def say(op: str, key: int, lsn: int, table: str = "c", old: int | None = None) -> None:
        value = json.loads(change(op, key, lsn, f"{op} {lsn}"))
        value["source"] |= {"schema": "public", "table": table}
        before = None if old is None else f'{{"id": {old}}}'
        project.insert("log", [(f'{{"id": {key}}}', json.dumps(value), before)])

    say("c", 1, 10)
    say("c", 2, 20)
    say("c", 2, 30, table="d")
    project.run("c", command="build")
    say("u", 3, 40, old=1)
    say("d", 2, 50)
    project.run("c", command="build")
    assert [tuple(row) for row in project.sql("select * from {}.c")] == [(3, "u 40")]


@pytest.mark.long
def test_a_snapshot_of_debezium_deletes_the_keys_that_it_does_not_have(
    own_project: OwnProject,
) -> None:
    """The replication slot was made anew. What was deleted before that is in no message."""
    topic = Topic(own_project("slot"))
    known = [("c", key, 100 + key, "new") for key in (1, 2, 3)]
    # The first rows of the snapshot. It is not at its end, so nothing is deleted.
    rows = topic.run(*known, ("r", 1, 500, "paid", "first"))
    assert rows == {1: "paid", 2: "new", 3: "new"}
    # Its end. The row with the key 3 was changed after the snapshot began. A change of before that
    # comes late and brings no row back. An incremental snapshot deletes nothing.
    rows = topic.run(
        ("r", 3, 500, "new", "last_in_data_collection"),
        ("u", 3, 600, "sent"),
        ("u", 2, 300, "late"),
        ("r", 5, 700, "added", "incremental"),
    )
    assert rows == {1: "paid", 3: "sent", 5: "added"}
    rows = topic.run(("u", 2, 400, "late"), ("u", 5, 650, "late"), ("c", 4, 800, "again"))
    assert rows == {1: "paid", 3: "sent", 4: "again", 5: "added"}
    topic.store.check_laws()
    # `reclock` of an envelope: the next offset of each partition.
    places = topic.store.batches()[-1]["places"]
    assert {(one["topic"], one["partition"]): one["next"] for one in places} == {
        ("orders", str(part)): topic.next[part] for part in (0, 1)
    }


@pytest.mark.parametrize(
    "more", [0, pytest.param(1, marks=pytest.mark.long)], ids=["one row", "two rows"]
)
def test_a_change_after_a_snapshot_of_one_row_is_its_end(
    own_project: OwnProject, more: int
) -> None:
    """Debezium marks the row of the first table as `first`, and no row of it as the last one."""
    project = own_project(f"lone_{more}")
    topic = Topic(project)
    given = {"schema": {"id": "bigint", "status": "string"}, "snapshot": True}
    arguments = {
        "log": f"{project.name}.log",
        "key": ["id"],
        "columns": ["status"],
        "messages": {"macro": "debezium", **given},
    }
    models = [{"name": "c", "data_tests": [{"trueup.agrees_with_log": {"arguments": arguments}}]}]
    project.write("models/c.yml", json.dumps({"version": 2, "models": models}))
    # A change of before the snapshot says nothing of it.
    snapshot = [("r", 1, 500, "read", "first"), ("r", 2, 500, "read", "true")][: 1 + more]
    before = [("c", 2, 100, "new"), ("c", 3, 100, "new"), ("u", 4, 400, "late")]
    held = topic.run(*before, *snapshot)
    assert held.keys() == {1, 2, 3, 4}
    # The run repairs the table first. This keeps that a snapshot has begun.
    project.sql("update {}.c__trueup set status = 'bad' where _kind = 'row'")
    rows = topic.run(("c", 5, 600, "new"))
    # A snapshot of two rows has a last one, which may not have come yet.
    assert rows == ({1: "read", 5: "new"} if not more else held | {5: "new"})
    project.run("c", command="test")
    topic.store.check_laws()


@pytest.mark.long
def test_the_whole_log_has_the_same_snapshots_of_one_row(own_project: OwnProject) -> None:
    topic = Topic(own_project("lone"))
    topic.run(("c", 2, 100, "new"), ("c", 3, 100, "new"), ("u", 2, 600, "paid"))
    # The other partition was not read so far.
    assert topic.run(("r", 1, 500, "read", "first")) == {1: "read", 2: "paid"}
    topic.run(("c", 4, 700, "new"), ("r", 3, 900, "read", "first"))
    # The change at 1000 is after the snapshot at 900, but not after that at 1100.
    assert topic.run(("d", 2, 1000), ("r", 5, 1100, "read", "first")) == {3: "read", 5: "read"}
    # After a blocking snapshot of PostgreSQL, changes come even if it was not complete.
    rows = topic.run(("r", 6, 1300, "read", "first", 1200), ("c", 7, 1400, "new"))
    assert rows == {5: "read", 6: "read", 7: "new"}
    assert prove(topic.project, "c")["differences"] == []
    topic.project.run("c", "--full-refresh")
    assert {key: status for (key,), (status,) in topic.store.rows().items()} == rows


def test_messages_are_compared_with_their_log(own_project: OwnProject) -> None:
    project = own_project("compared")
    log = f"{project.name}.log"
    project.sql("create table {}.log (value string) using iceberg")

    def say(kind: str, place: int, **row: Any) -> str:
        position = f"binlog.01:{place}"
        text = json.dumps({"type": kind, "position": position, "xoffset": 0, "data": row})
        return f"('{text}')"

    messages = [
        say("insert", 1, id=1, status="new"),
        say("insert", 2, id=2, status="new"),
        say("delete", 4, id=2, status="new"),
        say("update", 3, id=1, status="paid"),
    ]
    project.sql(f"insert into {{}}.log values {', '.join(messages)}")
    schema = {"id": "bigint", "status": "string"}
    project.write_model("c", f"{{{{ trueup.maxwell('{log}', {schema}) }}}}", ["id"], {})
    given = {"macro": "maxwell", "schema": schema}
    arguments = {"log": log, "key": ["id"], "columns": ["status"], "messages": given}
    test = {"trueup.agrees_with_log": {"arguments": arguments}}
    models = [{"name": "c", "data_tests": [test]}]
    project.write("models/c.yml", json.dumps({"version": 2, "models": models}))
    project.run("c", command="build")
    project.sql("update {}.c__trueup set status = 'new' where _kind = 'row'")
    project.run("c", command="test", fails=True)
    assert "Got 2 results" in project.messages[0]


@pytest.mark.long
def test_a_second_delivery_replaces_the_first_and_an_empty_extract_deletes_all(
    own_project: OwnProject,
) -> None:
    project = own_project("extracts")
    project.sql("create table {}.log (day date, load int, id int, v string) using iceberg")
    project.sql("create table {}.loads (day date, load int) using iceberg")
    extracts = f"""trueup.snapshot_commands(
        relation='{project.name}.log', unique_key=['id'], ts='struct(day, load)',
        extracts='{project.name}.loads'
    )"""
    call = f"""trueup.commands(
        relation={extracts}, sequence_by=['snapshot_ts', 'not is_absent'],
        delete_when='is_absent', columns=['v']
    )"""
    project.write_model("c", f"{{{{ {call} }}}}", ["id"], {})

    def deliver(day: int, load: int, **rows: str) -> dict[int, str]:
        values = [f"(date'2026-01-0{day}', {load}, {key[1:]}, '{v}')" for key, v in rows.items()]
        if values:
            project.sql(f"insert into {{}}.log values {', '.join(values)}")
        project.sql(f"insert into {{}}.loads values (date'2026-01-0{day}', {load})")
        project.run("c")
        return {row["id"]: row["v"] for row in project.sql("select * from {}.c")}

    assert deliver(5, 1, _1="a", _2="b") == {1: "a", 2: "b"}
    # The same extract again: corrected, and without a row that should not have been there.
    assert deliver(5, 2, _1="c", _3="d") == {1: "c", 3: "d"}
    assert deliver(6, 3) == {}
    # An old extract again changes nothing: a newer one was empty.
    assert deliver(5, 4, _1="e") == {}
    assert deliver(7, 5, _1="f") == {1: "f"}
    Store(project, "c", ["id"], ["v"]).check_laws()


@pytest.mark.long
def test_a_run_repairs_and_then_reads_many_messages(own_project: OwnProject) -> None:
    """The batch row of a repair does not count the rows of the store."""
    topic = Topic(own_project("repaired"))
    topic.run(("c", 1, 100, "new"))
    topic.project.sql("update {}.c__trueup set status = 'bad' where _kind = 'row'")
    rows = topic.run(*(("u", key, 200, "paid") for key in range(1, 10_002)))
    assert rows == dict.fromkeys(range(1, 10_002), "paid")
