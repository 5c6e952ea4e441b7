"""Invented figures of a shop: what the macros answer, without dbt and Spark.

python -m tests.report.sample page.html     # writes the page of the sample
python -m tests.report.sample picture.png   # takes the picture of the docs
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from dbt_trueup.report.data import LIMITS, Collection, Data, describe_left_out, parse_collection
from dbt_trueup.report.page import render

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=http://outside.test/x onerror=hack()>"
)
"""A key that would break a page that does not escape it."""

START = 1_792_821_600
"""The time of the first batch, in seconds since 1970."""


def sample(*, show_values: bool = True) -> Data:
    """Return a report of five collections: large, hostile, by a SELECT, without rows, not run."""
    collections = [
        orders(show_values=show_values),
        payments(show_values=show_values),
        collection("revenue", key=["day"], rows=30, batches=[batch(1, 30)], is_behind=None),
        collection("</script><b>odd</b>", key=["id"]),
        Collection("shipments", health(None)),
    ]
    return Data(
        project="shop",
        generated_at="2026-11-24 12:00:00",
        are_values_shown=show_values,
        collections=collections,
        left_out=[text for one in collections for text in describe_left_out(one)],
    )


def health(
    batch: int | None, state: str = "ok", why: str | None = None, **more: Any
) -> dict[str, Any]:
    """Invent a row of `trueup_health`."""
    return {
        "state": state,
        "why": why,
        "batch": batch,
        "days_since_batch": None if batch is None else 0.25,
        "is_behind": False,
        "rows_waiting": 0,
        **more,
    }


def collection(  # noqa: PLR0913 - one for each part
    name: str,
    *,
    key: list[str],
    rows: int = 0,
    batches: list[dict[str, Any]] | None = None,
    errors: list[dict[str, Any]] | None = None,
    error_kinds: dict[str, int] | None = None,
    wrong: list[int] | None = None,
    is_history_right: bool = True,
    show_values: bool = True,
    **well: Any,
) -> Collection:
    """Read invented answers as those of dbt are read."""
    draw = Random(7)  # noqa: S311 - the same figures each time
    sums = [0] * 256
    for _ in range(rows):
        sums[draw.randrange(256)] += 1
    parts = [
        ("health", health(batches[-1]["last"] if batches else 0, **well)),
        ("collection", {"key": key, "rows": rows, "error_kinds": error_kinds or {}}),
        ("damage", {"buckets": json.dumps(wrong or []), "is_history_right": is_history_right}),
        *(("batch", one) for one in batches or []),
        *(("error", one) for one in errors or []),
        *(("bucket", {"bucket": at, "rows": held}) for at, held in enumerate(sums) if held),
    ]
    answers = [{"part": part, "value": json.dumps(value)} for part, value in parts]
    return parse_collection(name, answers, show_values=show_values)


def orders(*, show_values: bool) -> Collection:
    """Invent a collection that has something in every chart, with many batches."""
    draw = Random(20)  # noqa: S311
    older, rows = 2950, 20_000
    groups = [(1 + at * 295, (at + 1) * 295) for at in range(LIMITS["older"])]
    groups += [(seq, seq) for seq in range(older + 1, older + LIMITS["recent"] + 1)]
    batches = []
    for first, last in groups:
        number = last - first + 1
        inserts, deletes = draw.randrange(20, 90), draw.randrange(0, 40)
        rows += inserts - deletes
        counts = {
            "messages_received": 300 + draw.randrange(80),
            "superseded": draw.randrange(0, 60),
            "inserts": inserts,
            "updates": draw.randrange(100, 250),
            "deletes": deletes,
            "error_inserts": draw.choice([0, 0, 0, 1, 2]),
            "error_retractions": draw.choice([0, 0, 1]),
            "ties": draw.choice([0, 0, 0, 1]),
        }
        batches.append(
            {
                **batch(last, rows),
                **{name: count * number for name, count in counts.items()},
                "first": first,
                "batches": number,
            }
        )
    errors = [error([f"order {at}"], "value", "amount is not a number: '12,-'") for at in range(50)]
    return collection(
        "orders",
        key=["order_id"],
        rows=rows,
        batches=batches,
        errors=errors,
        error_kinds={"value": 71, "tie": 2},
        show_values=show_values,
        state="error",
        why="keys with a tie: 2; keys in error: 71",
        is_behind=True,
        rows_waiting=5310,
    )


def payments(*, show_values: bool) -> Collection:
    """Invent a collection whose keys are hostile and whose store was edited."""
    return collection(
        "payments",
        key=[HOSTILE, "country"],
        rows=900,
        batches=[batch(1, 900)],
        errors=[{**error([None, None], "key", HOSTILE), "error_key": "x" + HOSTILE}],
        error_kinds={"key": 1},
        wrong=[17, 200],
        is_history_right=False,
        show_values=show_values,
        state="error",
        why="keys in error: 1",
    )


def batch(seq: int, rows: int) -> dict[str, Any]:
    """Invent a batch that only inserts."""
    counts = (
        *("superseded", "updates", "deletes", "error_inserts", "error_retractions", "ties"),
        *("corrections", "repairs"),
    )
    return {
        **dict.fromkeys(counts, 0),
        "first": seq,
        "last": seq,
        "batches": 1,
        "committed_at": START + seq * 900,
        "messages_received": rows,
        "inserts": rows,
        "records_indexed": rows,
    }


def error(key: list[str | None], kind: str, text: str) -> dict[str, Any]:
    """Invent an open error."""
    return {"key": key, "error_key": None, "kind": kind, "error": text, "tick": 1, "batch": 1}


def main() -> None:
    """Write the page of the sample, or a picture of it."""
    (target,) = map(Path, sys.argv[1:])
    data = sample(show_values=False)
    usual = [one for one in data.collections if one.name in {"orders", "payments", "revenue"}]
    page = render(replace(data, collections=usual))
    if target.suffix == ".png":
        from .browser import open_page, start_browser  # noqa: PLC0415 - only this form needs them

        with start_browser() as browser, open_page(browser, page, 1100, 1295) as opened:
            opened.tab.screenshot(path=target)
    else:
        target.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
