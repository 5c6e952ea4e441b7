"""Rules about which rows of the source a run reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .source import column_of, is_in_incremental_part, term_around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .finding import Found
    from .model import Model

MAX = re.compile(r"\bmax\s*\(((?:[^()]|\([^()]*\))*)\)", re.IGNORECASE)

FROM = re.compile(r"\bfrom\b(?P<this>\s+\{\{-?\s*this\s*-?\}\})?", re.IGNORECASE)
"""A `from`; `this` is there if it reads the model's own table."""

TIME = re.compile(
    r"(?:^|_)(?:at|ts|time|date|dt|on|datetime|timestamp|updated|modified|changed|created|synced)"
    r"(?:_utc)?$",
    re.IGNORECASE,
)
"""The name of a column that has a time."""

FUTURE = re.compile(
    r"(?:^|_)(?:end|ends|expir|until|due|valid|clos|delivery|deadline)", re.IGNORECASE
)
"""The name of a column whose time may be in the future."""

ARRIVAL = re.compile(
    r"load|ingest|arriv|inserted|sync|extract|etl|batch|_sdc|fivetran|airbyte|received|processed",
    re.IGNORECASE,
)
"""The name of a column that says when a row arrived. It grows as rows arrive."""

LOOK_BACK = re.compile(
    r"\binterval\b|date_?add|date_?sub|timestamp_?add|timestamp_?sub|add_months|date_?trunc"
    r"|look_?back|[)\w}]\s*-\s*[\w({]",
    re.IGNORECASE,
)
"""A filter that also reads some older rows."""

CLOCK = re.compile(
    r"\bcurrent_(?:timestamp|date)\b|\b(?:now|getdate|sysdate)\s*\(|\blocaltimestamp\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class LastValue:
    """A filter of the source that compares with the greatest value in the table."""

    start: int
    column: str
    """The column of the source, if it is one; otherwise the column of the table."""
    greatest: str
    """The column of the table."""
    operator: str
    looks_back: bool


def greatest_values(code: str) -> Iterator[tuple[re.Match[str], int]]:
    """Find each greatest value that the model's own table has, and where its `from` ends."""
    begin = 0
    for found in FROM.finditer(code):
        if found["this"]:
            for greatest in MAX.finditer(code, begin, found.start()):
                yield greatest, found.end()
        begin = found.end()


def last_values(model: Model) -> list[LastValue]:
    """Return the filters of a model by the greatest time in its own table."""
    code, found = model.code, []
    for greatest, end in greatest_values(code):
        column = column_of(greatest.group(1))
        if column is None or not TIME.search(column):
            continue
        alias = re.match(
            r"(?:(?!\bfrom\b).)*?\bas\s+(\w+)", code[greatest.end(1) :], re.IGNORECASE | re.DOTALL
        )
        spans = [(greatest.start(), end)]
        if alias:
            spans += [each.span() for each in re.finditer(rf"\b{alias.group(1)}\b", code)]
        terms = [(start, term_around(code, start, end)) for start, end in spans]
        used = [(start, term) for start, term in terms if term and term.operator in (">", ">=")]
        if used:
            start, term = used[0]
            text = f"{code[greatest.start() : end]} {term.text}"
            looks_back = LOOK_BACK.search(text) is not None
            left = column_of(term.text.partition(">")[0]) or column
            found.append(LastValue(start, left, column, term.operator, looks_back))
    return found


def late_rows_lost(model: Model) -> Iterator[Found]:
    """A filter that leaves out rows that come late, or at the same time as the last one."""
    for one in last_values(model):
        is_arrival = ARRIVAL.search(one.column) is not None
        if one.looks_back or (is_arrival and one.operator == ">="):
            continue
        lost = [] if is_arrival else ["arrive late"]
        if one.operator == ">":
            lost.append(f"have the same `{one.column}` as the last row")
        operator = "above" if one.operator == ">" else "at least"
        hazard = (
            f"The filter reads only rows whose `{one.column}` is {operator} the greatest"
            f" `{one.greatest}` of the table. Rows that {' or '.join(lost)} are never read."
        )
        lowest = f"max({one.greatest})" + ("" if is_arrival else " - interval 3 days")
        fix = f"where {one.column} >= (select {lowest} from {{{{ this }}}})"  # noqa: S608 - a text
        if not is_arrival:
            fix += (
                "; rows that come even later are still lost. trueup needs no window: the order of"
                " a row decides, and not when it arrives"
            )
        yield model.line(one.start), hazard, fix


def is_of_the_past(column: str) -> bool:
    """Whether a column says when something happened. The end of a validity may be in the future.

    Example:
        >>> is_of_the_past("updated_at"), is_of_the_past("expires_at"), is_of_the_past("status")
        (True, False, False)
    """
    return TIME.search(column) is not None and not FUTURE.search(column)


def window_of_the_clock(model: Model) -> Iterator[Found]:
    """A filter that depends on when a run starts."""
    for clock in CLOCK.finditer(model.code):
        term = term_around(model.code, clock.start(), clock.end())
        if (
            term
            and term.operator in (">", ">=")
            and (
                LOOK_BACK.search(term.text)
                or is_of_the_past(column_of(term.text.partition(">")[0]) or "")
            )
            and is_in_incremental_part(model.code, clock.end())
        ):
            hazard = (
                f"The filter counts back from `{clock.group().strip('( ')}`. If no run succeeds for"
                " longer than that, the rows in between are never read."
            )
            fix = (
                "count back from what the table has: (select max(<column>) - interval 3 days from"
                " {{ this }}); trueup continues where its last batch ended"
            )
            yield model.line(clock.start()), hazard, fix
            return


def frozen_filter_column(model: Model) -> Iterator[Found]:
    """A filter by a column that the merge does not update."""
    updated = model.node.config.get("merge_update_columns")
    excluded = model.node.config.get("merge_exclude_columns") or []
    for one in last_values(model):
        is_frozen = one.greatest in map(str.lower, excluded) or (
            updated and one.greatest not in map(str.lower, updated)
        )
        if is_frozen:
            hazard = (
                f"The filter reads the greatest `{one.greatest}` of the table, but the merge does"
                " not update this column. It stays behind, so runs read the same rows again."
            )
            option = "merge_update_columns" if updated else "merge_exclude_columns"
            fix = f"{'add' if updated else 'remove'} '{one.greatest}' {'to' if updated else 'from'}"
            yield model.line(one.start), hazard, f"{fix} {option}"
