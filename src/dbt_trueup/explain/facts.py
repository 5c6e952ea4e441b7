"""The facts about one key of a collection, asked from dbt with one query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

FINE = frozenset({"agree", "late", "late_forgotten", "scheduled", "sound", "unknown"})
"""The verdicts on rows that ask for no action. With some of them an option wants the difference."""


@dataclass(frozen=True)
class Explanation:
    """What is known of one key. Each fact is a row of `trueup.explain`, without its nulls."""

    collection: str
    key: dict[str, str | None]
    error_key: str | None
    rows: list[dict[str, Any]] = field(default_factory=list)
    """What the log or the SELECT, the changelog and the state have."""
    commands: list[dict[str, Any]] = field(default_factory=list)
    """The newest commands, and the winner."""
    command_count: int = 0
    """The number of all commands, also of those that are left out."""
    updates: list[dict[str, Any]] = field(default_factory=list)
    """The newest updates."""
    update_count: int = 0

    @property
    def agrees(self) -> bool:
        """Whether log, changelog and state agree, or an option wants the difference."""
        return all(row["verdict"] in FINE for row in self.rows)


def explain(
    options: Sequence[str],
    collection: str,
    key: dict[str, str | None],
    error_key: str | None = None,
    latest: int | None = 20,
) -> Explanation:
    """Ask dbt about one key.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        collection: The name of the collection.
        key: The key columns with their values, such as `{"path": "README.md"}`.
        error_key: The error key; then the key is empty.
        latest: How many commands, and how many updates, are shown; all of them for None.

    Raises:
        UsageError: The project has no such collection, or no key is given.
        DbtError: dbt or the query failed, for example because a value cannot be cast.
    """
    dbt.require_collection(collection, dbt.collections(dbt.parse(options)))
    if bool(key) == (error_key is not None):
        got = "both" if key else "neither"
        message = (
            f"The key must be given as COLUMN=VALUE, or else as --error-key.\nGot: {got}\n"
            "Give a value for each key column."
        )
        raise UsageError(message)
    given: dict[str, object] = {"key": key} if error_key is None else {"error_key": error_key}
    call = dbt.call("explain", collection, **given, latest=latest)
    facts = dbt.query(options, f"{{{{ {call} }}}}")
    commands, updates = (select(facts, fact) for fact in ("command", "update"))
    return Explanation(
        collection=collection,
        key=key,
        error_key=error_key,
        rows=[show(fact) for fact in select(facts, "row")],
        commands=[show(fact) for fact in commands],
        command_count=commands[0]["row_count"] if commands else 0,
        updates=[show(fact) for fact in updates],
        update_count=updates[0]["row_count"] if updates else 0,
    )


def read_key(words: Sequence[str], nulls: Sequence[str]) -> dict[str, str | None]:
    """Read the words of a key. The value begins after the first `=`.

    Example:
        >>> read_key(["path=a=b"], ["part"])
        {'path': 'a=b', 'part': None}
    """
    key: dict[str, str | None] = {}
    for name, sign, value in [word.partition("=") for word in words]:
        if not (name and sign):
            message = f"Each word after the collection must be COLUMN=VALUE.\nGot: {name}{sign}"
            raise UsageError(message)
        if name in key:
            message = f"Each key column must be given once.\nGot: {name} twice"
            raise UsageError(message)
        key[name] = value
    for name in nulls:
        if name in key:
            message = f"A key column must have a value or be --null.\nGot: both for {name}"
            raise UsageError(message)
        key[name] = None
    return key


def select(facts: Sequence[dict[str, Any]], fact: str) -> list[dict[str, Any]]:
    """Return the facts of one kind, the newest first."""
    found = [each for each in facts if each["fact"] == fact]
    return sorted(found, key=lambda each: (each["fact_no"], each["row_no"]))


def show(fact: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a fact does not have, and the columns that only count."""
    counts = {"fact", "fact_no", "row_no", "row_count"}
    return {name: value for name, value in fact.items() if name not in counts and value is not None}
