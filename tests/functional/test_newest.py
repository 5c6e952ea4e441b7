"""With `late: newest`, the newest command of each key wins, no matter which run reads it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.acceptance import Column, multiset
from tests.oracle import Command, check_laws
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
numbers = count(1)


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("newest")


def add(project: Project, name: str, *extras: str, **options: Any) -> str:
    project.add_collection(name, KEY, VALUE, {"late": "newest", **options}, extras)
    return name


def put(ts: int, order: int, key: str, value: str) -> Command:
    return Command(ts, (order,), (key,), (value,))


def delete(ts: int, order: int, key: str) -> Command:
    return Command(ts, (order,), (key,), None)


def settle(project: Project, name: str, *commands: Command, **variables: Any) -> Any:
    """Append commands, run the collection, and give the statistics of its last batch."""
    project.append(name, commands)
    is_new = not project.spark.catalog.tableExists(f"{project.name}.{name}_changelog")
    models = [f"models/{name}"] if is_new else [f"{name}_{role}" for role in TABLES]
    project.run(*models, **variables)
    return project.progress(name)[-1]["_statistics"]


def newest(commands: Iterable[Command]) -> Any:
    """The rows that the newest command of each key gives."""
    last: dict[Any, Command] = {}
    for each in commands:
        if each.key not in last or (each.ts, each.order) > (
            last[each.key].ts,
            last[each.key].order,
        ):
            last[each.key] = each
    return multiset([(*k, *c.value) for k, c in last.items() if c.value is not None])


def updates(project: Project, name: str, after: int) -> list[tuple[Any, ...]]:
    rows = project.sql(
        "select _ts, k, v, _diff, _cause from {}." + f"{name}_changelog"
        f" where _kind = 'update' and _seq > {after} order by _seq, _ts, k, _cause is null, _diff"
    )
    return [tuple(row) for row in rows]


def test_a_late_command_wins_only_if_it_is_newer_than_the_last_one_of_its_key(
    project: Project,
) -> None:
    name = add(project, "wins")
    settle(project, name, put(2, 1, "a", "a2"), put(5, 1, "b", "b5"), delete(4, 1, "c"))
    late = [put(3, 1, "a", "a3"), put(4, 1, "b", "b4"), put(3, 1, "c", "c3"), put(1, 1, "d", "d1")]
    found = settle(project, name, *late, put(7, 1, "b", "b7"))

    assert (found.late_dropped, found.superseded, found.tombstones) == (4, 2, 1)
    assert updates(project, name, after=1) == [
        (6, "a", "a2", -1, "late_command"),
        (6, "a", "a3", 1, "late_command"),
        (6, "d", "d1", 1, "late_command"),
        (7, "b", "b5", -1, None),
        (7, "b", "b7", 1, None),
    ]
    check_laws(project.updates(name))
    assert project.errors(name) == []


@pytest.mark.long
def test_late_commands_alone_make_a_batch(project: Project) -> None:
    name = add(project, "alone")
    settle(project, name, put(5, 1, "a", "a5"), put(5, 1, "b", "b5"))
    settle(project, name, put(3, 1, "c", "c3"))
    assert f"{name}_batch: batch 2 [6, 6)" in project.messages
    assert ("c", "c3") in project.rows(name)
    # A late command that changes no row is remembered all the same.
    found = settle(project, name, delete(3, 1, "d"))
    assert (found.updates_staged, found.tombstones) == (0, 1)
    settle(project, name, put(2, 1, "d", "d2"))
    assert f"{name}_batch: up to date at 6" in project.messages
    assert ("d", "d2") not in project.rows(name)


@pytest.mark.long
def test_the_orders_survive_a_rebuild_a_heal_and_a_compaction(project: Project) -> None:
    name = add(project, "kept", verify="always")
    settle(project, name, put(2, 1, "a", "a2"), delete(5, 1, "c"))
    settle(project, name, put(6, 1, "a", "a6"))
    before = multiset(project.sql(f"select k, _error_key, _error, _kind from {{}}.{name}_state"))
    project.operate("compact", collection=name, since=6)
    project.run(f"{name}_state", "--full-refresh")
    assert (
        multiset(project.sql(f"select k, _error_key, _error, _kind from {{}}.{name}_state"))
        == before
    )
    project.sql(f"delete from {{}}.{name}_state where _kind = 'order'")
    settle(project, name, put(4, 1, "c", "c4"), put(3, 1, "a", "a3"))
    assert "healed" in project.messages[0]
    assert project.rows(name) == [("a", "a6")]
    assert (
        multiset(project.sql(f"select k, _error_key, _error, _kind from {{}}.{name}_state"))
        == before
    )


def add_topic(project: Project, name: str, late: str) -> None:
    """Add a collection with a log without ticks, whose order is its column `o`."""
    columns = "k string, v string, o int, p int, f bigint"
    project.sql(f"create table {{}}.{name}_log ({columns}) using {{format}}")
    for role in (*TABLES, "errors"):
        project.write(f"models/{name}/{name}_{role}.sql", f"{{{{ trueup.{role}('{name}') }}}}")
    project.write(f"models/{name}/{name}.sql", f"{{{{ trueup.collection('{name}') }}}}")
    call = (
        f"relation='{project.name}.{name}_log', reclock=['p', 'f'], columns=['v'],"
        " sequence_by=['o'], delete_when='v is null'"
    )
    project.write(f"models/{name}/{name}_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
    set_late(project, name, late)


def set_late(project: Project, name: str, late: str, **options: Any) -> None:
    options = {"trueup": {"late": late, **options}}
    project.configure(**{name: {"+unique_key": ["k"], "+meta": options}})


@pytest.mark.long
def test_a_log_without_ticks_is_in_the_order_of_its_commands(project: Project) -> None:
    name = "topic"
    add_topic(project, name, "newest")
    last: dict[str, tuple[int, str | None]] = {}
    superseded = 0
    batches: list[list[tuple[str, str | None, int]]] = [
        [("a", "a3", 3), ("a", "a1", 1), ("b", "b5", 5)],
        [("a", "a2", 2), ("b", None, 7), ("c", "c4", 4)],
        [("b", "b6", 6), ("c", "c5", 5), ("a", "a4", 4)],
        [("b", "b8", 8)],
    ]
    offset = count(1)
    for number, batch in enumerate(batches):
        values = ", ".join(
            f"('{k}', {'null' if v is None else repr(v)}, {o}, 0, {next(offset)})"
            for k, v, o in batch
        )
        project.sql(f"insert into {{}}.topic_log values {values}")
        for k, v, o in batch:
            if k in last and o < last[k][0]:
                superseded += number > 0
            else:
                last[k] = (o, v)
        project.run(f"models/{name}")
        expected = [(k, v) for k, (_, v) in last.items() if v is not None]
        rows = [tuple(row) for row in project.sql("select k, v from {}.topic")]
        assert multiset(rows) == multiset(expected)
    statistics = [row["_statistics"] for row in project.progress(name)]
    assert sum(each.superseded for each in statistics) == superseded
    assert sum(each.messages_received for each in statistics) == sum(len(each) for each in batches)
    assert [each.tombstones for each in statistics] == [0, 1, 1, 0]


def test_a_log_without_ticks_cannot_begin_to_keep_orders_later(project: Project) -> None:
    name = "late_topic"
    add_topic(project, name, "drop")
    project.sql(f"insert into {{}}.{name}_log values ('a', 'a10', 10, 0, 0)")
    project.run(f"models/{name}")
    set_late(project, name, "newest")
    project.sql(f"insert into {{}}.{name}_log values ('a', 'a5', 5, 0, 1)")
    project.run(f"models/{name}", fails=True)
    said = "\n".join(project.messages)
    assert "drop or fail, as before" in said
    assert "dbt run --full-refresh -s late_topic_commands late_topic_corrections" in said
    assert [tuple(row) for row in project.sql(f"select k, v from {{}}.{name}")] == [("a", "a10")]

    project.run(f"models/{name}", "--full-refresh", rebase=True)
    assert [tuple(row) for row in project.sql(f"select k, v from {{}}.{name}")] == [("a", "a10")]


@pytest.mark.long
def test_a_log_with_ticks_cannot_become_one_without_ticks(project: Project) -> None:
    name = "was_ticked"
    add_topic(project, name, "newest")
    path = f"models/{name}/{name}_commands.sql"
    without_ticks = (project.folder / path).read_text()
    project.write(path, without_ticks.replace("reclock=['p', 'f']", "ts='f'"))
    project.sql(f"insert into {{}}.{name}_log values ('a', 'a7', 7, 0, 0)")
    project.run(f"models/{name}")
    project.write(path, without_ticks)
    project.sql(f"insert into {{}}.{name}_log values ('a', 'a8', 8, 0, 1)")
    project.run(f"models/{name}", fails=True)
    said = "\n".join(project.messages)
    assert "argument `reclock` in was_ticked_commands must be left out, as before" in said
    assert "dbt run --full-refresh -s was_ticked_commands" in said

    project.run(f"models/{name}", "--full-refresh", rebase=True)
    assert [tuple(row) for row in project.sql(f"select k, v from {{}}.{name}")] == [("a", "a8")]


@pytest.mark.long
def test_a_correction_does_not_bound_the_commands_of_its_key(project: Project) -> None:
    name = "corrected"
    project.add_collection(name, KEY, VALUE, {"late": "correct"})
    settle(project, name, put(5, 1, "b", "b5"))
    settle(project, name, put(3, 1, "d", "d3"))
    assert updates(project, name, after=1) == [(6, "d", "d3", 1, "late_command")]
    set_late(project, name, "newest")
    settle(project, name, put(7, 1, "b", "b7"))
    found = settle(project, name, put(4, 1, "d", "d4"), put(2, 1, "d", "d2"))
    assert multiset(project.rows(name)) == multiset([("b", "b7"), ("d", "d4")])
    assert (found.late_dropped, found.superseded) == (2, 1)
    check_laws(project.updates(name))


@pytest.mark.long
def test_a_batch_that_reads_a_part_of_the_log_does_not_forget_the_orders(project: Project) -> None:
    name = "part"
    project.add_collection(name, KEY, VALUE, {"late": "correct"})
    settle(project, name, put(5, 1, "a", "a5"))
    set_late(project, name, "newest")
    settle(project, name, put(10, 1, "k", "k10"))
    # A batch without a comparison keeps the position that the last batch has read.
    set_late(project, name, "correct")
    project.append(name, [put(11, 1, "a", "a11")])
    project.run(*(f"{name}_{role}" for role in TABLES if role != "corrections"))
    set_late(project, name, "newest")
    settle(project, name, put(8, 1, "k", "k8"), put(12, 1, "a", "a12"))
    assert multiset(project.rows(name)) == multiset([("a", "a12"), ("k", "k10")])


@pytest.mark.long
def test_a_collection_can_begin_to_keep_orders_later(project: Project) -> None:
    name = "switched"
    project.add_collection(name, KEY, VALUE)
    settle(project, name, put(5, 1, "a", "a5"), put(5, 1, "b", "b5"))
    settle(project, name, put(3, 1, "a", "a3"), put(4, 1, "c", "c4"), put(6, 1, "e", "e6"))
    assert ("c", "c4") not in project.rows(name)
    set_late(project, name, "newest")
    found = settle(project, name, put(2, 1, "b", "b2"), put(7, 1, "d", "d7"))
    # The whole log is read once. The command of c was dropped, and wins now.
    assert found.whole_log_reason == "the code of the commands changed"
    assert found.tombstones == 0
    rows = [("a", "a5"), ("b", "b5"), ("c", "c4"), ("d", "d7"), ("e", "e6")]
    assert multiset(project.rows(name)) == multiset(rows)


@pytest.mark.long
def test_a_tie_that_decides_a_key_stops_the_batch_that_begins_to_keep_orders(
    project: Project,
) -> None:
    """It reads the whole log, so a late command that was dropped may tie with a settled one."""
    name = "tied"
    project.add_collection(name, KEY, VALUE, {"ties": "fail"})
    settle(project, name, put(3, 1, "b", "b3"), put(5, 1, "a", "a5"), put(5, 1, "b", "b5"))
    # The tie of b is not about its last command.
    dropped = [put(3, 1, "b", "tie"), put(5, 1, "a", "tie"), put(5, 1, "b", "b5")]
    settle(project, name, *dropped, put(6, 1, "c", "c6"))
    set_late(project, name, "newest", ties="fail")
    project.append(name, [put(7, 1, "d", "d7")])
    project.run(*(f"{name}_{role}" for role in TABLES), fails=True)
    said = "\n".join(project.messages)
    assert "ties: 1 times" in said
    assert '"k":"a"' in said
    assert len(project.progress(name)) == 2

    set_late(project, name, "newest", ties="hash")
    assert settle(project, name).ties == 1
    set_late(project, name, "newest", ties="fail")
    settle(project, name, put(8, 1, "d", "d8"))
    rows = project.rows(name)
    assert multiset(row for row in rows if row[0] != "a") == multiset(
        [("b", "b5"), ("c", "c6"), ("d", "d8")]
    )


@pytest.mark.long
def test_without_its_last_command_a_key_is_bounded_by_the_tick_of_its_last_change(
    project: Project,
) -> None:
    name = "forgotten"
    project.add_collection(name, KEY, VALUE, {"log": "partial"})
    settle(project, name, put(5, 1, "a", "a5"), put(9, 1, "b", "b9"))
    project.sql(f"delete from {{}}.{name}_log where k = 'a'")
    set_late(project, name, "newest", log="partial")
    settle(project, name, put(3, 1, "a", "a3"))
    found = settle(project, name, put(7, 1, "a", "a7"), put(8, 1, "b", "b8"))
    assert multiset(project.rows(name)) == multiset([("a", "a7"), ("b", "b9")])
    assert found.tombstones == 0


@pytest.mark.long
@pytest.mark.long
def test_a_raised_as_of_does_not_lose_the_commands_of_open_ticks(project: Project) -> None:
    name = add(project, "raised")
    settle(project, name, put(10, 1, "a", "first"))
    project.configure(
        **{name: {"+unique_key": ["k"], "+meta": {"trueup": {"late": "newest", "as_of": 100}}}}
    )

    settle(project, name, put(60, 1, "b", "kept"), put(120, 1, "c", "new"), put(5, 1, "a", "late"))

    assert multiset(project.rows(name)) == multiset([("a", "first"), ("b", "kept"), ("c", "new")])


@pytest.mark.long
def test_a_command_that_is_read_again_is_not_superseded(project: Project) -> None:
    add_topic(project, "topic", "newest")
    superseded = []
    for values in (
        "('a', 'new', 5, 0, 1)",
        "('a', 'new', 5, 0, 1), ('b', 'b', 1, 0, 2)",
        "('a', 'old', 4, 0, 3)",
    ):
        project.sql(f"insert into {{}}.topic_log values {values}")
        project.run("models/topic")
        superseded.append(project.progress("topic")[-1]["_statistics"]["superseded"])

    assert superseded == [0, 0, 1]
    rows = [tuple(row) for row in project.sql("select k, v from {}.topic")]
    assert multiset(rows) == multiset([("a", "new"), ("b", "b")])


def test_the_option_can_be_taken_away_again(project: Project) -> None:
    name = add(project, "taken_away")
    settle(project, name, put(5, 1, "a", "a5"), delete(5, 1, "b"))
    for number, late in enumerate(("correct", "newest", "drop")):
        set_late(project, name, late, verify="content")
        found = settle(project, name, put(10 + number, 1, "c", late))
        assert multiset(project.rows(name)) == multiset([("a", "a5"), ("c", late)])
        assert found.records_indexed == 2
    assert updates(project, name, after=1)[0] == (10, "c", "correct", 1, None)
    check_laws(project.updates(name))


@pytest.mark.long
@pytest.mark.parametrize("case", ["eager", "truncate", "unchanged", "error_key"])
def test_what_cannot_be_decided_by_key_is_refused(project: Project, case: str) -> None:
    name = f"refused_{case}"
    if case == "eager":
        add(project, name, eager=True)
        said = "must be drop, correct or fail, because `eager` is true"
    elif case == "unchanged":
        add(project, name, "unchanged")
        project.append(name, [put(1, 1, "a", "a1")])
        said = "a command leaves columns unchanged"
    elif case == "truncate":
        add(project, name, "truncate_when")
        project.append(name, [Command(1, (1,), None, None, is_truncate=True)])
        said = "or is a truncate"
    else:
        add(project, name)
        project.append(
            name, [Command(1, (1,), None, None, error="x", error_key="trueup: last command")]
        )
        said = "argument `error_key` must not begin with `trueup: last command`"
    project.run(f"models/{name}", fails=True)
    assert said in "\n".join(project.messages)
    project.configure(**{name: {"+enabled": False}})


@pytest.mark.long
def test_a_rebase_that_would_be_refused_drops_nothing(project: Project) -> None:
    name = "kept_history"
    project.add_collection(name, KEY, VALUE, {}, ["truncate_when"])
    settle(project, name, put(1, 1, "a", "a1"), put(2, 1, "a", "a2"))
    project.append(name, [Command(3, (1,), None, None, is_truncate=True), put(4, 1, "a", "a4")])
    before = project.updates(name)
    set_late(project, name, "newest")
    project.run(f"models/{name}", "--full-refresh", rebase=True, fails=True)
    assert "or is a truncate" in "\n".join(project.messages)
    assert project.updates(name) == before


def test_a_deleted_key_is_forgotten_after_as_many_ticks_as_the_option_says(
    project: Project,
) -> None:
    name = add(project, "forgets", tombstones=10)
    settle(project, name, delete(1, 1, "a"), put(1, 1, "b", "b1"), delete(5, 1, "c"))
    # The frontier is 13: deleted keys whose last command was written below 3 are forgotten.
    found = settle(project, name, put(12, 1, "d", "d12"))
    assert found.tombstones == 1
    late = [put(0, 1, "a", "a0"), put(0, 1, "b", "b0"), put(4, 1, "c", "c4")]
    found = settle(project, name, *late)
    assert (found.late_dropped, found.superseded) == (3, 2)
    rows = [("a", "a0"), ("b", "b1"), ("d", "d12")]
    assert multiset(project.rows(name)) == multiset(rows)
    project.run(f"{name}_state", "--full-refresh")
    assert multiset(project.rows(name)) == multiset(rows)


@pytest.mark.long
@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ("newest", ["a10 b20", "a15 b20", "a15 b20", "a15", "a15"]),
        ("correct", ["a10 b20", "a15 b20", "a15 b20", "a15", "a15"]),
        ("drop", ["a10 b20", "a10 b20", "a10 b20", "a10", "a10"]),
    ],
)
def test_the_rows_are_those_of_the_table_on_the_page_about_auto_cdc(
    project: Project, late: str, expected: list[str]
) -> None:
    name = add(project, f"page_{late}", late=late)
    arrivals = [
        [put(10, 1, "a", "a10"), put(20, 1, "b", "b20")],
        [put(15, 1, "a", "a15")],
        [put(12, 1, "a", "a12")],
        [delete(25, 1, "b")],
        [put(22, 1, "b", "b22")],
    ]
    found = []
    for commands in arrivals:
        settle(project, name, *commands)
        found.append(" ".join(sorted(value for _, value in project.rows(name))))
    assert found == expected


@pytest.mark.long
@strategies.few
@given(data=st.data())
def test_the_newest_command_of_each_key_wins_however_the_log_arrives(
    project: Project, data: st.DataObject
) -> None:
    name = add(project, f"random_{next(numbers)}")
    drawn = data.draw(
        st.lists(
            st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 5), st.booleans()),
            min_size=12,
            max_size=40,
            unique_by=lambda each: each[:3],
        )
    )
    log = [
        delete(ts, order, f"k{key}") if gone else put(ts, order, f"k{key}", f"{ts}.{order}")
        for ts, order, key, gone in drawn
    ]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(log) - 1), min_size=2, max_size=4)))
    for first, last in zip([0, *cuts], [*cuts, len(log)], strict=True):
        settle(project, name, *log[first:last])
        assert multiset(project.rows(name)) == newest(log[:last])
    check_laws(project.updates(name))
    settle(project, name)
    assert any(each.startswith(f"{name}_batch: up to date") for each in project.messages)
    statistics = project.progress(name)[-1]["_statistics"]
    keys = {each.key for each in log}
    assert statistics.tombstones == len(keys) - len(project.rows(name))


@pytest.mark.long
@pytest.mark.iceberg_only
def test_a_superseded_command_that_is_read_again_does_not_bring_a_deleted_key_back(
    project: Project,
) -> None:
    name = add(project, "read_again", tombstones=10)
    settle(project, name, delete(5, 1, "a"), put(6, 1, "z", "z6"))
    settle(project, name, put(3, 1, "a", "a3"), put(1000, 1, "far", "f"), until=8)
    settle(project, name, put(20, 1, "y", "y20"), until=30)
    settle(project, name, put(2, 1, "b", "b2"), until=40)
    rows = [("b", "b2"), ("y", "y20"), ("z", "z6")]
    assert multiset(project.rows(name)) == multiset(rows)
