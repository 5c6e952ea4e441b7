"""Guesses the tick and the order."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from dbt_trueup.plural import count

from . import words
from .envelope import extract_columns
from .facts import Guess, share
from .log import (
    all_match,
    column_of,
    contents,
    hashable,
    quoted,
    sortable,
    tick_expression,
    to_text,
)
from .messages import POSITIONS

if TYPE_CHECKING:
    from .facts import Facts
    from .log import Log
    from .messages import Change

DIGITS = re.compile("[0-9]{1,38}")
"""A text that a decimal of Spark holds."""

PADDED = re.compile("0[0-9]+")
"""A number with zeros in front."""


def guess_reclock(facts: Facts) -> Guess:
    """The partition and the offset, for a log without ticks."""
    log = facts.log
    partitions = log.named(words.PARTITION)
    offsets = [name for name in log.named(words.OFFSET) if log.is_integer(name)]
    if not (partitions and offsets) and has_short_place(log):
        partitions, offsets = log.named(words.SHORT_PARTITION), log.named(words.SHORT_OFFSET)
    if not (partitions and offsets):
        return Guess("reclock", None, "no columns have a partition and an offset")
    if facts["envelope"] == "wal2json" and all(change.ts for change in facts.changes):
        return Guess("reclock", None, "the messages have the time of their commit")
    place = [partitions[0], offsets[0]]
    found = {tuple(hashable(row[name]) for name in place) for row in log.rows}
    why = f"the log is a topic: {count(len(found), 'place')} in {count(len(log.rows), 'row')}"
    return Guess("reclock", place, why)


def has_short_place(log: Log) -> bool:
    """Whether columns named `part` and `off` are the partition and the offset of each row."""
    partitions, offsets = log.named(words.SHORT_PARTITION), log.named(words.SHORT_OFFSET)
    names = [*partitions[:1], *offsets[:1]]
    if not (partitions and offsets and all(map(log.is_integer, names))):
        return False
    # A row that is delivered twice has the same place twice.
    places = {to_text(row[name] for name in names) for row in log.rows}
    return bool(log.rows) and len(places) == len(set(contents(log)))


def ts_of_extracts(log: Log) -> Guess:
    """The tick of full extracts: the column that says to which of them a row belongs."""
    columns = extract_columns(log)
    if not columns:
        ticks = [name for name in log.types if tick_expression(log, name)]
        why = "no column is called snapshot, extract or the like"
        return Guess("ts", None, why, is_sure=False, candidates=tuple(ticks))
    why = f"`{columns[0]}`: {count(len(set(log.values(columns[0]))), 'extract')} in the sample"
    sure = [name for name in columns if not words.is_of_arrival(name)]
    if not sure:
        why += "; it may only say when a row arrived"
    return Guess("ts", tick_expression(log, columns[0]), why, len(sure) == 1, tuple(columns))


def guess_ts(facts: Facts) -> Guess:
    """The tick: what never goes down as the log grows."""
    if facts["envelope"] == "snapshots":
        return ts_of_extracts(facts.log)
    if facts["reclock"]:
        return Guess("ts", None, "a batch gives the tick (reclock)")
    if offset := only_offset(facts):
        return offset
    return ts_of_messages(facts) if facts.is_decoded else ts_of_columns(facts)


def only_offset(facts: Facts) -> Guess | None:
    """The offset of a topic with one partition; None if the log has no offset."""
    log = facts.log
    offsets = [name for name in log.named(words.TOPIC_OFFSET) if log.is_integer(name)]
    if not offsets or facts["envelope"] == "wal2json":
        return None
    repeated = len(log.rows) - len({row[offsets[0]] for row in log.rows})
    if repeated:
        why = f"{share(repeated, len(log.rows), 'row')} repeat an offset: is the partition missing?"
        return Guess("ts", quoted(offsets[0]), why, is_sure=False, candidates=(offsets[0],))
    return Guess("ts", quoted(offsets[0]), "a topic with one partition: no offset repeats")


def ts_of_messages(facts: Facts) -> Guess:
    """The tick in the messages themselves."""
    without = sum(change.ts is None for change in facts.changes)
    where = "ts_ms" if facts["envelope"] == "debezium" else "timestamp"
    if any(has_file(change) for change in facts.changes):
        why = (
            "MySQL or MariaDB: the `ts_ms` of a row of the snapshot may be later than changes after"
            " it. Give --reclock if the log has the partition and the offset of the topic, or"
            " `--ts none` to take `ts_ms` if the topic has no snapshot"
        )
        return Guess("ts", None, why, is_sure=False)
    if not without and facts.changes:
        have = share(len(facts.changes), len(facts.changes), "message")
        return Guess("ts", None, f"the `{where}` of each message: {have} have it")
    ticks = [name for name in facts.log.types if tick_expression(facts.log, name)]
    why = f"{share(without, len(facts.changes), 'message')} have no `{where}`"
    return Guess("ts", None, why, is_sure=False, candidates=tuple(ticks))


def has_file(change: Change) -> bool:
    """Whether a message of Debezium names a binary log: that of MySQL or MariaDB."""
    return isinstance(change.order, tuple) and change.order[POSITIONS.index("file")] is not None


def ts_of_columns(facts: Facts) -> Guess:
    """The best column for the tick, by its name and its values."""
    log = facts.log
    possible = [
        name
        for name in log.types
        if tick_expression(log, name)
        and name not in (facts["key"] or ())
        and len(log.values(name)) == len(log.rows)
    ]
    ranks = (words.COMMIT, words.POSITION, words.CHANGED, words.SEQUENCE, words.ARRIVAL)
    ranked = [
        (rank, name)
        for rank, pattern in enumerate(ranks)
        for name in possible
        if pattern.search(name.lower())
    ]
    candidates = tuple(dict.fromkeys(name for _, name in ranked)) or tuple(possible)
    if not ranked:
        why = (
            "no column is called commit, lsn, updated_at or the like. If no column is a tick, but"
            " the log has the partition and the offset of a topic, give --reclock"
        )
        return Guess("ts", None, why, is_sure=False, candidates=candidates)
    rank, column = ranked[0]
    falls, ordered_by = count_falls(log, column)
    steady = f"never goes down {ordered_by}"
    why = f"`{column}` {steady if not falls else f'goes down {falls:,} times {ordered_by}'}"
    warning = f"`{column}` goes down {falls:,} times {ordered_by}: see the option `late`"
    better = [name for name in candidates if falls and not count_falls(log, name)[0]]
    return Guess(
        "ts",
        tick_expression(log, column),
        why,
        is_sure=rank <= ranks.index(words.CHANGED) and not better and bool(log.rows),
        candidates=candidates,
        warnings=(warning,) if falls else (),
    )


def count_falls(log: Log, column: str) -> tuple[int, str]:
    """How often a column goes down from row to row, and in which order the rows were compared."""
    arrivals = [
        name
        for name in log.named(words.ARRIVAL)
        if name != column and len(log.values(name)) == len(log.rows) and tick_expression(log, name)
    ]
    values, ordered_by = sortable(log.values(column)), "in the order in which the rows are stored"
    if arrivals:
        # Rows that arrived together have no order.
        rows = sorted(zip(sortable(log.values(arrivals[0])), values, strict=True))
        values, ordered_by = [value for _, value in rows], f"by `{arrivals[0]}`"
    return sum(after < before for before, after in pairwise(values)), ordered_by


def guess_sequence_by(facts: Facts) -> Guess:
    """The order of the commands of one key within one tick."""
    if facts["envelope"] == "snapshots":
        return Guess(
            "sequence_by", ["is_absent"], "a row of an extract wins over its absence before"
        )
    if facts["reclock"] and not facts["old_key"]:
        return Guess("sequence_by", None, "the offset in the partition")
    if facts.is_decoded:
        return order_of_messages(facts)
    log, tick = facts.log, column_of(facts.log, facts["ts"])
    positions = log.positions()
    columns = [
        name
        for name in dict.fromkeys([*log.named(words.SEQUENCE), *positions])
        if name != tick and name not in (facts["key"] or ()) and log.types[name] != "binary"
    ]
    if tick is None:
        orders = [*(order_expression(log, name) for name in columns), facts["ts"]]
        value = orders[:1] if facts["ts"] else None
        return Guess("sequence_by", value, "by its name" if columns else "the same as the tick")
    # On equal ties the sequence decides: clear positions, then the tick, then other columns.
    choices = [*(name for name in columns if name in positions), tick, *columns]
    ties = {name: count_ties(facts, tick, name) for name in choices}
    chosen = min(ties, key=ties.__getitem__)
    number = ties[chosen]
    what = "key and tick" if chosen == tick else "key, tick and order"
    why = f"no two different rows have the same {what}"
    warning = (
        f"{count(number, 'group')} of different rows have the same {what}: trueup takes the row"
        " with the greatest hash, and counts a tie"
    )
    return Guess(
        "sequence_by",
        [order_expression(log, chosen)],
        why if not number else f"the best of {', '.join(columns) or tick}",
        candidates=tuple(columns),
        warnings=(warning,) if number else (),
    )


def order_of_messages(facts: Facts) -> Guess:
    """The order in the messages themselves, or the offset."""
    if facts["ts"] and (offset := only_offset(facts)) and facts["ts"] == offset.value:
        return Guess("sequence_by", [facts["ts"]], "the offset, as the tick")
    without = sum(change.order is None for change in facts.changes)
    if not without:
        have = share(len(facts.changes), len(facts.changes), "message")
        return Guess("sequence_by", None, f"the log position in each message: {have} have it")
    orders = [order_expression(facts.log, name) for name in facts.log.named(words.SEQUENCE)]
    why = f"{share(without, len(facts.changes), 'message')} have no log position"
    candidates = tuple(orders or map(quoted, facts.log.types))
    return Guess("sequence_by", orders[:1] or None, why, bool(orders), candidates)


def order_expression(log: Log, column: str) -> str:
    """A column as an order. Texts of digits sort as numbers: a later one may be longer.

    Texts of one length with leading zeros sort as texts. They may be hexadecimal numbers.
    """
    values, name = log.values(column), quoted(column)
    if log.types[column] != "string" or not all_match(DIGITS, values):
        return name
    is_padded = len(set(map(len, values))) == 1 and any(map(PADDED.fullmatch, values))
    return name if is_padded else f"cast({name} as decimal(38,0))"


def count_ties(facts: Facts, tick: str, order: str) -> int:
    """The groups of different rows with the same key, tick and order."""
    group = [*(facts["key"] or ()), tick, order]
    found: dict[str, set[str]] = {}
    for row, content in zip(facts.log.rows, contents(facts.log), strict=True):
        found.setdefault(to_text(row[name] for name in group), set()).add(content)
    return sum(len(different) > 1 for different in found.values())
