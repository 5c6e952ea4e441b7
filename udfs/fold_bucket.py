"""Many keys while a tick is open, in numpy: each is folded as `State.apply` would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from dbt_trueup.errors import ConsolidationError, InvalidArraysError


def fold_bucket(
    keys: pa.Array, values: pa.Array, ticks: pa.Array, orders: pa.Array, is_emitted: pa.Array
) -> dict[str, Any]:
    """Fold the commands of many keys over their finalized values, tick by tick.

    Args:
        keys: The encoded keys; binary, shape `(rows,)`, no nulls.
        values: The encoded value of each row, null for a delete; binary, shape `(rows,)`.
        ticks: The tick of each command; int64, shape `(rows,)`. Null marks the finalized value of
            a key, of which there is at most one.
        orders: The order of each command; int64, shape `(rows,)`. Null exactly if the tick is.
        is_emitted: Whether a command is the provisional part of its key, so that its updates were
            emitted before; bool, shape `(rows,)`, no nulls.

    Returns:
        Arrays of the shape `(pairs of key and tick,)`, ordered by tick within a key: `key` and
        `ts`; `rank` and `value`, the greatest order and its value; `retracted` and `added`, the
        change since the value that was emitted at this tick, or else since the finalized value.
        None stands for no value. Keys without a command are left out.

    Note:
        The order of the rows does not matter, unless two commands of a key and tick have an equal
        order. A command with the same order as the provisional part is skipped.

    Raises:
        ConsolidationError: A key has two finalized values.
        InvalidArraysError: A key, a flag or the order of a command is null.

    Example:
        >>> folded = fold_bucket(
        ...     keys=pa.array([b"k", b"k", b"k"]),
        ...     values=pa.array([b"A", b"B", None]),
        ...     ticks=pa.array([None, 5, 5]),
        ...     orders=pa.array([None, 10, 9]),
        ...     is_emitted=pa.array([False, False, False]),
        ... )
        >>> {name: column.tolist() for name, column in folded.items() if name != "key"}
        {'ts': [5], 'rank': [10], 'value': [b'B'], 'retracted': [b'A'], 'added': [b'B']}
    """
    is_final = ticks.is_null().to_numpy(zero_copy_only=False)
    if keys.null_count or is_emitted.null_count or orders.filter(pa.array(~is_final)).null_count:
        message = (
            "trueup_provisional: keys, flags and the orders of commands must not be null\n"
            f"Got: nulls in keys {keys.null_count}, flags {is_emitted.null_count},"
            f" orders {orders.null_count} of which {is_final.sum()} may be; leave out these rows"
        )
        raise InvalidArraysError(message)
    encoded_keys, encoded_values = keys.dictionary_encode(), values.dictionary_encode()
    slots = encoded_keys.indices.to_numpy()
    # Values become places in the dictionary, which numpy can compare. -1 is no value: the None.
    places = encoded_values.indices.fill_null(-1).to_numpy()
    texts = np.append(encoded_values.dictionary.to_numpy(zero_copy_only=False), [None])
    finals = np.bincount(slots[is_final], minlength=1)
    if finals.max() > 1:
        message = (
            "the key is still consolidating: it must have at most one finalized value\n"
            f"Got: {finals.max()} for {encoded_keys.dictionary[int(finals.argmax())]};"
            " consolidate its updates first"
        )
        raise ConsolidationError(message)
    finalized = np.full(len(encoded_keys.dictionary), -1)
    finalized[slots[is_final]] = places[is_final]

    rows = np.flatnonzero(~is_final)
    ts = ticks.fill_null(0).to_numpy()
    rank = orders.fill_null(0).to_numpy()
    emitted = is_emitted.to_numpy(zero_copy_only=False)
    # The last row of each key and tick wins. Of two equal orders the emitted one wins.
    rows = rows[np.lexsort((emitted[rows], rank[rows], ts[rows], slots[rows]))]
    is_other = (np.diff(slots[rows]) != 0) | (np.diff(ts[rows]) != 0)
    pair = np.append(np.zeros(min(len(rows), 1), np.int64), np.cumsum(is_other))
    winners = rows[np.append(is_other, np.ones(min(len(rows), 1), np.bool_))]
    before, after = finalized[slots[winners]], places[winners]
    before[pair[emitted[rows]]] = places[rows[emitted[rows]]]
    is_change = before != after
    return {
        "key": encoded_keys.dictionary.to_numpy(zero_copy_only=False)[slots[winners]],
        "ts": ts[winners],
        "rank": rank[winners],
        "value": texts[after],
        "retracted": texts[np.where(is_change, before, -1)],
        "added": texts[np.where(is_change, after, -1)],
    }
