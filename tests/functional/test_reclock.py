"""Logs with partitions and offsets instead of ticks.

One collection goes through all steps, and each step is a fixture. The oracle gets each command with
the tick that the rules give it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from tests.acceptance import Column, multiset
from tests.macros.package import in_model
from tests.oracle import Collection, Command, check_laws, consolidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.project import Project

ODD = "it's \"p\\ ${env:HOME}"
"""A partition may be any text."""


class Message(NamedTuple):
    """A row of the table. It is a delete if it has no value."""

    partition: str | None
    offset: int | None
    key: str
    value: str | None


class Topic:
    """A collection that reads a table of partitions and offsets, with its oracle."""

    def __init__(self, project: Project, name: str, **also: str) -> None:
        """Write the models, one of them for completeness, and make an empty table."""
        self.project, self.name = project, name
        project.add_collection(name, [Column("k", "string")], [Column("v", "string")])
        arguments = "reclock=['partition', 'offset'], columns=['v'], delete_when='v is null'"
        arguments += "".join(f", {argument}='{item}'" for argument, item in also.items())
        project.write(
            f"models/{name}/{name}_commands.sql",
            f"{{{{ trueup.commands('{project.name}.{name}_log_view', {arguments}) }}}}",
        )
        project.write(
            f"models/{name}/{name}_completeness.sql", f"{{{{ trueup.completeness('{name}') }}}}"
        )
        columns = "`partition` string, `offset` bigint, k string, v string"
        project.sql(f"create table {{}}.{name}_topic ({columns}) using {{format}}")
        self.show()
        self.restart([])

    def show(self, offset: str = "`offset`") -> None:
        """Make the view of the table that the commands read."""
        self.project.sql(
            f"create or replace view {{}}.{self.name}_log_view as select * except (`offset`),"
            f" {offset} as `offset` from {{}}.{self.name}_topic"
        )

    def restart(self, log: list[Message]) -> None:
        """Begin with this log. None of it is settled."""
        self.waiting = log
        self.settled: dict[str | None, int] = {}
        self.oracle = Collection(tie_breaker=lambda tied: tied[0])
        self.log: list[Command] = []

    def land(self, *messages: Message) -> None:
        """Append messages to the table."""
        self.project.insert(f"{self.name}_topic", messages)
        self.waiting += messages

    def settle(self) -> None:
        """Run the oracle. A command has the tick of the batch unless its offset was settled."""
        upper = self.oracle.upper
        for partition, offset, key, value in self.waiting:
            assert offset is not None
            is_seen = offset < self.settled.get(partition, 0)
            content = None if value is None else (value,)
            self.log.append(Command(upper - is_seen, (offset, partition), (key,), content))
        for message in self.waiting:
            assert message.offset is not None
            last = self.settled.get(message.partition, 0)
            self.settled[message.partition] = max(last, message.offset + 1)
        self.waiting = []
        self.oracle.run(self.log)

    def check(self, *, is_eager: bool = False) -> None:
        """The rows and the changelog equal those of the oracle.

        An eager collection also has updates of open ticks, and takes them back later.
        """
        updates = self.project.updates(self.name)
        check_laws(updates)
        assert multiset(self.project.rows(self.name)) == multiset(self.oracle.rows)
        assert consolidate(updates) == consolidate(self.oracle.changelog)
        assert is_eager or len(updates) == len(self.oracle.changelog)

    def statistics(self) -> Any:
        """The statistics of the last batch."""
        return self.project.progress(self.name)[-1]["_statistics"]

    def partitions(self) -> dict[str, tuple[int | None, int]]:
        """The first and the next offset of each partition in the last batch."""
        return {row[0]: tuple(row)[1:] for row in self.statistics()["partitions"]}

    def findings(self) -> list[tuple[Any, ...]]:
        """The kind, partition, first and last offset of each finding."""
        rows = self.project.sql(f"select * from {{}}.{self.name}_completeness")
        return sorted(map(tuple, rows))


@pytest.fixture(scope="module")
def made(new_project: Callable[[str], Project]) -> Topic:
    return Topic(new_project("reclock"), "c")


@pytest.fixture(scope="module")
def first(made: Topic) -> Topic:
    """The first run. Partition 1 begins at offset 5 and has a gap."""
    made.land(
        Message("0", 0, "a", "first"),
        Message("0", 1, "a", "second"),
        Message("1", 5, "b", "first"),
        Message("1", 7, "b", "second"),
        Message(ODD, 0, "c", "kept"),
        Message("1", 8, "c", "wins by its greater offset"),
        Message("0", 2, "gone", "soon"),
    )
    made.project.run()
    made.settle()
    return made


@pytest.mark.long
def test_a_command_has_the_tick_of_its_batch_and_its_offset_as_order(first: Topic) -> None:
    first.check()
    assert {update.ts for update in first.project.updates("c")} == {0}


def test_the_progress_row_keeps_the_offsets_of_each_partition(first: Topic) -> None:
    assert first.partitions() == {"0": (0, 3), "1": (5, 9), ODD: (0, 1)}


def test_a_gap_is_a_missing_offset_after_the_first_one_of_a_partition(
    first: Topic,
) -> None:
    assert first.findings() == [("gap", "1", 6, 6)]


@pytest.fixture(scope="module")
def second(first: Topic) -> Topic:
    """The second run, with redelivered offsets, a late offset and a new partition."""
    first.land(
        Message("0", 3, "gone", None),
        Message("0", 1, "a", "second"),
        Message("1", 6, "b", "fills the gap, too late"),
        Message("2", 0, "d", "new partition"),
        Message("0", 4, "a", "third"),
        Message("0", 4, "a", "third"),
    )
    first.project.run()
    first.settle()
    return first


def test_a_command_with_a_settled_offset_is_dropped_and_counted_as_late(
    second: Topic,
) -> None:
    second.check()
    assert second.statistics()["late_dropped"] == 2
    assert second.statistics()["messages_received"] == 4
    assert second.statistics()["commands_settled"] == len(second.log)


def test_a_batch_keeps_the_first_offset_that_it_settled_of_each_partition(second: Topic) -> None:
    assert second.partitions() == {
        "0": (3, 5),
        "1": (None, 9),
        "2": (0, 1),
        ODD: (None, 1),
    }


def test_a_filled_gap_is_no_longer_a_finding(second: Topic) -> None:
    assert second.findings() == []


@pytest.fixture(scope="module")
def partly(second: Topic) -> Topic:
    """A run that stops after staging, one that stops after the append, and two without work."""
    before = multiset(second.project.sql("select * from {}.c_changelog"))
    second.project.run("c_commands+")
    assert "c_batch: up to date at 2" in second.project.messages
    assert multiset(second.project.sql("select * from {}.c_changelog")) == before
    second.land(Message("0", 5, "a", "staged, not appended"))
    second.project.run("c_commands", "c_batch")
    second.land(Message("0", 6, "a", "fourth"), Message("1", 9, "b", "third"))
    second.project.run("c_commands+", until=2)
    waiting = "c_batch: up to date at 2; 3 commands wait in open ticks (var `trueup_until`)"
    assert waiting in second.project.messages
    second.project.run("c_commands", "c_batch", "c_changelog", until=3)
    second.settle()
    second.land(Message("1", 10, "b", None))
    second.project.run("c_commands+")
    second.settle()
    return second


@pytest.mark.long
def test_the_next_run_completes_a_run_that_stopped_around_the_append(partly: Topic) -> None:
    partly.check()
    progress = partly.project.progress("c")
    assert [(row["_seq"], row["_lower"], row["_upper"]) for row in progress] == [
        (seq, seq - 1, seq) for seq in (1, 2, 3, 4)
    ]


@pytest.fixture(scope="module")
def lossy(partly: Topic) -> Topic:
    """A log that lost some commands before a run read them, and others after that."""
    partly.project.sql("delete from {}.c_topic where `partition` in ('0', '2')")
    partly.land(Message("0", 9, "a", "after the loss"), Message("1", 2, "b", "another b"))
    partly.project.run("c_commands+")
    partly.settle()
    return partly


def test_commands_that_were_lost_before_a_run_read_them_are_a_gap(lossy: Topic) -> None:
    lossy.check()
    assert ("gap", "0", 7, 8) in lossy.findings()


def test_a_partition_that_ends_below_its_settled_offsets_is_a_regression(lossy: Topic) -> None:
    assert ("regression", "2", 0, 0) in lossy.findings()


def test_a_new_offset_below_the_first_one_opens_a_gap_between_them(lossy: Topic) -> None:
    assert ("gap", "1", 3, 4) in lossy.findings()
    assert len(lossy.findings()) == 3


@pytest.fixture(scope="module")
def recreated(lossy: Topic) -> Topic:
    lossy.land(Message("1", 7, "b", "not what it was"), Message("1", 8, "x", "nor this"))
    return lossy


def test_a_partition_with_two_contents_at_one_offset_was_recreated(recreated: Topic) -> None:
    assert ("recreated", "1", 7, 8) in recreated.findings()


TESTS: dict[str, dict[str, Any]] = {
    "everything": {},
    "compacted": {"findings": ["regression", "recreated"]},
    "accepted": {
        "findings": ["gap"],
        "config": {"where": "_partition <> '0' and first_offset > 4"},
    },
}


def test_is_complete_counts_only_the_chosen_findings(recreated: Topic) -> None:
    tests = [
        {"trueup.is_complete": {"name": name, **arguments}} for name, arguments in TESTS.items()
    ]
    page = {"version": 2, "models": [{"name": "c_completeness", "data_tests": tests}]}
    recreated.project.write("models/c/_c.yml", yaml.safe_dump(page))
    recreated.project.run("c_completeness", command="test", fails=True)
    said = dict(message.split(": ", 1) for message in recreated.project.messages)
    assert said["everything"].startswith("Got 4 results")
    assert said["compacted"].startswith("Got 2 results")
    assert not said["accepted"].startswith("Got")


@pytest.fixture(scope="module")
def without_partition(recreated: Topic) -> Topic:
    recreated.project.sql(
        "insert into {}.c_topic values (null, 3, 'n', 'n'), ('3', null, 'n', 'n')"
    )
    return recreated


def test_a_null_partition_or_offset_stops_a_run_and_a_rebase(
    without_partition: Topic,
) -> None:
    project = without_partition.project
    before = multiset(project.sql("select * from {}.c_changelog"))
    for flags in ([], ["--full-refresh"]):
        project.run("c_commands+", *flags, fails=True, rebase=bool(flags))
        said = "\n".join(project.messages)
        assert "the partition and offset (`reclock`), of `trueup.commands` must be not null" in said
        assert "Got: 2 commands without one" in said
    assert multiset(project.sql("select * from {}.c_changelog")) == before


@pytest.mark.parametrize("offset", ["'7'", "timestamp '2026-01-01'"])
def test_an_offset_must_be_an_integer(without_partition: Topic, offset: str) -> None:
    without_partition.show(offset)
    without_partition.project.run("c_commands", "c_batch", fails=True)
    without_partition.show()
    said = "\n".join(without_partition.project.messages)
    assert "argument `reclock` must end with a column of integers, the offset." in said
    assert "Got: offset of type" in said
    assert "\tat org." not in said


@pytest.mark.long
def test_a_rebase_settles_the_whole_log_in_one_batch(without_partition: Topic) -> None:
    topic = without_partition
    topic.project.sql("delete from {}.c_topic where `partition` is null or `offset` is null")
    topic.project.run("c_commands+", "--full-refresh", rebase=True)
    topic.restart([Message(*row) for row in topic.project.sql("select * from {}.c_topic")])
    topic.settle()
    topic.check()
    assert "recreated" in {finding[0] for finding in topic.findings()}


@pytest.mark.long
def test_an_input_upper_beyond_the_lower_settles_one_tick_of_each_batch(
    own_project: Callable[[str], Project],
) -> None:
    topic = Topic(own_project("gated"), "c")
    options = {"verify": "never", "input_upper": "1000"}
    topic.project.configure(c={"+unique_key": ["k"], "+meta": {"trueup": options}})
    for number in range(3):
        topic.land(Message("0", number, "a", f"value {number}"))
        topic.project.run()
        topic.settle()
        topic.check()
    assert [row["_upper"] for row in topic.project.progress("c")] == [1, 2, 3]
    topic.project.run("c_commands+")
    assert "c_batch: up to date at 3" in topic.project.messages


@pytest.mark.parametrize(
    ("commands", "findings"),
    [
        ([("delete", 1, None), ("upsert", 7, 1)], []),
        ([("delete", 1, None), ("upsert", 7, 1), ("upsert", 8, None)], ["recreated"]),
        ([("delete", 1, None), ("upsert", 7, None)], ["recreated"]),
        # The new key is bad.
        ([("delete", 1, None), ("upsert", None, None)], []),
        ([("upsert", 1, None), ("upsert", None, None)], ["recreated"]),
    ],
)
def test_a_message_that_moves_a_row_is_one_content_of_its_offset(
    spark: SparkSession, commands: list[tuple[str, int | None, int | None]], findings: list[str]
) -> None:
    values = ", ".join(
        f"('{op}', {key or 'null'}, struct(cast({old or 'null'} as int) as id))"
        for op, key, old in commands
    )
    spark.sql(
        "create or replace temp view moved_commands as select id, 1L as _ts, '0' as _partition,"
        " 5L as _offset, _op, _old_key, if(id is null, 'x00', null) as _error_key"
        f" from values {values} as log (_op, id, _old_key)"
    )
    spark.sql(
        "create or replace temp view moved_changelog as select 1 as _seq, 'x' as _kind,"
        " named_struct('partitions', cast(null as array<struct<_partition: string,"
        " first_offset: bigint, next_offset: bigint>>)) as _statistics"
    )
    select = str(in_model("moved_completeness").completeness("moved"))
    found = spark.sql(select.replace("lake.moved_", "moved_")).collect()
    for role in ("commands", "changelog"):
        spark.catalog.dropTempView(f"moved_{role}")
    assert [row["_finding"] for row in found] == findings
