"""Lands the messages of Kafka's topics, with Spark Structured Streaming."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, StreamingQueryException

from dbt_trueup.errors import LandError, SourceError
from dbt_trueup.plural import count

from . import create_table

if TYPE_CHECKING:
    from threading import Event

    from pyspark.sql import DataFrame, SparkSession

    from dbt_trueup.runner.screen import Screen

COLUMNS = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key": "string",
    "value": "string",
    "headers": "array<struct<key: string, value: binary>>",
}


def land_topics(  # noqa: PLR0913 - each is an option of the command
    session: SparkSession,
    table: str,
    *,
    servers: str,
    topics: str,
    checkpoint: str | None,
    every: float | None,
    stop: Event,
    screen: Screen,
) -> None:
    """Append all messages that were not landed before.

    Args:
        session: It needs Spark's package for Kafka.
        table: The table. It is created if it is missing.
        servers: The addresses of brokers.
        topics: A regular expression of Java for the names of the topics.
        checkpoint: The folder for the offsets that were read. By default one beside the tables.
        every: The seconds from one batch to the next. None: land what is there now, and return.
        stop: Ends the command.
        screen: Prints the lines.

    Raises:
        SourceError: Kafka does not answer, or no longer has what was not read.
    """
    folder = checkpoint or f"{session.conf.get('spark.sql.warehouse.dir')}/landed/{table}"
    messages = read(session, servers, topics)
    create_table(session, table, COLUMNS)
    when: dict[str, Any] = {"processingTime": f"{every} seconds"} if every else {}
    writer = messages.writeStream.option("checkpointLocation", folder)
    # Outside of a statement, a thread does not know the default catalog.
    catalog = session.sql("select current_catalog()").collect()[0][0]
    name = f"{catalog}.{table}" if table.count(".") == 1 else table
    query = writer.trigger(**when or {"availableNow": True}).toTable(name)
    told = -1
    try:
        ended = False
        while not ended and not stop.is_set():
            ended = bool(query.awaitTermination(1))
            for batch in query.recentProgress:
                if batch.batchId > told and batch.numInputRows:
                    told = batch.batchId
                    screen.print_line(f"landed {count(batch.numInputRows, 'message')}")
    except StreamingQueryException as error:
        message = f"Kafka at {servers}: {error}".splitlines()[0]
        raise SourceError(message) from error
    finally:
        query.stop()


def read(session: SparkSession, servers: str, topics: str) -> DataFrame:
    """Return the messages of topics as a stream."""
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribePattern": topics,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }
    try:
        messages = session.readStream.format("kafka").options(**options).load()
    except AnalysisException as error:
        if "kafka" not in str(error).lower():
            raise
        message = (
            "Spark must have its package for Kafka. Add it to `spark.jars.packages` in the profile:"
            f" org.apache.spark:spark-sql-kafka-0-10_2.13:{session.version}"
        )
        raise LandError(message) from error
    # Spark gives keys and values as bytes. Each partition of a topic would become a file.
    cells = (f"cast({name} as {kind})" for name, kind in COLUMNS.items())
    return messages.selectExpr(*cells).coalesce(session.sparkContext.defaultParallelism)
