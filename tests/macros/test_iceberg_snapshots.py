"""What the snapshots of an Iceberg table say about its commits."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros.package import in_model

ICEBERG = {"format": "iceberg/parquet"}
NOON = 1_000_000
"""When a run read the log at the snapshot 2, in seconds since 1970."""

COMMITS = [
    ("1", None, "append", NOON - 9000),
    ("2", "1", "append", NOON - 8000),
    ("3", "2", "append", NOON - 7000),
    ("4", "3", "delete", NOON + 10),
    ("9", "1", "append", NOON + 20),
]
"""Snapshot, parent, operation and time. The snapshots 3 and 9 were written to branches."""


def history() -> Any:
    """The package over a table with these commits."""

    def answer(query: str) -> SimpleNamespace:
        since = re.search(r"timestamp_seconds\((\d+)\)", query)
        first = int(since[1]) if since else 0
        return SimpleNamespace(rows=[row[:3] for row in COMMITS if row[3] >= first])

    return in_model("files_batch", queries=answer)


@pytest.mark.parametrize(
    ("last", "expected"),
    [("2", []), ("3", ["append"]), ("4", ["delete", "append"]), ("9", None), ("7", None)],
)
def test_a_branch_that_was_published_later_has_older_commits(
    last: str, expected: list[str] | None
) -> None:
    found = history()._get_commit_operations("lake.log", ICEBERG, "2", last, NOON)
    assert found == expected


@pytest.mark.parametrize(("through", "is_known"), [("2", True), ("3", True), ("9", False)])
def test_the_commits_may_have_to_come_through_a_snapshot(through: str, *, is_known: bool) -> None:
    found = history()._get_commit_operations("lake.log", ICEBERG, "2", "4", NOON, through)
    assert (found is not None) is is_known
