"""The view `<collection>_live` shows the collection as if the whole log were settled now."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests import strategies
from tests.acceptance import Column, multiset
from tests.functional.test_random_options import own_keys
from tests.functional.test_reclock import ODD, Message, Topic
from tests.oracle import Collection, Command, canonical
from tests.strategies import Kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY = [Column(*column) for column in strategies.KEY_COLUMNS[1]]
VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]
SETTINGS = {
    "waits": Kinds(partial=True, truncates=True),
    "eager": Kinds(partial=True, truncates=True),
    "key_changes": Kinds(partial=True, key_changes=True),
}
UPPERS = (0, 3, 5)
"""The upper after each run. The log has ticks beyond the last upper."""


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    project = new_project("live")
    project.sql("create table {}.uppers as select cast(0 as bigint) as upper")
    for name, kinds in SETTINGS.items():
        extra = {
            "truncate_when": kinds.truncates,
            "unchanged": kinds.partial,
            "old_key": kinds.key_changes,
        }
        options = {
            "eager": name == "eager",
            "input_upper": "least(log_upper, (select max(upper) from live.uppers))",
        }
        project.add_collection(name, KEY, VALUE, options, [each for each in extra if extra[each]])
        project.write(f"models/{name}/{name}_live.sql", f"{{{{ trueup.live('{name}') }}}}")
    return project


def arrivals_of(kinds: Kinds, rng: Random) -> list[list[Command]]:
    """A log in three parts, one for each run. No command arrives late."""
    strategy = strategies.logs(1, kinds._replace(truncates=False), min_size=5, max_size=20)
    drawn = strategies.sample(strategy, 20, rng.randrange(2**32))
    log = [own_keys(each, number) for number, family in enumerate(drawn) for each in family]
    if kinds.truncates:
        log += [Command(ts, (1, 1), None, None, is_truncate=True) for ts in (2, 4)]
    arrivals: list[list[Command]] = [[] for _ in UPPERS]
    for command in log:
        settled = sum(command.ts < upper for upper in UPPERS[:-1])
        arrivals[rng.randint(0, 2 - settled)].append(command)
    return arrivals


def check(project: Project, name: str, arrived: list[Command], upper: int) -> None:
    """The view has the rows of the whole log. A row is final if no open command has its key."""
    oracle = Collection()
    oracle.run(arrived)
    ahead = {command.identity for command in arrived if command.ts >= upper}
    expected = [(*row, ((row[0],), None) not in ahead) for row in oracle.rows]
    assert multiset(project.rows(f"{name}_live")) == multiset(expected)


@pytest.mark.long
def test_live_shows_the_whole_log_and_says_which_rows_are_final(project: Project) -> None:
    rng = Random(3)  # noqa: S311 - no secret
    arrivals = {name: arrivals_of(kinds, rng) for name, kinds in SETTINGS.items()}
    arrived: dict[str, list[Command]] = {name: [] for name in SETTINGS}
    for run, upper in enumerate(UPPERS):
        project.sql(f"insert overwrite {{}}.uppers values ({upper})")
        for name in SETTINGS:
            project.append(name, arrivals[name][run])
            arrived[name] += arrivals[name][run]
        if run == 0:
            project.run()
        else:
            # New commands show before a run reads them.
            check(project, "waits", arrived["waits"], UPPERS[run - 1])
            roles = ("batch", "changelog")
            project.run(*(f"{name}_{role}" for name in SETTINGS for role in roles))
            # The changelog is ahead of the state. The view follows the state.
            check(project, "eager", arrived["eager"], UPPERS[run - 1])
            project.run(*(f"{name}_state" for name in SETTINGS))
        for name in SETTINGS:
            check(project, name, arrived[name], upper)
    assert {row[-1] for row in project.rows("waits_live")} == {True, False}


def test_live_has_the_columns_of_the_collection_and_no_errors(project: Project) -> None:
    assert project.spark.table("live.waits_live").columns == ["k", "v1", "v2", "_is_final"]
    bad = {canonical(error.key) for error in project.errors("waits") if error.key}
    assert bad
    assert not bad & {canonical(row[:1]) for row in project.rows("waits_live") if row[-1]}


class Reclocked(Topic):
    """A topic with a live view."""

    def __init__(self, project: Project, name: str) -> None:
        """Write the view beside the other models."""
        super().__init__(project, name)
        project.write(f"models/{name}/{name}_live.sql", f"{{{{ trueup.live('{name}') }}}}")

    def check_ahead(self) -> None:
        """The view shows the commands that no batch has settled. Their rows are not final."""
        ahead = [
            Command(
                *(self.oracle.upper, (message.offset, message.partition), (message.key,)),
                None if message.value is None else (message.value,),
            )
            for message in self.waiting
            if message.offset is not None
            and message.offset >= self.settled.get(message.partition, 0)
        ]
        oracle = deepcopy(self.oracle)
        oracle.run(self.log + ahead)
        keys = {command.identity for command in ahead}
        expected = [(*row, (row[:1], None) not in keys) for row in oracle.rows]
        assert multiset(self.project.rows(f"{self.name}_live")) == multiset(expected)


@pytest.fixture(scope="module")
def offsets(new_project: Callable[[str], Project]) -> Project:
    return new_project("live_offsets")


@pytest.mark.long
def test_live_shows_the_unsettled_commands_of_a_log_without_ticks(offsets: Project) -> None:
    topic = Reclocked(offsets, "c")
    topic.project.run("c_commands")
    topic.project.run("c_live", fails=True)
    assert "c_live must be run after c_batch has made" in "\n".join(topic.project.messages)
    topic.land(
        Message("0", 0, "a", "first"),
        Message("1", 5, "b", "first"),
        Message(ODD, 3, "c", "kept"),
        Message("1", 6, "gone", "soon"),
    )
    # A batch is staged, but the state has no batch. So nothing is settled.
    topic.project.run("c_corrections", "c_batch", "c_live")
    topic.check_ahead()
    topic.project.run()
    topic.settle()
    topic.check_ahead()
    topic.land(
        Message("0", 0, "a", "first"),
        Message("0", 1, "a", "second"),
        Message("1", 2, "b", "too late"),
        Message("1", 7, "gone", None),
        Message("2", 0, "d", "new partition"),
        Message("2", 1, "d", "its last"),
    )
    topic.check_ahead()
    topic.project.run("c_batch", "c_changelog")
    # The changelog is ahead of the state. The view follows the state.
    topic.check_ahead()
    topic.project.run("c_state")
    topic.settle()
    topic.check_ahead()
    topic.land(Message("2", 1, "d", "again"), Message("1", 8, "b", None), Message(ODD, 4, "c", "c"))
    topic.check_ahead()
    topic.project.run("c_batch", "c_changelog", "c_state")
    topic.settle()
    topic.check_ahead()
    assert topic.project.rows("c_live")


@pytest.mark.long
def test_provisional_rows_of_a_log_without_ticks_are_not_final_in_live(
    offsets: Project,
) -> None:
    topic = Reclocked(offsets, "held")
    offsets.sql("create table {}.uppers as select cast(0 as bigint) as upper")
    upper = "least(log_upper, (select max(upper) from live_offsets.uppers))"
    options = {"eager": True, "input_upper": upper, "verify": "never"}
    offsets.configure(held={"+unique_key": ["k"], "+meta": {"trueup": options}})
    batches = [
        [Message("0", 0, "a", "first"), Message("1", 3, "b", "first")],
        [Message("0", 1, "a", "second"), Message("1", 4, "b", None)],
        [Message("0", 2, "c", "first"), Message("1", 4, "b", None)],
        [Message("0", 3, "a", None), Message("2", 0, "d", "first")],
    ]
    for run_no, settles in enumerate((False, True, False, True)):
        topic.land(*batches[run_no])
        offsets.sql(f"insert overwrite {{}}.uppers values ({100 * settles})")
        tables = [f"held_{role}" for role in ("corrections", "batch", "changelog", "state")]
        offsets.run(*(tables if run_no else ["models/held"]))
        if settles:
            topic.settle()
        topic.check_ahead()
        # The collection holds the provisional rows, too.
        expected = [row[:-1] for row in offsets.rows("held_live")]
        assert multiset(offsets.rows("held")) == multiset(expected)
    topic.check(is_eager=True)
