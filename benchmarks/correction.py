"""What self-correction costs, against a full outer join of desired and persisted.

    python -m benchmarks.correction [rows ...]

For each number of rows (1 M and 5 M, of 8 value columns) it prints the median seconds, and their
ratio to the join, of verifying a state, of finding that nothing is to be corrected, and of finding
1, 100 and 10,000 wrong rows; the last once more where the comparison before found as many, and
after a change of the code. Every round takes all of them in turn, in one session.
"""

from __future__ import annotations

import json
import sys
import tempfile
from statistics import median
from time import perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from dbt_trueup.plugin import session
from tests.macros.package import Package, a_collection, in_model, models

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
SIZES = (1_000_000, 5_000_000)
WRONG = (1, 100, 10_000)
NAME = "counts"
MODELS = {
    name.replace("_commands", "_desired"): node | {"raw_code": "select 1"}
    for name, node in models(NAME).items()
}


def query(sql: object) -> SimpleNamespace:
    """Run a query as dbt does."""
    return SimpleNamespace(rows=SparkSession.active().sql(str(sql)).collect())


TRUEUP = Package(
    in_model(f"{NAME}_corrections", unique_key=["k"], graph=MODELS).context
    | {"run_query": query, "fromjson": json.loads}
)
ROWS = """
select id as k, cast(id % 1000 as int) as v1, id * 7 as v2, concat('name-', id % 9973) as v3,
    sha1(cast(id as string)) as v4, cast(id % 100000 as decimal(12,2)) as v5,
    timestamp_micros(1700000000000000 + id * 1000000) as v6, cast(id as double) / 3 as v7,
    id % 2 = 0 as v8
from range(0, {}, 1, 4)
"""
OWN = "cast(null as string) as _error, cast(null as string) as _error_key"
TABLES = {"desired": "lake.counts_desired", "state": "lake.counts_state", "log": "lake.counts_log"}


def main() -> None:
    """Print all figures."""
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    session.install()
    with tempfile.TemporaryDirectory() as folder:
        spark = start(folder)
        for size in sizes:
            compare(spark, size)


def start(folder: str) -> SparkSession:
    """Start a session of two cores, with Iceberg tables in a folder."""
    packages = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,"
    settings = {
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.codegen.hugeMethodLimit": "8000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.jars.packages": packages + "org.xerial:sqlite-jdbc:3.50.3.0",
        "spark.sql.defaultCatalog": "local",
        "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.local.type": "hadoop",
        "spark.sql.catalog.local.warehouse": folder,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def compare(spark: SparkSession, size: int) -> None:
    """Measure all ways on tables of some rows."""
    columns = make(spark, size)
    seconds: dict[str, list[float]] = {}
    measured = ways(spark, columns)
    for number in range(ROUNDS + 1):
        for name, work in measured.items():
            began = perf_counter()
            work()
            if number:
                seconds.setdefault(name, []).append(perf_counter() - began)
    base = median(seconds["full outer join"])
    say(f"{size:,} rows of 8 value columns, {ROUNDS} rounds:")
    for name, each in seconds.items():
        shown = ", ".join(f"{one:.2f}" for one in each)
        say(f"  {name:26} {median(each):6.2f} s  {median(each) / base:5.2f}  ({shown})")


def make(spark: SparkSession, size: int) -> list[dict[str, str]]:
    """Write what is desired, a state that equals it, and its certificate; give the columns."""
    spark.sql("create schema if not exists lake")
    rows = ROWS.format(size)
    state = f"{OWN}, 1L as _ts, 'row' as _kind, 1L as _seq, cast(null as bigint) as _upper"
    write(spark, TABLES["desired"], rows)
    write(spark, TABLES["state"], f"select *, {state} from ({rows})")  # noqa: S608
    described = spark.sql(f"describe query {rows}").collect()
    columns = [{"name": row[0], "type": row[1]} for row in described]
    digest = TRUEUP._digest_expr(["k"], columns)
    certificate = f"""
with digested as (select 1 as _diff, {digest} as _digest from {TABLES["state"]}),
entries as ({TRUEUP._certificate_entries_select("digested")}),
certificate as ({TRUEUP._summed_certificate_select()})
select
    *,
    named_struct('seal', named_struct('certificate', xxhash64(_certificate))) as _statistics
from (
    select 'progress' as _kind, 1L as _seq, collect_list(struct(*)) as _certificate from certificate
)"""  # noqa: S608
    write(spark, TABLES["log"], certificate)
    numbers = ("seq", "lower", "upper", "open_upper", "tick", "late_dropped")
    plan: dict[str, object] = dict.fromkeys(numbers, 1)
    plan.update(records_indexed=0, partitions=None, since=None, last_batch_id="b", last_seal=None)
    plan.update(definition="a", settled_definition="a", commands_settled=1, commands_read=1)
    plan.update(position=None, whole_log_reason=None, state_verified_by=None)
    variable = TRUEUP._session_name(NAME, "plan")
    spark.sql(f"declare or replace variable {variable} {TRUEUP._plan_declaration(plan)}")
    for wrong in WRONG:
        changed = f"* except (v1), if(k % {size // wrong} = 0, -1, v1) as v1"
        spark.sql(
            f"create or replace temporary view wrong_{wrong} as"  # noqa: S608
            f" select {changed} from {TABLES['desired']}"
        )
    return columns


def ways(spark: SparkSession, columns: list[dict[str, str]]) -> dict[str, Callable[[], None]]:
    """Give what is measured, by name, in the sequence of a round."""
    collection = a_collection(
        TRUEUP,
        changelog=TABLES["log"],
        state=TABLES["state"],
        source=named("desired_rows"),
        commands=named("desired_rows"),
        command_columns=columns,
    )
    plan = {
        "last_seq": 1,
        "lower": 1,
        "has_provisional": False,
        "definition": "a",
        "settled_definition": "a",
        "records_indexed": 0,
    }
    names = [column["name"] for column in columns[1:]]
    TRUEUP._ensure_persisted_view(collection, plan, columns)
    values = ", ".join(names)
    join = f"""
select *
from (select k, struct({values}, cast(null as string) as _error) as v from {TABLES["desired"]}) as d
full outer join (
    select k, struct({values}, _error) as v from {TABLES["state"]} where _kind <> 'progress'
) as p on d.k <=> p.k
where not (d.v <=> p.v)"""  # noqa: S608

    def correct(
        table: str,
        run: Callable[[str], None] = lambda sql: drain(spark, sql),
        definition: str = "a",
        found_before: int = 0,
    ) -> None:
        planned = {**plan, "definition": definition}
        TRUEUP._ensure_session_view(
            named("desired_rows"), TRUEUP._desired_rows_select(table, ["k"], columns)
        )
        TRUEUP._ensure_desired_view(collection, planned, columns, "all")
        found = TRUEUP._get_mismatched_buckets(collection, planned, columns, "all", found_before)
        TRUEUP._ensure_mismatched_views(collection, columns, "all", found["buckets"])
        run(str(TRUEUP.corrections(NAME)))

    def count(expected: int) -> Callable[[str], None]:
        def check(sql: str) -> None:
            assert spark.sql(sql).count() == expected, sql  # noqa: S101

        return check

    correct(TABLES["desired"], count(0))
    for wrong in WRONG:
        correct(f"wrong_{wrong}", count(wrong))
    verify = TRUEUP._differences_select(collection, plan, columns)
    found: dict[str, Callable[[], None]] = {
        "full outer join": lambda: drain(spark, join),
        "verify the state": lambda: drain(spark, str(verify)),
        "nothing to correct": lambda: correct(TABLES["desired"]),
    }
    for wrong in WRONG:
        found[f"correct {wrong:,} rows"] = lambda wrong=wrong: correct(f"wrong_{wrong}")  # type: ignore[misc]
    many = f"wrong_{WRONG[-1]}"
    found["correct them, once more"] = lambda: correct(many, found_before=WRONG[-1])
    found["correct them, changed code"] = lambda: correct(many, definition="b")
    return found


def named(what: str) -> str:
    """Name an object of the session as the package does."""
    return str(TRUEUP._session_name(NAME, what))


def write(spark: SparkSession, table: str, select: str) -> None:
    """Make a table anew."""
    spark.sql(f"create or replace table {table} using iceberg as {select}")


def drain(spark: SparkSession, select: str) -> None:
    """Run a select to its end, and throw its rows away."""
    spark.sql(select).write.format("noop").mode("overwrite").save()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
