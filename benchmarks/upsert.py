"""Upserts side by side with what users would pick instead, on the same data, in one process.

    python -m benchmarks.upsert [--rows N ...] [--share PERCENT ...] [--keys scattered clustered]
                                [--rounds N] [--only WAY ...] [--json FILE]

A table of `--rows` rows with 8 value columns takes one batch of commands a round: three commands a
key, a tenth of the keys deleted. Every way takes the same batch in turn, the first one is another
each round; the first two rounds are not counted. Printed are the median seconds of each way, and
its ratio to dbt's incremental merge in the same format. With more than one size, share or kind of
keys each combination starts from new tables.
"""

# ruff: noqa: S608 - all SQL is made of names that stand here

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import duckdb
import pyspark
import yaml
from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from dbt_trueup.plugin import session

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from dbt.contracts.graph.manifest import Manifest

PACKAGE = Path(__file__).parents[1]
WARM_ROUNDS = 2
COMMANDS_PER_KEY = 3
LIMIT = "limit: read the keys, write the batch"
"""What no upsert that scans can be faster than."""
SHARED_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
)
VALUES = {
    "v1": "cast(pmod({h}, 1000) as int)",
    "v2": "{h}",
    "v3": "concat('name-', pmod({h}, 9973))",
    "v4": "sha1(cast({h} as string))",
    "v5": "cast(pmod({h}, 100000) as decimal(12, 2))",
    "v6": "timestamp_micros(1700000000000000 + pmod({h}, 1000000) * 1000000)",
    "v7": "cast(pmod({h}, 1000000) as double) / 3",
    "v8": "pmod({h}, 2) = 0",
}
"""The value columns, each made of a hash of the command."""
ICEBERG = {
    "format-version": "3",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.parquet.row-group-size-bytes": "16777216",
}
"""The table properties with which trueup writes, for the peers on Iceberg, too."""
CATALOGS = {"iceberg": "lake", "delta": "spark_catalog"}
"""The catalog of each table format."""
CHANGE_FEED = "tblproperties ('delta.enableChangeDataFeed' = 'true')"
"""With its change feed, trueup reads only what is new in a log on Delta."""


@dataclass(frozen=True)
class Workload:
    """What a run of the benchmark measures."""

    rows: int
    share: float
    keys: str

    @property
    def batch_keys(self) -> int:
        """How many keys a batch touches."""
        return max(1, round(self.rows * self.share / 100))

    def __str__(self) -> str:
        """Name it in one line."""
        return f"{self.rows:,} rows, {self.share:g} % of the keys, {self.keys}"


def main() -> None:
    """Print all figures."""
    arguments = parse()
    session.install()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        spark = start(Path(folder))
        loads = [
            Workload(rows, share, keys)
            for rows in arguments.rows
            for share in arguments.share
            for keys in arguments.keys
        ]
        for number, workload in enumerate(loads):
            bench = Bench(spark, Path(folder) / f"project_{number}", workload)
            seconds = bench.measure(arguments.rounds, arguments.only)
            bench.close()
            show(workload, seconds)
            found.append({"workload": asdict(workload), "seconds": seconds})
    if arguments.json:
        versions = {
            "pyspark": pyspark.__version__,
            "duckdb": duckdb.__version__,
            "packages": PACKAGES,
        }
        figures = {"versions": versions, "settings": settings("FOLDER"), "runs": found}
        Path(arguments.json).write_text(json.dumps(figures, indent=1))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--share", type=float, nargs="+", default=[1.0])
    parser.add_argument("--keys", nargs="+", default=["scattered"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="the first letters of the ways to measure")
    parser.add_argument("--json", help="a file for the raw seconds")
    return parser.parse_args()


def settings(folder: Path | str) -> dict[str, str]:
    """Give the settings of a session with both table formats, each with a catalog of its own."""
    return {
        **SHARED_SETTINGS,
        "spark.sql.warehouse.dir": f"{folder}/delta",
        "spark.databricks.delta.snapshotPartitions": "2",
        # As in profiles.yml.example.
        "spark.driver.extraJavaOptions": "-Diceberg.scan.plan-in-worker-pool=false",
        "spark.trueup.jvm_log": f"{folder}/spark.log",
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions."
        "IcebergSparkSessionExtensions,io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{folder}/catalog.db",
        "spark.sql.catalog.lake.jdbc.schema-version": "V1",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.catalog.lake.warehouse": f"{folder}/lake",
    }


def start(folder: Path) -> SparkSession:
    """Start a session of two cores."""
    builder = SparkSession.builder
    for name, value in settings(folder).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Bench:
    """The tables and the dbt project of one workload, and the ways to upsert into them."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        workload: Workload,
        table_format: str = "iceberg",
    ) -> None:
        """Make the log with the first commands. `table_format` is that of the log."""
        self.spark, self.folder, self.workload = spark, folder, workload
        self.table_format = table_format
        self.schema = folder.name
        self.tick = 0
        self.duckdb = duckdb.connect(
            f"{folder}.duckdb", config={"threads": 2, "memory_limit": "4GB"}
        )
        spark.sql(f"create schema lake.{self.schema}")
        spark.sql(f"create schema spark_catalog.{self.schema}")
        self.log = f"{CATALOGS[table_format]}.{self.schema}.log"
        self.commands = f"lake.{self.schema}.batch_commands"
        self.write_log(f"select id as k, 0 as c from range(0, {workload.rows}, 1, 4)", create=True)
        self.manifest = self.make_project()

    def write_log(self, keys: str, *, create: bool = False) -> None:
        """Append commands of some keys, `k` with a number `c` each, to the log."""
        values = ", ".join(
            f"{value.format(h=f'xxhash64(k, c, {self.tick}L)')} as {name}"
            for name, value in VALUES.items()
        )
        last = COMMANDS_PER_KEY - 1 if self.tick else -1
        commands = f"""
select k, cast({self.tick} as bigint) as ts, cast(c as bigint) as seq,
    if(c = {last} and pmod(xxhash64(k, {self.tick}L), 10) = 0, 'D', 'U') as op, {values}
from ({keys})"""
        if create:
            how = f"using {self.table_format} {CHANGE_FEED if self.table_format == 'delta' else ''}"
            self.spark.sql(f"create table {self.log} {how} as {commands}")
        else:
            self.spark.sql(f"create or replace table {self.commands} using iceberg as {commands}")
            self.spark.sql(f"insert into {self.log} select * from {self.commands}")

    def next_batch(self) -> None:
        """Append one batch to the log."""
        self.tick += 1
        rows, count = self.workload.rows, self.workload.batch_keys
        if self.workload.keys == "scattered":
            key = f"pmod(xxhash64(id, {self.tick}L), {rows})"
            keys = f"select distinct {key} as k from range(0, {count}, 1, 4)"
        else:
            # Half of the keys are new, half are the ones before them.
            last = rows + (self.tick - 1) * (count // 2)
            keys = f"select id as k from range({last - count // 2}, {last + count // 2}, 1, 4)"
        self.write_log(f"select k, explode(array(0, 1, 2)) as c from ({keys})")
        self.batch_files = self.files(self.commands)

    def make_project(self) -> Manifest:
        """Write the dbt project of trueup and of dbt's own incremental models, and parse it."""
        models = self.folder / "models"
        models.mkdir(parents=True)
        (self.folder / "dbt_packages").mkdir()
        (self.folder / "dbt_packages" / "trueup").symlink_to(PACKAGE)
        packages = {"packages": [{"local": str(PACKAGE)}]}
        (self.folder / "packages.yml").write_text(json.dumps(packages))
        call = (
            f"relation='{self.log}', columns={json.dumps(list(VALUES))}, delete_when=\"op = 'D'\""
        )
        for name in CATALOGS:
            config = f"materialized='trueup', unique_key='k', file_format='{name}'"
            (models / f"ours_{name}.sql").write_text(
                f"{{{{ config({config}) }}}}\n"
                f"{{{{ trueup.commands({call}, sequence_by=['ts', 'seq']) }}}}"
            )
        for name, text in self.peers().items():
            (models / f"{name}.sql").write_text(text)
        project = {
            "name": self.schema,
            "profile": "bench",
            "flags": {"send_anonymous_usage_stats": False},
        }
        (self.folder / "dbt_project.yml").write_text(yaml.safe_dump(project))
        target = {"type": "spark", "method": "session", "host": "localhost", "threads": 1}
        outputs = {
            "lake": {**target, "schema": self.schema},
            "delta": {**target, "schema": f"spark_catalog.{self.schema}"},
        }
        profiles = {"bench": {"target": "lake", "outputs": outputs}}
        (self.folder / "profiles.yml").write_text(yaml.safe_dump(profiles))
        parsed = dbtRunner().invoke(["parse", *self.flags()])
        assert parsed.success, parsed.exception  # noqa: S101
        return parsed.result  # type: ignore[return-value]

    def flags(self) -> list[str]:
        """Give dbt's flags for the project."""
        folder = str(self.folder)
        return ["--project-dir", folder, "--profiles-dir", folder, "--quiet", "--no-use-colors"]

    def peers(self) -> dict[str, str]:
        """Give the models that most projects write, by name: one a format, and the rebuild."""
        select = f"""
select {", ".join(("k", *VALUES))}, op, ts
from (
    select *, row_number() over (partition by k order by ts desc, seq desc) as rn
    from {self.log}
    {{% if is_incremental() %}}where ts > (select max(ts) from {{{{ this }}}}){{% endif %}}
)
where rn = 1"""
        properties = json.dumps(ICEBERG)
        merge = "materialized='incremental', incremental_strategy='merge', unique_key='k'"
        rebuilt = select[: select.index("    {%")] + select[select.index(")\nwhere") :]
        return {
            "peer_delta": f"{{{{ config({merge}, file_format='delta') }}}}{select}",
            "peer_iceberg": f"{{{{ config({merge}, file_format='iceberg',"
            f" tblproperties={properties}) }}}}{select}",
            "rebuilt": "{{ config(materialized='table', file_format='iceberg') }}"
            f"{rebuilt} and op <> 'D'",
        }

    def run(self, *select: str) -> None:
        """Run some models with dbt."""
        invoked = dbtRunner(manifest=self.manifest).invoke(
            ["run", *self.flags(), "--select", *select]
        )
        assert isinstance(invoked.result, RunExecutionResult), invoked.exception  # noqa: S101
        assert invoked.success, [one.message for one in invoked.result]  # noqa: S101

    def ways(self) -> dict[str, Callable[[], None]]:
        """Give the ways to bring the last batch into a table, by name."""
        lake, delta = f"lake.{self.schema}", f"spark_catalog.{self.schema}"

        def in_catalog(catalog: str, *models: str) -> None:
            self.spark.catalog.setCurrentCatalog(catalog)
            self.run(*models)
            self.spark.catalog.setCurrentCatalog("lake")

        return {
            "trueup, Iceberg": partial(in_catalog, "lake", "ours_iceberg"),
            "trueup, Delta": partial(in_catalog, "spark_catalog", "ours_delta"),
            "incremental merge, Delta": partial(in_catalog, "spark_catalog", "peer_delta"),
            "incremental merge, Iceberg": partial(in_catalog, "lake", "peer_iceberg"),
            "MERGE by hand, Delta": partial(self.merge, f"{delta}.merged"),
            "MERGE by hand, Iceberg": partial(self.merge, f"{lake}.merged"),
            "MERGE and change feed, Delta": partial(self.merge, f"{delta}.fed"),
            "MERGE and changelog view, Iceberg": self.merge_and_list_changes,
            "MERGE, DuckDB": self.merge_in_duckdb,
            "rebuild, Iceberg": partial(in_catalog, "lake", "rebuilt"),
            LIMIT: self.touch,
        }

    def load(self, ways: Collection[str]) -> None:
        """Make the tables that the ways by hand need, from the first commands."""
        first = f"select {', '.join(('k', *VALUES))} from {self.log}"
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in ICEBERG.items())
        copied = properties.replace("merge-on-read", "copy-on-write")
        lake, delta = f"lake.{self.schema}", f"spark_catalog.{self.schema}"
        fed = f"using delta {CHANGE_FEED}"
        for table, how, users in (
            (f"{delta}.merged", "using delta", {"MERGE by hand, Delta"}),
            (
                f"{lake}.merged",
                f"using iceberg tblproperties ({properties})",
                {"MERGE by hand, Iceberg", LIMIT},
            ),
            (f"{delta}.fed", fed, {"MERGE and change feed, Delta"}),
            (
                f"{lake}.listed",
                f"using iceberg tblproperties ({copied})",
                {"MERGE and changelog view, Iceberg"},
            ),
        ):
            if users & set(ways):
                self.spark.sql(f"create table {table} {how} as {first}")
        if LIMIT in ways:
            self.spark.sql(f"create table {lake}.written using iceberg as {first} limit 0")
        if "MERGE, DuckDB" in ways:
            rows = f"select {', '.join(('k', *VALUES))} from read_parquet({self.files(self.log)})"
            self.duckdb.execute(f"create table merged as {rows}")

    def merge(self, table: str) -> None:
        """MERGE the deduplicated batch."""
        self.spark.sql(self.merge_sql(table, self.commands))

    def merge_in_duckdb(self) -> None:
        """MERGE the batch, read from the same files, in DuckDB's own database."""
        self.duckdb.execute(self.merge_sql("merged", f"read_parquet({self.batch_files})"))

    def files(self, table: str) -> list[str]:
        """List the data files of an Iceberg table."""
        found = self.spark.sql(f"select file_path from {table}.files").collect()
        return [row[0].removeprefix("file:") for row in found]

    @staticmethod
    def latest(commands: str) -> str:
        """Give a select of the last command of each key, with its operation."""
        return f"""
select {", ".join(("k", *VALUES))}, ts, op
from (
    select *, row_number() over (partition by k order by ts desc, seq desc) as rn
    from {commands}
) as ranked
where rn = 1"""

    def merge_sql(self, table: str, commands: str) -> str:
        """Give a MERGE of the deduplicated batch."""
        columns = ", ".join(("k", *VALUES))
        return f"""
merge into {table} as t
using ({self.latest(commands)}
) as s
on t.k = s.k
when matched and s.op = 'D' then delete
when matched then update set {", ".join(f"{name} = s.{name}" for name in VALUES)}
when not matched and s.op <> 'D' then insert ({columns})
    values ({", ".join(f"s.{name}" for name in ("k", *VALUES))})"""

    def merge_and_list_changes(self) -> None:
        """MERGE, and write what Iceberg says has changed; that reads no merge-on-read tables."""
        table = f"lake.{self.schema}.listed"
        newest = f"select snapshot_id from {table}.snapshots order by committed_at desc limit 1"
        before = self.spark.sql(newest).collect()[0][0]
        self.merge(table)
        after = self.spark.sql(newest).collect()[0][0]
        self.spark.sql(
            f"call lake.system.create_changelog_view(table => '{self.schema}.listed',"
            f" changelog_view => 'listed_changes', options => map('start-snapshot-id', '{before}',"
            f" 'end-snapshot-id', '{after}'), identifier_columns => array('k'))"
        )
        changes = f"{table}_changes"
        how = "insert into" if self.spark.catalog.tableExists(changes) else "create table"
        using = "" if how == "insert into" else " using iceberg as"
        self.spark.sql(f"{how} {changes}{using} select * from listed_changes")

    def touch(self) -> None:
        """Do what no upsert by scanning can do without."""
        lake = f"lake.{self.schema}"
        self.spark.sql(f"select max(k) from (select k from {lake}.merged where k >= -1)").collect()
        columns = ", ".join(("k", *VALUES))
        self.spark.sql(f"insert into {lake}.written select {columns} from {self.commands}")

    def measure(self, rounds: int, only: list[str] | None) -> dict[str, list[float]]:
        """Take the seconds of all ways, round by round."""
        ways = {
            name: way
            for name, way in self.ways().items()
            if only is None or name.startswith(tuple(only))
        }
        self.load(ways)
        for name, way in ways.items():
            if "trueup" in name or "incremental" in name:
                way()
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(WARM_ROUNDS + rounds):
            self.next_batch()
            for name in rotated(list(ways), number):
                began = perf_counter()
                ways[name]()
                if number >= WARM_ROUNDS:
                    seconds[name].append(round(perf_counter() - began, 3))
        self.check(ways)
        return seconds

    def close(self) -> None:
        """Let go of what is not Spark's."""
        self.duckdb.close()

    def check(self, ways: dict[str, Callable[[], None]]) -> None:
        """See to it that ours and the MERGEs by hand have come to the same rows."""
        if not {"trueup, Iceberg", "MERGE by hand, Iceberg", "MERGE, DuckDB"} <= set(ways):
            return
        columns = ", ".join(("k", *VALUES))
        ours = f"select {columns} from lake.{self.schema}.ours_iceberg"
        theirs = f"select {columns} from lake.{self.schema}.merged"
        both = f"({ours} except {theirs}) union all ({theirs} except {ours})"
        assert self.spark.sql(both).count() == 0, "the ways have come to other rows"  # noqa: S101
        sums = "select count(*), sum(k), sum(v1), sum(cast(v8 as int)), max(v4) from"
        found = self.duckdb.execute(f"{sums} merged").fetchone()
        expected = self.spark.sql(f"{sums} lake.{self.schema}.merged").first()
        assert found == tuple(expected or ()), "DuckDB has come to other rows"  # noqa: S101


def rotated(names: list[str], number: int) -> Iterator[str]:
    """Give the names, beginning with another one each round."""
    start = number % len(names)
    yield from names[start:] + names[:start]


def show(workload: Workload, seconds: dict[str, list[float]]) -> None:
    """Print the figures of one workload."""
    say(f"{workload}:")
    for name, each in seconds.items():
        base = seconds.get(f"incremental merge, {name.rpartition(', ')[2]}")
        ratio = f"{median(each) / median(base):5.2f}" if base else ""
        shown = ", ".join(f"{one:.1f}" for one in each)
        say(f"  {name:40} {median(each):6.2f} s  {ratio}  ({shown})")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logging.getLogger("py4j").setLevel(logging.ERROR)
    main()
