"""Guesses which rows delete, truncate or are no commands.

Each column that looks like a delete, by its name or its values, is a mark. The first mark that is
understood decides. All others must agree with it on every row of the sample. Otherwise the guess
is not sure and names them: a delete that nobody sees is the worst error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import words
from .facts import Guess, Mark, share
from .log import INTEGERS, NUMBER, TIMESTAMP, all_match, quoted_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .facts import Facts
    from .log import Log, Row

SQL_SERVER = {"1": "delete", "2": "insert", "3": "before", "4": "update"}
"""The codes of `__$operation`."""

FEW = 8
"""How many values of a column are shown. A column of operations has no more."""

FEW_WORDS = 3
"""How many words of a value are read. A longer text is prose."""


def find_marks(log: Log) -> list[Mark]:
    """The columns that look like a delete, the one that decides first."""
    marks = [mark for name in log.types if (mark := read_mark(log, name))]
    if any(mark.is_operation and mark.condition for mark in marks):
        marks = [mark for mark in marks if not mark.is_by_value]
    return sorted(marks, key=lambda one: (one.condition is None, one.skip is None, one.rank))


def read_mark(log: Log, name: str) -> Mark | None:
    """Read a column as a mark; None if it does not look like one."""
    plain, kind, values = words.plain(name), log.types[name], texts_of(log, name)
    is_operation = bool(words.OPERATION.search(plain))
    is_time = kind.startswith(("timestamp", "date")) or bool(words.TIME.search(plain))
    is_no_mark = bool(words.NO_MARK.search(plain)) and kind != "boolean"
    if is_operation and not (is_time or is_no_mark):
        meaning = SQL_SERVER.get if name == "__$operation" else str.lower
        is_readable = kind == "string" or name == "__$operation"
        made = mark_of_operation(log, name, values, meaning) if is_readable else None
        return made or unknown(log, name, values)
    is_named_active = words.is_of_tool(name) or "current" in plain or kind == "boolean"
    if words.ACTIVE.search(plain) and is_named_active and name not in log.json_columns:
        is_flag = kind == "boolean"
        ends = (f"not {log.sql(name)}",) if is_flag else candidates_of(log, name, values)
        if plain.endswith("archived"):
            ends = (log.sql(name),)
        return Mark(name, f"`{name}` may end a row", candidates=ends)
    if words.DELETED.search(plain) and not is_operation:
        if is_no_mark:
            return unknown(log, name, values) if values else None
        return mark_of_time(log, name) if is_time else mark_of_flag(log, name, values)
    is_number = kind in INTEGERS or (kind == "string" and "".join(values).isdecimal())
    is_code = is_number and words.CODE.search(plain) and 1 < len(values) <= FEW
    if is_code and max(map(int, values)) <= FEW:
        return replace(unknown(log, name, values), is_by_value=True)
    is_text = kind == "string" and name not in log.json_columns and not is_time
    return (
        mark_of_sign(log, name, values)
        or mark_of_version(log, name, values)
        or (mark_of_values(log, name, values) if is_text else None)
    )


def mark_of_values(log: Log, name: str, values: list[str]) -> Mark | None:
    """Read a column of another name as a mark, by its values.

    Of single letters only i and u hardly mean anything else.
    """
    found, plain = {value.lower() for value in values}, words.plain(name)
    # `OrderDeleted` beside other values may be a delete, too.
    parts = {part for value in values for part in words.plain(value).split("_")[:FEW_WORDS]}
    has_word = any(map(is_word, parts & words.DELETES)) and len(values) <= FEW
    if has_word and not found <= words.OPERATIONS:
        return replace(unknown(log, name, values), is_by_value=True)
    if not found <= words.OPERATIONS or not (found & {"i", "u"} or any(map(is_word, found))):
        return None
    is_clear = len(found & words.CLEAR) > 1 and bool(words.MAYBE_OPERATION.search(plain))
    if is_clear and found & words.DELETES:
        return mark_of_operation(log, name, values, rank=3)
    kinds = (words.DELETES, words.TRUNCATES, words.OLD_IMAGES, words.UPSERTS)
    has = [bool(found & kind) for kind in kinds]
    if not any(has[:-1]) or sum(has) == 1:
        return None
    made = mark_of_operation(log, name, values)
    why = f"`{name}` has the values of an operation: {', '.join(values[:FEW])}"
    deletes = (made.condition,) if made and made.condition else ()
    truncate = made.truncate if made else None
    return Mark(name, why, truncate=truncate, candidates=deletes, is_by_value=True)


def mark_of_sign(log: Log, name: str, values: list[str]) -> Mark | None:
    """The mark of a number that is 1 or -1: how often the row is there."""
    is_sign = {"-1"} < {*values} <= {"-1", "0", "1"} or (
        {*values} <= {"-1", "1"} and words.SIGN.search(words.plain(name))
    )
    if not (values and is_sign and log.types[name] in INTEGERS):
        return None
    why = f"`{name}` is {', '.join(values)}: -1 may take a row away"
    return Mark(name, why, candidates=(f"{log.sql(name)} = -1",), is_by_value=True)


def mark_of_version(log: Log, name: str, values: list[str]) -> Mark | None:
    """The mark of the end of a version of a row. A version that no other one follows was deleted.

    Each version must have its begin, too, and one must begin where another one ends. Else it is a
    value, such as the last day of a contract.
    """
    end = words.VALID_TO.fullmatch(words.plain(name))
    begins = [
        one
        for one in log.types
        if end and (found := words.VALID_FROM.fullmatch(words.plain(one))) and found[1] == end[1]
    ]
    if not begins or not {*values} & {*texts_of(log, begins[0])}:
        return None
    last = max(values)
    is_open = f"{log.sql(name)} < '{last[:4]}-01-01'" if last[:2] in ("99", "29") else ""
    condition = is_open or f"{log.sql(name)} is not null"
    why = f"a version begins with `{begins[0]}` and ends with `{name}`: the last one may be deleted"
    return Mark(name, why, candidates=(condition,), is_by_value=True)


def is_word(text: str) -> bool:
    """Whether a text has more than one letter."""
    return len(text) > 1


def mark_of_operation(
    log: Log,
    name: str,
    values: list[str],
    meaning: Callable[[str], str | None] = str.lower,
    rank: int = 0,
) -> Mark | None:
    """The mark of a column that says what a change does. None if a value is not understood."""
    meant = {value: meaning(value) or "" for value in values}
    if not values or not set(meant.values()) <= words.OPERATIONS:
        return None
    deletes = [value for value, one in meant.items() if one in words.DELETES]
    olds = [value for value, one in meant.items() if one in words.OLD_IMAGES]
    truncates = [value for value, one in meant.items() if one in words.TRUNCATES]
    why = f"`{name}` is {', '.join(values[:FEW])}"
    if meaning is not str.lower:
        deletes, olds = ["1"], ["3"]
    if not deletes:
        deletes = beside(values, words.BESIDE)
        why += "; the sample has no delete" * bool(deletes)
    if not olds:
        olds = beside(values, words.BEFORE)
    if not olds and words.plain(name) == "change_type" and "_commit_version" in log.types:
        olds = ["update_preimage"]
    truncate = equals(log, name, truncates) if truncates else None
    if not deletes:
        return Mark(name, f"{why}: nothing of it is a delete", truncate=truncate, is_operation=True)
    skip = equals(log, name, olds) if olds else None
    is_old = one_of(name, olds)
    if is_update := next((one for one in log.types if one.lower() == "metadata$isupdate"), None):
        # In a stream of Snowflake an update is a delete and an insert.
        skip = f"{equals(log, name, deletes)} and {log.sql(is_update)}"
        is_old = both(one_of(name, deletes), lambda row: bool(row[is_update]))
    return Mark(
        name,
        why,
        equals(log, name, deletes),
        one_of(name, deletes),
        skip,
        is_old,
        truncate,
        rank=rank,
        is_operation=True,
    )


def mark_of_flag(log: Log, name: str, values: list[str]) -> Mark:
    """The mark of a column that is true or false in some form."""
    if log.types[name] == "boolean":
        number = sum(map(bool, log.values(name)))
        why = f"`{name}` is true in {share(number, len(log.rows), 'row')}"
        return Mark(name, why, log.sql(name), lambda row: bool(row[name]), rank=1)
    seen = {value.lower() for value in values}
    fitting = (yes for yes, no in words.FLAGS.items() if seen and seen <= {yes, no})
    if yes := next(fitting, None):
        condition = f"lower({log.sql(name)}) = '{yes}'"
        if all(value == value.lower() for value in values):
            condition = equals(log, name, [yes])
        elif all(value == value.upper() for value in values):
            condition = equals(log, name, [yes.upper()])
        why = f"`{name}` is {yes} or {words.FLAGS[yes]}"
        is_set = one_of(name, [yes, yes.upper(), yes.title()])
        return Mark(name, why, condition, is_set, rank=1)
    is_time = bool(values) and is_of_times(log, name)
    return mark_of_time(log, name) if is_time else unknown(log, name, values)


def mark_of_time(log: Log, name: str) -> Mark:
    """The mark of a column that has the time of the delete."""
    number = len(log.values(name))
    why = f"{share(number, len(log.rows), 'row')} have `{name}`"
    condition = f"{log.sql(name)} is not null"
    if log.types[name] in INTEGERS and 0 in log.values(name) and is_of_times(log, name):
        return Mark(name, why, f"{log.sql(name)} > 0", lambda row: (row[name] or 0) > 0, rank=2)
    if (number and number == len(log.rows)) or (not is_of_times(log, name) and number):
        # A time in the far future, or a zero, may say that the row still exists.
        return Mark(name, f"{why}, which may not delete all of them", candidates=(condition,))
    return Mark(name, why, condition, lambda row: row[name] is not None, rank=2)


def is_of_times(log: Log, name: str) -> bool:
    """Whether a column has times, as a type of its own, as texts, or as large numbers."""
    kind, values = log.types[name], log.values(name)
    if kind in INTEGERS:
        return all(value == 0 or value > 10**9 for value in values)
    return kind.startswith(("timestamp", "date")) or (
        kind == "string"
        and all(all_match(TIMESTAMP, [one]) or len(str(one)) == len("2026-01-05") for one in values)
    )


def unknown(log: Log, name: str, values: list[str]) -> Mark:
    """The mark of a column that is named like a delete, and that nobody understands."""
    strange = [value for value in values if value.lower() not in words.OPERATIONS]
    if not 0 < len(strange) < len(values):
        strange = ["this"]
    what = f"{' and '.join(strange[:FEW])} {'is' if len(strange) == 1 else 'are'} not understood"
    why = f"`{name}` is {', '.join(values[:FEW]) or 'null'}: {what}"
    has_nulls = len(log.values(name)) < len(log.rows)
    filled = [f"{log.sql(name)} is not null"] if has_nulls else []
    return Mark(name, why, candidates=(*filled, *candidates_of(log, name, values)))


def candidates_of(log: Log, name: str, values: list[str]) -> tuple[str, ...]:
    """The conditions that may be that of a delete, a known word for a delete first."""
    deletes = [value for value in values if value.lower() in words.DELETES]
    return tuple(equals(log, name, [value]) for value in (deletes or values)[:FEW])


def texts_of(log: Log, name: str) -> list[str]:
    """The different values of a column, as sorted texts."""
    return sorted(set(map(str, log.values(name))))


def beside(values: list[str], other: dict[str, str]) -> list[str]:
    """How the source writes another operation, from those in the sample.

    Example:
        >>> beside(["I", "U"], words.BESIDE), beside(["UPDATE_AFTER"], words.BEFORE)
        (['D'], ['UPDATE_BEFORE'])
    """
    known = [value for value in values if value.lower() in other]
    if not known:
        return []
    found = other[known[-1].lower()]
    return [found.upper() if known[-1].isupper() else found]


def one_of(name: str, values: list[str]) -> Callable[[Row], bool]:
    """A function that tells if a row has one of some values."""
    return lambda row: row[name] is not None and str(row[name]) in values


def both(one: Callable[[Row], bool], other: Callable[[Row], bool]) -> Callable[[Row], bool]:
    """A function that tells if both functions do."""
    return lambda row: one(row) and other(row)


def equals(log: Log, name: str, values: list[str]) -> str:
    """The condition that a column has one of some values. Only a number is not in quotes."""
    is_number = NUMBER.match(log.types[name])
    texts = [value if is_number else quoted_text(value) for value in values]
    return (
        f"{log.sql(name)} = {texts[0]}"
        if len(texts) == 1
        else f"{log.sql(name)} in ({', '.join(texts)})"
    )


def guess_delete_when(facts: Facts) -> Guess:
    """The condition of a delete."""
    if facts["envelope"] == "snapshots":
        return Guess("delete_when", "is_absent", "the next extract does not have the key")
    marks = facts.marks
    if not marks and (empty := columns_of_tombstones(facts)):
        condition = " and ".join(f"{facts.log.sql(name)} is null" for name in empty)
        why = "a message without any value may be a tombstone, which deletes its key"
        return Guess("delete_when", condition, why, is_sure=False, candidates=(condition, "none"))
    if not marks:
        why = "no column and no field of a struct looks like a delete: no command deletes"
        return Guess("delete_when", None, why)
    first, others = marks[0], marks[1:]
    if first.condition is None:
        why = "; ".join(one.why for one in marks)
        candidates = dict.fromkeys([*(one for mark in marks for one in mark.candidates), "none"])
        value = first.candidates[0] if len(first.candidates) == 1 else None
        return Guess("delete_when", value, why, is_sure=False, candidates=tuple(candidates))
    against = [one for one in others if not agree(facts, first, one)]
    why = first.why
    if agreeing := [f"`{one.name}`" for one in others if one not in against]:
        why += f"; {', '.join(agreeing)} says the same"
    if against:
        why += "; but " + "; ".join(f"{one.why}, which says something else" for one in against)
    conditions = [one.condition for one in (first, *against) if one.condition]
    return Guess("delete_when", first.condition, why, not against, tuple(conditions))


def columns_of_tombstones(facts: Facts) -> list[str]:
    """The columns of the values, if the log is a topic and some rows have nothing in them."""
    names = [
        name
        for name in facts.own_columns
        if name not in (facts["key"] or ())
        and words.plain(name) != "key"
        and not words.CHANGED.search(words.plain(name))
    ]
    is_empty = [all(row[name] is None for name in names) for row in facts.log.rows]
    return names if facts["place"] and any(is_empty) and not all(is_empty) else []


def agree(facts: Facts, first: Mark, other: Mark) -> bool:
    """Whether another mark says the same as the first on each row of the sample.

    Marks that both see no delete prove nothing, unless a tool has added the other one.
    """
    rows = list(commands(facts.log.rows, facts.marks))
    if other.condition is None:
        # It must be filled only where the first one deletes, such as `deleted_by`.
        return all(row[other.name] is None or first.is_delete(row) for row in rows) and (
            "is not null" in " ".join(other.candidates)
        )
    said = [first.is_delete(row) for row in rows]
    if said != [other.is_delete(row) for row in rows]:
        return False
    return any(said) or words.is_of_tool(other.name)


def commands(rows: Iterable[Row], marks: list[Mark]) -> Iterable[Row]:
    """The rows that are commands: not those from before an update."""
    return (row for row in rows if not (marks and marks[0].is_old(row)))


def guess_skip_when(facts: Facts) -> Guess:
    """The condition of a row that is no command."""
    first, number = next(iter(facts.marks), None), len(facts.log.rows)
    conditions, reasons = [], []
    if facts.others:
        conditions.append(facts.others)
        reasons.append(f"rows that are not of {facts['table']}")
    if first and first.skip:
        conditions.append(first.skip)
        olds = sum(map(first.is_old, facts.log.rows))
        reasons.append(f"rows from before an update: {share(olds, number, 'row')}")
    if not conditions:
        return Guess("skip_when", None, "no rows from before updates")
    return Guess("skip_when", " or ".join(conditions), "; ".join(reasons))


def guess_truncate_when(facts: Facts) -> Guess:
    """The condition of a truncate of the whole table."""
    for mark in facts.marks:
        if mark.truncate and mark.condition:
            return Guess("truncate_when", mark.truncate, f"`{mark.name}` has it")
        if mark.truncate:
            candidates = (mark.truncate, "none")
            return Guess(
                "truncate_when", mark.truncate, mark.why, is_sure=False, candidates=candidates
            )
    return Guess("truncate_when", None, "the sample has no truncate")


def is_snapshot_row(facts: Facts, row: dict[str, Any]) -> bool:
    """Whether the first load of a connector has read a row."""
    marks = [mark for mark in facts.marks if mark.is_operation]
    return any(str(row[mark.name]).lower() in words.SNAPSHOTS for mark in marks)
