"""Rules about SQL that gives another result if it runs again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .filters import CLOCK, TIME
from .source import (
    closing,
    column_of,
    expressions_named,
    is_only_for_some_targets,
    split_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .finding import Found
    from .model import Model

RANDOM = re.compile(
    r"\b(?:uuid|rand|randn|random|gen_random_uuid|generate_uuid|uuid_string|newid|shuffle"
    r"|monotonically_increasing_id)\s*\(",
    re.IGNORECASE,
)

ROW_NUMBER = re.compile(r"\brow_number\s*\(\s*\)\s*over\s*\(", re.IGNORECASE)

CONSTANT = re.compile(r"\d+|null|\(\s*select\s+(?:null|\d+)\s*\)|'\s*'", re.IGNORECASE)

ONE_ROW = re.compile(
    r"select\s+(?:max|min|count|sum|avg|any_value)\s*\([^()]*\)(?:\s+as\s+\w+)?\s+from\b"
    r"(?!.*\bgroup\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A select of one aggregate, which has one row."""


def random_values(model: Model) -> Iterator[Found]:
    """A value that is different in each run."""
    for found in RANDOM.finditer(model.code):
        if is_only_for_some_targets(model.code, found.start()):
            continue
        name = found.group().strip("( ")
        hazard = (
            f"`{name}()` gives other values in each run. A row that is read again changes, and a"
            " rebuilt table differs from the old one."
        )
        fix = "make the value from columns of the row, such as sha2(to_json(struct(<key>)), 256)"
        yield model.line(found.start()), hazard, fix
    for column in model.key:
        if any(CLOCK.search(one) for one in expressions_named(model.code, column)):
            at = re.search(rf"\bas\s+`?{re.escape(column)}\b", model.code, re.IGNORECASE)
            hazard = (
                f"The key `{column}` comes from the clock. A row that is read again gets a new key."
            )
            fix = "make the key from columns of the row"
            yield model.line(at.start() if at else 0), hazard, fix


def arbitrary_row(model: Model) -> Iterator[Found]:
    """A `row_number` whose order has ties."""
    for found in ROW_NUMBER.finditer(model.code):
        window = model.code[found.end() : closing(model.code, found.end() - 1)]
        partition, _, order = re.sub(
            r"\border\s+by\b", "order by", window, flags=re.IGNORECASE
        ).partition("order by")
        items = [words_of(item) for item in split_list(order)]
        if "{{" in window or "{%" in window or not all(is_tied(one, partition) for one in items):
            continue
        named = f" ({' '.join(order.split())})" if items else ""
        hazard = (
            f"Rows may be equal in the order of `row_number`{named}. Each run may keep another one"
            " of them."
        )
        better = [f"{item} desc" for item in items if not CONSTANT.fullmatch(item)]
        fix = (
            "end the order with a unique column, such as the position in the log:"
            f" order by {', '.join([*better, '<position> desc'])}"
        )
        yield model.line(found.start()), hazard, fix


def is_tied(item: str, partition: str) -> bool:
    """Whether rows of a partition may be equal in an item: a time, a constant, or its own column.

    Example:
        >>> is_tied("updated_at", "partition by id"), is_tied("log_position", "partition by id")
        (True, False)
    """
    column = column_of(item)
    if CONSTANT.fullmatch(item) or column is None:
        return CONSTANT.fullmatch(item) is not None
    grouped = re.sub(r"\bpartition\s+by\b", "", partition, flags=re.IGNORECASE)
    return TIME.search(column) is not None or column in map(column_of, split_list(grouped))


def words_of(item: str) -> str:
    """Return an item of an order without its direction.

    Example:
        >>> words_of("updated_at desc nulls last")
        'updated_at'
    """
    return re.sub(
        r"\s+(?:asc|desc)\b|\s+nulls\s+(?:first|last)\b", "", item, flags=re.IGNORECASE
    ).strip()


def limit_without_order(model: Model) -> Iterator[Found]:
    """A limit of rows in no order."""
    for found in re.finditer(r"\blimit\s+\d+", model.code, re.IGNORECASE):
        select = model.code.lower().rfind("select", 0, found.start())
        is_ordered = re.search(r"\border\s+by\b", model.code[select : found.start()], re.IGNORECASE)
        is_one_row = ONE_ROW.match(model.code, select, found.start())
        if is_ordered or is_one_row or is_only_for_some_targets(model.code, found.start()):
            continue
        hazard = (
            f"`{' '.join(found.group().split())}` keeps arbitrary rows, because there is no order."
            " Another run may keep other rows."
        )
        fix = "order by a unique column before the limit, or leave the limit out"
        yield model.line(found.start()), hazard, fix
