"""A log with ticks of its own (`ts`): each change is in the history at its tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

LOG = (
    "k string, tick bigint, ord bigint, op string, old string, a string, b int, same array<string>"
)


class Log:
    """A log with ticks, and the collection `c` over it."""

    def __init__(self, project: Project, *, more: str = "", **options: Any) -> None:
        """Create the log and write the model."""
        self.project = project
        self.store = Store(project, "c", ["k"], ["a", "b"])
        project.sql(f"create table {{}}.log ({LOG}) using {{format}}")
        self.write(more=more, **options)

    def write(self, *, more: str = "", relation: str | None = None, **options: Any) -> None:
        """Write the model, with further arguments of `trueup.commands` and options."""
        relation = relation or f"{self.project.name}.log"
        call = f"""trueup.commands(
            relation='{relation}', ts='tick', sequence_by=['ord'], columns=['a', 'b'],
            delete_when="op = 'D'", truncate_when="op = 'T'"{more}
        )"""
        self.project.write_model("c", f"{{{{ {call} }}}}", ["k"], options)

    def run(self, *commands: tuple[Any, ...], **variables: Any) -> str:
        """Append commands: key, tick, order, then what `put` gives. Return what the run says."""
        self.project.insert("log", list(commands))
        self.project.run("c", fails=None, **variables)
        (message,) = self.project.messages
        return message.removeprefix("c: ")

    def history(self, after: int = 0) -> list[tuple[Any, ...]]:
        """The updates after a batch: tick, key, first value, diff and cause."""
        rows = self.store.stored(f"_kind = 'update' and _seq > {after}")
        found = [(row["_ts"], row["k"], row["a"], row["_diff"], row["_cause"]) for row in rows]
        return sorted(found, key=lambda each: (each[0], each[1] or "", each[3]))

    @property
    def newest(self) -> dict[str, Any]:
        """The notes of the newest batch."""
        return self.store.batches()[-1]


def put(  # noqa: PLR0913
    key: str | None,
    tick: int | None,
    order: int,
    a: str | None,
    b: int | None = None,
    *,
    op: str = "U",
    old: str | None = None,
    same: tuple[str, ...] = (),
) -> tuple[Any, ...]:
    return (key, tick, order, op, old, a, b, list(same))


def delete(key: str, tick: int, order: int) -> tuple[Any, ...]:
    return put(key, tick, order, None, op="D")


def truncate(tick: int, order: int) -> tuple[Any, ...]:
    return put(None, tick, order, None, op="T")


@pytest.fixture
def log(own_project: OwnProject) -> Log:
    return Log(own_project("ticks"))


def test_each_tick_has_the_command_with_its_greatest_order(log: Log) -> None:
    log.run(
        put("x", 1, 2, "one"),
        put("x", 1, 1, "first"),
        put("x", 3, 1, "three"),
        put("x", 4, 1, "three"),
        delete("x", 6, 1),
        put("y", 2, 9, "two"),
    )
    assert log.history() == [
        (1, "x", "one", 1, None),
        (2, "y", "two", 1, None),
        (3, "x", "one", -1, None),
        (3, "x", "three", 1, None),
        (6, "x", "three", -1, None),
    ]
    assert (log.newest["lower"], log.newest["upper"]) == (0, 7)
    assert log.store.rows() == {("y",): ("two", None)}
    # A later tick wins, whatever the order says, and no tick is written twice.
    log.run(put("y", 7, 1, "seven"), put("x", 7, 1, "again"))
    assert log.history(after=1) == [
        (7, "x", "again", 1, None),
        (7, "y", "two", -1, None),
        (7, "y", "seven", 1, None),
    ]
    log.store.check_laws()
    assert log.run() == "up to date at batch 2"


def test_a_late_command_acts_at_the_lower_and_only_if_it_is_newer(log: Log) -> None:
    log.run(put("a", 2, 1, "a2"), put("b", 5, 1, "b5"), delete("c", 4, 1))
    log.run(
        put("a", 3, 1, "a3"),
        put("b", 4, 1, "b4"),
        put("c", 3, 1, "c3"),
        put("d", 1, 1, "d1"),
        put("b", 7, 1, "b7"),
    )
    assert log.history(after=1) == [
        (6, "a", "a2", -1, "late_command"),
        (6, "a", "a3", 1, "late_command"),
        (6, "d", "d1", 1, "late_command"),
        (7, "b", "b5", -1, None),
        (7, "b", "b7", 1, None),
    ]
    assert log.newest["statistics"]["late_dropped"] == 4
    assert log.store.rows_at(5) == {("a",): ("a2", None), ("b",): ("b5", None)}
    # Late commands alone make a batch that settles no tick.
    log.run(put("e", 2, 1, "e2"))
    assert (log.newest["lower"], log.newest["upper"]) == (8, 8)
    assert log.history(after=2) == [(8, "e", "e2", 1, "late_command")]
    log.store.check_laws()


@pytest.mark.long
def test_late_drop_counts_and_forgets_late_commands(own_project: OwnProject) -> None:
    log = Log(own_project("late_drop"), late="drop")
    log.run(put("a", 2, 1, "a2"))
    log.run(put("a", 1, 1, "a1"), put("b", 1, 1, "b1"), put("c", 4, 1, "c4"))
    assert log.newest["statistics"]["late_dropped"] == 2
    assert log.store.rows() == {("a",): ("a2", None), ("c",): ("c4", None)}
    # Also if the run reads the whole log again, because the code of the model is another one.
    log.write(more=", skip_when='false'", late="drop")
    assert "inserted" not in log.run()
    assert log.store.rows() == {("a",): ("a2", None), ("c",): ("c4", None)}


def test_late_fail_stops_the_run(own_project: OwnProject) -> None:
    log = Log(own_project("late_fail"), late="fail")
    log.run(put("a", 2, 1, "a2"))
    message = log.run(put("b", 1, 1, "b1"))
    assert "without late commands (option `late: fail`)" in message
    assert "Got: 1 commands of ticks below 3" in message
    assert len(log.store.batches()) == 2


@pytest.mark.long
def test_late_fail_stops_a_run_that_reads_the_whole_log(own_project: OwnProject) -> None:
    """A log of Parquet files has no snapshots, so each run reads all of it."""
    project = own_project("late_parquet")
    project.sql(f"create table {{}}.source ({LOG}) using parquet")
    log = Log(project, late="fail")
    log.write(relation=f"{project.name}.source", late="fail")
    project.sql("insert into {}.source select 'a', 2, 1, 'U', null, 'a2', null, array()")
    log.run()
    assert log.run() == "up to date at batch 1"
    project.sql("insert into {}.source select 'b', 1, 1, 'U', null, 'b1', null, array()")
    assert "Got: 1 commands of ticks below 3" in log.run()
    log.write(relation=f"{project.name}.source")
    log.run()
    assert log.history(after=1) == [(3, "b", "b1", 1, "late_command")]
    assert log.newest["statistics"]["late_dropped"] == 1


def test_open_ticks_wait_for_input_upper_and_until(own_project: OwnProject) -> None:
    log = Log(own_project("open_ticks"), input_upper="log_upper - 1")
    log.run(put("a", 1, 1, "a1"), put("a", 3, 1, "a3"))
    assert log.newest["upper"] == 3
    assert log.store.rows() == {("a",): ("a1", None)}
    assert log.run() == "up to date at batch 1"
    # The open tick is settled later, with what came for it meanwhile, and nothing is counted twice.
    log.run(put("a", 3, 2, "a3 again"), put("b", 2, 1, "late"), put("b", 4, 1, "b4"))
    assert log.newest["upper"] == 4
    assert log.newest["statistics"]["late_dropped"] == 1
    assert log.history(after=1) == [
        (3, "a", "a1", -1, None),
        (3, "a", "a3 again", 1, None),
        (3, "b", "late", 1, "late_command"),
    ]
    log.write()
    assert log.run(until=4) == "up to date at batch 2"
    log.run()
    assert log.store.rows() == {("a",): ("a3 again", None), ("b",): ("b4", None)}
    log.store.check_laws()


@pytest.mark.long
def test_what_arrives_while_an_open_tick_waits_is_read(own_project: OwnProject) -> None:
    """The run reads two parts of the log: the one with the open tick, and what came after it."""
    log = Log(own_project("waits"))
    log.run(put("a", 1, 1, "a1"))
    log.run(put("a", 3, 1, "a3"), put("b", 5, 1, "b5"), until=4)
    log.run(put("c", 6, 1, "c6"), put("d", 2, 1, "late"))
    expected = {"a": "a3", "b": "b5", "c": "c6", "d": "late"}
    assert log.store.rows() == {(key,): (value, None) for key, value in expected.items()}
    assert log.newest["statistics"]["messages_received"] == 3


def test_as_of_begins_the_history_at_its_tick(own_project: OwnProject) -> None:
    log = Log(own_project("begins"), as_of=5)
    log.run(put("a", 1, 1, "a1"), put("a", 2, 1, "a2"), delete("b", 3, 1), put("a", 6, 1, "a6"))
    assert log.history() == [
        (5, "a", "a2", 1, None),
        (6, "a", "a2", -1, None),
        (6, "a", "a6", 1, None),
    ]


@pytest.mark.long
def test_a_truncate_deletes_at_its_tick(log: Log) -> None:
    log.run(put("old", 1, 1, "old"), put("late", 2, 1, "late"))
    log.run(
        put("new", 3, 1, "new"),
        truncate(4, 5),
        put("new", 4, 4, "before"),
        put("same", 4, 5, "same"),
        put("new", 6, 1, "after"),
    )
    assert log.history(after=1) == [
        (3, "new", "new", 1, None),
        (4, "late", "late", -1, None),
        (4, "new", "new", -1, None),
        (4, "old", "old", -1, None),
        (4, "same", "same", 1, None),
        (6, "new", "after", 1, None),
    ]
    # The bound holds for commands that arrive later.
    log.run(put("old", 3, 1, "too old"), put("x", 7, 1, "x"))
    assert ("old",) not in log.store.rows()
    log.store.check_laws()


@pytest.mark.long
def test_partial_commands_keep_the_values_of_earlier_ticks(own_project: OwnProject) -> None:
    log = Log(own_project("partial"), more=", unchanged='same'")
    log.run(
        put("x", 1, 1, "a1", 1),
        put("x", 2, 1, None, 2, same=("a",)),
        put("x", 3, 1, "a3", None, same=("b",)),
        delete("x", 4, 1),
        put("x", 5, 1, "a5", None, same=("b",)),
    )
    assert [log.store.rows_at(tick) for tick in range(1, 6)] == [
        {("x",): ("a1", 1)},
        {("x",): ("a1", 2)},
        {("x",): ("a3", 2)},
        {},
        {("x",): ("a5", None)},
    ]
    # A late command is newer than the value of one column, and older than that of the other.
    log.run(put("y", 7, 1, "y7", 7), put("y", 9, 1, None, 9, same=("a",)))
    log.run(put("y", 8, 1, "y8", 8))
    assert log.store.rows()["y",] == ("y8", 9)
    assert {cause for *_, cause in log.history(after=2)} == {"late_command"}
    log.store.check_laws()


@pytest.mark.long
def test_a_change_of_key_is_at_its_tick(own_project: OwnProject) -> None:
    log = Log(own_project("moves"), more=", unchanged='same', old_key='struct(old as k)'")
    log.run(
        put("x", 1, 1, "a1", 1),
        put("y", 2, 1, "a2", None, old="x", same=("b",)),
        put("z", 3, 1, None, 3, old="y", same=("a",)),
    )
    assert [log.store.rows_at(tick) for tick in (1, 2, 3)] == [
        {("x",): ("a1", 1)},
        {("y",): ("a2", 1)},
        {("z",): ("a2", 3)},
    ]
    log.store.check_laws()


@pytest.mark.long
def test_a_command_without_a_tick_is_an_error_beside_the_row(log: Log) -> None:
    log.run(put("x", 1, 1, "one"), put("x", None, 2, "lost"))
    assert log.store.rows() == {("x",): ("one", None)}
    assert log.store.order_errors() == {(("x",), None): "order"}
    log.run(put("x", 3, 1, "three"))
    assert log.store.order_errors() == {}
    log.store.check_laws()


@pytest.mark.long
def test_a_broken_history_with_ticks_is_restored(log: Log) -> None:
    log.run(put("x", 1, 1, "one"), put("x", 2, 1, "two"), put("y", 2, 1, "y"))
    log.project.sql("delete from {}.c__trueup where _kind = 'update' and _ts = 1")
    assert "restored" in log.run(put("y", 3, 1, "y3"))
    log.project.sql("update {}.c__trueup set _ts = 9 where _kind = 'update' and _ts = 2")
    assert "restored" in log.run()
    log.project.sql("update {}.c__trueup set a = 'x' where _kind = 'row'")
    assert "rebuilt" in log.run()
    assert log.store.rows_at(1) == {("x",): ("one", None)}
    assert log.store.rows() == {("x",): ("two", None), ("y",): ("y3", None)}
    log.store.check_laws()


def test_options_of_ticks_are_refused_without_ticks(own_project: OwnProject) -> None:
    project = own_project("no_ticks")
    project.sql(f"create table {{}}.log ({LOG}) using {{format}}")
    call = f"trueup.commands(relation='{project.name}.log', sequence_by=['ord'], columns=['a'])"
    for option, value in {"late": "drop", "as_of": 1, "input_upper": "1"}.items():
        project.write_model("c", f"{{{{ {call} }}}}", ["k"], {option: value})
        project.run("c", fails=True)
        (message,) = project.messages
        assert "left out: the commands of c have no ticks" in message, message


def live(project: Project) -> dict[str, tuple[str, bool]]:
    """The first value of each key as a view and a table show it, and whether it is final."""
    project.run("c_shown", "c_kept")
    shown, kept = (
        project.sql(f"select k, a, _is_final from {{}}.{name} order by k")
        for name in ("c_shown", "c_kept")
    )
    assert shown == kept
    return {row["k"]: (row["a"], row["_is_final"]) for row in shown}


@pytest.mark.long
def test_live_shows_open_ticks_and_late_commands(own_project: OwnProject) -> None:
    log = Log(own_project("live"), input_upper="log_upper - 1")
    call = "{{ trueup.live('c') }}"
    log.project.write("models/c_shown.sql", call)
    log.project.write("models/c_kept.sql", "{{ config(materialized='table') }}\n" + call)
    settled = [put(key, 1, 1, f"{key}1") for key in ("erased", "late", "gone", "x")]
    log.project.insert("log", [*settled, put("x", 3, 1, "x3"), delete("gone", 3, 1)])
    log.project.run()
    log.project.operate("erase", collection="c", keys=["erased"])
    open_rows = {"x": ("x3", False), "z": ("z4", False), "erased": ("again", False)}
    log.project.insert("log", [put("z", 4, 1, "z4"), put("erased", 4, 1, "again")])
    assert live(log.project) == {"late": ("late1", True), **open_rows}
    # What no run has read, of a settled tick: a newer value, an older one, and a new key.
    late = [put("late", 2, 1, "late2"), put("late", 0, 1, "old"), put("new", 1, 1, "new1")]
    log.project.insert("log", late)
    late_rows = {"late": ("late2", False), "new": ("new1", False)}
    assert live(log.project) == {**late_rows, **open_rows}
    rows = {("late",): ("late1", None), ("gone",): ("gone1", None), ("x",): ("x1", None)}
    assert log.store.rows() == rows
    # Late commands that a run would drop or refuse are left out.
    for value in ("drop", "fail"):
        log.write(input_upper="log_upper - 1", late=value)
        assert live(log.project) == {"late": ("late1", True), **open_rows}
    log.write()
    log.run()
    final = {key: (value, True) for key, (value, _) in (late_rows | open_rows).items()}
    assert live(log.project) == final


@pytest.mark.long
def test_live_is_refused_where_it_cannot_be_right(log: Log) -> None:
    log.run(put("x", 1, 1, "x1"))
    refused = {
        "{{ config(materialized='incremental') }}{{ trueup.live('c') }}": "must be view or table",
        "{{ trueup.live('plain') }}": "a collection whose commands have ticks",
    }
    log.project.add_select("plain", f"select k, a from {log.project.name}.log", ["k"])
    log.project.run("plain")
    for text, words in refused.items():
        log.project.write("models/c_live.sql", text)
        log.project.run("c_live", fails=True)
        assert words in log.project.messages[0]


@pytest.mark.long
def test_live_breaks_ties_and_truncates_as_the_next_run_does(own_project: OwnProject) -> None:
    log = Log(own_project("live_ties"))
    options = ("error", "prefer_upsert", "prefer_delete", "greatest")
    call = (log.project.folder / "models" / "c.sql").read_text().partition("\n")[2]
    (log.project.folder / "models" / "c.sql").unlink()
    for ties in options:
        given = {"ties": ties, "truncate_scope": "k"}
        log.project.write_model(ties, call, ["k"], given | {"input_upper": "log_upper - 1"})
        live_call = f"{{{{ trueup.live('{ties}') }}}}"
        log.project.write(f"models/{ties}_shown.sql", live_call)
        table = "{{ config(materialized='table') }}\n"
        log.project.write(f"models/{ties}_kept.sql", table + live_call)
    keys = ("late", "late_delete", "late_upsert", "truncated", "x")
    log.project.insert("log", [put(key, 1, 1, f"{key}1") for key in keys])
    log.project.insert("log", [delete("late_upsert", 1, 2), put("x", 3, 1, "x3")])
    log.project.run(*options)
    # Commands of one order: two in an open tick, and one beside what is settled.
    two = [put("two", 3, 1, "A"), put("two", 3, 1, "B"), put("both", 3, 1, "C")]
    late = [put("late", 1, 1, "L"), delete("late_delete", 1, 1), put("late_upsert", 1, 2, "U")]
    scoped = put("truncated", 3, 1, None, op="T")
    log.project.insert("log", [*two, delete("both", 3, 1), *late, scoped])
    log.project.run(*(f"{ties}_{kind}" for ties in options for kind in ("shown", "kept")))
    columns = "k, a, _is_final"
    found = {}
    for ties in options:
        shown, kept = (
            log.project.sql(f"select {columns} from {{}}.{ties}_{kind} order by k")
            for kind in ("shown", "kept")
        )
        assert shown == kept, ties
        found[ties] = {row["k"]: row["a"] for row in shown}
        log.project.write_model(ties, call, ["k"], {"ties": ties, "truncate_scope": "k"})
    log.project.run(*options)
    for ties in options:
        rows = log.project.sql(f"select k, a from {{}}.{ties}")
        assert found[ties] == {row["k"]: row["a"] for row in rows}, ties
    assert found["error"] == {"x": "x3"}
    assert found["prefer_delete"] == {"x": "x3"}
    upserts = {"both": "C", "late_delete": "late_delete1", "late_upsert": "U"}
    assert found["prefer_upsert"] == {"x": "x3", **upserts}
    assert found["greatest"].keys() == {"x", "two", "late", *upserts}
