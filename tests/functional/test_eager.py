"""Eager collections write open ticks at once. The final result is the same without `eager`."""

from __future__ import annotations

import os
from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests import strategies
from tests.acceptance import Column, multiset
from tests.functional.test_random_options import own_keys
from tests.oracle import Collection, Command, Identity, canonical, check_laws, consolidate
from tests.project import TABLES
from tests.strategies import MAX_TS, Kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle import Late
    from tests.project import Project

EXAMPLES = int(os.environ.get("TRUEUP_EXAMPLES", "1"))
"""Each example runs about a hundred dbt models. A long run sets more examples."""
KEY = [Column(*column) for column in strategies.KEY_COLUMNS[1]]
VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]
UPPERS = (0, 2, 2, 5, MAX_TS + 1)
"""The frontier after each run. At first no tick is settled, in the end all ticks are."""


class Setting(NamedTuple):
    """The settings of one collection of the random test."""

    kinds: Kinds
    families: int
    late: Late = "drop"
    runs: tuple[int, ...] = tuple(range(len(UPPERS)))

    @property
    def extra(self) -> list[str]:
        """The optional arguments of `trueup.commands` for which the log has a column."""
        given = {
            "truncate_when": self.kinds.truncates,
            "unchanged": self.kinds.partial,
            "old_key": self.kinds.key_changes,
        }
        return [name for name, has in given.items() if has]

    def log(self, rng: Random) -> list[Command]:
        """Draw families of commands. Each family has its own keys."""
        strategy = strategies.logs(1, self.kinds, min_size=5, max_size=20)
        drawn = strategies.sample(strategy, self.families, rng.randrange(2**32))
        own = [own_keys(each, number) for number, family in enumerate(drawn) for each in family]
        return strategies.ignoring_nulls(own, [0])

    def arrivals(self, rng: Random) -> dict[int, list[Command]]:
        """Draw a run for each command. Only if `late` is `correct` may a command arrive late."""
        arrivals: dict[int, list[Command]] = {run: [] for run in self.runs}
        lowers = [0, *(UPPERS[run] for run in self.runs)]
        for command in self.log(rng):
            may = [
                run
                for run, lower in zip(self.runs, lowers, strict=False)
                if self.late == "correct" or command.ts >= lower
            ]
            arrivals[rng.choice(may)].append(command)
        return arrivals


SETTINGS = {
    "drop": Setting(Kinds(partial=True), 40),
    "correct": Setting(Kinds(partial=True), 40, late="correct", runs=(0, 2, 4)),
    "truncates": Setting(Kinds(partial=True, truncates=True), 6, runs=(0, 2, 4)),
    "late_truncates": Setting(Kinds(truncates=True), 6, late="correct", runs=(2, 4)),
    "key_changes": Setting(Kinds(key_changes=True, partial=True), 30, runs=(2, 4)),
}


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    project = own_project("eager")
    project.sql("create table {}.uppers as select cast(0 as bigint) as upper")
    return project


def add(project: Project, name: str, *extra: str, **options: Any) -> None:
    """Add a collection that settles the ticks below the value in the table `uppers`."""
    upper = f"least(log_upper, (select max(upper) from {project.name}.uppers))"
    options = {"eager": True, "input_upper": upper, **options}
    project.add_collection(name, KEY, VALUE, options, extra, ignore_null_updates=["v1"])


def state(project: Project, name: str) -> dict[Any, Any]:
    """Give the rows and errors of the state, each with the tick of its last change."""
    found = {}
    for row in project.sql(f"select * from {{}}.{name}_state where _kind <> 'progress'"):
        key = None if row["_error_key"] else canonical((row["k"],))
        value = None if row["_error"] is not None else canonical((row["v1"], row["v2"]))
        text = None if row["_error_key"] else row["_error"]
        assert (key, row["_error_key"]) not in found
        found[key, row["_error_key"]] = (value, text, row["_ts"])
    return found


def check(project: Project, name: str, oracle: Collection) -> None:
    """Check that rows, errors, state and changelog of a collection equal those of the oracle."""
    updates = project.updates(name)
    check_laws(updates)
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    assert multiset(project.errors(name)) == multiset(oracle.errors)
    assert consolidate(updates) == consolidate(oracle.changelog)
    ticks = {update.identity: update.ts for update in oracle.changelog}
    contents = {update.identity: update.content for update in oracle.changelog if update.diff == 1}
    live: set[Identity] = {(row[:1], None) for row in oracle.rows}
    live |= {(error.key, error.error_key) for error in oracle.errors}
    assert state(project, name) == {each: (*contents[each], ticks[each]) for each in live}
    statistics = [row["_statistics"] for row in project.progress(name)]
    assert sum(row["updates_staged"] for row in statistics) == len(updates)
    assert not statistics or statistics[-1]["records_indexed"] == len(live)


def settle(project: Project, upper: int) -> None:
    """Declare that the ticks below `upper` get no more commands."""
    project.sql(f"insert overwrite {{}}.uppers values ({upper})")


def run(project: Project, name: str, *roles: str, **variables: Any) -> None:
    project.run(*(f"{name}_{role}" for role in roles or TABLES), **variables)


def ahead_of(oracle: Collection, arrived: list[Command]) -> Collection:
    """Give a copy of the oracle that has settled all commands that arrived."""
    ahead = deepcopy(oracle)
    ahead.run(arrived)
    return ahead


@pytest.mark.long
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_open_ticks_are_written_at_once_and_end_with_the_settled_result(
    project: Project, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - no secret
    oracles, arrivals, arrived = {}, {}, {}
    for number, (name, setting) in enumerate(SETTINGS.items()):
        fold = ("udaf", "native")[(number + seed) % 2]
        add(project, f"{name}_{seed}", *setting.extra, late=setting.late, fold=fold)
        oracles[name] = Collection(setting.late)
        arrivals[name] = setting.arrivals(rng)
        arrived[name] = list[Command]()
    for run, upper in enumerate(UPPERS):
        settle(project, upper)
        names = [name for name, setting in SETTINGS.items() if run in setting.runs]
        models: list[str] = []
        for name in names:
            project.append(f"{name}_{seed}", arrivals[name][run])
            arrived[name] += arrivals[name][run]
            is_first = run == SETTINGS[name].runs[0]
            tables = [f"{name}_{seed}_{role}" for role in TABLES]
            models += [f"models/{name}_{seed}"] if is_first else tables
        project.run(*models)
        for name in names:
            oracles[name].run(arrived[name], upper)
            check(project, f"{name}_{seed}", ahead_of(oracles[name], arrived[name]))


def put(ts: int, order: int, key: str, text: str) -> Command:
    return Command(ts, (order,), (key,), (text, None))


def delete(ts: int, order: int, key: str) -> Command:
    return Command(ts, (order,), (key,), None)


OPENED = [
    *(put(1, 1, key, "settled") for key in ("kept", "back", "deleted", "twice")),
    put(3, 1, "kept", "open"),
    put(3, 1, "back", "open"),
    delete(3, 1, "deleted"),
    put(3, 1, "new", "open"),
    put(3, 1, "twice", "open"),
    put(5, 1, "twice", "settled"),
]
"""Tick 1 is settled. Ticks 3 and 5 are open."""
TAKING_BACK = [
    put(3, 2, "back", "settled"),
    put(3, 2, "deleted", "settled"),
    delete(3, 2, "new"),
    put(3, 2, "twice", "settled"),
]


@pytest.fixture
def opened(project: Project, request: pytest.FixtureRequest) -> str:
    """A collection of this test only, which has written OPENED."""
    name: str = request.function.__name__
    add(project, name)
    settle(project, 2)
    project.append(name, OPENED)
    project.run(f"models/{name}")
    return name


@pytest.mark.long
def test_the_state_keeps_no_trace_of_retracted_provisional_rows(
    project: Project, opened: str
) -> None:
    oracle = Collection()
    oracle.run(OPENED, 2)
    check(project, opened, ahead_of(oracle, OPENED))
    project.append(opened, TAKING_BACK)
    run(project, opened)
    check(project, opened, ahead_of(oracle, OPENED + TAKING_BACK))
    assert state(project, opened)[("back",), None] == (("settled", None), None, 1)
    ticks = {update.ts for update in project.updates(opened, after=1)}
    assert ticks == {3, 5}, "what is settled was written to"


@pytest.mark.long
def test_a_run_without_new_commands_writes_no_updates(project: Project, opened: str) -> None:
    before = project.sql(f"select * from {{}}.{opened}_changelog")
    run(project, opened)
    assert f"{opened}_batch: up to date at 2" in project.messages
    assert f"{opened}_changelog: nothing to append" in project.messages
    assert multiset(project.sql(f"select * from {{}}.{opened}_changelog")) == multiset(before)
    settle(project, 3)
    run(project, opened)
    assert f"{opened}_changelog: batch 2: 0 updates, upper 3" in project.messages


@pytest.mark.long
def test_a_run_that_stops_after_any_step_loses_no_commands(project: Project, opened: str) -> None:
    oracle, arrived = Collection(), list(OPENED)
    oracle.run(OPENED, 2)
    steps = [
        (("batch",), 2, TAKING_BACK),
        (("batch", "changelog"), 2, [put(3, 3, "back", "again"), put(4, 1, "new", "again")]),
        (("batch", "changelog"), 4, [put(5, 2, "twice", "again"), delete(5, 1, "back")]),
        (TABLES, 5, [put(6, 1, "back", "at last")]),
    ]
    for roles, upper, commands in steps:
        settle(project, upper)
        project.append(opened, commands)
        arrived += commands
        run(project, opened, *roles)
        oracle.run(arrived, upper)
    check(project, opened, ahead_of(oracle, arrived))
    # The result stays the same after somebody drops the state, or edits it.
    project.sql(f"drop table {{}}.{opened}_state")
    run(project, opened)
    check(project, opened, ahead_of(oracle, arrived))
    project.sql(f"update {{}}.{opened}_state set v1 = 'tampered' where k = 'back'")
    project.run(f"{opened}_state", "--full-refresh")
    check(project, opened, ahead_of(oracle, arrived))


@pytest.mark.long
def test_eager_must_stay_on_until_open_ticks_are_retracted(project: Project, opened: str) -> None:
    upper = {"input_upper": f"least(log_upper, (select max(upper) from {project.name}.uppers))"}
    waits = {"+unique_key": ["k"], "+meta": {"trueup": upper}}
    eager = {"+unique_key": ["k"], "+meta": {"trueup": {**upper, "eager": True}}}
    project.configure(**{opened: waits})
    run(project, opened, fails=True)
    said = "\n".join(project.messages)
    assert "must be true as long as the changelog has updates of open ticks.\n  Got: false" in said
    assert "run once with `eager: true` and --vars '{trueup_until: 2}'" in said
    project.configure(**{opened: eager})
    # The run that retracts them stops before the state applies the batch.
    run(project, opened, "batch", "changelog", until=2)
    project.configure(**{opened: waits})
    run(project, opened)
    oracle = Collection()
    oracle.run(OPENED, 2)
    check(project, opened, oracle)
    settle(project, 4)
    run(project, opened)
    oracle.run(OPENED, 4)
    check(project, opened, oracle)
    project.run(f"{opened}_state", "--full-refresh")
    check(project, opened, oracle)


@pytest.mark.long
def test_eager_can_be_switched_off_if_the_open_ticks_changed_nothing(project: Project) -> None:
    name = "unchanged"
    add(project, name)
    settle(project, 2)
    commands = [Command(ts, (1,), ("k",), ("same", 0.0)) for ts in (1, 2)]
    project.append(name, commands)
    project.run(f"path:models/{name}")
    upper = project.config[name]["+meta"]["trueup"]["input_upper"]
    waits = {"+unique_key": ["k"], "+meta": {"trueup": {"input_upper": upper}}}
    eager = project.config[name]
    project.configure(**{name: waits})
    run(project, name, fails=True)
    said = "\n".join(project.messages)
    assert "must be true as long as the changelog has updates of open ticks" in said
    project.configure(**{name: eager})
    run(project, name, until=2)
    project.configure(**{name: waits})
    run(project, name)
    oracle = Collection()
    oracle.run(commands, 2)
    check(project, name, oracle)


@pytest.mark.long
def test_a_limited_batch_retracts_the_provisional_rows_that_it_leaves_out(project: Project) -> None:
    name = "cut"
    add(project, name)
    settle(project, 2)
    project.append(name, OPENED)
    project.run(f"models/{name}")
    settle(project, 6)
    config = project.config[name]
    config["+meta"]["trueup"]["max_commands_per_batch"] = 4
    project.configure(**{name: config})
    oracle = Collection()
    oracle.run(OPENED, 2)
    for upper in (4, 6):
        run(project, name)
        oracle.run(OPENED, upper)
        check(project, name, oracle)
