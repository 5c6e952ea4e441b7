"""The proof of a collection: a sample of its keys, folded again from other batches.

Each round deals the settled commands of the sample into other batches, in another sequence and
with duplicates. Two folds must agree: that of the package, in SQL, and a dict model here. The
changelog and the state must have the same rows, unless a late command explains the difference.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.explain.facts import FINE, explain
from dbt_trueup.explain.sources import find_late_source, late_commands, read_json_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ZERO_OR_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|-0\.0(?!\d)')
"""A negative zero in a JSON, or a text, which may look like one."""

MOST_BATCHES = 3
"""The most batches of a round. A round with more of them would take Spark long to plan."""

Value = tuple[str | None, ...]
"""Each column of a row in JSON, and the text of the error."""
Update = tuple[int | None, Value]
"""The tick, or None for a row that exists now, and the value."""
Updates = dict[str, Counter[Update]]
"""The net updates of each key, which is in JSON, too."""


@dataclass(frozen=True)
class Difference:
    """A key whose updates or rows are not the same in two places."""

    key: str
    """The key columns and the error key, in JSON."""
    places: str
    """Which two places differ."""
    expected: list[tuple[Any, ...]]
    """Only in the first place."""
    got: list[tuple[Any, ...]]
    """Only in the second place."""


@dataclass(frozen=True)
class Round:
    """What one round found."""

    seed: int
    batches: int
    keys: int
    commands: int
    counterexamples: list[Difference] = field(default_factory=list)
    late_keys: list[str] = field(default_factory=list)
    """Keys whose changelog differs because of late commands, or of corrections with a cause.

    The late command may be one of a key from which the key takes values.
    """
    compares_ticks: bool = True
    """False if something was compacted: then only the rows that exist now are compared."""


@dataclass(frozen=True)
class Proof:
    """What all rounds found."""

    collection: str
    rounds: list[Round]

    @property
    def holds(self) -> bool:
        """Whether no round has a counterexample."""
        return not any(each.counterexamples for each in self.rounds)


def prove(
    options: Sequence[str], collection: str, keys: int = 100, seed: int = 1, rounds: int = 3
) -> Proof:
    """Fold a sample of the collection's keys again, in some rounds.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        collection: The name of the collection.
        keys: How many keys the sample has.
        seed: The seed of the first round; the next rounds have the next numbers.
        rounds: How many rounds. They deal one, two and three batches in turn.

    Raises:
        UsageError: The project has no such collection.
        DbtError: dbt or a query failed, or the collection cannot be proved.
    """
    dbt.require_collection(collection, dbt.collections(dbt.parse(options)))
    found = []
    for number in range(rounds):
        draw = {"keys": keys, "seed": seed + number, "batches": 1 + number % MOST_BATCHES}
        call = dbt.call("_ensure_proof", collection, draw)
        parts = split(dbt.query(options, f"{{{{ {call} }}}}"))
        found.append(judge(options, collection, draw, parts))
    return Proof(collection, found)


def split(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of `trueup._ensure_proof`, by part."""
    parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        texts = {name: row[name] and with_one_zero(row[name]) for name in ("key", "old_key")}
        if row["value"]:
            *columns, error = row["value"]
            texts["value"] = [*(column and with_one_zero(column) for column in columns), error]
        parts[row["part"]].append({**row, **texts})
    return parts


def with_one_zero(text: str) -> str:
    """Write the zeros of a JSON in one form, because Spark takes -0.0 and 0.0 for equal.

    Spark has already written each zero of a command as 0.0, but not the zeros inside arrays,
    structs and maps.

    Example:
        >>> with_one_zero('{"v":[-0.0,-0.05,"-0.0"]}')
        '{"v":[0.0,-0.05,"-0.0"]}'
    """
    if "-0.0" not in text:
        return text
    return ZERO_OR_TEXT.sub(lambda found: "0.0" if found[0] == "-0.0" else found[0], text)


def judge(
    options: Sequence[str],
    collection: str,
    draw: dict[str, int],
    parts: dict[str, list[dict[str, Any]]],
) -> Round:
    """Compare the parts of one round. Each key that differs is explained."""
    model = fold(parts["command"])
    folded, persisted = net(parts["folded"]), net(parts["changelog"])
    counterexamples = differences(model, folded, "the dict model and the fold in SQL")
    compares_ticks = parts["since"][0]["_ts"] is None
    if not compares_ticks:
        model, persisted = without_ticks(model), without_ticks(persisted)
    late_keys = []
    for difference in differences(model, persisted, "the dict model and the changelog"):
        if is_late(options, collection, difference.key):
            late_keys.append(difference.key)
        else:
            counterexamples.append(difference)
    counterexamples += differences(
        net(parts["applied"]), net(parts["state"]), "the changelog and the state"
    )
    return Round(
        seed=draw["seed"],
        batches=draw["batches"],
        keys=len({one["key"] for one in parts["command"] if not one["is_truncate"]}),
        commands=len(parts["command"]),
        counterexamples=counterexamples,
        late_keys=late_keys,
        compares_ticks=compares_ticks,
    )


def differences(expected: Updates, got: Updates, places: str) -> list[Difference]:
    """Return the keys whose updates differ in two places, sorted."""
    found = []
    for key in sorted(expected.keys() | got.keys()):
        first, second = expected.get(key, Counter()), got.get(key, Counter())
        if first != second:
            found.append(Difference(key, places, only_in(first, second), only_in(second, first)))
    return found


def only_in(updates: Counter[Update], others: Counter[Update]) -> list[tuple[Any, ...]]:
    """Return the updates that the others do not have, sorted: tick, diff, value."""
    return sorted(
        (
            (tick, diff, value)
            for (tick, value), diff in updates.items()
            if others[tick, value] != diff
        ),
        key=repr,
    )


def is_late(options: Sequence[str], collection: str, key: str) -> bool:
    """Ask whether late commands, or corrections with a cause, explain why a key differs.

    The late command may be one of a key from which the key takes values. Nothing explains a
    changelog that does not add up.
    """
    values = read_json_key(key)
    error_key = values.pop("_error_key")
    found = explain(options, collection, {} if error_key is not None else values, error_key, None)
    # The state is compared for itself.
    verdicts = {row["verdict"] for row in found.rows if row["source"] != "state"}
    if not verdicts <= {*FINE, "waits", "differ"}:
        return False
    has_cause = any("_cause" in update for update in found.updates)
    if "differ" not in verdicts and (has_cause or late_commands(found)):
        return True
    return find_late_source(options, found) is not None


def fold(commands: Sequence[dict[str, Any]]) -> Updates:
    """Fold commands with a dict. The last command of each tick says what its key has.

    Example:
        >>> one = {"key": "a", "is_truncate": False, "unchanged": None, "old_key": None}
        >>> placed = {**one, "_ts": 1, "moment": 1, "place": 1, "value": ['{"v":1}', None]}
        >>> deleted = {**one, "_ts": 2, "moment": 2, "place": 2, "value": None}
        >>> dict(fold([deleted, placed, placed])["a"])
        {(1, ('{"v":1}', None)): 1, (2, ('{"v":1}', None)): -1}
    """
    updates: Updates = defaultdict(Counter)
    held: dict[str, Value] = {}
    in_sequence = sorted(commands, key=lambda one: int(one["place"]))
    for tick, group in groupby(in_sequence, key=lambda one: one["_ts"]):
        before = dict(held)
        fold_tick(held, list(group))
        for key in before.keys() | held.keys():
            if before.get(key) != held.get(key):
                if key in before:
                    updates[key][tick, before[key]] -= 1
                if key in held:
                    updates[key][tick, held[key]] += 1
    return updates


def fold_tick(held: dict[str, Value], commands: Sequence[dict[str, Any]]) -> None:
    """Put the commands of one tick, which are in sequence, onto what the keys have.

    A command with an old key takes the columns that it leaves unchanged from that key: what the
    key had before all commands of the same order, even if the tick has deleted it before.
    """
    deleted: dict[str, Value] = {}
    for _, group in groupby(commands, key=lambda one: one["moment"]):
        same_order = list(group)
        if any(one["is_truncate"] for one in same_order):
            held.clear()
            deleted.clear()
        of_keys = [one for one in same_order if not one["is_truncate"]]
        old_keys = {one["old_key"] for one in of_keys} - {None}
        taken = {key: held.get(key, deleted.get(key)) for key in old_keys}
        for command in of_keys:
            own = held.pop(command["key"], None)
            if command["value"] is not None:
                base = own if command["old_key"] is None else taken[command["old_key"]]
                held[command["key"]] = put_onto(base, command)
            elif own is not None:
                deleted[command["key"]] = own


def put_onto(before: Value | None, command: dict[str, Any]) -> Value:
    """Return the value after a command, which may leave columns unchanged.

    Example:
        >>> put_onto(('{"V":1}', None), {"value": ['{"V":null}', None], "unchanged": ["v"]})
        ('{"V":1}', None)
    """
    value: Value = tuple(command["value"])
    if before is None or not command["unchanged"]:
        return value
    if before[-1] is not None:
        return before
    names = [next(iter(json.loads(column or "{}"))).lower() for column in value[:-1]]
    pairs = zip(names, value[:-1], before[:-1], strict=True)
    return (*(old if name in command["unchanged"] else new for name, new, old in pairs), value[-1])


def net(rows: Iterable[dict[str, Any]]) -> Updates:
    """Return the net updates of each key. Their diffs are not 0."""
    updates: Updates = defaultdict(Counter)
    for row in rows:
        updates[row["key"]][row["_ts"], tuple(row["value"])] += row["diff"]
    return updates


def without_ticks(updates: Updates) -> Updates:
    """Return the rows that the updates add up to."""
    rows: Updates = defaultdict(Counter)
    for key, found in updates.items():
        for (_, value), diff in found.items():
            rows[key][None, value] += diff
    return {key: Counter({row: n for row, n in found.items() if n}) for key, found in rows.items()}
