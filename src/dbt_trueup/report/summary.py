"""The lines at the top of a report: is it complete, is it fresh, is it right, is it clean?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dbt_trueup.plural import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .data import Collection

MOST_NAMES = 3
"""How many collections a line names."""


class Line(NamedTuple):
    """One line of the summary."""

    is_good: bool
    text: str


def summarize(collections: Sequence[Collection], unreadable: Sequence[str] = ()) -> list[Line]:
    """Return three lines, and others before them if there is something to say first."""
    has_run = [one for one in collections if one.has_run]
    new = [one.name for one in collections if not one.has_run]
    missing = f"Not readable, and not counted below: {some(unreadable)}."
    return [
        *([Line(is_good=False, text=missing)] if unreadable else []),
        *([Line(is_good=False, text=f"Not run yet: {some(new)}.")] if new else []),
        summarize_logs(has_run),
        summarize_certificates(has_run),
        summarize_errors(has_run),
        *(
            Line(is_good=False, text=f"{one.name}: {one.health['why']}.")
            for one in has_run
            if one.health["state"] == "warning"
        ),
    ]


def summarize_logs(collections: Sequence[Collection]) -> Line:
    """Say which collections have not read all of their logs."""
    known = [one for one in collections if one.health["is_behind"] is not None]
    behind = [one for one in known if one.health["is_behind"]]
    if not known:
        return Line(is_good=True, text="No collection has a log whose snapshots trueup can see.")
    if not behind:
        return Line(
            is_good=True, text=f"{count(len(known), 'collection')}: all of the log is read."
        )
    waiting = some([describe_lag(one) for one in behind])
    return Line(is_good=False, text=f"The log has rows that no batch has read: {waiting}.")


def describe_lag(collection: Collection) -> str:
    """Say how much of its log a collection has not read."""
    rows = collection.health["rows_waiting"]
    return f"{collection.name} ({'unknown' if rows is None else count(rows, 'row')})"


def summarize_certificates(collections: Sequence[Collection]) -> Line:
    """Say which stores differ from their certificates."""
    wrong = [one for one in collections if one.is_wrong]
    if not wrong:
        return Line(is_good=True, text="No store differs from its certificate.")
    found = some([f"{one.name} ({describe_damage(one)})" for one in wrong])
    advice = "Somebody has edited a store. The next run repairs it."
    return Line(is_good=False, text=f"Rows differ from the certificate: {found}. {advice}")


def describe_damage(collection: Collection) -> str:
    """Say what of a store differs."""
    buckets = len(collection.wrong_buckets)
    parts = [count(buckets, "bucket")] if buckets else []
    return " and ".join([*parts, *(["the history"] if collection.is_history_wrong else [])])


def summarize_errors(collections: Sequence[Collection]) -> Line:
    """Say how many errors are open."""
    total = sum(one.open_errors for one in collections)
    if not total:
        return Line(is_good=True, text="No open errors.")
    worst = sorted(collections, key=lambda one: -one.open_errors)
    names = some([f"{one.name} {one.open_errors:,}" for one in worst if one.open_errors])
    return Line(is_good=False, text=f"{count(total, 'open error')}: {names}.")


def some(texts: Sequence[str]) -> str:
    """Return the first texts, and how many others there are.

    Example:
        >>> some(["a", "b", "c", "d", "e"])
        'a, b, c, 2 others'
    """
    others = len(texts) - MOST_NAMES
    more = [count(others, "other")] if others > 0 else []
    return ", ".join([*texts[:MOST_NAMES], *more])
