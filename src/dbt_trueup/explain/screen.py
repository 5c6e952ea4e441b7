"""How the facts about a key are written for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dbt_trueup.printable import cut, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Explanation

DEBEZIUM_POSITION = tuple(f"_{number}" for number in range(1, 13))
"""The fields of the order that `trueup.debezium` takes from `source`."""


def describe(explanation: Explanation) -> str:
    """Describe what is known of a key: the rows, the commands, the updates."""
    sections = [
        name_key(explanation),
        "\n".join(describe_row(row) for row in explanation.rows),
        describe_winner(explanation) if explanation.rows[0]["source"] == "log" else "",
        describe_list(
            "commands",
            [describe_command(one) for one in explanation.commands],
            explanation.command_count,
        ),
        describe_list(
            "updates",
            [describe_update(one) for one in explanation.updates],
            explanation.update_count,
        ),
        "log, changelog and state agree, or the rules say why not"
        if explanation.agrees
        else "log, changelog and state do NOT agree: the first lines say where",
    ]
    return "\n\n".join(section for section in sections if section)


def name_key(explanation: Explanation) -> str:
    """Name the collection and the key.

    Example:
        >>> from .facts import Explanation
        >>> name_key(Explanation("orders", {"shop": "b", "no": None}, None))
        "orders: shop = 'b', no is null"
        >>> name_key(Explanation("orders", {}, "x00ff"))
        "orders: error key 'x00ff'"
    """
    if explanation.error_key is not None:
        return f"{explanation.collection}: error key {explanation.error_key!r}"
    parts = [
        f"{name} is null" if value is None else f"{name} = {value!r}"
        for name, value in explanation.key.items()
    ]
    return f"{explanation.collection}: {', '.join(parts)}"


def describe_row(row: dict[str, Any]) -> str:
    """Describe what one place has for the key, and whether it agrees."""
    place = f"{row['source']:<10}{content(row)}"
    return f"{place}\n          {row['verdict']}: {printable(row['rule'])}"


def describe_winner(explanation: Explanation) -> str:
    """Describe the command that the present row, or its absence, comes from.

    Example:
        >>> from .facts import Explanation
        >>> describe_winner(Explanation("orders", {"no": "1"}, None))
        'winner    none: neither the log nor the changelog has this key'
        >>> describe_winner(Explanation("orders", {"no": None}, None))[-51:]
        '; if null keys are errors, ask for --error-key null'
    """
    winners = [one for one in explanation.commands if one["verdict"] == "wins"]
    if not winners and not explanation.commands and not explanation.updates:
        hint = "; if null keys are errors, ask for --error-key null"
        is_null = list(explanation.key.values()) == [None]
        return f"winner    none: neither the log nor the changelog has this key{hint * is_null}"
    if not winners:
        return "winner    none: no command explains what the changelog has"
    return "\n".join(f"winner    {place(one)}  {content(one)}" for one in winners)


def describe_list(name: str, lines: Sequence[str], total: int) -> str:
    """Put a heading above the lines. It says how many are left out.

    Example:
        >>> print(describe_list("updates", ["tick 4"], 21))
        updates, the newest first; 20 of 21 are left out
          tick 4
        >>> describe_list("updates", [], 0)
        'updates   none'
    """
    if not lines:
        return f"{name:<10}none"
    left_out = total - len(lines)
    heading = f"{name}, the newest first" + (
        f"; {left_out:,} of {total:,} are left out" if left_out else ""
    )
    return "\n".join([heading, *(f"  {line}" for line in lines)])


def describe_command(command: dict[str, Any]) -> str:
    """Describe a command, and below it the rule by which it won or lost."""
    return f"{place(command)}  {content(command)}\n    {command['verdict']}: {command['rule']}"


def describe_update(update: dict[str, Any]) -> str:
    """Describe an update with its tick, batch, cause and commit time."""
    sign = "+" if update["_diff"] > 0 else "-"
    cause = f"  cause {update['_cause']}" if "_cause" in update else ""
    at = f" at {update['committed_at']}" if "committed_at" in update else ""
    return f"tick {update['_ts']}  {sign}  {content(update)}  batch {update['batch']}{at}{cause}"


def place(command: dict[str, Any]) -> str:
    """Name the tick, the order and the operation of a command."""
    tick = command.get("_ts", "none yet")
    return f"tick {tick}  order {order(command['_order'])}  {command['_op']}"


def order(fields: str) -> str:
    """Write the terms of an order, which come as JSON.

    Example:
        >>> order('{"_1":7}'), order('{"_1":7,"_2":null}'), order('{"_1":1234567890123456789.01}')
        ('7', '7, null', '1234567890123456789.01')
        >>> order('{"_1":{"a":null,"b":5}}'), order('{"_1":{"a":5,"b":null}}')
        ('(null, 5)', '(5, null)')
        >>> nulls = dict.fromkeys(DEBEZIUM_POSITION)
        >>> order(json.dumps({"_1": {**nulls, "_2": "bin.3", "_3": 154}}))
        '(bin.3, 154)'
        >>> order(json.dumps({"_1": {**nulls, "_1": 21}}))
        '21'
    """
    # A decimal keeps all its digits as a text.
    return printable(", ".join(map(term_text, json.loads(fields, parse_float=str).values())))


def term_text(term: Any) -> str:
    """Write one term of an order.

    A position of Debezium has fields for each kind of database, so most of them are null. They are
    left out.
    """
    if isinstance(term, dict):
        is_position = tuple(term) == DEBEZIUM_POSITION
        parts = [term_text(one) for one in term.values() if not (is_position and one is None)]
        return f"({', '.join(parts)})" if len(parts) > 1 else "".join(parts) or "null"
    return term if isinstance(term, str) else json.dumps(term)


def content(fact: dict[str, Any]) -> str:
    """Write a row or the text of an error. A long one is cut.

    Example:
        >>> content({"content": '{"v":1}'}), content({"_error": "no number"}), content({})
        ('{"v":1}', 'error: no number', '(no row)')
        >>> content({"content": '{"v":1,"w":null}', "_unchanged": ["w"]})
        '{"v":1,"w":null} with w unchanged'
        >>> content({"content": '{"v":1}', "_unchanged": ["w"], "_old_key": '{"k":7}'})
        '{"v":1} with w unchanged from {"k":7}'
    """
    parts = []
    if "content" in fact:
        parts.append(fact["content"])
    if "_error" in fact:
        parts.append(f"error: {fact['_error']}")
    text = " and ".join(parts) or ("" if fact.get("_op") in {"delete", "truncate"} else "(no row)")
    text = cut(printable(text))
    unchanged = fact.get("_unchanged")
    if not unchanged:
        return text
    source = f" from {printable(fact['_old_key'])}" if "_old_key" in fact else ""
    return f"{text} with {', '.join(unchanged)} unchanged{source}"
