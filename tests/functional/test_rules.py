"""The rules of a collection. Each rule has a test with a matching name.

Most tests share one log and three runs. Each rule has its own keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance import Column, multiset
from tests.functional.test_configurations import configured
from tests.oracle import Collection, Command, check_laws
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle import Update, Value
    from tests.project import Project

    Changes = Callable[[str], list[tuple[int, int, object]]]

KEY = [Column("k", "string")]
VALUE = [Column("a", "string"), Column("b", "double")]
NAN = float("nan")


def put(ts: int, order: int, key: str, *value: object) -> Command:
    return Command(ts, (order,), (key,), (*value, *[None] * (2 - len(value))))


def delete(ts: int, order: int, key: str) -> Command:
    return Command(ts, (order,), (key,), None)


RUNS = [
    [
        put(1, 1, "greatest order", "first"),
        put(1, 3, "greatest order", "third"),
        put(1, 2, "greatest order", "second"),
        put(1, 9, "later tick", "early, great order"),
        put(2, 1, "later tick", "late, small order"),
        put(1, 1, "folded", "one"),
        put(2, 1, "folded", "two"),
        delete(3, 1, "folded"),
        put(4, 1, "folded", "four"),
        put(1, 1, "equal", "same", 1.0),
        put(2, 1, "equal", "same", 1.0),
        put(1, 1, "not a number", "x", NAN),
        put(1, 1, "zero", "x", -0.0),
        delete(1, 1, "absent"),
        put(1, 1, "rank first", "value"),
        delete(1, 2, "rank first"),
        put(1, 9, "forgets", "with order 9"),
        put(1, 1, "all null"),
        put(1, 1, "empty", ""),
        put(1, 1, "null", None),
        put(1, 1, "settled", "kept"),
        put(4, 1, "duplicate", "once"),
        put(4, 1, "duplicate", "once"),
        put(4, 1, "tie", "left"),
        put(4, 1, "tie", "right"),
        put(4, 0, "no tie below", "loses"),
        put(4, 0, "no tie below", "loses too"),
        put(4, 1, "no tie below", "wins"),
    ],
    [
        put(5, 1, "equal", "same", 1.0),
        put(5, 1, "not a number", "x", NAN),
        put(5, 1, "zero", "x", 0.0),
        delete(5, 1, "forgets"),
        delete(5, 2, "all null"),
        put(5, 1, "empty"),
        put(5, 1, "null", ""),
        put(2, 9, "settled", "too late"),
        put(4, 9, "settled", "too late, in the last tick"),
    ],
    [
        put(6, 1, "forgets", "with order 1"),
        delete(6, 1, "absent"),
    ],
]


@pytest.fixture(scope="module")
def rules(new_project: Callable[[str], Project]) -> Project:
    project = new_project("rules")
    project.add_collection("rules", KEY, VALUE)
    for number, commands in enumerate(RUNS):
        project.append("rules", commands)
        # The views need not be made again.
        project.run(*(f"rules_{role}" for role in TABLES if number))
    return project


@pytest.fixture(scope="module")
def updates(rules: Project) -> list[Update]:
    return rules.updates("rules")


@pytest.fixture(scope="module")
def changes(updates: list[Update]) -> Changes:
    def of(key: str) -> list[tuple[int, int, object]]:
        return sorted(
            (update.ts, update.diff, update.value[0] if update.value else None)
            for update in updates
            if update.key == (key,)
        )

    return of


@pytest.fixture(scope="module")
def rows(rules: Project) -> dict[object, Value]:
    return {row[0]: row[1:] for row in rules.rows("rules")}


def test_within_a_key_and_tick_the_greatest_order_wins(changes: Changes) -> None:
    assert changes("greatest order") == [(1, 1, "third")]


def test_across_ticks_the_later_tick_wins_whatever_the_orders_are(
    rows: dict[object, Value],
) -> None:
    assert rows["later tick"] == ("late, small order", None)


def test_a_run_folds_all_ticks_of_a_key_in_sequence(changes: Changes) -> None:
    assert changes("folded") == [
        (1, 1, "one"),
        (2, -1, "one"),
        (2, 1, "two"),
        (3, -1, "two"),
        (4, 1, "four"),
    ]


def test_a_value_that_equals_the_value_before_emits_nothing(changes: Changes) -> None:
    assert changes("equal") == [(1, 1, "same")]


def test_nan_equals_nan(changes: Changes) -> None:
    assert changes("not a number") == [(1, 1, "x")]


def test_minus_zero_equals_zero_and_is_stored_as_zero(changes: Changes, rules: Project) -> None:
    assert changes("zero") == [(1, 1, "x")]
    assert rules.sql("select cast(b as string) from {}.rules where k = 'zero'")[0][0] == "0.0"


def test_deleting_an_absent_key_emits_nothing(changes: Changes) -> None:
    assert changes("absent") == []


def test_a_delete_with_the_greatest_order_wins_over_an_upsert(changes: Changes) -> None:
    assert changes("rank first") == []


def test_after_a_delete_the_key_forgets_its_order(
    changes: Changes, rows: dict[object, Value]
) -> None:
    assert rows["forgets"] == ("with order 1", None)
    assert changes("forgets") == [
        (1, 1, "with order 9"),
        (5, -1, "with order 9"),
        (6, 1, "with order 1"),
    ]


def test_an_all_null_value_is_a_value(updates: list[Update]) -> None:
    assert [(one.ts, one.diff) for one in updates if one.key == ("all null",)] == [(1, 1), (5, -1)]


def test_an_empty_string_is_not_null(updates: list[Update]) -> None:
    for key in ("empty", "null"):
        assert [one.diff for one in updates if one.key == (key,) and one.ts == 5] == [-1, 1]


def test_a_null_or_an_empty_string_does_not_delete_the_row(rows: dict[object, Value]) -> None:
    assert rows["empty"] == (None, None)
    assert rows["null"] == ("", None)


def test_commands_below_the_lower_are_late_and_dropped(changes: Changes) -> None:
    assert changes("settled") == [(1, 1, "kept")]


def test_late_commands_are_counted_once(rules: Project) -> None:
    late = [row["_statistics"]["late_dropped"] for row in rules.progress("rules")]
    assert late == [0, 2, 0]


def test_a_duplicate_of_a_command_changes_nothing(changes: Changes) -> None:
    assert changes("duplicate") == [(4, 1, "once")]


def test_a_tie_has_one_winner_and_is_counted(changes: Changes, rules: Project) -> None:
    assert changes("tie") in ([(4, 1, "left")], [(4, 1, "right")])
    assert rules.progress("rules")[0]["_statistics"]["ties"] == 1


def test_at_every_tick_a_key_has_at_most_one_row(
    updates: list[Update],
) -> None:
    check_laws(updates)


def test_the_statistics_equal_those_of_the_oracle(rules: Project) -> None:
    oracle = Collection(tie_breaker=lambda tied: tied[0])
    log: list[Command] = []
    for commands, progress in zip(RUNS, rules.progress("rules"), strict=True):
        log += commands
        before = dict(oracle.counters)
        oracle.run(log)
        for name in (
            "inserts",
            "updates",
            "deletes",
            "retractions",
            "error_inserts",
            "error_retractions",
            "late_dropped",
            "ties",
        ):
            expected = oracle.counters[name] - before.get(name, 0)
            assert progress["_statistics"][name] == expected, name
        assert progress["_statistics"]["records_indexed"] == oracle.counters["records_indexed"]
        assert progress["_statistics"]["commands_settled"] == sum(
            command.ts < oracle.upper for command in log
        )


def test_the_corrections_are_a_table_from_the_first_run_on(rules: Project) -> None:
    """A data test of the corrections must not stop `dbt build` before the batch."""
    assert rules.sql("select * from {}.rules_corrections") == []
    columns = rules.spark.table("rules.rules_corrections").dtypes
    value = "struct<a:string,b:double,_error:string>"
    assert columns == [
        ("k", "string"), ("_error_key", "string"), ("_persisted", value), ("_desired", value),
        ("_cause", "string"), ("_seq", "bigint"), ("_ts", "bigint"), ("_after_batch_id", "string"),
    ]  # fmt: skip


def test_running_again_changes_nothing(rules: Project) -> None:
    before = {
        table: multiset(rules.sql(f"select * from {{}}.rules_{table}"))
        for table in ("changelog", "state", "batch")
    }
    rules.run()
    assert before == {
        table: multiset(rules.sql(f"select * from {{}}.rules_{table}")) for table in before
    }
    assert "rules_batch: up to date at 7" in rules.messages


def test_the_retracted_value_is_the_persisted_one_not_a_staged_one(
    new_project: Callable[[str], Project],
) -> None:
    project = new_project("feedback")
    project.add_collection("c", KEY, VALUE)
    project.append("c", [put(1, 1, "k", "persisted")])
    project.run()
    project.append("c", [put(2, 1, "k", "staged only")])
    project.run_collection("c", read_only=True)
    assert "c_changelog: read only: batch 2 is staged, not appended" in project.messages
    project.append("c", [put(2, 2, "k", "winner")])
    project.run_collection("c")
    assert [(one.ts, one.diff, one.value[0]) for one in project.updates("c") if one.value] == [
        (1, 1, "persisted"),
        (2, -1, "persisted"),
        (2, 1, "winner"),
    ]


def test_a_partial_command_keeps_what_it_does_not_know(
    new_project: Callable[[str], Project],
) -> None:
    """The fold is per column: the last value of the tick, then the value before the batch."""
    project = new_project("partial")
    project.add_collection("c", KEY, VALUE, extra=("unchanged", "old_key"))
    only_a, only_b = frozenset({1}), frozenset({0})
    runs = [
        [put(1, 1, "k", "prior", 1.0), put(1, 1, "old", "of the old key", 7.0)],
        [
            Command(2, (1,), ("k",), ("in the tick", None), unchanged=only_a),
            Command(2, (2,), ("k",), (None, 2.0), unchanged=only_b),
            Command(3, (1,), ("k",), ("later", None), unchanged=only_a),
            Command(3, (1,), ("new",), (None, 8.0), unchanged=only_b, old_key=("old",)),
            delete(3, 2, "old"),
        ],
    ]
    oracle, log = Collection(), []
    for commands in runs:
        log += commands
        oracle.run(log)
        project.append("c", commands)
        project.run_collection("c")

    assert multiset(project.updates("c")) == multiset(oracle.changelog)
    assert multiset(project.rows("c")) == multiset(
        [("k", "later", 2.0), ("new", "of the old key", 8.0)]
    )


def test_the_partitions_of_spark_and_the_sequence_of_the_log_change_nothing(
    rules: Project,
) -> None:
    rules.add_collection("parts", KEY, VALUE)
    setting = "spark.sql.shuffle.partitions"
    before = rules.spark.conf.get(setting)
    try:
        for commands in RUNS:
            # Each append is a file of its own, and a duplicate is no command of its own.
            for part in (commands[1::2], commands[0::2][::-1], commands[:3]):
                rules.append("parts", part)
            with configured({setting: "7"}):
                rules.run_collection("parts")
            assert rules.spark.conf.get(setting) == "7"
    finally:
        rules.spark.conf.set(setting, str(before))
    assert multiset(rules.rows("parts")) == multiset(rules.rows("rules"))
    assert multiset(rules.updates("parts")) == multiset(rules.updates("rules"))
