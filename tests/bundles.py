"""Bundles of random scripts: many small logs that share one collection, each with keys of its own.

The fold works key by key, so 100 scripts in one collection are 100 tests for the time of one. Only
truncates act on the keys of all scripts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from tests import newest_logs, strategies
from tests.newest_oracle import Command, Newest, Ties

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.newest_logs import Kinds
    from tests.oracle import Identity, Value

RUNS = newest_logs.MAX_RUNS
TIES: tuple[Ties, ...] = ("prefer_delete", "error", "prefer_upsert")
LEVELS = (0, 0, 1, 2, 3)
"""In a bundle with truncates the orders of the scripts lie on levels, and a truncate is on one."""
SHARED = -1
"""The owner of the missing key, which some scripts share."""
ONLY_NULLS = 10
"""Every script with a number that can be divided by this keeps the missing key."""

FORMS = ("whole", "partial", "ticks", "partial ticks", "moves")
"""What the commands of a bundle are: whole rows, some columns, both with ticks, changes of key."""


class Options(NamedTuple):
    """What the scripts of a bundle have in common."""

    form: str
    ties: Ties
    width: int
    """1 or 3 key columns. In a key of three columns, the last one is the number of the script."""
    is_partial: bool
    has_truncates: bool
    has_null_orders: bool
    is_tied: bool
    """Whether the logs have ties."""
    is_bounded: bool
    """Whether a run makes several batches: `max_commands`."""
    loses: bool
    """Whether the log loses a part of what was read."""

    @property
    def has_ticks(self) -> bool:
        """Whether the model has `ts`."""
        return "ticks" in self.form

    @property
    def has_moves(self) -> bool:
        """Whether the model has `old_key`."""
        return self.form == "moves"


class Bundle(NamedTuple):
    """Some scripts that are played together. Run `i` of the bundle is run `i` of each of them."""

    options: Options
    runs: list[list[Command]]

    @property
    def log(self) -> list[Command]:
        """All commands in the sequence of their arrival."""
        return [command for run in self.runs for command in run]

    def only(self, script: int) -> Bundle:
        """The same runs with the commands of one script, and with all truncates."""
        runs = [[each for each in run if owner(each) in (None, script)] for run in self.runs]
        return self._replace(runs=runs)


def draw_options(seed: int, number: int) -> Options:
    """The options of a bundle. All forms and all policies for ties come in turn."""
    random = Random(f"options {seed} {number}")  # noqa: S311 - the scripts must be repeatable
    form = FORMS[number % len(FORMS)]
    # The short form of the tests plays the first bundle of each form. It has all kinds of commands.
    is_first = number < len(FORMS)
    special = "none" if is_first else random.choice(["none", "bounded", "loses"])
    has_ticks = "ticks" in form
    return Options(
        form=form,
        ties=TIES[(seed + number // len(FORMS)) % len(TIES)],
        width=random.choice([1, 3]),
        is_partial="partial" in form or (form == "moves" and random.random() < 0.75),
        has_truncates=is_first or random.random() < 0.4,
        # Which order errors are open depends on what is read in one batch.
        has_null_orders=(is_first or random.random() < 0.6)
        and special != "loses"
        and not (has_ticks and special == "bounded"),
        is_tied=is_first or random.random() < 0.6,
        is_bounded=special == "bounded",
        loses=special == "loses",
    )


@st.composite
def scripts(draw: st.DrawFn, width: int, kinds: Kinds) -> list[list[Command]]:
    """The runs of one script."""
    least = draw(st.sampled_from([0, 4, 8, 16]))
    return draw(newest_logs.splits(draw(newest_logs.logs(width, kinds, least, 30))))


def draw_bundle(seed: int, number: int, size: int) -> Bundle:
    """Draw a bundle. It is the same each time."""
    options = draw_options(seed, number)
    random = Random(f"bundle {seed} {number}")  # noqa: S311 - the scripts must be repeatable
    width = 1 if options.width == 1 else 2
    kinds = newest_logs.Kinds(
        errors=True,
        partial=options.is_partial,
        ties=options.is_tied,
        null_orders=options.has_null_orders,
        duplicates=True,
        key_changes=options.has_moves,
    )
    drawn = strategies.sample(scripts(width, kinds), size, random.randrange(2**32))
    if options.has_truncates:
        more = scripts(width, kinds._replace(truncates=True))
        truncating = strategies.sample(more, 20, random.randrange(2**32))
        drawn[-2:] = [each for each in truncating if has_truncate(each)][:2]
    runs: list[list[Command]] = [[] for _ in range(RUNS)]
    for script, its_runs in enumerate(drawn):
        places = sorted(random.sample(range(RUNS), len(its_runs)))
        # The truncates of most bundles leave some scripts as they are.
        level = random.choice(LEVELS[: 3 if has_truncate(its_runs) else None])
        level = level if options.has_truncates else 0
        for place, run in zip(places, its_runs, strict=True):
            runs[place] += [own(command, script, options.width, level) for command in run]
    if options.has_ticks:
        runs = hold_back(runs, random)
    for run in runs:
        random.shuffle(run)
    return Bundle(options, runs)


def has_truncate(runs: list[list[Command]]) -> bool:
    """Whether some command is a truncate."""
    return any(command.is_truncate for run in runs for command in run)


def hold_back(runs: list[list[Command]], random: Random) -> list[list[Command]]:
    """Let most commands of a late tick arrive in a later run. Else all others would be late."""
    ticks = [tick for run in runs for each in run if (tick := tick_of(each)) is not None]
    limits = sorted(random.choices(sorted(set(ticks)) or [0], k=len(runs) - 1))
    held: list[list[Command]] = []
    rest: list[Command] = []
    for run, limit in zip(runs, [*limits, None], strict=True):
        arrived = [*rest, *run]
        rest = [each for each in arrived if limit is not None and (tick_of(each) or 0) > limit]
        held.append([each for each in arrived if limit is None or (tick_of(each) or 0) <= limit])
    return held


def tick_of(command: Command) -> int | None:
    """The tick of a command. It never goes down as the order grows."""
    first, second = command.order or (None, None)
    return None if first is None else first * 2 + second // 2


def own(command: Command, script: int, width: int, level: int) -> Command:
    """Give a command of a script the keys that only this script has, and the orders of a level."""
    order = command.order
    if order and order[0] is not None:
        order = (order[0] + 2 * level, *order[1:])
    error_key = command.error_key
    if error_key and script and (error_key != "null" or script % ONLY_NULLS):
        error_key = f"x{script:04x}{error_key.replace('null', 'e0')[1:]}"
    return replace(
        command,
        order=order,
        key=own_key(command.key, script, width),
        old_key=own_key(command.old_key, script, width),
        error_key=error_key,
    )


def own_key(key: Value | None, script: int, width: int) -> Value | None:
    """A key that only one script has. The first script has null as its number."""
    if key is None:
        return None
    if width == 1:
        return (f"{script}:{key[0]}",) if script else key
    return (*key, script or None)


def owner_of(identity: Identity) -> int:
    """The script that has this key."""
    key, error_key = identity
    if error_key == "null":
        return SHARED
    if error_key is not None:
        return int(error_key[1:5], 16) if len(error_key) > 4 else 0
    assert key is not None
    if len(key) == 1:
        number, colon, _ = key[0].partition(":")
        return int(number) if colon else 0
    return key[-1] or 0


def owner(command: Command) -> int | None:
    """The script of a command. A truncate is for all."""
    return None if command.is_truncate else owner_of(command.identity)


class Oracles:
    """An oracle for each script of a bundle. All of them get the truncates.

    Args:
        ties: How ties are broken.
        bundle: The commands that will be read. Commands of other scripts are refused.
    """

    def __init__(self, ties: Ties, bundle: Bundle) -> None:
        """Nothing is read."""
        owners = {owner(each) for each in bundle.log} - {None}
        self._oracles = {script: Newest(ties=ties) for script in owners}

    def run(self, commands: Iterable[Command]) -> None:
        """Read the commands that arrive in one batch."""
        parts = defaultdict[int | None, list[Command]](list)
        for command in commands:
            parts[owner(command)].append(command)
        for script, newest in self._oracles.items():
            newest.run(parts[script] + parts[None])

    def rows(self) -> dict[Value, Value]:
        """The live rows of all scripts."""
        return {key: row for each in self._oracles.values() for key, row in each.rows().items()}

    def errors(self) -> dict[Identity, str]:
        """The errors of all scripts, without those of commands that have no order."""
        return {key: kind for each in self._oracles.values() for key, kind in each.errors().items()}

    def order_errors(self) -> dict[Identity, str]:
        """The errors of commands that have no order."""
        errors = [each.order_errors() for each in self._oracles.values()]
        return {key: kind for each in errors for key, kind in each.items()}


def kinds_of(command: Command) -> list[str]:
    """The kinds of a command, for counts."""
    kinds = {
        "truncates": command.is_truncate,
        "deletes": command.is_delete,
        "key errors": command.error_key is not None,
        "value errors": command.error is not None,
        "commands without an order": not command.rank,
        "changes of key": command.source is not None,
        "commands that leave columns unchanged": bool(command.unchanged) and not command.is_delete,
    }
    return [kind for kind, holds in kinds.items() if holds]


ALWAYS = {"truncates", "deletes", "key errors", "value errors", "commands without an order"}
"""The kinds of commands that the first bundle of each form has."""


def count_kinds(log: Iterable[Command]) -> Counter[str]:
    """How many commands of each kind a log has."""
    return Counter(kind for command in log for kind in ["commands", *kinds_of(command)])


def scripts_with(options: Options) -> list[str]:
    """What the bundle with these options has, for counts."""
    traits = {
        f"ties: {options.ties}": True,
        "truncates": options.has_truncates,
        "ties in the log": options.is_tied,
        "bounded batches": options.is_bounded,
        "a log that loses what was read": options.loses,
    }
    return [f"bundles with {trait}" for trait, holds in traits.items() if holds]
