"""The counts of all executions of the long forms. docs/under-fire.md shows their sums."""

from __future__ import annotations

import fcntl
import json
import re
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = Path(__file__).with_name("counts.json")
PAGE = Path(__file__).parents[2] / "docs" / "under-fire.md"

TABLES = {
    "interleavings": "the other run",
    "kills": "fault",
    "random": "options of the collection",
    "happened": "what happened",
    "executions": "date",
}
"""The tables of the page, each with its first header."""

FAULTS = {
    "before": "SIGKILL before a statement",
    "after": "SIGKILL after a statement",
    "during": "SIGKILL of the run during a statement, which Spark completes meanwhile",
    "lose": "a reply is lost after its statement has committed",
    "twice": "a statement is executed twice",
    "jvm": "SIGKILL of the run and its JVM during a statement that writes",
}
"""The faults of a run."""


def executions() -> list[dict[str, Any]]:
    """All executions so far."""
    found: list[dict[str, Any]] = json.loads(PATH.read_text())
    return found


def add(kind: str, seed: int, classes: Mapping[str, int], happened: Mapping[str, int]) -> None:
    """Add the scripts of an execution that found no violation, and show the sums on the page.

    Args:
        kind: `interleavings`, `kills`, or `random`.
        seed: Its seed.
        classes: How often each class of script was played and took effect.
        happened: What else was counted.
    """
    execution = {
        "kind": kind,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "seed": seed,
        "classes": dict(classes),
        "happened": dict(happened),
    }
    with PATH.open() as lock:
        # Executions of several kinds may end at the same moment. Closing the file frees the lock.
        fcntl.flock(lock, fcntl.LOCK_EX)
        lines = ",\n".join(json.dumps(one) for one in [*executions(), execution])
        PATH.write_text(f"[\n{lines}\n]\n")
        show()


def show() -> None:
    """Write the sums of all executions on the page."""
    text = PAGE.read_text()
    for name in TABLES:
        text = re.sub(shown(name), lambda _, name=name: table(name), text)  # type: ignore[misc]
    PAGE.write_text(text)


def shown(name: str) -> str:
    """A pattern of a table of the page."""
    return rf"\| {TABLES[name]} \|.*\n(?:\|.*\n)*"


def totals(kind: str, field: str) -> Counter[str]:
    """The sums over all executions of a kind. `field` is `classes` or `happened`."""
    sums = Counter[str]()
    for execution in executions():
        if execution["kind"] == kind:
            sums.update(execution[field])
    return sums


def table(name: str) -> str:
    """A table of the page: the sums of a kind, what else happened, or the list of executions."""
    if name == "executions":
        rows = [
            f"| {one['date']} | {one['kind']} | {one['seed']} | {sum(one['classes'].values())} |"
            for one in executions()
        ]
        return "\n".join(
            ["| date | kind | seed | scripts |", "| --- | --- | --- | --- |", *rows, ""]
        )
    head = [f"| {TABLES[name]} | how often |", "| --- | --- |"]
    if name == "happened":
        happened = Counter[str]()
        for kind in ("interleavings", "kills", "random"):
            happened += totals(kind, "happened")
        return "\n".join(
            [*head, *(f"| {each} | {count} |" for each, count in happened.items()), ""]
        )
    classes = totals(name, "classes")
    names = labels().get(name, {})
    rows = [f"| {names.get(each, f'`{each}`')} | {count} |" for each, count in classes.items()]
    return "\n".join([*head, *rows, f"| all | {classes.total()} |", ""])


def labels() -> dict[str, dict[str, str]]:
    """What the page calls each class."""
    from tests.faults.scripts import SITUATIONS  # noqa: PLC0415 - scripts need dbt

    return {
        "interleavings": {name: each.other for name, each in SITUATIONS.items()},
        "kills": FAULTS,
    }
