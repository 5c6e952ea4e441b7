"""Compare the materialization with the oracle over random logs: cut, shuffled, repeated."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import strategies as st

from tests import newest_logs, strategies
from tests.bundles import (
    ALWAYS,
    FORMS,
    Oracles,
    count_kinds,
    draw_bundle,
    draw_options,
    owner_of,
    scripts_with,
    tick_of,
)
from tests.faults import counts
from tests.newest_logs import Kinds
from tests.newest_oracle import Command, Newest, Ties
from tests.project import LOG_PROPERTIES
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.bundles import Bundle
    from tests.project import Project

WHOLE = Kinds(
    errors=True, partial=False, truncates=True, ties=True, null_orders=True, duplicates=True
)
PARTIAL = WHOLE._replace(partial=True)
KEYS = {**strategies.KEY_COLUMNS, 3: (*strategies.KEY_COLUMNS[2], ("k3", "bigint"))}
"""The key columns by their number."""
VALUE = [name for name, _ in strategies.VALUE_COLUMNS]
TICK = "o1 * 2 + o2 div 2"
"""The tick of a command, as `tick_of` computes it."""
EXTRA = "o1 bigint, o2 bigint, op string, err string, err_key string, same array<string>"

SEED = int(os.environ.get("TRUEUP_SEED", "1"))
SCRIPTS = int(os.environ.get("TRUEUP_SCRIPTS", "0"))
"""How many scripts the long form plays."""
SIZE = 100 if SCRIPTS else 6
"""How many scripts are in a bundle."""


class Script(NamedTuple):
    """How many key columns a log has, how ties are broken, and what each run reads."""

    width: int
    ties: Ties
    runs: list[list[Command]]

    @property
    def log(self) -> list[Command]:
        """All commands in the sequence of their arrival."""
        return [command for run in self.runs for command in run]


@st.composite
def scripts(draw: st.DrawFn, kinds: Kinds, ties: Ties) -> Script:
    """A script over few keys. Half of the logs have ties or truncates or null orders, or none."""
    width = draw(st.sampled_from([1, 2]))
    few = kinds._replace(
        ties=draw(st.booleans()), truncates=draw(st.booleans()), null_orders=draw(st.booleans())
    )
    log = draw(newest_logs.logs(width, few, min_size=20, max_size=40))
    return Script(width, ties, draw(newest_logs.splits(log)))


def variety(script: Script) -> int:
    """Scores a script: how many kinds of commands and results it has."""
    newest, kinds, changes = Newest(ties=script.ties), set[str](), 0
    for run in script.runs:
        before = newest.rows()
        newest.run(run)
        changes += newest.rows() != before
        kinds |= {*newest.errors().values(), *newest.order_errors().values()}
    has_truncate = any(command.is_truncate for command in script.log)
    return 2 * len(kinds) + 3 * has_truncate + changes + bool(newest.rows())


def write_model(  # noqa: PLR0913
    project: Project,
    script: Script,
    *,
    is_partial: bool,
    has_ticks: bool,
    has_moves: bool = False,
    verify: str = "ancestry",
    name: str = "c",
    **options: Any,
) -> None:
    """Write the model of a collection. Its store is scanned if `verify` is `always`."""
    more = ", unchanged='same'" if is_partial else ""
    more += f", ts='{TICK}'" if has_ticks else ""
    more += ", old_key='old_key'" if has_moves else ""
    options |= {"ties": script.ties, "verify": verify}
    project.write(
        f"models/{name}.sql",
        f"""{{{{ config(
            materialized='trueup',
            unique_key={[name for name, _ in KEYS[script.width]]},
            meta={{'trueup': {options}}}
        ) }}}}
        {{{{ trueup.commands(
            relation='{project.name}.log', sequence_by=['o1', 'o2'], columns={VALUE},
            delete_when="op = 'D'", truncate_when="op = 'T'", error='err', error_key='err_key'
            {more}
        ) }}}}""",
    )


def add_log(project: Project, width: int) -> None:
    columns = [*KEYS[width], *strategies.VALUE_COLUMNS]
    named = ", ".join(f"{name} {type_}" for name, type_ in columns)
    old_key = ", ".join(f"{name}: {type_}" for name, type_ in KEYS[width])
    properties = ", ".join(f"{one!r} = {value!r}" for one, value in LOG_PROPERTIES.items())
    project.sql(
        f"create table {{}}.log ({named}, {EXTRA}, old_key struct<{old_key}>) using {{format}}"
        f" tblproperties ({properties})"
    )


def append(project: Project, width: int, run: list[Command]) -> None:
    project.insert(
        "log",
        [
            (
                *(command.key or [None] * width),
                *(command.value or [None] * len(VALUE)),
                *(command.order or (None, None)),
                "T" if command.is_truncate else "D" if command.is_delete else "U",
                command.error,
                command.error_key,
                [VALUE[position] for position in sorted(command.unchanged)],
                command.old_key,
            )
            for command in run
        ],
    )


def compare(store: Store, newest: Newest | Oracles) -> None:
    compare_results("rows", store.rows(), newest.rows())
    compare_results("errors", store.errors(), newest.errors())
    compare_results("order errors", store.order_errors(), newest.order_errors())


def compare_results(what: str, found: Mapping[Any, Any], right: Mapping[Any, Any]) -> None:
    """Compare what a store has, by key or by identity, with the oracle."""
    wrong = {
        key: (found.get(key), right.get(key))
        for key in found.keys() | right.keys()
        if found.get(key) != right.get(key)
    }
    scripts = {owner_of((key, None) if what.startswith("rows") else key) for key in wrong}
    assert not wrong, f"scripts {sorted(scripts)}: {what}, found and right: {wrong}"


class Ticks:
    """At which tick a run writes the effect of each command: a late one at the lower of the run."""

    def __init__(self, ties: Ties) -> None:
        """Nothing is settled."""
        self.ties = ties
        self.upper = 0
        self.written: list[tuple[int, Command]] = []

    def run(self, run: list[Command]) -> None:
        """Settle all commands of a run."""
        ticks = [tick for command in run if (tick := tick_of(command)) is not None]
        self.written += [(max(tick_of(each) or 0, self.upper), each) for each in run]
        self.upper = max([self.upper, *(tick + 1 for tick in ticks)])

    def as_of(self, tick: int) -> Newest:
        """The collection at the end of a tick."""
        newest = Newest(ties=self.ties)
        newest.run([command for at, command in self.written if at <= tick])
        return newest


def check_history(store: Store, ticks: Ticks) -> None:
    """Compare the history at the end of each tick with the oracle."""
    assert store.batches()[-1]["upper"] == ticks.upper
    for tick in range(ticks.upper + 1):
        expected = ticks.as_of(tick)
        rows = store.rows_at(tick)
        assert rows == expected.rows(), tick


def write_models(project: Project, bundle: Bundle, **more: Any) -> None:
    """Write the model of a bundle: `c`, or the one that `more` names."""
    options, log = bundle.options, bundle.log
    if options.is_bounded:
        more = {"max_commands": max(3, len(log) // 12), **more}
    write_model(
        project,
        Script(options.width, options.ties, bundle.runs),
        is_partial=options.is_partial,
        has_ticks=options.has_ticks,
        has_moves=options.has_moves,
        **more,
    )


def play(project: Project, bundle: Bundle, random: Random) -> None:
    """Play a bundle, compare each run with the oracle, and check what must hold at its end."""
    options, log = bundle.options, bundle.log
    add_log(project, options.width)
    write_models(project, bundle)
    store = Store(project, "c", [name for name, _ in KEYS[options.width]], VALUE)
    oracles, ticks, has_log = Oracles(options.ties, bundle), Ticks(options.ties), False
    # At the end the whole log comes once more, in another sequence.
    for run in [*bundle.runs, random.sample(log, len(log))]:
        commits = cut(run, random) if options.is_bounded else [run]
        for commit in commits:
            append(project, options.width, commit)
        # Only these batches end between two commits to the log: see `max_commands`.
        cuts_commits = options.is_bounded and not options.has_ticks and has_log
        before = len(store.batches()) if cuts_commits else 0
        project.run("c")
        for batch in read_in_batches(store, before, commits) if cuts_commits else [run]:
            oracles.run(batch)
        has_log = has_log or bool(run)
        ticks.run(run)
        compare(store, oracles)
        if options.loses:
            # The newest commands of many keys are among these.
            project.sql(f"delete from {{}}.log where o2 = {random.randrange(4)}")
        elif run and not options.is_bounded:
            # A chain of changes of key cuts a run into batches.
            batches = [batch for batch in store.batches() if batch.get("statistics")]
            own = [batch for batch in batches if batch["run"] == batches[-1]["run"]]
            assert sum(batch["statistics"]["messages_received"] for batch in own) == len(run)
    if options.has_ticks and log:
        check_history(store, ticks)
    store.check_laws()
    if not options.has_moves:
        compare_results("rows of the runs and of one", oracles.rows(), read_at_once(bundle).rows())
    check_again(store, bundle, oracles)


def check_again(store: Store, bundle: Bundle, oracles: Oracles) -> None:
    """Running again changes nothing, and a scan of the store finds no damage."""
    project, options = store.project, bundle.options
    write_models(project, bundle, verify="always")
    has_other = options.is_bounded and not options.has_moves
    if has_other:
        # Another collection reads the whole log in one run of several batches.
        write_models(project, bundle, max_commands=max(3, len(bundle.log) // 2), name="other")
    project.run()
    said = dict(message.split(": ", 1) for message in project.messages)
    if bundle.log:
        assert said["c"].startswith("up to date") or options.loses, said
    assert "rebuilt" not in said["c"], said
    assert "restored" not in said["c"], said
    compare(store, oracles)
    if has_other:
        other = Store(project, "other", store.key, VALUE)
        compare_results("rows", other.rows(), oracles.rows())
        compare_results("errors", other.errors(), oracles.errors())
        other.check_laws()


def cut(run: list[Command], random: Random) -> list[list[Command]]:
    """Cut a run into commits. None of them is empty."""
    cuts = sorted(random.choices(range(len(run) + 1), k=2))
    bounds = zip([0, *cuts], [*cuts, len(run)], strict=True)
    return [run[first:last] for first, last in bounds if first < last]


def read_in_batches(
    store: Store, before: int, commits: list[list[Command]]
) -> Iterator[list[Command]]:
    """What each new batch has read: one commit to the log, or more."""
    rest = list(commits)
    for batch in store.batches()[before:]:
        received, read = batch["statistics"]["messages_received"], list[Command]()
        while rest and len(read) < received:
            read += rest.pop(0)
        assert len(read) == received, "a batch has read a part of a commit"
        yield read
    assert not rest, f"some commits were not read: {[len(commit) for commit in rest]}"


def read_at_once(bundle: Bundle) -> Oracles:
    """The oracle that reads the whole log in one batch."""
    oracles = Oracles(bundle.options.ties, bundle)
    oracles.run(bundle.log)
    return oracles


def play_number(own_project: Callable[[str], Project], number: int, *only: int) -> Bundle:
    """Play the bundle of this number, or only one of its scripts."""
    bundle = draw_bundle(SEED, number, SIZE)
    for script in only:
        bundle = bundle.only(script)
    random = Random(f"play {SEED} {number}")  # noqa: S311 - the scripts must be repeatable
    play(own_project("random"), bundle, random)
    return bundle


@pytest.mark.long
def test_whole_commands_equal_the_oracle(own_project: Callable[[str], Project]) -> None:
    bundle = play_number(own_project, 0)
    assert bundle.options.form == "whole"
    assert count_kinds(bundle.log).keys() >= ALWAYS


def test_partial_commands_equal_the_oracle(own_project: Callable[[str], Project]) -> None:
    bundle = play_number(own_project, 1)
    assert bundle.options.form == "partial"
    assert count_kinds(bundle.log).keys() >= ALWAYS


@pytest.mark.long
@pytest.mark.parametrize("number", [2, 3])
def test_each_change_is_at_its_tick(own_project: Callable[[str], Project], number: int) -> None:
    bundle = play_number(own_project, number)
    assert bundle.options.has_ticks
    assert count_kinds(bundle.log).keys() >= ALWAYS


@pytest.mark.long
def test_changes_of_key_equal_the_oracle(own_project: Callable[[str], Project]) -> None:
    bundle = play_number(own_project, 4)
    assert bundle.options.has_moves
    assert count_kinds(bundle.log).keys() >= {"changes of key", *ALWAYS}


@pytest.mark.long
def test_many_random_scripts_equal_the_oracle(own_project: Callable[[str], Project]) -> None:
    if "TRUEUP_BUNDLE" in os.environ:
        play_number(own_project, *map(int, os.environ["TRUEUP_BUNDLE"].split()))
        return
    played, happened, violations = Counter[str](), Counter[str](), list[str]()
    # Other tests play the first bundle of each form.
    for number in range(len(FORMS), len(FORMS) + -(-(SCRIPTS or SIZE) // SIZE)):
        options = draw_options(SEED, number)
        try:
            bundle = play_number(own_project, number)
        except Exception as error:
            again = f'TRUEUP_SEED={SEED} TRUEUP_SCRIPTS={SCRIPTS} TRUEUP_BUNDLE="{number}"'
            print(  # noqa: T201
                f"{again} plays this again. A script's number behind it plays only that one."
            )
            if not SCRIPTS:
                raise
            violations.append(f"bundle {number}, {options}: {type(error).__name__}: {error}")
            print(violations[-1][:4000], flush=True)  # noqa: T201
            continue
        played[options.form] += SIZE
        happened.update(count_kinds(bundle.log))
        happened.update(scripts_with(options))
        happened["bundles"] += 1
        happened["runs"] += len(bundle.runs) + 1
    counts.report("random scripts", SEED, played, happened, violations, is_long=bool(SCRIPTS))
    assert not violations, "\n\n".join(violations)
