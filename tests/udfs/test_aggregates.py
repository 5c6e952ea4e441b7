"""Compares the SQL aggregates in Spark with the acceptance vectors and with pure Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.acceptance import expand
from tests.macros.package import in_model
from tests.udfs import test_consolidation as pure
from tests.udfs import test_provisional as provisional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

drawn = settings(
    max_examples=150,
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""For tests that only collect examples, so that one query of Spark reads all of them."""


# ------------------------------------------------------------------------------- the ways to sum

BY_BUCKET = """
select inline(arrays_zip(live.key, live.value, live.seq, live.ts, live.fault))
from (
    select trueup_consolidate(k, v, _diff, _seq, _ts) as live
    from updates
    group by pmod(hash(k), 7)
)
"""
BY_CHUNKS = """
with

sums as (

    select
        pmod(hash(k), 7) as bucket,
        trueup_accumulate(k, v, _diff, _seq, _ts) as sums
    from updates
    group by pmod(hash(k), 7), chunk

),

parts as (

    select bucket, inline(arrays_zip(
        sums.key, sums.diff_sum, sums.len_sum, sums.checksum_sum, sums.value_xor, sums.seq, sums.ts
    ))
    from sums

)

select inline(arrays_zip(live.key, live.value, live.seq, live.ts, live.fault))
from (
    select trueup_merge(key, diff_sum, len_sum, checksum_sum, value_xor, seq, ts) as live
    from parts
    group by bucket
)
"""
COLUMNS = [{"name": "k", "type": "binary"}], [{"name": "v", "type": "binary"}]
NATIVELY = f"""
with

history as (

    select * from updates

),

{in_model("files")._consolidated_by_group_ctes(*COLUMNS)}

select
    _key.k as key,
    if(_fault is null, _value.v, null) as value,
    _seq as seq,
    _ts as ts,
    _fault as fault
from consolidated
"""
WAYS = {"by_bucket": BY_BUCKET, "by_chunks": BY_CHUNKS, "natively": NATIVELY}
each_way = pytest.mark.parametrize("way", WAYS)


def consolidate(
    spark: SparkSession, way: str, updates: Sequence[pure.KeyedUpdate]
) -> dict[bytes, Any]:
    """Return the row that is left of each key. Updates are in random partitions and chunks."""
    seeded = random.Random(len(updates))  # noqa: S311 - the same in every run
    shuffled = seeded.sample(updates, len(updates))
    ticks = pa.array(range(len(updates)))
    chunks = pa.array([seeded.randrange(3) for _ in updates], pa.int64())
    columns = [*pure.arrays(shuffled), ticks, pa.array([2 * tick.as_py() for tick in ticks])]
    table = pa.table([*columns, chunks], names=["k", "v", "_diff", "_seq", "_ts", "chunk"])
    spark.createDataFrame(table).repartition(3).createOrReplaceTempView("updates")
    found = spark.sql(WAYS[way]).collect()
    rows = {bytes(row.key): row for row in found}
    assert len(rows) == len(found)
    # In the changelog the last update of a key adds the value that is left, so all ways give the
    # same place. These updates are shuffled, so the places may differ.
    last_of_key = {key: place for place, (key, _, _) in enumerate(shuffled)}
    last_of_value = {update[:2]: place for place, update in enumerate(shuffled)}
    for key, row in rows.items():
        assert (row.value is None) != (row.fault is None)
        if way != "natively":
            assert (row.seq, row.ts) == (last_of_key[key], 2 * last_of_key[key])
        elif row.fault is None:
            last = last_of_value[key, bytes(row.value)]
            assert (row.seq, row.ts) == (last, 2 * last)
    return rows


# ------------------------------------------------------------------------------- acceptance cases


@each_way
def test_the_updates_of_each_vector_give_the_expected_result(spark: SparkSession, way: str) -> None:
    expected: dict[bytes, dict[str, Any]] = {}
    updates: list[pure.KeyedUpdate] = []
    for vector in (param.values[0] for param in pure.vectors()):
        groups = [vector["updates"], *expand(vector.get("generate", []), "updates")]
        history = [(pure.encoded(item), item["diff"]) for group in groups for item in group]
        key = vector["name"].encode()
        expected[key] = vector["expect"]
        updates += [(key, value, diff) for value, diff in history]
    rows = consolidate(spark, way, updates)
    for key, expect in expected.items():
        row = rows.pop(key, None)
        if "absent" in expect:
            assert row is None, key
        elif "error" not in expect:
            assert bytes(row.value) == pure.encoded(expect), key
        elif way == "natively":
            assert row.fault.startswith("non 0/1 diff_sum"), key
        else:
            assert any(fragment in row.fault for fragment in expect["error"]), key
    assert not rows


# ------------------------------------------------------------------------------- the laws


def test_every_way_gives_the_values_and_errors_of_pure_python(spark: SparkSession) -> None:
    updates: list[pure.KeyedUpdate] = []
    balanced = pure.histories().map(lambda history: history[0])
    random_diffs = st.tuples(pure.keys, pure.values, st.integers(-3, 3))
    examples = iter(range(1000))

    @drawn
    @given(balanced | st.lists(random_diffs, max_size=12))
    def collect(history: list[pure.KeyedUpdate]) -> None:
        example = b"%d/" % next(examples)
        updates.extend((example + key, value, diff) for key, value, diff in history)

    collect()
    sums = pure.sums_by_key(updates)
    faults = {key: each.fault() for key, each in sums.items()}
    expected = {
        key: None if fault else sums[key].decode()
        for key, fault in faults.items()
        if fault or sums[key].diff_sum
    }
    assert sum(fault is None for fault in faults.values()) > 100
    assert sum(fault is not None for fault in faults.values()) > 100
    for way in WAYS:
        rows = consolidate(spark, way, updates)
        left = {key: None if row.fault else bytes(row.value) for key, row in rows.items()}
        assert left == expected, way
        if way != "natively":
            assert {key: row.fault for key, row in rows.items()} == {
                key: faults[key] for key in expected
            }


# ------------------------------------------------------------------------------- provisional


def test_spark_finds_the_newest_values_as_pure_python_does(spark: SparkSession) -> None:
    rows: list[provisional.Row] = []
    examples = iter(range(1000))

    @drawn
    @given(provisional.rows_of_keys())
    def collect(drawn_rows: list[provisional.Row]) -> None:
        example = b"%d/" % next(examples)
        rows.extend(row._replace(key=example + row.key) for row in drawn_rows)

    collect()
    schema = "key binary, value binary, rank bigint, is_final boolean"
    spark.createDataFrame(rows, schema).repartition(3).createOrReplaceTempView("provisional")
    found = spark.sql(
        """
        select inline(arrays_zip(live.key, live.value, live.is_final))
        from (
            select trueup_provisional(key, value, rank, is_final) as live
            from provisional
            group by pmod(hash(key), 7)
        )
        """
    ).collect()
    newest = {bytes(row.key): (bytes(row.value), row.is_final) for row in found}
    assert len(newest) == len(found) > 100
    assert newest == provisional.newest(rows)
