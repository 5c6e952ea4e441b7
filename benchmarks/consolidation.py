"""What rehydration costs, by GROUP BY and by Python, and how one hot key goes through.

    python -m benchmarks.consolidation

Beside both ways stand a window over the versions of a key, which trusts the last one to be all that
is left, and the shuffle alone, which every way needs. Prints the median seconds on 3 M updates of
0.5 M keys, their ratios to GROUP BY and to the shuffle, the seconds of one key with 2 M updates of
1 kB, and the peak memory of a Python worker. Linux only.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from dbt_trueup.plugin import session
from tests.macros.package import in_model

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
MAX_GROUP_BYTES = 64 * 2**20
KEYS = [{"name": "k", "type": "bigint"}]
VALUES = [{"name": name, "type": "string"} for name in ("path", "mode", "blob")]
MANY_KEYS = """
select k, concat('src/', k % 977, '/file.py') as path, cast(100644 + place as string) as mode,
    sha1(cast(k + place as string)) as blob, _diff, place + if(_diff < 0, 1, 0) as _ts
from (select id as k from range(0, 500000, 1, 8))
lateral view explode(sequence(0, 3)) as place
lateral view explode(array(1, -1)) as _diff
where place < 3 or k % 4 = 0 and _diff > 0
"""
"""Three values for each key, one after the other, and a fourth for a quarter of them."""
HOT_KEY = """
select 7L as k, cast(id div 2 as string) as path, '100644' as mode, repeat('x', 1000) as blob,
    if(id % 2 = 0, 1, -1) as _diff, (id + 1) div 2 as _ts
from range(0, 2000001, 1, 8)
"""


def main() -> None:
    """Print all figures."""
    session.install()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory() as folder:
        make(spark, MANY_KEYS, f"{folder}/many")
        ways = {
            "GROUP BY": natively,
            "aggregate in Python": by_udaf,
            "window over versions": by_window,
            "the shuffle alone": shuffle,
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(ROUNDS + 1):
            for name, way in ways.items():
                taken = timed(partial(way, spark))
                # The first round warms the session.
                if number:
                    seconds[name].append(taken)
        say(f"{spark.table('changelog').count():,} updates of 500,000 keys, {ROUNDS} rounds:")
        native, alone = median(seconds["GROUP BY"]), median(seconds["the shuffle alone"])
        for name, each in seconds.items():
            middle, shown = median(each), ", ".join(f"{one:.1f}" for one in each)
            say(
                f"  {name:21} {middle:5.1f} s, {middle / native:.2f} of GROUP BY,"
                f" {middle / alone:.2f} of the shuffle ({shown})"
            )
        say(f"  peak memory of a Python worker: {worker_peak_mib()} MiB")
        make(spark, HOT_KEY, f"{folder}/hot")
        say("2,000,001 updates of one key, 1 kB each, with 4 GiB for the driver:")
        say(f"  udaf: {timed(lambda: by_udaf(spark)):.1f} s")
        say(f"  peak memory of a Python worker: {worker_peak_mib()} MiB")


def make(spark: SparkSession, select: str, folder: str) -> None:
    """Write a changelog, and make it the view `changelog`."""
    columns = "*, _ts as _seq, cast(null as bigint) as _upper, 'update' as _kind"
    columns += ", cast(null as string) as _error, cast(null as string) as _error_key"
    columns += ", null as _cause, null as _lower, null as _batch_id"
    columns += ", null as _statistics, null as _certificate"
    spark.sql(f"select {columns} from ({select})").write.parquet(folder)  # noqa: S608
    spark.read.parquet(folder).createOrReplaceTempView("changelog")


def by_udaf(spark: SparkSession) -> None:
    """Measure, consolidate by Python, and read every row that is left."""
    trueup = in_model("files_state")
    keys, values = identity()
    sizes_sql = str(trueup._bucket_sizes_select("changelog", keys, values, MAX_GROUP_BYTES))
    sizes = spark.sql(sizes_sql).collect()[0].asDict()
    drain(spark, trueup._consolidated_by_udaf_ctes(keys, values, sizes, MAX_GROUP_BYTES))


def natively(spark: SparkSession) -> None:
    """Consolidate by GROUP BY, and read every row that is left."""
    drain(spark, in_model("files_state")._consolidated_natively_ctes(*identity()))


def by_window(spark: SparkSession) -> None:
    """Take the last update of each key, where it is an addition."""
    spark.sql("""
select * except (rank)
from (
    select *, row_number() over (partition by k order by _seq desc, _diff desc) as rank
    from changelog
)
where rank = 1 and _diff = 1""").write.format("noop").mode("overwrite").save()


def shuffle(spark: SparkSession) -> None:
    """Bring the updates of each key together, and do nothing with them."""
    moved = "select /*+ repartition(4, k) */ * from changelog"
    spark.sql(moved).write.format("noop").mode("overwrite").save()


def identity() -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Give the columns of a key and of a value."""
    text = {"type": "string"}
    return [*KEYS, {"name": "_error_key", **text}], [*VALUES, {"name": "_error", **text}]


def drain(spark: SparkSession, consolidated: object) -> None:
    """Run the select of a rehydrated state, and throw its rows away."""
    names, columns = [column["name"] for column in KEYS], [*KEYS, *VALUES]
    trueup = in_model("files_state")
    sql = trueup._rehydrated_state_select("changelog", names, columns, consolidated)
    spark.sql(str(sql)).write.format("noop").mode("overwrite").save()


def timed(work: Callable[[], None]) -> float:
    """Give the seconds that something takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def worker_peak_mib() -> int:
    """Give the most memory that a Python worker of this process has ever held."""
    parents, peaks = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
            command = (status.parent / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(status.parent.name)
        parents[pid] = int(fields["PPid"])
        if "pyspark.daemon" in command:
            peaks[pid] = int(fields["VmHWM"].split()[0]) // 1024

    def is_ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and is_ours(parents[pid]))

    return max(peak for pid, peak in peaks.items() if is_ours(pid))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
