"""Apache Hudi's side of benchmarks.upsert, in a process with a Spark that Hudi is released for.

That is Spark 3.5, in the environment that `make bench` fills from requirements-hudi.txt. `Hudi`
starts the process, which runs this file, and asks it line by line, in JSON.

The table is merge-on-read with an index of its keys, so that an upsert looks up where the keys are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

PYTHON = Path(__file__).parents[1] / ".venv" / "hudi" / "bin" / "python"
BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
SHARED_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
}
"""Of both sessions, so that what they take can be compared."""
SETTINGS = {
    **SHARED_SETTINGS,
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.jars.packages": BUNDLE,
}
TABLE = {
    "hoodie.table.name": "merged",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.keygenerator.class": (
        "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    ),
    "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX",
    "hoodie.metadata.global.record.level.index.enable": "true",
}


class Hudi:
    """A table of Hudi, in a folder, and the process that holds it."""

    def __init__(self, folder: Path) -> None:
        """Start the process; it writes what Spark says to a file beside the folder."""
        with Path(f"{folder}.log").open("w") as log:
            self.process = subprocess.Popen(  # noqa: S603 - a path of the project
                [PYTHON, __file__, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def write(self, select: str, operation: str, files: list[str]) -> None:
        """Write a select of the view `commands`, which reads parquet files, by an operation."""
        self.ask({"select": select, "operation": operation, "files": files})

    def read(self, select: str) -> list[Any]:
        """Give the first row of a select of the table, `merged`."""
        row: list[Any] = self.ask({"select": select})
        return row

    def ask(self, question: dict[str, object]) -> Any:
        """Send a line, and wait for the answer."""
        questions, answers = self.process.stdin, self.process.stdout
        assert questions  # noqa: S101
        assert answers  # noqa: S101
        questions.write(json.dumps(question) + "\n")
        questions.flush()
        answer = answers.readline()
        assert answer, "Hudi's process has ended: see the log beside its folder"  # noqa: S101
        return json.loads(answer)

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()


def main() -> None:
    """Answer the lines of the input."""
    # What the JVM writes to the output must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    folder = sys.argv[1]
    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = None
        if "operation" in asked:
            spark.read.parquet(*asked["files"]).createOrReplaceTempView("commands")
            write = spark.sql(asked["select"]).write.format("hudi").options(**TABLE).mode("append")
            write.option("hoodie.datasource.write.operation", asked["operation"]).save(folder)
        else:
            spark.read.format("hudi").load(folder).createOrReplaceTempView("merged")
            answer = list(spark.sql(asked["select"]).collect()[0])
        answers.write(json.dumps(answer, default=str) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
