"""How the facts about a key are written for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dbt_trueup.printable import cut, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import CommandFact, Explanation, UpdateFact


def describe(explanation: Explanation) -> str:
    """Describe what is known of a key: log and store, the commands, the updates."""
    sections = [
        name_key(explanation),
        describe_places(explanation),
        describe_list(
            "commands",
            [describe_command(one) for one in explanation.commands],
            explanation.command_count,
        ),
        describe_list(
            "updates",
            [describe_update(one, has_ticks=explanation.has_ticks) for one in explanation.updates],
            explanation.update_count,
        ),
    ]
    if not (explanation.commands or explanation.updates):
        hint = "; if null keys are errors, ask for --error-key null"
        is_null = list(explanation.key.values()) == [None]
        sections[2:] = [f"neither the log nor the store has this key{hint * is_null}"]
    return "\n\n".join([*sections, explanation.rule])


def name_key(explanation: Explanation) -> str:
    """Name the collection and the key."""
    if explanation.error_key is not None:
        return f"{explanation.collection}: error key {explanation.error_key!r}"
    parts = [
        f"{name} is null" if value is None else f"{name} = {value!r}"
        for name, value in explanation.key.items()
    ]
    return f"{explanation.collection}: {', '.join(parts)}"


def describe_places(explanation: Explanation) -> str:
    """Describe what the log says of the key, and what the store has."""
    read_by = "" if explanation.read_by is None else f", read by batch {explanation.read_by}"
    lines = [f"log    {line(explanation.log)}", f"store  {line(explanation.store)}{read_by}"]
    if explanation.order_error:
        lines.append("       and an error beside it: a command of this key has no order")
    return "\n".join(lines)


def describe_list(name: str, lines: Sequence[str], total: int) -> str:
    """Put a heading above the lines. It says how many are left out.

    Example:
        >>> print(describe_list("updates", ["batch 4"], 21))
        updates, the newest first; 20 of 21 are left out
          batch 4
        >>> describe_list("updates", [], 0)
        'updates  none'
    """
    if not lines:
        return f"{name}  none"
    left_out = total - len(lines)
    heading = f"{name}, the newest first" + (
        f"; {left_out:,} of {total:,} are left out" if left_out else ""
    )
    return "\n".join([heading, *(f"  {one}" for one in lines)])


def describe_command(one: CommandFact) -> str:
    """Describe a command, and below it the rule by which it won or lost."""
    where = "no order" if one.order is None else f"order {printable(one.order)}"
    parts = [f"{where}  {one.op}"]
    if one.other_key is not None:
        parts[0] += f" {'to' if one.op == 'move' else 'from'} {line(one.other_key)}"
    if one.content is not None and one.op != "move":
        unchanged = f" with {', '.join(one.unchanged)} unchanged" if one.unchanged else ""
        parts.append(line(one.content) + printable(unchanged))
    if one.count > 1:
        parts.append(f"({one.count} times)")
    return f"{'  '.join(parts)}\n    {one.verdict}: {printable(one.rule)}"


def describe_update(one: UpdateFact, *, has_ticks: bool) -> str:
    """Describe an update with its batch, tick and cause.

    Example:
        >>> from .facts import UpdateFact
        >>> describe_update(UpdateFact(2, 1700000000000, -1, '{"v":1}', None), has_ticks=False)
        'batch 2 at 2023-11-14T22:13:20+00:00  -  {"v":1}'
    """
    at = one.tick if has_ticks else datetime.fromtimestamp(one.tick / 1000, UTC).isoformat()
    cause = f"  cause {one.cause}" if one.cause else ""
    sign = "+" if one.diff > 0 else "-"
    return f"batch {one.batch} at {at}  {sign}  {line(one.content)}{cause}"


def line(text: str) -> str:
    """Write a value in one line. A long one is cut."""
    return cut(printable(text))
