"""Guesses which columns are values, and of what types."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from dbt_trueup.lint.source import blank
from dbt_trueup.plural import count

from . import words
from .envelope import extract_columns
from .facts import Guess
from .key import is_key
from .log import struct_fields
from .order import delivery_of_extracts
from .types import NUMERIC, decimal_type, encoded_type, json_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .facts import Facts
    from .log import Log, Row

UNAVAILABLE = "__debezium_unavailable_value"
"""What Debezium writes for a value that it does not have."""

READABLE = re.compile(
    r"(tinyint|smallint|int|bigint|float|double|decimal|boolean|string|binary|date|timestamp"
    r"|timestamp_ntz)( *\([0-9 ,]+\))?|(array|struct)<([^`]|`[^`:,<>()\n]+`)+>"
)
"""The types that `trueup.parse_json` reads.

The name of a field must not have one of the signs `:,<>()`: Spark shows types without backquotes.
"""

CONDITIONS = ("ts", "delete_when", "skip_when", "truncate_when")
"""The fields that are expressions of SQL over the columns of the log."""


def guess_columns(facts: Facts) -> Guess:
    """The value columns with their types."""
    if facts.is_decoded:
        return columns_of_messages(facts)
    log, key = facts.log, facts["key"] or []
    expressions = [*(facts["sequence_by"] or ()), *(facts[name] for name in CONDITIONS)]
    # A tombstone has no values: they are null.
    expressions = [re.sub(r"\S+ is null\b", "", one) for one in expressions if one]
    orders = [facts["ts"], *(facts["sequence_by"] or ())]
    used = {
        *(log.top(name) for name in facts["place"] or ()),
        *(log.top(mark.name) for mark in facts.marks if mark.condition and facts["delete_when"]),
        *(name for name in log.columns if any(mentions(name, one) for one in expressions)),
        *(name for name in log.columns if not log.is_own(name)),
        *(
            name
            for name in log.columns
            if is_key(name) and key and name not in key and is_read(log, name)
        ),
        *(name for name in log.columns if facts["place"] and words.plain(name) == "timestamp"),
        *(extract_columns(log) if facts["envelope"] == "snapshots" else ()),
        delivery_of_extracts(facts),
    } - {name for name in log.columns if name in orders and is_kept(name)}
    odd = [name for name, kind in log.columns.items() if re.search(r"\bmap<(?!string,)", kind)]
    values = {
        name: kind
        for name, kind in log.columns.items()
        if name not in used and name not in key and name not in odd
    }
    out = [name for name in log.columns if name not in values and name not in key]
    why = f"all others; left out: {', '.join(out)}" if out else "all others"
    warnings = (f"{', '.join(odd)} is left out: the keys of a map must be texts",) if odd else ()
    return Guess("columns", values, why, bool(values), tuple(out), warnings)


def is_read(log: Log, name: str) -> bool:
    """Whether a column has the fields of a message's key: as JSON, or as a struct."""
    return name in log.json_columns or name not in log.types


def is_kept(name: str) -> bool:
    """Whether a column that is the order is also a value: applications keep it for themselves."""
    return bool(words.OF_ROW.search(words.plain(name))) and not words.is_of_tool(name)


def columns_of_messages(facts: Facts) -> Guess:
    """The value columns in the messages. A type that a message declares is better than a guess."""
    types, declared = row_types(facts), declared_types(facts)
    odd = [name for name, kind in types.items() if not READABLE.fullmatch(kind)]
    empty = [
        name
        for name in types
        if name not in declared and all(row.get(name) is None for row in facts.rows)
    ]
    key, own = facts["key"] or [], facts.row_columns
    values = {
        name: kind
        for name, kind in types.items()
        if name in own and name not in key and name not in odd
    }
    why = "the types that the messages declare" if declared else "the types that fit the sample"
    warnings = []
    if empty:
        warnings.append(f"{', '.join(empty)}: null in the whole sample, so the type is a guess")
    if odd:
        warnings.append(f"{', '.join(odd)} is left out: `trueup.parse_json` cannot read its type")
    warnings += warn_of_digits(types, declared)
    if facts["envelope"] == "debezium":
        warnings += warn_of_encodings(facts.rows, types, declared)
    return Guess(
        "columns",
        values,
        f"{count(len(values), 'column')}, with {why}",
        bool(values),
        tuple(types),
        tuple(warnings),
    )


def declared_types(facts: Facts) -> dict[str, str]:
    """The types that the messages declare. The last message counts."""
    types = {name: kind for change in facts.changes for name, kind in change.types.items()}
    if facts["value"] not in facts.log.types:
        structs = [facts.log.columns, *map(struct_fields, facts.log.columns.values())]
        types |= struct_fields(next(one["after"] for one in structs if "after" in one))
    return types


def row_types(facts: Facts) -> dict[str, str]:
    """The types of all columns of the sampled rows."""
    if not facts.is_decoded:
        return {**facts.log.types, **facts.log.columns}
    # The key of MongoDB's messages is not a column of their rows.
    keys = [change.key for change in facts.changes if change.key]
    types = json_types(keys, UNAVAILABLE) | json_types(list(facts.rows), UNAVAILABLE)
    types |= declared_types(facts)
    return {
        name: decimal_type(numbers_of(facts.rows, name)) if kind == NUMERIC else kind
        for name, kind in types.items()
    }


def numbers_of(rows: Sequence[Row], column: str) -> list[Decimal | int]:
    """The numbers of a column that have all their digits."""
    return [row[column] for row in rows if isinstance(row.get(column), (Decimal, int))]


def warn_of_digits(types: Mapping[str, str], declared: Mapping[str, str]) -> list[str]:
    """Say which decimals have their digits from the sample, and what becomes of other numbers."""
    warnings = []
    for name, kind in types.items():
        of_sample = name not in declared and re.search(r"decimal\(38,[1-9]", kind)
        if of_sample or declared.get(name) == NUMERIC:
            then = (
                "Spark decides what becomes of a number inside that does not fit"
                if "<" in kind
                else "a number of up to 38 digits that does not fit becomes an error row, and"
                " Spark reads a longer one as a double"
            )
            warnings.append(f"{name} is {kind} because of its digits in the sample: {then}")
    return warnings


def warn_of_encodings(
    rows: Sequence[Row], types: Mapping[str, str], declared: Mapping[str, str]
) -> list[str]:
    """Say which columns may have another type, because Debezium encodes it."""
    warnings = []
    for name in types:
        given = [row[name] for row in rows if row.get(name) not in (None, UNAVAILABLE)]
        if name in declared or not given or not (found := encoded_type(name, given)):
            continue
        what, kind = found
        digits = " (with the digits of the source)" if kind.startswith("decimal") else ""
        warnings.append(
            f"{name} has values such as {json.dumps(given[0])}. They may be {what}; the messages do"
            f" not say. If so, write '{kind}'{digits} and not {types[name]}, in the model and in"
            " its test"
        )
    return warnings


def typed_columns(facts: Facts) -> dict[str, str]:
    """The columns of the collection with their types, the key first."""
    types = row_types(facts)
    return {name: types[name] for name in facts["key"] or ()} | (facts["columns"] or {})


def mentions(name: str, expression: str | None) -> bool:
    """Whether an expression reads a column. A text in quotes is no column.

    Example:
        >>> mentions("y", "lower(deleted) = 'y'"), mentions("y", "`y` = 1")
        (False, True)
    """
    if not expression:
        return False
    # A name in backquotes may have a quote itself.
    pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
    return f"`{name}`" in expression or bool(re.search(pattern, blank(expression), re.IGNORECASE))
