"""Plays the example with Spark and dbt in a temporary folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import DbtError
from dbt_trueup.runner.project import Project

from .example import COLUMNS, LINES, LOG, MERGE, MERGED, MERGED_COLUMNS, MODEL, Line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

JARS = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.xerial:sqlite-jdbc:3.50.3.0"
"""What Spark downloads. profiles.yml.example has the same."""


@dataclass(frozen=True)
class Row:
    """A row of one of the two tables."""

    order_id: int
    status: str | None
    amount: int | None
    line: int | None = None
    """The line that a MERGE took it from."""


@dataclass(frozen=True)
class Broken:
    """An order that trueup shows as broken."""

    order_id: int
    kind: str
    error: str | None


@dataclass(frozen=True)
class Outcome:
    """What the two have made of the log."""

    lines: Sequence[Line]
    merged: Sequence[Row]
    """The table of the MERGE."""
    rows: Sequence[Row]
    """The table of trueup."""
    errors: Sequence[Broken]
    """Its errors."""
    batches: Sequence[str]
    """What dbt says of each run of the model."""
    seconds: float
    """How long it took, with the start of Spark."""


def play(show_status: Callable[[str], None], lines: Sequence[Line] = LINES) -> Outcome:
    """Run both after each delivery of the log.

    Args:
        show_status: Gets a text that says what happens now.
        lines: The log.

    Raises:
        TrueupError: Spark cannot start, or dbt failed.
    """
    began = monotonic()
    # On some systems a file of Spark is open for a moment longer.
    with TemporaryDirectory(prefix="trueup-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        settings = settings_of(folder)
        write_project(folder, settings)
        show_status("starting Spark; the first time it downloads 60 MB")
        spark = start_spark(settings)
        try:
            spark.sql("create schema shop")
            spark.sql(f"create table {LOG} ({COLUMNS}) using iceberg")
            spark.sql(f"create table {MERGED} ({MERGED_COLUMNS}) using iceberg")
            project = Project(dbt_options(folder), [])
            batches = []
            for delivery in sorted({line.delivery for line in lines}):
                show_status(f"delivery {delivery}: a MERGE, and dbt run")
                arrived = [line for line in lines if line.delivery == delivery]
                spark.createDataFrame(arrived, COLUMNS).coalesce(1).writeTo(LOG).append()
                spark.sql(MERGE.format(delivery=delivery))
                batches.append(run_model(project))
            return Outcome(
                lines=list(lines),
                merged=[Row(**row) for row in read(spark, MERGED)],
                rows=[Row(**row) for row in read(spark, "shop.orders")],
                errors=[
                    Broken(row["order_id"], row["_error_kind"], row["_error"])
                    for row in read(spark, "shop.orders_errors")
                ],
                batches=batches,
                seconds=monotonic() - began,
            )
        finally:
            spark.stop()


def settings_of(folder: Path) -> dict[str, str]:
    """Return the settings of Spark: tables of Iceberg in a folder."""
    return {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": f"{folder}/spark-warehouse",
        "spark.trueup.jvm_log": f"{folder}/spark.log",
        "spark.jars.packages": JARS,
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{folder}/catalog.db?synchronous=OFF",
        "spark.sql.catalog.lake.jdbc.schema-version": "V1",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.catalog.lake.warehouse": f"{folder}/warehouse",
    }


def write_project(folder: Path, settings: dict[str, str]) -> None:
    """Write a dbt project with the macros of trueup, a profile and two models. JSON is YAML."""
    with as_file(files("dbt_trueup") / "macros") as macros:
        copytree(macros, folder / "macros", ignore_dangling_symlinks=True)
    # With the name of the package, `trueup.commands` is a macro of the project itself.
    project = {
        "name": "trueup",
        "version": "1.0.0",
        "profile": "demo",
        "flags": {"send_anonymous_usage_stats": False},
        "models": {"+file_format": "iceberg"},
    }
    output: dict[str, Any] = {
        "type": "spark",
        "method": "session",
        "host": "localhost",
        "schema": "shop",
    }
    output |= {"threads": 1, "server_side_parameters": settings}
    profile = {"demo": {"target": "demo", "outputs": {"demo": output}}}
    (folder / "dbt_project.yml").write_text(json.dumps(project), encoding="utf-8")
    (folder / "profiles.yml").write_text(json.dumps(profile), encoding="utf-8")
    (folder / "models").mkdir()
    (folder / "models" / "orders.sql").write_text(MODEL, encoding="utf-8")
    errors = "{{ trueup.errors('orders') }}"
    (folder / "models" / "orders_errors.sql").write_text(errors, encoding="utf-8")


def dbt_options(folder: Path) -> list[str]:
    """Return options of dbt that keep everything in the folder, whatever the environment says."""
    given = {"project-dir": "", "profiles-dir": "", "target-path": "target", "log-path": "logs"}
    return [
        *(word for name, part in given.items() for word in (f"--{name}", str(folder / part))),
        *("--target", "demo"),
    ]


def start_spark(settings: dict[str, str]) -> SparkSession:
    """Start the Spark session that dbt then uses, too."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy

    from dbt_trueup.plugin import session  # noqa: PLC0415 - heavy

    session.install()
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_model(project: Project) -> str:
    """Run dbt. Return what it says of the collection."""
    done = project.run()
    if done.failures:
        raise DbtError("; ".join(done.failures))
    return "; ".join(text.partition(": ")[2] for text in done.changes)


def read(spark: SparkSession, table: str) -> list[dict[str, Any]]:
    """Read the rows of a table, by order."""
    return [row.asDict() for row in spark.table(table).orderBy("order_id").collect()]
