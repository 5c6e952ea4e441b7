"""Types in Spark: those that messages declare, and those that fit their values."""

from __future__ import annotations

import base64
import re
from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from . import words
from .log import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .log import Row

NUMERIC = "numeric"
"""The type of PostgreSQL whose digits only the values show."""

PRECISION = 38
"""How many digits a decimal of Spark has at most."""

SCALE = 10
"""How many digits after the point a decimal has at least if only a sample shows its digits."""

DOUBLE_DIGITS = 15
"""How many significant digits a double always keeps."""

DAYS = range(-20_000, 30_000)
"""The days since 1970 that a date may be: 1915 to 2052."""

SECONDS = range(946_684_800, 2_524_608_000)
"""The seconds since 1970 that a time may be: 2000 to 2049."""

UNITS = {"milli": (10**3, True), "micro": (10**6, True), "nano": (10**9, False)}
"""How many are a second, and whether such numbers are hardly ever anything but times."""

MOST_BYTES = 16
"""How many bytes the integer of a decimal of 38 digits has at most."""

NUMBERS = ("bigint", "decimal(38,0)", "double")
"""The types of numbers, the one that fits the most numbers last."""


LOGICAL_TYPES = {
    "io.debezium.time.Date": "date",
    "org.apache.kafka.connect.data.Date": "date",
    "io.debezium.time.Timestamp": "timestamp_ntz",
    "io.debezium.time.MicroTimestamp": "timestamp_ntz",
    "io.debezium.time.NanoTimestamp": "timestamp_ntz",
    "org.apache.kafka.connect.data.Timestamp": "timestamp_ntz",
    "io.debezium.time.ZonedTimestamp": "timestamp",
    "io.debezium.data.VariableScaleDecimal": NUMERIC,
}
"""The types of Connect and Debezium that have a name."""


def connect_types(schema: Any, name: str) -> dict[str, str]:
    """The types of a field's columns, from the schema that Connect's converter writes."""
    fields = schema.get("fields", []) if isinstance(schema, dict) else []
    inner = next((one for one in fields if isinstance(one, dict) and one.get("field") == name), {})
    return {one["field"]: connect_type(one) for one in inner.get("fields", []) if "field" in one}


def connect_type(schema: Row) -> str:
    """The type in Spark of a schema of Connect. The name of a logical type says more than its type.

    Example:
        >>> connect_type({"type": "int32"}), connect_type({"type": "array", "items": "string"})
        ('int', 'array<string>')
        >>> connect_type({"type": "int32", "name": "io.debezium.time.Date"})
        'date'
    """
    kind, name = schema.get("type"), str(schema.get("name"))
    if name.endswith(".Decimal"):
        given = schema.get("parameters") or {}
        precision = given.get("connect.decimal.precision", PRECISION)
        return f"decimal({precision},{given.get('scale', 0)})"
    if name in LOGICAL_TYPES:
        return LOGICAL_TYPES[name]
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


def encoded_type(name: str, values: list[Any]) -> tuple[str, str] | None:
    """What values may be if Debezium has encoded them, and the type to declare then.

    Debezium writes a decimal as the bytes of an integer in base64, and a date or a time as a
    number. Without the schema of the message only the values and the name give a hint.

    Example:
        >>> encoded_type("amount", ["BOI=", "AYag"])
        ('decimals in base64', 'decimal(10,2) from base64')
        >>> encoded_type("placed_at", [1767225600000000])
        ('times in microseconds', 'timestamp from micros')
        >>> encoded_type("born_on", [12345]), encoded_type("stock", [12345])
        (('dates in days', 'date from days'), None)
    """
    texts = [one["value"] if is_scaled(one) else one for one in values]
    if all(map(is_integer_in_base64, texts)):
        # Only a text with padding cannot be a word.
        is_padded = any(text.endswith("=") for text in texts)
        return ("decimals in base64", "decimal(10,2) from base64") if is_padded else None
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in values):
        return None
    plain = words.plain(name)
    if words.DAY.search(plain) and all(one in DAYS for one in values):
        return "dates in days", "date from days"
    for unit, (size, is_clear) in UNITS.items():
        if all(one // size in SECONDS for one in values) and (is_clear or words.TIME.search(plain)):
            return f"times in {unit}seconds", f"timestamp from {unit}s"
    return None


def is_scaled(value: Any) -> bool:
    """Whether a value is a decimal of Debezium that has its own scale."""
    return isinstance(value, dict) and {*value} == {"scale", "value"}


def is_integer_in_base64(value: Any) -> bool:
    """Whether a text may have the bytes of an integer: as few as it needs, in base64.

    Example:
        >>> [is_integer_in_base64(text) for text in ("BOI=", "AAE=", "sent by", 7)]
        [True, False, False, False]
    """
    try:
        whole = base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        return False
    number = int.from_bytes(whole, "big", signed=True)
    needed = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return len(whole) == needed <= MOST_BYTES and base64.b64encode(whole).decode() == value


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
    kinds = {
        float: "double",
        Decimal: "double",
        list: "array",
        dict: "struct",
        datetime: "timestamp",
    }
    return kinds.get(type(value), "string")
