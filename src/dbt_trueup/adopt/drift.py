"""Asks how a table differs from its log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.report.mask import SHOWN_LENGTH, mask

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLES = 5
"""How many rows of each cause are shown."""

EQUAL = "equal"
"""The cause of a row that does not differ."""

CAUSES = {
    "missed_delete": "the log deletes the key, the table still has it",
    "late_update": "the table has an older value of the log",
    "missing_row": "the log has the key, the table does not",
    "unknown_key": "the log never had the key",
    "other": "the table has a value that the log never had",
    "duplicate": "one more row of a key that is there already",
    "null_key": "the key is null; such rows are left out",
}
"""Why rows differ, in the order of the report."""


@dataclass(frozen=True)
class Facts:
    """Where the table is, and whether the collection has adopted it."""

    now: str
    """The table."""
    then: str
    """The name that it must have when the collection runs."""
    is_adopted: bool


@dataclass(frozen=True)
class Drift:
    """How a table differs from its log."""

    counts: dict[str, int]
    """The rows of each cause."""
    samples: dict[str, list[dict[str, Any]]]
    """Some rows of each cause: `key`, and `differing`, the columns that differ."""
    only_in_log: list[str]
    """The columns that the table does not have."""
    only_in_table: list[str]
    """The columns that the commands do not have."""

    @property
    def differing_rows(self) -> int:
        """The number of rows that differ."""
        return sum(number for cause, number in self.counts.items() if cause != EQUAL)


def read_facts(options: Sequence[str], collection: str, table: str) -> Facts:
    """Ask where the table is.

    Raises:
        DbtError: There is no such table or collection, or the collection cannot adopt it.
    """
    call = dbt.call("_get_adoption_facts", collection, table)
    return Facts(**json.loads(dbt.compile_inline(options, dbt.when_executed(f"tojson({call})"))))


def read_drift(options: Sequence[str], collection: str, table: str, *, show_values: bool) -> Drift:
    """Compare the table with the log. The view of the commands must exist.

    Args:
        options: Options for dbt's command line.
        collection: The collection of the log.
        table: The table.
        show_values: Whether keys and values are shown. Otherwise they are masked.
    """
    call = dbt.call("_get_drift_select", collection, table, SAMPLES)
    return parse_drift(dbt.query(options, dbt.when_executed(call)), show_values=show_values)


def parse_drift(rows: Sequence[dict[str, Any]], *, show_values: bool) -> Drift:
    """Read the rows of `trueup._get_drift_select`.

    Example:
        >>> row = {"cause": "equal", "cause_rows": 7, "key": ["1"], "differing": None}
        >>> one_sided = '{"only_in_log": [], "only_in_table": []}'
        >>> parse_drift([{**row, "one_sided": one_sided}], show_values=False).counts["equal"]
        7
    """
    counts = dict.fromkeys((EQUAL, *CAUSES), 0)
    samples: dict[str, list[dict[str, Any]]] = {cause: [] for cause in CAUSES}
    for row in rows:
        counts[row["cause"]] = row["cause_rows"]
        if row["cause"] != EQUAL:
            samples[row["cause"]].append(shown(row, show_values=show_values))
    # All rows say the same. Without rows, table and log are both empty.
    one_sided = json.loads(rows[0]["one_sided"]) if rows else {}
    return Drift(
        counts, samples, one_sided.get("only_in_log", []), one_sided.get("only_in_table", [])
    )


def shown(row: dict[str, Any], *, show_values: bool) -> dict[str, Any]:
    """Return what is shown of a row. Names of columns are never masked."""

    def write(text: str | None) -> str | None:
        return (text and text[:SHOWN_LENGTH]) if show_values else mask(text)

    return {
        "key": [write(text) for text in row["key"]],
        "differing": {
            each["column"]: [write(each["in_table"]), write(each["in_log"])]
            for each in row["differing"] or []
        },
    }
