"""A table of Delta that Spark's own AUTO CDC should keep, from a stream of commands."""

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr


@pipelines.temporary_view
def commands() -> DataFrame:
    """Give a command a second, on a key of its own."""
    ticks = SparkSession.active().readStream.format("rate").load()
    return ticks.selectExpr("value as k", "timestamp as ts", "'U' as op")


pipelines.create_streaming_table("orders", format="delta")
pipelines.create_auto_cdc_flow(  # type: ignore[attr-defined]  # since Spark 4.2
    target="orders",
    source="commands",
    keys=["k"],
    sequence_by="ts",
    apply_as_deletes=expr("op = 'D'"),
    stored_as_scd_type=1,
)
