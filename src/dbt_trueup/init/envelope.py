"""Guesses in what form the log has its changes, and where its messages are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import UsageError
from dbt_trueup.plural import count

from . import words
from .facts import Guess, share
from .key import key_in_extracts
from .log import hashable, quoted, quoted_text, tick_expression
from .messages import READERS, keys_of, read_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Facts
    from .log import Log

ENVELOPES = ("plain", *READERS, "snapshots")

KEPT = 0.5
"""Full extracts have at least this share of the keys of the extract before."""

MESSAGES = ("value", "payload", "data", "body", "message", "full_document", "record_content")
"""What a column with whole messages is called."""

OLD_KEY = "__debezium.oldkey"
"""The header with the key before a change of key."""


def guess_envelope(facts: Facts) -> Guess:
    """In what form the log has its changes."""
    log = facts.log
    if not log.rows:
        return Guess("envelope", "plain", "the log is empty", is_sure=False, candidates=ENVELOPES)
    for column, messages in log.json_columns.items():
        for name in READERS:
            found = len(read_messages(log, name, column, None))
            if found * 2 > sum(message is not None for message in messages):
                why = f"{share(found, len(messages), 'row')} have a message of it in `{column}`"
                return Guess("envelope", name, why)
    if column := next((one for one in log.json_columns if words.plain(one) in MESSAGES), ""):
        why = f"`{column}` has JSON objects of no known envelope: read them with trueup.parse_json"
        return Guess("envelope", "plain", why, is_sure=False, candidates=ENVELOPES)
    extracts = [] if facts.marks else extract_columns(log)
    if extracts:
        return guess_extracts(facts, extracts[0])
    tool = words.tool_of(list(log.columns))
    why = "a row is one change, in columns of its own" + (f", as {tool} writes it" if tool else "")
    # Salesforce writes only the fields that changed.
    partial = "an update has nulls for unchanged fields: add ignore_null_updates=true to the model"
    warnings = (partial,) if tool == "Salesforce" else ()
    return Guess("envelope", "plain", why, warnings=warnings)


def guess_extracts(facts: Facts, extract: str) -> Guess:
    """Whether a table has full extracts, or is an incremental load with a column like theirs.

    If an incremental load is read as full extracts, each key that the next load does not have is
    deleted. So full extracts are sure only if nothing speaks against them. In doubt the form that
    deletes nothing is the better one.
    """
    log, key = facts.log, key_in_extracts(facts, extract)
    kept = least_kept(log, extract, key) if key else None
    of_changes = (words.COMMIT, words.POSITION, words.CHANGED, words.OFFSET)
    changes = dict.fromkeys(name for pattern in of_changes for name in log.named(pattern))
    by_names = [f"`{name}` is about a single change" for name in changes]
    if words.is_of_arrival(extract):
        by_names.append(f"`{extract}` may only say when a row arrived")
    by_keys = []
    if key is None:
        by_keys.append("no columns are a key of each extract")
    elif kept is None:
        by_keys.append("the sample has only one extract")
    elif kept < KEPT:
        by_keys.append(
            f"an extract has only {kept:.0%} of the keys ({', '.join(key)}) of the one before"
        )
    found = count(len(set(log.values(extract))), "value")
    why = f"no column looks like a delete, and `{extract}` has {found}"
    if kept is not None and not by_names + by_keys:
        why += f"; each extract has {kept:.0%} or more of the keys of the one before"
        return Guess("envelope", "snapshots", why)
    is_likely = not by_names and (kept is None or kept >= KEPT)
    forms = ("snapshots", "plain") if is_likely else ("plain", "snapshots")
    why += f"; against full extracts: {', '.join(by_names + by_keys)}"
    return Guess("envelope", forms[0], why, is_sure=False, candidates=forms)


def least_kept(log: Log, extract: str, key: Sequence[str]) -> float | None:
    """The least share of the keys of an extract that the next extract has, too.

    None if the sample has only one extract.
    """
    keys: dict[Any, set[tuple[Any, ...]]] = {value: set() for value in sorted(log.values(extract))}
    for row in log.rows:
        if row[extract] is not None:
            keys[row[extract]].add(tuple(hashable(row[name]) for name in key))
    shares = (len(one & after) / len(one) for one, after in pairwise(keys.values()))
    return min(shares, default=None)


def extract_columns(log: Log) -> list[str]:
    """The columns that may say to which full extract a row belongs, the best first."""
    columns = [name for name in log.named(words.EXTRACT) if tick_expression(log, name)]
    return sorted(columns, key=words.is_of_arrival)


def guess_extract(facts: Facts) -> Guess:
    """The column that says to which extract a row belongs."""
    log, columns = facts.log, extract_columns(facts.log)
    if not columns:
        ticks = [name for name in log.types if tick_expression(log, name)]
        why = "no column is called snapshot, extract or the like"
        return Guess("extract", None, why, is_sure=False, candidates=tuple(ticks))
    why = f"`{columns[0]}`: {count(len(set(log.values(columns[0]))), 'extract')} in the sample"
    sure = [name for name in columns if not words.is_of_arrival(name)]
    if not sure:
        why += "; it may only say when a row arrived"
    return Guess("extract", columns[0], why, len(sure) == 1, tuple(columns))


def guess_value(facts: Facts) -> Guess:
    """The column with the messages."""
    log, envelope = facts.log, facts["envelope"]
    found = {name: len(read_messages(log, envelope, name, None)) for name in log.json_columns}
    if not found or not max(found.values()):
        message = (
            f"--envelope {envelope} needs a column with its messages in JSON. The log has only:"
            f" {', '.join(log.types)}. Name another envelope"
        )
        raise UsageError(message)
    column = max(found, key=lambda name: found[name])
    whole = (
        sum(row[column] is not None for row in log.rows) if column in log.types else len(log.rows)
    )
    others = whole - found[column]
    warning = f"{count(others, 'message')} in `{column}` cannot be read: each becomes an error row"
    return Guess(
        "value",
        column,
        f"{share(found[column], whole, 'message')} can be read",
        warnings=(warning,) if others else (),
    )


def guess_message_key(facts: Facts) -> Guess:
    """The column with the keys of the messages, in JSON."""
    value, log = facts["value"], facts.log
    changes = read_messages(log, facts["envelope"], value, None)
    for column, kind in log.types.items():
        if column == value or kind not in ("string", "binary"):
            continue
        keys = keys_of(log, column)
        fits = [
            isinstance(keys[one.place], list)
            or {name.removeprefix("pk.") for name in keys[one.place]} - {"database", "table"}
            <= set(one.row)
            for one in changes
            if one.row and isinstance(keys[one.place], dict | list)
        ]
        if fits and (column in ("key", "kafka_key") or sum(fits) * 2 > len(fits)):
            return Guess(
                "message_key", column, f"JSON with columns of the row in {sum(fits):,} rows"
            )
    return Guess("message_key", None, "no column has JSON with columns of the row")


def guess_old_key(facts: Facts) -> Guess:
    """The header with the key that a row had before, for Debezium."""
    for column in facts.log.types:
        headers = [
            one for value in facts.log.values(column) if isinstance(value, list) for one in value
        ]
        found = sum(isinstance(one, dict) and one.get("key") == OLD_KEY for one in headers)
        if found:
            name = quoted(column)
            expression = f"get(filter({name}, header -> header.key = '{OLD_KEY}'), 0).value"
            why = f"`{column}` has it in {count(found, 'message')}, so keys change"
            return Guess("old_key", expression, why)
    return Guess("old_key", None, "no message has the header")


def tables_of(facts: Facts) -> list[str]:
    """The source table of each message, or of each row that names one."""
    if facts.is_decoded:
        return [change.table for change in facts.changes if change.table]
    column = table_column(facts)
    return facts.log.values(column) if column else []


def table_column(facts: Facts) -> str | None:
    """The column that names the table of a row, in a log with the changes of several tables."""
    found = [
        name
        for name in facts.log.named(words.TABLE)
        if facts.log.types[name] == "string" and (facts.marks or words.is_of_tool(name))
    ]
    return next((name for name in found if len({*facts.log.values(name)}) > 1), None)


def guess_table(facts: Facts) -> Guess:
    """The source table whose changes are the commands."""
    tables = Counter(tables_of(facts))
    named = [table for table in tables if table.split(".")[-1] in (facts.name, facts.log.name)]
    why = ", ".join(f"{table} ({count(found, 'change')})" for table, found in tables.items())
    if len(tables) <= 1:
        only = next(iter(tables), None)
        value = only if facts["envelope"] == "wal2json" else None
        return Guess(
            "table", value, f"all changes are of {only}" if only else "no change names one"
        )
    if len(named) == 1:
        return Guess("table", named[0], f"it has the name of the collection; the log has {why}")
    candidates = (*tables, "all")
    return Guess("table", None, f"the log has {why}", is_sure=False, candidates=candidates)


def read_changes(facts: Facts) -> None:
    """Decode the messages, once their columns are known."""
    facts.changes = read_messages(
        facts.log, facts["envelope"], facts["value"], facts["message_key"]
    )


def keep_table(facts: Facts) -> None:
    """Leave out the changes of other tables, once the table is known."""
    if not facts["table"]:
        return
    facts.changes = [one for one in facts.changes if one.table == facts["table"]]
    if not facts.is_decoded and (column := table_column(facts)):
        rows = [row for row in facts.log.rows if row[column] == facts["table"]]
        facts.log = replace(facts.log, rows=rows)
        facts.others = f"not {facts.log.sql(column)} <=> {quoted_text(facts['table'])}"
