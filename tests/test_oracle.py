"""Tests the oracle with the acceptance cases, the git histories, and laws for any log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import acceptance, git_history, oracle, strategies
from tests.oracle import Collection, Command, Error, Late, StoppedError, Ties, Update
from tests.strategies import ALL_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

LATE: tuple[Late, ...] = ("drop", "correct")


def is_punctual(case: acceptance.Case) -> bool:
    """Whether all commands of the case arrive at or above the frontier."""
    collection = Collection(case.late)
    log: list[Command] = []
    for run in case.runs:
        if any(command.ts < collection.upper for command in run.commands):
            return False
        log += run.commands
        collection.run(log, run.until)
    return True


CASES = acceptance.load()
PUNCTUAL = [case for case in CASES if is_punctual(case)]
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
each_history = pytest.mark.parametrize("name", git_history.available())
each_policy = pytest.mark.parametrize("late", LATE)
NAN = float("nan")
TIES: tuple[Ties, ...] = ("hash", "prefer_delete", "prefer_upsert")


def upsert(ts: int, order: int, key: str, value: object) -> Command:
    return Command(ts, (order,), (key,), (value,))


def delete(ts: int, order: int, key: str) -> Command:
    return Command(ts, (order,), (key,), None)


def truncate(ts: int, order: int) -> Command:
    return Command(ts, (order,), None, None, is_truncate=True)


def part(ts: int, order: int, key: str, *value: object, old_key: str | None = None) -> Command:
    """A command that leaves the columns given as `...` unchanged."""
    unchanged = frozenset(i for i, item in enumerate(value) if item is ...)
    old = None if old_key is None else (old_key,)
    return Command(ts, (order,), (key,), value, unchanged=unchanged, old_key=old)


def greatest_payload(tied: list[Command]) -> Command:
    def text(command: Command) -> str:
        content, unchanged, source = command.payload
        return repr((content, sorted(unchanged), source))

    return max(tied, key=text)


def replay(
    steps: Sequence[strategies.Step], late: Late = "drop", ties: Ties = "hash"
) -> Collection:
    collection = Collection(late, greatest_payload, ties=ties)
    log: list[Command] = []
    for step in steps:
        log += step.commands
        collection.run(log, step.until, step.max_commands)
    return collection


def settle(log: list[Command], late: Late = "drop", ties: Ties = "hash") -> Collection:
    return replay([strategies.Step(log)], late, ties)


def assert_same(left: Collection, right: Collection, *, ignoring: str = "") -> None:
    """Compare content, consolidated changelog, upper, and all counters but the ignored one."""
    assert (left.rows, left.errors) == (right.rows, right.errors)
    assert oracle.consolidate(left.changelog) == oracle.consolidate(right.changelog)
    assert left.upper == right.upper
    names = set(left.counters) - {ignoring}
    assert {name: left.counters[name] for name in names} == {
        name: right.counters[name] for name in names
    }


# ---------------------------------------------------------------------------- acceptance cases


def check_case(case: acceptance.Case, late: Late, *, disordered: bool = False) -> None:
    collection = Collection(late)
    log: list[Command] = []
    for run in case.runs:
        log = [*run.commands, *reversed(log), *run.commands] if disordered else log + run.commands
        updates = collection.run(log, run.until)
        assert acceptance.multiset(collection.rows) == acceptance.multiset(run.rows)
        assert acceptance.multiset(collection.errors) == acceptance.multiset(run.errors)
        if run.changelog is not None:
            assert oracle.consolidate(updates) == oracle.consolidate(run.changelog)
        assert len(updates) == len(oracle.consolidate(updates))
    oracle.check_laws(collection.changelog)


@each_case
def test_every_acceptance_case_holds(case: acceptance.Case) -> None:
    check_case(case, case.late)


@each_policy
@pytest.mark.parametrize("case", PUNCTUAL, ids=[case.name for case in PUNCTUAL])
def test_a_case_without_late_commands_holds_under_both_late_policies(
    case: acceptance.Case, late: Late
) -> None:
    check_case(case, late)


@each_case
def test_every_acceptance_case_holds_with_reordered_and_duplicate_commands(
    case: acceptance.Case,
) -> None:
    check_case(case, case.late, disordered=True)


# ---------------------------------------------------------------------------- git histories


@pytest.mark.slow
@each_policy
@each_history
def test_a_history_gives_every_tree_if_it_is_settled_in_steps(name: str, late: Late) -> None:
    history = git_history.load(name)
    log = [change.command() for change in history.changes]
    collection = Collection(late)
    for commit_no, tree in sorted(history.trees.items()):
        collection.run(log, until=commit_no + 1)
        assert collection.rows == set(tree)
        assert not collection.errors
    oracle.check_laws(collection.changelog)
    whole = Collection(late)
    whole.run(log)
    assert_same(collection, whole)


@pytest.mark.slow
@each_history
def test_a_history_gives_every_tree_if_it_arrives_in_steps(name: str) -> None:
    history = git_history.load(name)
    collection = Collection()
    for commit_no, tree in sorted(history.trees.items()):
        collection.run([each.command() for each in history.changes if each.commit_no <= commit_no])
        assert collection.rows == set(tree)


@pytest.mark.slow
@each_history
def test_a_history_can_be_read_as_of_every_tree(name: str) -> None:
    history = git_history.load(name)
    log = [change.command() for change in history.changes]
    collection = Collection()
    while collection.upper <= history.changes[-1].commit_no:
        collection.run(log, max_commands=20_000)
    for commit_no, tree in history.trees.items():
        assert collection.as_of(commit_no) == (set(tree), set())


# ---------------------------------------------------------------------------- laws on any log


def any_log() -> st.SearchStrategy[list[Command]]:
    return strategies.logs(kinds=ALL_KINDS)


@each_policy
@given(st.data())
def test_splitting_a_log_at_ticks_changes_nothing(late: Late, data: st.DataObject) -> None:
    log = data.draw(any_log())
    steps = data.draw(strategies.tick_splits(log))
    assert_same(replay(steps, late), settle(log, late))


@each_policy
@given(st.data())
def test_shuffling_a_log_changes_nothing(late: Late, data: st.DataObject) -> None:
    log = data.draw(any_log())
    assert_same(settle(data.draw(strategies.shuffles(log)), late), settle(log, late))


@each_policy
@given(st.data())
def test_duplicating_commands_changes_nothing(late: Late, data: st.DataObject) -> None:
    log = data.draw(any_log())
    again = settle(data.draw(strategies.duplicates(log)), late)
    assert_same(again, settle(log, late), ignoring="messages_received")


@each_policy
@given(st.data())
def test_running_again_changes_nothing(late: Late, data: st.DataObject) -> None:
    steps = data.draw(strategies.late_splits(data.draw(any_log())))
    collection = replay(steps, late)
    log = [command for step in steps for command in step.commands]
    before = [*collection.changelog], collection.upper, collection.counters.copy()
    assert collection.run(log) == []
    assert (collection.changelog, collection.upper, collection.counters) == before


@each_policy
@given(st.data())
def test_the_laws_of_a_changelog_hold_for_any_order_of_arrival(
    late: Late, data: st.DataObject
) -> None:
    steps = data.draw(strategies.late_splits(data.draw(any_log())))
    collection = replay(steps, late)
    oracle.check_laws(collection.changelog)
    assert collection.as_of(collection.upper) == (collection.rows, collection.errors)


@given(strategies.logs())
def test_the_latest_tick_wins_and_within_it_the_greatest_order(log: list[Command]) -> None:
    collection = settle(log)
    for tick in range(collection.upper):
        rows, errors = set(), set()
        past = [command for command in log if command.ts <= tick]
        for identity in {command.identity for command in past}:
            of_key = [command for command in past if command.identity == identity]
            winner = max(of_key, key=lambda command: (command.ts, command.order))
            if winner.content is None:
                continue
            if winner.content[0] is None:
                errors.add(Error(*identity, winner.content[1]))
            else:
                rows.add(oracle.canonical((*(winner.key or ()), *winner.content[0])))
        assert collection.as_of(tick) == (rows, errors)


def held(
    log: list[Command],
    identity: oracle.Identity,
    before: tuple[Any, ...],
    deletes_passed_over: int | None = None,
) -> oracle.Content | None:
    """Return the content of a key before a place in a log without ties, by looking back.

    With `deletes_passed_over` the deletes of that tick are ignored.
    """

    def place(command: Command) -> tuple[Any, ...]:
        return command.ts, command.rank, not command.is_truncate

    to_key = [each for each in log if each.is_truncate or each.identity == identity]
    past = [command for command in to_key if place(command) < before]
    if deletes_passed_over is not None:
        past = [
            each
            for each in past
            if each.ts != deletes_passed_over or each.is_truncate or each.content is not None
        ]
    if not past:
        return None
    last = max(past, key=place)
    content = last.content
    if content is None or content[0] is None or not last.unchanged:
        return content
    is_change = last.source != last.identity
    # A truncate of the same order comes before the command.
    source = held(log, last.source, (last.ts, last.rank, True), last.ts if is_change else None)
    if source is None or source[0] is None:
        return source or content
    return tuple(
        source[0][i] if i in last.unchanged else item for i, item in enumerate(content[0])
    ), None


@given(strategies.logs(kinds=ALL_KINDS._replace(ties=False)))
@example(
    [
        Command(0, (1,), ("a",), None, ""),
        Command(1, (1,), ("a",), (None,), unchanged=frozenset([0])),
        Command(1, (1,), None, None, is_truncate=True),
    ]
)
def test_unchanged_columns_of_the_last_command_come_from_its_source(log: list[Command]) -> None:
    collection = settle(log)
    identities = {command.identity for command in log if not command.is_truncate}
    for tick in range(collection.upper):
        contents = {identity: held(log, identity, (tick + 1,)) for identity in identities}
        live = [(identity, content) for identity, content in contents.items() if content]
        rows = {key + value for (key, _), (value, _) in live if key is not None and value}
        errors = {Error(*identity, text) for identity, (value, text) in live if value is None}
        assert collection.as_of(tick) == (rows, errors)


@given(strategies.logs(kinds=ALL_KINDS._replace(ties=False)), st.sampled_from(TIES))
def test_the_ties_policy_changes_nothing_in_a_log_without_ties(
    log: list[Command], ties: Ties
) -> None:
    assert_same(settle(log, ties=ties), settle(log))


@pytest.mark.parametrize("ties", TIES)
@given(st.data())
def test_the_order_of_arrival_changes_nothing_under_any_ties_policy(
    ties: Ties, data: st.DataObject
) -> None:
    log = data.draw(any_log())
    expected = settle(log, ties=ties)
    assert_same(replay(data.draw(strategies.tick_splits(log)), ties=ties), expected)
    assert_same(settle(data.draw(strategies.shuffles(log)), ties=ties), expected)


@given(any_log())
def test_fail_stops_exactly_the_runs_that_count_ties_or_new_errors(log: list[Command]) -> None:
    counters = settle(log).counters
    for options, name in (({"ties": "fail"}, "ties"), ({"errors": "fail"}, "error_inserts")):
        collection = Collection("drop", greatest_payload, **options)  # type: ignore[arg-type]
        if counters[name]:
            with pytest.raises(StoppedError):
                collection.run(log)
            assert (collection.rows, collection.errors, collection.upper) == (set(), set(), 0)
        else:
            collection.run(log)
            assert_same(collection, settle(log))


@given(st.data())
def test_corrected_late_commands_give_the_result_of_the_whole_log(data: st.DataObject) -> None:
    log = data.draw(any_log())
    late = replay(data.draw(strategies.late_splits(log)), "correct")
    whole = settle(log)
    assert (late.rows, late.errors) == (whole.rows, whole.errors)


@given(st.data())
def test_dropped_late_commands_do_not_change_the_result(data: st.DataObject) -> None:
    steps = data.draw(strategies.late_splits(data.draw(any_log())))
    punctual, upper = [], 0
    for step in steps:
        in_time = [command for command in step.commands if command.ts >= upper]
        punctual.append(step._replace(commands=in_time))
        upper = replay(punctual).upper
    without = replay(punctual)
    assert not without.counters["late_dropped"]
    collection = replay(steps)
    assert collection.changelog == without.changelog
    assert (collection.rows, collection.errors) == (without.rows, without.errors)


@each_policy
@given(st.data())
def test_until_caps_the_upper_and_never_lowers_it(late: Late, data: st.DataObject) -> None:
    log = data.draw(any_log())
    collection = Collection(late, greatest_payload)
    for until in data.draw(st.lists(strategies.untils(), max_size=4)):
        before = collection.upper
        collection.run(log, until)
        top = max((command.ts + 1 for command in log), default=0)
        assert collection.upper == max(before, top if until is None else min(top, until))


@given(any_log(), st.integers(1, 8))
def test_max_commands_takes_all_whole_ticks_that_fit_and_at_least_one(
    log: list[Command], max_commands: int
) -> None:
    collection = Collection("drop", greatest_payload)
    while True:
        lower = collection.upper
        collection.run(log, max_commands=max_commands)
        taken = [command.ts for command in log if lower <= command.ts < collection.upper]
        assert len(taken) <= max_commands or len(set(taken)) == 1
        left = [command.ts for command in log if command.ts >= collection.upper]
        if not left:
            break
        assert taken
        assert len(taken) + left.count(min(left)) > max_commands
    assert_same(collection, settle(log))


@each_policy
@given(st.data())
def test_the_counters_agree_with_the_changelog_and_the_rows(
    late: Late, data: st.DataObject
) -> None:
    steps = data.draw(strategies.late_splits(data.draw(any_log())))
    collection = replay(steps, late)
    counters = collection.counters
    row_diffs = [update.diff for update in collection.changelog if update.value is not None]
    assert counters["inserts"] - counters["deletes"] == len(collection.rows)
    assert counters["inserts"] + counters["updates"] == row_diffs.count(1)
    assert counters["deletes"] + counters["updates"] == counters["retractions"]
    assert counters["retractions"] == row_diffs.count(-1)
    assert counters["error_inserts"] - counters["error_retractions"] == len(collection.errors)
    assert counters["records_indexed"] == len(collection.rows) + len(collection.errors)


@given(st.data())
def test_keys_do_not_affect_each_other(data: st.DataObject) -> None:
    kinds = ALL_KINDS._replace(key_changes=False, truncates=False)
    log = data.draw(strategies.logs(kinds=kinds))
    whole = oracle.consolidate(settle(log).changelog)
    for identity in {command.identity for command in log}:
        alone = settle([command for command in log if command.identity == identity])
        assert oracle.consolidate(alone.changelog) == {
            update: diff for update, diff in whole.items() if update[1] == identity
        }


# ---------------------------------------------------------------------------- single rules


def test_a_correction_comes_before_the_commands_of_its_tick() -> None:
    log = [upsert(1, 1, "a", "old")]
    collection = Collection("correct")
    collection.run(log)
    updates = collection.run([*log, upsert(1, 2, "a", "late"), upsert(2, 1, "a", "new")])
    assert updates == [
        Update(2, -1, ("a",), ("old",)),
        Update(2, 1, ("a",), ("late",)),
        Update(2, -1, ("a",), ("late",)),
        Update(2, 1, ("a",), ("new",)),
    ]


def test_a_correction_without_a_new_tick_leaves_its_tick_open() -> None:
    log = [upsert(1, 1, "a", "old")]
    collection = Collection("correct")
    collection.run(log)
    log += [upsert(1, 2, "a", "late")]
    assert [(update.ts, update.diff) for update in collection.run(log)] == [(2, -1), (2, 1)]
    assert collection.upper == 2
    collection.run([*log, upsert(2, 1, "a", "new")])
    assert collection.rows == {("a", "new")}
    assert collection.counters["late_dropped"] == 1


def test_until_caps_ticks_but_never_corrections() -> None:
    log = [upsert(1, 1, "a", "old")]
    collection = Collection("correct")
    collection.run(log)
    collection.run([*log, delete(1, 2, "a"), upsert(5, 1, "b", "new")], until=2)
    assert (collection.rows, collection.upper) == (set(), 2)


def test_a_late_command_is_counted_once_by_the_next_batch() -> None:
    log = [upsert(1, 1, "a", "v")]
    collection = Collection()
    collection.run(log)
    log += [upsert(0, 1, "b", "late"), upsert(1, 2, "a", "late")]
    assert collection.run(log) == []
    assert collection.counters["late_dropped"] == 0
    for ts in (2, 3):
        log += [upsert(ts, 1, "c", "v")]
        collection.run(log)
        assert collection.counters["late_dropped"] == 2
    assert collection.counters["messages_received"] == len(log)
    assert collection.rows == {("a", "v"), ("c", "v")}


def test_a_batch_without_a_change_still_advances_the_upper() -> None:
    collection = Collection()
    assert collection.run([delete(4, 1, "a")]) == []
    assert (collection.upper, collection.counters["messages_received"]) == (5, 1)


def test_a_tie_without_a_tie_breaker_is_an_error_and_settles_nothing() -> None:
    collection = Collection()
    with pytest.raises(ValueError, match="tie_breaker"):
        collection.run([upsert(0, 1, "a", "v"), upsert(0, 1, "a", "w"), upsert(0, 1, "b", "v")])
    assert (collection.rows, collection.changelog, collection.upper) == (set(), [], 0)


def greatest_value(tied: list[Command]) -> Command:
    return max(tied, key=lambda command: command.value or ())


@each_policy
def test_the_tie_breaker_decides_a_tie_and_the_tie_is_counted(late: Late) -> None:
    log = [upsert(1, 1, "a", "v"), delete(1, 1, "a"), upsert(1, 1, "a", "w")]
    log += [upsert(1, 0, "a", "v"), upsert(1, 0, "a", "w")]
    collection = Collection(late, greatest_value)
    collection.run(log)
    collection.run([*log, upsert(2, 1, "b", "v")])
    assert collection.rows == {("a", "w"), ("b", "v")}
    assert collection.counters["ties"] == 1


def test_equal_payloads_at_one_order_are_not_a_tie() -> None:
    log = [Command(1, (1,), ("a", zero), (NAN, zero)) for zero in (0.0, -0.0)]
    collection = settle(log)
    assert acceptance.multiset(collection.rows) == acceptance.multiset([("a", 0.0, NAN, -0.0)])
    assert collection.counters["ties"] == 0


@pytest.mark.parametrize(
    ("value", "same"),
    [((None,), (None,)), ((NAN,), (NAN,)), ((0.0,), (-0.0,)), (([NAN, -0.0],), ([NAN, 0.0],))],
)
def test_an_equal_value_emits_nothing(value: oracle.Value, same: oracle.Value) -> None:
    collection = Collection()
    log = [Command(1, (1,), ("a",), value)]
    assert len(collection.run(log)) == 1
    assert collection.run([*log, Command(2, (1,), ("a",), same)]) == []
    assert collection.upper == 3


@pytest.mark.parametrize(
    ("value", "other"),
    [((None,), ("",)), (("NaN",), (NAN,)), (("é",), ("e\u0301",)), (("",), None)],
)
def test_values_that_look_alike_are_different_values(
    value: oracle.Value, other: oracle.Value | None
) -> None:
    log = [Command(1, (1,), ("a",), value), Command(2, (1,), ("a",), other)]
    assert len(settle(log).changelog) == (2 if other is None else 3)


def test_an_all_null_value_is_a_value() -> None:
    assert settle([Command(1, (1,), ("a",), (None, None))]).rows == {("a", None, None)}


def test_a_value_error_replaces_the_row_and_a_new_text_replaces_the_error() -> None:
    texts: list[str | None] = [None, "bad", "bad", "worse", None]
    log = [Command(ts, (1,), ("a",), ("v",), text) for ts, text in enumerate(texts)]
    collection = settle(log)
    assert [(update.ts, update.diff, update.error) for update in collection.changelog] == [
        *((0, 1, None), (1, -1, None), (1, 1, "bad"), (3, -1, "bad")),
        *((3, 1, "worse"), (4, -1, "worse"), (4, 1, None)),
    ]
    assert collection.counters["inserts"] == 2
    assert collection.counters["deletes"] == 1
    assert collection.counters["error_inserts"] == 2


def test_key_errors_of_one_key_are_equal_even_with_different_texts() -> None:
    log = [
        Command(1, (1,), None, ("v",), None, "xff"),
        Command(2, (1,), None, ("w",), "text", "xff"),
        Command(3, (1,), None, None, "text", "xff"),
        Command(3, (1,), None, None, None, "xfe"),
        Command(3, (1,), None, ("v",), None, "null"),
    ]
    collection = settle(log)
    assert [update.ts for update in collection.changelog] == [1, 3]
    assert {error.kind for error in collection.errors} == {"key", "null_key"}
    collection.run([*log, Command(4, (1,), None, None, None, "xff")])
    assert collection.errors == {Error(None, "null", None)}


def test_a_command_must_have_exactly_one_identity() -> None:
    for key, error_key in ((None, None), (("a",), "null")):
        with pytest.raises(ValueError, match="either key or error_key"):
            Command(1, (1,), key, None, None, error_key)


def test_a_truncate_must_have_no_key_and_no_value() -> None:
    for key, error_key, value in ((("a",), None, None), (None, "null", None), (None, None, (1,))):
        with pytest.raises(ValueError, match="a tick and an order alone"):
            Command(1, (1,), key, value, None, error_key, is_truncate=True)


def rows_after(*log: Command) -> set[oracle.Value]:
    return settle([*log]).rows


def test_an_unchanged_column_keeps_its_value_from_before_the_command() -> None:
    first = upsert(1, 1, "a", 0)
    assert rows_after(part(1, 1, "a", 1, 2), part(2, 1, "a", 3, ...)) == {("a", 3, 2)}
    assert rows_after(part(1, 1, "a", 1, 2), part(2, 1, "a", ..., ...)) == {("a", 1, 2)}
    within = [part(1, 1, "a", 1, ...), part(1, 2, "a", ..., 2), part(1, 3, "a", ..., ...)]
    assert rows_after(*within) == {("a", 1, 2)}
    assert rows_after(first, part(1, 2, "a", ...), delete(2, 1, "a")) == set()


def test_an_unchanged_column_of_an_absent_or_removed_key_is_null() -> None:
    change = part(3, 1, "a", 3, ...)
    assert rows_after(change) == {("a", 3, None)}
    assert rows_after(part(1, 1, "a", 1, 2), delete(2, 1, "a"), change) == {("a", 3, None)}
    assert rows_after(part(1, 1, "a", 1, 2), delete(3, 0, "a"), change) == {("a", 3, None)}
    assert rows_after(part(1, 1, "a", 1, 2), truncate(2, 1), change) == {("a", 3, None)}
    assert rows_after(part(1, 1, "a", 1, 2), truncate(3, 0), change) == {("a", 3, None)}


def test_an_ignored_null_leaves_its_column_unchanged() -> None:
    log = [part(1, 1, "a", 1, 2), part(2, 1, "a", None, None), delete(3, 1, "b")]
    assert rows_after(*log) == {("a", None, None)}
    assert rows_after(*strategies.ignoring_nulls(log, [0])) == {("a", 1, None)}
    assert rows_after(*strategies.ignoring_nulls(log, [0, 1])) == {("a", 1, 2)}


def test_the_given_value_of_an_unchanged_column_is_ignored() -> None:
    twins = [
        Command(2, (1,), ("a",), (said, 3), unchanged=frozenset([0])) for said in ("x", NAN, None)
    ]
    collection = settle([part(1, 1, "a", 1, 2), *twins])
    assert collection.rows == {("a", 1, 3)}
    assert collection.counters["ties"] == 0


def test_a_whole_command_clears_a_value_error_and_a_partial_one_does_not() -> None:
    error = Command(1, (1,), ("a",), None, "bad")
    collection = settle([error, part(2, 1, "a", 1, ...), part(3, 1, "a", ..., ...)])
    assert collection.errors == {Error(("a",), None, "bad")}
    assert len(collection.changelog) == 1
    assert rows_after(error, part(2, 1, "a", 1, ...), part(3, 1, "a", 1, 2)) == {("a", 1, 2)}
    assert rows_after(error, delete(2, 1, "a"), part(3, 1, "a", 1, ...)) == {("a", 1, None)}


def test_a_new_key_takes_the_unchanged_columns_of_the_old_key() -> None:
    def renamed(ts: int, order: int, old: str, new: str) -> list[Command]:
        return [delete(ts, order, old), part(ts, order, new, ts, ..., old_key=old)]

    old = part(1, 1, "a", 0, "toast")
    assert rows_after(old, *renamed(2, 1, "a", "b")) == {("b", 2, "toast")}
    assert rows_after(old, *renamed(1, 2, "a", "b")) == {("b", 1, "toast")}
    chain = [*renamed(2, 1, "a", "b"), *renamed(3, 1, "b", "c")]
    assert rows_after(old, *chain) == {("c", 3, "toast")}
    within = [*renamed(2, 1, "a", "b"), *renamed(2, 2, "b", "c"), *renamed(2, 3, "c", "a")]
    assert rows_after(old, *within) == {("a", 2, "toast")}
    own = part(1, 1, "b", 0, "own")
    assert rows_after(old, own, *renamed(2, 1, "a", "b")) == {("b", 2, "toast")}
    swap = [part(2, 1, "a", 2, ..., old_key="b"), part(2, 1, "b", 2, ..., old_key="a")]
    assert rows_after(old, own, *swap) == {("a", 2, "own"), ("b", 2, "toast")}


def test_a_new_key_takes_the_old_value_despite_deletes_in_the_same_tick() -> None:
    old = part(1, 1, "a", 0, "toast")

    def renamed(ts: int, order: int, old: str, new: str) -> list[Command]:
        return [delete(ts, order, old), part(ts, order + 1, new, ts, ..., old_key=old)]

    assert rows_after(old, *renamed(2, 1, "a", "b")) == {("b", 2, "toast")}
    assert rows_after(old, *renamed(2, 1, "a", "b"), *renamed(2, 3, "b", "c")) == {
        ("c", 2, "toast")
    }
    written = part(2, 1, "a", 1, "new")
    assert rows_after(old, written, *renamed(2, 2, "a", "b")) == {("b", 2, "new")}
    reused = [delete(2, 1, "a"), part(2, 2, "a", 1, "used"), part(2, 3, "b", 2, ..., old_key="a")]
    assert rows_after(old, *reused) == {("a", 1, "used"), ("b", 2, "used")}
    twice = [delete(2, 0, "a"), *renamed(2, 1, "a", "b")]
    assert rows_after(old, *twice) == {("b", 2, "toast")}
    # If the old value ended before the tick, or by a truncate, the new key gets null.
    assert rows_after(old, delete(2, 1, "a"), *renamed(3, 1, "a", "b")) == {("b", 3, None)}
    assert rows_after(old, delete(2, 0, "a"), truncate(2, 1), *renamed(2, 2, "a", "b")) == {
        ("b", 2, None)
    }
    assert rows_after(old, truncate(2, 0), *renamed(2, 1, "a", "b")) == {("b", 2, None)}
    # The new key takes an error of the old key, too.
    broken = Command(2, (1,), ("a",), None, "bad")
    assert settle([old, broken, *renamed(2, 2, "a", "b")]).errors == {Error(("b",), None, "bad")}


def test_a_partial_log_is_completed_by_the_persisted_rows() -> None:
    def after(lost: list[Command], kept: list[Command], late: list[Command]) -> set[oracle.Value]:
        collection = Collection("correct", log="partial")
        collection.run([*lost, *kept])
        collection.run([*kept, *late, delete(9, 1, "y")])
        return collection.rows

    base, end = [part(1, 1, key, 1, f"{key} big") for key in "ab"], [part(5, 1, "z", 1, 1)]
    renamed = [delete(3, 1, "b"), part(3, 2, "c", 3, ..., old_key="b")]
    kept = [part(2, 1, "a", 2, ...), *renamed]
    assert after(base, [*kept, *end], []) == {("a", 2, "a big"), ("c", 3, "b big"), ("z", 1, 1)}
    late = [delete(4, 1, "a"), part(4, 2, "d", ..., ..., old_key="a")]
    assert after(base, [*kept, *end], late) == {("d", 2, "a big"), ("c", 3, "b big"), ("z", 1, 1)}
    assert after(base, end, [truncate(4, 1)]) == {("z", 1, 1)}
    assert after(base, end, [truncate(0, 1)]) == {("a", 1, "a big"), ("b", 1, "b big"), ("z", 1, 1)}
    ended = [delete(2, 1, "a"), part(3, 1, "a", 3, ...)]
    assert after(base, [*ended, *end], []) == {("a", 3, None), ("b", 1, "b big"), ("z", 1, 1)}


def test_an_absent_old_key_gives_nulls_and_a_broken_one_its_error() -> None:
    renamed = part(2, 1, "b", 2, ..., old_key="a")
    own = part(1, 1, "b", 0, "own")
    assert rows_after(own, renamed) == {("b", 2, None)}
    broken = Command(1, (1,), ("a",), None, "bad")
    assert settle([own, broken, renamed]).errors == {
        Error((key,), None, "bad") for key in ("a", "b")
    }
    assert rows_after(own, broken, part(2, 1, "b", 2, 3, old_key="a")) == {("b", 2, 3)}


def test_a_truncate_removes_all_older_rows_and_errors() -> None:
    log = [
        upsert(1, 1, "row", "v"),
        Command(1, (1,), ("error",), None, "bad"),
        Command(1, (1,), None, ("v",), None, "xff"),
        Command(1, (1,), None, ("v",), None, "null"),
        upsert(2, 1, "older", "v"),
        upsert(2, 2, "equal", "v"),
        upsert(2, 3, "newer", "v"),
        upsert(1, 9, "kept", "v"),
        upsert(2, 9, "kept", "v"),
    ]
    collection = settle([*log, truncate(2, 2)])
    assert collection.rows == {("equal", "v"), ("newer", "v"), ("kept", "v")}
    assert collection.errors == set()
    at_truncate = [update for update in collection.changelog if update.ts == 2]
    assert sorted(update.diff for update in at_truncate) == [-1, -1, -1, -1, 1, 1]
    assert collection.counters["messages_received"] == len(log) + 1


def test_a_truncate_below_the_frontier_is_late() -> None:
    log = [upsert(2, 1, "a", "v")]
    collection = Collection()
    collection.run(log)
    collection.run([*log, truncate(1, 1), upsert(3, 1, "b", "v")])
    assert collection.rows == {("a", "v"), ("b", "v")}
    assert collection.counters["late_dropped"] == 1


def test_a_tie_below_a_truncate_of_its_tick_is_not_counted() -> None:
    log = [upsert(1, 1, "a", "v"), upsert(1, 1, "a", "w")]
    assert settle(log).counters["ties"] == 1
    assert settle([*log, truncate(1, 2)]).counters["ties"] == 0
    assert settle([*log, truncate(1, 1)]).counters["ties"] == 1


def test_a_tie_below_the_winner_of_its_tick_is_not_counted() -> None:
    log = [upsert(1, 1, "a", "v"), upsert(1, 1, "a", "w"), upsert(1, 2, "a", "x")]
    assert settle(log).counters["ties"] == 0


@pytest.mark.parametrize(
    ("ties", "live"), [("prefer_delete", set()), ("prefer_upsert", {("a", "v")})]
)
def test_the_ties_policy_decides_between_a_delete_and_an_upsert(
    ties: Ties, live: set[object]
) -> None:
    collection = Collection(ties=ties)
    collection.run([upsert(1, 1, "a", "v"), delete(1, 1, "a")])
    assert collection.rows == live
    assert collection.counters["ties"] == 1
    error = Command(1, (1,), ("a",), None, "bad")
    collection = Collection(ties=ties)
    collection.run([error, delete(1, 1, "a")])
    assert len(collection.errors) == len(live)


def test_each_key_with_different_payloads_at_one_order_counts_as_one_tie() -> None:
    two_keys = [upsert(1, 1, key, value) for key in "ab" for value in "vw"]
    assert settle(two_keys).counters["ties"] == 2
    two_sources = [part(1, 1, "c", 1, ..., old_key=old) for old in "ab"]
    assert settle(two_sources).counters["ties"] == 1
    whole = [part(1, 1, "c", 1, 2, old_key=old) for old in ("a", "b", None)]
    assert settle(whole).counters["ties"] == 0
    broken = [Command(1, (1,), ("c",), None, "bad", unchanged=frozenset(one)) for one in ([0], [])]
    assert settle(broken).counters["ties"] == 0


def test_the_loser_of_a_tie_is_applied_just_before_the_winner() -> None:
    log = [part(1, 1, "a", 1, 2), part(2, 1, "a", 3, ...), part(2, 1, "a", ..., 4)]
    assert rows_after(*log) == {("a", 3, 4)}
    assert settle([*log, delete(2, 1, "a")], ties="prefer_delete").rows == set()
    assert settle([*log, delete(2, 1, "a")], ties="prefer_upsert").rows == {("a", 3, 4)}


def test_a_null_order_is_less_than_every_other_order() -> None:
    null = Command(1, (None,), ("a",), ("null",))
    assert rows_after(null, upsert(1, -9, "a", "v")) == {("a", "v")}
    assert rows_after(upsert(1, -9, "a", "v"), null) == {("a", "v")}
    second = Command(1, (1, None), ("a",), ("null",))
    assert rows_after(second, Command(1, (1, -9), ("a",), ("v",))) == {("a", "v")}
    assert rows_after(second, Command(1, (0, 9), ("a",), ("v",))) == {("a", "null")}


def test_a_late_command_stops_a_run_under_late_fail() -> None:
    log = [upsert(1, 1, "a", "v")]
    collection = Collection("fail")
    collection.run(log)
    assert collection.run(log) == []
    with pytest.raises(StoppedError, match="late: 1"):
        collection.run([*log, upsert(1, 1, "b", "late"), upsert(2, 1, "b", "v")])
    assert (collection.rows, collection.upper) == ({("a", "v")}, 2)


def test_a_new_error_text_stops_a_run_but_an_open_error_does_not() -> None:
    log = [Command(1, (1,), ("a",), None, "bad")]
    collection = Collection()
    collection.run(log)
    collection.on_error = "fail"
    log += [Command(2, (1,), ("a",), None, "bad"), part(3, 1, "a", 1, ...)]
    assert collection.run(log) == []
    with pytest.raises(StoppedError, match="errors: 1"):
        collection.run([*log, Command(4, (1,), ("a",), None, "worse")])
    assert collection.upper == 4


def test_only_value_errors_are_inlined() -> None:
    collection = settle(
        [
            part(1, 1, "good", 1, 2),
            Command(1, (1,), ("bad",), None, "text"),
            Command(1, (1,), None, ("v",), None, "xff"),
            Command(1, (1,), None, ("v",), None, "null"),
        ]
    )
    assert collection.inlined(1, 2) == {("good", None, 1, 2), ("bad", "text", None, None)}


@pytest.mark.parametrize(
    "diffs",
    [
        [("v", 1, 2)],
        [("v", 1, 0)],
        [("v", 1, -1)],
        [("v", 1, 1), ("v", 1, 1)],
        [("v", 1, 1), ("v", 2, 1)],
        [("v", 1, 1), ("w", 1, 1)],
        [("v", 1, 1), ("w", 2, 1), ("v", 3, -1)],
        [("v", 2, 1), ("v", 1, -1)],
        [("v", 1, 1), ("v", 2, -1), ("v", 2, -1)],
    ],
)
def test_a_changelog_that_breaks_a_law_is_refused(diffs: list[tuple[str, int, int]]) -> None:
    changelog = [Update(ts, diff, ("a",), (value,)) for value, ts, diff in diffs]
    with pytest.raises(AssertionError):
        oracle.check_laws(changelog)


def test_the_laws_ignore_the_order_of_updates_within_a_tick() -> None:
    diffs = [("w", 2, 1), ("v", 2, -1), ("v", 1, 1), ("v", 1, -1), ("v", 1, 1)]
    oracle.check_laws(Update(ts, diff, ("a",), (value,)) for value, ts, diff in diffs)


# ---------------------------------------------------------------------------- the readers


@pytest.mark.parametrize(
    ("item", "spark_type", "expected"),
    [
        ("1", "bigint", "1"),
        (".5", "double", "0.5"),
        (NAN, "double", "nan"),
        (0.1, "float", "0.10000000149011612"),
        ("true", "boolean", "True"),
        ("2.5", "decimal(38, 0)", "Decimal('3')"),
        ("12345678901234567890123456789012345.67", "decimal(38,3)", ""),
        ("2020-02-29", "date", "datetime.date(2020, 2, 29)"),
        (
            "2020-01-01T01:00:00.000001+01:00",
            "timestamp",
            "datetime.datetime(2020, 1, 1, 0, 0, 0, 1)",
        ),
        (None, "string", "None"),
    ],
)
def test_scalars_are_cast_to_their_spark_type(item: object, spark_type: str, expected: str) -> None:
    expected = expected or "Decimal('12345678901234567890123456789012345.670')"
    assert repr(acceptance.cast(item, spark_type)) == expected


@pytest.mark.parametrize(
    ("item", "spark_type"),
    [(1, "string"), ("x", "bigint"), (2**63, "bigint"), (True, "int"), ("1", "interval")],
)
def test_a_scalar_of_another_type_is_refused(item: object, spark_type: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        acceptance.cast(item, spark_type)


def test_a_template_makes_one_item_for_every_combination() -> None:
    template = {"for": {"t": [1, 2], "i": [0, 1]}, "row": {"k": "{t}:{i-1}", "v": "{pad:3}{x}"}}
    assert acceptance.expand([template], "row") == [
        {"k": key, "v": "xxx{x}"} for key in ("1:-1", "1:0", "2:-1", "2:0")
    ]


@each_history
def test_a_history_is_sorted_with_one_command_per_path_and_commit(name: str) -> None:
    changes = git_history.load(name).changes
    assert changes == sorted(changes, key=lambda change: (change.commit_no, change.change_no))
    assert len({(change.commit_no, change.path) for change in changes}) == len(changes)


@given(strategies.logs())
def test_random_logs_have_no_ties_by_default(log: list[Command]) -> None:
    assert settle(log).counters["ties"] == 0
