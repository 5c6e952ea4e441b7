"""Compare the package with the oracle over random scripts: random logs under random options.

A dbt run is slow. So each example has a few collections with different options. Each collection
holds many small random logs, its families. Each family has its own keys, and is one script.

`make faults` runs examples until its time is over, and counts their scripts for docs/under-fire.md.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import count, permutations
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests import strategies
from tests.acceptance import Column
from tests.faults import counts
from tests.faults.scripts import SECONDS, SEED
from tests.oracle import Collection, Command, canonical, check_laws, consolidate
from tests.project import TABLES
from tests.strategies import MAX_TS, Kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.oracle import Error, Late, Log, Ties, Update, Value
    from tests.project import Project

COLLECTIONS = 5
FAMILIES = 30
UNTILS = (3, 5, None)

VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]
MARKER = "__unchanged__"
AXES: dict[str, list[Any]] = {
    "width": [1, 2],
    "late": ["drop", "correct"],
    "log": ["complete", "partial"],
    "ties": [None, "hash", "prefer_delete", "prefer_upsert"],
    "null_keys": ["error", "value"],
    "ignored_nulls": [(None, []), (True, [0, 1]), (["v1"], [0]), ({"except": ["V1"]}, [1])],
    "unchanged_value": [None, MARKER],
    "inline_errors": [None, "the `problem`"],
    "max_commands_per_batch": [None, 70],
    "errors": [True, True, False],
    "partial": [True, False],
    "key_changes": [True, True, False],
    "truncates": [False, True],
}
"""The possible options of a collection, and the possible properties of its log.

For `ties`, None means a log without ties. Each item of `ignored_nulls` holds the argument
`ignore_null_updates` and the places of the columns that it names.
"""


class Setting(NamedTuple):
    """The options of one collection, and the properties of its log."""

    width: int
    late: Late
    log: Log
    ties: Ties | None
    null_keys: str
    ignored_nulls: tuple[Any, list[int]]
    unchanged_value: str | None
    inline_errors: str | None
    max_commands_per_batch: int | None
    errors: bool
    partial: bool
    key_changes: bool
    truncates: bool

    @property
    def key(self) -> list[Column]:
        """The key columns."""
        return [Column(*column) for column in strategies.KEY_COLUMNS[self.width]]

    @property
    def options(self) -> dict[str, Any]:
        """The options that are set."""
        names = ("late", "log", "ties", "null_keys", "inline_errors", "max_commands_per_batch")
        given = {name: getattr(self, name) for name in names}
        return {name: item for name, item in given.items() if item is not None}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `trueup.commands`."""
        given = {
            "ignore_null_updates": self.ignored_nulls[0],
            "unchanged_value": self.unchanged_value,
        }
        return {name: item for name, item in given.items() if item is not None}

    @property
    def extra(self) -> list[str]:
        """The arguments of `trueup.commands` for which the log has a column."""
        kinds = {
            "truncate_when": self.truncates,
            "unchanged": self.partial,
            "old_key": self.key_changes,
        }
        return [name for name, has in kinds.items() if has]

    def read(self, command: Command) -> Command:
        """Read a command of the log as the options say."""
        if command.key == (None,) and self.null_keys == "error":
            return replace(command, key=None, error_key="null", old_key=None)
        (command,) = strategies.ignoring_nulls([command], self.ignored_nulls[1])
        if command.value and command.value[0] == self.unchanged_value is not None:
            return replace(command, unchanged=command.unchanged | {0})
        return command


def settings_of(rng: Random) -> list[Setting]:
    """Combine the axes at random, so that every value of each axis occurs."""
    columns = {}
    for name, values in AXES.items():
        offset = rng.randrange(len(values))
        columns[name] = [values[(offset + i) % len(values)] for i in range(COLLECTIONS)]
        rng.shuffle(columns[name])
    return [Setting(*row) for row in zip(*columns.values(), strict=True)]


def log_of(setting: Setting, rng: Random) -> list[Command]:
    """Draw the families and truncates of a collection, with duplicates and in random order."""
    kinds = Kinds(
        errors=setting.errors,
        partial=setting.partial,
        key_changes=setting.key_changes,
        null_orders=True,
        ties=setting.ties is not None,
    )
    drawn = [
        family
        for has_errors in {setting.errors, False}
        for family in strategies.sample(
            strategies.logs(
                setting.width, kinds._replace(errors=has_errors), min_size=5, max_size=20
            ),
            FAMILIES // (1 + setting.errors),
            rng.randrange(2**32),
        )
    ]
    log = []
    for number, family in enumerate(drawn):
        own = [own_keys(command, number) for command in with_few_keys(family)]
        if setting.unchanged_value:
            own = [mark(command) if rng.random() < 0.2 else command for command in own]
        log += with_few_ties(own, setting)
    if setting.truncates:
        places = [(rng.randint(0, MAX_TS), (rng.randint(0, 1), rng.randint(0, 3))) for _ in "ab"]
        log += [Command(*place, None, None, is_truncate=True) for place in places]
    log += rng.sample(log, len(log) // 10)
    rng.shuffle(log)
    return log


def with_few_keys(family: list[Command]) -> list[Command]:
    """Move the commands of all keys to the first three keys, so that more commands share a key."""
    met: dict[Value, Value] = {}

    def key(parts: Value | None) -> Value | None:
        if parts is None:
            return None
        met.setdefault(canonical(parts), parts)
        place = [*met].index(canonical(parts))
        return parts if place < 3 else [*met.values()][place % 3]

    return [
        replace(command, key=key(command.key), old_key=key(command.old_key)) for command in family
    ]


def own_keys(command: Command, family: int) -> Command:
    """Move a command to keys of its family. Only the first family has nulls and the null key."""

    def key(parts: Value | None) -> Value | None:
        if parts is None:
            return None
        first = None if family == 0 and parts[0] in ("", None) else f"{family}|{parts[0]}"
        return (first, *parts[1:])

    error_key = command.error_key
    if error_key is not None and (error_key, family) != ("null", 0):
        error_key = f"x{family:02x}{error_key[1:] if error_key != 'null' else 'ee'}"
    return replace(command, key=key(command.key), old_key=key(command.old_key), error_key=error_key)


def family_of(key: Value | None, error_key: str | None) -> int:
    if error_key is not None:
        return 0 if error_key == "null" else int(error_key[1:3], 16)
    return 0 if key is None or key[0] is None else int(key[0].partition("|")[0])


def mark(command: Command) -> Command:
    return command if command.value is None else replace(command, value=(MARKER, command.value[1]))


def with_few_ties(family: list[Command], setting: Setting) -> list[Command]:
    """Leave out commands until at most three payloads are tied. They have only six sequences."""
    kept: list[Command] = []
    for command in family:
        tied = tied_payloads([setting.read(each) for each in (*kept, command)])
        if len(tied) <= (3 if setting.ties else 0):
            kept.append(command)
    return kept


def tied_payloads(family: Iterable[Command]) -> list[Any]:
    """The payloads that share key, tick and order with another payload."""
    rivals: defaultdict[Any, set[Any]] = defaultdict(set)
    for command in family:
        rivals[command.identity, command.ts, command.order].add(command.payload)
    return sorted({one for each in rivals.values() if len(each) > 1 for one in each}, key=repr)


def breaker(log: list[Command], sequence: tuple[int, ...]) -> Callable[[list[Command]], Command]:
    """Break ties by a sequence of the tied payloads of a family, which are at most three."""
    families = defaultdict(list)
    for command in log:
        families[family_of(command.key, command.error_key)].append(command)
    ranks = {
        number: dict(zip(tied_payloads(family), sequence, strict=False))
        for number, family in families.items()
    }

    def last(rivals: list[Command]) -> Command:
        of_family = ranks[family_of(rivals[0].key, rivals[0].error_key)]
        return max(rivals, key=lambda command: of_family[command.payload])

    return last


class Outcome(NamedTuple):
    """The updates, rows and errors of a family."""

    updates: dict[Any, int]
    update_count: int
    rows: frozenset[Value]
    errors: frozenset[Value]


def outcomes(
    updates: list[Update], rows: Iterable[Value], errors: Iterable[Error]
) -> dict[int, Outcome]:
    """Group the updates, rows and errors of a collection by family."""
    families: dict[int, Any] = defaultdict(lambda: ([], [], []))
    for update in updates:
        families[family_of(update.key, update.error_key)][0].append(update)
    for row in rows:
        families[family_of(row, None)][1].append(row)
    for error in errors:
        families[family_of(error.key, error.error_key)][2].append(error)
    return {
        number: Outcome(
            consolidate(own), len(own), *(frozenset(map(canonical, each)) for each in (live, bad))
        )
        for number, (own, live, bad) in families.items()
    }


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    return new_project("random_options")


def seeds() -> Iterator[int]:
    """Give the seed of the short form, or new ones until the time is over."""
    if not SECONDS or "TRUEUP_EXAMPLE_SEED" in os.environ:
        yield int(os.environ.get("TRUEUP_EXAMPLE_SEED", "0"))
        return
    until = time.monotonic() + SECONDS
    for seed in count(1000 * SEED):
        if time.monotonic() >= until:
            return
        yield seed


@pytest.mark.long
def test_random_options_give_the_same_result_as_the_oracle(project: Project) -> None:
    played, happened = Counter[str](), Counter[str]()
    is_counted = SECONDS > 0 and "TRUEUP_EXAMPLE_SEED" not in os.environ
    for seed in seeds():
        try:
            settings = play(project, seed)
        except BaseException:
            print(f"TRUEUP_EXAMPLE_SEED={seed} plays this example again")  # noqa: T201
            if is_counted:
                counts.add("random", SEED, played, happened)
            raise
        for setting in settings:
            played[f"late: {setting.late}, log: {setting.log}"] += FAMILIES
        happened["runs of random scripts"] += len(UNTILS)
    if is_counted:
        counts.add("random", SEED, played, happened)


def play(project: Project, seed: int) -> list[Setting]:
    """Run the collections of an example, and compare them with the oracle. Give their options."""
    rng = Random(seed)  # noqa: S311 - no secret
    collections = {f"s{seed}_{i}": each for i, each in enumerate(settings_of(rng))}
    arrivals: dict[str, list[list[Command]]] = {}
    lost: dict[str, list[list[Command]]] = {}
    for name, setting in collections.items():
        project.add_collection(
            name, setting.key, VALUE, setting.options, setting.extra, **setting.arguments
        )
        arrivals[name] = [[] for _ in UNTILS]
        for command in log_of(setting, rng):
            rng.choices(arrivals[name], weights=[8, 1, 1])[0].append(command)
        lost[name] = losses(arrivals[name], rng) if setting.log == "partial" else [[], [], []]
    for run_no, until in enumerate(UNTILS):
        for name in collections:
            if lost[name][run_no]:
                project.sql(f"delete from {{}}.{name}_log where true")
                for commands in arrivals[name][:run_no]:
                    project.append(name, remaining(commands, lost[name][: run_no + 1]))
            project.append(name, arrivals[name][run_no])
        # Only the first run has to make the views.
        tables = [f"{name}_{role}" for name in collections for role in TABLES]
        project.run(
            *(tables if run_no else [f"models/{name}" for name in collections]), until=until
        )
    for name, setting in collections.items():
        check(project, name, setting, arrivals[name], lost[name])
    return [*collections.values()]


def losses(arrivals: list[list[Command]], rng: Random) -> list[list[Command]]:
    """Choose for each run some earlier commands, which the log loses before that run."""
    arrived: list[Command] = []
    found = []
    for commands in arrivals:
        found.append(rng.sample(arrived, len(arrived) // 3))
        arrived += commands
    return found


def remaining(commands: list[Command], lost: list[list[Command]]) -> list[Command]:
    """The commands that are not lost. A lost command loses its duplicates, too."""
    gone = {id(each) for some in lost for each in some}
    return [each for each in commands if id(each) not in gone]


def check(
    project: Project,
    name: str,
    setting: Setting,
    arrivals: list[list[Command]],
    lost: list[list[Command]],
) -> None:
    """Find for every family a sequence of its ties with which the oracle equals the package."""
    updates = project.updates(name)
    check_laws(updates)
    actual = outcomes(updates, project.rows(name), project.errors(name))
    open_families: dict[int, Outcome | None] = dict.fromkeys(range(FAMILIES))
    log = [setting.read(command) for commands in arrivals for command in commands]
    for sequence in permutations(range(3)):
        oracle = Collection(
            setting.late, breaker(log, sequence), ties=setting.ties or "hash", log=setting.log
        )
        for run_no, until in enumerate(UNTILS):
            before = [each for commands in arrivals[:run_no] for each in commands]
            held = remaining(before, lost[: run_no + 1]) + arrivals[run_no]
            oracle.run([setting.read(each) for each in held], until, setting.max_commands_per_batch)
        rows = oracle.inlined(setting.width, 2) if setting.inline_errors else oracle.rows
        expected = outcomes(oracle.changelog, rows, oracle.errors)
        for number in [*open_families]:
            if actual.get(number) == expected.get(number):
                del open_families[number]
            else:
                open_families[number] = expected.get(number)
    for number, wanted in open_families.items():
        family = [each for each in log if family_of(each.key, each.error_key) == number]
        told = "\n".join(map(str, sorted(family, key=lambda each: (each.ts, each.rank))))
        message = f"{setting}\nlog\n{told}\nexpected\n{wanted}\nactual\n{actual.get(number)}"
        raise AssertionError(message)
    if setting.log == "partial":
        # Lost commands hide an equal number of late ones, so the counts are unknown.
        return
    statistics = [row["_statistics"] for row in project.progress(name)]
    assert statistics[-1]["commands_settled"] == oracle.counters["messages_received"]
    for counter in ("late_dropped", "ties"):
        assert sum(row[counter] for row in statistics) == oracle.counters[counter], counter
