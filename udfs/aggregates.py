"""The SQL aggregates that every Spark session has from its start, see `register`.

Each takes a bucket of keys at a time, so that Python is called once a bucket and works in numpy. As
Spark turns a list of structs into Arrow one by one, they return a struct of lists; `inline` and
`arrays_zip` make rows of it:

    select inline(arrays_zip(live.key, live.value, live.seq, live.ts, live.fault))
    from (select trueup_consolidate(key, value, diff, seq, ts) as live from updates group by bucket)

Arguments are never null, unless said so. Workers import this module by its name, `dbt_trueup.udfs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from .consolidation import Bucket
from .provisional import fold_bucket

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

Lists: TypeAlias = dict[str, Any]
"""A struct of lists, all of one length, as numpy arrays."""


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
"""What `trueup_accumulate` returns: one accumulator a key, the checksum as a signed bigint."""

LIVE = _lists(
    key=BinaryType(), value=BinaryType(), seq=LongType(), ts=LongType(), fault=StringType()
)
"""What `trueup_consolidate` returns: one item for each key that has a value or a fault."""

TICKS = _lists(
    key=BinaryType(),
    ts=LongType(),
    rank=LongType(),
    value=BinaryType(),
    retracted=BinaryType(),
    added=BinaryType(),
)
"""What `trueup_provisional` returns: one item for each key and tick that has a command."""


@arrow_udf(LIVE)  # type: ignore[call-overload,untyped-decorator]
def trueup_consolidate(
    key: pa.Array, value: pa.Array, diff: pa.Array, seq: pa.Array, ts: pa.Array
) -> Lists:
    """SQL aggregate: what the updates of a bucket leave, by the rules of `Accumulator`.

    Args:
        key: The encoded keys; binary, shape `(updates,)`.
        value: The encoded values; binary, shape `(updates,)`. No bytes are a value.
        diff: What each update adds; bigint, shape `(updates,)`.
        seq: The batch of each update; bigint, shape `(updates,)`.
        ts: The tick of each update; bigint, shape `(updates,)`.

    Returns:
        `LIVE`, of the shape `(live keys + faulty keys,)`: a key, the value that it is left with,
        and the greatest batch and tick of all its updates. A key that does not add up has no value
        but a fault, the first sum that disagrees, so that the query can name it in its own
        words. A key without either is left out. A group without rows does not exist.

    Note:
        The order of the updates changes nothing. All updates of a key must be in the bucket; one
        that is too large for that goes through `trueup_accumulate` and `trueup_merge` instead,
        with the same result.

    Raises:
        ValueError: There is a null.
        OverflowError: The diffs are so large that a sum may leave 64 bits.
    """
    return _read(Bucket.from_updates(key, value, diff), seq, ts)


@arrow_udf(PARTS)  # type: ignore[call-overload,untyped-decorator]
def trueup_accumulate(
    key: pa.Array, value: pa.Array, diff: pa.Array, seq: pa.Array, ts: pa.Array
) -> Lists:
    """SQL aggregate: the sums of a chunk of a bucket, which `trueup_merge` merges.

    Args:
        key: As in `trueup_consolidate`, like the others; a key may be in many chunks.
        value: The encoded values.
        diff: What each update adds.
        seq: The batch of each update.
        ts: The tick of each update.

    Returns:
        `PARTS`, of the shape `(keys,)`: the accumulator of each key, also one that is zero, and
        the greatest batch and tick of its updates.

    Raises:
        ValueError: There is a null.
        OverflowError: The diffs are so large that a sum may leave 64 bits.
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
    """SQL aggregate: what the chunks of a bucket leave together, as `trueup_consolidate` would.

    Args:
        key: As in `PARTS`, like the others; of the shape `(parts,)`.
        diff_sum: The sum of the diffs.
        len_sum: The sum of length times diff, in bytes.
        checksum_sum: The sum of checksum times diff, wrapped to a signed bigint.
        value_xor: The XOR of the values whose diff is odd.
        seq: The greatest batch.
        ts: The greatest tick.

    Returns:
        `LIVE`; all parts of a key must be in the group.

    Raises:
        ValueError: There is a null.
        OverflowError: A sum may leave 64 bits.
    """
    bucket = Bucket.from_parts(key, diff_sum, len_sum, checksum_sum, value_xor)
    return _read(bucket, seq, ts)


@arrow_udf(TICKS)  # type: ignore[call-overload,untyped-decorator]
def trueup_provisional(
    key: pa.Array,
    value: pa.Array,
    ts: pa.Array,
    rank: pa.Array,
    is_emitted: pa.Array,
) -> Lists:
    """SQL aggregate: the commands of a bucket, folded over the finalized values of its keys.

    Args:
        key: The encoded keys; binary, shape `(rows,)`.
        value: The encoded values; binary, null for a delete. No bytes are a value.
        ts: The tick of a command; bigint, null for the finalized value of its key, of which there
            is at most one.
        rank: The order of a command within its key and tick; bigint, null where `ts` is. Of an
            order of another type take the rank.
        is_emitted: Whether a command is the one that was emitted last, the provisional part of
            its key; boolean.

    Returns:
        `TICKS`, of the shape `(pairs of key and tick,)`: what the key is at exactly this tick, with
        the rank that won, and what that changes: the retraction and the addition to emit, null for
        none. At every other tick a key is what is finalized.

    Note:
        The law is that of `State.apply`: the greatest order of a tick wins, an equal one is
        skipped, a delete hides the finalized value, which no command touches.

    Raises:
        ConsolidationError: A key has two finalized values.
        ValueError: There is a null where none may be.
    """
    return fold_bucket(key, value, ts, rank, is_emitted)


def register(session: SparkSession) -> None:
    """Give a session the SQL aggregates of this module, as temporary functions."""
    for function in (trueup_consolidate, trueup_accumulate, trueup_merge, trueup_provisional):
        session.udf.register(function.__name__, function)


def _read(bucket: Bucket, seq: pa.Array, ts: pa.Array) -> Lists:
    live, values, wrong = bucket.decode()
    slots = np.append(live, wrong)
    faults = [bucket.accumulator(slot).fault() for slot in wrong.tolist()]
    return {
        "key": _objects(bucket.keys.take(pa.array(slots))),
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
