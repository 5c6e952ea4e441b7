"""The Python aggregate and the native fold of open ticks (option `fold`) give equal results."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from decimal import Decimal
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from dbt_trueup.udfs import aggregates

from tests import acceptance, strategies
from tests.acceptance import Column, multiset
from tests.functional.test_eager import ahead_of
from tests.functional.test_random_options import own_keys
from tests.oracle import Collection, Command, Value, check_laws, consolidate
from tests.project import TABLES
from tests.strategies import Kinds
from tests.udfs import test_provisional as provisional

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

FOLDS = ("udaf", "native")
CASES = acceptance.load()
KEY = [Column(*column) for column in strategies.KEY_COLUMNS[1]]
VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]
UPPERS = (1, 2, 2, 1000)
"""The frontier after each run. At first almost no tick is settled, in the end all ticks are."""
DAYS = "named_struct('nothing', cast(null as string), 'days', date_from_unix_date(log_order))"
SEQUENCES: dict[str, list[str]] = {
    "text": ["lpad(cast(log_order as string), 20, '0')"],
    "times": ["timestamp_micros(log_order)", "cast(log_order as decimal(38, 3)) / 7"],
    "parts": [
        f"case when log_order is not null then {DAYS} end",
        "cast(log_order as double) * -0.0D",
    ],
}
"""Values of `sequence_by` that are no bigint but give the commands the same order."""


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    project = own_project("fold")
    project.sql("create table {}.uppers as select cast(0 as bigint) as upper")
    return project


class Pair:
    """Two eager collections with the same commands, one for each fold, and their oracle."""

    def __init__(
        self, project: Project, name: str, columns: tuple[Any, Any], *extra: str, **given: Any
    ) -> None:
        """Write the models of both. They settle the ticks below the value in the table `uppers`."""
        self.project, self.name = project, name
        upper = f"least(log_upper, (select max(upper) from {project.name}.uppers))"
        late, ties = given.pop("late", "drop"), given.pop("ties", "hash")
        self.oracle, self.arrived = Collection(late), list[Command]()
        for fold in FOLDS:
            options = {"eager": True, "input_upper": upper, "late": late}
            options |= {"ties": ties, "fold": fold}
            project.add_collection(f"{name}_{fold}", *columns, options, extra, **given)

    def append(self, commands: list[Command]) -> None:
        """Append commands to both logs."""
        for fold in FOLDS:
            self.project.append(f"{self.name}_{fold}", commands)
        self.arrived += commands

    def check(self, upper: int) -> None:
        """Check that one equals the oracle, and that the tables of both are equal to the byte."""
        self.check_bytes()
        self.oracle.run(self.arrived, upper)
        ahead = ahead_of(self.oracle, self.arrived)
        name = f"{self.name}_{FOLDS[0]}"
        updates = self.project.updates(name)
        check_laws(updates)
        assert multiset(self.project.rows(name)) == multiset(ahead.rows), name
        assert multiset(self.project.errors(name)) == multiset(ahead.errors), name
        assert consolidate(updates) == consolidate(ahead.changelog), name

    def check_bytes(self) -> None:
        """Check that both changelogs, and both states, are equal to the byte."""
        for role in ("changelog", "state"):
            by_udaf, natively = (self.contents(f"{fold}_{role}") for fold in FOLDS)
            assert by_udaf == natively, f"{self.name} {role}"

    def contents(self, table: str) -> Any:
        """Give all rows as JSON, without the fields that depend on run, code or time."""
        relation = f"{self.project.name}.{self.name}_{table}"
        columns = self.project.spark.table(relation).columns
        shown = [f"`{each}`" for each in columns if each not in ("_batch_id", "_statistics")]
        if "_statistics" in columns:
            apart = ("definition", "position", "minted_at", "committed_at", "seal")
            fields = self.project.spark.table(relation).select("_statistics.*").columns
            shown += [f"_statistics.`{each}`" for each in fields if each not in apart]
        return multiset(
            self.project.sql(f"select to_json(struct({', '.join(shown)})) from {relation}")
        )


def settle_and_run(project: Project, pairs: list[Pair], upper: int, *, is_first: bool) -> None:
    """Settle the ticks below the upper, and write the open ticks."""
    project.sql(f"insert overwrite {{}}.uppers values ({upper})")
    names = [f"{pair.name}_{fold}" for pair in pairs for fold in FOLDS]
    tables = [f"{name}_{role}" for name in names for role in TABLES]
    project.run(*([f"models/{name}" for name in names] if is_first else tables))


def run(project: Project, pairs: list[Pair], upper: int, *, is_first: bool) -> None:
    """Settle the ticks below the upper, write the open ticks, and check the result."""
    settle_and_run(project, pairs, upper, is_first=is_first)
    for pair in pairs:
        pair.check(upper)


def fit(items: Value | None, types: tuple[type, ...]) -> Value | None:
    """Put each item into the first free column whose type can hold it."""
    if items is None:
        return None
    left, fitted = [item for item in items if item is not None], []
    for kind in types:
        found = next((item for item in left if isinstance(item, kind)), None)
        if found is not None:
            left.remove(found)
        fitted.append(found)
    assert not left, items
    return tuple(fitted)


def wide_key(key: Value | None) -> Value | None:
    """Give a key of two texts. A key of one part gets an empty second text."""
    return key and tuple(None if part is None else str(part) for part in (*key, "")[:2])


def cases(is_of: Callable[[acceptance.Case], bool]) -> list[list[Command]]:
    """Give the commands of some acceptance cases, by run. Each case has orders of its own."""
    arrivals: list[list[Command]] = [[] for _ in UPPERS]
    for number, case in enumerate(CASES):
        for run_no, one in enumerate(case.runs if is_of(case) else []):
            arrivals[run_no] += [
                replace(
                    command,
                    order=(number, *command.order),
                    key=wide_key(command.key) if case.key[0].type == "string" else command.key,
                    value=fit(command.value, (str, int)),
                )
                for command in one.commands
            ]
    return arrivals


def vectors() -> tuple[list[list[Command]], dict[str, str | None]]:
    """Give the commands of the provisional vectors, by run, and the values expected after run 2.

    Each vector has its own key, and tick 1 is settled. Of commands with an equal order only the
    first is kept, because a batch does not break a tie by the time of arrival.
    """
    arrivals: list[list[Command]] = [[] for _ in UPPERS]
    shown = {}
    for vector in (each.values[0] for each in provisional.vectors("scenarios")):
        steps = [step["command"] for step in vector["steps"] if "command" in step]
        each = {(step["ts"], step["order"]): step for step in reversed(steps)}
        commands = list(reversed(each.values()))
        start(arrivals[0], vector["name"], vector["start"])
        arrivals[1] += [put_command(vector["name"], command) for command in commands[:1]]
        arrivals[2] += [put_command(vector["name"], command) for command in commands[1:]]
    for vector in (each.values[0] for each in provisional.vectors("constructors")):
        start(arrivals[0], vector["name"], vector["from"])
        arrivals[1].append(put_command(vector["name"], vector["command"]))
        shown[vector["name"]] = vector["to"]["provisional"]["value"]
    return arrivals, shown


def start(arrivals: list[Command], name: str, state: dict[str, Any] | None) -> None:
    """Append the commands that lead to a state of the vectors."""
    if state and state["finalized"] is not None:
        arrivals.append(put_command(name, {"ts": 1, "order": 1, "value": state["finalized"]}))
    if state and state["provisional"]:
        arrivals.append(put_command(name, state["provisional"]))


def put_command(name: str, command: dict[str, Any]) -> Command:
    content = None if command["value"] is None else (command["value"], None)
    return Command(command["ts"], (command["order"],), wide_key((name,)), content)


def at_random(kinds: Kinds) -> list[list[Command]]:
    """Draw families of commands. Each family has its own keys, and some commands come late."""
    rng = Random(17)  # noqa: S311 - no secret
    strategy = strategies.logs(1, kinds, min_size=5, max_size=20)
    drawn = strategies.sample(strategy, 40, rng.randrange(2**32))
    arrivals: list[list[Command]] = [[] for _ in UPPERS]
    for number, family in enumerate(drawn):
        for command in family:
            rng.choice(arrivals).append(own_keys(command, number))
    return arrivals


@pytest.mark.long
def test_both_folds_equal_the_oracle_on_all_vectors_with_several_order_types(
    project: Project,
) -> None:
    texts = [Column("k", "string"), Column("k2", "string")]
    number = Column("k", "bigint")
    values = [Column("f1", "string"), Column("f2", "bigint")]
    provisional_vectors, shown = vectors()
    is_of_numbers = {case.name: [each.type for each in case.key] == ["bigint"] for case in CASES}
    of_texts = cases(lambda case: not is_of_numbers[case.name])
    given: dict[str, tuple[Pair, list[list[Command]]]] = {
        "numbers": (
            Pair(
                *(project, "numbers", ([number], values)),
                sequence_by=SEQUENCES["times"],
                late="correct",
            ),
            cases(lambda case: is_of_numbers[case.name]),
        ),
        "texts": (
            Pair(project, "texts", (texts, values), sequence_by=SEQUENCES["parts"]),
            [[*both] for both in map(chain, of_texts, provisional_vectors)],
        ),
        "random": (
            Pair(
                *(project, "random", (KEY, VALUE), "unchanged"),
                sequence_by=SEQUENCES["text"],
                late="correct",
            ),
            at_random(Kinds(partial=True, null_orders=True)),
        ),
    }
    pairs = [pair for pair, _ in given.values()]
    for run_no, upper in enumerate(UPPERS):
        for pair, arrivals in given.values():
            pair.append(arrivals[run_no])
        run(project, pairs, upper, is_first=run_no == 0)
        if run_no == 1:
            rows = {row[0]: row[2] for row in project.rows("texts_udaf")}
            assert {name: rows.get(name) for name in shown} == shown


RICH = [
    Column("nested", "struct<a: array<struct<d: double, t: string>>>"),
    Column("money", "decimal(38,18)"),
    Column("at", "timestamp"),
    Column("raw", "binary"),
]


@pytest.mark.long
def test_both_folds_write_the_same_bytes_for_many_types_and_for_ties(project: Project) -> None:
    one, nan = Decimal("0.000000000000000001"), float("nan")
    at = datetime(2024, 3, 10, 7, 30, 0, 1, tzinfo=timezone.utc)
    contents: list[tuple[Any, ...] | None] = [
        (([(-0.0, "x"), None],), one, at, b"\x00\xff"),
        (([(0.0, "x"), None],), one, at, b"\x00\xff"),
        (([(nan, None)],), None, None, b""),
        (([],), -one, at, None),
        ((None,), None, None, None),
        (None, None, None, None),
        None,
    ]
    rng = Random(5)  # noqa: S311 - no secret
    log = [
        Command(rng.randint(1, 6), (rng.randint(0, 1),), (f"k{rng.randrange(12)}",), content)
        for content in contents * 40
    ]
    pair = Pair(
        *(project, "rich", ([Column("k", "string")], RICH), "truncate_when"),
        ties="prefer_delete",
        sequence_by=SEQUENCES["text"],
    )
    for run_no, upper in enumerate((0, 3, 9)):
        pair.append(log[run_no::3])
        if run_no == 1:
            pair.append([Command(5, (1,), None, None, is_truncate=True)])
        settle_and_run(project, [pair], upper, is_first=run_no == 0)
        pair.check_bytes()
    assert pair.project.progress("rich_udaf")[-1]["_statistics"]["ties"] > 0


@pytest.mark.long
def test_open_ticks_are_folded_natively_if_the_session_has_no_aggregate(project: Project) -> None:
    pair = Pair(project, "without", ([Column("k", "string")], [Column("v", "string")]))
    log = [Command(ts, (1,), ("a",), (f"v{ts}",)) for ts in (1, 2, 3)]
    pair.append(log)
    project.sql("drop temporary function trueup_provisional")
    try:
        run(project, [pair], 2, is_first=True)
    finally:
        aggregates.register(project.spark)
    said = "batch 1 [0, 2); folded natively: the session has no Python aggregates"
    assert f"without_udaf_batch: {said}" in project.messages
    assert "without_native_batch: batch 1 [0, 2)" in project.messages
    pair.append([Command(3, (2,), ("a",), None)])
    run(project, [pair], 2, is_first=False)
    assert "without_udaf_batch: batch 2 [2, 2)" in project.messages
