"""Certificates are linear, ignore order and settings, and differ for different rows."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.macros.package import in_model
from tests.oracle import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

TRUEUP = in_model("files_state")
OWN = {"_error": "string", "_error_key": "string"}
TYPES = {
    "k": "string",
    "v": "string",
    "w": "string",
    "x": "double",
    "y": "decimal(10,2)",
    "i": "int",
    "b": "binary",
    "n": "struct<s:string,m:array<double>>",
    **OWN,
}
NAN = float("nan")


def columns(types: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"name": name, "type": type_} for name, type_ in types.items() if not name.startswith("_")
    ]


def digest(types: dict[str, str] = TYPES, unique_key: Sequence[str] = ("k",)) -> str:
    return str(TRUEUP._digest_expr(list(unique_key), columns(types)))


@pytest.fixture
def digests(spark: SparkSession) -> Callable[..., list[Any]]:
    """Give the digests of rows, in the order of the rows, from one query."""

    def calculate(
        rows: Sequence[tuple[Any, ...]],
        types: dict[str, str] = TYPES,
        unique_key: Sequence[str] = ("k",),
    ) -> list[Any]:
        schema = ", ".join(f"`{name}` {type_}" for name, type_ in types.items())
        numbered = [(*row, number) for number, row in enumerate(rows)]
        frame = spark.createDataFrame(numbered, schema + ", number int")
        found = frame.selectExpr("number", f"{digest(types, unique_key)} as digest").collect()
        return [row["digest"] for row in sorted(found, key=lambda row: row["number"])]

    return calculate


def row(**given: object) -> tuple[Any, ...]:
    return tuple(given.get(name) for name in TYPES)


DISTINCT = [
    row(),
    row(k="a"),
    row(k=""),
    row(k="a", v=""),
    row(k="a", w=""),
    row(k="a", v="a"),
    row(k="a", v="null"),
    row(k="a", v="A"),
    row(k="a", v=" a"),
    row(k="a", v="a", w="b"),
    row(k="a", v="b", w="a"),
    row(k="a", v="ab"),
    row(k="a", v="a\x02w\x02b"),
    row(k="a", v="\x01n"),
    row(k="a", v="\x01"),
    row(k="a", v="\u00e9"),
    row(k="a", v="e\u0301"),
    row(k="a", x=0.0),
    row(k="a", x=NAN),
    row(k="a", x=float("inf")),
    row(k="a", x=2.0**53),
    row(k="a", x=2.0**53 + 2),
    row(k="a", i=0),
    row(k="a", v="0"),
    row(k="a", y=Decimal("0.00")),
    row(k="a", y=Decimal("1.50")),
    row(k="a", b=b""),
    row(k="a", b=b"\x00"),
    row(k="a", n=(None, None)),
    row(k="a", n=(None, [])),
    row(k="a", n=(None, [None])),
    row(k="a", n=(None, [NAN])),
    row(k="a", n=("", None)),
    row(k="a", _error=""),
    row(k="a", _error="a"),
    row(_error="a"),
    row(_error_key="a"),
    row(_error_key="null"),
    row(k="a", _error_key="x"),
    row(k="ab", v="c"),
    row(k="a", v="bc"),
]


def test_similar_rows_have_different_digests(digests: Callable[..., list[Any]]) -> None:
    found = digests(DISTINCT)

    assert len({one["checksum"] for one in found}) == len(DISTINCT)


def test_zero_and_negative_zero_have_the_same_digest(digests: Callable[..., list[Any]]) -> None:
    signed = [row(k="a", x=0.0, n=("s", [0.0])), row(k="a", x=-0.0, n=("s", [-0.0]))]

    assert len(set(digests(signed))) == 1


def test_a_digest_separates_a_column_name_from_its_value(digests: Callable[..., list[Any]]) -> None:
    types = {
        "k": "string",
        "a": "string",
        "a=b": "string",
        "_error": "string",
        "_error_key": "string",
    }
    rows = [("k", "b=c", None, None, None), ("k", None, "c", None, None)]

    assert len(set(digests(rows, types))) == 2


def test_the_same_value_in_another_key_column_gives_another_digest(
    digests: Callable[..., list[Any]],
) -> None:
    types = {"k1": "string", "k2": "string", **OWN}
    rows = [("a", None, None, None), (None, "a", None, None), ("a", "a", None, None)]

    assert len({one["checksum"] for one in digests(rows, types, ["k1", "k2"])}) == 3


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("int", "bigint", -7),
        ("float", "double", 0.1),
        ("float", "double", NAN),
        ("float", "double", 1e-45),
        ("decimal(4,2)", "decimal(38,2)", Decimal("-0.50")),
        ("decimal(9,9)", "decimal(18,9)", Decimal("1E-9")),
        ("date", "timestamp", date(1969, 2, 28)),
    ],
)
def test_a_widened_column_keeps_the_digest(
    spark: SparkSession, old: str, new: str, value: object
) -> None:
    schema = f"k string, v {old}, _error string, _error_key string"
    frame = spark.createDataFrame([("a", value, None, None)], schema)
    wide = frame.selectExpr("k", f"cast(v as {new}) as v", "_error", "_error_key")
    narrow_digest, wide_digest = (
        one.selectExpr(digest({"k": "string", "v": type_, **OWN})).first()
        for one, type_ in ((frame, old), (wide, new))
    )

    assert narrow_digest == wide_digest


def test_an_added_null_column_and_another_column_order_keep_the_digest(
    digests: Callable[..., list[Any]],
) -> None:
    short = {"k": "string", "v": "string", **OWN}
    longer = {"Added": "int", "v": "string", "k": "string", **OWN}

    short_digests = digests([("a", "b", None, None)], short)
    assert short_digests == digests([(None, "b", "a", None, None)], longer)


def test_session_settings_do_not_change_a_digest(spark: SparkSession) -> None:
    types = {
        "k": "string",
        "t": "timestamp",
        "u": "timestamp_ntz",
        "d": "date",
        "x": "float",
        "y": "decimal(20,5)",
        **OWN,
    }
    instant = "timestamp_micros(1700000000000001)"
    query = f"""select {digest(types)} as digest from (select 'a' as k, {instant} as t,
        timestamp_ntz '2024-02-29 12:00:00.5' as u, date '2024-02-29' as d, cast(0.1 as float) as x,
        cast(12345.6789 as decimal(20,5)) as y,
        cast(null as string) as _error, cast(null as string) as _error_key)"""
    settings_ = {
        "spark.sql.session.timeZone": ["UTC", "America/St_Johns", "Asia/Kathmandu"],
        "spark.sql.ansi.enabled": ["true", "false"],
        "spark.sql.codegen.factoryMode": ["NO_CODEGEN", "FALLBACK"],
    }
    found = set()
    for name, values in settings_.items():
        before = str(spark.conf.get(name))
        for value in values:
            spark.conf.set(name, value)
            found.add(spark.sql(query).first())
        spark.conf.set(name, before)

    assert len(found) == 1


def certificate(spark: SparkSession, rows: Sequence[tuple[Any, ...]], diffs: Sequence[int]) -> Any:
    """Give the certificate of rows, by bucket."""
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in TYPES.items()) + ", _diff int"
    data = [(*one, diff) for one, diff in zip(rows, diffs, strict=True)]
    frame = spark.createDataFrame(data, schema).selectExpr(f"{digest()} as _digest", "_diff")
    frame.createOrReplaceTempView("certified_rows")
    entries = TRUEUP._certificate_entries_select("certified_rows")
    query = f"with entries as ({entries}) {TRUEUP._summed_certificate_select()}"
    return sorted(tuple(one) for one in spark.sql(query).collect())


def test_a_certificate_sums_the_digests_of_each_bucket(
    spark: SparkSession, digests: Callable[..., list[Any]]
) -> None:
    found = digests(DISTINCT)
    checksums = spark.createDataFrame([(one["checksum"],) for one in found], "checksum bigint")
    marks = dict(map(tuple, checksums.selectExpr("checksum", "xxhash64(checksum)").collect()))
    expected: dict[int, list[int]] = {}
    for one in found:
        sums = expected.setdefault(one["bucket"], [0] * 5)
        low, high = one["checksum"] & 0xFFFFFFFF, one["checksum"] >> 32
        for place, number in enumerate((1, one["length"], low, high)):
            sums[place] += number
        sums[4] ^= marks[one["checksum"]]

    summed = certificate(spark, DISTINCT, [1] * len(DISTINCT))
    assert summed == sorted((bucket, *sums) for bucket, sums in expected.items())


def test_a_certificate_is_linear_and_ignores_the_order_of_rows(spark: SparkSession) -> None:
    rows = [*DISTINCT, *DISTINCT[:10]]
    kept = certificate(spark, DISTINCT, [1] * len(DISTINCT))
    changed = [*rows, *DISTINCT[:10]]
    diffs = [1] * len(rows) + [-1] * 10

    assert certificate(spark, changed, diffs) == kept
    assert certificate(spark, changed[::-1], diffs[::-1]) == kept
    assert certificate(spark, rows, [1] * len(rows)) != kept
    nothing = [1] * len(DISTINCT) + [-1] * len(DISTINCT)
    assert certificate(spark, [*DISTINCT, *DISTINCT], nothing) == []


def test_a_swap_of_values_within_a_bucket_changes_the_certificate(spark: SparkSession) -> None:
    rows = [row(k=str(number), v=str(number)) for number in range(600)]
    buckets: dict[int, str] = {}
    frame = spark.createDataFrame(rows, ", ".join(f"{n} {t}" for n, t in TYPES.items()))
    for key, bucket in frame.selectExpr("k", f"{digest()}.bucket").collect():
        if bucket in buckets:
            pair = (buckets[bucket], key)
            break
        buckets[bucket] = key
    straight = [row(k=key, v=key) for key in pair]
    swapped = [row(k=key, v=value) for key, value in zip(pair, pair[::-1], strict=True)]

    assert certificate(spark, straight, [1, 1]) != certificate(spark, swapped, [1, 1])


def rows_and_changes() -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Draw lists of rows. Each row differs from the row before in at most one column."""
    texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    floats = st.none() | st.floats()
    values: dict[str, st.SearchStrategy[Any]] = {
        "x": floats,
        "y": st.none() | st.decimals(-100, 100, places=2),
        "i": st.none() | st.integers(-(2**31), 2**31 - 1),
        "b": st.none() | st.binary(max_size=3).map(bytearray),
        "n": st.none() | st.tuples(texts, st.none() | st.lists(floats, max_size=3)),
    }
    names = list(TYPES)

    @st.composite
    def draw_rows(draw: st.DrawFn) -> list[tuple[Any, ...]]:
        rows = [tuple(draw(values.get(name, texts)) for name in names)]
        for _ in range(draw(st.integers(1, 8))):
            place = draw(st.integers(0, len(names) - 1))
            value = draw(values.get(names[place], texts))
            rows.append((*rows[-1][:place], value, *rows[-1][place + 1 :]))
        return rows

    return draw_rows()


def test_digests_are_equal_if_and_only_if_the_rows_are_equal(
    digests: Callable[..., list[Any]],
) -> None:
    paths: list[list[tuple[Any, ...]]] = []

    @settings(max_examples=150, derandomize=True, database=None, phases=[Phase.generate])
    @given(rows_and_changes())
    def collect(rows: list[tuple[Any, ...]]) -> None:
        paths.append(rows)

    collect()
    found = iter(digests([one for path in paths for one in path]))
    for path in paths:
        pairs = pairwise(zip(path, found, strict=False))
        for (before, digest_before), (after, digest_after) in pairs:
            assert (canonical(before) == canonical(after)) == (digest_before == digest_after)
