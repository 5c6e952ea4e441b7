"""Shows the example on a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from .reasons import notes_of, reasons

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .play import Outcome

WIDTH = 92
"""Longer texts are wrapped."""


def describe(outcome: Outcome) -> str:
    """Write what happened, in colours. `click.echo` leaves them out if it is no terminal."""
    found = reasons(outcome)
    log = [[str(word if word is not None else "") for word in line[:7]] for line in outcome.lines]
    wrong = sum(one.differs for one in found)
    parts = [
        title("The log, in three deliveries"),
        *table(
            ["line", "delivery", "position", "op", "order_id", "status", "amount"],
            log,
            [click.style(note, fg="yellow") for note in notes_of(outcome.lines)],
        ),
        title("The two tables after the last delivery"),
        *table(
            ["order_id", "a plain MERGE", "trueup"],
            [[str(one.order_id), one.merged, one.ours] for one in found],
            [mark(differs=one.differs) for one in found],
        ),
        title(f"Why {wrong} of {len(found)} rows differ"),
        *(
            textwrap.fill(
                f"order {one.order_id}: {one.why}",
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
            )
            for one in found
        ),
        title("What dbt said"),
        *(f"  {text}" for text in outcome.batches),
        "",
        f"Spark and dbt really did this, in {outcome.seconds:.0f} s. For your own log: trueup init",
    ]
    return "\n".join(parts)


def title(text: str) -> str:
    """Write a title with an empty line before it."""
    return "\n" + click.style(text, bold=True)


def mark(*, differs: bool) -> str:
    """Write whether the two tables agree in a row."""
    return click.style("differs", fg="red") if differs else click.style("same", fg="green")


def table(names: Sequence[str], rows: list[list[str]], notes: list[str]) -> Iterator[str]:
    """Write the lines of a table, each with a note after it."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    for row, note in zip([list(names), *rows], ["", *notes], strict=True):
        cells = [
            cell.rjust(width) if row is not names and cell.isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        text = "  ".join(cells)
        shown = click.style(text, dim=True) if row == list(names) else text
        yield f"  {shown}  {note}".rstrip()
