"""Compare the materialization with the oracle over random logs: cut, shuffled, repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import strategies as st

from tests import newest_logs, strategies
from tests.newest_logs import Kinds
from tests.newest_oracle import Command, Newest, Ties
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

WHOLE = Kinds(
    errors=True, partial=False, truncates=True, ties=True, null_orders=True, duplicates=True
)
PARTIAL = WHOLE._replace(partial=True)
TIES: tuple[Ties, ...] = ("error", "prefer_upsert", "prefer_delete")
VALUE = [name for name, _ in strategies.VALUE_COLUMNS]
TICK = "o1 * 2 + o2 div 2"
"""A tick that never goes down as the order grows."""
EXTRA = "o1 bigint, o2 bigint, op string, err string, err_key string, same array<string>"


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
    log = draw(newest_logs.logs(width, few, min_size=strategies.LEAST, max_size=40))
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
    verify: str = "ancestry",
    name: str = "c",
    **options: Any,
) -> None:
    """Write the model of a collection. Its store is scanned if `verify` is `always`."""
    key = [name for name, _ in strategies.KEY_COLUMNS[script.width]]
    more = ", unchanged='same'" if is_partial else ""
    more += f", ts='{TICK}'" if has_ticks else ""
    options |= {"ties": script.ties, "verify": verify}
    project.write(
        f"models/{name}.sql",
        f"""{{{{ config(
            materialized='trueup',
            unique_key={key},
            meta={{'trueup': {options}}}
        ) }}}}
        {{{{ trueup.commands(
            relation='{project.name}.log', sequence_by=['o1', 'o2'], columns={VALUE},
            delete_when="op = 'D'", truncate_when="op = 'T'", error='err', error_key='err_key'
            {more}
        ) }}}}""",
    )


def add_log(project: Project, width: int) -> None:
    columns = [*strategies.KEY_COLUMNS[width], *strategies.VALUE_COLUMNS]
    named = ", ".join(f"{name} {type_}" for name, type_ in columns)
    project.sql(f"create table {{}}.log ({named}, {EXTRA}) using {{format}}")


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
            )
            for command in run
        ],
    )


def compare(store: Store, newest: Newest) -> None:
    assert store.rows() == newest.rows()
    assert store.errors() == newest.errors()
    assert store.order_errors() == newest.order_errors()


def tick_of(command: Command) -> int | None:
    """The tick of a command, as `TICK` computes it."""
    first, second = command.order or (None, None)
    return None if first is None else first * 2 + second // 2


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


def check(
    project: Project, script: Script, *, is_partial: bool = False, has_ticks: bool = False
) -> None:
    """Play a script, compare each run with the oracle, and check what must hold at its end."""
    add_log(project, script.width)
    write_model(project, script, is_partial=is_partial, has_ticks=has_ticks, verify="ancestry")
    key = [name for name, _ in strategies.KEY_COLUMNS[script.width]]
    store, newest = Store(project, "c", key, VALUE), Newest(ties=script.ties)
    ticks = Ticks(script.ties)
    for run in script.runs:
        append(project, script.width, run)
        project.run("c")
        newest.run(run)
        ticks.run(run)
        compare(store, newest)
        if run:
            assert store.batches()[-1]["statistics"]["messages_received"] == len(run)
    if has_ticks and script.log:
        check_history(store, ticks)
    # Reading the whole log again changes no row.
    append(project, script.width, script.log)
    project.run("c")
    rows = newest.rows()
    newest.run(script.log)
    assert newest.rows() == rows
    compare(store, newest)
    store.check_laws()
    # Running again changes nothing, and a scan of the store finds no damage.
    write_model(project, script, is_partial=is_partial, has_ticks=has_ticks, verify="always")
    project.run("c")
    (message,) = project.messages
    if script.log:
        assert message.startswith("c: up to date"), message
    assert "rebuilt" not in message, message
    assert "restored" not in message, message


@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_whole_commands_equal_the_oracle(own_project: Callable[[str], Project], seed: int) -> None:
    ties = TIES[seed % len(TIES)]
    script = strategies.choose(scripts(WHOLE, ties), seed, variety)
    assert seed or not strategies.LEAST or variety(script) > 10
    check(own_project("random_whole"), script)


@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_partial_commands_equal_the_oracle(
    own_project: Callable[[str], Project], seed: int
) -> None:
    ties = TIES[seed % len(TIES)]
    script = strategies.choose(scripts(PARTIAL, ties), seed + 1, variety)
    assert seed or not strategies.LEAST or variety(script) > 10
    check(own_project("random_partial"), script, is_partial=True)


@pytest.mark.parametrize("is_partial", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_each_change_is_at_its_tick(
    own_project: Callable[[str], Project], *, seed: int, is_partial: bool
) -> None:
    kinds = PARTIAL if is_partial else WHOLE
    script = strategies.choose(scripts(kinds, TIES[seed % len(TIES)]), seed + 2, variety)
    check(own_project("random_ticks"), script, is_partial=is_partial, has_ticks=True)
