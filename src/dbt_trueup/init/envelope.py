"""Guesses in what form the log has its changes, and reads the messages of an envelope."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import UsageError
from dbt_trueup.plural import count

from . import words
from .facts import Guess, share
from .key import key_in_extracts
from .log import all_match, hashable, quoted, tick_expression
from .messages import has_change, payload, read_debezium, read_wal2json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Facts
    from .log import Log

ENVELOPES = ("plain", "debezium", "wal2json", "dms", "snapshots")

KEPT = 0.5
"""Full extracts have at least this share of the keys of the extract before."""

OLD_KEY = "__debezium.oldkey"
"""The header with the key before a change of key."""

DMS_SEQUENCE = re.compile(r"\d{35}")
"""The change sequence of AWS DMS."""


def guess_envelope(facts: Facts) -> Guess:
    """In what form the log has its changes."""
    log = facts.log
    if not log.rows:
        return Guess("envelope", "plain", "the log is empty", is_sure=False, candidates=ENVELOPES)
    for column, messages in log.json_columns.items():
        for name, is_one in (("debezium", has_change), ("wal2json", is_of_wal2json)):
            found = sum(map(is_one, messages))
            if found * 2 > sum(message is not None for message in messages):
                why = f"{share(found, len(messages), 'row')} have a message of it in `{column}`"
                return Guess("envelope", name, why)
    if column := next((one for one in log.json_columns if one in ("value", "payload", "data")), ""):
        why = f"`{column}` has JSON objects of no known envelope: read them with trueup.parse_json"
        return Guess("envelope", "plain", why, is_sure=False, candidates=ENVELOPES)
    return guess_table(facts)


def guess_table(facts: Facts) -> Guess:
    """In what form a table without messages has its changes."""
    log = facts.log
    (operation, *_) = [*log.named(words.OPERATION), None]
    sequences = [
        name
        for name, kind in log.types.items()
        if kind == "string" and all_match(DMS_SEQUENCE, log.values(name))
    ]
    if operation and operation.lower() == "op" and operations(log, operation) <= {"I", "U", "D"}:
        full_load = sum(row[operation] is None for row in log.rows)
        if sequences or full_load:
            why = f"`{operation}` has I, U, D" + (
                f", and null in {count(full_load, 'row')} of the full load" if full_load else ""
            )
            return Guess(
                "envelope",
                "dms",
                why + (f"; `{sequences[0]}` is its change sequence" if sequences else ""),
            )
    if extracts := [] if operation else extract_columns(log):
        return guess_extracts(facts, extracts[0])
    return Guess("envelope", "plain", "a row is one change, in columns of its own")


def guess_extracts(facts: Facts, extract: str) -> Guess:
    """Whether a table has full extracts, or is an incremental load with a column like theirs.

    If an incremental load is read as full extracts, each key that the next load does not have is
    deleted. So full extracts are sure only if nothing speaks against them. In doubt the form that
    deletes nothing is the better one.
    """
    key = key_in_extracts(facts, extract)
    kept = least_kept(facts.log, extract, key) if key else None
    by_names, by_keys = against_by_names(facts.log, extract), against_by_keys(key, kept)
    found = count(len(set(facts.log.values(extract))), "value")
    why = f"no column has an operation, and `{extract}` has {found}"
    if kept is not None and not by_names + by_keys:
        why += f"; each extract has {kept:.0%} or more of the keys of the one before"
        return Guess("envelope", "snapshots", why)
    is_likely = not by_names and (kept is None or kept >= KEPT)
    forms = ("snapshots", "plain") if is_likely else ("plain", "snapshots")
    why += f"; against full extracts: {', '.join(by_names + by_keys)}"
    return Guess("envelope", forms[0], why, is_sure=False, candidates=forms)


def against_by_names(log: Log, extract: str) -> list[str]:
    """What the names of columns say against full extracts."""
    of_changes = (words.COMMIT, words.POSITION, words.CHANGED, words.OFFSET)
    names = dict.fromkeys(name for pattern in of_changes for name in log.named(pattern))
    against = [f"`{name}` is about a single change" for name in names]
    if words.is_of_arrival(extract):
        against.append(f"`{extract}` may only say when a row arrived")
    return against


def against_by_keys(key: Sequence[str] | None, kept: float | None) -> list[str]:
    """What the keys of the sampled extracts say against full extracts."""
    if key is None:
        return ["no columns are a key of each extract"]
    if kept is None:
        return ["the sample has only one extract"]
    if kept < KEPT:
        return [f"an extract has only {kept:.0%} of the keys ({', '.join(key)}) of the one before"]
    return []


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


def operations(log: Log, column: str) -> set[Any]:
    """The different values of an operation."""
    return set(map(hashable, log.values(column)))


def extract_columns(log: Log) -> list[str]:
    """The columns that may say to which full extract a row belongs, the best first."""
    columns = [name for name in log.named(words.EXTRACT) if tick_expression(log, name)]
    return sorted(columns, key=words.is_of_arrival)


def is_of_wal2json(message: Any) -> bool:
    """Whether a message is one of wal2json, format version 2."""
    return isinstance(message, dict) and message.get("action") in ("I", "U", "D", "T", "B", "C")


def guess_value(facts: Facts) -> Guess:
    """The column with the messages."""
    is_one = has_change if facts["envelope"] == "debezium" else is_of_wal2json
    found = {name: sum(map(is_one, many)) for name, many in facts.log.json_columns.items()}
    if not found or not max(found.values()):
        message = (
            f"--envelope {facts['envelope']} needs a column with its messages. The log has only:"
            f" {', '.join(facts.log.types)}. Name another envelope"
        )
        raise UsageError(message)
    column = max(found, key=lambda name: found[name])
    whole = len(facts.log.values(column))
    others = whole - found[column]
    warning = f"{count(others, 'message')} in `{column}` cannot be read: each becomes an error row"
    return Guess(
        "value",
        column,
        f"{share(found[column], whole, 'message')} can be read",
        warnings=(warning,) if others and facts["envelope"] == "debezium" else (),
    )


def guess_message_key(facts: Facts) -> Guess:
    """The column with Debezium's keys."""
    messages = facts.log.json_columns[facts["value"]]
    rows = [payload(one).get("after") or {} if has_change(one) else {} for one in messages]
    for column, keys in facts.log.json_columns.items():
        fits = [
            set(payload(one)) <= set(row)
            for one, row in zip(keys, rows, strict=True)
            if row and isinstance(one, dict) and isinstance(payload(one), dict)
        ]
        if column != facts["value"] and fits and sum(fits) * 2 > len(fits):
            return Guess(
                "message_key", column, f"JSON with columns of the row in {len(fits):,} rows"
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


def guess_table_of_messages(facts: Facts) -> Guess:
    """The source table whose messages are the commands."""
    tables = Counter(change.table for change in facts.changes if change.table)
    named = [table for table in tables if table.split(".")[-1] in (facts.name, facts.log.name)]
    why = ", ".join(f"{table} ({count(found, 'message')})" for table, found in tables.items())
    if len(tables) <= 1:
        only = next(iter(tables), None)
        value = only if facts["envelope"] == "wal2json" else None
        return Guess(
            "table", value, f"all messages are of {only}" if only else "messages name none"
        )
    if len(named) == 1:
        return Guess("table", named[0], f"it has the name of the collection; the log has {why}")
    return Guess("table", None, f"the log has {why}", is_sure=False, candidates=tuple(tables))


def read_changes(facts: Facts) -> None:
    """Decode the messages, once their columns are known."""
    if facts["envelope"] == "debezium":
        facts.changes = read_debezium(facts.log, facts["value"], facts["message_key"])
    else:
        facts.changes = read_wal2json(facts.log, facts["value"])


def keep_table(facts: Facts) -> None:
    """Leave out the messages of other tables, once the table is known."""
    if facts["table"]:
        facts.changes = [one for one in facts.changes if one.table == facts["table"]]
