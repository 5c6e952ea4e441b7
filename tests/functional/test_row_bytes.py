"""Rows as bytes: a row comes back unchanged, and no session setting changes a byte."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests import strategies
from tests.macros.package import in_model, refused
from tests.oracle import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

TRUEUP = in_model("files_state")


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    numbers = st.sampled_from([0, 1, -1, most, -most]) | st.integers(-most, most)
    return numbers.map(lambda number: Decimal(f"{number}E-{scale}"))


texts = st.one_of(
    strategies.texts(),
    st.text(st.sampled_from("\x00\x01\x02abnx,\\'\"\n é🐟"), max_size=8),
)
doubles = strategies.numbers() | st.floats(width=64) | st.sampled_from([5e-324, -1e308, 0.1])
floats = st.floats(width=32) | st.sampled_from([1e-45, -0.0])
times = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))  # noqa: DTZ001 - local times
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": integers(8),
    "smallint": integers(16),
    "int": integers(32),
    "bigint": integers(64),
    "decimal(1,0)": decimals(1, 0),
    "decimal(20,4)": decimals(20, 4),
    "decimal(38,0)": decimals(38, 0),
    "decimal(38,18)": decimals(38, 18),
    "decimal(38,38)": decimals(38, 38),
    "float": floats,
    "double": doubles,
    "string": texts,
    "binary": st.binary(max_size=6),
    "date": st.dates(),
    "timestamp": times.map(lambda time: time.replace(tzinfo=timezone.utc)),
    "timestamp_ntz": times,
}


def nested(kind: str, values: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """Arrays and structs of a type, and of each other, with nulls at every level."""
    nullable = st.none() | values
    pairs = st.none() | st.tuples(nullable, st.none() | texts)
    lists = st.none() | st.lists(nullable, max_size=3)
    pair = f"struct<a b:{kind},it's:string>"
    return {
        kind: nullable,
        f"array<{kind}>": lists,
        pair: pairs,
        f"array<{pair}>": st.none() | st.lists(pairs, max_size=3),
        f"struct<one:array<array<{kind}>>>": st.none()
        | st.tuples(st.none() | st.lists(lists, max_size=2)),
    }


SHAPES = [nested(kind, values) for kind, values in TYPES.items()]
ALL = {kind: values for shapes in SHAPES for kind, values in shapes.items()}
COLUMNS = [{"name": f"c`{place}", "type": kind} for place, kind in enumerate(ALL)]
EACH = [(column, TRUEUP.row_bytes_expr([column])) for column in COLUMNS]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Random rows, with one column for each type."""
    drawn: list[tuple[Any, ...]] = [(None,) * len(ALL)]

    @settings(
        max_examples=60,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*ALL.values()))
    def collect(row: tuple[Any, ...]) -> None:
        drawn.append(row)

    collect()
    schema = ", ".join(
        f"{TRUEUP._quoted(column['name'])} {quoted(column['type'])}" for column in COLUMNS
    )
    return spark.createDataFrame(drawn, schema).coalesce(1).localCheckpoint()


def quoted(kind: str) -> str:
    """Write a type with the names of its fields as identifiers."""
    return kind.replace("a b:", "`a b`:").replace("it's:", "`it's`:")


@contextmanager
def other_settings(spark: SparkSession) -> Iterator[None]:
    others = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "America/New_York"}
    before = {name: str(spark.conf.get(name)) for name in others}
    try:
        for name, value in others.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def encode(rows: DataFrame) -> list[list[bytes]]:
    expressions = [f"{expression} as b{place}" for place, (_, expression) in enumerate(EACH)]
    return [[bytes(item) for item in row] for row in rows.selectExpr(*expressions).collect()]


def test_a_row_comes_back_with_the_same_types_and_values(rows: DataFrame) -> None:
    encoded = rows.selectExpr("*", f"{TRUEUP.row_bytes_expr(COLUMNS)} as bytes")
    decoded = encoded.selectExpr(f"{TRUEUP.row_from_bytes_expr('bytes', COLUMNS)} as row")
    decoded = decoded.selectExpr("row.*")
    assert decoded.dtypes == rows.dtypes
    assert canonical(list(decoded.collect())) == canonical(list(rows.collect()))


def test_equal_values_have_equal_bytes_and_other_values_do_not(
    rows: DataFrame,
) -> None:
    values, texts = rows.collect(), encode(rows)
    for place, kind in enumerate(ALL):
        found: dict[Any, set[bytes]] = defaultdict(set)
        for row, encoded in zip(values, texts, strict=True):
            found[canonical(row[place])].add(encoded[place])
        assert all(len(each) == 1 for each in found.values()), kind
        assert len({next(iter(each)) for each in found.values()}) == len(found), kind


def test_time_zone_and_ansi_mode_change_no_byte_and_no_value(
    spark: SparkSession, rows: DataFrame
) -> None:
    before = encode(rows)
    with other_settings(spark):
        assert encode(rows) == before
        equal = ", ".join(
            f"{TRUEUP._quoted(column['name'])} <=>"
            f" {TRUEUP.row_from_bytes_expr(expression, [column])}.{TRUEUP._quoted(column['name'])}"
            for column, expression in EACH
        )
        same = spark.sql(f"select {equal} from {{rows}}", rows=rows).collect()
    assert all(all(row) for row in same)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("string", ["cast(X'ff' as string)", "cast(X'c328' as string)", "'\\u0001xFF'", "'xFF'"]),
        ("timestamp_ntz", ["'+294247-01-09 04:00:54.775807'", "'-0004-02-29 00:00:00'"]),
        ("timestamp", ["timestamp_micros(9223339708799999999)", "timestamp_micros(-1)"]),
        ("date", ["date_from_unix_date(1000000)", "date_from_unix_date(-719529)"]),
    ],
)
def test_values_that_python_cannot_hold_come_back_unchanged(
    spark: SparkSession, kind: str, values: list[str]
) -> None:
    column = [{"name": "v", "type": kind}]
    encoded = TRUEUP.row_bytes_expr(column)
    decoded = TRUEUP.row_from_bytes_expr("bytes", column)
    for value in values:
        row = spark.sql(
            f"""
            with given as (select cast({value} as {kind}) as v),
            encoded as (select v, {encoded} as bytes from given),
            decoded as (select *, {decoded} as row from encoded)
            select v <=> row.v as same, bytes = {TRUEUP.row_bytes_expr(column, "row")} as again
            from decoded
            """
        ).collect()[0]
        assert tuple(row) == (True, True), value


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("map<string,int>", "map<string,int>"),
        ("array<map<string,int>>", "map<string,int>"),
        ("struct<a:int,b:struct<c:variant>>", "variant"),
        ("variant", "variant"),
        ("interval day to second", "interval day to second"),
        ("void", "void"),
        ("string collate UTF8_LCASE", "string collate UTF8_LCASE"),
    ],
)
def test_the_error_for_a_wrong_type_lists_the_possible_types(kind: str, wrong: str) -> None:
    must, got, _ = refused(TRUEUP.row_bytes_expr, [{"name": "v", "type": kind}])
    assert must.startswith("A column that is written as bytes must be of one of the types array,")
    assert got == f"Got: {wrong}"


def test_no_row_is_longer_than_its_computed_maximum(rows: DataFrame) -> None:
    for column, text in EACH:
        most = TRUEUP._max_row_bytes_expr([column], alias="written")
        longest = (
            rows.alias("written").selectExpr(f"max(octet_length({text}) - {most}) as over").first()
        )
        assert longest is not None
        assert longest["over"] < 0, column
