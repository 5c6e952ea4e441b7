"""The SQL aggregates that trueup gives every Spark session, see `register`.

Each one takes a bucket of keys at a time, so that Spark calls Python once for a bucket, and numpy
does the work. They return a struct of lists, because Spark converts a list of structs item by item.
`inline` and `arrays_zip` turn the result into rows:

    select inline(arrays_zip(live.key, live.value, live.seq, live.ts, live.fault))
    from (select trueup_consolidate(key, value, diff, seq, ts) as live from updates group by bucket)

Arguments must not be null, unless the docstring allows it. Spark's workers import this module by
its name, `dbt_trueup.udfs.aggregates`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # noqa: TC002 - arrow_udf reads annotations
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from .bucket import Bucket
from .provisional import newest_values

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

Lists: TypeAlias = dict[str, Any]
"""A struct of lists of equal length, as numpy arrays."""


def _lists(**types: DataType) -> StructType:
    return StructType([StructField(name, ArrayType(kind)) for name, kind in types.items()])


PARTS = _lists(
    key=BinaryType(),
    diff_sum=LongType(),
    len_sum=LongType(),
    checksum_sum=LongType(),
    value_xor=BinaryType(),
    seq=LongType(),
    ts=LongType(),
)
"""The result of `trueup_accumulate`: an accumulator for each key, its checksum a signed bigint."""

LIVE = _lists(
    key=BinaryType(), value=BinaryType(), seq=LongType(), ts=LongType(), fault=StringType()
)
"""The result of `trueup_consolidate`: one item for each key that has a value or a fault."""

NEWEST = _lists(key=BinaryType(), value=BinaryType(), is_final=BooleanType())
"""The result of `trueup_provisional`: one item for each key that has a value."""


@arrow_udf(LIVE)  # type: ignore[call-overload,untyped-decorator]
def trueup_consolidate(
    key: pa.Array, value: pa.Array, diff: pa.Array, seq: pa.Array, ts: pa.Array
) -> Lists:
    """SQL aggregate: consolidate the updates of a bucket by the rules of `Accumulator`.

    Args:
        key: The encoded keys; binary, shape `(updates,)`.
        value: The encoded values; binary, shape `(updates,)`. A value without bytes is a value.
        diff: The diff of each update; bigint, shape `(updates,)`.
        seq: The batch of each update; bigint, shape `(updates,)`.
        ts: The tick of each update; bigint, shape `(updates,)`.

    Returns:
        `LIVE`, of the shape `(live keys + faulty keys,)`: a key, the value that its updates leave,
        and the greatest batch and tick of all its updates. A key that does not add up has a fault
        instead of a value: the first sum that is wrong. The query decides how to report it. A
        key with neither is left out. A group without rows does not exist.

    Note:
        The order of the updates does not matter. All updates of a key must be in the bucket. For
        a bucket that is too large, use `trueup_accumulate` and `trueup_merge`: they give the same
        result.

    Raises:
        InvalidArraysError: There is a null.
        SumOverflowError: The diffs are so large that a sum may exceed 64 bits.
    """
    return _read(Bucket.from_updates(key, value, diff), seq, ts)


@arrow_udf(PARTS)  # type: ignore[call-overload,untyped-decorator]
def trueup_accumulate(
    key: pa.Array, value: pa.Array, diff: pa.Array, seq: pa.Array, ts: pa.Array
) -> Lists:
    """SQL aggregate: sum a chunk of a bucket, for `trueup_merge`.

    Args:
        key: The encoded keys. All arguments are those of `trueup_consolidate`, but a key may be in
            many chunks.
        value: The encoded values.
        diff: The diff of each update.
        seq: The batch of each update.
        ts: The tick of each update.

    Returns:
        `PARTS`, of the shape `(keys,)`: the accumulator of each key, even if it is zero, and the
        greatest batch and tick of its updates.

    Raises:
        InvalidArraysError: There is a null.
        SumOverflowError: The diffs are so large that a sum may exceed 64 bits.
    """
    bucket = Bucket.from_updates(key, value, diff)
    parts = bucket.parts()
    return {
        **parts,
        "key": _objects(parts["key"]),
        "value_xor": _objects(parts["value_xor"]),
        "seq": bucket.greatest(seq),
        "ts": bucket.greatest(ts),
    }


@arrow_udf(LIVE)  # type: ignore[call-overload,untyped-decorator]
def trueup_merge(  # noqa: PLR0913, PLR0917 - an accumulator has so many parts
    key: pa.Array,
    diff_sum: pa.Array,
    len_sum: pa.Array,
    checksum_sum: pa.Array,
    value_xor: pa.Array,
    seq: pa.Array,
    ts: pa.Array,
) -> Lists:
    """SQL aggregate: merge the chunks of a bucket into what `trueup_consolidate` returns.

    Args:
        key: The encoded keys. All arguments are the fields of `PARTS`, of the shape `(parts,)`.
        diff_sum: The sum of the diffs.
        len_sum: The sum of length times diff, in bytes.
        checksum_sum: The sum of checksum times diff, wrapped to a signed bigint.
        value_xor: The XOR of the values that have an odd diff.
        seq: The greatest batch.
        ts: The greatest tick.

    Returns:
        `LIVE`. All parts of a key must be in the group.

    Raises:
        InvalidArraysError: There is a null.
        SumOverflowError: A sum may exceed 64 bits.
    """
    bucket = Bucket.from_parts(key, diff_sum, len_sum, checksum_sum, value_xor)
    return _read(bucket, seq, ts)


@arrow_udf(NEWEST)  # type: ignore[call-overload,untyped-decorator]
def trueup_provisional(key: pa.Array, value: pa.Array, rank: pa.Array, is_final: pa.Array) -> Lists:
    """SQL aggregate: the newest value of each key of a bucket, settled or provisional.

    Args:
        key: The encoded keys; binary, shape `(rows,)`.
        value: The encoded values; binary, null if the key has none: a delete or an error. A value
            without bytes is a value.
        rank: The place of the row in the order of its key; bigint. An order may have any type, so
            SQL turns it into a number.
        is_final: Whether the row is the settled one of its key; boolean. The other rows are
            commands.

    Returns:
        `NEWEST`, of the shape `(keys with a value,)`: the value of the greatest rank, and whether
        it is the settled one. A key without a value is left out, and so is one with two different
        values of the greatest rank.

    Note:
        The order of the rows does not matter. All rows of a key must be in the bucket.

    Raises:
        ConsolidationError: A key has two settled rows.
        InvalidArraysError: A key, a rank or a flag is null.
    """
    return newest_values(key, value, rank, is_final)


def register(session: SparkSession) -> None:
    """Register the aggregates of this module in a session, as temporary functions."""
    for function in (trueup_consolidate, trueup_accumulate, trueup_merge, trueup_provisional):
        session.udf.register(function.__name__, function)


def _read(bucket: Bucket, seq: pa.Array, ts: pa.Array) -> Lists:
    live, values, wrong = bucket.decode()
    slots = np.append(live, wrong)
    faults = [bucket.accumulator(slot).fault() for slot in wrong.tolist()]
    return {
        "key": _objects(bucket.take_keys(slots)),
        "value": np.append(_objects(values), _nones(len(wrong))),
        "seq": bucket.greatest(seq)[slots],
        "ts": bucket.greatest(ts)[slots],
        "fault": np.append(_nones(len(live)), np.array(faults, np.object_)),
    }


def _objects(values: pa.Array) -> NDArray[np.object_]:
    objects: NDArray[np.object_] = values.to_numpy(zero_copy_only=False)
    return objects


def _nones(count: int) -> NDArray[np.object_]:
    return np.full(count, None)
