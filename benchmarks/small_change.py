"""How long a small change takes, statement by statement, next to dbt's incremental merge.

    python -m benchmarks.small_change [--rows N] [--rounds N] [--format FORMAT] [--statements]
                                      [--log N]

A collection of `--rows` rows (100,000) with 8 value columns takes about 1,000 commands a round,
three a key. trueup and dbt's incremental merge take turns in one warm process. All options of
trueup have their defaults. A third run of each round finds nothing new. It prints the medians of
`--rounds` rounds (5). The first twelve rounds only warm up and do not count. `--format` is the
table format of both, `iceberg` (the default) or `delta`. With `--statements` it prints how long
each statement takes, by its first words. With `--log` a second collection of the same rows takes
the same batches, from a log of N commands.
"""

# ruff: noqa: S608 - all SQL is made of names and numbers that stand here

from __future__ import annotations

import argparse
import logging
import re
import tempfile
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from statistics import mean, median
from time import perf_counter

from dbt.adapters.spark.session import Cursor

from benchmarks import upsert
from benchmarks.upsert import say
from dbt_trueup.plugin import session

WARM_ROUNDS = 12
"""Java compiles what a run needs only after some runs."""
COMMANDS = 1000
OURS, PEER, IDLE = "trueup", "incremental merge", "trueup, nothing new"
LONG = "trueup, long log"

Statement = tuple[str, float]
"""The first words of a statement, and its seconds."""


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--format", choices=upsert.CATALOGS, default="iceberg")
    parser.add_argument("--statements", action="store_true")
    parser.add_argument("--log", type=int, default=0)
    arguments = parser.parse_args()
    session.install()
    sent = time_statements()
    runs: dict[str, list[list[Statement]]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        spark = upsert.start(Path(folder))
        share = 100 * COMMANDS / upsert.COMMANDS_PER_KEY / arguments.rows
        load = upsert.Workload(arguments.rows, share, "scattered")
        benches = [bench := upsert.Bench(spark, Path(folder) / "project", load, arguments.format)]
        spark.catalog.setCurrentCatalog(upsert.CATALOGS[arguments.format])
        ways = {
            OURS: partial(bench.run, f"ours_{arguments.format}"),
            PEER: partial(bench.run, f"peer_{arguments.format}"),
            IDLE: partial(bench.run, f"ours_{arguments.format}"),
        }
        if arguments.log:
            benches.append(
                long := upsert.Bench(spark, Path(folder) / "long", load, bench.table_format)
            )
            long.write_log(
                f"select pmod(id, {arguments.rows}) as k, id as c"
                f" from range({arguments.rows}, {arguments.log}, 1, 4)"
            )
            ways[LONG] = partial(long.run, f"ours_{arguments.format}")
        for number in range(-WARM_ROUNDS, arguments.rounds):
            for each in benches:
                each.next_batch()
            for name, way in ways.items():
                sent.clear()
                began = perf_counter()
                way()
                if number >= 0:
                    seconds[name].append(perf_counter() - began)
                    runs[name].append(list(sent))
        for each in benches:
            each.close()
    for name, taken in seconds.items():
        show(name, median(taken), median(seconds[PEER]), len(runs[name][-1]))
        if arguments.statements:
            show_statements(runs[name], mean(taken))


def time_statements() -> list[Statement]:
    """Record each statement that dbt sends from now on. Returns the list that it fills."""
    sent: list[Statement] = []
    execute, fetch = Cursor.execute, Cursor.fetchall

    def execute_timed(cursor: Cursor, sql: str, *parameters: object) -> None:
        began = perf_counter()
        execute(cursor, sql, *parameters)
        words = " ".join(re.sub(r"/\* \{.*?\} \*/", "", sql, flags=re.DOTALL).split())
        # Numbers and the marks of a run differ from run to run.
        words = re.sub(r"`[^`]*`|'[^']*'|\d+", "_", words)
        sent.append((words[:70], perf_counter() - began))

    def fetch_timed(cursor: Cursor) -> object:
        # The session method executes a query only when its rows are fetched.
        began = perf_counter()
        rows = fetch(cursor)
        words, seconds = sent[-1]
        sent[-1] = words, seconds + perf_counter() - began
        return rows

    Cursor.execute, Cursor.fetchall = execute_timed, fetch_timed  # type: ignore[assignment,method-assign]
    return sent


def show(name: str, seconds: float, base: float, count: int) -> None:
    """Print the figures of one way."""
    say(f"{name:20} {seconds:5.2f} s, {seconds / base:4.2f} of the merge, {count} statements")


def show_statements(runs: list[list[Statement]], seconds: float) -> None:
    """Print how often a run sends each statement, the mean milliseconds, and what is left."""
    spent: dict[str, float] = defaultdict(float)
    times: Counter[str] = Counter()
    for run in runs:
        for words, each in run:
            spent[words] += 1000 * each / len(runs)
            times[words] += 1
    for words, each in sorted(spent.items(), key=lambda one: -one[1]):
        say(f"    {each:6.0f} ms  {times[words] / len(runs):3.0f} x  {words}")
    say(f"    {1000 * seconds - sum(spent.values()):6.0f} ms         in dbt, between statements")


if __name__ == "__main__":
    logging.getLogger("py4j").setLevel(logging.ERROR)
    main()
