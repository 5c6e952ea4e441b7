"""Says what each line of the log is, and why the rows of the two tables differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .example import Line
    from .play import Broken, Outcome, Row


class Reason(NamedTuple):
    """Why one order is as it is in the two tables."""

    order_id: int
    merged: str
    """Its row in the table of the MERGE."""
    ours: str
    """Its row in the table of trueup, or its error."""
    differs: bool
    why: str


def notes_of(lines: Sequence[Line]) -> Iterator[str]:
    """Say of each line what is special about it; an empty text for nothing."""
    for number, line in enumerate(lines):
        before = [one for one in lines[:number] if one.order_id == line.order_id]
        newest = max(before, key=lambda one: one.position, default=None)
        same = next((one for one in before if content(one) == content(line)), None)
        equal = next((one for one in before if one.position == line.position), None)
        if same is not None and newest is not None:
            is_replay = newest.position > line.position
            yield f"{'a replay' if is_replay else 'a duplicate'} of line {same.line}"
        elif equal is not None:
            yield f"a tie with line {equal.line}"
        elif newest is not None and newest.position > line.position:
            yield f"late: older than line {newest.line}"
        elif line.op == "D":
            yield "a delete"
        elif line.amount is None:
            yield "a bad record"
        else:
            yield ""


def content(line: Line) -> tuple[object, ...]:
    """Return what a line says, without where and when it arrived."""
    return line[2:]


def reasons(outcome: Outcome) -> list[Reason]:
    """Say why each order is as it is."""
    merged = {row.order_id: row for row in outcome.merged}
    ours = {row.order_id: row for row in outcome.rows}
    errors = {error.order_id: error for error in outcome.errors}
    found = []
    for order_id in sorted({line.order_id for line in outcome.lines}):
        lines = [line for line in outcome.lines if line.order_id == order_id]
        one, other, error = merged.get(order_id), ours.get(order_id), errors.get(order_id)
        differs = error is not None or values(one) != values(other)
        found.append(
            Reason(
                order_id,
                describe_row(one),
                describe_error(error) if error else describe_row(other),
                differs,
                why(lines, one, other, error) if differs else "Both agree.",
            )
        )
    return found


def why(lines: Sequence[Line], merged: Row | None, ours: Row | None, error: Broken | None) -> str:
    """Say why the two tables differ in one order."""
    newest = max(line.position for line in lines)
    first, *others = [line for line in lines if line.position == newest]
    taken = next((line for line in lines if merged and line.line == merged.line), None)
    if error is not None and error.kind == "tie":
        tied = " and ".join(str(line.line) for line in (first, *others))
        return (
            f"Lines {tied} have the same position {newest}, but not the same content: nobody can"
            f" know which one is newer. The MERGE took line {taken.line if taken else '?'}, because"
            " it came last. trueup shows an error until a newer line comes."
        )
    if error is not None:
        return (
            f"Line {first.line} is broken: {error.error}. The MERGE wrote it. trueup shows an error"
            " until a good line comes."
        )
    if taken is None:
        return f"Line {first.line} is the newest one. The MERGE has lost its row."
    late = f"Line {taken.line} came last, but its position {taken.position} is older than {newest}"
    if ours is None:
        return (
            f"Line {first.line} deleted the order. {late}: the MERGE made the row again. trueup"
            " remembers the delete."
        )
    return f"{late} of line {first.line}. The MERGE took what came last. trueup takes the newest."


def values(row: Row | None) -> tuple[object, ...] | None:
    """Return the values of a row that people read."""
    return None if row is None else (row.status, row.amount)


def describe_row(row: Row | None) -> str:
    """Write a row in a few words."""
    if row is None:
        return "no row"
    return f"{row.status}, {'null' if row.amount is None else row.amount}"


def describe_error(error: Broken) -> str:
    """Write an error in a few words."""
    return f"error: {error.kind if error.kind == 'tie' else error.error}"
