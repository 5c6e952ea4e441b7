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

MOST_POINTS = 10_000
"""How many batches, or groups of older batches, all collections of a report have together."""

MOST_POINTS_OF_ONE = 1000
"""The same for one collection."""

RECENT_SHARE = 0.8
"""The share of these points that are single batches. Groups of older batches take the rest."""

MOST_ROWS = 50
"""How many wrong rows, and how many open errors, a report shows of one collection."""

ERROR_CLASS = re.compile(r"(?:\w+ Error )*(\[[A-Z][A-Z0-9_.]*\])")
"""How an error begins that Spark has a class for. What follows may hold values."""


@dataclass(frozen=True)
class Collection:
    """What a report shows of a collection. The names are those of the JSON."""

    name: str
    has_run: bool = False
    has_log: bool = False
    """False if a SELECT defines the collection."""
    key: list[str] = field(default_factory=list)
    batch: int = 0
    """The last batch of the changelog."""
    applied_batch: int | None = None
    """The last batch that the state has applied."""
    frontier: int | None = None
    rows: int = 0
    open_errors: int = 0
    errors_of_a_day: int = 0
    """By how many the open errors grew in 24 hours."""
    log: dict[str, Any] | None = None
    """`commands` that are not settled, `commands_to_settle` of them, and the `upper` of the log."""
    batches: list[dict[str, Any]] = field(default_factory=list)
    """Groups of batches, oldest first. A recent batch is a group of its own."""
    error_kinds: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    """The newest open errors."""
    buckets: list[dict[str, int]] = field(default_factory=list)
    """The rows of each bucket, by the certificate of the last batch."""
    wrong_buckets: list[int] = field(default_factory=list)
    """The buckets in which the state differs from that certificate."""
    corrections: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the last comparison or heal, each with its cause."""
    wrong_rows: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the state that are wrong now."""

    @property
    def is_behind(self) -> bool:
        """Whether the next run has commands to settle."""
        return self.log is not None and self.log["commands_to_settle"] > 0

    @property
    def ticks_behind(self) -> int | None:
        """From the frontier to the end of the log; None if the log has no ticks."""
        upper = self.log["upper"] if self.log else None
        return None if upper is None or self.frontier is None else upper - self.frontier

    @property
    def is_applied(self) -> bool:
        """Whether the state has all batches of the changelog."""
        return self.applied_batch == self.batch


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
    limits = limits_of(len(shown))
    found, unreadable = read_collections(options, shown, limits, show_values=show_values)
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
    options: Sequence[str], names: Sequence[str], limits: dict[str, int], *, show_values: bool
) -> tuple[list[Collection], dict[str, str]]:
    """Read collections. Return them, and a sentence about each that cannot be read, by its name.

    Raises:
        DbtError: None of them can be read.
    """
    found: list[Collection] = []
    unreadable: dict[str, str] = {}
    for name in names:
        try:
            found.append(read_collection(options, name, limits, show_values=show_values))
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


def limits_of(collection_count: int) -> dict[str, int]:
    """Return how much a report shows of each collection.

    Example:
        >>> limits_of(1)
        {'recent': 800, 'older': 200, 'rows': 50}
        >>> limits_of(100)
        {'recent': 80, 'older': 20, 'rows': 50}
    """
    points = min(MOST_POINTS_OF_ONE, MOST_POINTS // max(1, collection_count))
    recent = int(points * RECENT_SHARE)
    return {"recent": recent, "older": points - recent, "rows": MOST_ROWS}


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
        sentences.append(
            f"The oldest {old:,} of {collection.batch:,} batches of {collection.name} are shown"
            f" in {count(len(grouped), 'group')}."
        )
    for what, rows, total in (
        ("open errors", collection.errors, collection.open_errors),
        ("corrected rows", collection.corrections, count_rows(collection.corrections)),
        ("wrong rows", collection.wrong_rows, count_rows(collection.wrong_rows)),
    ):
        if total > len(rows):
            sentences.append(f"{len(rows):,} of {total:,} {what} of {collection.name} are listed.")
    return sentences


def count_rows(rows: Sequence[dict[str, Any]]) -> int:
    """Count rows of which only some are listed: each has the number of all rows."""
    return int(rows[0]["all_rows"]) if rows else 0


def read_collection(
    options: Sequence[str], name: str, limits: dict[str, int], *, show_values: bool
) -> Collection:
    """Ask dbt about one collection.

    It searches for the wrong rows of a state only if the certificate shows that there are some.
    """
    call = dbt.call("_get_report_select", name, limits)
    rows = dbt.query(options, f"{{{{ {call} }}}}")
    wrong_rows: list[dict[str, Any]] = []
    if is_wrong_now(rows):
        call = dbt.call("_get_wrong_rows_select", name, limits["rows"])
        wrong_rows = dbt.query(options, f"{{{{ {call} }}}}")
    return parse_collection(name, rows, wrong_rows, show_values=show_values)


def is_wrong_now(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether the state has all batches, and differs from the certificate of the last."""
    parts = split(rows)
    (facts,) = parts["collection"]
    return (
        facts["has_run"]
        and facts["batch"] == facts["applied_batch"]
        and any(each["wrong"] for each in parts.get("bucket", []))
    )


def split(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of `trueup._get_report_select`, by part."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["part"], []).append(json.loads(row["value"]))
    return parts


def parse_collection(
    name: str,
    rows: Sequence[dict[str, Any]],
    wrong_rows: Sequence[dict[str, Any]],
    *,
    show_values: bool,
) -> Collection:
    """Read the answers of `trueup._get_report_select` and `trueup._get_wrong_rows_select`."""
    parts = split(rows)
    (facts,) = parts["collection"]
    if not facts["has_run"]:
        return Collection(name)
    (buckets,) = parts["bucket"]

    def masked(listed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return list(listed) if show_values else [mask_row(row) for row in listed]

    return Collection(
        name=name,
        log=next(iter(parts.get("log", [])), None),
        batches=join_batches(parts),
        error_kinds={row["kind"]: row["open_errors"] for row in parts.get("error_kind", [])},
        errors=masked(parts.get("error", [])),
        buckets=[
            {"bucket": one["bucket"], "rows": one["diff_sum"]} for one in buckets["certified"] or []
        ],
        wrong_buckets=buckets["wrong"],
        corrections=masked(parts.get("correction", [])),
        wrong_rows=masked(wrong_rows),
        **facts,
    )


def join_batches(parts: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Add the durations of the steps, and the corrections by cause, to each group of batches."""
    steps = {row["batch_group"]: row for row in parts.get("step", [])}
    causes: dict[int, dict[str, int]] = {}
    for row in parts.get("cause", []):
        causes.setdefault(row["batch_group"], {})[row["cause"]] = row["keys"]
    joined = []
    for each in sorted(parts.get("batch", []), key=lambda row: row["first"]):
        group = each.pop("batch_group")
        step = steps.get(group, {})
        joined.append(
            {
                **each,
                "append_seconds": step.get("append_seconds"),
                "apply_seconds": step.get("apply_seconds"),
                "causes": causes.get(group, {}),
            }
        )
    return joined
