"""Tests the oracle of order mode with the acceptance cases, rule by rule, and with random logs."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import newest_logs, strategies
from tests.newest_logs import ALL_KINDS, WHOLE, Kinds
from tests.newest_oracle import EXISTENCE, Command, Newest, Rank, TieError, Ties
from tests.oracle import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.oracle import Identity, Value

CASES = json.loads((Path(__file__).parent / "acceptance" / "order_cases.json").read_text())["cases"]
UNCHANGED = "__same__"
VALUE_COLUMNS = ("a", "b")
NAN = float("nan")
TIES: tuple[Ties, ...] = ("error", "prefer_upsert", "prefer_delete")
CERTAIN = ALL_KINDS._replace(null_orders=False, key_changes=False)
"""All kinds of commands whose effect does not depend on the runs."""
SEQUENTIAL = ALL_KINDS._replace(ties=False, null_orders=False, duplicates=False)
"""All kinds of commands that `fold` knows. It cannot apply a change of key twice."""
each_policy = pytest.mark.parametrize("ties", TIES)


def upsert(
    order: int | None, *value: object, key: str = "k", old_key: str | None = None
) -> Command:
    """An upsert. It leaves the columns given as `...` unchanged."""
    unchanged = frozenset(i for i, item in enumerate(value) if item is ...)
    old = None if old_key is None else (old_key,)
    return Command(_order(order), (key,), value, unchanged=unchanged, old_key=old)


def error(order: int | None, text: str = "bad", unchanged: Iterable[int] = ()) -> Command:
    return Command(_order(order), ("k",), None, text, unchanged=frozenset(unchanged))


def delete(order: int | None, key: str = "k") -> Command:
    return Command(_order(order), (key,), None)


def key_error(order: int | None, error_key: str = "x00") -> Command:
    return Command(_order(order), None, ("", ""), error_key=error_key)


def truncate(order: int | None) -> Command:
    return Command(_order(order), None, None, is_truncate=True)


def _order(order: int | None) -> tuple[int] | None:
    return None if order is None else (order,)


def read(*runs: Iterable[Command], ties: Ties = "error") -> Newest:
    """Read each list of commands in a run of its own."""
    newest = Newest(ties=ties)
    for run in runs:
        newest.run(run)
    return newest


def result(newest: Newest) -> tuple[dict[Value, Value], dict[Identity, Any]]:
    """What does not depend on the runs: rows and errors."""
    return newest.rows(), newest.errors()


def one(newest: Newest) -> Value | str | None:
    """The row of the key `k`, or the kind of its error."""
    rows, errors = result(newest)
    assert len({**rows, **errors}) <= 1
    return rows.get(("k",)) or errors.get((("k",), None))


# ---------------------------------------------------------------------------- acceptance cases

each_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
FREE = [case for case in CASES if case["rule"] not in ("5", "7")]
each_free_case = pytest.mark.parametrize("case", FREE, ids=[case["name"] for case in FREE])


def command_of(item: dict[str, Any]) -> Command:
    order = None if item["ord"] is None else (item["ord"],)
    if item["op"] == "T":
        return Command(order, None, None, is_truncate=True)
    if item["op"] == "D":
        return Command(order, (item["k"],), None)
    value = tuple(item[name] for name in VALUE_COLUMNS)
    return Command(
        order,
        (item["k"],),
        value,
        item.get("error"),
        unchanged=frozenset(i for i, each in enumerate(value) if each == UNCHANGED),
        old_key=(item["old_k"],) if item.get("old_k") is not None else None,
    )


def check_result(newest: Newest, run: dict[str, Any]) -> None:
    rows = [dict(zip(("k", *VALUE_COLUMNS), k + v, strict=True)) for k, v in newest.rows().items()]
    kinds = [*newest.errors().items(), *newest.order_errors().items()]
    errors = [{"k": key and key[0], "kind": kind} for (key, _), kind in kinds]
    assert sorted(rows, key=str) == sorted(run["rows"], key=str)
    assert sorted(errors, key=str) == sorted(run["errors"], key=str)


@each_case
def test_every_acceptance_case_holds(case: dict[str, Any]) -> None:
    newest = Newest()
    for run in case["runs"]:
        newest.run(map(command_of, run["commands"]))
        check_result(newest, run)


@each_free_case
def test_an_acceptance_case_ends_the_same_in_any_sequence(case: dict[str, Any]) -> None:
    log = [command_of(item) for run in case["runs"] for item in run["commands"]]
    sizes = [len(run["commands"]) for run in case["runs"]]
    for permuted in strategies.sample(st.permutations(log), 50, seed=0):
        check_result(read(*[[each] for each in permuted]), case["runs"][-1])
        rest = iter(permuted)
        check_result(read(*[[next(rest) for _ in range(size)] for size in sizes]), case["runs"][-1])


# ---------------------------------------------------------------------------- ties


def test_a_tie_breaks_only_the_columns_that_both_give() -> None:
    log = [upsert(5, "x", ...), upsert(5, "y", "b"), upsert(5, ..., "b")]
    assert one(read(log)) == "tie"
    assert one(read(log, [upsert(6, ..., "c")])) == "tie"
    assert one(read(log, [upsert(6, "z", ...)])) == ("z", "b")


def test_a_tie_of_values_is_open_until_a_newer_delete() -> None:
    log = [upsert(5, "x", "b"), upsert(5, "y", "b")]
    assert one(read(log, [delete(6)])) is None
    assert one(read(log, [delete(6), upsert(7, ..., "c")])) == (None, "c")


def test_a_tie_below_the_newest_values_is_none() -> None:
    assert one(read([upsert(5, "z", "z")], [upsert(4, "x", "b"), upsert(4, "y", "b")])) == (
        "z",
        "z",
    )


def test_a_tie_of_a_delete_breaks_the_columns_of_the_upsert_and_the_existence() -> None:
    log = [upsert(1, "w", "w"), delete(5), upsert(5, "x", ...)]
    assert one(read(log)) == "tie"
    assert one(read(log, [upsert(6, ..., "c")])) == "tie"
    assert one(read(log, [upsert(6, "z", ...)])) == ("z", None)
    untouched = [upsert(1, "w", "w"), delete(5), upsert(5, ..., ...)]
    assert one(read(untouched)) == "tie"
    assert one(read(untouched, [upsert(6, ..., ...)])) == (None, None)


@pytest.mark.parametrize(
    ("ties", "expected"), [("prefer_upsert", ("x", None)), ("prefer_delete", None)]
)
def test_a_policy_says_whether_the_delete_or_the_upsert_comes_last(
    ties: Ties, expected: Value | None
) -> None:
    log = [upsert(1, "w", "w"), delete(5), upsert(5, "x", ...)]
    assert one(read(log, ties=ties)) == expected
    assert one(read(*[[each] for each in log], ties=ties)) == expected


@each_policy
def test_different_upserts_of_one_order_are_a_tie_under_every_policy(ties: Ties) -> None:
    assert one(read([upsert(5, "x", "b"), upsert(5, "y", "b")], ties=ties)) == "tie"


def test_different_errors_of_one_order_are_a_tie() -> None:
    assert one(read([error(5, "bad"), error(5, "bad")])) == "value"
    assert one(read([error(5, "bad"), error(5, "worse")])) == "tie"
    assert one(read([error(5, "bad"), upsert(5, "x", "b")])) == "tie"


def test_equal_values_in_other_forms_are_no_tie() -> None:
    log = [upsert(5, NAN, 0.0), upsert(5, float("nan"), -0.0)]
    assert one(read(log)) == canonical((NAN, 0.0))


def test_a_run_with_an_open_tie_fails_and_changes_nothing() -> None:
    newest = read([upsert(1, "w", "w"), upsert(None, "?", "?")], ties="fail")
    with pytest.raises(TieError, match="ties: "):
        newest.run([upsert(5, "x", "b"), upsert(5, "y", "b"), upsert(9, "z", "z", key="other")])
    assert one(newest) == ("w", "w")
    assert newest.order_errors() == {(("k",), None): "order"}
    newest.run([upsert(5, "x", "b"), upsert(5, "y", "b"), upsert(6, "z", "z")])
    assert one(newest) == ("z", "z")


def test_other_code_replaces_what_was_read_at_an_equal_order() -> None:
    newest = read([upsert(5, "x", "b"), upsert(5, "y", "b")])
    newest.recode()
    newest.run([upsert(5, "z", ...), upsert(4, "w", "w")])
    assert one(newest) == ("z", "b")
    newest.run([upsert(5, "y", ...)])
    assert one(newest) == "tie"
    newest.recode()
    newest.run([delete(5)])
    assert one(newest) is None
    newest.recode()
    newest.run([upsert(5, ..., "c")])
    assert one(newest) == (None, "c")


# ---------------------------------------------------------------------------- errors


def test_a_value_error_is_open_until_each_of_its_columns_is_newer() -> None:
    assert one(read([upsert(1, "a", "b")], [error(5)], [upsert(6, "x", ...)])) == "value"
    assert one(read([error(5)], [upsert(6, "x", ...)], [upsert(7, ..., "y")])) == ("x", "y")
    assert one(read([error(5, unchanged=[1])], [upsert(6, "x", ...)])) == ("x", None)
    assert one(read([error(5)], [delete(6)])) is None


def test_an_error_without_columns_breaks_the_key_as_a_whole() -> None:
    log = [upsert(1, "a", "b"), error(5, unchanged=[0, 1])]
    assert one(read(log)) == "value"
    assert one(read(log, [upsert(6, ..., ...)])) == ("a", "b")


def test_the_newest_broken_column_says_the_kind() -> None:
    tie = [upsert(5, "x", ...), upsert(5, "y", ...)]
    assert one(read(tie, [error(6, unchanged=[0])])) == "value"
    assert one(read(tie, [error(4)])) == "tie"
    assert one(read(tie, [error(5, unchanged=[0])])) == "tie"


def test_a_key_error_is_open_until_a_delete_of_it() -> None:
    gone = Command((6,), None, None, error_key="x00")
    log = [key_error(5), key_error(5, "null"), upsert(1, "a", "b")]
    newest = read(log)
    assert newest.errors() == {(None, "x00"): "key", (None, "null"): "null_key"}
    newest.run([gone])
    assert newest.errors() == {(None, "null"): "null_key"}
    newest.run(log)
    assert newest.errors() == {(None, "null"): "null_key"}
    newest.run([truncate(6)])
    assert newest.errors() == {}


# ---------------------------------------------------------------------------- order errors

ORDER_ERROR = {(("k",), None): "order"}


def test_a_command_without_an_order_is_an_error_beside_the_row() -> None:
    newest = read([upsert(1, "a", "b"), delete(None)])
    assert one(newest) == ("a", "b")
    assert newest.order_errors() == ORDER_ERROR


def test_only_the_first_part_of_an_order_counts_as_its_absence() -> None:
    no_order, order = Command((None, 1), ("k",), None), Command((1, None), ("k",), None)
    assert read([no_order]).order_errors() == ORDER_ERROR
    assert read([order]).order_errors() == {}


@pytest.mark.parametrize(
    "clearing", [upsert(6, ..., "c"), delete(6), error(6), truncate(3)], ids=str
)
def test_an_order_error_is_cleared_by_a_newer_command_of_a_later_run(clearing: Command) -> None:
    log = [upsert(5, "a", "b"), upsert(None, "x", "y")]
    assert read([*log, clearing]).order_errors() == ORDER_ERROR
    assert read(log, [clearing]).order_errors() == {}
    assert read(log, [clearing, delete(None)]).order_errors() == ORDER_ERROR


@pytest.mark.parametrize("late", [upsert(5, "z", "z"), delete(4), upsert(6, "a", "b", key="k2")])
def test_an_order_error_is_not_cleared_by_other_commands(late: Command) -> None:
    log = [upsert(5, "a", "b"), upsert(None, "x", "y")]
    assert read(log, [late]).order_errors() == ORDER_ERROR


def test_an_order_error_of_a_new_key_is_cleared_above_the_truncates() -> None:
    log = [truncate(5), delete(None)]
    assert read(log, [upsert(5, "a", "b")]).order_errors() == ORDER_ERROR
    assert read(log, [truncate(5)]).order_errors() == ORDER_ERROR
    assert read(log, [upsert(6, "a", "b")]).order_errors() == {}
    assert read(log, [truncate(6)]).order_errors() == {}


def test_a_key_error_may_have_no_order() -> None:
    newest = read([key_error(None)])
    assert newest.errors() == {}
    assert newest.order_errors() == {(None, "x00"): "order"}
    newest.run([key_error(1)])
    assert newest.errors() == {(None, "x00"): "key"}
    assert newest.order_errors() == {}


def test_a_change_of_key_without_an_order_is_an_error_of_both_keys() -> None:
    newest = read([upsert(1, "a", "b")], [upsert(None, "x", ..., key="k2", old_key="k")])
    assert newest.rows() == {("k",): ("a", "b")}
    assert newest.order_errors() == {(("k",), None): "order", (("k2",), None): "order"}


# ---------------------------------------------------------------------------- changes of a key


def change(order: int, key: str, old_key: str, *value: object) -> Command:
    return upsert(order, *value, key=key, old_key=old_key)


def test_a_change_of_key_takes_the_columns_as_given_at_its_order() -> None:
    log = [upsert(1, "a", "b"), upsert(7, "z", "z"), change(5, "k2", "k", ..., "x")]
    assert read(log).rows() == {("k2",): ("a", "x"), ("k",): ("z", "z")}


def test_a_key_may_change_more_than_once_in_a_run() -> None:
    log = [change(6, "k3", "k2", ..., ...), change(5, "k2", "k", ..., "x"), upsert(1, "a", "b")]
    assert read(log).rows() == {("k3",): ("a", "x")}


@pytest.mark.parametrize("before", [[], [delete(4)], [upsert(4, "a", ...)], [truncate(5)]])
def test_a_new_key_is_an_order_error_until_the_unknown_columns_are_given(
    before: list[Command],
) -> None:
    moved = change(5, "k2", "k", "x", ...)
    older = [upsert(3, "b", "b")] if before and before[0].value is None else []
    newest = read([*older, *before, moved])
    assert newest.errors() == {(("k2",), None): "order"}
    assert newest.rows() == {}
    newest.run([upsert(2, "late", "late"), upsert(6, "y", ..., key="k2")])
    assert newest.errors() == {(("k2",), None): "order"}
    newest.run([upsert(5, ..., "given", key="k2")])
    assert newest.rows() == {("k2",): ("y", "given")}


def test_an_unknown_column_yields_to_one_of_the_same_order() -> None:
    moved, whole = change(5, "k2", "k", "x", ...), upsert(5, "x", "y", key="k2")
    for runs in ([[moved, whole]], [[moved], [whole]], [[whole], [moved]]):
        assert result(read(*runs)) == ({("k2",): ("x", "y")}, {})
    newest = read([whole])
    newest.recode()
    newest.run([moved])
    assert result(newest) == ({("k2",): ("x", "y")}, {})


def test_a_change_of_key_that_is_read_again_does_not_follow_its_old_key() -> None:
    moved = change(5, "k2", "k", "x", ...)
    for before in ([upsert(1, "a", "b")], []):
        newest = read([*before, moved], [upsert(3, "late", "late")])
        expected = result(newest)
        newest.run([moved])
        assert result(newest) == expected


def test_a_broken_column_of_the_old_key_breaks_the_new_one() -> None:
    moved = change(5, "k2", "k", "x", ...)
    assert read([error(1), moved]).errors() == {(("k2",), None): "order"}
    tie = [upsert(1, "a", "b"), upsert(1, "a", "c")]
    assert read([*tie, moved]).errors() == {(("k2",), None): "order"}
    assert read([*tie, moved], [upsert(6, ..., "z", key="k2")]).rows() == {("k2",): ("x", "z")}


def test_a_swap_of_keys_is_a_tie() -> None:
    log = [
        *[upsert(1, "a", "b"), upsert(1, "c", "d", key="k2")],
        *[change(5, "k2", "k", ..., ...), change(5, "k", "k2", ..., ...)],
    ]
    assert read(log).errors() == {(("k",), None): "tie", (("k2",), None): "tie"}
    assert read(log, ties="prefer_upsert").rows() == {("k",): ("c", "d"), ("k2",): ("a", "b")}


def test_an_old_key_that_is_the_key_or_null_is_no_change() -> None:
    before = upsert(1, "a", "b")
    for old_key in [("k",), (None,)]:
        same = replace(upsert(5, "x", ...), old_key=old_key)
        assert one(read([before, same])) == ("x", "b")


def test_a_change_to_a_key_error_deletes_the_old_key() -> None:
    newest = read([upsert(1, "a", "b")], [replace(key_error(5), old_key=("k",))])
    assert result(newest) == ({}, {(None, "x00"): "key"})


# ---------------------------------------------------------------------------- misuse


@pytest.mark.parametrize(
    "arguments",
    [
        {"key": None, "value": ("a", "b")},
        {"key": ("k",), "value": None, "error_key": "x00"},
        {"key": ("k",), "value": None, "is_truncate": True},
        {"key": ("k",), "value": None, "old_key": ("k2",)},
    ],
)
def test_a_command_without_one_clear_meaning_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="\nGot: "):
        Command((1,), **arguments)


@pytest.mark.parametrize("command", [truncate(None), upsert(1, "too few")])
def test_a_run_refuses_a_truncate_without_an_order_and_a_value_of_another_width(
    command: Command,
) -> None:
    newest = read([upsert(1, "a", "b")])
    with pytest.raises(ValueError, match="\nGot: "):
        newest.run([command, delete(6)])
    assert one(newest) == ("a", "b")


# ---------------------------------------------------------------------------- laws for any log


@each_policy
@given(data=st.data())
def test_splits_shuffles_duplicates_and_replays_change_no_row(
    ties: Ties, data: st.DataObject
) -> None:
    log = data.draw(newest_logs.logs(kinds=CERTAIN._replace(null_orders=True)))
    runs = data.draw(newest_logs.splits(log))
    assert len(runs) <= 4
    assert result(read(*runs, ties=ties)) == result(read(log, ties=ties))


@given(data=st.data())
def test_the_sequence_within_a_run_changes_nothing(data: st.DataObject) -> None:
    log = data.draw(newest_logs.logs(kinds=ALL_KINDS))
    runs = data.draw(newest_logs.splits(log))
    left = read(*runs)
    right = read(*[[*reversed(run), *run] for run in runs])
    assert result(left) == result(right)
    assert left.order_errors() == right.order_errors()


@given(data=st.data())
def test_a_replay_changes_no_row_if_keys_change(data: st.DataObject) -> None:
    moves = Kinds(errors=False, partial=True, key_changes=True)
    log = data.draw(newest_logs.logs(kinds=data.draw(st.sampled_from([moves, ALL_KINDS]))))
    cut = data.draw(st.integers(0, len(log)))
    newest = read(log[:cut], log[cut:])
    before = result(newest)
    newest.run(data.draw(st.permutations(log)))
    newest.run(log[:cut])
    assert result(newest) == before


def is_whole(command: Command) -> bool:
    return not command.is_truncate and (command.is_delete or not command.unchanged)


@each_policy
@given(data=st.data())
def test_losing_commands_below_a_whole_one_or_a_truncate_changes_no_row(
    ties: Ties, data: st.DataObject
) -> None:
    log = data.draw(newest_logs.logs(kinds=CERTAIN))
    bound = max((each.rank for each in log if each.is_truncate), default=())
    newest_whole = defaultdict[Any, Rank](lambda: bound)
    for each in filter(is_whole, log):
        newest_whole[each.identity] = max(newest_whole[each.identity], each.rank)
    kept = [
        each for each in log if each.rank >= newest_whole[each.identity] or data.draw(st.booleans())
    ]
    assert result(read(kept, ties=ties)) == result(read(log, ties=ties))


def fold(log: list[Command], *, deletes: str) -> dict[Identity, dict[int, Any]]:
    """Another oracle, for logs without ties of values: apply the commands one after the other.

    Returns:
        The columns of each key and key error that exists. A broken column is an exception.
    """
    steps = (
        ["truncate", "upsert", "delete"] if deletes == "last" else ["truncate", "delete", "upsert"]
    )

    def sequence(command: Command) -> tuple[Any, ...]:
        kind = "truncate" if command.is_truncate else "delete" if command.is_delete else "upsert"
        return command.rank, steps.index(kind)

    state: dict[Identity, dict[int, Any]] = {}
    for command in sorted(log, key=sequence):
        if command.is_truncate:
            state.clear()
        elif command.is_delete:
            state.pop(command.identity, None)
        elif command.source is None:
            before = state.get(command.identity, {})
            state[command.identity] = applied(command, before)
        else:
            before = dict.fromkeys(range(2), LookupError("unknown")) | state.pop(command.source, {})
            state[command.identity] = applied(command, before)
    return state


def applied(command: Command, before: dict[int, Any]) -> dict[int, Any]:
    """The columns after a command that is no delete."""
    if command.error_key is not None:
        return {}
    broken = None if command.error is None else ValueError(command.error)
    given = {
        position: broken or canonical(command.value and command.value[position])
        for position in {0, 1} - command.unchanged
    }
    return {**before, EXISTENCE: None if given else broken, **given}


def check_fold(log: list[Command], newest: Newest, *, deletes: str = "last") -> None:
    state = fold(log, deletes=deletes)
    broken = {
        identity
        for identity, row in state.items()
        if identity[0] is None or any(isinstance(item, Exception) for item in row.values())
    }
    assert newest.errors().keys() == broken
    assert newest.rows() == {
        identity[0]: (row.get(0), row.get(1))
        for identity, row in state.items()
        if identity not in broken
    }


@given(newest_logs.logs(kinds=SEQUENTIAL))
def test_a_log_without_ties_gives_what_its_commands_give_in_sequence(log: list[Command]) -> None:
    check_fold(log, read(log))
    check_fold(log, read(log, ties="fail"))


@pytest.mark.parametrize(
    ("ties", "deletes"), [("prefer_upsert", "first"), ("prefer_delete", "last")]
)
@given(data=st.data())
def test_a_policy_puts_deletes_before_or_after_the_upserts_of_their_order(
    ties: Ties, deletes: str, data: st.DataObject
) -> None:
    log = data.draw(newest_logs.logs(kinds=CERTAIN._replace(ties=False)))
    for each in [*log]:
        if not each.is_truncate and data.draw(st.booleans()):
            log.append(Command(each.order, each.key, None, error_key=each.error_key))
    check_fold(log, read(log, ties=ties), deletes=deletes)


@given(newest_logs.logs(kinds=CERTAIN))
def test_a_run_fails_only_if_a_tie_stays_open(log: list[Command]) -> None:
    newest, failing = read(log), Newest(ties="fail")
    try:
        failing.run(log)
    except TieError:
        assert result(failing) == ({}, {})
        assert newest.errors()
    else:
        assert "tie" not in newest.errors().values()
        assert result(failing) == result(newest)


@given(newest_logs.logs(kinds=ALL_KINDS))
def test_nothing_survives_a_newer_truncate(log: list[Command]) -> None:
    newest = read(log, [Command((2, 0), None, None, is_truncate=True)], [*reversed(log)])
    assert result(newest) == ({}, {})


@st.composite
def reread(draw: st.DrawFn, command: Command) -> Command:
    """The command as other code reads it. Its key, order and columns stay."""
    if command.is_delete or command.is_truncate or command.error_key is not None:
        return command
    error = draw(st.none() | strategies.texts())
    value = draw(strategies.values()) if error is None else None
    return replace(command, value=value, error=error)


@given(data=st.data())
def test_reading_the_log_again_with_other_code_gives_what_that_code_reads(
    data: st.DataObject,
) -> None:
    log = data.draw(newest_logs.logs(kinds=CERTAIN))
    again = [data.draw(reread(command)) for command in log]
    newest = read(log)
    newest.recode()
    for run in data.draw(newest_logs.splits(again)):
        newest.run(run)
    assert result(newest) == result(read(again))


@given(newest_logs.logs(kinds=WHOLE))
def test_a_log_has_only_the_kinds_that_are_asked_for(log: list[Command]) -> None:
    assert not any(each.is_truncate or each.unchanged or each.source for each in log)
    assert all(each.rank for each in log)
    assert len({(each.identity, each.rank) for each in log}) == len(log)
