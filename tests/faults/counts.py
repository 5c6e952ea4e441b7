"""The counts of all executions of the long forms. docs/under-fire.md shows their sums."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.scripts import SITUATIONS
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PATH = Path(__file__).with_name("counts.json")
PAGE = Path(__file__).parents[2] / "docs" / "under-fire.md"

TABLES = {
    "interleavings": "the other run",
    "kills": "fault",
    "random": "options of the collection",
    "storage": "fault of a file, a disk or the catalog",
    "cluster": "fault on a cluster",
    "happened": "what happened",
    "executions": "date",
}
"""The tables of the page, each with its first header."""

COMMIT = subprocess.run(
    ["git", "describe", "--always", "--dirty"],
    cwd=PATH.parent,
    check=False,
    capture_output=True,
    text=True,
).stdout.strip()
"""The commit that is tested; empty outside of a repository."""

ENGINES = {"iceberg": "Iceberg", "delta": "Delta"}
"""The table formats, each with what the page calls it."""

FAULTS = {
    "before": "SIGKILL before a statement",
    "after": "SIGKILL after a statement",
    "during": "SIGKILL of the run during a statement, which Spark completes meanwhile",
    "lose": "a reply is lost after its statement has committed",
    "twice": "a statement is executed twice",
    "jvm": "SIGKILL of the run and its JVM during a statement that writes",
}
"""The faults of a run."""

MANY = "many"
"""The class of the scripts with three or four runs."""

LABELS = {
    "interleavings": {
        **{name: each.other for name, each in SITUATIONS.items()},
        MANY: "two or three other runs at once (before 2026-11-26 part of the first row)",
    },
    "kills": FAULTS,
    "random": {},
    "storage": {},
    "cluster": {
        **{
            f"{step}: killed {moment}": f"all executors are killed in the {step}, {moment}"
            for step in ("stage", "append", "apply")
            for moment in ("at its first task", "after a shuffle")
        },
        "attempts of a task that fails twice": "a task fails twice",
        "copies of a slow task": "a task hangs, and speculation starts a copy",
    },
}
"""What the page calls each class; a class of random scripts is shown as it is."""


def executions() -> list[dict[str, Any]]:
    """All executions so far."""
    found: list[dict[str, Any]] = json.loads(PATH.read_text())
    return found


def add(kind: str, seed: int, classes: Mapping[str, int], happened: Mapping[str, int]) -> None:
    """Add the scripts of an execution that found no violation, and show the sums on the page.

    Args:
        kind: `interleavings`, `kills`, `random`, `storage` or `cluster`.
        seed: Its seed.
        classes: How often each class of script was played and took effect.
        happened: What else was counted.
    """
    execution = {
        "kind": kind,
        "engine": TABLE_FORMAT,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": COMMIT,
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


def totals(kind: str, field: str, engine: str) -> Counter[str]:
    """The sums over all executions of a kind on an engine. `field` is `classes` or `happened`."""
    sums = Counter[str]()
    for execution in executions():
        if execution["kind"] == kind and execution["engine"] == engine:
            sums.update(execution[field])
    return sums


def by_engine(kinds: Sequence[str], field: str) -> dict[str, tuple[int, ...]]:
    """The sums of some kinds: each class with its count on each engine."""
    sums = [
        sum((totals(kind, field, engine) for kind in kinds), Counter[str]()) for engine in ENGINES
    ]
    # A class that has never happened is shown, too.
    classes = dict.fromkeys(
        each
        for execution in executions()
        if execution["kind"] in kinds
        for each in execution[field]
    )
    return {each: tuple(one[each] for one in sums) for each in classes}


def table(name: str) -> str:
    """A table of the page: the sums of a kind, what else happened, or the list of executions."""
    if name == "executions":
        rows = [
            [
                one["date"],
                one["kind"],
                ENGINES[one["engine"]],
                # The first executions did not note their commit.
                one.get("commit", ""),
                one["seed"],
                sum(one["classes"].values()),
            ]
            for one in executions()
        ]
        return markdown(["date", "kind", "engine", "commit", "seed", "scripts"], rows)
    if name == "happened":
        counted = by_engine(["interleavings", "kills", "random"], "happened")
        rows = [[each, *counts] for each, counts in counted.items()]
    else:
        counted = by_engine([name], "classes")
        rows = [[LABELS[name].get(each, f"`{each}`"), *counts] for each, counts in counted.items()]
        if rows:
            rows.append(["all", *map(sum, zip(*counted.values(), strict=True))])
    return markdown([TABLES[name], *(f"on {engine}" for engine in ENGINES.values())], rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
