"""The evidence about keys: their commands in the log, and what the store has of them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Rank = tuple[Any, ...]
"""An order in a form that Python can compare. The empty one, less than all others, is no order."""
Value = tuple[str, ...]
"""The value columns of a row, each as a JSON with its name."""

ADOPTED = -2147483648
"""The first part of the order of rows that were there before the log."""
ZERO_OR_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|-0\.0(?!\d)')
"""A negative zero in a JSON, or a text, which may look like one."""


@dataclass(frozen=True)
class Model:
    """A collection as dbt knows it."""

    name: str
    schema: str
    identifier: str
    key: tuple[str, ...]
    options: dict[str, Any]
    query: str
    """Its compiled SQL: the commands of the log, or the rows."""

    @property
    def truncate_scope(self) -> tuple[str, ...]:
        """The option `truncate_scope`: key columns that say which keys a truncate deletes."""
        names = self.options.get("truncate_scope") or ()
        return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True)
class Command:
    """One row of the log."""

    identity: str | None
    """The key columns and the error key, in JSON; None for a truncate."""
    op: str
    order: str
    """The order in JSON."""
    rank: Rank
    value: Value
    error: str | None
    unchanged: frozenset[str]
    """The names of the columns that the command leaves unchanged, in lower case."""
    old_identity: str | None
    """The key before, if the command changes the key."""
    ts: int | None = None
    scope: str | None = None
    """The key columns of a truncate, in JSON."""

    @property
    def error_key(self) -> str | None:
        """The error key of a broken key."""
        found = json.loads(self.identity)["_error_key"] if self.identity else None
        return None if found is None else str(found)


@dataclass(frozen=True)
class Stored:
    """One row of the store: an update, or what a key has now."""

    identity: str
    part: str
    """`update`, `row`, `error` or `tombstone`."""
    value: Value
    error: str | None
    error_kind: str | None
    order: str | None
    rank: Rank
    column_ranks: dict[str, Rank]
    """In a log with partial commands, the order of each column. The empty name is the row."""
    seq: int
    ts: int
    diff: int | None
    cause: str | None

    @property
    def content(self) -> tuple[Any, ...]:
        """What the row says: nothing but its order differs between rows of equal content."""
        return self.identity, self.value, self.error, self.error_kind


@dataclass
class Evidence:
    """What the log and the store have of some keys."""

    about: dict[str, Any]
    """The newest batch, the columns, and how the keys were chosen."""
    commands: Counter[Command] = field(default_factory=Counter)
    """What the runs have read, and the rows that the collection has adopted."""
    unread: Counter[Command] = field(default_factory=Counter)
    """What no run has read. Only `now` asks for it, or a log with ticks."""
    wanted: set[str] = field(default_factory=set)
    """The keys in question. There are also commands of keys from which they take columns."""
    erased: set[str] = field(default_factory=set)
    """Those of them that were erased from the store on purpose. The log may still have them."""
    updates: list[Stored] = field(default_factory=list)
    current: list[Stored] = field(default_factory=list)


def read_model(options: Sequence[str], name: str) -> Model:
    """Ask dbt for a collection. Its SQL is compiled, and the warehouse is not asked.

    Raises:
        UsageError: The project has no such collection.
    """
    words = ("--select", f"file:{name}.sql", "--indirect-selection", "empty", dbt.UNWRITTEN)
    found = [
        one.node
        for one in dbt.invoke(options, "compile", *words).results
        if one.node.config.materialized == "trueup" and one.node.name == name
    ]
    if len(found) != 1:
        manifest = dbt.parse(options)
        dbt.require_collection(name, dbt.collections(manifest))
        # As everywhere, a collection of the project itself comes before one of a package.
        own = manifest.metadata.project_name
        found.sort(key=lambda node: node.package_name != own)
    node = found[0]
    key = node.config.unique_key
    return Model(
        name=name,
        schema=node.schema,
        identifier=node.alias,
        key=(key,) if isinstance(key, str) else tuple(key),
        options=dict((node.config.meta or {}).get("trueup") or {}),
        query=node.compiled_code,
    )


def read_evidence(options: Sequence[str], model: Model, **wanted: Any) -> Evidence:
    """Ask for the evidence about keys, and about the keys from which they take columns.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        model: The collection.
        wanted: Which keys, as `trueup._get_evidence_select` has it.

    Raises:
        DbtError: The collection has not run, or a query failed.
    """
    evidence = parse(query(options, model, **wanted))
    asked = {each for each in (*evidence.wanted, evidence.about["identity"]) if each}
    asked |= {row.identity for row in evidence.current}
    while sources := missing_sources(evidence.commands, asked):
        asked |= sources
        more = parse(query(options, model, identities=sorted(sources), log_only=True))
        # Both may have the same commands, and each has all copies of them.
        evidence.commands |= more.commands
    return evidence


def query(options: Sequence[str], model: Model, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows of `trueup._get_evidence_select`."""
    given = {
        "name": model.name,
        "schema": model.schema,
        "identifier": model.identifier,
        "key": model.key,
        "query": model.query,
    }
    return dbt.query(options, dbt.when_executed(dbt.call("_get_evidence_select", given, wanted)))


def missing_sources(commands: Iterable[Command], asked: set[str]) -> set[str]:
    """Return the keys from which commands take columns, and whose commands are not here."""
    return {
        command.old_identity
        for command in commands
        if command.old_identity and command.unchanged and command.old_identity not in asked
    }


def parse(rows: Iterable[dict[str, Any]]) -> Evidence:
    """Read the rows of `trueup._get_evidence_select`."""
    rows = list(rows)
    about = next(json.loads(row["about"]) for row in rows if row["part"] == "about")
    evidence, now = Evidence(about), Counter[Command]()
    for row in rows:
        if row["part"] in {"command", "unread"}:
            command = parse_command(row, about["columns"])
            if row["is_wanted"] and command.identity:
                evidence.wanted.add(command.identity)
            if row["is_erased"] and command.identity:
                evidence.erased.add(command.identity)
            is_settled = about["upper"] is None or command.ts is None or command.ts < about["upper"]
            found = evidence.commands if is_settled else evidence.unread
            (now if row["part"] == "unread" else found)[command] += 1
        elif row["part"] == "update":
            evidence.updates.append(parse_stored(row))
        elif row["part"] != "about":
            evidence.current.append(parse_stored(row))
    evidence.unread |= now - evidence.commands
    evidence.wanted |= {row.identity for row in (*evidence.updates, *evidence.current)}
    evidence.commands.update(map(as_command, filter(is_adopted, evidence.updates)))
    return evidence


def is_adopted(row: Stored) -> bool:
    """Whether an update is a row that was there before the log, below all orders."""
    return row.cause == "adopted" and row.diff == 1 and row.order is not None


def as_command(row: Stored) -> Command:
    """Write an adopted row as a command of the least order."""
    return Command(
        row.identity, "upsert", row.order or "", row.rank, row.value, None, frozenset(), None
    )


def parse_command(row: dict[str, Any], columns: Sequence[dict[str, str]]) -> Command:
    """Read a command. Its old key counts only if it is another one."""
    value = tuple(map(with_one_zero, row["value"]))
    identity, old = (
        text and with_one_zero(text) for text in (row["identity"], row["old_identity"])
    )
    changes_key = row["op"] == "upsert" and old not in {None, identity} and identity
    names = {column["name"].lower() for column in columns}
    marker, unchanged = row["unchanged_value"], {one.lower() for one in row["unchanged"] or []}
    for column, text in zip(columns, value, strict=True):
        if marker is not None and is_marked(column["type"], text, marker):
            unchanged.add(column["name"].lower())
    return Command(
        identity=identity,
        op=row["op"],
        order=row["ord"],
        rank=rank_of(row["ord"]),
        value=value,
        error=row["error"],
        unchanged=frozenset(unchanged & names),
        old_identity=old if changes_key and not json.loads(identity)["_error_key"] else None,
        ts=row["ts"],
        scope=row["scope"],
    )


def is_marked(type_: str, text: str, marker: str) -> bool:
    """Whether a column in JSON is the marker of the source for an unchanged value.

    Example:
        >>> is_marked("string", '{"a":"__same__"}', "__same__")
        True
    """
    forms = {"string": marker, "binary": b64encode(marker.encode()).decode()}
    (item,) = json.loads(text).values()
    return type_ in forms and item == forms[type_]


def parse_stored(row: dict[str, Any]) -> Stored:
    """Read a row of the store."""
    orders = json.loads(row["orders"], parse_float=Decimal) if row["orders"] else {}
    return Stored(
        identity=with_one_zero(row["identity"]),
        part=row["part"],
        value=tuple(map(with_one_zero, row["value"])),
        error=row["error"],
        error_kind=row["error_kind"],
        order=row["ord"],
        rank=rank_of(row["ord"]) if row["ord"] else (),
        column_ranks={name: rank_part(one["_order"])[1] for name, one in orders.items()},
        seq=row["seq"],
        ts=row["ts"],
        diff=row["diff"],
        cause=row["cause"],
    )


def rank_of(order: str) -> Rank:
    """Return the rank of an order in JSON. It is empty if the first term is null.

    Example:
        >>> rank_of('{"_epoch":0,"_1":2}') < rank_of('{"_epoch":0,"_1":10}')
        True
        >>> rank_of('{"_epoch":0,"_1":null}')
        ()
    """
    terms = json.loads(order, parse_float=Decimal)
    if terms["_1"] is None and terms.get("_epoch") != ADOPTED:
        return ()
    found: Rank = rank_part(terms)[1]
    return found


def rank_part(item: Any) -> tuple[Any, ...]:
    """Return a part of an order so that it compares as in Spark: null, numbers, texts.

    Example:
        >>> sorted(["b", None, 2, "NaN", Decimal("1.5")], key=rank_part)
        [None, Decimal('1.5'), 2, 'NaN', 'b']
    """
    if item is None:
        return (0,)
    if isinstance(item, dict | list):
        parts = item.values() if isinstance(item, dict) else item
        return (3, tuple(map(rank_part, parts)))
    return (2, item) if isinstance(item, str) else (1, item)


def with_one_zero(text: str) -> str:
    """Write the zeros of a JSON in one form, because Spark takes -0.0 and 0.0 for equal.

    Example:
        >>> with_one_zero('{"v":[-0.0,-0.05,"-0.0"]}')
        '{"v":[0.0,-0.05,"-0.0"]}'
    """
    if "-0.0" not in text:
        return text
    return ZERO_OR_TEXT.sub(lambda found: "0.0" if found[0] == "-0.0" else found[0], text)
