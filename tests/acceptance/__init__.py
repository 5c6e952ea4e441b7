"""The acceptance cases and vectors; those of an upsert collection expanded and cast."""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import yaml

from tests import oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FOLDER = Path(__file__).parent
FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""A safe loader. The one in C is eight times as fast; some builds of PyYAML do not have it."""

Item = dict[str, Any]


class Column(NamedTuple):
    """A key or value column and its Spark SQL type."""

    name: str
    type: str


@dataclass(frozen=True)
class Run:
    """Commands that arrive, and what one run over the whole log so far must leave.

    `rows` are flat, key columns first; `changelog` holds the updates of this run, or is None
    where the case does not state them. Both are in canonical form.
    """

    commands: list[oracle.Command]
    until: int | None
    rows: list[oracle.Value]
    errors: list[oracle.Error]
    changelog: list[oracle.Update] | None


@dataclass(frozen=True)
class Case:
    """One acceptance case; the runs share one log."""

    name: str
    why: str
    late: Literal["drop", "correct"]
    key: list[Column]
    value: list[Column]
    runs: list[Run]


def read(name: str) -> Any:
    """What a file of this folder holds, its templates not expanded."""
    return yaml.load((FOLDER / f"{name}.yml").read_bytes(), FAST_LOADER)  # noqa: S506 - it is safe


@cache
def load() -> list[Case]:
    """The cases of upsert_cases.yml, in its order. All callers share them."""
    return [_case(item) for item in read("upsert_cases")]


def multiset(rows: Iterable[Iterable[Any]]) -> Counter[oracle.Value]:
    """Count equal rows, in whatever order: null-safe, NaN equals NaN and -0.0 equals 0.0.

    >>> multiset([(None, -0.0)]) == multiset([(None, 0.0)])
    True
    """
    return Counter(oracle.canonical(tuple(row)) for row in rows)


def expand(templates: list[Item], field: str) -> list[Item]:
    """Make one item of every combination of a template's variables; the last varies fastest.

    >>> expand([{"for": {"i": [0, 1]}, "row": {"k": "a{i+1}", "v": "{pad:2}"}}], "row")
    [{'k': 'a1', 'v': 'xx'}, {'k': 'a2', 'v': 'xx'}]
    """
    return [
        _fill(template[field], dict(zip(template["for"], numbers, strict=True)))
        for template in templates
        for numbers in product(
            *(range(first, last + 1) for first, last in template["for"].values())
        )
    ]


def _fill(item: object, variables: dict[str, int]) -> Any:
    if isinstance(item, dict):
        return {name: _fill(each, variables) for name, each in item.items()}
    if isinstance(item, list):
        return [_fill(each, variables) for each in item]
    if not isinstance(item, str):
        return item
    names = "|".join(map(re.escape, variables))
    text = re.sub(r"\{pad:(\d+)\}", lambda found: "x" * int(found[1]), item)
    return re.sub(
        rf"\{{({names})([+-]1)?\}}",
        lambda found: str(variables[found[1]] + int(found[2] or 0)),
        text,
    )


def _number(text: str, *, least: int) -> int:
    number = int(text)
    if not -least <= number < least:
        message = f"a number beyond its type\nGot: {text}"
        raise ValueError(message)
    return number


def _decimal(text: str, precision: int, scale: int) -> Decimal:
    context = Context(prec=precision, rounding=ROUND_HALF_UP)
    return Decimal(text).quantize(Decimal(1).scaleb(-scale), context=context)


def _timestamp(text: str) -> datetime:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


CASTS: dict[str, Callable[[str], Any]] = {
    "string": str,
    "tinyint": lambda text: _number(text, least=2**7),
    "smallint": lambda text: _number(text, least=2**15),
    "int": lambda text: _number(text, least=2**31),
    "bigint": lambda text: _number(text, least=2**63),
    "float": lambda text: struct.unpack("f", struct.pack("f", float(text)))[0],
    "double": float,
    "boolean": _boolean,
    "date": date.fromisoformat,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp,
}


def cast(item: object, spark_type: str) -> Any:
    """Cast a scalar, or its text, as Spark would; a timestamp comes back naive, in UTC.

    >>> cast("1.005", "decimal(10,2)"), cast("2020-01-01T00:00:00Z", "timestamp"), cast(1, "bigint")
    (Decimal('1.01'), datetime.datetime(2020, 1, 1, 0, 0), 1)
    """
    if item is None:
        return None
    if spark_type == "string" and not isinstance(item, str):
        message = f"a string column takes text\nGot: {item!r}"
        raise ValueError(message)
    text = item if isinstance(item, str) else str(item)
    if found := re.fullmatch(r"decimal\((\d+), *(\d+)\)", spark_type):
        return _decimal(text, int(found[1]), int(found[2]))
    return CASTS[spark_type](text)


def _case(item: Item) -> Case:
    key = [Column(**column) for column in item["key"]]
    value = [Column(**column) for column in item["value"]]
    reader = _Reader(key, value)
    return Case(
        name=item["name"],
        why=item["why"],
        late=item.get("late", "drop"),
        key=key,
        value=value,
        runs=[reader.run(run) for run in item["runs"]],
    )


@dataclass(frozen=True)
class _Reader:
    """Reads the items of one case by its columns."""

    key_columns: list[Column]
    value_columns: list[Column]

    def run(self, item: Item) -> Run:
        expect = item["expect"]
        commands = item["commands"] + expand(item.get("generate", []), "command")
        rows = expect["rows"] + expand(expect.get("generate_rows", []), "row")
        updates = expect.get("changelog")
        if updates is not None or "generate_changelog" in expect:
            updates = (updates or []) + expand(expect.get("generate_changelog", []), "update")
        return Run(
            commands=[self.command(command) for command in commands],
            until=item.get("until"),
            rows=[oracle.canonical(self.key(row) + self.value(row)) for row in rows],
            errors=[self.error(error) for error in expect["errors"]],
            changelog=None if updates is None else [self.update(update) for update in updates],
        )

    def command(self, item: Item) -> oracle.Command:
        value = item.get("value")
        return oracle.Command(
            ts=int(item["ts"]),
            order=(int(item["order"]),),
            key=self.key(item["key"]) if "key" in item else None,
            value=None if value is None else self.value(value),
            error=item.get("error"),
            error_key=None if "key" in item else _error_key(item["raw_key"]),
        )

    def update(self, item: Item) -> oracle.Update:
        ts, diff = int(item["ts"]), int(item["diff"])
        if "row" in item:
            row = item["row"]
            value = oracle.canonical(self.value(row))
            return oracle.Update(ts, diff, oracle.canonical(self.key(row)), value)
        error = self.error(item["error"])
        return oracle.Update(ts, diff, error.key, None, error.text, error.error_key)

    def error(self, item: Item) -> oracle.Error:
        if "key" in item:
            error = oracle.Error(oracle.canonical(self.key(item["key"])), None, item["text"])
        else:
            error = oracle.Error(None, _error_key(item["raw_key"]), None)
        if error.kind != item["kind"]:
            message = f"an error of another kind than its key\nGot: {item}"
            raise ValueError(message)
        return error

    def key(self, item: Item) -> oracle.Value:
        return _pick(item, self.key_columns)

    def value(self, item: Item) -> oracle.Value:
        return _pick(item, self.value_columns)


def _pick(item: Item, columns: list[Column]) -> oracle.Value:
    return tuple(cast(item[column.name], column.type) for column in columns)


def _error_key(raw_key: str | None) -> str:
    return "null" if raw_key is None else "x" + raw_key
