"""The oracle against the acceptance cases, the git histories, and its own laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import acceptance, git_history, oracle, strategies
from tests.oracle import Collection, Command, Error, Update

if TYPE_CHECKING:
    from collections.abc import Sequence

Late = Literal["drop", "correct"]
LATE: tuple[Late, ...] = ("drop", "correct")


def is_punctual(case: acceptance.Case) -> bool:
    """Whether no command of the case arrives below the frontier."""
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
unhurried = settings(deadline=None)
NAN = float("nan")


def upsert(ts: int, order: int, key: str, value: object) -> Command:
    return Command(ts, (order,), (key,), (value,))


def delete(ts: int, order: int, key: str) -> Command:
    return Command(ts, (order,), (key,), None)


def replay(steps: Sequence[strategies.Step], late: Late = "drop") -> Collection:
    collection = Collection(late)
    log: list[Command] = []
    for step in steps:
        log += step.commands
        collection.run(log, step.until, step.max_commands)
    return collection


def settle(log: list[Command], late: Late = "drop") -> Collection:
    return replay([strategies.Step(log)], late)


def assert_same(left: Collection, right: Collection, *, ignoring: str = "") -> None:
    """Compare content, consolidated changelog, upper and counters, but the one ignored."""
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
def test_a_case_without_late_commands_holds_under_both_policies(
    case: acceptance.Case, late: Late
) -> None:
    check_case(case, late)


@each_case
def test_every_acceptance_case_holds_shuffled_and_duplicated(case: acceptance.Case) -> None:
    check_case(case, case.late, disordered=True)


# ---------------------------------------------------------------------------- git histories


@each_policy
@each_history
def test_a_history_leaves_every_tree_when_it_is_settled_in_steps(name: str, late: Late) -> None:
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


@each_history
def test_a_history_leaves_every_tree_when_it_arrives_in_steps(name: str) -> None:
    history = git_history.load(name)
    collection = Collection()
    for commit_no, tree in sorted(history.trees.items()):
        collection.run([each.command() for each in history.changes if each.commit_no <= commit_no])
        assert collection.rows == set(tree)


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


@each_policy
@unhurried
@given(st.data())
def test_splitting_a_log_at_ticks_changes_nothing(late: Late, data: st.DataObject) -> None:
    log = data.draw(strategies.logs())
    steps = data.draw(strategies.tick_splits(log))
    assert_same(replay(steps, late), settle(log, late))


@each_policy
@unhurried
@given(st.data())
def test_shuffling_a_log_changes_nothing(late: Late, data: st.DataObject) -> None:
    log = data.draw(strategies.logs())
    assert_same(settle(data.draw(strategies.shuffles(log)), late), settle(log, late))


@each_policy
@unhurried
@given(st.data())
def test_duplicating_commands_changes_nothing(late: Late, data: st.DataObject) -> None:
    log = data.draw(strategies.logs())
    again = settle(data.draw(strategies.duplicates(log)), late)
    assert_same(again, settle(log, late), ignoring="messages_received")


@each_policy
@unhurried
@given(st.data())
def test_running_again_changes_nothing(late: Late, data: st.DataObject) -> None:
    steps = data.draw(strategies.late_splits(data.draw(strategies.logs())))
    collection = replay(steps, late)
    log = [command for step in steps for command in step.commands]
    before = [*collection.changelog], collection.upper, collection.counters.copy()
    assert collection.run(log) == []
    assert (collection.changelog, collection.upper, collection.counters) == before


@each_policy
@unhurried
@given(st.data())
def test_the_laws_of_a_changelog_hold_for_any_arrival(late: Late, data: st.DataObject) -> None:
    steps = data.draw(strategies.late_splits(data.draw(strategies.logs())))
    collection = replay(steps, late)
    oracle.check_laws(collection.changelog)
    assert collection.as_of(collection.upper) == (collection.rows, collection.errors)


@unhurried
@given(strategies.logs())
def test_the_later_tick_wins_and_within_it_the_greatest_order(log: list[Command]) -> None:
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


@unhurried
@given(st.data())
def test_corrected_late_commands_give_the_result_of_the_whole_log(data: st.DataObject) -> None:
    log = data.draw(strategies.logs())
    late = replay(data.draw(strategies.late_splits(log)), "correct")
    whole = settle(log)
    assert (late.rows, late.errors) == (whole.rows, whole.errors)


@unhurried
@given(st.data())
def test_dropped_late_commands_leave_no_trace(data: st.DataObject) -> None:
    steps = data.draw(strategies.late_splits(data.draw(strategies.logs())))
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
@unhurried
@given(st.data())
def test_until_only_caps_and_never_goes_back(late: Late, data: st.DataObject) -> None:
    log = data.draw(strategies.logs())
    collection = Collection(late)
    for until in data.draw(st.lists(strategies.untils(), max_size=4)):
        before = collection.upper
        collection.run(log, until)
        top = max((command.ts + 1 for command in log), default=0)
        assert collection.upper == max(before, top if until is None else min(top, until))


@unhurried
@given(strategies.logs(), st.integers(1, 8))
def test_a_cut_takes_as_many_whole_ticks_as_fit_and_at_least_one(
    log: list[Command], max_commands: int
) -> None:
    collection = Collection()
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
@unhurried
@given(st.data())
def test_the_counters_balance(late: Late, data: st.DataObject) -> None:
    steps = data.draw(strategies.late_splits(data.draw(strategies.logs())))
    collection = replay(steps, late)
    counters = collection.counters
    row_diffs = [update.diff for update in collection.changelog if update.value is not None]
    assert counters["inserts"] - counters["deletes"] == len(collection.rows)
    assert counters["inserts"] + counters["updates"] == row_diffs.count(1)
    assert counters["deletes"] + counters["updates"] == counters["retractions"]
    assert counters["retractions"] == row_diffs.count(-1)
    assert counters["error_inserts"] - counters["error_retractions"] == len(collection.errors)
    assert counters["records_indexed"] == len(collection.rows) + len(collection.errors)


@unhurried
@given(st.data())
def test_keys_do_not_touch_each_other(data: st.DataObject) -> None:
    log = data.draw(strategies.logs())
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


def test_a_late_command_is_counted_once_and_by_a_batch() -> None:
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


def test_a_tie_is_refused_without_a_tie_breaker_and_nothing_is_settled() -> None:
    collection = Collection()
    with pytest.raises(ValueError, match="tie_breaker"):
        collection.run([upsert(0, 1, "a", "v"), upsert(0, 1, "a", "w"), upsert(0, 1, "b", "v")])
    assert (collection.rows, collection.changelog, collection.upper) == (set(), [], 0)


def greatest_value(tied: list[Command]) -> Command:
    return max(tied, key=lambda command: command.value or ())


@each_policy
def test_a_tie_falls_to_the_winner_of_the_tie_breaker_and_is_counted(late: Late) -> None:
    log = [upsert(1, 1, "a", "v"), delete(1, 1, "a"), upsert(1, 1, "a", "w")]
    log += [upsert(1, 0, "a", "v"), upsert(1, 0, "a", "w")]
    collection = Collection(late, greatest_value)
    collection.run(log)
    collection.run([*log, upsert(2, 1, "b", "v")])
    assert collection.rows == {("a", "w"), ("b", "v")}
    assert collection.counters["ties"] == 1


def test_equal_payloads_at_one_order_are_no_tie() -> None:
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
def test_another_value_is_another_value(value: oracle.Value, other: oracle.Value | None) -> None:
    log = [Command(1, (1,), ("a",), value), Command(2, (1,), ("a",), other)]
    assert len(settle(log).changelog) == (2 if other is None else 3)


def test_an_all_null_value_is_a_value() -> None:
    assert settle([Command(1, (1,), ("a",), (None, None))]).rows == {("a", None, None)}


def test_a_value_error_takes_the_place_of_the_row_and_another_text_its_own() -> None:
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


def test_a_key_error_is_alike_whatever_its_message_says() -> None:
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


def test_a_command_has_one_identity() -> None:
    for key, error_key in ((None, None), (("a",), "null")):
        with pytest.raises(ValueError, match="either key or error_key"):
            Command(1, (1,), key, None, None, error_key)


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
def test_a_broken_changelog_is_refused(diffs: list[tuple[str, int, int]]) -> None:
    changelog = [Update(ts, diff, ("a",), (value,)) for value, ts, diff in diffs]
    with pytest.raises(AssertionError):
        oracle.check_laws(changelog)


def test_the_order_within_a_tick_is_no_matter_to_the_laws() -> None:
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


def test_a_template_makes_one_item_of_every_combination() -> None:
    template = {"for": {"t": [1, 2], "i": [0, 1]}, "row": {"k": "{t}:{i-1}", "v": "{pad:3}{x}"}}
    assert acceptance.expand([template], "row") == [
        {"k": key, "v": "xxx{x}"} for key in ("1:-1", "1:0", "2:-1", "2:0")
    ]


@each_history
def test_a_history_is_ordered_and_has_one_command_for_a_path_and_commit(name: str) -> None:
    changes = git_history.load(name).changes
    assert changes == sorted(changes, key=lambda change: (change.commit_no, change.change_no))
    assert len({(change.commit_no, change.path) for change in changes}) == len(changes)


@unhurried
@given(strategies.logs())
def test_random_logs_have_no_ties(log: list[Command]) -> None:
    assert settle(log).counters["ties"] == 0
