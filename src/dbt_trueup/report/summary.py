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
    """Return three lines, and one before them if collections could not be read."""
    has_run = [one for one in collections if one.has_run]
    missing = f"Could not be read, and is not counted below: {', '.join(some(unreadable))}."
    return [
        *([Line(is_good=False, text=missing)] if unreadable else []),
        summarize_logs(collections),
        summarize_certificates(has_run),
        summarize_errors(has_run),
    ]


def summarize_logs(collections: Sequence[Collection]) -> Line:
    """Say which collections are behind their logs."""
    new = [one.name for one in collections if not one.has_run]
    selects = [one.name for one in collections if one.has_run and not one.has_log]
    logs = [one for one in collections if one.has_run and one.has_log]
    behind = [one for one in logs if one.is_behind]
    sentences = []
    if logs:
        fresh = describe_fresh(logs, len(logs) - len(behind))
        lags = [describe_lag(one) for one in behind]
        sentences.append("; ".join([*fresh, *some(lags)]) + ".")
    if selects:
        sentences.append(f"A SELECT without a log defines {', '.join(some(selects))}.")
    if new:
        verb = "has" if len(new) == 1 else "have"
        sentences.append(f"{', '.join(some(new))} {verb} not run yet.")
    return Line(not behind and not new, " ".join(sentences) or "There is no collection.")


def describe_fresh(logs: Sequence[Collection], fresh: int) -> list[str]:
    """Say how many collections with a log are up to date; nothing if it is a single one, behind."""
    total = count(len(logs), "collection")
    if len(logs) == 1:
        return [f"{logs[0].name} is up to date"] if fresh else []
    if fresh == len(logs):
        return [f"All {total} with a log are up to date"]
    return [f"{fresh:,} of {total} with a log {'is' if fresh == 1 else 'are'} up to date"]


def describe_lag(collection: Collection) -> str:
    """Say how far a collection is behind its log."""
    log = collection.log or {}
    commands = count(log["commands"], "command")
    if collection.ticks_behind is None:
        return f"{collection.name} is {commands} behind its log"
    ticks = count(collection.ticks_behind, "tick")
    return f"{collection.name} is {ticks} ({commands}) behind its log"


def summarize_certificates(collections: Sequence[Collection]) -> Line:
    """Say which states differ from their certificates."""
    waiting = [one for one in collections if not one.is_applied]
    wrong = [one for one in collections if one.is_applied and one.wrong_buckets]
    if not waiting and not wrong:
        return Line(is_good=True, text="No state differs from its certificate.")
    clauses = [
        f"{one.name}_state differs from its certificate in"
        f" {count(len(one.wrong_buckets), 'bucket')}"
        for one in wrong
    ] + [describe_waiting(one) for one in waiting]
    advice = [advise_on_differences(wrong)] if wrong else []
    return Line(is_good=False, text=" ".join(["; ".join(some(clauses)) + ".", *advice]))


def advise_on_differences(wrong: Sequence[Collection]) -> str:
    """Say what to do if states differ from their certificates."""
    what, name = ("the", wrong[0].name) if len(wrong) == 1 else ("a", "<collection>")
    return (
        "The next run heals an edit that the snapshots of the state show."
        f" If {what} difference stays: dbt run-operation trueup.doctor --args"
        f" '{{collection: {name}}}'"
    )


def describe_waiting(one: Collection) -> str:
    """Say that a state and its changelog end with different batches."""
    if (one.applied_batch or 0) > one.batch:
        return (
            f"{one.name}_state has applied batch {one.applied_batch:,}, but the changelog ends with"
            f" batch {one.batch:,}: batches are lost"
        )
    return f"{one.name}_state has not applied batch {one.batch:,} yet"


def summarize_errors(collections: Sequence[Collection]) -> Line:
    """Say how many errors are open, and how many were a day ago."""
    total = sum(one.open_errors for one in collections)
    grown = sum(one.errors_of_a_day for one in collections)
    if not total and not grown:
        return Line(is_good=True, text="No open errors.")
    worst = sorted(collections, key=lambda one: -one.open_errors)
    names = some([f"{one.name} {one.open_errors:,}" for one in worst if one.open_errors])
    where = f": {', '.join(names)}" if names and len(collections) > 1 else ""
    number = count(total, "open error") if total else "No open errors"
    return Line(not total, f"{number} (24 hours ago: {total - grown:,}){where}.")


def some(texts: Sequence[str]) -> list[str]:
    """Return the first texts, and how many others there are.

    Example:
        >>> some(["a", "b", "c", "d", "e"])
        ['a', 'b', 'c', '2 others']
    """
    others = len(texts) - MOST_NAMES
    more = [count(others, "other")] if others > 0 else []
    return [*texts[:MOST_NAMES], *more]
