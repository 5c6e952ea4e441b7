"""Tests the newest values of the keys of a bucket, with random rows and with errors."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from dbt_trueup.udfs.provisional import newest_values
from hypothesis import given
from hypothesis import strategies as st

from dbt_trueup.errors import ConsolidationError, InvalidArraysError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Row(NamedTuple):
    """A settled row, or a command that is not settled. Without a value the key has no row."""

    key: bytes
    value: bytes | None
    rank: int
    is_final: bool = False


def newest(rows: Iterable[Row]) -> dict[bytes, tuple[bytes, bool]]:
    """The rules in plain Python: the newest value of each key, and whether it is settled."""
    found: dict[bytes, tuple[bytes, bool]] = {}
    by_key = defaultdict[bytes, list[Row]](list)
    for row in rows:
        by_key[row.key].append(row)
    for key, group in by_key.items():
        greatest = max(row.rank for row in group)
        values = {row.value for row in group if row.rank == greatest}
        settled = {row.value for row in group if row.is_final}
        value = values.pop()
        if not values and value is not None:
            found[key] = (value, value in settled)
    return found


def rows_of_keys() -> st.SearchStrategy[list[Row]]:
    """Rows of a few keys. A key has at most one settled row."""
    keys = st.sampled_from([b"", b"k", b"l"])
    values = st.none() | st.sampled_from([b"", b"A", b"B"])
    ranks = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)
    settled = st.builds(Row, keys, values, ranks, is_final=st.just(value=True))
    command = st.builds(Row, keys, values, ranks, is_final=st.just(value=False))
    return st.tuples(
        st.lists(settled, unique_by=lambda row: row.key), st.lists(command, max_size=6)
    ).map(lambda parts: [*parts[0], *parts[1]])


def call(rows: Sequence[Row]) -> dict[bytes, tuple[bytes, bool]]:
    found = newest_values(
        pa.array([row.key for row in rows], pa.binary()),
        pa.array([row.value for row in rows], pa.binary()),
        pa.array([row.rank for row in rows], pa.int64()),
        pa.array([row.is_final for row in rows], pa.bool_()),
    )
    keys = found["key"].tolist()
    assert len(keys) == len(set(keys))
    items = zip(found["value"].tolist(), found["is_final"].tolist(), strict=True)
    return dict(zip(keys, items, strict=True))


@given(st.data())
def test_the_greatest_rank_of_a_key_wins_in_any_order_of_the_rows(data: st.DataObject) -> None:
    rows = data.draw(rows_of_keys())
    assert call(data.draw(st.permutations(rows))) == newest(rows)


def test_an_empty_value_is_a_value_and_no_value_hides_the_settled_one() -> None:
    assert call([Row(b"k", b"", 1, is_final=True)]) == {b"k": (b"", True)}
    assert call([Row(b"k", b"", 1, is_final=True), Row(b"k", None, 2)]) == {}
    assert call([Row(b"k", None, 1, is_final=True), Row(b"k", b"", 2)]) == {b"k": (b"", False)}


def test_a_key_with_two_settled_rows_is_an_error() -> None:
    rows = [Row(b"k", b"A", 1, is_final=True), Row(b"k", b"A", 2, is_final=True)]
    with pytest.raises(ConsolidationError, match=r"consolidating.*\nGot: 2 for b'k'"):
        call([*rows, Row(b"l", b"A", 1)])


@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_null_is_an_error(place: int) -> None:
    row = [None if at == place else item for at, item in enumerate(Row(b"k", b"A", 1))]
    with pytest.raises(InvalidArraysError, match="must not be null"):
        call([Row(*row)])  # type: ignore[arg-type]
