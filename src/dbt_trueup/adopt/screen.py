"""Writes for people how a collection and another table differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup.plural import count
from dbt_trueup.printable import printable

from .drift import CAUSES, EQUAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .drift import Drift

NAME_WIDTH = 15


def describe_drift(here: str, there: str, drift: Drift) -> str:
    """Write how many rows differ by cause, with some of them.

    Args:
        here: How the collection is called, such as `orders`, or `the log` before its first run.
        there: How the other table is called.
        drift: How the two differ.
    """
    differing, equal = count(drift.differing_rows, "difference"), drift.counts[EQUAL]
    lines = [f"{there} and {here}: {differing}, {count(equal, 'equal row')}"]
    for cause, why in CAUSES.items():
        if drift.counts[cause]:
            because = why.format(here=here, there=there)
            lines.append(f"{drift.counts[cause]:>11,}  {cause:<{NAME_WIDTH}}{because}")
            lines += [f"{'':13}  {describe_row(row)}" for row in drift.samples[cause]]
    for name, columns in ((here, drift.only_here), (there, drift.only_there)):
        if columns:
            lines.append(f"only {name} has {texts(columns)}: not compared")
    return "\n".join(lines)


def describe_row(row: dict[str, Any]) -> str:
    """Write the key of a row, and the columns in which the other table differs from this one.

    Example:
        >>> describe_row({"key": ["7"], "differing": {"status": ["sent", None]}})
        'key 7: status sent, there null'
    """
    changes = [
        f"{printable(name)} {text(here)}, there {text(there)}"
        for name, (here, there) in row["differing"].items()
    ]
    return f"key {texts(row['key'])}" + (f": {'; '.join(changes)}" if changes else "")


def texts(values: Sequence[str | None]) -> str:
    """Write several values in one line."""
    return ", ".join(map(text, values))


def text(value: str | None) -> str:
    """Write a value in one line."""
    return "null" if value is None else " ".join(printable(value).split())
