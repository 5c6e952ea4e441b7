"""Guesses which rows delete, and which columns are values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt_trueup.plural import count

from . import words
from .envelope import extract_columns
from .facts import Guess, share
from .log import column_of, quoted
from .messages import json_types

if TYPE_CHECKING:
    from .facts import Facts
    from .log import Log

UNAVAILABLE = "__debezium_unavailable_value"
"""What Debezium writes for a value that it does not have."""

READABLE = re.compile(
    r"(tinyint|smallint|int|bigint|float|double|decimal|boolean|string|binary|date|timestamp"
    r"|timestamp_ntz)( *\([0-9 ,]+\))?|(array|struct)<.+>"
)
"""The types that `trueup.parse_json` reads."""


def guess_delete_when(facts: Facts) -> Guess:
    """The condition of a delete."""
    log = facts.log
    if facts["envelope"] == "snapshots":
        return Guess("delete_when", "is_absent", "the next extract does not have the key")
    for column in log.named(words.OPERATION):
        if log.types[column] == "string":
            return delete_of_operation(log, column)
    for column in log.named(words.DELETED_FLAG):
        if flagged := delete_of_flag(log, column):
            return flagged
    for column in log.named(words.DELETED_TIME):
        why = f"{share(len(log.values(column)), len(log.rows), 'row')} have it"
        return Guess("delete_when", f"{quoted(column)} is not null", why)
    return Guess(
        "delete_when",
        None,
        "no column is called op, is_deleted, deleted_at or the like: no command deletes",
    )


def delete_of_flag(log: Log, column: str) -> Guess | None:
    """The condition of a delete, from a column that is true or false in some form."""
    if log.types[column] == "boolean":
        deleted = sum(map(bool, log.values(column)))
        why = f"true in {share(deleted, len(log.rows), 'row')}"
        return Guess("delete_when", quoted(column), why)
    values = {str(value).lower() for value in log.values(column)}
    if log.is_integer(column) and values <= {"0", "1"}:
        return Guess("delete_when", f"{quoted(column)} = 1", f"`{column}` is 0 or 1")
    if values <= {"true", "false"}:
        condition = f"lower({quoted(column)}) = 'true'"
        return Guess("delete_when", condition, f"`{column}` is true or false, as a text")
    return None


def delete_of_operation(log: Log, column: str) -> Guess:
    """The condition of a delete, from the values of an operation."""
    values = sorted(map(str, set(log.values(column))))
    deletes = [value for value in values if value.lower() in words.DELETES]
    known = words.UPSERTS | words.DELETES | words.TRUNCATES
    unknown = [value for value in values if value.lower() not in known]
    seen = f"`{column}` is {', '.join(values[:8]) or 'null'}"
    if not deletes and not unknown:
        beside = [value for value in values if value.lower() in words.DELETE_BESIDE]
        if beside:
            delete = words.DELETE_BESIDE[beside[-1].lower()]
            deletes = [delete.upper() if beside[-1].isupper() else delete]
            seen += "; the sample has no delete"
    if not deletes or unknown:
        why = f"{seen}: {', '.join(unknown[:5]) or 'nothing'} is not understood"
        candidates = tuple(f"{quoted(column)} = '{value}'" for value in (deletes or unknown)[:5])
        condition = equals(column, deletes) if deletes else None
        return Guess("delete_when", condition, why, is_sure=False, candidates=candidates)
    return Guess("delete_when", equals(column, deletes), seen)


def equals(column: str, values: list[str]) -> str:
    """The condition that a column has one of some values."""
    texts = ["'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" for value in values]
    name = quoted(column)
    return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in ({', '.join(texts)})"


def guess_truncate_when(facts: Facts) -> Guess:
    """The condition of a truncate of the whole table."""
    for column in facts.log.named(words.OPERATION):
        values = sorted(map(str, set(facts.log.values(column))))
        if truncates := [value for value in values if value.lower() in words.TRUNCATES]:
            return Guess("truncate_when", equals(column, truncates), f"`{column}` has it")
    return Guess("truncate_when", None, "the sample has no truncate")


def guess_columns(facts: Facts) -> Guess:
    """The value columns with their types."""
    if facts.is_decoded:
        return columns_of_messages(facts)
    log, key = facts.log, facts["key"] or []
    used = {
        column_of(log, facts["ts"]),
        *(facts["reclock"] or ()),
        *(name for name in log.types if mentions(name, facts["delete_when"])),
        *(name for name in log.types for one in facts["sequence_by"] or () if mentions(name, one)),
        *(name for name in log.types if words.is_of_change(name) or name.startswith("_")),
        *(extract_columns(log) if facts["envelope"] == "snapshots" else ()),
    }
    odd = [name for name, kind in log.types.items() if re.search(r"\b(map<|variant)", kind)]
    values = {
        name: kind
        for name, kind in log.types.items()
        if name not in used and name not in key and name not in odd
    }
    out = [name for name in log.types if name not in values and name not in key]
    why = f"all others; left out: {', '.join(out)}" if out else "all others"
    warnings = (f"{', '.join(odd)} is left out: Spark cannot compare its type",) if odd else ()
    return Guess("columns", values, why, bool(values), tuple(out), warnings)


def columns_of_messages(facts: Facts) -> Guess:
    """The value columns in the messages. A type that a message declares is better than a guess."""
    types, declared = row_types(facts), declared_types(facts)
    odd = [name for name, kind in types.items() if not READABLE.fullmatch(kind)]
    empty = [
        name
        for name in types
        if name not in declared and all(row.get(name) is None for row in facts.rows)
    ]
    key = facts["key"] or []
    values = {name: kind for name, kind in types.items() if name not in key and name not in odd}
    why = "the types that the messages declare" if declared else "the types that fit the sample"
    warnings = []
    if empty:
        warnings.append(f"{', '.join(empty)}: null in the whole sample, so the type is a guess")
    if odd:
        warnings.append(f"{', '.join(odd)} is left out: `trueup.parse_json` cannot read its type")
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
    return {name: kind for change in facts.changes for name, kind in change.types.items()}


def row_types(facts: Facts) -> dict[str, str]:
    """The types of all columns of the sampled rows."""
    if not facts.is_decoded:
        return facts.log.types
    return {**json_types(list(facts.rows), UNAVAILABLE), **declared_types(facts)}


def typed_columns(facts: Facts) -> dict[str, str]:
    """The columns of the collection with their types, the key first."""
    types = row_types(facts)
    return {**{name: types[name] for name in facts["key"]}, **facts["columns"]}


def mentions(name: str, expression: str | None) -> bool:
    """Whether an expression reads a column."""
    return bool(
        expression and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", expression, re.IGNORECASE)
    )
