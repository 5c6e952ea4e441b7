"""A first batch with `first_batch: snapshot` writes only the last value of each key."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from tests import strategies
from tests.acceptance import Column, multiset
from tests.between import before
from tests.macros.package import a_collection, in_model
from tests.oracle import Collection, Command, Update, check_laws, consolidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project
    from tests.strategies import Step

KEY, VALUE = [Column("k", "int")], [Column("v", "string")]


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("first_batch")


def add(project: Project, **options: Any) -> str:
    project.add_collection("c", KEY, VALUE, {"first_batch": "snapshot", **options})
    return "c"


LOG = [
    Command(1, (1,), (1,), ("a",)),
    Command(1, (1,), (2,), ("a",)),
    Command(1, (1,), (3,), ("a",)),
    Command(2, (1,), (1,), ("b",)),
    Command(3, (1,), (2,), None),
    Command(4, (1,), (1,), ("b",)),
    Command(5, (1,), (4,), None, "broken"),
]


def test_the_first_batch_writes_one_addition_for_each_row_and_error(project: Project) -> None:
    name = add(project)
    project.append(name, LOG)
    project.run(f"models/{name}")

    updates = {(one.key, one.value, one.error): (one.ts, one.diff) for one in project.updates(name)}
    assert updates == {
        ((1,), ("b",), None): (4, 1),
        ((3,), ("a",), None): (1, 1),
        ((4,), None, "broken"): (5, 1),
    }
    found = project.progress(name)[0]["_statistics"]
    assert (found.messages_received, found.updates_staged, found.inserts) == (7, 3, 2)
    assert (found.updates, found.deletes, found.retractions, found.error_inserts) == (0, 0, 0, 1)
    assert (found.records_indexed, found.since) == (3, 5)


@pytest.mark.long
@pytest.mark.parametrize("ties", ["hash", "prefer_delete"])
def test_the_last_commands_of_few_keys_are_the_same(project: Project, ties: str) -> None:
    """A batch of millions of commands on few keys takes another way; see `_get_has_few_keys`."""
    trueup = in_model("files_batch", options={"first_batch": "snapshot", "ties": ties})
    random = Random(11)  # noqa: S311 - the commands must be the same each time
    choose = random.choice

    def command() -> str:
        preferred = f"{choose(['true', 'false'])} as _is_preferred," if ties != "hash" else ""
        return (
            f"select {choose(['null', *map(repr, 'abcd')])} as path,"
            f" {choose(['null', repr('e')])} as _error_key,"
            f" cast({random.randrange(9)} as bigint) as _ts,"
            f" struct({random.randrange(3)}) as _order, {preferred}"
            f" cast({random.randrange(3)} as bigint) as _hash,"
            f" {choose(['null', 'named_struct(' + repr('size') + ', 1)'])} as _value"
        )

    commands = " union all ".join(command() for _ in range(200))
    slow, fast = (
        multiset(
            project.sql(
                str(trueup._last_commands_select(a_collection(trueup), commands, has_few_keys))
            )
        )
        for has_few_keys in (False, True)
    )
    assert slow == fast
    assert len(slow) == 10


def test_ticks_before_the_snapshot_cannot_be_read(project: Project) -> None:
    name = add(project)
    project.append(name, LOG)
    for ts in (5, 4):
        project.write(
            f"models/{name}/{name}_at_{ts}.sql", f"{{{{ trueup.as_of('{name}', {ts}) }}}}"
        )
    project.run(f"models/{name}")

    assert len(project.sql(f"select * from {{}}.{name}_at_5")) == 2
    with pytest.raises(Py4JJavaError, match="tick 4 can no longer be read"):
        project.sql(f"select * from {{}}.{name}_at_4")


def test_an_eager_collection_must_begin_with_its_history(project: Project) -> None:
    name = add(project, eager=True)
    project.run(f"models/{name}", fails=True)

    said = "\n".join(project.messages)
    assert "Option `first_batch` in `meta.trueup` of" in said
    assert "must be history, because `eager` is true" in said
    project.configure(**{name: {"+enabled": False}})


@st.composite
def splits(draw: st.DrawFn) -> list[Step]:
    """A log, cut at ticks."""
    log = draw(strategies.logs(1, min_size=strategies.LEAST, max_size=60))
    return draw(strategies.tick_splits(log))


def lesser_part(steps: list[Step]) -> int:
    """Scores a split: the updates that its first batch leaves out, or those of later batches."""
    oracle, arrived, batches = Collection(), list[Command](), []
    for step in steps:
        arrived += step.commands
        batches.append(oracle.run(arrived, step.until))
    first, *later = [updates for updates in batches if updates] or [[]]
    return min(len(first) - len(last_additions(first)), sum(map(len, later)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_only_the_updates_of_the_first_batch_differ_from_those_of_history(
    own_project: Callable[[str], Project], seed: int
) -> None:
    steps = strategies.choose(splits(), seed, lesser_part)
    assert seed or lesser_part(steps) >= 3
    project, name, oracle = own_project("first_batch"), "c", Collection()
    key = [Column(*column) for column in strategies.KEY_COLUMNS[1]]
    value = [Column(*column) for column in strategies.VALUE_COLUMNS]
    project.add_collection(name, key, value, {"first_batch": "snapshot", "verify": "content"})
    arrived: list[Command] = []
    expected: list[Update] = []
    since = 0
    for step in steps:
        arrived += step.commands
        project.append(name, step.commands)
        project.run_collection(name, until=step.until)
        is_first = oracle.upper == 0
        updates = oracle.run(arrived, step.until)
        expected += last_additions(updates) if is_first else updates
        since = oracle.upper if is_first else since
        assert multiset(project.rows(name)) == multiset(oracle.rows)
        assert multiset(project.errors(name)) == multiset(oracle.errors)
    found = project.updates(name)
    check_laws(found)
    # An addition of the first batch has the tick of the last command, not that of the last change.
    assert consolidate(without_first_ticks(found, since)) == consolidate(
        without_first_ticks(expected, since)
    )
    assert len(found) == len(expected)


def without_first_ticks(updates: list[Update], since: int) -> list[Update]:
    """Return the updates with one tick for all of the first batch."""
    return [each._replace(ts=max(each.ts, since - 1)) for each in updates]


def last_additions(updates: list[Update]) -> list[Update]:
    """Return the addition that each identity ends with, if it does not end with a retraction."""
    last = {
        update.identity: update for update in sorted(updates, key=lambda one: (one.ts, one.diff))
    }
    return [update for update in last.values() if update.diff == 1]


@pytest.mark.long
def test_an_empty_state_is_not_filled_if_the_changelog_has_lost_the_batch(project: Project) -> None:
    name = add(project)
    project.append(name, LOG)
    lose = f"delete from {{}}.{name}_changelog where true"
    with before(f"insert overwrite .*{name}_state", lambda: project.sql(lose)):
        project.run(f"models/{name}", fails=True)
    said = "\n".join(project.messages)
    assert "state moved: the tail was read after batch 0 up to batch 1, and since then a" in said
    project.run(f"models/{name}")
    assert multiset(project.rows(name)) == multiset([(1, "b"), (3, "a")])


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("update {} set _seq = 1 where _kind = 'progress'", "batch 1"),
        ("delete from {} where _kind = 'progress'", "no progress row"),
    ],
)
def test_an_empty_state_is_not_filled_if_its_progress_has_moved(
    project: Project, change: str, found: str
) -> None:
    name = add(project)
    state = f"{{}}.{name}_state"
    project.append(name, LOG)
    with before(f"insert overwrite .*{name}_state", lambda: project.sql(change.format(state))):
        project.run(f"models/{name}", fails=True)
    said = "\n".join(project.messages)
    assert f"state moved: it had applied no batch, and has {found} now" in said
    assert "\tat org." not in said, "a page of Java"
    if found == "batch 1":
        project.sql(f"update {state} set _seq = 0 where _kind = 'progress'")
    else:
        # The next run says that this is needed.
        project.run(f"{name}_state", "--full-refresh")
    project.run(f"models/{name}")
    assert multiset(project.rows(name)) == multiset([(1, "b"), (3, "a")])
