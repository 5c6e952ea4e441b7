"""Whether the positions of a source begin again, as after a failover or a restore.

Such positions do not compare. A sample shows it if the places of the messages, or their times, say
something else, or if several servers gave the transactions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dbt_trueup.plural import count

from . import words
from .key import is_one_partition, key_of
from .log import sortable, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .facts import Facts
    from .log import Row

LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
NUMBERED = re.compile(r".*\.([0-9]+)(?::([0-9]+))?")
"""A file of MySQL, perhaps with a position in it. Only its number sorts."""

REMEDY = (
    " Positions of two servers, or from before and after a failover, do not compare: see 'When"
    " positions begin again' in docs/your-log.md"
)


def positions_in_messages(facts: Facts) -> tuple[str, str]:
    """What speaks against the positions of messages, and what is only worth a warning."""
    place = facts["place"] or ()
    changes = [one for one in facts.changes if one.row and one.order is not None and one.op != "r"]
    rows = [facts.log.rows[one.place] for one in changes]
    servers = servers_of([one.gtid for one in changes])
    found = ""
    if place:
        keys = [key_of(facts, one.row or {}) for one in changes]
        positions = [position_of(one.order) for one in changes]
        found = describe(
            "topic",
            list(zip(keys, positions, places_of(rows, place), strict=True)),
            [one.order for one in changes],
        )
    if found or (servers and not place):
        return f"{found or servers}.{REMEDY}", ""
    return "", f"{servers}: after a failover positions may begin again" if servers else ""


def positions_in_table(facts: Facts, rows: Sequence[Row], names: Sequence[str]) -> str:
    """What speaks against the position that the columns of a table have."""
    log, place = facts.log, facts["place"] or ()
    rows = [row for row in rows if all(row[name] is not None for name in names)]
    gtids = log.named(words.GTID)
    servers = servers_of([row[name] for name in gtids for row in rows])
    keys = [key_of(facts, row) for row in rows]
    positions = [tuple(position_of(row[name]) for name in names) for row in rows]
    found = ""
    if place and is_one_partition(facts):
        found = describe("topic", list(zip(keys, positions, places_of(rows, place), strict=True)))
    elif times := [name for name in log.named(words.CHANGED) if name not in names]:
        # Clocks are not exact, so only the files of MySQL are compared with a time.
        files = [position[:1] for position in positions]
        timed = [row[times[0]] for row in rows]
        if isinstance(rows[0][names[0]], str) and NUMBERED.fullmatch(rows[0][names[0]]):
            moments = [(0, one) for one in sortable(timed)] if None not in timed else []
            found = describe("log", list(zip(keys, files, moments, strict=False)))
    if found or servers:
        return f"{found or servers}.{REMEDY}"
    return ""


def describe(
    where: str, steps: Sequence[tuple[str, Any, tuple[Any, Any]]], orders: Sequence[Any] = ()
) -> str:
    """Say how many keys have a position that goes back. Empty if there is none."""
    found = keys_that_go_back(steps)
    if found:
        return f"the positions of {count(found, 'key')} go back in the {where}"
    is_mysql = any(isinstance(one, list) and NUMBERED.fullmatch(str(one[0])) for one in orders)
    if is_mysql and keys_that_go_back([("", position[0], at) for _, position, at in steps]):
        return f"the files of the binary log go back in the {where}"
    return ""


def keys_that_go_back(steps: Iterable[tuple[str, Any, tuple[Any, Any]]]) -> int:
    """Count the keys with a new position that is lower than one before it, in one partition.

    A position that was there before is of a message that was sent again.
    """
    found: dict[tuple[str, Any], list[Any]] = {}
    backwards = set()
    try:
        for key, position, (partition, _) in sorted(steps, key=lambda step: step[2]):
            seen = found.setdefault((key, partition), [])
            if position not in seen:
                backwards |= {key} if seen and position < max(seen) else set()
                seen.append(position)
    except TypeError:  # positions of several kinds
        return 0
    return len(backwards)


def places_of(rows: Sequence[Row], place: Sequence[str]) -> list[tuple[str, Any]]:
    """The partition of each row, with its topic, and the offset."""
    return [(to_text([row[name] for name in place[:-1]]), row[place[-1]]) for row in rows]


def position_of(value: Any) -> Any:
    """A position as something that sorts.

    Example:
        >>> position_of("0/16B3740"), position_of(["mysql-bin.000009", 4]), position_of("a.10:7")
        ((0, 23803712), (9, 4), (10, 7))
    """
    if isinstance(value, list):
        return tuple(map(position_of, value))
    text = str(value)
    if text.isdigit():
        return int(text)
    if lsn := LSN.fullmatch(text):
        return tuple(int(one, 16) for one in lsn.groups())
    if file := NUMBERED.fullmatch(text):
        numbers = tuple(int(one) for one in file.groups() if one)
        return numbers if len(numbers) > 1 else numbers[0]
    return text


def servers_of(gtids: Iterable[Any]) -> str:
    """Say how many servers gave some transactions. Empty if it is one.

    Example:
        >>> servers_of(["3e11fa47-71ca-11e1:5", "3e11fa47-71ca-11e1:6", "0-2-9"])
        'the transactions are of 2 servers: 0-2, 3e11fa47-71ca-11e1'
        >>> servers_of(["0-1-8", None, "0-1-9"])
        ''
    """
    servers = sorted(
        {one.partition(":")[0] if ":" in one else one.rpartition("-")[0] for one in gtids if one}
    )
    few = ", ".join(servers[:4])
    return f"the transactions are of {len(servers)} servers: {few}" if len(servers) > 1 else ""
