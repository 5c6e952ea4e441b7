"""The steps of a run: mint, stage, append and apply. Rebuilds and rebases, too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]


def put(ts: int, key: str = "a") -> Command:
    return Command(ts, (1,), (key,), (f"value {ts}",))


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("protocol")


def add(project: Project, name: str, log: list[Command], **options: Any) -> None:
    project.add_collection(name, KEY, VALUE, options)
    project.append(name, log)


def run(project: Project, name: str, *flags: str, **variables: Any) -> None:
    project.run_collection(name, *flags, **variables)


def batches(project: Project, name: str) -> list[tuple[int, int]]:
    return [(row["_lower"], row["_upper"]) for row in project.progress(name)]


@pytest.mark.long
def test_a_batch_takes_whole_ticks_and_at_least_one(project: Project) -> None:
    log = [put(1, "a"), put(1, "b"), put(1, "c"), put(2), put(3), put(4)]
    add(project, "cut", log, max_commands_per_batch=2)
    for _ in range(4):
        run(project, "cut")
    assert batches(project, "cut") == [(0, 2), (2, 4), (4, 5)]


def test_an_input_upper_keeps_a_tick_open_for_more_commands(project: Project) -> None:
    add(project, "open", [put(1), put(2)], input_upper="log_upper - 1")
    run(project, "open")
    project.append("open", [put(2, "b"), put(3)])
    run(project, "open")
    assert batches(project, "open") == [(0, 2), (2, 3)]
    assert multiset(project.rows("open")) == multiset([("a", "value 2"), ("b", "value 2")])
    staged = "open_batch: batch 2 [2, 3); commands from tick 3 on wait (option `input_upper`)"
    assert staged in project.messages
    run(project, "open")
    idle = "open_batch: up to date at 3; 1 command waits in open ticks (option `input_upper`)"
    assert idle in project.messages
    assert [row["_statistics"]["late_dropped"] for row in project.progress("open")] == [0, 0]


def test_the_first_batch_begins_at_as_of_and_older_commands_are_not_late(project: Project) -> None:
    add(project, "since", [put(1, "old"), put(5, "new")], as_of=5)
    run(project, "since")
    assert batches(project, "since") == [(5, 6)]
    assert project.rows("since") == [("new", "value 5")]
    assert project.progress("since")[0]["_statistics"]["late_dropped"] == 0


@pytest.mark.long
def test_a_batch_without_a_change_advances_the_upper(project: Project) -> None:
    add(project, "idle", [put(1)])
    run(project, "idle")
    project.append("idle", [Command(7, (1,), ("never was",), None)])
    run(project, "idle")
    assert batches(project, "idle") == [(0, 2), (2, 8)]
    assert len(project.updates("idle")) == 1


@pytest.mark.long
def test_until_limits_a_batch_and_never_moves_the_frontier_back(project: Project) -> None:
    add(project, "capped", [put(1), put(2), put(3)])
    for until in (3, 2, 0, 99):
        run(project, "capped", until=until)
    assert batches(project, "capped") == [(0, 3), (3, 4)]


@pytest.mark.long
def test_the_next_run_removes_the_staged_batch_of_a_dry_run(project: Project) -> None:
    add(project, "dry", [put(1)])
    run(project, "dry")
    project.append("dry", [put(2)])
    run(project, "dry", read_only=True)
    assert len(project.sql("select * from {}.dry_batch where _kind = 'update'")) == 2
    run(project, "dry", until=2)
    assert project.sql("select * from {}.dry_batch") == []
    run(project, "dry")
    assert batches(project, "dry") == [(0, 2), (2, 3)]


@pytest.fixture(scope="module")
def made(new_project: Callable[[str], Project]) -> Project:
    """A collection with three batches. They hold rows, a delete and two errors."""
    project = new_project("protocol")
    add(project, "made", [put(1), put(1, "b"), put(1, "c")])
    run(project, "made")
    project.append("made", [put(2), Command(2, (1,), ("b",), None)])
    run(project, "made")
    project.append("made", [Command(3, (1,), ("d",), None, "no number")])
    project.append("made", [Command(3, (1,), None, ("x",), None, "x00ff")])
    run(project, "made")
    return project


def contents(project: Project, name: str) -> Any:
    return multiset(project.sql(f"select * from {{}}.{name}_state"))


@pytest.mark.long
def test_a_full_refresh_of_the_state_rebuilds_it_from_the_changelog(made: Project) -> None:
    before = contents(made, "made")
    made.sql("update {}.made_state set v = 'tampered' where k = 'a'")
    made.sql("delete from {}.made_state where k = 'c'")
    made.run("made_state", "--full-refresh")
    assert contents(made, "made") == before


@pytest.mark.long
def test_the_next_run_rebuilds_a_missing_state(made: Project) -> None:
    before = contents(made, "made")
    made.sql("drop table {}.made_state")
    run(made, "made")
    assert contents(made, "made") == before
    assert len(made.progress("made")) == 3


@pytest.mark.long
def test_runs_go_on_after_a_full_refresh_of_a_state_without_batches(
    project: Project,
) -> None:
    add(project, "empty", [])
    run(project, "empty")
    project.run("empty_state", "--full-refresh")
    project.append("empty", [put(1)])
    run(project, "empty")
    assert project.rows("empty") == [("a", "value 1")]


@pytest.mark.long
def test_a_rebase_starts_again_from_the_log(project: Project) -> None:
    add(project, "rebased", [put(1), put(2, "b")])
    run(project, "rebased")
    project.sql("delete from {}.rebased_log where log_ts = 2")
    run(project, "rebased", "--full-refresh", rebase=True)
    assert batches(project, "rebased") == [(0, 2)]
    assert project.rows("rebased") == [("a", "value 1")]


@pytest.mark.long_cases
@pytest.mark.parametrize("has", ["ticks", "offsets"])
def test_a_rebase_drops_nothing_if_an_option_would_refuse_the_log(
    project: Project, has: str
) -> None:
    name = f"refused_{has}"
    project.add_collection(name, KEY, VALUE, {})
    if has == "offsets":
        commands = project.folder / f"models/{name}/{name}_commands.sql"
        ticks = "reclock=['log_delete', 'log_ts'], sequence_by="
        commands.write_text(re.sub("ts=.*?sequence_by=", ticks, commands.read_text()))
    first = [Command(1, (1,), ("a",), ("one",)), Command(1, (1,), ("a",), ("another",))]
    log = [*first, Command(2, (2,), ("b",), None, "is broken"), put(3, "c")]
    project.append(name, log)
    run(project, name)
    settled = project.updates(name)
    for option, value, said in [
        ("ties", "fail", 'the log .* must be without ties.*1 times a tie, such as .*"a"'),
        ("errors", "fail", 'the log .* must be without errors.*1 times an error, such as .*"b"'),
        ("input_upper", "cast(raise_error('no upper') as bigint)", "no upper"),
    ]:
        # Without ticks, every command has the one tick of the run: the first one.
        options = {option: value} | ({"as_of": 5} if has == "offsets" else {})
        project.configure(**{name: {"+unique_key": ["k"], "+meta": {"trueup": options}}})
        project.run_collection(name, "--full-refresh", rebase=True, fails=True)
        assert re.search(said, "\n".join(project.messages), re.DOTALL)
        assert project.updates(name) == settled


@pytest.mark.long
def test_a_rebase_accepts_a_log_that_a_first_load_accepts(project: Project) -> None:
    """A bad command is no error if it is not the last value, loses a tie, or is truncated."""
    bad = [Command(ts, (1,), (key,), None, "bad") for ts, key in ((1, "a"), (2, "b"), (3, "c"))]
    truncate = Command(3, (2,), None, None, is_truncate=True)
    log = [*bad, put(2), Command(2, (1,), ("b",), None), truncate, put(4, "d")]
    options = {"errors": "fail", "first_batch": "snapshot", "ties": "prefer_delete"}
    project.add_collection("accepted", KEY, VALUE, options, ["truncate_when"])
    project.append("accepted", log)
    run(project, "accepted")
    assert project.rows("accepted") == [("d", "value 4")]

    run(project, "accepted", "--full-refresh", rebase=True)

    assert batches(project, "accepted") == [(0, 5)]
    assert project.rows("accepted") == [("d", "value 4")]


def test_a_null_key_is_an_error_unless_null_keys_makes_it_a_value(
    project: Project,
) -> None:
    null_key = Command(1, (1,), (None,), ("of no key",))
    add(project, "missing_keys", [null_key, put(1)])
    add(project, "null_keys", [null_key, put(1)], null_keys="value")
    project.run("models/missing_keys", "models/null_keys")
    assert project.rows("missing_keys") == [("a", "value 1")]
    assert [error.kind for error in project.errors("missing_keys")] == ["null_key"]
    assert multiset(project.rows("null_keys")) == multiset([(None, "of no key"), ("a", "value 1")])
    assert project.errors("null_keys") == []
    project.append("null_keys", [Command(2, (1,), (None,), ("of no key, too",))])
    run(project, "null_keys")
    assert multiset(project.rows("null_keys")) == multiset(
        [(None, "of no key, too"), ("a", "value 1")]
    )


def test_an_approved_batch_is_staged_again_if_the_changelog_has_got_a_column(
    project: Project,
) -> None:
    name = "waits"
    add(project, name, [put(1), put(1, "b")], max_retractions=0)
    run(project, name)
    project.append(name, [put(2)])
    project.run_collection(name, fails=True)
    plan = project.printed_plan
    ((staged,),) = project.sql(f"select distinct _batch_id from {{}}.{name}_batch")
    project.sql(f"alter table {{}}.{name}_changelog add column w string")
    project.sql(f"alter table {{}}.{name}_state add column w string")
    project.run(f"{name}_changelog+", approve=plan, fails=True)
    said = "\n".join(project.messages)
    assert f"The columns of the staged batch {project.name}.{name}_batch must be those of" in said
    assert f"Stage the batch again: dbt run -s {name}_batch+" in said

    run(project, name, approve=plan)

    assert project.progress(name)[-1]["_batch_id"] != staged
    assert multiset(project.rows(name)) == multiset([("a", "value 2"), ("b", "value 1")])


@pytest.mark.long
def test_an_approved_batch_that_was_edited_names_the_way_out(project: Project) -> None:
    name = "edited"
    add(project, name, [put(1), put(1, "b"), put(1, "c")], max_retractions=0)
    run(project, name)
    deleted = [Command(2, (1,), (key,), None) for key in ("a", "b")]
    project.append(name, deleted)
    project.run_collection(name, fails=True)
    plan = project.printed_plan
    project.sql(f"delete from {{}}.{name}_batch where k = 'a'")
    project.run_collection(name, fails=True, approve=plan)
    said = "\n".join(project.messages)
    assert "damaged batch: the staged batch 2 was edited after it was staged" in said
    assert "run again without the var `trueup_approve`" in said

    project.run_collection(name, fails=True)
    project.run_collection(name, approve=project.printed_plan)

    assert project.rows(name) == [("c", "value 1")]
