"""Late commands of the keys from which a key takes values.

A command can change a key and leave columns unchanged, as with Debezium and wal2json. It takes
these columns from the old key. If a command of the old key comes late, the new key differs, too.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .facts import explain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Explanation

LATE = frozenset(
    {"late_corrected", "late_dropped", "late_stops", "late_superseded", "late_waiting", "older"}
)
"""The verdicts on commands that explain why a changelog differs from the fold of its log."""

WAITING = frozenset({"late_superseded", "late_waiting"})
"""Of these, the verdicts on commands for which the next run compares all keys."""


def explain_with_sources(
    options: Sequence[str],
    collection: str,
    key: dict[str, str | None],
    error_key: str | None = None,
    latest: int | None = 20,
) -> Explanation:
    """Ask dbt about one key, like `explain`, and about the keys from which it takes values.

    These keys are asked only if no command of the key itself explains why its log differs.
    """
    found = explain(options, collection, key, error_key, latest)
    if not any(row["verdict"] == "differ" for row in found.rows):
        return found
    whole = found
    if len(found.commands) < found.command_count:
        whole = explain(options, collection, key, error_key, None)
    source = find_late_source(options, whole)
    return with_late_source(found, *source) if source else found


def find_late_source(
    options: Sequence[str], explanation: Explanation
) -> tuple[str, list[dict[str, Any]]] | None:
    """Find a key with a late command that changes the values which a key takes from it.

    The key may also take them through other keys. The late command is not after the last command
    that takes them.

    Args:
        options: Options for dbt's command line.
        explanation: The key that takes values, with all of its commands.

    Returns:
        The key in JSON, and its late commands. None if there is no such key.
    """
    taken = last_taken(explanation)
    keys = list(taken)
    for old_key in keys:
        source = explain(options, explanation.collection, read_json_key(old_key), None, None)
        if late := late_commands(source, taken[old_key]):
            return old_key, late
        for key, tick in last_taken(source, taken[old_key]).items():
            if key not in taken or taken[key] < tick:
                taken[key] = tick
                keys.append(key)
    return None


def last_taken(explanation: Explanation, until: int | None = None) -> dict[str, int]:
    """Return the keys, in JSON, from which settled commands of a key take values.

    Each has the tick of the last command that takes values from it. With `until`, later commands
    do not count.
    """
    found: dict[str, int] = {}
    for command in explanation.commands:
        if "_old_key" in command and command["verdict"] != "not_settled":
            key, tick = command["_old_key"], command["_ts"]
            if until is None or tick <= until:
                found[key] = max(tick, found.get(key, tick))
    return found


def late_commands(explanation: Explanation, until: int | None = None) -> list[dict[str, Any]]:
    """Return the late commands of a key. With `until`, those of later ticks do not count."""
    return [
        command
        for command in explanation.commands
        if command["verdict"] in LATE and (until is None or command["_ts"] <= until)
    ]


def with_late_source(
    found: Explanation, old_key: str, late: Sequence[dict[str, Any]]
) -> Explanation:
    """Return the explanation of a key that differs because another key has late commands.

    Example:
        >>> from .facts import Explanation
        >>> found = Explanation("c", {"k": "2"}, None, [{"source": "log", "verdict": "differ"}])
        >>> row = with_late_source(found, '{"k":1}', [{"verdict": "late_dropped"}]).rows[0]
        >>> row["verdict"], row["rule"][-63:]
        ('late', 'came late for the key {"k":1}, from which this key takes values')
    """
    waits = any(command["verdict"] in WAITING for command in late)
    rule = (
        f"differs from the changelog, because a command came late for the key {old_key}, "
        "from which this key takes values"
        + ("; the next run writes the difference" if waits else "")
    )
    explained = {"verdict": "waits" if waits else "late", "rule": rule}
    rows = [row | explained if row["verdict"] == "differ" else row for row in found.rows]
    return replace(found, rows=rows)


def read_json_key(text: str) -> dict[str, str | None]:
    """Read a key in JSON as the words of a key.

    Example:
        >>> read_json_key('{"shop":"b","no":1.10,"part":null}')
        {'shop': 'b', 'no': '1.10', 'part': None}
    """
    # A decimal may have more digits than a float.
    return {name: as_word(one) for name, one in json.loads(text, parse_float=Decimal).items()}


def as_word(value: Any) -> str | None:
    """Write a value of a key, as it comes from JSON, as a text that can be cast to its type.

    Example:
        >>> as_word("a"), as_word(None), as_word(True), as_word([1]), as_word(Decimal("0.10"))
        ('a', None, 'true', '[1]', '0.10')
        >>> as_word({"a": Decimal("1234567890123456789.01")})
        '{"a": 1234567890123456789.01}'
    """
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, str):
        return value
    # `json` writes no Decimal. As a text between two zero bytes it keeps its digits.
    text = json.dumps(value, default=lambda number: f"\0{number}\0")
    return re.sub(r'"\\u0000([^"]*)\\u0000"', r"\1", text)
