"""Asks dbt what a report shows: one query for each collection."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.errors import DbtError
from dbt_trueup.plural import count

from .mask import mask_row

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_COLLECTIONS = 100
"""How many collections a report shows."""

LIMITS = {"recent": 50, "older": 10, "rows": 50}
"""How much a report shows of a collection: single batches, groups of older ones, open errors."""

ERROR_CLASS = re.compile(r"(?:\w+ Error )*(\[[A-Z][A-Z0-9_.]*\])")
"""How an error begins that Spark has a class for. What follows may hold values."""


@dataclass(frozen=True)
class Collection:
    """What a report shows of a collection. The names are those of the JSON."""

    name: str
    health: dict[str, Any]
    """Its row in `trueup_health`."""
    key: list[str] = field(default_factory=list)
    """The key columns; empty if the collection has not run."""
    rows: int = 0
    error_kinds: dict[str, int] = field(default_factory=dict)
    """How many errors of each kind are open."""
    errors: list[dict[str, Any]] = field(default_factory=list)
    """The newest open errors."""
    batches: list[dict[str, Any]] = field(default_factory=list)
    """Groups of batches, oldest first. A recent batch is a group of its own."""
    buckets: dict[int, int] = field(default_factory=dict)
    """The rows and errors of each bucket, by the certificate of the newest batch."""
    wrong_buckets: list[int] = field(default_factory=list)
    """The buckets in which the current rows differ from that certificate."""
    is_history_wrong: bool = False

    @property
    def has_run(self) -> bool:
        """Whether the collection has a store."""
        return bool(self.key)

    @property
    def open_errors(self) -> int:
        """How many errors are open."""
        return sum(self.error_kinds.values())

    @property
    def is_wrong(self) -> bool:
        """Whether the store differs from its certificate."""
        return bool(self.wrong_buckets or self.is_history_wrong)


@dataclass(frozen=True)
class Data:
    """What a report shows."""

    project: str
    generated_at: str
    """In UTC."""
    are_values_shown: bool
    collections: list[Collection]
    left_out: list[str]
    """What the report does not show, a sentence each."""
    unreadable: list[str] = field(default_factory=list)
    """The names of the collections that could not be read."""


def read_data(options: Sequence[str], names: Sequence[str] = (), *, show_values: bool) -> Data:
    """Ask dbt what a report shows.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        names: The collections; all of the project by default.
        show_values: Whether keys and the texts of errors are shown. Otherwise they are masked.

    Raises:
        UsageError: The project has no such collection.
        DbtError: dbt failed, or no collection could be read. One that cannot be read is left out.
    """
    manifest = dbt.parse(options)
    known = dbt.collections(manifest)
    for name in names:
        dbt.require_collection(name, known)
    chosen = list(dict.fromkeys(names)) or known
    shown = chosen[:MOST_COLLECTIONS]
    found, unreadable = read_collections(options, shown, show_values=show_values)
    return Data(
        project=manifest.metadata.project_name,
        generated_at=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S"),
        are_values_shown=show_values,
        collections=found,
        left_out=[
            *describe_left_out_collections(chosen),
            *unreadable.values(),
            *(one for each in found for one in describe_left_out(each)),
        ],
        unreadable=[*unreadable],
    )


def read_collections(
    options: Sequence[str], names: Sequence[str], *, show_values: bool
) -> tuple[list[Collection], dict[str, str]]:
    """Read collections. Return them, and a sentence about each that cannot be read, by its name.

    Raises:
        DbtError: None of them can be read.
    """
    found: list[Collection] = []
    unreadable: dict[str, str] = {}
    for name in names:
        try:
            found.append(read_collection(options, name, LIMITS, show_values=show_values))
        except DbtError as error:  # noqa: PERF203 - a query takes much longer
            unreadable[name] = describe_unreadable(name, str(error), show_values=show_values)
            if len(unreadable) == len(names):
                raise
    return found, unreadable


def describe_unreadable(name: str, error: str, *, show_values: bool) -> str:
    """Say that a collection could not be read. The text of the error may hold values.

    Example:
        >>> error = "Runtime Error [DIVIDE_BY_ZERO] Division by zero. Use ..."
        >>> describe_unreadable("a", error, show_values=False)
        'a could not be read: [DIVIDE_BY_ZERO]; `trueup report a --show-values` shows the error.'
    """
    if show_values:
        return f"{name} could not be read: {error}"
    found = ERROR_CLASS.match(error)
    what = f": {found[1]}" if found else ""
    return f"{name} could not be read{what}; `trueup report {name} --show-values` shows the error."


def describe_left_out_collections(names: Sequence[str]) -> list[str]:
    """Say how many collections are not shown."""
    more = len(names) - MOST_COLLECTIONS
    if more <= 0:
        return []
    return [
        f"{more:,} of {len(names):,} collections are not shown: name those that you want to see."
    ]


def describe_left_out(collection: Collection) -> list[str]:
    """Say what is not shown of a collection."""
    sentences = []
    grouped = [each for each in collection.batches if each["batches"] > 1]
    if grouped:
        old = sum(each["batches"] for each in grouped)
        last = collection.batches[-1]["last"]
        sentences.append(
            f"The oldest {old:,} of {last:,} batches of {collection.name} are shown"
            f" in {count(len(grouped), 'group')}."
        )
    listed, total = len(collection.errors), collection.open_errors
    if total > listed:
        sentences.append(f"{listed:,} of {total:,} open errors of {collection.name} are listed.")
    return sentences


def read_collection(
    options: Sequence[str], name: str, limits: dict[str, int], *, show_values: bool
) -> Collection:
    """Ask dbt about one collection."""
    call = dbt.call("_get_report_select", name, limits)
    return parse_collection(name, dbt.query(options, f"{{{{ {call} }}}}"), show_values=show_values)


def parse_collection(name: str, rows: Sequence[dict[str, Any]], *, show_values: bool) -> Collection:
    """Read the rows of `trueup._get_report_select`."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["part"], []).append(json.loads(row["value"]))
    (health,) = parts["health"]
    if "collection" not in parts:
        return Collection(name, health)
    (facts,), (damage,) = parts["collection"], parts["damage"]
    errors = parts.get("error", [])
    return Collection(
        name=name,
        health=health,
        errors=errors if show_values else [mask_row(row) for row in errors],
        batches=sorted(parts.get("batch", []), key=lambda row: row["first"]),
        buckets={one["bucket"]: one["rows"] for one in parts.get("bucket", [])},
        wrong_buckets=json.loads(damage["buckets"]),
        is_history_wrong=not damage["is_history_right"],
        **facts,
    )
