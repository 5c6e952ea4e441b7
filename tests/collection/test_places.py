"""The place of a message in its log: topic, partition and offset (`reclock`)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

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

    def run(self, *messages: Message, fails: bool | None = None) -> str:
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
        "models:\n  - name: c\n    data_tests:\n      - trueup.agrees_with_log:\n          arguments:"
        f" {{log: {log.project.name}.log, key: [k], columns: [v], sequence_by: [ord],"
        " delete_when: \"op = 'D'\"}",
    )
    log.project.run("c", command="test")


def test_a_command_without_an_order_follows_a_truncate(own_project: OwnProject) -> None:
    log = Log(own_project("arrival_truncate"), null_order="arrival")
    log.run(put("a", 5, "a5", 0), truncate(8, 1), put("a", None, "after", 2), put("b", 5, "b5", 3))
    assert log.rows == {"a": "after"}
    log.run(put("c", None, "c", 4), put("d", None, "d", 5), truncate(9, 6), put("d", None, "e", 7))
    assert log.rows == {"d": "e"}
    log.store.check_laws()


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


def test_null_order_arrival_is_refused_without_places(own_project: OwnProject) -> None:
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
    log.write(more=", reclock=['part', 'off', 'off', 'off']")
    message = log.run(fails=True)
    assert "argument `reclock`" in message
    assert "the offset is the last" in message


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
