"""Makes all guesses of a log, one after the other.

An answer of the user replaces a guess, and all later guesses follow it. Nothing here asks dbt or
the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import UsageError
from dbt_trueup.lint.source import split_list

from . import columns, envelope, key, sequence
from .facts import Facts, Guess
from .log import tick_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .log import Log

LISTS = ("key", "reclock", "sequence_by", "columns")
"""The answers that are lists."""

NEEDED = {"key": "a key", "ts": "a tick", "sequence_by": "an order", "columns": "value columns"}
"""The answers that must not be `none`, each with its name in the error. See `is_needed`."""

RECLOCK_COLUMNS = ("partition", "offset")
"""The meaning of the two columns of `--reclock`, in order."""

NONE = "none"
"""The answer that a collection has nothing of this kind."""


def guess(log: Log, name: str, answers: Mapping[str, Any]) -> Facts:
    """Guess what a log is.

    Args:
        log: Its columns and a sample.
        name: The name of the collection.
        answers: What the user has said, by field. It is not guessed.

    Returns:
        All guesses in sequence. They end at the table if it is not known: all others are of it.

    Raises:
        UsageError: An answer has no effect, or names what the log does not have.
    """
    facts = Facts(log, name)
    for field, step in steps(facts, answers):
        made = answered(facts, field, answers) if answers.get(field) is not None else step(facts)
        facts.guesses[field] = made
        if field == "table" and not made.is_sure:
            return facts
    if facts.guesses["envelope"].is_sure:
        require_effect(facts, answers)
    return facts


def read_answer(field: str, text: str) -> Any:
    """Read an answer: a text, or a list for the fields that are lists.

    Example:
        >>> read_answer("key", "a, b"), read_answer("sequence_by", "coalesce(a, int(b)), c")
        (['a', 'b'], ['coalesce(a, int(b))', 'c'])
    """
    if field not in LISTS or text == NONE:
        return text
    return split_list(text)


def steps(
    facts: Facts, answers: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[Facts], Guess]]]:
    """The fields that a log of this envelope has, each with the function that guesses it."""
    yield "envelope", envelope.guess_envelope
    if facts.is_decoded:
        yield "value", envelope.guess_value
        if facts["envelope"] == "debezium":
            yield "message_key", envelope.guess_message_key
            yield "old_key", envelope.guess_old_key
        envelope.read_changes(facts)
        yield "table", envelope.guess_table_of_messages
        envelope.keep_table(facts)
    if facts["envelope"] == "snapshots":
        yield "ts", sequence.guess_ts
        yield "key", key.guess_key
    else:
        yield "key", key.guess_key
        if not answers.get("ts"):
            yield "reclock", sequence.guess_reclock
        yield "ts", sequence.guess_ts
    yield "sequence_by", sequence.guess_sequence_by
    if not facts.is_decoded:
        yield "delete_when", columns.guess_delete_when
        if facts["envelope"] != "snapshots":
            yield "truncate_when", columns.guess_truncate_when
    yield "columns", columns.guess_columns


def answered(facts: Facts, field: str, answers: Mapping[str, Any]) -> Guess:
    """Take the answer of the user for a guess, if the log allows it."""
    given, option = answers[field], f"--{field.replace('_', '-')}"
    if given == []:
        message = f"{option} must have at least one item; got an empty list"
        raise UsageError(message)
    if given == NONE:
        if is_needed(facts, field):
            message = f"{option} must not be {NONE}, because every collection has {NEEDED[field]}"
            raise UsageError(message)
        return Guess(field, None, "given")
    if field == "ts" and given in facts.log.types:
        given = tick_of_column(facts.log, given)
    if field == "key":
        require_columns(option, given, facts.row_columns)
        require_distinct(option, given)
        return Guess(
            field,
            given,
            f"given; {key.describe(facts, given)}",
            warnings=key.warn_of_nulls(facts, given),
        )
    if field == "table":
        require_table(facts, given)
    if field == "reclock":
        require_columns(option, given, list(facts.log.types))
        require_place(given)
        require_distinct(option, given)
    if field == "columns":
        made = columns.guess_columns(facts)
        types = {**made.value, **facts.log.types} if not facts.is_decoded else made.value
        names = [name for name in given if name not in (facts["key"] or ())]
        require_columns(option, names, list(types))
        if not names:
            message = f"{option} must name a column that is not in the key; got {', '.join(given)}"
            raise UsageError(message)
        return Guess(field, {name: types[name] for name in names}, "given", warnings=made.warnings)
    return Guess(field, given, "given")


def is_needed(facts: Facts, field: str) -> bool:
    """Whether an answer must not be `none`. Messages carry a tick and an order."""
    if field == "sequence_by" and facts["reclock"]:
        return False  # the offset is the order
    return field in NEEDED and not (field in {"ts", "sequence_by"} and facts.is_decoded)


def tick_of_column(log: Log, column: str) -> str:
    """Read a column as a tick, or raise."""
    expression = tick_expression(log, column)
    if expression is None:
        message = f"--ts must be an integer or a time; got {column} of type {log.types[column]}"
        raise UsageError(message)
    return expression


def require_effect(facts: Facts, answers: Mapping[str, Any]) -> None:
    """Raise if there is an answer to a question that this log does not have."""
    if unused := [field for field in answers if field not in facts.guesses]:
        is_beside_ts = (
            unused[0] == "reclock" and answers.get("ts") and facts["envelope"] != "snapshots"
        )
        cause = "--ts" if is_beside_ts else f"--envelope {facts['envelope']}"
        message = f"--{unused[0].replace('_', '-')} has no effect with {cause}: leave it out"
        raise UsageError(message)


def require_table(facts: Facts, table: str) -> None:
    """Raise unless a message is of a table."""
    tables = list(dict.fromkeys(change.table for change in facts.changes if change.table))
    if table not in tables:
        message = (
            f"--table must be a table of the messages: {', '.join(tables) or 'they name none'}; got"
            f" {table}: no sampled message is of it"
        )
        raise UsageError(message)


def require_place(names: list[str]) -> None:
    """Raise unless `reclock` has its two columns."""
    if len(names) != len(RECLOCK_COLUMNS):
        needed = " and the ".join(RECLOCK_COLUMNS)
        message = f"--reclock must name the {needed}; got {', '.join(names)}"
        raise UsageError(message)


def require_columns(option: str, names: list[str], known: list[str]) -> None:
    """Raise unless the log has all columns that an option names."""
    if missing := [name for name in names if name not in known]:
        message = f"{option} must name columns of the log: {', '.join(known)}; got {missing[0]}"
        raise UsageError(message)


def require_distinct(option: str, names: list[str]) -> None:
    """Raise if an option names a column twice."""
    if len({name.lower() for name in names}) < len(names):
        message = f"{option} must name each column once; got {', '.join(names)}"
        raise UsageError(message)
