"""Values that a report must not show."""

from __future__ import annotations

from typing import Any

from dbt_trueup.printable import printable

SHOWN_LENGTH = 200
"""How many characters of a value a report has at most."""

SHORT = 4
"""A shorter value shows no character at all."""


def mask(text: str | None) -> str | None:
    """Return the first character of a value, and how long it is.

    Example:
        >>> mask("anna@example.org"), mask("17"), mask("x" * 500)
        ('a… (16 characters)', '… (2 characters)', 'x… (over 200 characters)')
    """
    if text is None:
        return None
    first = printable(text[0]) if len(text) >= SHORT else ""
    length = f"over {SHOWN_LENGTH}" if len(text) > SHOWN_LENGTH else str(len(text))
    return f"{first}… ({length} character{'' if len(text) == 1 else 's'})"


def mask_row(row: dict[str, Any]) -> dict[str, Any]:
    """Mask the key of a row and the text of its error. Both may hold values of the log."""
    return {
        **row,
        "key": [mask(text) for text in row["key"]],
        **{name: mask(row[name]) for name in ("error_key", "error") if name in row},
    }
