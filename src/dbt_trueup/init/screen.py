"""Writes guesses for people."""

from __future__ import annotations

from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from dbt_trueup.printable import printable

if TYPE_CHECKING:
    from .facts import Facts, Guess

HIDDEN = ("old_key", "place", "skip_when", "table", "ties", "truncate_when", "value", "message_key")
"""The fields that are shown only if they have a value that is not the usual one."""

WIDTHS = (12, 34, 62)
"""How wide the columns of the table are: the field, the guess, and why."""


def describe_guesses(facts: Facts) -> str:
    """All guesses as a table, and what may surprise the user."""
    lines = row_lines("field", "guess", "why")
    for one in facts.guesses.values():
        if one.field not in HIDDEN or one.value or not one.is_sure:
            lines += row_lines(one.field + ("" if one.is_sure else " ?"), one.text(), one.why)
    for one in facts.guesses.values():
        lines += [f"note: {printable(warning)}" for warning in one.warnings]
    return "\n".join(["", *lines, ""])


def row_lines(*cells: str) -> list[str]:
    """A row of the table, in as many lines as its longest cell needs."""
    columns = [
        wrap(printable(cell), width) or [""] for cell, width in zip(cells, WIDTHS, strict=True)
    ]
    return [
        "  ".join(f"{part:<{width}}" for part, width in zip(parts, WIDTHS, strict=True)).rstrip()
        for parts in zip_longest(*columns, fillvalue="")
    ]


def describe_unsure(facts: Facts) -> str:
    """Say which options the user must give, with their candidates."""
    return "nothing is written: " + "; ".join(map(describe_option, facts.unsure))


def describe_option(one: Guess) -> str:
    """Say which option replaces a guess, why it is needed, and what it may be.

    Example:
        >>> from dbt_trueup.init.facts import Guess
        >>> describe_option(Guess("key", None, "no column is called id", False, ("a", "b")))
        'give --key, because the guess is not sure (no column is called id); candidates: a | b'
    """
    candidates = " | ".join(one.candidates)
    what = f"give {one.option}, because the guess is not sure ({one.why})"
    return printable(f"{what}; candidates: {candidates}" if candidates else what)
