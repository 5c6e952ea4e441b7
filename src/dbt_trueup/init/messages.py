"""Reads the messages of Debezium and wal2json, as far as guesses need them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .log import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .log import Log, Row

POSITIONS = ("lsn", "file", "pos", "commit_lsn", "change_lsn", "event_serial_no")
"""The fields of Debezium's `source` that `trueup.debezium` takes as the order."""

NUMERIC = "numeric"
"""The type of PostgreSQL whose digits only the values show."""

PRECISION = 38
"""How many digits a decimal of Spark has at most."""

SCALE = 10
"""How many digits after the point a decimal has at least if only a sample shows its digits."""

DOUBLE_DIGITS = 15
"""How many significant digits a double always keeps."""

NUMBERS = ("bigint", "decimal(38,0)", "double")
"""The types of numbers, the one that fits the most numbers last."""


@dataclass(frozen=True)
class Change:
    """What a message says. Everything that it does not have is None."""

    place: int
    """The number of the row of the log."""
    op: str | None = None
    table: str | None = None
    ts: Any = None
    order: Any = None
    row: Row | None = None
    """The columns after the change; for a delete those before it."""
    key: Row | None = None
    """The columns of the key, as the message names them."""
    types: dict[str, str] = field(default_factory=dict)
    """The types that the message declares for its columns, in Spark."""


def has_change(message: Any) -> bool:
    """Whether a message is an envelope of Debezium. Its rows must be objects."""
    envelope = payload(message)
    return (
        isinstance(envelope, dict)
        and "op" in envelope
        and bool({"after", "before"} & {*envelope})
        and all(isinstance(envelope.get(row) or {}, dict) for row in ("after", "before"))
    )


def payload(message: Any) -> Any:
    """The message without the `schema` that Connect's converter may put beside it."""
    has_schema = isinstance(message, dict) and "schema" in message and "payload" in message
    return message["payload"] if has_schema else message


def read_debezium(log: Log, value: str, key: str | None) -> list[Change]:
    """Read each message of Debezium that has a row. Tombstones and logical messages have none."""
    changes = []
    for place, message in enumerate(log.json_columns[value]):
        if not has_change(message):
            continue
        envelope = payload(message)
        source = envelope.get("source")
        source = source if isinstance(source, dict) else {}
        keys = payload(log.json_columns[key][place]) if key else None
        changes.append(
            Change(
                place,
                op=envelope["op"],
                table=debezium_table(source),
                ts=source.get("ts_ms", envelope.get("ts_ms")),
                order=tuple(source.get(name) for name in POSITIONS)
                if any(source.get(name) is not None for name in POSITIONS)
                else None,
                row=envelope.get("after") or envelope.get("before"),
                key=keys if isinstance(keys, dict) else None,
                types=connect_types(message.get("schema"), "after"),
            )
        )
    return changes


def debezium_table(source: Row) -> str | None:
    """The table of a message, with its schema (PostgreSQL, SQL Server) or database (MySQL)."""
    table, schema = source.get("table"), source.get("schema") or source.get("db")
    return f"{schema}.{table}" if table and schema else table


def connect_types(schema: Any, name: str) -> dict[str, str]:
    """The types of a field's columns, from the schema that Connect's converter writes."""
    fields = schema.get("fields", []) if isinstance(schema, dict) else []
    inner = next((one for one in fields if isinstance(one, dict) and one.get("field") == name), {})
    return {one["field"]: connect_type(one) for one in inner.get("fields", []) if "field" in one}


def connect_type(schema: Row) -> str:
    """The type in Spark of a schema of Connect.

    Example:
        >>> connect_type({"type": "int32"}), connect_type({"type": "array", "items": "string"})
        ('int', 'array<string>')
    """
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return f"array<{connect_type(items if isinstance(items, dict) else {'type': items})}>"
    if kind == "struct":
        return struct_type({one["field"]: connect_type(one) for one in schema.get("fields", [])})
    plain = {
        "int8": "tinyint",
        "int16": "smallint",
        "int32": "int",
        "int64": "bigint",
        "float": "float",
        "float32": "float",
        "double": "double",
        "float64": "double",
        "boolean": "boolean",
        "bytes": "binary",
    }
    return plain.get(str(kind), "string")


def table_of(message: Row) -> str:
    """The table of a message of wal2json, with its schema.

    With `include-schemas=false` any schema will do: trueup compares the table alone.
    """
    return f"{message.get('schema') or 'public'}.{message.get('table')}"


def read_wal2json(log: Log, value: str) -> list[Change]:
    """Read each message of wal2json that has a row: the actions I, U and D."""
    changes = []
    messages = [
        (place, message)
        for place, message in enumerate(log.json_columns[value])
        if isinstance(message, dict) and message.get("action") in ("I", "U", "D")
    ]
    widths: dict[str, int] = {}
    for _, message in messages:
        table, width = table_of(message), len(columns_of(message, "columns"))
        widths[table] = max(width, widths.get(table, 0))
    for place, message in messages:
        columns, identity = columns_of(message, "columns"), columns_of(message, "identity")
        # With REPLICA IDENTITY FULL the identity is the whole row.
        has_key = len(identity) < (widths[table_of(message)] or len(identity) + 1)
        keys = columns_of(message, "pk") or (identity if has_key else [])
        row = {one["name"]: one.get("value") for one in columns or identity}
        changes.append(
            Change(
                place,
                op=message["action"],
                table=table_of(message),
                ts=message.get("timestamp"),
                order=message.get("lsn"),
                row=row,
                key={one["name"]: row.get(one["name"]) for one in keys} or None,
                types={one["name"]: postgres_type(str(one.get("type", ""))) for one in columns},
            )
        )
    return changes


def columns_of(message: Row, name: str) -> list[Row]:
    """A list of columns in a message of wal2json; empty if it has none."""
    given = message.get(name)
    listed = given if isinstance(given, list) else []
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("name"), str)]


def postgres_type(name: str) -> str:
    """The type in Spark for the JSON that wal2json writes for a type of PostgreSQL.

    A numeric that is no decimal of Spark stays `numeric`: only its values say how many digits it
    needs.

    Example:
        >>> [postgres_type(name) for name in ("bigint", "numeric(10,2)", "character varying(9)")]
        ['bigint', 'decimal(10,2)', 'string']
    """
    plain = {
        "smallint": "smallint",
        "integer": "int",
        "bigint": "bigint",
        "boolean": "boolean",
        "real": "float",
        "double precision": "double",
        "numeric": NUMERIC,
        "date": "date",
        "timestamp with time zone": "timestamp",
        "timestamp without time zone": "timestamp_ntz",
    }
    if numeric := re.fullmatch(r"numeric\((\d+)(?:,(-?\d+))?\)", name):
        precision, scale = map(int, numeric.groups("0"))
        is_decimal = 0 <= scale <= precision <= PRECISION
        return f"decimal({precision},{scale})" if is_decimal else NUMERIC
    return plain.get(re.sub(r"^timestamp\(\d+\)", "timestamp", name), "string")


def json_types(rows: list[Row], unavailable: str) -> dict[str, str]:
    """The types that fit the values of the rows. Columns with nulls alone are texts."""
    seen: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            seen.setdefault(name, [])
            if value is not None and value not in (unavailable, [unavailable]):
                seen[name].append(value)
    return {name: json_type(values) for name, values in seen.items()}


def json_type(values: list[Any]) -> str:
    """The type that fits all values, or most of them if no type fits all.

    Example:
        >>> json_type([1, 2.5]), json_type(["a", "b", 1]), json_type([[1]]), json_type([])
        ('double', 'string', 'array<bigint>', 'string')
    """
    kinds = Counter(kind_of(value) for value in values)
    if not kinds:
        return "string"
    kind = kinds.most_common(1)[0][0]
    if set(kinds) <= set(NUMBERS):
        kind = max(kinds, key=NUMBERS.index)
    if kind == "double":
        return fraction_type([value for value in values if kind_of(value) in NUMBERS])
    if kind == "array":
        lists = [value for value in values if isinstance(value, list)]
        return f"array<{json_type([one for each in lists for one in each if one is not None])}>"
    if kind == "struct":
        return struct_type(json_types([value for value in values if isinstance(value, dict)], ""))
    return kind


def struct_type(fields: dict[str, str]) -> str:
    """The type of an object, from the types of its fields.

    Example:
        >>> struct_type({"x": "int", "lat-lon": "double"})
        'struct<x: int, `lat-lon`: double>'
    """
    return f"struct<{', '.join(f'{quoted(name)}: {kind}' for name, kind in fields.items())}>"


def fraction_type(numbers: list[Any]) -> str:
    """The type of numbers that are not all whole: double, if it keeps all their digits.

    A float is a number that Spark reads as a double in any case. So all numbers are doubles then.

    Example:
        >>> fraction_type([Decimal("0.5"), 7]), fraction_type([Decimal("0.1234567890123456")])
        ('double', 'decimal(38,16)')
    """
    exact = [number for number in numbers if not isinstance(number, float)]
    is_double = len(exact) < len(numbers) or max(map(significant_digits, exact)) <= DOUBLE_DIGITS
    return "double" if is_double else decimal_type(exact)


def significant_digits(number: Decimal | int) -> int:
    """How many digits a number has, without the zeros at its ends.

    Example:
        >>> significant_digits(Decimal("0.01200")), significant_digits(1200)
        (2, 2)
    """
    return len("".join(map(str, Decimal(number).as_tuple().digits)).rstrip("0"))


def decimal_type(numbers: Iterable[Decimal | int]) -> str:
    """The decimal of 38 digits that fits all numbers.

    After the point it has as many digits as the longest number has there, but at least 10, because
    the sample is not the whole log. If 38 digits are not enough for both sides of the point, the
    side before it has all that it needs.

    Example:
        >>> decimal_type([7]), decimal_type([Decimal("0.123456789012")])
        ('decimal(38,10)', 'decimal(38,12)')
    """
    before, after = 0, SCALE
    for number in numbers:
        _, digits, exponent = Decimal(number).as_tuple()
        scale = -int(exponent)
        before, after = max(before, len(digits) - scale), max(after, scale)
    return f"decimal({PRECISION},{max(min(after, PRECISION - before), 0)})"


def kind_of(value: Any) -> str:
    """The type of one value; `array` and `struct` without what is in them."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint" if -(2**63) <= value < 2**63 else "decimal(38,0)"
    kinds = {float: "double", Decimal: "double", list: "array", dict: "struct"}
    return kinds.get(type(value), "string")
