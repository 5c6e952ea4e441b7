"""A log before anything is guessed: its columns, the fields of its structs, and some rows."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from . import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row: TypeAlias = dict[str, Any]

INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBER = re.compile(r"(tinyint|smallint|int|bigint|float|double|decimal)\b")
TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-]\d\d):?(\d\d)?)?"
)
"""A time of ISO 8601: all until the minute, the second, its fraction, and the offset from UTC."""

DATE = re.compile(r"\d{4}-\d\d-\d\d")

CONFLUENT = 5
"""The bytes that Confluent's serializers write before a message: a zero and the schema's id."""


@dataclass(frozen=True)
class Log:
    """The columns of a log, and some of its rows.

    A field of a struct is named by its path, such as `_cdc.offset`, and is used like a column.
    """

    name: str
    """The name of its table."""
    columns: dict[str, str]
    """The columns with their types in Spark."""
    rows: list[Row] = field(repr=False)
    """Sampled rows, as they are stored one after the other. Times are texts. Fields are flat."""
    types: dict[str, str] = field(default_factory=dict)
    """The columns that are no structs, and the fields of structs, with their types."""
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """The names on the way to each of them."""
    json_columns: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    """The columns whose texts are JSON objects, decoded; a null and a broken text are None."""

    def values(self, name: str) -> list[Any]:
        """The sampled values of a column that are not null."""
        return [row[name] for row in self.rows if row[name] is not None]

    def named(self, pattern: re.Pattern[str]) -> list[str]:
        """The columns and fields whose names match a pattern."""
        return [name for name in self.types if pattern.search(words.plain(name))]

    def is_integer(self, name: str) -> bool:
        """Whether a column has a type of whole numbers."""
        return self.types[name] in INTEGERS

    def is_position(self, name: str) -> bool:
        """Whether a column is clearly the position of a change in the log of the source."""
        plain = words.plain(name)
        is_of_golden_gate = plain == "pos" and bool(self.named(words.GOLDEN_GATE))
        return is_of_golden_gate or bool(words.POSITION.search(plain))

    def is_own(self, name: str) -> bool:
        """Whether a column says something of the row, and nothing of the change or the log."""
        is_added = words.is_of_tool(name) and name != "_id"
        return not (is_added or self.is_position(name) or words.is_of_change(name))

    def sql(self, name: str) -> str:
        """Write a column or a field in SQL."""
        return ".".join(map(quoted, self.paths.get(name, (name,))))

    def top(self, name: str) -> str:
        """The column that a field lies in."""
        return self.paths[name][0]


def read_log(name: str, columns: dict[str, str], rows: list[Row]) -> Log:
    """Make a log of sampled rows: flatten its structs, and decode the columns that hold JSON."""
    paths = {
        ".".join(path): (path, kind)
        for column, kind in columns.items()
        for path, kind in leaves((column,), kind)
    }
    flat = [{one: at(row, path) for one, (path, _) in paths.items()} for row in rows]
    types = {one: kind for one, (_, kind) in paths.items()}
    json_columns = {}
    for one, kind in types.items():
        if kind not in ("string", "binary"):
            continue
        decoded = [decode(row[one], kind) for row in flat]
        objects = [found if isinstance(found, dict) else None for found in decoded]
        if sum(map(bool, objects)) * 2 > sum(row[one] is not None for row in flat):
            json_columns[one] = objects
    json_columns |= struct_messages(columns, rows)
    return Log(
        name, columns, flat, types, {one: path for one, (path, _) in paths.items()}, json_columns
    )


ENVELOPE = ("before", "after", "source", "op")
"""The fields of Debezium's messages. Avro lands them as structs."""


def struct_messages(columns: dict[str, str], rows: list[Row]) -> dict[str, list[Any]]:
    """The messages of Debezium that are structs, by the SQL expression of the struct."""
    if {*ENVELOPE} <= {*columns}:
        whole = f"struct({', '.join(ENVELOPE)})"
        return {whole: [{name: row[name] for name in ENVELOPE} for row in rows]}
    wrapped = [name for name, kind in columns.items() if {*ENVELOPE} <= {*struct_fields(kind)}]
    return {quoted(name): [row[name] for row in rows] for name in wrapped}


def leaves(path: tuple[str, ...], kind: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The fields of a type, each with its path and type. A type that is no struct is its own field.

    Example:
        >>> [*leaves(("a",), "struct<b:int, c:struct<d:decimal(9,2)>>")]
        [(('a', 'b'), 'int'), (('a', 'c', 'd'), 'decimal(9,2)')]
    """
    fields = struct_fields(kind)
    if not fields:
        yield path, kind
    for name, inner in fields.items():
        yield from leaves((*path, name), inner)


def struct_fields(kind: str) -> dict[str, str]:
    """The fields of a struct with their types; none of another type."""
    if not (kind.startswith("struct<") and kind.endswith(">")):
        return {}
    parts, depth = [""], 0
    for letter in kind[len("struct<") : -1]:
        depth += letter in "<("
        depth -= letter in ">)"
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    named = [part.partition(":") for part in parts]
    return {name.strip().strip("`"): inner.strip() for name, _, inner in named}


def at(row: Row, path: tuple[str, ...]) -> Any:
    """The value at a path; None if something on the way is null."""
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def decode(value: Any, kind: str) -> Any:
    """Decode a text of JSON. None if it is not JSON.

    Args:
        value: The text; in base64 if the column is binary.
        kind: The type of the column, `string` or `binary`.
    """
    try:
        text = base64.b64decode(value) if kind == "binary" else value
        if isinstance(text, bytes) and text[:1] == b"\0":
            text = text[CONFLUENT:]
        return json.loads(text, parse_float=read_fraction)
    except (TypeError, ValueError, RecursionError):
        return None


def hashable(value: Any) -> Any:
    """A value that a set can hold: an array and a struct as a text.

    Example:
        >>> hashable(7), hashable({"b": [1], "a": None})
        (7, '{"a": null, "b": [1]}')
    """
    return to_text(value) if isinstance(value, list | dict) else value


def to_text(value: Any) -> str:
    """A value as one text, to compare it."""
    return json.dumps(value, sort_keys=True, default=str)


def read_fraction(text: str) -> Decimal | float:
    """Read a number of JSON that is not whole, with all its digits.

    Spark reads a number with an exponent as a double, so it is a float here.

    Example:
        >>> read_fraction("0.30"), read_fraction("3e-1")
        (Decimal('0.30'), 0.3)
    """
    return float(text) if "e" in text.lower() else Decimal(text)


def tick_expression(log: Log, name: str) -> str | None:
    """An SQL expression that reads a column as a tick. None if its type has no ticks.

    Spark refuses a date and a timestamp without a time zone as a tick.
    """
    kind, sql = log.types[name], log.sql(name)
    if kind in (*INTEGERS, "timestamp"):
        return sql
    if kind == "date":
        return f"unix_date({sql})"
    values = log.values(name)
    if kind == "timestamp_ntz" or (kind == "string" and all_match(TIMESTAMP, values)):
        return f"cast({sql} as timestamp)"
    if kind == "string" and all_match(DATE, values):
        return f"unix_date(cast({sql} as date))"
    return None


def all_match(pattern: re.Pattern[str], values: Iterable[Any]) -> bool:
    """Whether there are values, and all of them match a pattern."""
    texts = [str(value) for value in values]
    return bool(texts) and all(map(pattern.fullmatch, texts))


def sortable(values: list[Any]) -> list[Any]:
    """Values that sort. Texts of numbers become numbers, and texts of times become times.

    A time without a zone is one of UTC. Python 3.10 reads a time only if it has all its parts.

    Example:
        >>> early, late = sortable(["2026-01-05T10:30+01:00", "2026-01-05 10:00:00.5Z"])
        >>> early < late, sortable(["9", "10"])
        (True, [9, 10])
    """
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        return [to_text(value) if isinstance(value, list | dict) else value for value in values]
    if all_match(re.compile("[0-9]+"), texts):
        return list(map(int, texts))
    if not all_match(TIMESTAMP, texts):
        return values
    try:
        return [
            datetime.fromisoformat(
                f"{minute}:{second:0>2}.{fraction:0<6.6}{hours or '+00'}:{minutes:0>2}"
            )
            for value in texts
            for minute, second, fraction, hours, minutes in TIMESTAMP.findall(value)
        ]
    except ValueError:  # there is no such day
        return values


def quoted_text(text: str) -> str:
    r"""Write a text in SQL.

    Example:
        >>> print(quoted_text("it's"))
        'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(column: str) -> str:
    """Write the name of a column in SQL.

    Example:
        >>> quoted("order_id"), quoted("order no")
        ('order_id', '`order no`')
    """
    is_plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", column)
    return column if is_plain else "`" + column.replace("`", "``") + "`"
