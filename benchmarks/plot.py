"""Draws the figures of benchmarks.upsert.

    python -m benchmarks.plot target/bench.json picture.svg

Each way has a bar of its median seconds, and a mark for each round; each workload has a panel.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import altair as alt


def main() -> None:
    """Draw the figures of a file."""
    source, target = sys.argv[1:]
    draw(json.loads(Path(source).read_text())["runs"]).save(target)


def draw(runs: list[Any]) -> alt.FacetChart:
    """Make a chart of what was measured."""
    rows = [
        {
            "way": way,
            "workload": f"{run['workload']['rows']:,} rows, {run['workload']['share']:g} %,"
            f" {run['workload']['keys']}",
            "seconds": each,
            "whose": "trueup" if "trueup" in way or "verify" in way else "others",
        }
        for run in runs
        for way, seconds in run["seconds"].items()
        for each in seconds
    ]
    names = list(dict.fromkeys(str(row["way"]) for row in rows))
    way = alt.Y("way:N", title=None, sort=names, axis=alt.Axis(labelLimit=300))
    axes = alt.Chart(alt.InlineData(values=rows)).encode(y=way)
    colours = alt.Scale(domain=["trueup", "others"], range=["#1f6feb", "#b8c0cc"])
    bars = axes.mark_bar().encode(
        x=alt.X("median(seconds):Q", title="seconds, median of the rounds"),
        color=alt.Color("whose:N", title=None, scale=colours, legend=None),
    )
    rounds = axes.mark_tick(color="#24292f", thickness=1, size=9).encode(x="seconds:Q")
    panel = (bars + rounds).properties(width=360, height=220)
    chart: alt.FacetChart = panel.facet(
        row=alt.Row("workload:N", title=None, sort=None), background="white"
    )
    return chart


if __name__ == "__main__":
    main()
