"""Invented figures of a shop: what the macros answer, without dbt and Spark.

python -m tests.report.sample page.html     # writes the page of the sample
python -m tests.report.sample picture.png   # takes the picture of docs/report.md
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from dbt_trueup.report.data import Collection, Data, describe_left_out, limits_of, parse_collection
from dbt_trueup.report.page import render

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=http://outside.test/x onerror=hack()>"
)
"""A key that would break a page that does not escape it."""

DAY = 86_400_000
START = 1_792_821_600_000
"""The time of the first batch, in milliseconds since 1970."""


def sample(*, show_values: bool = True) -> Data:
    """Return a report of five collections: large, hostile, by a SELECT, without rows, not run."""
    limits = limits_of(5)
    collections = [
        collection("orders", list(orders(3000, limits)), show_values=show_values),
        collection("payments", list(payments()), [WRONG], show_values=show_values),
        collection("revenue", list(revenue()), show_values=show_values),
        collection("</script><b>odd</b>", list(empty()), show_values=show_values),
        Collection("shipments"),
    ]
    return Data(
        project="shop",
        generated_at="2026-11-24 12:00:00",
        are_values_shown=show_values,
        collections=collections,
        left_out=[text for one in collections for text in describe_left_out(one)],
    )


COUNTS = (
    *("messages_received", "inserts", "updates", "deletes", "error_inserts", "error_retractions"),
    *("corrections", "ties", "late_dropped", "superseded", "heals"),
)
"""The counts of a batch. A group of batches has their sums."""

WRONG = {
    "key": [HOSTILE, None],
    "error_key": None,
    "cause": "external_edit",
    "difference": "other values",
    "all_rows": 1,
}


def collection(
    name: str,
    rows: list[tuple[str, dict[str, Any]]],
    wrong_rows: list[dict[str, Any]] | None = None,
    *,
    show_values: bool,
) -> Collection:
    """Read invented answers as those of dbt are read."""
    answers = [{"part": part, "value": json.dumps(value)} for part, value in rows]
    return parse_collection(name, answers, wrong_rows or [], show_values=show_values)


def orders(batches: int, limits: dict[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Invent a collection that has something in every chart, with many batches."""
    draw = Random(20)  # noqa: S311 - the same figures each time
    older = batches - limits["recent"]
    rows, open_errors, frontier, groups = 20_000, 0, 0, dict[int, list[dict[str, Any]]]()
    for seq in range(1, batches + 1):
        inserts, deletes = draw.randrange(20, 90), draw.randrange(0, 40)
        opened = draw.choice([0, 0, 0, 0, 0, 1, 2])
        closed = draw.randrange(0, min(open_errors, 3) + 1) if open_errors > 8 else 0
        rows, open_errors = rows + inserts - deletes, open_errors + opened - closed
        frontier += draw.randrange(900, 1500)
        busy = 1 + (seq % 96 > 60)
        one = {
            "first": seq,
            "last": seq,
            "batches": 1,
            "upper": frontier,
            "committed_at": START + seq * DAY // 96,
            "messages_received": 300 * busy + draw.randrange(80),
            "inserts": inserts * busy,
            "updates": draw.randrange(100, 250) * busy,
            "deletes": deletes * busy,
            "error_inserts": opened,
            "error_retractions": closed,
            "corrections": draw.choice([0, 0, 2, 5]),
            "ties": draw.choice([0, 0, 0, 1]),
            "late_dropped": draw.randrange(0, 6) * busy,
            "superseded": draw.choice([0, 0, 1]),
            "heals": int(seq % 700 == 0),
            "records_indexed": rows,
            "open_errors": open_errors,
            "ticks_behind": draw.randrange(0, 300) * (busy - 1),
            "commands_behind": 0,
            "stage_seconds": 3.0 * busy + draw.random(),
            "append_seconds": 0.8 + draw.random() / 3,
            "apply_seconds": 1.6 * busy + draw.random(),
        }
        group = seq if seq > older else -1 - (seq - 1) * limits["older"] // older
        groups.setdefault(group, []).append(one)
    for group, members in groups.items():
        last = {**members[-1], "first": members[0]["first"], "batches": len(members)}
        for name in COUNTS:
            last[name] = sum(one[name] for one in members)
        steps = {name: last.pop(name) for name in ("append_seconds", "apply_seconds")}
        yield "batch", {"batch_group": group, **last}
        yield "step", {"batch_group": group, **steps}
        for cause, keys in (("late_command", last["late_dropped"]), ("error_fixed", last["ties"])):
            if keys:
                yield "cause", {"batch_group": group, "cause": cause, "keys": keys}
    yield "collection", facts(["order_id"], batches, frontier, rows, open_errors, 3)
    yield "log", {"commands": 5310, "commands_to_settle": 5310, "upper": frontier + 1204}
    yield "error_kind", {"kind": "value", "open_errors": open_errors}
    for place in range(min(open_errors, limits["rows"])):
        tick = frontier - place * 700
        yield "error", error([f"order {place}"], "value", "amount is not a number: '12,-'", tick)
    for place in range(3):
        # The last one waits for a batch that is not written yet.
        batch = batches + (place == 2)
        yield "correction", correction([f"order {90 + place}"], "late_command", batch)
    yield "bucket", bucket_sums(draw, rows, [])


def payments() -> Iterator[tuple[str, dict[str, Any]]]:
    """Invent a collection whose keys are hostile and whose state was edited."""
    draw = Random(7)  # noqa: S311
    yield "collection", facts([HOSTILE, "country"], 1, 41, 900, 1, 1)
    yield "batch", {"batch_group": 1, **batch(1, 41, 900)}
    yield "log", {"commands": 0, "commands_to_settle": 0, "upper": None}
    yield "error_kind", {"kind": "key", "open_errors": 1}
    yield "error", {**error([None, None], "key", HOSTILE, 40), "error_key": "x" + HOSTILE}
    yield "bucket", bucket_sums(draw, 900, [17, 200])


def revenue() -> Iterator[tuple[str, dict[str, Any]]]:
    """Invent a collection by a SELECT."""
    yield "collection", {**facts(["day"], 2, 1_795_000_000_000_000, 30, 0, 0), "has_log": False}
    for seq in (1, 2):
        upper = 1_794_900_000_000_000 + seq * 50_000_000_000
        yield "batch", {"batch_group": seq, **batch(seq, upper, 30), "ticks_behind": None}
    yield "bucket", bucket_sums(Random(1), 30, [])  # noqa: S311


def empty() -> Iterator[tuple[str, dict[str, Any]]]:
    """Invent a collection that has tables, but no batch."""
    yield "collection", {**facts(["id"], 0, 0, 0, 0, 0), "frontier": None}
    yield "log", {"commands": 0, "commands_to_settle": 0, "upper": None}
    yield "bucket", {"certified": None, "wrong": []}


def facts(  # noqa: PLR0913, PLR0917 - one for each field
    key: list[str], batches: int, frontier: int, rows: int, errors: int, errors_of_a_day: int
) -> dict[str, Any]:
    """Invent where a collection stands."""
    return {
        "has_run": True,
        "has_log": True,
        "key": key,
        "batch": batches,
        "applied_batch": batches,
        "frontier": frontier,
        "rows": rows,
        "open_errors": errors,
        "errors_of_a_day": errors_of_a_day,
    }


def batch(seq: int, upper: int, rows: int) -> dict[str, Any]:
    """Invent a batch that only inserts."""
    counts = (
        *("updates", "deletes", "error_inserts", "error_retractions", "corrections", "ties"),
        *("late_dropped", "superseded", "heals", "open_errors", "ticks_behind", "commands_behind"),
    )
    return {
        "first": seq,
        "last": seq,
        "batches": 1,
        "upper": upper,
        "committed_at": START + seq * DAY,
        "messages_received": rows,
        "inserts": rows,
        "records_indexed": rows,
        "stage_seconds": 4.5,
        **dict.fromkeys(counts, 0),
    }


def error(key: list[str | None], kind: str, text: str, tick: int) -> dict[str, Any]:
    """Invent an open error."""
    return {"key": key, "error_key": None, "kind": kind, "error": text, "tick": tick, "batch": 1}


def correction(key: list[str], cause: str, seq: int) -> dict[str, Any]:
    """Invent a corrected row."""
    return {
        "key": key,
        "error_key": None,
        "cause": cause,
        "difference": "missing",
        "tick": 10 * seq,
        "batch": seq,
        "all_rows": 3,
    }


def bucket_sums(draw: Random, rows: int, wrong: list[int]) -> dict[str, Any]:
    """Invent a certificate of so many rows."""
    sums = [0] * 256
    for _ in range(rows):
        sums[draw.randrange(256)] += 1
    certified = [{"bucket": bucket, "diff_sum": held} for bucket, held in enumerate(sums) if held]
    return {"certified": certified, "wrong": wrong}


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
