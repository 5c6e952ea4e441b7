"""Consolidate the updates of many keys: what each key is left with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_trueup.errors import ConsolidationError

from .bucket import CHUNK_BYTES, Bucket

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_SHOWN_BYTES = 60


def consolidate_bucket(
    keys: pa.Array, values: pa.Array, diffs: pa.Array, *, chunk_bytes: int = CHUNK_BYTES
) -> tuple[pa.Array, pa.Array]:
    """Consolidate the updates of many keys, each as `Accumulator` would.

    Args:
        keys: The encoded keys; binary or large_binary, shape `(updates,)`, no nulls.
        values: The encoded values; binary or large_binary, shape `(updates,)`, no nulls. A value
            without bytes is a value.
        diffs: The diff of each update; int64, shape `(updates,)`, no nulls.
        chunk_bytes: The memory that one chunk of values may take while numpy works on it, in
            bytes. The sums of the chunks are merged. The arguments, the result, about 80 bytes
            for each update, and the longest value of each key come on top of it.

    Returns:
        The keys that have a value, and their values: two arrays of the given types, shape
        `(live keys,)`, in the order in which the keys first appear. Without updates both are empty.

    Note:
        The order of the updates and `chunk_bytes` affect neither the rows nor the errors.

    Raises:
        ConsolidationError: A key does not add up. The message names the least such key and the
            sum that is wrong.
        InvalidArraysError: There is a null, or the arrays differ in length.
        SumOverflowError: The diffs are so large that a sum may exceed 64 bits.

    Example:
        >>> import pyarrow as pa
        >>> live_keys, live_values = consolidate_bucket(
        ...     keys=pa.array([b"a", b"b", b"a", b"a", b"b"]),
        ...     values=pa.array([b"fish", b"seal", b"fish", b"bird", b"seal"]),
        ...     diffs=pa.array([1, 1, -1, 1, -1]),
        ... )
        >>> live_keys.to_pylist(), live_values.to_pylist()
        ([b'a'], [b'bird'])
    """
    bucket = Bucket.from_updates(keys, values, diffs, chunk_bytes=chunk_bytes)
    live, live_values, wrong = bucket.decode()
    if len(wrong):
        wrong_keys = bucket.take_keys(wrong).to_pylist()
        key, slot = min(zip(wrong_keys, wrong.tolist(), strict=True))
        message = f"key {_show_key(key)}: {bucket.accumulator(slot).fault()}"
        raise ConsolidationError(message)
    return bucket.take_keys(live), live_values.cast(values.type)


def _show_key(key: bytes) -> str:
    text = repr(key[:_SHOWN_BYTES].decode(errors="backslashreplace"))
    return text if len(key) <= _SHOWN_BYTES else f"{text}... of {len(key)} bytes"
