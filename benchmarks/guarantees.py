"""What the guarantees of a staged batch cost, each on top of those before it.

    python -m benchmarks.guarantees [--rows N] [--share PERCENT] [--rounds N]

A batch of benchmarks.upsert is staged, and its select is then run again with less in it: all forms
in turn, another one first each round. The first two rounds are not counted. Nothing is written, so
the seconds are those of the select alone. Printed are medians, and what each form adds to the one
before.
"""

# ruff: noqa: S608 - all SQL is made of names that stand here

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.correction import say
from benchmarks.upsert import WARM_ROUNDS, Bench, Workload, rotated, start
from dbt_trueup.plugin import session

PROGRESS = "union all\n    select * from progress cross join certificate"
UNCERTIFIED = "union all\n    select *, null as _certificate from progress"
STEPS = "from `trueup__ours__"


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    workload = Workload(arguments.rows, arguments.share, "scattered")
    session.install()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(start(Path(folder)), Path(folder) / "project", workload)
        bench.run("ours_commands", "ours_corrections")
        bench.run("ours_batch", "ours_changelog", "ours_state")
        bench.next_batch()
        bench.run("ours_batch")
        forms = make_forms(staged_select(bench))
        seconds: dict[str, list[float]] = {name: [] for name in forms}
        for number in range(WARM_ROUNDS + arguments.rounds):
            for name in rotated(list(forms), number):
                began = perf_counter()
                bench.spark.sql(forms[name]).write.format("noop").mode("overwrite").save()
                if number >= WARM_ROUNDS:
                    seconds[name].append(perf_counter() - began)
        bench.close()
    say(f"{workload}:")
    before = 0.0
    for name, each in seconds.items():
        shown = ", ".join(f"{one:.1f}" for one in each)
        say(f"  {name:55} {median(each):5.2f} s  {median(each) - before:+5.2f}  ({shown})")
        before = median(each)


def staged_select(bench: Bench) -> str:
    """Give the select of the batch that is staged, whose views are still in the session."""
    found = bench.folder.glob("target/compiled/*/models/ours/ours_batch.sql")
    return next(found).read_text()


def make_forms(staged: str) -> dict[str, str]:
    """Give the select with less in it, from the least to the whole, by what it has."""
    updates = replaced(staged, PROGRESS, "")
    steps = updates[updates.index(STEPS) :].partition("\n")[0].removeprefix("from ")
    return {
        "the commands, ranked and folded": replaced(
            updates, f"from {steps}", f"from (select * from {steps} where _step > 0)"
        ),
        "the values before: retractions, nothing for no change": updates,
        "statistics": replaced(staged, PROGRESS, UNCERTIFIED),
        "certificate": staged,
    }


def replaced(text: str, old: str, new: str) -> str:
    """Replace a part of a text, which must be there once."""
    assert text.count(old) == 1, f"the staged select has changed: {old!r}"  # noqa: S101
    return text.replace(old, new)


if __name__ == "__main__":
    logging.getLogger("py4j").setLevel(logging.ERROR)
    main()
