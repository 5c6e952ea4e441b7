"""The charts of a page: bars of groups of batches, and a map of the buckets. Each is plain SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .data import Collection

WIDTH, HEIGHT = 600, 120
"""The inner size of a chart. The page scales it."""

BUCKETS = 256
"""How many buckets a certificate has, in rows of 16."""


class Series(NamedTuple):
    """One colour of a chart: a count of the batches."""

    field: str
    label: str
    colour: str


@dataclass(frozen=True)
class Bar:
    """A rectangle, and what it says to somebody who points at it."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str


@dataclass(frozen=True)
class Chart:
    """A chart of bars."""

    title: str
    text: str
    series: list[Series]
    bars: list[Bar]
    highest: str
    """The value at the top of the chart."""


CHARTS = (
    (
        "Commands",
        "What each batch has read.",
        ("superseded", "superseded", "grey"),
        ("effective", "with effect", "blue"),
    ),
    (
        "Changes",
        "Keys whose row came, changed or went.",
        ("inserts", "inserted", "blue"),
        ("updates", "updated", "brown"),
        ("deletes", "deleted", "purple"),
    ),
    (
        "Errors",
        "Keys that got an error, and keys that lost one.",
        ("error_inserts", "opened", "bad"),
        ("error_retractions", "cleared", "good"),
    ),
    (
        "Rows",
        "Rows and open errors after each batch.",
        ("records_indexed", "rows and errors", "teal"),
    ),
)
"""Title, sentence and series of each chart."""


def charts_of(collection: Collection) -> list[Chart]:
    """Draw the charts of a collection that have anything to show."""
    groups = [
        {**each, "effective": each["messages_received"] - each["superseded"]}
        for each in collection.batches
    ]
    drawn = [
        draw(title, text, [Series(*one) for one in series], groups)
        for title, text, *series in CHARTS
    ]
    return [chart for chart in drawn if chart.bars]


def draw(
    title: str, text: str, series: Sequence[Series], groups: Sequence[dict[str, Any]]
) -> Chart:
    """Stack the counts of each group. A group of several batches shows their average."""

    def value(group: dict[str, Any], one: Series) -> float:
        number = group[one.field] or 0
        return float(number if one.field == "records_indexed" else number / group["batches"])

    totals = [sum(value(group, one) for one in series) for group in groups]
    highest = max(totals, default=0)
    slot = WIDTH / max(len(groups), 12)
    bars = []
    for place, group in enumerate(groups):
        y = float(HEIGHT)
        for one in series:
            height = HEIGHT * value(group, one) / highest if highest else 0
            if height:
                y -= height
                said = f"{name_of(group)}: {group[one.field]:,} {one.label}"
                bars.append(
                    Bar(
                        round(place * slot, 2),
                        round(y, 2),
                        round(slot * 0.85, 2),
                        round(height, 2),
                        one.colour,
                        said,
                    )
                )
    shown = [one for one in series if any(bar.colour == one.colour for bar in bars)]
    return Chart(title, text, shown, bars, f"{highest:,.0f}" if highest >= 1 else f"{highest:.2f}")


def name_of(group: dict[str, Any]) -> str:
    """Name a group of batches.

    Example:
        >>> name_of({"first": 1, "last": 1200}), name_of({"first": 7, "last": 7})
        ('batches 1 to 1,200', 'batch 7')
    """
    if group["first"] == group["last"]:
        return f"batch {group['last']:,}"
    return f"batches {group['first']:,} to {group['last']:,}"


class Cell(NamedTuple):
    """A bucket of the certificate."""

    x: int
    y: int
    share: float
    """How full it is, from 0 to 1, compared with the fullest one."""
    is_wrong: bool
    title: str


def cells_of(collection: Collection) -> list[Cell]:
    """Draw the certificate: one cell for each bucket of keys."""
    fullest = max(collection.buckets.values(), default=0) or 1
    wrong = set(collection.wrong_buckets)
    return [
        Cell(
            bucket % 16,
            bucket // 16,
            round(collection.buckets.get(bucket, 0) / fullest, 2),
            bucket in wrong,
            f"bucket {bucket}: {collection.buckets.get(bucket, 0):,} rows and errors"
            + (", differs from the current rows" if bucket in wrong else ""),
        )
        for bucket in range(BUCKETS)
    ]
