"""Guesses which rows delete, and which columns are values."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from dbt_trueup.lint.source import blank
from dbt_trueup.plural import count

from . import words
from .envelope import extract_columns
from .facts import Guess, share
from .log import column_of, quoted, quoted_text
from .messages import NUMERIC, decimal_type, json_types

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


def guess_delete_when(facts: Facts) -> Guess:
    """The condition of a delete."""
    log = facts.log
    if facts["envelope"] == "snapshots":
        return Guess("delete_when", "is_absent", "the next extract does not have the key")
    operations = sorted(log.named(words.OPERATION), key=lambda name: log.types[name] != "string")
    if operations:
        return delete_of_operation(log, operations[0])
    if flags := [delete_of_flag(log, column) for column in log.named(words.DELETED_FLAG)]:
        return next((one for one in flags if one.is_sure), flags[0])
    for column in log.named(words.DELETED_TIME):
        condition, number = f"{quoted(column)} is not null", len(log.values(column))
        why = f"{share(number, len(log.rows), 'row')} have it"
        if number and number == len(log.rows):
            # A time in the far future may say that the row still exists.
            why += ", so all of them would delete"
            return Guess("delete_when", condition, why, is_sure=False, candidates=(condition,))
        return Guess("delete_when", condition, why)
    return delete_of_values(log)


def delete_of_values(log: Log) -> Guess:
    """The condition of a delete, if no column has a name for it. The values may tell."""
    why = "no column is called op, is_deleted, deleted_at or the like"
    column = operation_of_values(log)
    if column is None:
        return Guess("delete_when", None, f"{why}: no command deletes")
    values = texts_of(log, column)
    deletes = among(values, words.DELETES) or delete_beside(values)
    condition = equals(column, deletes) if deletes else None
    why += f", but `{column}` has the values of one{advise_on_old_rows(values)}"
    candidates = (*([condition] if condition else []), "none")
    return Guess("delete_when", condition, why, is_sure=False, candidates=candidates)


def operation_of_values(log: Log) -> str | None:
    """The column with the values of an operation. One with a delete comes first."""
    for signs in (words.DELETES, words.TRUNCATES, words.OLD_ROWS):
        for column in log.types:
            values = texts_of(log, column) if log.types[column] == "string" else []
            is_operation = among(values, words.OPERATIONS) == values
            if is_operation and 0 < len(among(values, signs)) < len(values):
                return column
    return None


def delete_of_flag(log: Log, column: str) -> Guess:
    """The condition of a delete, from a column that is true or false in some form."""
    if log.types[column] == "boolean":
        deleted = sum(map(bool, log.values(column)))
        why = f"true in {share(deleted, len(log.rows), 'row')}"
        return Guess("delete_when", quoted(column), why)
    values = texts_of(log, column)
    seen = {value.lower() for value in values}
    for yes, no in words.FLAGS.items():
        if seen and seen <= {yes, no}:
            in_lower_case = f"lower({quoted(column)}) = '{yes}'"
            condition = condition_of(log, column, yes) if yes.isdigit() else in_lower_case
            return Guess("delete_when", condition, f"`{column}` is {yes} or {no}")
    has_nulls = len(log.values(column)) < len(log.rows)
    return Guess(
        "delete_when",
        None,
        f"{describe_values(column, values)}: this is not understood",
        is_sure=False,
        candidates=(
            *([f"{quoted(column)} is not null"] if has_nulls else []),
            *(condition_of(log, column, value) for value in values[:5]),
        ),
    )


def delete_of_operation(log: Log, column: str) -> Guess:
    """The condition of a delete, from the values of an operation. A number is not understood."""
    values = texts_of(log, column)
    deletes = among(values, words.DELETES)
    known = words.OPERATIONS - words.OLD_ROWS
    unknown = [value for value in values if value.lower() not in known]
    seen = describe_values(column, values)
    if not deletes and not unknown and (deletes := delete_beside(values)):
        seen += "; the sample has no delete"
    if not deletes or unknown:
        why = f"{seen}: {', '.join(unknown[:5]) or 'nothing'} is not understood"
        why += advise_on_old_rows(values)
        candidates = tuple(condition_of(log, column, one) for one in (deletes or unknown)[:5])
        condition = equals(column, deletes) if deletes else None
        return Guess("delete_when", condition, why, is_sure=False, candidates=candidates)
    return Guess("delete_when", equals(column, deletes), seen)


def delete_beside(values: list[str]) -> list[str]:
    """How the source writes a delete, from its upserts. Empty if they do not tell.

    Example:
        >>> delete_beside(["I", "U"]), delete_beside(["insert", "truncate"]), delete_beside(["set"])
        (['D'], ['delete'], [])
    """
    upserts = among(values, set(words.DELETE_BESIDE))
    if not upserts:
        return []
    delete = words.DELETE_BESIDE[upserts[-1].lower()]
    return [delete.upper() if upserts[-1].isupper() else delete]


def advise_on_old_rows(values: list[str]) -> str:
    """Say what to do if the log has the rows before updates. Empty if it has none.

    Example:
        >>> print(advise_on_old_rows(["insert", "update_before"])[:41])
        ; rows with update_before are no commands
    """
    old_rows = among(values, words.OLD_ROWS)
    if not old_rows:
        return ""
    return (
        f"; rows with {', '.join(old_rows)} are no commands: make a model without these rows, and"
        " give it as LOG"
    )


def among(values: list[str], known: set[str]) -> list[str]:
    """The values that are known words, in upper or lower case."""
    return [value for value in values if value.lower() in known]


def texts_of(log: Log, column: str) -> list[str]:
    """The different values of a column, as sorted texts."""
    return sorted(set(map(str, log.values(column))))


def describe_values(column: str, values: list[str]) -> str:
    """Say which values a column has."""
    return f"`{column}` is {', '.join(values[:8]) or 'null'}"


def condition_of(log: Log, column: str, value: str) -> str:
    """The condition that a column has a value. Only a number is not in quotes."""
    if re.match(r"(tinyint|smallint|int|bigint|float|double|decimal)\b", log.types[column]):
        return f"{quoted(column)} = {value}"
    return equals(column, [value])


def equals(column: str, values: list[str]) -> str:
    """The condition that a column of texts has one of some values."""
    name, texts = quoted(column), [quoted_text(value) for value in values]
    return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in ({', '.join(texts)})"


def guess_truncate_when(facts: Facts) -> Guess:
    """The condition of a truncate of the whole table."""
    log = facts.log
    named = log.named(words.OPERATION)
    for column in named:
        if truncates := among(texts_of(log, column), words.TRUNCATES):
            return Guess("truncate_when", equals(column, truncates), f"`{column}` has it")
    found = None if named else operation_of_values(log)
    if found and (truncates := among(texts_of(log, found), words.TRUNCATES)):
        condition = equals(found, truncates)
        why = f"no column is called op or the like, but `{found}` has it"
        candidates = (condition, "none")
        return Guess("truncate_when", condition, why, is_sure=False, candidates=candidates)
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
        *(name for name in log.types if mentions(name, facts["truncate_when"])),
        *(name for name in log.types for one in facts["sequence_by"] or () if mentions(name, one)),
        *(name for name in log.types if log.is_of_change(name) or name.startswith("_")),
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
    warnings += warn_of_digits(types, declared)
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
    types = {**json_types(list(facts.rows), UNAVAILABLE), **declared_types(facts)}
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


def typed_columns(facts: Facts) -> dict[str, str]:
    """The columns of the collection with their types, the key first."""
    types = row_types(facts)
    return {**{name: types[name] for name in facts["key"]}, **facts["columns"]}


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
