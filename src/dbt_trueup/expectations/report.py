"""What a checkpoint found, and how it is written for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN_ROWS = 3
"""How many wrong rows are shown."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one expectation."""

    name: str
    description: str
    """The rule that was checked."""
    has_passed: bool
    reason: str
    """Why it failed; empty if it passed."""


@dataclass(frozen=True)
class Report:
    """The outcome of all expectations of a collection."""

    collection: str
    findings: tuple[Finding, ...]
    """In the order of the suite."""
    page: str
    """The address of the Data Docs page of this run."""

    def has_passed(self) -> bool:
        """Return whether every expectation holds."""
        return all(finding.has_passed for finding in self.findings)


def describe(report: Report) -> str:
    """Describe a report in one line for each expectation.

    Example:
        >>> held = Finding("key_is_unique", "no key is there twice", has_passed=True, reason="")
        >>> print(describe(Report("files", (held,), "file:///index.html")))
        files: 1 of 1 expectations hold
        <BLANKLINE>
          passed  key_is_unique  no key is there twice
        <BLANKLINE>
          Data Docs: file:///index.html
        <BLANKLINE>
    """
    findings = report.findings
    held_count = sum(finding.has_passed for finding in findings)
    width = max((len(finding.name) for finding in findings), default=0)
    lines = [
        f"  {'passed' if one.has_passed else 'FAILED'}  {one.name:{width}}  "
        + (one.description if one.has_passed else one.reason)
        for one in findings
    ]
    headline = f"{report.collection}: {held_count} of {len(findings)} expectations hold"
    return "\n".join([headline, "", *lines, "", f"  Data Docs: {report.page}", ""])


def describe_rows(
    wrong_rows: str,
    count: int,
    rows: Sequence[Any],
    shown_columns: Sequence[str] = (),
    *,
    is_part: bool = False,
) -> str:
    """Describe wrong rows in one line.

    Args:
        wrong_rows: What the rows are.
        count: How many there are.
        rows: Some or all of them: dicts or single values.
        shown_columns: The columns to show if rows are dicts; empty for all.
        is_part: Whether there may be more than `count`.

    Example:
        >>> describe_rows("rows of one side", 4, [{"k": "a", "_error": None}, {"k": None}])
        "rows of one side: 4 (k 'a'; k null; ...)"
    """
    texts = list(dict.fromkeys(describe_row(row, shown_columns) for row in rows))[:SHOWN_ROWS]
    if texts and count > min(len(rows), SHOWN_ROWS):
        texts.append("...")
    number = f"{count:,} or more" if is_part else f"{count:,}"
    return f"{wrong_rows}: {number}" + (f" ({'; '.join(texts)})" if texts else "")


def describe_row(row: Any, shown_columns: Sequence[str] = ()) -> str:
    """Describe a row in one line: a dict or a single value. Null columns of trueup are left out.

    Example:
        >>> describe_row({"k": "a", "v": None, "_error": None})
        "k 'a', v null"
    """
    if row is None:
        return "null"
    if not isinstance(row, dict):
        return repr(row) if isinstance(row, str | bytes) else str(row)
    columns = [
        name for name in shown_columns or row if row[name] is not None or not name.startswith("_")
    ]
    return ", ".join(f"{name} {describe_row(row[name])}" for name in columns)
