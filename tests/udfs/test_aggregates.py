"""Compares the SQL aggregates in Spark with the acceptance vectors and with pure Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from dbt_trueup.udfs.provisional import Command, State, Update, fold
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.acceptance import expand
from tests.macros.package import in_model
from tests.udfs import test_consolidation as pure
from tests.udfs import test_provisional as provisional

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def steps(
    spark: SparkSession, given: dict[str, tuple[State, list[Command]]]
) -> dict[tuple[str, int], Any]:
    """Fold commands over states in Spark. Return the row of each name and tick."""
    rows: list[tuple[bytes, bytes | None, int | None, int | None, bool]] = []
    for name, (state, commands) in given.items():
        if (finalized := state.finalized_value()) is not None:
            rows.append((name.encode(), finalized, None, None, False))
        if (shown := state.provisional) is not None:
            rows.append((name.encode(), shown.value, shown.ts, shown.order, True))
        rows += [(name.encode(), each.value, each.ts, each.order, False) for each in commands]
    schema = "key binary, value binary, ts bigint, rank bigint, is_emitted boolean"
    spark.createDataFrame(rows, schema).repartition(3).createOrReplaceTempView("commands")
    folded = spark.sql(
        """
        select inline(arrays_zip(
            ticks.key, ticks.ts, ticks.rank, ticks.value, ticks.retracted, ticks.added
        ))
        from (
            select trueup_provisional(key, value, ts, rank, is_emitted) as ticks
            from commands
            group by pmod(hash(key), 3)
        )
        """
    ).collect()
    found = {(bytes(row.key).decode(), row.ts): row for row in folded}
    assert len(found) == len(folded)
    return found


def emitted(row: Any) -> list[Update]:
    changes = [(row.retracted, -1), (row.added, 1)]
    return [Update(bytes(value), row.ts, diff) for value, diff in changes if value is not None]


def value_of(row: Any) -> bytes | None:
    return None if row.value is None else bytes(row.value)


class Case(NamedTuple):
    """A state, at most one command, and the expected key at the tick `ts` afterwards.

    `updates` are the updates that the command emits; None if the vector does not list them.
    """

    state: State
    commands: list[Command]
    ts: int
    order: int | None
    value: bytes | None
    updates: list[Update] | None


def read_cases() -> Iterator[tuple[str, Case]]:
    for vector in (param.values[0] for param in provisional.vectors("accessors")):
        if "error" not in vector:
            state, ts = provisional.state_of(vector["state"]), vector["ts"]
            value = provisional.value_of(vector["provisional_value"])
            order = vector["provisional_order"]
            yield vector["name"], Case(state, [], ts, order, value, None)


def write_case(state: State, command: Command, after: State, updates: Any) -> Case:
    written = after.provisional
    assert written is not None
    assert after.finalized == state.finalized
    return Case(state, [command], written.ts, written.order, written.value, updates)


def constructor_cases() -> Iterator[tuple[str, Case]]:
    for vector in (param.values[0] for param in provisional.vectors("constructors")):
        state, after = (provisional.state_of(vector[side]) for side in ("from", "to"))
        command = provisional.command_of(vector["command"])
        yield vector["name"], write_case(state, command, after, None)


def scenario_cases() -> Iterator[tuple[str, Case]]:
    for vector in (param.values[0] for param in provisional.vectors("scenarios")):
        state = provisional.state_of(vector["start"])
        for number, step in enumerate(vector["steps"]):
            name, after = f"{vector['name']} {number}", provisional.state_of(step["state"])
            if "command" in step:
                updates = [provisional.update_of(item) for item in step["emitted"]]
                command = provisional.command_of(step["command"])
                yield name, write_case(state, command, after, updates)
            for read in step["reads"]:
                ts, value = read["ts"], provisional.value_of(read["value"])
                order = after.provisional_order(ts)
                yield f"{name} read at {ts}", Case(after, [], ts, order, value, None)
            state = after


def test_states_and_commands_give_the_expected_results_of_each_vector(
    spark: SparkSession,
) -> None:
    cases = dict([*read_cases(), *constructor_cases(), *scenario_cases()])
    rows = steps(spark, {name: (case.state, case.commands) for name, case in cases.items()})
    for name, case in cases.items():
        row = rows.get((name, case.ts))
        found = (None, case.state.finalized) if row is None else (row.rank, value_of(row))
        assert found == (case.order, case.value), name
        if case.updates is not None:
            assert emitted(row) == case.updates, name


def test_feedback_gives_the_finalized_value_of_each_scenario(spark: SparkSession) -> None:
    updates: list[pure.KeyedUpdate] = []
    expected: dict[bytes, bytes | None] = {}
    for vector in (param.values[0] for param in provisional.vectors("scenarios")):
        state = provisional.state_of(vector["start"])
        for number, step in enumerate(vector["steps"]):
            if step.get("feedback"):
                key = f"{vector['name']} {number}".encode()
                feedback = [provisional.update_of(item) for item in step["feedback"]]
                finalized = state.finalized_value()
                if finalized is not None:
                    updates.append((key, finalized, 1))
                updates += [(key, update.value, update.diff) for update in feedback]
                expected[key] = provisional.state_of(step["state"]).finalized_value()
            state = provisional.state_of(step["state"])
    rows = consolidate(spark, "by_bucket", updates)
    left = {key: bytes(row.value) for key, row in rows.items()}
    assert left == {key: value for key, value in expected.items() if value is not None}


def test_a_key_with_two_finalized_values_is_an_error(spark: SparkSession) -> None:
    sql = """
        select trueup_provisional(key, key, ts, ts, false) as ticks
        from values (binary('k'), bigint(null)), (binary('k'), bigint(null)) as rows (key, ts)
    """
    with pytest.raises(Exception, match="consolidating"):
        spark.sql(sql).collect()


def test_spark_folds_commands_as_pure_python_does(spark: SparkSession) -> None:
    given_states: dict[str, tuple[State, list[Command]]] = {}
    commands = st.lists(
        st.builds(Command, st.none() | provisional.values, st.integers(5, 6), st.integers(0, 9)),
        max_size=6,
        unique_by=lambda command: (command.ts, command.order),
    )
    shown = st.none() | st.builds(
        Command, st.none() | provisional.values, st.integers(5, 6), st.integers(0, 9)
    )

    @drawn
    @given(provisional.finalized, shown, commands)
    def collect(finalized: bytes | None, shown: Command | None, tick: list[Command]) -> None:
        given_states[str(len(given_states))] = (State(finalized, shown), tick)

    collect()
    rows = steps(spark, given_states)
    for name, (state, log) in given_states.items():
        for ts in {command.ts for command in log}:
            after, updates = fold(state, [command for command in log if command.ts == ts])
            row = rows[name, ts]
            assert (value_of(row), row.rank) == (after.value_at(ts), after.provisional_order(ts))
            assert provisional.net(emitted(row)) == provisional.net(updates)
