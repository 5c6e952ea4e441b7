"""The sums over the updates of many keys, in numpy: `Accumulator` as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from dbt_trueup.errors import InvalidArraysError, SumOverflowError

from .accumulator import Accumulator
from .checksums import begin_checksums, checksum_values, finish_checksums, mix_words
from .words import WORD, cut_words, value_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .words import Integers, Words

CHUNK_BYTES = 64 * 2**20
"""The memory for one chunk of values, 64 MiB."""

_BEYOND_INT64 = 2.0**63
_WORKING_BYTES = 80
"""The memory for one word in a chunk: ten arrays of 8 bytes. Measured."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The sums of many keys: an `Accumulator` for each slot. Each key has one slot.

    Args:
        keys: The distinct keys, in the order in which they first appear; shape `(slots,)`.
        slots: The slot of each row that was summed; shape `(rows,)`.
        diff_sum: As in `Accumulator`; shape `(slots,)`, as the next two.
        len_sum: As in `Accumulator`.
        checksum_sum: As in `Accumulator`.
        xor_len: The length of the XOR of each slot, in bytes; shape `(slots,)`.
        xor_head: The place of its first word in `xor`; shape `(slots,)`.
        xor: The XORs of all slots, one after the other. Each takes one word or more.
        chunk_words: The number of words in a chunk.

    Note:
        Split the updates in any way and merge the `parts`: the sums stay the same.
    """

    keys: pa.Array
    slots: Integers
    diff_sum: Integers
    len_sum: Integers
    checksum_sum: Words
    xor_len: Integers
    xor_head: Integers
    xor: Words
    chunk_words: int

    @classmethod
    def from_updates(
        cls, keys: pa.Array, values: pa.Array, diffs: pa.Array, *, chunk_bytes: int = CHUNK_BYTES
    ) -> Bucket:
        """Sum updates, each as `Accumulator` would.

        Args:
            keys: The encoded keys; binary or large_binary, shape `(updates,)`, no nulls.
            values: The encoded values; binary or large_binary, shape `(updates,)`, no nulls. A
                value without bytes is a value.
            diffs: The diff of each update; int64, shape `(updates,)`, no nulls.
            chunk_bytes: The memory that one chunk of values may take while numpy works on it, in
                bytes. The sums of the chunks are merged. The arguments, the result, about 80 bytes
                for each update, and the longest value of each key come on top of it.

        Note:
            Neither the order of the updates nor `chunk_bytes` affects what `decode` returns of a
            key.

        Raises:
            InvalidArraysError: There is a null, or the arrays differ in length.
            SumOverflowError: The diffs are so large that a sum may exceed 64 bits.

        Example:
            >>> bucket = Bucket.from_updates(
            ...     keys=pa.array([b"a", b"b", b"a", b"a", b"b"]),
            ...     values=pa.array([b"fish", b"seal", b"fish", b"bird", b"seal"]),
            ...     diffs=pa.array([1, 1, -1, 1, -1]),
            ... )
            >>> live, values, wrong = bucket.decode()
            >>> bucket.take_keys(live).to_pylist(), values.to_pylist(), wrong.tolist()
            ([b'a'], [b'bird'], [])
        """
        _require_equal_lengths_and_no_nulls(keys, values, diffs)
        values, diffs = values.cast(pa.large_binary()), diffs.cast(pa.int64()).to_numpy()
        lengths = value_lengths(values)
        # A dot product would start threads, which would wait for those of other workers.
        _require_64_bits((np.abs(diffs.astype(np.float64)) * (lengths + 1.0)).sum())
        chunk_words = max(chunk_bytes // _WORKING_BYTES, 1)
        is_odd = diffs % 2 == 1
        return cls._sum(keys, diffs, lengths * diffs, None, values, is_odd, chunk_words)

    @classmethod
    def from_parts(  # noqa: PLR0913 - an accumulator has so many parts
        cls,
        keys: pa.Array,
        diff_sum: pa.Array,
        len_sum: pa.Array,
        checksum_sum: pa.Array,
        value_xor: pa.Array,
        *,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> Bucket:
        """Merge accumulators, any number for each key. The arguments are the columns of `parts`.

        Raises:
            InvalidArraysError: There is a null, or the arrays differ in length.
            SumOverflowError: A sum may exceed 64 bits.
        """
        _require_equal_lengths_and_no_nulls(keys, diff_sum, len_sum, checksum_sum, value_xor)
        diffs, lengths = diff_sum.to_numpy(), len_sum.to_numpy()
        _require_64_bits(sum(np.abs(each.astype(np.float64)).sum() for each in (diffs, lengths)))
        xors = value_xor.cast(pa.large_binary())
        checksums = checksum_sum.to_numpy().view(np.uint64)
        is_xored = np.ones(len(keys), np.bool_)
        chunk_words = max(chunk_bytes // _WORKING_BYTES, 1)
        return cls._sum(keys, diffs, lengths, checksums, xors, is_xored, chunk_words)

    @classmethod
    def _sum(  # noqa: PLR0913, PLR0917 - an accumulator has so many parts
        cls,
        keys: pa.Array,
        diffs: Integers,
        lengths: Integers,
        checksums: Words | None,
        xors: pa.Array,
        is_xored: NDArray[np.bool_],
        chunk_words: int,
    ) -> Bucket:
        # If there are no checksums, `xors` are values. The XORs and the checksums need the same
        # words, so the values are cut only once.
        are_values, sums = checksums is None, begin_checksums(xors)
        encoded = keys.dictionary_encode()
        slots, count = encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
        xor_len = np.zeros(count, np.int64)
        np.maximum.at(xor_len, slots[is_xored], value_lengths(xors)[is_xored])
        xor_words = xor_len // WORD + 1
        xor_head = np.cumsum(xor_words) - xor_words
        xor = np.zeros(xor_words.sum(), "<u8")
        for row, place, word in cut_words(xors, chunk_words):
            if are_values:
                np.add.at(sums, row, mix_words(place, word))
            is_in = is_xored[row]
            target = xor_head[slots[row]] + place
            np.bitwise_xor.at(xor, target[is_in], word[is_in])
        if checksums is None:
            checksums = finish_checksums(sums) * diffs.astype(np.uint64)
        return cls(
            keys=encoded.dictionary,
            slots=slots,
            diff_sum=_sum_by(slots, count, diffs),
            len_sum=_sum_by(slots, count, lengths),
            checksum_sum=_sum_by(slots, count, checksums),
            xor_len=xor_len,
            xor_head=xor_head,
            xor=xor,
            chunk_words=chunk_words,
        )

    def take_keys(self, slots: Integers) -> pa.Array:
        """Return the keys of some slots."""
        return self.keys.take(pa.array(slots))

    def greatest(self, amounts: pa.Array) -> Integers:
        """Return the greatest amount of each slot.

        Args:
            amounts: The amount of each row; int64, shape `(rows,)`, no nulls.

        Raises:
            InvalidArraysError: There is a null, or the length is not that of `slots`.
        """
        _require_equal_lengths_and_no_nulls(pa.array(self.slots), amounts)
        greatest = np.full(len(self.keys), np.iinfo(np.int64).min)
        np.maximum.at(greatest, self.slots, amounts.to_numpy())
        return greatest

    def parts(self) -> dict[str, Any]:
        """Return the sums as the columns that `from_parts` takes, each of shape `(slots,)`."""
        return {
            "key": self.keys,
            "diff_sum": self.diff_sum,
            "len_sum": self.len_sum,
            "checksum_sum": self.checksum_sum.view(np.int64),
            "value_xor": self._xors(self.xor_len),
        }

    def accumulator(self, slot: int) -> Accumulator:
        """Return the sums of one slot."""
        xor = self.xor[self.xor_head[slot] :].view(np.uint8)[: self.xor_len[slot]]
        return Accumulator(
            diff_sum=int(self.diff_sum[slot]),
            len_sum=int(self.len_sum[slot]),
            checksum_sum=int(self.checksum_sum[slot]),
            value_xor=xor.tobytes(),
        )

    def decode(self) -> tuple[Integers, pa.Array, Integers]:
        """Decode every slot.

        Returns:
            The slots that have a value; those values, large_binary; the slots that do not add up.
            No slot is in both lists.
        """
        cut_len = np.clip(self.len_sum, 0, self.xor_len)
        single = np.flatnonzero(self.diff_sum == 1)
        values = self._xors(cut_len).take(pa.array(single))
        is_left = (self.len_sum != 0) | (self.checksum_sum != 0)
        is_left |= np.bitwise_or.reduceat(self.xor, self.xor_head) != 0
        is_wrong = np.where(self.diff_sum == 0, is_left, self.diff_sum != 1)
        is_wrong[single] = (self.len_sum != cut_len)[single]
        is_wrong[single] |= self.checksum_sum[single] != checksum_values(values, self.chunk_words)
        is_live = ~is_wrong[single]
        return single[is_live], values.filter(pa.array(is_live)), np.flatnonzero(is_wrong)

    def _xors(self, lengths: Integers) -> pa.Array:
        """Return the first bytes of the XOR of each slot, as large_binary."""
        # One array over all XORs: its even items are the bytes to return, its odd ones the rest.
        heads = self.xor_head * WORD
        bounds = np.append(np.column_stack([heads, heads + lengths]), self.xor.nbytes)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.xor)]
        pieces = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 2 * len(heads), buffers)
        return pieces.take(pa.array(np.arange(0, 2 * len(heads), 2)))


def _require_equal_lengths_and_no_nulls(*arrays: pa.Array) -> None:
    counts = {len(array) for array in arrays}
    null_counts = [array.null_count for array in arrays]
    if len(counts) > 1 or any(null_counts):
        message = (
            "each argument must have one value for each row, and no null\n"
            f"Got: lengths {sorted(counts)}, nulls {null_counts}; leave out rows with a null"
        )
        raise InvalidArraysError(message)


def _require_64_bits(most: float) -> None:
    if most >= _BEYOND_INT64:
        message = (
            "every sum must fit into 64 bits\n"
            f"Got: up to {most:.3g}; look for a diff that is too large, or use smaller buckets"
        )
        raise SumOverflowError(message)


def _sum_by(slots: Integers, slots_count: int, amounts: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros(slots_count, amounts.dtype)
    np.add.at(sums, slots, amounts)
    return sums
