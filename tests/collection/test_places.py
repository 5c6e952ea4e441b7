"""The place of a message in its log: topic, partition and offset (`reclock`)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.between import sent_through
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

LOG = "k string, ord bigint, op string, v string, part int, off bigint"
PLACE = ", reclock=['\\'orders\\'', 'part', 'off']"

Message = tuple[str | None, int | None, str, str | None, int | None, int | None]
"""Key, order, operation, value, partition and offset."""


class Log:
    """A log of messages with places, and the collection `c` over it."""

    def __init__(self, project: Project, *, more: str = PLACE, **options: Any) -> None:
        """Create the log and write the model."""
        self.project = project
        self.store = Store(project, "c", ["k"], ["v"])
        project.sql(f"create table {{}}.log ({LOG}) using {{format}}")
        self.write(more=more, **options)

    def write(self, *, more: str = PLACE, **options: Any) -> None:
        """Write the model, with further arguments of `trueup.commands` and options."""
        call = f"""trueup.commands(
            relation='{self.project.name}.log', sequence_by=['ord'], columns=['v'],
            delete_when="op = 'D'", truncate_when="op = 'T'"{more}
        )"""
        self.project.write_model("c", f"{{{{ {call} }}}}", ["k"], options)

    def run(self, *messages: Message, fails: bool = False) -> str:
        """Append messages. Return what the run says."""
        if messages:
            self.project.insert("log", list(messages))
        self.project.run("c", fails=fails)
        (message,) = self.project.messages
        return message.removeprefix("c: ")

    @property
    def rows(self) -> dict[str, str]:
        """The values by key."""
        return {key: value for (key,), (value,) in self.store.rows().items()}

    @property
    def newest(self) -> dict[str, Any]:
        """The notes of the newest batch."""
        return self.store.batches()[-1]


def put(key: str, order: int | None, value: str, offset: int | None, part: int = 0) -> Message:
    return (key, order, "U", value, part, offset)


def delete(key: str, order: int | None, offset: int | None, part: int = 0) -> Message:
    return (key, order, "D", None, part, offset)


def truncate(order: int, offset: int, part: int = 0) -> Message:
    return (None, order, "T", None, part, offset)


def next_offsets(batch: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(each["topic"], each["partition"]): each["next"] for each in batch["places"]}


def test_a_batch_row_has_the_next_offset_of_each_partition(own_project: OwnProject) -> None:
    log = Log(own_project("places"))
    log.run()  # An empty log has no snapshot: the run compares a checksum of all commands.
    log.run(put("a", 1, "a1", 7), put("b", 1, "b1", 9), put("c", 1, "c1", 3, part=1))
    assert next_offsets(log.newest) == {("orders", "0"): 10, ("orders", "1"): 4}
    assert log.newest["statistics"]["offset_committed"] == 14
    # A message that was read before, or one without a place, moves nothing.
    log.run(put("a", 2, "a2", 8), put("c", 2, "c2", None, part=1), put("d", 1, "d1", 0, part=2))
    assert next_offsets(log.newest) == {
        ("orders", "0"): 10,
        ("orders", "1"): 4,
        ("orders", "2"): 1,
    }
    assert log.rows == {"a": "a2", "b": "b1", "c": "c2", "d": "d1"}
    log.store.check_laws()


def test_columns_of_the_key_may_be_called_like_a_place(own_project: OwnProject) -> None:
    project = own_project("places_named")
    key = ["topic", "partition", "next"]
    project.sql(
        "create table {}.log (topic string, partition int, next bigint, v string) using {format}"
    )
    call = f"""trueup.commands(
        relation='{project.name}.log', sequence_by=['next'], columns=['v'], reclock={key}
    )"""
    project.write_model("c", f"{{{{ {call} }}}}", key, {})
    project.write_model("d", f"{{{{ {call} }}}}", key, {"null_order": "arrival"})
    for number in (1, 2):
        project.insert("log", [("a", 0, number, f"v{number}")])
        project.run()
    for name in ("c", "d"):
        assert next_offsets(Store(project, name, key, ["v"]).batches()[-1]) == {("a", "0"): 3}


@pytest.mark.long
def test_new_messages_at_places_that_were_read_before_are_said(own_project: OwnProject) -> None:
    log = Log(own_project("places_again"))
    first = [put("a", 1, "a1", 7), put("b", 1, "b1", 8)]
    assert "WARNING" not in log.run(*first)
    # A replay, and a new message.
    assert "WARNING" not in log.run(*first, put("a", 2, "a2", 9))
    # The topic was made anew.
    said = log.run(put("a", 3, "a3", 0), put("c", 1, "c1", 1), *first)
    assert "WARNING: 2 messages at places that were read before have content that was not" in said
    assert log.rows == {"a": "a3", "b": "b1", "c": "c1"}


@pytest.mark.long
def test_the_places_of_a_run_do_not_move_before_its_last_batch(own_project: OwnProject) -> None:
    """The batch is cut before a change of key that needs another one."""
    project = own_project("places_cut")
    old_key = "if(op like 'k%', struct(op as k), null)"
    log = Log(project, more=f"{PLACE}, old_key=\"{old_key}\", unchanged_value='same'")
    log.run(put("k1", 1, "v1", 0))
    # The operation names the old key. The offsets do not follow the orders.
    chain: list[Message] = [
        ("k2", 5, "k1", "same", 0, 3),
        ("k3", 9, "k2", "same", 0, 2),
        ("k4", 12, "k3", "same", 0, 1),
    ]
    said = log.run(*chain)
    assert said.startswith("batches 2 to 4")
    assert "WARNING" not in said
    places = [next_offsets(batch)["orders", "0"] for batch in log.store.batches()[1:]]
    assert places == [1, 1, 1, 4]
    assert "WARNING" not in log.run(*chain)
    assert log.rows == {"k4": "v1"}
    log.store.check_laws()


def test_a_command_without_an_order_acts_once_as_the_newest(own_project: OwnProject) -> None:
    log = Log(own_project("arrival"), null_order="arrival")
    log.run(
        put("a", 5, "a5", 0),
        delete("a", None, 1),
        put("a", 4, "a4", 2),  # It is older than what the delete has taken.
        put("b", 5, "b5", 3),
        delete("b", None, 4),
        put("b", 6, "b6", 5),  # It is newer.
        put("c", 5, "c5", 6),
        delete("new", None, 7),
        put("d", None, "first", 8),
        put("d", None, "second", 9),
        put("e", None, "e", 10),
        delete("e", None, 11),
    )
    assert log.rows == {"b": "b6", "c": "c5", "d": "second"}
    assert log.store.order_errors() == {}
    log.store.check_laws()
    # A replay of all messages at their places has no effect.
    log.project.sql("insert into {}.log select * from {}.log")
    log.run()
    assert log.rows == {"b": "b6", "c": "c5", "d": "second"}
    received = log.newest["statistics"]
    assert received["messages_received"] == received["superseded"] == 12
    assert received["updates_committed"] == 0
    # It is newer than all that the store has, and any greater order is newer than it.
    log.run(delete("b", None, 12), delete("c", None, 13), put("d", 1, "d1", 14))
    assert log.rows == {"d": "d1"}
    log.run(put("b", 6, "b6", 15), put("c", 6, "c6", 16), put("b", 6, "again", 17))
    assert log.rows == {"c": "c6", "d": "d1"}
    # A changed model reads the whole log again.
    log.write(more=PLACE + ", skip_when='false'", null_order="arrival")
    log.run()
    assert log.rows == {"c": "c6", "d": "d1"}
    log.store.check_laws()
    # The test by plain SQL leaves out `b`: the log does not say the order of its delete.
    log.project.write(
        "models/c.yml",
        "models:\n  - name: c\n    data_tests:\n      - trueup.agrees_with_log:\n"
        "          arguments:"
        f" {{log: {log.project.name}.log, key: [k], columns: [v], sequence_by: [ord],"
        " delete_when: \"op = 'D'\"}",
    )
    log.project.run("c", command="test")


@pytest.mark.long
def test_a_command_without_an_order_follows_a_truncate(own_project: OwnProject) -> None:
    log = Log(own_project("arrival_truncate"), null_order="arrival")
    log.run(put("a", 5, "a5", 0), truncate(8, 1), put("a", None, "after", 2), put("b", 5, "b5", 3))
    assert log.rows == {"a": "after"}
    log.run(put("c", None, "c", 4), put("d", None, "d", 5), truncate(9, 6), put("d", None, "e", 7))
    assert log.rows == {"d": "e"}
    log.run(put("f", None, "f", 8), delete("d", None, 9))
    assert log.rows == {"f": "f"}
    log.store.check_laws()


@pytest.mark.long
def test_a_command_without_an_order_that_arrives_during_a_run_acts_once(
    own_project: OwnProject,
) -> None:
    """A log that trueup cannot pin grows between the look and the commit."""
    project = own_project("arrival_grows")
    log = Log(project, null_order="arrival")
    both = "(select * from {0}.log union all select * from {0}.log where false)"
    model = project.folder / "models" / "c.sql"
    text = model.read_text().replace(f"'{project.name}.log'", f"'{both.format(project.name)}'")
    project.write("models/c.sql", text)
    late = [put("a", None, "arrived", 1), put("a", 9, "a9", 2)]

    def grow(execute: Callable[[str], None], sql: str) -> None:
        if "/* trueup: commit */" in sql and late:
            project.insert("log", late)
            late.clear()
        execute(sql)

    with sent_through(grow):
        log.run(put("b", None, "b", 0))
    assert late == []
    assert next_offsets(log.newest) == {("orders", "0"): 1}
    log.run()
    assert log.rows == {"a": "a9", "b": "b"}
    log.run()
    assert log.rows == {"a": "a9", "b": "b"}
    log.store.check_laws()


@pytest.mark.long
def test_a_command_without_an_order_is_an_error_if_its_place_says_nothing(
    own_project: OwnProject,
) -> None:
    log = Log(own_project("arrival_unknown"), null_order="arrival")
    log.run(
        put("a", 5, "a5", 0),
        delete("a", None, 0, part=1),  # Nobody knows which of the two is newer.
        put("b", 5, "b5", 1),
        delete("b", None, None),
        put("c", 5, "c5", 2),
        delete("c", None, 3),
    )
    assert log.rows == {"a": "a5", "b": "b5"}
    both = [(("a",), None), (("b",), None)]
    assert log.store.order_errors() == dict.fromkeys(both, "order")
    log.run(delete("a", None, 1, part=1))
    assert log.rows == {"b": "b5"}
    assert log.store.order_errors() == {(("b",), None): "order"}
    log.store.check_laws()


def test_an_option_that_needs_places_is_refused_without_them(own_project: OwnProject) -> None:
    refused = {
        "": "arrival, without `reclock` in `trueup.commands`",
        PLACE + ", ts='ord'": "arrival, with `ts` in `trueup.commands`",
        PLACE + ", old_key='struct(k)'": "arrival, with `old_key` in `trueup.commands`",
    }
    log = Log(own_project("refused"))
    for more, got in refused.items():
        log.write(more=more, null_order="arrival")
        assert "Option `null_order` in `meta.trueup`" in (message := log.run(fails=True))
        assert f"Got: {got}" in message
    log.write(null_order="arrival", order_epoch=1)
    assert "Got: arrival, with `order_epoch`" in log.run(fails=True)
    log.write(more=PLACE + ", ignore_null_updates=true", ties="place")
    assert "Got: place, with columns that stay unchanged" in log.run(fails=True)
    log.write(more=", reclock=['part', 'off', 'off', 'off']")
    message = log.run(fails=True)
    assert "argument `reclock`" in message
    assert "the offset is the last" in message


@pytest.mark.long
def test_the_later_message_of_one_partition_wins_a_tie(own_project: OwnProject) -> None:
    log = Log(own_project("ties"), ties="place")
    log.run(
        put("a", 1, "first", 0),
        put("a", 1, "second", 1),
        put("b", 1, "b", 2),
        delete("b", 1, 3),
        delete("c", 1, 4),
        put("c", 1, "c", 5),
        put("x", 1, "here", 6),
        put("x", 1, "there", 0, part=1),
        put("y", 1, "y", 7),
        put("y", 1, "z", 7),  # Two commands of one message.
    )
    expected = {"a": "second", "c": "c"}
    ties = dict.fromkeys([(("x",), None), (("y",), None)], "tie")
    assert log.rows == expected
    assert log.store.errors() == ties
    # A replay at new places changes nothing: each content counts where it was read first.
    log.run(
        put("a", 1, "first", 10),
        put("b", 1, "b", 11),
        delete("c", 1, 12),
        put("x", 1, "here", 13),
        put("y", 1, "y", 14),
        put("a", 1, "first", 20, part=1),
    )
    assert log.rows == expected
    assert log.store.errors() == ties
    assert log.newest["statistics"]["superseded"] == 6
    # A content that nobody has seen is newer. One from another partition is a tie.
    log.run(
        put("a", 1, "third", 30),
        delete("c", 1, 31, part=1),
        put("c", 1, "d", 32, part=1),
        put("x", 2, "x2", 2, part=1),
    )
    assert log.rows == {"a": "third", "x": "x2"}
    assert log.store.errors() == {(("c",), None): "tie", (("y",), None): "tie"}
    # A changed model reads the log again, and holds the same.
    log.write(more=PLACE + ", skip_when='false'", ties="place")
    log.run(put("a", 1, "second", 40))
    assert log.rows == {"a": "third", "x": "x2"}
    log.store.check_laws()


@pytest.mark.long
def test_a_tie_is_an_error_if_a_place_or_a_value_is_not_known(own_project: OwnProject) -> None:
    log = Log(own_project("ties_unknown"), ties="place")
    log.run(
        put("a", 1, "one", 9),
        put("a", 1, "two", 5),
        put("b", 1, "b", None),
        put("c", 1, "one", 7),
        put("d", 1, "one", 8),
    )
    assert log.rows == {"a": "one", "b": "b", "c": "one", "d": "one"}
    # The part before it arrives late. `two` is the later content of `a`, but nobody has it now.
    log.run(
        put("a", 1, "one", 1),
        put("b", 1, "c", 12),
        put("c", 1, "two", 3),  # It is the older one.
        put("d", 1, "one", 2),
        put("d", 1, "two", 3),
    )
    assert log.rows == {"c": "one", "d": "two"}
    assert log.store.errors() == dict.fromkeys([(("a",), None), (("b",), None)], "tie")
    log.run(put("a", 1, "two", 20))
    assert log.rows == {"a": "two", "c": "one", "d": "two"}
    log.store.check_laws()


@pytest.mark.long
def test_places_survive_a_repair_and_an_adoption(own_project: OwnProject) -> None:
    project = own_project("kept")
    project.sql("create table {}.c using {format} as select 'old' as k, 'before' as v")
    log = Log(project, ties="place", null_order="arrival")
    log.run(put("a", 1, "first", 0), put("a", 1, "second", 1), put("b", None, "b", 2))
    assert log.rows == {"old": "before", "a": "second", "b": "b"}
    log.run(delete("old", None, 3))
    assert log.rows == {"a": "second", "b": "b"}
    project.sql("update {}.c__trueup set v = 'edited' where _kind = 'row' and k = 'a'")
    log.run()
    assert log.newest["repair"] == "healed"
    assert next_offsets(log.newest) == {("orders", "0"): 4}
    log.run(put("a", 1, "first", 4), put("b", None, "again", 2), put("old", 1, "new", 5))
    assert log.rows == {"a": "second", "b": "b", "old": "new"}
    log.store.check_laws()


@pytest.mark.long
def test_partial_commands_without_an_order_act_when_they_arrive(own_project: OwnProject) -> None:
    more = PLACE + ", ignore_null_updates=true"
    log = Log(own_project("arrival_partial"), more=more, null_order="arrival")
    log.run(put("a", 5, "a5", 0), put("b", 5, "b5", 1), ("b", 7, "U", None, 0, 2))
    log.run(delete("a", None, 3), put("b", None, "newer", 4), put("c", None, "c", 5))
    assert log.rows == {"b": "newer", "c": "c"}
    log.run(put("a", 5, "a5", 0), put("b", 6, "b6", 6), delete("b", None, 3), put("c", 1, "c1", 7))
    assert log.rows == {"b": "newer", "c": "c1"}
    log.store.check_laws()


def newest_by_place(messages: Iterable[Message]) -> dict[str, str]:
    """Fold messages: of the greatest order of a key, the content whose first place is the last."""
    places = dict[tuple[str | None, int], dict[str | None, int]]()
    for key, order, _, value, _, offset in messages:
        assert order is not None
        assert offset is not None
        first = places.setdefault((key, order), {})
        first[value] = min(offset, first.get(value, offset))
    newest = {key: places[key, order] for key, order in sorted(places, key=lambda each: each[1])}
    found = {str(key): max(first, key=first.__getitem__) for key, first in newest.items()}
    return {key: value for key, value in found.items() if value is not None}


@pytest.mark.long
def test_ties_by_place_equal_the_oracle(own_project: OwnProject) -> None:
    rng = random.Random(20261130)  # noqa: S311
    log = Log(own_project("ties_oracle"), ties="place", null_order="arrival")
    read: list[Message] = []
    offset = 0
    for _ in range(5):
        arriving: list[Message] = []
        for _ in range(25):
            offset += 1
            order = rng.randint(offset // 12, offset // 12 + 3)
            value = None if rng.random() < 0.3 else f"v{rng.randint(0, 5)}"
            message: Message = (rng.choice("abcd"), order, "U" if value else "D", value, 0, offset)
            if rng.random() < 0.3 and (read or arriving):
                message = (*rng.choice(read + arriving)[:5], offset)
            arriving.append(message)
        rng.shuffle(arriving)
        log.run(*arriving)
        read += arriving
        assert log.rows == newest_by_place(read)
    assert log.store.errors() == log.store.order_errors() == {}
    log.store.check_laws()


def newest_by_arrival(messages: Iterable[Message]) -> dict[str, str]:
    """Fold the messages of one partition: an order of its own for each without one."""
    orders = dict[str, tuple[int, int]]()
    values = dict[str, str | None]()
    for key, order, _, value, _, _ in sorted(messages, key=lambda each: each[-1] or 0):
        assert key is not None
        before = orders.get(key, (-1, 0))
        now = (before[0], before[1] + 1) if order is None else (order, 0)
        if now > before:
            orders[key], values[key] = now, value
    return {key: value for key, value in values.items() if value is not None}


@pytest.mark.long
def test_commands_without_an_order_equal_the_oracle(own_project: OwnProject) -> None:
    rng = random.Random(20261129)  # noqa: S311
    log = Log(own_project("arrival_oracle"), null_order="arrival")
    messages: list[Message] = []
    for offset in range(120):
        order = None if rng.random() < 0.4 else (offset - rng.randint(0, 6)) * 200 + offset
        value = None if rng.random() < 0.4 else f"v{offset}"
        part = rng.randint(0, 1)
        key = rng.choice("abcd") + str(part)
        messages.append((key, order, "U" if value else "D", value, part, offset))
    read = 0
    while read < len(messages):
        step = rng.randint(10, 40)
        again = rng.choices(messages[: read + step], k=10)
        arriving = messages[read : read + step] + again
        rng.shuffle(arriving)
        log.run(*arriving)
        read += step
        assert log.rows == newest_by_arrival(messages[:read])
    assert log.store.errors() == log.store.order_errors() == {}
    log.store.check_laws()
