"""Guesses the place of a message and the order of the commands of a key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from dbt_trueup.plural import count

from . import words
from .backwards import positions_in_messages, positions_in_table
from .deletes import commands, is_snapshot_row
from .facts import Guess, share
from .key import content_of, is_one_partition, key_of, several
from .log import DATE, INTEGERS, NUMBER, TIMESTAMP, all_match, sortable, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .facts import Facts
    from .log import Log, Row

DIGITS = re.compile("[0-9]{1,38}")
"""A text that a decimal of Spark holds."""

PADDED = re.compile("0[0-9]+")
"""A number with zeros in front."""

HEX = re.compile(r"(0x)?[0-9A-Fa-f:./\-]+")
"""A hexadecimal number, perhaps in groups, as SQL Server writes an LSN."""

LSN = re.compile(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")
"""An LSN of PostgreSQL."""

WIDE = 17
"""Texts of digits that are all so long, and of one length, have a fixed length."""

LSN_AS_NUMBER = (
    "cast(conv(split_part({0}, '/', 1), 16, 10) as bigint) * 4294967296"
    " + cast(conv(split_part({0}, '/', 2), 16, 10) as bigint)"
)

POSITION, SEQUENCE, PROVEN, OFFSET, COMMIT, TIME, PUBLISHED, VERSION, ARRIVAL, ROW = range(10)
"""The ranks of orders, the finest first.

The last one is a time that an application keeps, in a log whose deletes a tool marks: such a delete
leaves the time as it was.
"""

SQL_SERVER = ("__$start_lsn", "__$command_id", "__$seqval", "__$operation")
"""The order of SQL Server's change tables. All changes of a statement may have one `seqval`."""

FILE = re.compile(r"(^|_)(source|binlog|log)_file$")
FILE_POSITION = re.compile(r"(^|_)(source|binlog|log)_(pos|position|row)$")
"""The position of MySQL: the file, the position in it, and the row of the event."""


@dataclass(frozen=True)
class Order:
    """Columns that may be the order, the first one first."""

    names: tuple[str, ...]
    rank: int


def guess_place(facts: Facts) -> Guess:
    """Where a message lies in its topic: the topic, the partition and the offset."""
    log = facts.log
    partitions = [name for name in log.named(words.PARTITION) if log.is_integer(name)]
    offsets = [name for name in log.named(words.OFFSET) if log.is_integer(name)]
    if not (partitions and offsets):
        return Guess("place", None, "no columns have a partition and an offset")
    topics = [
        name for name in log.named(words.TOPIC) if len(set(map(to_text, log.values(name)))) > 1
    ]
    place = [*topics[:1], partitions[0], offsets[0]]
    why = f"the log is a topic with {', '.join(place)}"
    twice = several((to_text([row[name] for name in place]), content_of(row)) for row in log.rows)
    if twice:
        why += f"; {count(twice, 'place')} have messages of different content"
    return Guess("place", place, why, not twice, (", ".join(place), "none") if twice else ())


def guess_sequence_by(facts: Facts) -> Guess:
    """The order of the commands of one key: the finest that the log gives."""
    if facts["envelope"] == "snapshots":
        return order_of_extracts(facts)
    if facts.is_decoded:
        return order_of_messages(facts)
    log, orders = facts.log, list(find_orders(facts))
    names = dict.fromkeys(name for one in orders for name in one.names)
    candidates = tuple(order_expression(log, name) or log.sql(name) for name in names)
    if not orders:
        why = "no column is called lsn, sequence, updated_at or the like"
        others = tuple(sql for name in facts.own_columns if (sql := order_expression(log, name)))
        return Guess("sequence_by", None, why, is_sure=False, candidates=others)
    rows = list(commands(log.rows, facts.marks))
    ties = [count_ties(facts, rows, one) for one in orders]
    best = next((one for one, number in zip(orders, ties, strict=True) if not number), orders[0])
    made = [order_expression(log, name) or log.sql(name) for name in best.names]
    doubts = doubts_of(facts, rows, best, orders)
    sql = ", ".join(made)
    why = f"`{', '.join(best.names)}`" + describe_rank(best.rank)
    if not doubts:
        why += ": no two different changes of a key have the same"
    return Guess(
        "sequence_by",
        made,
        "; ".join([why, *doubts]),
        not doubts and bool(rows),
        (sql, *candidates),
    )


def describe_rank(rank: int) -> str:
    """What kind of order it is."""
    kinds = {POSITION: "is a position in the log of the source", TIME: "is the time of the change"}
    return f" {kinds[rank]}" if rank in kinds else ""


def doubts_of(facts: Facts, rows: list[Row], best: Order, orders: Sequence[Order]) -> list[str]:
    """What speaks against an order. It is sure if nothing does."""
    log, doubts = facts.log, []
    ties = count_ties(facts, rows, best)
    if ties and not facts["ties"]:
        doubts.append(
            f"no column says which is newer: {count(ties, 'group')} of different changes have"
            f" the same key and `{', '.join(best.names)}`; give a column that does, or --ties"
        )
    if nulls := sum(row[best.names[0]] is None for row in rows):
        doubts.append(
            f"it is null in {share(nulls, len(rows), 'row')}: they would be errors without an order"
        )
    if best.rank == POSITION and (backwards := positions_in_table(facts, rows, best.names)):
        doubts.append(backwards)
    if unreadable := [name for name in best.names if order_expression(log, name) is None]:
        doubts.append(f"the texts of {', '.join(unreadable)} do not sort")
    if best.rank > OFFSET and any(is_snapshot_row(facts, row) for row in rows):
        doubts.append(
            "it is a time, and rows of the first load have the time when they were read: such a row"
            " may have a later time than a newer change"
        )
    if best.rank >= VERSION and not has_versions(facts, rows):
        doubts.append("no key of the sample has two changes that prove it")
    first, rest = Order(best.names[:1], best.rank), Order(best.names[1:], best.rank)
    if rest.names and nullable(rows, best.names[-1]) and contradicts(facts, rows, first, rest):
        doubts.append("its columns put changes of a key in different orders")
    if len(best.names) == 1 and best.rank in (SEQUENCE, PROVEN, TIME):
        others = [other for other in orders if other.rank in (SEQUENCE, TIME)]
        if other := next((one for one in others if contradicts(facts, rows, best, one)), None):
            doubts.append(f"`{', '.join(other.names)}` puts changes of a key in another order")
    return doubts


def nullable(rows: Sequence[Row], name: str) -> bool:
    """Whether a column has a null."""
    return any(row[name] is None for row in rows)


def find_orders(facts: Facts) -> Iterator[Order]:
    """The orders that the log may have, the best first."""
    log = facts.log
    if {*SQL_SERVER[::2]} <= {*log.types}:
        yield Order(tuple(name for name in SQL_SERVER if name in log.types), POSITION)
        return
    files, positions = log.named(FILE), log.named(FILE_POSITION)
    if files and positions:
        yield Order((files[0], *positions), POSITION)
    out = {*(facts["key"] or ()), *(mark.name for mark in facts.marks)}
    rows = list(commands(log.rows, facts.marks))
    ranks = [
        (rank, *fineness(name), place, name)
        for place, name in enumerate(log.types)
        if name not in out
        and is_orderable(log, name)
        and (rank := rank_of(facts, name)) is not None
    ]
    ranked = [(rank, name) for rank, *_, name in sorted(ranks)]
    full = [(rank, name) for rank, name in ranked if not nullable(rows, name)]
    times = [name for rank, name in full if rank == TIME]
    for rank, name in ranked:
        fine, is_full = Order((name,), rank), (rank, name) in full
        # The rows of a full load have no position, but a time before all others.
        firsts = times
        if is_full:
            firsts = [
                one
                for its, one in full
                if (its >= rank or rank == SEQUENCE) and words.COMMIT.search(words.plain(one))
            ]
        first = next((one for one in firsts if one != name), None)
        # Numbers that begin again with each commit sort only within it.
        if (first and rank <= SEQUENCE) and (
            not is_full
            or rank == SEQUENCE
            or words.NUMBERED.search(words.plain(name))
            or contradicts(facts, rows, fine, Order((first,), rank))
            or count_ties(facts, rows, fine)
        ):
            fine = Order((first, name), rank)
        if rank == POSITION:
            fine = Order((*fine.names, *finer_of(facts, rows, fine)), rank)
        yield fine
    for time, (rank, name) in product(times, full):
        if rank <= SEQUENCE:
            yield Order((time, name), TIME)


def finer_of(facts: Facts, rows: Sequence[Row], order: Order) -> list[str]:
    """Where a change lies within its position. `ssn` alone is another thing."""
    names = [
        name
        for name in facts.log.named(words.FINER)
        if name not in order.names and not nullable(rows, name)
    ]
    plain = [words.plain(name).rpartition("_")[2] for name in names]
    is_of_oracle = any(words.plain(name).endswith("rs_id") for name in names)
    names = [name for name, one in zip(names, plain, strict=True) if one != "ssn" or is_of_oracle]
    return sorted(names, key=lambda name: words.plain(name).endswith("ssn"))


def fineness(name: str) -> tuple[bool, int]:
    """Sorts the finest first: a commit last, nanoseconds before milliseconds."""
    plain = words.plain(name)
    unit = plain.rpartition("_")[2]
    place = words.FINENESS.index(unit) if unit in words.FINENESS else len(words.FINENESS)
    return bool(words.COMMIT.search(plain)) and not words.TIME.search(plain), place


def rank_of(facts: Facts, name: str) -> int | None:
    """The rank of a column as an order; None if its name says nothing of one."""
    log, plain = facts.log, words.plain(name)
    is_number = bool(NUMBER.match(log.types[name]))
    is_date = log.types[name].startswith(("timestamp", "date"))
    is_time = is_date or all_match(TIMESTAMP, log.values(name))
    is_of_commit = bool(words.COMMIT.search(plain))
    is_id = plain.endswith("_id")
    is_of_row = words.OF_ROW.search(plain) and not words.is_of_tool(name)
    ranks = (
        (ROW, is_of_row and is_time and any(words.is_of_tool(mark.name) for mark in facts.marks)),
        (ARRIVAL, words.is_of_arrival(name)),
        (ARRIVAL, facts["place"] and plain in ("timestamp", "kafka_timestamp")),
        (None, words.TRANSACTION.search(plain)),
        (PROVEN, is_id and is_number and is_proven(facts, name)),
        (None, is_id),
        (OFFSET, words.OFFSET.search(plain) and is_number and is_one_partition(facts)),
        (POSITION, log.is_position(name)),
        (SEQUENCE, words.SEQUENCE.search(plain) and not is_time),
        (PUBLISHED, words.PUBLISHED.search(plain) or plain == "ts_ms"),
        (COMMIT, is_of_commit and is_number and not words.TIME.search(plain)),
        (TIME, (is_of_commit or words.CHANGED.search(plain)) and (is_time or is_number)),
        (VERSION, words.VERSION.search(plain) and is_number),
    )
    return next((rank for rank, holds in ranks if holds), None)


def is_orderable(log: Log, name: str) -> bool:
    """Whether a column has values that sort in Spark."""
    kind = log.types[name]
    is_odd = re.search(r"map<|variant|^boolean$", kind)
    is_list = kind.startswith("array<") and not log.is_position(name)
    return not (is_odd or is_list) and bool(log.values(name) or not log.rows)


def is_proven(facts: Facts, name: str) -> bool:
    """Whether the values of a number prove that it grows with the time of the changes."""
    log, rows = facts.log, facts.log.rows
    times = [*log.named(words.CHANGED), *filter(words.is_of_arrival, log.types)]
    numbers, moments = log.values(name), sortable(log.values(times[0])) if times else []
    if not len({*numbers}) == len(moments) == len(rows) or not has_versions(facts, rows):
        return False
    steps = sorted(zip(moments, numbers, strict=True))
    return all(before[1] < after[1] for before, after in pairwise(steps))


def has_versions(facts: Facts, rows: Sequence[Row]) -> bool:
    """Whether a key of the sample has two different changes."""
    return several((key_of(facts, row), content_of(row)) for row in rows) > 0


def count_ties(facts: Facts, rows: Sequence[Row], order: Order) -> int:
    """The groups of different changes with the same key and order."""
    first = next((mark for mark in facts.marks if mark.condition), None)
    marks = {mark.name for mark in facts.marks} if first else set()
    values = [
        name
        for name in facts.log.types
        if facts.log.is_own(name) and name not in order.names and name not in marks
    ]
    return several(
        (
            to_text([key_of(facts, row), *(row[name] for name in order.names)]),
            "deleted"
            if first and first.is_delete(row)
            else to_text([row[name] for name in values]),
        )
        for row in rows
    )


def contradicts(facts: Facts, rows: Sequence[Row], one: Order, other: Order) -> bool:
    """Whether two orders put changes of one key in another sequence."""
    names = (*one.names, *other.names)
    rows = [row for row in rows if all(row[name] is not None for name in names)]
    places = []
    for order in (one, other):
        columns = [sortable([row[name] for row in rows]) for name in order.names]
        places.append(list(zip(*columns, strict=True)))
    by_key: dict[str, list[Any]] = {}
    for row, first, second in zip(rows, *places, strict=True):
        by_key.setdefault(key_of(facts, row), []).append((first, second))
    try:
        return any(
            before[1] > after[1]
            for pairs in by_key.values()
            for before, after in pairwise(sorted(pairs))
            if before[0] < after[0]
        )
    except TypeError:
        return False


def delivery_of_extracts(facts: Facts) -> str | None:
    """The column that tells the deliveries of an extract apart. None if each came once."""
    log, key, extract = facts.log, facts["key"], facts["extract"]
    is_known = facts["envelope"] == "snapshots" and key and extract in log.types
    if not is_known or not count_ties(facts, log.rows, Order((extract,), TIME)):
        return None
    ordered = [
        name
        for name, kind in log.types.items()
        if (kind in INTEGERS or kind.startswith(("timestamp", "date")))
        and words.DELIVERY.search(words.plain(name))
        and name not in (extract, *key)
        and not nullable(log.rows, name)
    ]
    return next(
        (name for name in ordered if not count_ties(facts, log.rows, Order((extract, name), TIME))),
        None,
    )


def order_of_extracts(facts: Facts) -> Guess:
    """The order of full extracts. If one arrives in parts, a row wins over its absence."""
    made, key, extract = ["snapshot_ts", "not is_absent"], facts["key"], facts["extract"]
    if key and extract in facts.log.types:
        order = Order((extract,), TIME)
        if delivery := delivery_of_extracts(facts):
            why = f"the extract; `{delivery}` says which of its deliveries is the newer one"
            return Guess("sequence_by", made, why)
        if ties := count_ties(facts, facts.log.rows, order):
            why = (
                f"{count(ties, 'key')} are in one extract twice with different values: it was"
                " delivered twice, and no column says which delivery is the newer one"
            )
            return Guess("sequence_by", made, why, is_sure=False, candidates=(", ".join(made),))
    return Guess("sequence_by", made, "the extract; a row that comes later wins over its absence")


def order_of_messages(facts: Facts) -> Guess:
    """The order in the messages themselves, or the offset."""
    log, changes = facts.log, [one for one in facts.changes if one.row]
    without = sum(change.order is None for change in changes)
    if not without:
        have = share(len(changes), len(changes), "message")
        why = f"the position in each message: {have} have it"
        is_sure = not any(one.is_by_clock and one.op == "r" for one in changes)
        if not is_sure:
            why = (
                "the messages have only a time, and rows of the first load have the time when they"
                " were read: such a row may have a later time than a newer change"
            )
        against, warning = positions_in_messages(facts)
        if against:
            is_sure, why = False, f"{why}; but {against}"
        candidates = ("none", *map(log.sql, facts["place"] or ()))
        warnings = (warning,) if warning else ()
        return Guess("sequence_by", None, why, is_sure, candidates, warnings)
    why = f"{share(without, len(changes), 'message')} have no position of the source"
    if facts["place"] and without == len(changes) and is_one_partition(facts):
        offset = log.sql(facts["place"][-1])
        return Guess(
            "sequence_by", [offset], f"the offset: {why}, and each key is in one partition"
        )
    ranks = [(rank, name) for name in log.types if (rank := rank_of(facts, name)) is not None]
    orders = {
        sql: rank
        for rank, name in sorted(ranks)
        if rank <= OFFSET and (sql := order_expression(log, name)) and not nullable(log.rows, name)
    }
    best = next(iter(orders), None)
    is_alone = without == len(changes) and not several(
        (to_text(row.get(best or "")), content_of(row)) for row in log.rows
    )
    is_sure = best is not None and (orders[best] <= SEQUENCE or is_alone)
    others = tuple(orders or (log.sql(name) for name in log.types if name != facts["value"]))
    return Guess("sequence_by", [best] if best else None, why, is_sure, others)


def order_expression(log: Log, name: str) -> str | None:
    """A column as an order; None if its texts do not sort.

    A later number may have more digits. Texts of one length that have zeros in front, or that are
    very long, sort as texts.
    """
    values, sql, kind = log.values(name), log.sql(name), log.types[name]
    if kind == "array<string>":
        return f"transform({sql}, one -> lpad(one, 64, '0'))"
    if kind != "string" or not values:
        return sql
    lengths = {len(value) for value in values}
    is_fixed = len(lengths) == 1
    is_padded = is_fixed and (min(lengths) >= WIDE or any(map(PADDED.fullmatch, values)))
    is_time, is_hex = all_match(TIMESTAMP, values), all_match(HEX, values)
    is_one_case = not has_both_cases(values)
    has_groups = any(sign in value for value in values for sign in ":./-")
    is_named = log.is_position(name) or bool(
        FILE.search(words.plain(name)) or words.FINER.search(words.plain(name))
    )
    forms = (
        (sql, is_time and is_fixed and all(value.endswith("Z") for value in values)),
        (f"cast({sql} as timestamp)", is_time),
        (sql, all_match(DATE, values)),
        (LSN_AS_NUMBER.format(sql), all_match(LSN, values)),
        (sql, is_padded and is_hex and is_one_case),
        (f"lower({sql})", is_padded and is_hex),
        (f"cast({sql} as decimal(38,0))", all_match(DIGITS, values)),
        (sql, is_hex and is_fixed and is_one_case and not has_groups),
        (f"lpad(lower({sql}), 64, '0')", is_hex and not has_groups),
        (sql, is_named and is_fixed),
    )
    return next((expression for expression, holds in forms if holds), None)


def has_both_cases(texts: Sequence[str]) -> bool:
    """Whether hexadecimal numbers are written with small and with capital letters."""
    joined = "".join(texts).replace("x", "")
    return joined != joined.lower() and joined != joined.upper()


def guess_ties(_: Facts) -> Guess:
    """Which of two commands with one order wins. Only the user may choose."""
    return Guess("ties", None, "a tie is an error, until a newer command of its key arrives")


def guess_ts(_: Facts) -> Guess:
    """The tick of the log. A collection needs none, so only the user gives it."""
    return Guess("ts", None, "a batch gives the tick")
