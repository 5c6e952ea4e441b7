"""Tests every way to sum the updates of a key: with the vectors, and with random input."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections import Counter, defaultdict
from functools import reduce
from itertools import islice, permutations
from math import factorial
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from dbt_trueup.udfs import checksums
from dbt_trueup.udfs.accumulator import Accumulator
from dbt_trueup.udfs.bucket import CHUNK_BYTES, Bucket
from dbt_trueup.udfs.checksums import checksum
from hypothesis import given
from hypothesis import strategies as st

from dbt_trueup.errors import ConsolidationError
from tests import acceptance
from tests.acceptance import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Update = tuple[bytes, int]
"""Value and diff, of one key."""
KeyedUpdate = tuple[bytes, bytes, int]
"""Key, value and diff."""

ONE_WORD = 80
"""A `chunk_bytes` with which one word of 8 bytes is summed at a time."""
ALL_ORDERS = factorial(6)
SAMPLES = 100


# ------------------------------------------------------------------------------- the ways to sum


def by_updates(updates: Sequence[Update]) -> bytes | None:
    return reduce(lambda sums, each: sums.update(*each), updates, Accumulator()).decode()


def by_merged_parts(updates: Sequence[Update]) -> bytes | None:
    """Merge each half from single updates, then merge the later half with the earlier half."""
    half = len(updates) // 2
    left, right = (
        reduce(Accumulator.merge, (Accumulator.from_update(*each) for each in part), Accumulator())
        for part in (updates[:half], updates[half:])
    )
    return right.merge(left).decode()


def by_bucket(updates: Sequence[Update]) -> bytes | None:
    keyed = [(b"k", value, diff) for value, diff in updates]
    return consolidate(keyed, CHUNK_BYTES).get(b"k")


def by_bucket_word_by_word(updates: Sequence[Update]) -> bytes | None:
    keyed = [(b"k", value, diff) for value, diff in updates]
    return consolidate(keyed, ONE_WORD).get(b"k")


WAYS = [by_updates, by_merged_parts, by_bucket, by_bucket_word_by_word]
each_way = pytest.mark.parametrize("way", WAYS)


def consolidate_bucket(
    keys: pa.Array, values: pa.Array, diffs: pa.Array, *, chunk_bytes: int = CHUNK_BYTES
) -> tuple[pa.Array, pa.Array]:
    """Return the keys that have a value, and their values. Raise the fault of the least key."""
    bucket = Bucket.from_updates(keys, values, diffs, chunk_bytes=chunk_bytes)
    live, left, wrong = bucket.decode()
    if len(wrong):
        wrong_keys = bucket.take_keys(wrong).to_pylist()
        _, slot = min(zip(wrong_keys, wrong.tolist(), strict=True))
        raise ConsolidationError(bucket.accumulator(slot).fault())
    return bucket.take_keys(live), left


def consolidate(updates: Iterable[KeyedUpdate], chunk_bytes: int) -> dict[bytes, bytes]:
    keys, values = consolidate_bucket(*arrays(updates), chunk_bytes=chunk_bytes)
    assert len(keys) == len(values) == len(set(keys.to_pylist()))
    return dict(zip(keys.to_pylist(), values.to_pylist(), strict=True))


def arrays(updates: Iterable[KeyedUpdate]) -> list[pa.Array]:
    types = (pa.binary(), pa.binary(), pa.int64())
    columns = list(zip(*updates, strict=True)) or [(), (), ()]
    return [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]


# ------------------------------------------------------------------------------- acceptance cases


def vectors() -> list[Any]:
    return [pytest.param(item, id=item["name"]) for item in acceptance.read("consolidation")]


def encoded(item: dict[str, Any]) -> bytes:
    return bytes.fromhex(item["hex"]) if "hex" in item else str(item["text"]).encode()


def orders(updates: list[Update]) -> Iterable[Sequence[Update]]:
    """Every order of a few updates, or some random orders of many updates."""
    if factorial(len(updates)) <= ALL_ORDERS:
        return permutations(updates)
    seeded = random.Random(len(updates))  # noqa: S311 - the same orders in every run
    return [seeded.sample(updates, len(updates)) for _ in range(SAMPLES)]


@each_way
@pytest.mark.parametrize("vector", vectors())
def test_the_updates_of_the_vector_give_the_expected_result(
    vector: dict[str, Any], way: Callable[[Sequence[Update]], bytes | None]
) -> None:
    groups = [vector["updates"], *expand(vector.get("generate", []), "updates")]
    updates = [(encoded(item), int(item["diff"])) for group in groups for item in group]
    expect = vector["expect"]
    for ordered in orders(updates) if vector.get("permute") else [updates]:
        if "error" in expect:
            with pytest.raises(ConsolidationError) as raised:
                way(ordered)
            assert any(fragment in str(raised.value) for fragment in expect["error"])
        else:
            assert way(ordered) == (None if "absent" in expect else encoded(expect))


# ------------------------------------------------------------------------------- which error


@pytest.mark.parametrize(
    ("sums", "fault"),
    [
        (Accumulator(0, 1, 1, b"\1"), "len_sum is non-0"),
        (Accumulator(0, -1, 0, b""), "len_sum is non-0"),
        (Accumulator(0, 0, 1, b"\1"), "checksum_sum is non-0"),
        (Accumulator(0, 0, 0, b"\0\1"), "value_xor is non-0"),
        (Accumulator(1, -1, 1, b"abc"), "len_sum is negative"),
        (Accumulator(1, 4, 1, b"abc"), "value_xor is not the same length"),
        (Accumulator(1, 3, 1, b"abc"), "checksum_sum does not match"),
        (Accumulator(2, -1, 1, b"abc"), "non 0/1 diff_sum"),
        (Accumulator(-1, 0, 0, b""), "non 0/1 diff_sum"),
    ],
)
def test_the_error_names_the_first_sum_that_is_wrong(sums: Accumulator, fault: str) -> None:
    with pytest.raises(ConsolidationError, match=f"^{fault}.*\nGot: diff_sum {sums.diff_sum}, "):
        sums.decode()


@each_way
def test_the_error_names_a_negative_length(way: Callable[[Sequence[Update]], bytes | None]) -> None:
    with pytest.raises(ConsolidationError, match="len_sum is negative"):
        way([(b"a", 1), (b"b", 1), (b"abc", -1)])


@each_way
@pytest.mark.parametrize(
    ("updates", "fault"),
    [
        ([(b"a\0", 1), (b"a", -1)], "len_sum is non-0"),
        ([(b"fish", 1), (b"bird", -1)], "value_xor is non-0"),
        ([(b"a", 1), (b"b", 1), (b"abc", -1)], "len_sum is negative"),
        ([(b"abc", 1), (b"a", -1), (b"abc", 1)], "value_xor is not the same length"),
    ],
)
def test_length_and_xor_find_errors_without_the_checksum(
    way: Callable[[Sequence[Update]], bytes | None],
    updates: list[Update],
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checksums, "_mix", lambda bits: bits * 0)
    with pytest.raises(ConsolidationError, match=fault):
        way(updates)


@each_way
def test_the_checksum_finds_errors_that_the_other_sums_miss(
    way: Callable[[Sequence[Update]], bytes | None],
) -> None:
    swapped = [(b"goodfishgoodbird", 1), (b"goodfishbaddbird", -1)]
    swapped += [(b"baddfishgoodbird", -1), (b"baddfishbaddbird", 1)]
    with pytest.raises(ConsolidationError, match="checksum_sum is non-0"):
        way(swapped)


# ------------------------------------------------------------------------------- the checksum


def test_a_checksum_is_the_same_in_every_run_and_version() -> None:
    assert [checksum(value) for value in (b"", b"fish", b"12345678", b"\0" * 17)] == [
        0x48218226FF3CD4BF,
        0xA9B178BB653AC78D,
        0x5F04614B2E8460C6,
        0x6F3E0F3138E35015,
    ]


def test_similar_values_have_different_checksums() -> None:
    values = {bytes([first, second]) for first in range(256) for second in range(256)}
    values |= {b"\0" * length for length in range(300)}
    values |= {str(number).encode() for number in range(30_000)}
    values |= {b"row %08d of the table" % number for number in range(30_000)}
    checksums = {checksum(value) for value in values}
    assert len(checksums) == len(values)
    assert len({each >> 24 for each in checksums}) == len(values)
    assert len({each & 2**40 - 1 for each in checksums}) > len(values) - 10


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 40])
def test_each_bit_of_a_value_flips_about_half_of_the_checksum(length: int) -> None:
    value = int.from_bytes(b"the quick brown fox jumps over the lazy dog"[:length], "little")
    turned = [
        checksum(value.to_bytes(length, "little"))
        ^ checksum((value ^ 1 << bit).to_bytes(length, "little"))
        for bit in range(8 * length)
    ]
    assert all(10 <= each.bit_count() <= 54 for each in turned)
    assert 28 <= sum(each.bit_count() for each in turned) / len(turned) <= 36


def test_swapping_words_changes_the_checksum() -> None:
    words = [b"aaaaaaaa", b"bbbbbbbb", b"cccccccc", b"dddddddd"]
    assert len({checksum(b"".join(order)) for order in permutations(words)}) == 24


# ------------------------------------------------------------------------------- the laws

values = st.one_of(
    st.sampled_from([b"", b"\0", b"a", b"a\0", b"a\0\0", b"12345678", b"12345678\0"]),
    st.binary(max_size=40),
)
one_update = st.tuples(values, st.integers(-3, 3))
accumulators = st.lists(one_update, max_size=4).map(
    lambda updates: reduce(lambda sums, each: sums.update(*each), updates, Accumulator())
)
keys = st.sampled_from([b"", b"a", b"b", "ö".encode(), b"\xff", b"a\0"])
chunks = st.sampled_from([1, ONE_WORD, 2 * ONE_WORD, 7 * ONE_WORD, CHUNK_BYTES])


@given(accumulators, accumulators, accumulators)
def test_merge_is_associative_and_commutative_and_has_a_neutral_element(
    a: Accumulator, b: Accumulator, c: Accumulator
) -> None:
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(b) == b.merge(a)
    assert a.merge(Accumulator()) == a


@given(accumulators)
def test_an_accumulator_and_its_negation_cancel_out(a: Accumulator) -> None:
    assert a.merge(a.negate()).is_zero
    assert a.negate().negate() == a


@pytest.mark.parametrize("sums", [(1,), (0, 1), (0, 0, 1), (0, 0, 0, b"\1")])
def test_an_accumulator_is_zero_only_if_all_sums_are_zero(sums: tuple[Any, ...]) -> None:
    assert not Accumulator(*sums).is_zero
    assert Accumulator(0, 0, 0, b"\0\0").is_zero


@given(accumulators)
def test_a_zero_accumulator_and_no_other_decodes_to_nothing(a: Accumulator) -> None:
    assert a.is_zero == (a.fault() is None and a.decode() is None)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[KeyedUpdate], dict[bytes, bytes]]:
    """Shuffled updates of keys whose values change, and the last value of each live key."""
    updates: list[KeyedUpdate] = []
    left = {}
    for key in draw(st.sets(keys)):
        chain = draw(st.lists(values, min_size=1, max_size=5))
        for value in chain:
            extra = draw(st.sampled_from([0, 0, 0, 1, 2]))
            updates += [(key, value, 1 + extra), (key, value, -1), (key, value, -extra)]
        if draw(st.booleans()):
            updates.append((key, chain[-1], 1))
            left[key] = chain[-1]
    return draw(st.permutations(updates)), left


def sums_by_key(updates: Iterable[KeyedUpdate]) -> dict[bytes, Accumulator]:
    sums: defaultdict[bytes, Accumulator] = defaultdict(Accumulator)
    for key, value, diff in updates:
        sums[key] = sums[key].update(value, diff)
    return sums


def merged_parts(updates: list[KeyedUpdate], cuts: list[int]) -> dict[bytes, Accumulator]:
    bounds = [0, *sorted(cut % (len(updates) + 1) for cut in cuts), len(updates)]
    sums: defaultdict[bytes, Accumulator] = defaultdict(Accumulator)
    for first, last in zip(bounds, islice(bounds, 1, None), strict=False):
        for key, part in sums_by_key(updates[first:last]).items():
            sums[key] = part.merge(sums[key])
    return sums


def live(sums: dict[bytes, Accumulator]) -> dict[bytes, bytes]:
    decoded = {key: each.decode() for key, each in sums.items()}
    return {key: value for key, value in decoded.items() if value is not None}


@given(histories(), st.lists(st.integers(0, 100), max_size=4), chunks)
def test_a_balanced_history_gives_its_last_values_in_any_order_and_split(
    history: tuple[list[KeyedUpdate], dict[bytes, bytes]], cuts: list[int], chunk_bytes: int
) -> None:
    updates, left = history
    assert live(sums_by_key(updates)) == left
    assert live(merged_parts(updates, cuts)) == left
    assert consolidate(updates, chunk_bytes) == left


def is_balanced(updates: Iterable[KeyedUpdate]) -> bool:
    """Whether each key has at most one value, once. Counts values and uses no accumulator."""
    counts = Counter[tuple[bytes, bytes]]()
    for key, value, diff in updates:
        counts[key, value] += diff
    lives = Counter(key for (key, _), count in counts.items() if count)
    return {count for count in counts.values() if count} <= {1} and set(lives.values()) <= {1}


@given(
    st.lists(st.tuples(keys, values, st.integers(-3, 3)), max_size=12),
    st.lists(st.integers(0, 100), max_size=4),
    chunks,
)
def test_every_way_refuses_an_unbalanced_history_with_the_same_error(
    updates: list[KeyedUpdate], cuts: list[int], chunk_bytes: int
) -> None:
    sums = sums_by_key(updates)
    assert merged_parts(updates, cuts) == sums
    wrong = [key for key, each in sums.items() if each.fault()]
    assert bool(wrong) != is_balanced(updates)
    if wrong:
        with pytest.raises(ConsolidationError) as raised:
            consolidate(updates, chunk_bytes)
        assert str(raised.value) == sums[min(wrong)].fault()
    else:
        assert consolidate(updates, chunk_bytes) == live(sums)


# ------------------------------------------------------------------------------- many keys at once


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_only_the_slice_of_an_array_is_read(kind: pa.DataType) -> None:
    updates = [(b"x", b"out", 9), (b"a", b"12345678", 1), (b"b", b"", 1), (b"y", b"out", 9)]
    keys, values, diffs = arrays(updates)
    left = consolidate_bucket(keys.cast(kind)[1:3], values.cast(kind)[1:3], diffs[1:3])
    assert [column.to_pylist() for column in left] == [[b"a", b"b"], [b"12345678", b""]]


def test_an_empty_bucket_gives_no_keys() -> None:
    keys, values = consolidate_bucket(*arrays([]))
    assert (len(keys), len(values)) == (0, 0)


def test_keys_keep_the_order_of_their_first_appearance() -> None:
    updates = [(b"c", b"1", 1), (b"a", b"2", 1), (b"b", b"3", 1), (b"a", b"2", -1)]
    assert list(consolidate(updates, ONE_WORD)) == [b"c", b"b"]


def test_consolidating_many_keys_gives_the_same_result_as_a_dict() -> None:
    seeded = random.Random(7)  # noqa: S311 - the same updates in every run
    state: dict[bytes, bytes] = {}
    updates = []
    for number in range(20_000):
        key = b"key %d" % seeded.randrange(3_000)
        if key in state:
            updates.append((key, state.pop(key), -1))
        if seeded.random() < 0.8:
            state[key] = b"%d " % number * seeded.choice([0, 1, 1, 1, 2, 3, 50])
            updates.append((key, state[key], 1))
    seeded.shuffle(updates)
    for chunk_bytes in (2**12, 2**16, CHUNK_BYTES):
        assert consolidate(updates, chunk_bytes) == state


def test_a_long_value_is_consolidated_in_the_memory_of_one_chunk() -> None:
    long, chunk_bytes = 16 * 2**20, 2**20
    columns = arrays([(b"k", b"x" * long, 1), (b"k", b"y" * long, 1), (b"k", b"x" * long, -1)])
    tracemalloc.start()
    try:
        _, values = consolidate_bucket(*columns, chunk_bytes=chunk_bytes)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert values[0].as_py() == b"y" * long
    assert peak < long + 1.5 * chunk_bytes


@pytest.mark.parametrize(
    ("position", "column"),
    [
        (0, pa.array([b"a", None])),
        (1, pa.array([b"a", None])),
        (2, pa.array([1, None])),
        (0, pa.array([b"a"])),
        (2, pa.array([1, 1, 1])),
    ],
)
def test_nulls_and_arrays_of_different_lengths_are_an_error(
    position: int, column: pa.Array
) -> None:
    columns = arrays([(b"a", b"1", 1), (b"b", b"2", 1)])
    columns[position] = column
    with pytest.raises(ValueError, match="one value for each row, and no null\nGot: ") as raised:
        consolidate_bucket(*columns)
    assert not isinstance(raised.value, ConsolidationError)


def test_sums_that_may_exceed_64_bits_are_an_error() -> None:
    updates = [(b"a", b"v", 2**63 - 1), (b"a", b"v", 2**63 - 1), (b"a", b"v", 3)]
    with pytest.raises(OverflowError, match="64 bits"):
        consolidate(updates, ONE_WORD)


@pytest.mark.slow
def test_the_modules_of_the_aggregates_import_neither_pandas_nor_pyspark() -> None:
    lines = [
        "import sys, dbt_trueup.udfs.bucket, dbt_trueup.udfs.provisional",
        "print({'pandas', 'pyspark'} & {*sys.modules})",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"set()\n"
