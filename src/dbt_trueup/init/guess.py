"""Makes all guesses of a log, one after the other.

An answer of the user replaces a guess, and all later guesses follow it. Nothing here asks dbt or
the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import UsageError
from dbt_trueup.lint.source import split_list

from . import columns, deletes, envelope, key, order
from .facts import Facts, Guess
from .log import tick_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .log import Log

LISTS = ("key", "place", "sequence_by", "columns")
"""The answers that are lists."""

NEEDED = {
    "key": "a key",
    "sequence_by": "an order",
    "columns": "value columns",
    "extract": "an extract",
}
"""The answers that must not be `none`, each with its name in the error."""

TIES = ("error", "fail", "greatest", "prefer_delete", "prefer_upsert")
"""The values of the option `ties`."""

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
    facts = Facts(log, name, marks=deletes.find_marks(log))
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
        yield "message_key", envelope.guess_message_key
        if facts["envelope"] == "debezium":
            yield "old_key", envelope.guess_old_key
        envelope.read_changes(facts)
    if facts["envelope"] != "snapshots":
        yield "table", envelope.guess_table
        envelope.keep_table(facts)
    if facts["envelope"] == "snapshots":
        yield "extract", envelope.guess_extract
    else:
        yield "place", order.guess_place
    yield "key", key.guess_key
    if answers.get("ts"):
        yield "ts", order.guess_ts
    if not facts.is_decoded:
        yield "delete_when", deletes.guess_delete_when
        if facts["envelope"] == "plain":
            yield "skip_when", deletes.guess_skip_when
            yield "truncate_when", deletes.guess_truncate_when
    yield "ties", order.guess_ties
    yield "sequence_by", order.guess_sequence_by
    yield "columns", columns.guess_columns


def answered(facts: Facts, field: str, answers: Mapping[str, Any]) -> Guess:
    """Take the answer of the user for a guess, if the log allows it."""
    given, option = answers[field], f"--{field.replace('_', '-')}"
    if given == []:
        message = f"{option} must have at least one item; got an empty list"
        raise UsageError(message)
    if given == NONE or (field, given) == ("table", "all"):
        # Messages carry an order.
        if field in NEEDED and not (field == "sequence_by" and facts.is_decoded):
            message = f"{option} must not be {NONE}, because every collection has {NEEDED[field]}"
            raise UsageError(message)
        return Guess(field, None, "given")
    if field == "columns":
        return answered_columns(facts, option, given)
    if field in ("key", "place", "extract"):
        names = given if isinstance(given, list) else [given]
        require_columns(option, names, facts.row_columns if field == "key" else [*facts.log.types])
        require_distinct(option, names)
    if field == "key":
        why, warnings = f"given; {key.describe(facts, given)}", key.warn_of_nulls(facts, given)
        return Guess(field, given, why, warnings=warnings)
    if field == "table":
        require_table(facts, given)
    elif field == "sequence_by":
        given = [order_of(facts.log, one) for one in given]
    elif field == "ts" and given in facts.log.types:
        given = tick_of_column(facts.log, given)
    return Guess(field, given, "given")


def answered_columns(facts: Facts, option: str, given: list[str]) -> Guess:
    """Take the value columns that a user has named."""
    made = columns.guess_columns(facts)
    types = {**made.value, **facts.log.columns} if not facts.is_decoded else made.value
    names = [name for name in given if name not in (facts["key"] or ())]
    require_columns(option, names, list(types))
    if not names:
        message = f"{option} must name a column that is not in the key; got {', '.join(given)}"
        raise UsageError(message)
    chosen = {name: types[name] for name in names}
    return Guess("columns", chosen, "given", warnings=made.warnings)


def tick_of_column(log: Log, column: str) -> str:
    """Read a column as a tick, or raise."""
    expression = tick_expression(log, column)
    if expression is None:
        message = f"--ts must be an integer or a time; got {column} of type {log.types[column]}"
        raise UsageError(message)
    return expression


def order_of(log: Log, given: str) -> str:
    """The order that a user has named: an expression, or a column that may need a cast."""
    return order.order_expression(log, given) or log.sql(given) if given in log.types else given


def require_effect(facts: Facts, answers: Mapping[str, Any]) -> None:
    """Raise if there is an answer to a question that this log does not have."""
    if unused := [field for field in answers if field not in facts.guesses]:
        option = f"--{unused[0].replace('_', '-')}"
        message = f"{option} has no effect with --envelope {facts['envelope']}: leave it out"
        raise UsageError(message)


def require_table(facts: Facts, table: str) -> None:
    """Raise unless a change is of a table."""
    tables = list(dict.fromkeys(envelope.tables_of(facts)))
    if table not in tables:
        message = (
            f"--table must be a table of the log: {', '.join(tables) or 'it names none'}; got"
            f" {table}: no sampled change is of it"
        )
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
