"""Logical types of Debezium and Kafka Connect become the types that the user declares."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.envelopes.test_decoder import commands

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEBEZIUM = "io.debezium.time."
CONNECT = "org.apache.kafka.connect.data."
LARGE = 2**126 - 1


def in_base64(number: int) -> str:
    """The bytes of a number in two's complement, as few as it needs."""
    length = (number + (number < 0)).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


CASES: list[tuple[str, str | None, Any, str | None]] = [
    # the type of the user, the logical type of the message, the value, and what it must become
    ("decimal(10,2)", f"{CONNECT}Decimal", in_base64(-12345), "-123.45"),
    ("decimal(10,2)", f"{CONNECT}Decimal", in_base64(0), "0.00"),
    ("decimal(10,2)", f"{CONNECT}Decimal", in_base64(-128), "-1.28"),
    (
        "decimal(38,2)",
        f"{CONNECT}Decimal",
        in_base64(LARGE),
        f"{LARGE}"[:-2] + "." + f"{LARGE}"[-2:],
    ),
    (
        "decimal(38,2)",
        f"{CONNECT}Decimal",
        in_base64(-LARGE),
        f"{-LARGE}"[:-2] + "." + f"{-LARGE}"[-2:],
    ),
    ("decimal(10,1)", f"{CONNECT}Decimal", in_base64(12340), "123.4"),
    ("decimal(10,1)", f"{CONNECT}Decimal", in_base64(12345), None),
    ("decimal(4,2)", f"{CONNECT}Decimal", in_base64(12345), None),
    (
        "decimal(10,3)",
        "io.debezium.data.VariableScaleDecimal",
        {"scale": 1, "value": "CQ=="},
        "0.900",
    ),
    (
        "decimal(10,0)",
        "io.debezium.data.VariableScaleDecimal",
        {"scale": -2, "value": "CQ=="},
        "900",
    ),
    ("decimal(10,2)", "", "1234", "1234.00"),
    ("decimal(10,2)", None, in_base64(-12345), "-123.45"),
    ("decimal(10,2)", None, "1234.5", "1234.50"),
    ("decimal(10,2)", None, "1234", None),
    ("decimal(10,2) from text", None, "1234", "1234.00"),
    ("decimal(10,2) from base64", None, "1234", "-26588.24"),
    ("date", f"{DEBEZIUM}Date", -3653, "1960-01-01"),
    ("date", f"{CONNECT}Date", 2932896, "9999-12-31"),
    ("date", None, 1, "1970-01-02"),
    ("date", f"{DEBEZIUM}MicroTimestamp", 1, None),
    ("timestamp", f"{DEBEZIUM}Timestamp", 1, "1970-01-01 00:00:00.001"),
    ("timestamp", f"{DEBEZIUM}MicroTimestamp", -1, "1969-12-31 23:59:59.999999"),
    ("timestamp", f"{DEBEZIUM}NanoTimestamp", -1, "1969-12-31 23:59:59.999999"),
    ("timestamp", f"{CONNECT}Timestamp", 1, "1970-01-01 00:00:00.001"),
    (
        "timestamp",
        f"{DEBEZIUM}ZonedTimestamp",
        "2026-01-05T10:00:00.123456+14:00",
        "2026-01-04 20:00:00.123456",
    ),
    ("timestamp", None, 1767607200123456, None),
    ("timestamp from micros", None, 1767607200123456, "2026-01-05 10:00:00.123456"),
    ("timestamp from seconds", None, 1767607200, "2026-01-05 10:00:00"),
    ("timestamp_ntz", f"{DEBEZIUM}Timestamp", 1, "1970-01-01 00:00:00.001"),
    ("string", f"{DEBEZIUM}MicroTime", 37800250000, "10:30:00.25"),
    ("string", f"{DEBEZIUM}Time", 37800000, "10:30:00"),
    ("string", f"{CONNECT}Time", 1, "00:00:00.001"),
    ("string from nanos", None, 1000, "00:00:00.000001"),
    ("string", None, 1000, None),
    ("bigint", f"{DEBEZIUM}MicroTime", 1000, "1000"),
    ("string", "io.debezium.time.Interval", "P1Y2M3DT4H5M6.7S", "P1Y2M3DT4H5M6.7S"),
    ("string", "io.debezium.data.Enum", "large", "large"),
    ("string", "io.debezium.data.Json", '{"b": 1, "a": 2}', '{"b": 1, "a": 2}'),
    ("string", None, {"b": 1, "a": [1]}, '{"a":[1],"b":1}'),
    ("struct<a: int>", "io.debezium.data.Json", '{"a": 2}', "{2}"),
    ("array<int>", "io.debezium.data.Json", "[1, 2", None),
    ("binary from hex", None, "6162", "ab"),
    ("binary", None, "YWI=", "ab"),
    ("boolean", None, 1, "true"),
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_logical_types_become_the_types_of_the_user(spark: SparkSession, zone: str) -> None:
    """A column for each case, and a message that has them all."""
    schema = {"id": "bigint"} | {f"c{n}": case[0] for n, case in enumerate(CASES)}
    fields = [
        {
            "field": f"c{n}",
            "type": "any",
            **({"name": name} if name else {}),
            "parameters": {"scale": "2"},
        }
        for n, (_, name, _, _) in enumerate(CASES)
        if name is not None
    ]
    after = {"id": 1} | {f"c{n}": value for n, (_, _, value, _) in enumerate(CASES)}
    message = {
        "schema": {"type": "struct", "fields": [{"field": "after", "fields": fields}]},
        "payload": {"op": "c", "before": None, "after": after, "source": {"lsn": 1}},
    }
    frame = spark.createDataFrame([('{"id": 1}', json.dumps(message))], "key string, value string")
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        columns = [f"cast(c{n} as string) as c{n}" for n in range(len(CASES))]
        (row,) = commands(spark, "debezium", frame, schema=schema, columns=columns)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    for n, (kind, name, value, expected) in enumerate(CASES):
        is_instant = kind.startswith("timestamp") and "ntz" not in kind
        if zone == "UTC" or not is_instant:
            assert row[f"c{n}"] == expected, (kind, name, value)
        assert (f"`c{n}` must be" in row["_error"]) == (expected is None), (kind, name, value)
