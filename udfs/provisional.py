"""The newest value of each key of a bucket, in numpy: what `trueup_provisional` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dbt_trueup.errors import ConsolidationError, InvalidArraysError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


def newest_values(
    keys: pa.Array, values: pa.Array, ranks: pa.Array, is_final: pa.Array
) -> dict[str, Any]:
    """Find the newest value of each key among what is settled and what is not.

    Args:
        keys: The encoded keys; binary, shape `(rows,)`, no nulls.
        values: The encoded values; binary, shape `(rows,)`. Null says that the key has no value. A
            value without bytes is a value.
        ranks: The place of each row in the order of its key; int64, shape `(rows,)`, no nulls.
        is_final: Whether a row is settled; bool, shape `(rows,)`, no nulls. A key has at most one
            settled row.

    Returns:
        Arrays of the shape `(keys with a value,)`: `key`; `value`, that of the greatest rank; and
        `is_final`, whether the settled row of the key has the same value.

    Note:
        The order of the rows does not matter. If rows of the greatest rank have different values,
        nobody knows which one is newer, so the key has no value.

    Raises:
        ConsolidationError: A key has two settled rows.
        InvalidArraysError: A key, a rank or a flag is null.

    Example:
        >>> import pyarrow as pa
        >>> found = newest_values(
        ...     keys=pa.array([b"k", b"k", b"l"]),
        ...     values=pa.array([b"A", b"B", b"C"]),
        ...     ranks=pa.array([1, 2, 1]),
        ...     is_final=pa.array([True, False, True]),
        ... )
        >>> {name: column.tolist() for name, column in found.items()}
        {'key': [b'k', b'l'], 'value': [b'B', b'C'], 'is_final': [False, True]}
    """
    if keys.null_count or ranks.null_count or is_final.null_count:
        message = (
            "trueup_provisional: keys, ranks and flags must not be null\n"
            f"Got: nulls in keys {keys.null_count}, ranks {ranks.null_count},"
            f" flags {is_final.null_count}; leave out these rows"
        )
        raise InvalidArraysError(message)
    encoded_keys, encoded_values = keys.dictionary_encode(), values.dictionary_encode()
    slots, key_count = encoded_keys.indices.to_numpy(), len(encoded_keys.dictionary)
    # Values become places in the dictionary, which numpy can compare. -1 is no value.
    places = encoded_values.indices.fill_null(-1).to_numpy()
    order = ranks.to_numpy()
    is_settled = is_final.to_numpy(zero_copy_only=False)
    counts = np.bincount(slots[is_settled], minlength=1)
    if counts.max() > 1:
        message = (
            "the key is still consolidating: it must have at most one settled row\n"
            f"Got: {counts.max()} for {encoded_keys.dictionary[int(counts.argmax())]};"
            " run the collection, which repairs its rows"
        )
        raise ConsolidationError(message)
    settled = np.full(key_count, -1)
    settled[slots[is_settled]] = places[is_settled]

    greatest = np.full(key_count, np.iinfo(np.int64).min)
    np.maximum.at(greatest, slots, order)
    is_newest = order == greatest[slots]
    least_place, newest = np.full(key_count, len(places)), np.full(key_count, -1)
    np.minimum.at(least_place, slots[is_newest], places[is_newest])
    np.maximum.at(newest, slots[is_newest], places[is_newest])
    has_value = (newest >= 0) & (newest == least_place)
    return {
        "key": encoded_keys.dictionary.to_numpy(zero_copy_only=False)[has_value],
        "value": encoded_values.dictionary.to_numpy(zero_copy_only=False)[newest[has_value]],
        "is_final": (newest == settled)[has_value],
    }
