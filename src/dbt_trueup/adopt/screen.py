"""Writes the drift of a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup.plural import count
from dbt_trueup.printable import printable

from .drift import CAUSES, EQUAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .drift import Drift

NAME_WIDTH = 15


def describe_drift(table: str, collection: str, drift: Drift) -> str:
    """Write how many rows differ by cause, with some of them.

    Args:
        table: The table.
        collection: The name of the collection of the log.
        drift: How the two differ.
    """
    differing, equal = count(drift.differing_rows, "difference"), drift.counts[EQUAL]
    lines = [f"{table}: {differing} from the log, {count(equal, 'equal row')}"]
    for cause, why in CAUSES.items():
        if drift.counts[cause]:
            lines.append(f"{drift.counts[cause]:>11,}  {cause:<{NAME_WIDTH}}{why}")
            lines += [f"{'':13}  {describe_row(row)}" for row in drift.samples[cause]]
    return "\n".join([*lines, *describe_columns(collection, drift)])


def describe_columns(collection: str, drift: Drift) -> list[str]:
    """Write which columns only one side has, and what follows from it.

    Example:
        >>> from .drift import Drift
        >>> describe_columns("orders", Drift({}, {}, [], ["loaded_at"]))
        ['only the table has loaded_at: the collection leaves it out']
    """
    lines = []
    if drift.only_in_log:
        them, these = ("it", "it") if len(drift.only_in_log) == 1 else ("them", "these")
        lines.append(
            f"only the log has {texts(drift.only_in_log)}. The comparison takes {them} as null in"
            " the table, so nearly all rows differ"
        )
        lines.append(
            f"  To compare the other columns alone, remove {these} from `columns` of"
            f" {collection}_commands and from {collection}.yml"
        )
    if drift.only_in_table:
        lines.append(
            f"only the table has {texts(drift.only_in_table)}: the collection leaves"
            f" {'it' if len(drift.only_in_table) == 1 else 'them'} out"
        )
    return lines


def describe_row(row: dict[str, Any]) -> str:
    """Write the key of a row, and the columns in which the table and the log differ.

    Example:
        >>> describe_row({"key": ["7"], "differing": {"status": ["placed", None]}})
        'key 7: status placed -> null'
    """
    changes = [
        f"{name} {text(pair[0])} -> {text(pair[1])}" for name, pair in row["differing"].items()
    ]
    return f"key {texts(row['key'])}" + (f": {', '.join(changes)}" if changes else "")


def texts(values: Sequence[str | None]) -> str:
    """Write several values in one line."""
    return ", ".join(map(text, values))


def text(value: str | None) -> str:
    """Write a value in one line."""
    return "null" if value is None else " ".join(printable(value).split())
