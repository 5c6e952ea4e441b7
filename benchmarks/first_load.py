"""What the first load of a large log costs, next to one plain statement that writes the same rows.

    python -m benchmarks.first_load [--commands N] [--keys N] [--rounds N]

The statement is a `create table as select` that takes the last command of each key by
`row_number`. Both take turns, each time into a new table. The medians and their ratio are printed.
"""

# ruff: noqa: S608 - all SQL is made of names that stand here

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks import upsert
from benchmarks.upsert import say
from dbt_trueup.plugin import session


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commands", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    session.install()
    seconds: dict[str, list[float]] = {"trueup": [], "create table as select": []}
    with tempfile.TemporaryDirectory() as folder:
        spark = upsert.start(Path(folder))
        bench = upsert.Bench(spark, Path(folder) / "project", upsert.Workload(1, 100, "scattered"))
        spark.sql(f"delete from {bench.log}")
        bench.write_log(
            f"select pmod(xxhash64(id), {arguments.keys}) as k, id as c"
            f" from range(0, {arguments.commands}, 1, 4)"
        )
        lake = f"lake.{bench.schema}"
        for number in range(1 + arguments.rounds):
            for name, taken in seconds.items():
                spark.sql(f"drop view if exists {lake}.ours_iceberg")
                spark.sql(f"drop table if exists {lake}.ours_iceberg__trueup purge")
                spark.sql(f"drop table if exists {lake}.plain purge")
                began = perf_counter()
                if name == "trueup":
                    bench.run("ours_iceberg")
                else:
                    spark.sql(
                        f"create table {lake}.plain using iceberg as {bench.latest(bench.log)}"
                    )
                if number:
                    taken.append(perf_counter() - began)
        bench.close()
    ours, plain = (median(each) for each in seconds.values())
    say(f"trueup {ours:.1f} s, create table as select {plain:.1f} s, ratio {ours / plain:.2f}")


if __name__ == "__main__":
    logging.getLogger("py4j").setLevel(logging.ERROR)
    main()
