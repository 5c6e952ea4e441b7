"""What is known of a log before anything is guessed."""

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
    from collections.abc import Iterable

Row: TypeAlias = dict[str, Any]

INTEGERS = ("tinyint", "smallint", "int", "bigint")
TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-]\d\d):?(\d\d)?)?"
)
"""A time of ISO 8601: all until the minute, the second, its fraction, and the offset from UTC."""

DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Log:
    """The columns of a log, and some of its rows."""

    name: str
    """The name of its table."""
    types: dict[str, str]
    """The columns with their types in Spark."""
    rows: list[Row] = field(repr=False)
    """Sampled rows, as they are stored one after the other. Times are texts."""
    json_columns: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    """The columns whose texts are JSON objects, decoded; a null and a broken text are None."""

    def values(self, column: str) -> list[Any]:
        """The sampled values of a column that are not null."""
        return [row[column] for row in self.rows if row[column] is not None]

    def named(self, pattern: re.Pattern[str]) -> list[str]:
        """The columns whose names match a pattern."""
        return [column for column in self.types if pattern.search(column.lower())]

    def positions(self) -> list[str]:
        """The columns that are clearly the position of a change in a log."""
        golden_gate = self.of_golden_gate(words.GOLDEN_GATE_POSITION)
        return [*filter(words.is_position, self.types), *golden_gate]

    def is_of_change(self, column: str) -> bool:
        """Whether a column says something of the change or of the log, and nothing of the row."""
        patterns = (words.GOLDEN_GATE_POSITION, words.GOLDEN_GATE_ARRIVAL)
        return words.is_of_change(column) or any(
            column in self.of_golden_gate(pattern) for pattern in patterns
        )

    def of_golden_gate(self, pattern: re.Pattern[str]) -> list[str]:
        """The columns whose names match a pattern, in a log of GoldenGate."""
        return self.named(pattern) if self.named(words.GOLDEN_GATE_TIME) else []

    def is_integer(self, column: str) -> bool:
        """Whether a column has a type of whole numbers."""
        return self.types[column] in INTEGERS


def read_log(name: str, types: dict[str, str], rows: list[Row]) -> Log:
    """Make a log of sampled rows, and decode the columns that hold JSON."""
    json_columns = {}
    for column, kind in types.items():
        if kind not in ("string", "binary"):
            continue
        decoded = [decode(row[column], kind) for row in rows]
        if sum(isinstance(one, dict) for one in decoded) * 2 > sum(
            row[column] is not None for row in rows
        ):
            json_columns[column] = [one if isinstance(one, dict) else None for one in decoded]
    return Log(name, types, rows, json_columns)


def decode(value: Any, kind: str) -> Any:
    """Decode a text of JSON. None if it is not JSON.

    Args:
        value: The text; in base64 if the column is binary.
        kind: The type of the column, `string` or `binary`.
    """
    try:
        text = base64.b64decode(value) if kind == "binary" else value
        return json.loads(text, parse_float=read_fraction)
    except (TypeError, ValueError, RecursionError):
        return None


def hashable(value: Any) -> Any:
    """A value that a set can hold: an array and a struct as a text.

    Example:
        >>> hashable(7), hashable({"b": [1], "a": None})
        (7, '{"a": null, "b": [1]}')
    """
    is_nested = isinstance(value, list | dict)
    return json.dumps(value, sort_keys=True, default=str) if is_nested else value


def to_text(values: Iterable[Any]) -> str:
    """Values as one text, to compare them; lists and structs are not hashable."""
    return json.dumps(list(values), sort_keys=True, default=str)


def contents(log: Log) -> list[str]:
    """Each sampled row as a text, without what says when it came and where it comes from.

    Two rows with equal texts are duplicates.
    """
    left_out = {*log.named(words.ARRIVAL), *log.named(words.PLACE)}
    return [to_text(item for item in row.items() if item[0] not in left_out) for row in log.rows]


def read_fraction(text: str) -> Decimal | float:
    """Read a number of JSON that is not whole, with all its digits.

    Spark reads a number with an exponent as a double, so it is a float here.

    Example:
        >>> read_fraction("0.30"), read_fraction("3e-1")
        (Decimal('0.30'), 0.3)
    """
    return float(text) if "e" in text.lower() else Decimal(text)


def tick_expression(log: Log, column: str) -> str | None:
    """An SQL expression that reads a column as a tick. None if its type has no ticks.

    Spark refuses a date and a timestamp without a time zone as a tick.
    """
    kind, name = log.types[column], quoted(column)
    if kind in (*INTEGERS, "timestamp"):
        return name
    if kind == "date":
        return f"unix_date({name})"
    values = log.values(column)
    if kind == "timestamp_ntz" or (kind == "string" and all_match(TIMESTAMP, values)):
        return f"cast({name} as timestamp)"
    if kind == "string" and all_match(DATE, values):
        return f"unix_date(cast({name} as date))"
    return None


def column_of(log: Log, expression: str | None) -> str | None:
    """The column that an expression of ours reads as a tick; None for other expressions."""
    ticks = {tick_expression(log, name): name for name in reversed(log.types)}
    return ticks.get(expression) if expression else None


def all_match(pattern: re.Pattern[str], values: list[Any]) -> bool:
    """Whether there are texts, and all of them match a pattern."""
    return bool(values) and all(pattern.fullmatch(str(value)) for value in values)


def sortable(values: list[Any]) -> list[Any]:
    """Values that sort. Texts of times become times; a time without a zone is one of UTC.

    Python 3.10 reads a time only if it has all its parts.

    Example:
        >>> early, late = sortable(["2026-01-05T10:30+01:00", "2026-01-05 10:00:00.5Z"])
        >>> early < late
        True
    """
    if not all_match(TIMESTAMP, values):
        return values
    try:
        return [
            datetime.fromisoformat(
                f"{minute}:{second:0>2}.{fraction:0<6.6}{hours or '+00'}:{minutes:0>2}"
            )
            for value in values
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
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", column)
    return column if plain else "`" + column.replace("`", "``") + "`"
