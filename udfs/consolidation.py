"""What the updates of a key leave: one value, none, or an error that names the disagreement.

Four sums over the updates decide it, whatever their order and however they were split. The same
rules stand here twice: `Accumulator` is one key in pure Python, the reference; `consolidate_bucket`
is many keys at once in numpy.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Words = NDArray[np.uint64]

Bits = TypeVar("Bits", int, "NDArray[np.uint64]")

CHUNK_BYTES = 64 * 2**20
"""The memory in which `consolidate_bucket` works on values, 64 MiB."""

_WORD = 8
_WRAP = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_BEYOND_INT64 = 2.0**63
_SHOWN_BYTES = 60
_WORKING_BYTES = 80
"""What a word takes while it is worked on: ten arrays of 8 bytes; measured."""


class ConsolidationError(ValueError):
    """The updates of a key do not add up to one value or none, or were not added up yet."""


def _mix(bits: Bits) -> Bits:
    """Scatter 64 bits: the output function of the generator splitmix64, a bijection."""
    mixed: Any = bits
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _WRAP
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _WRAP
    return cast("Bits", mixed ^ (mixed >> 31))


def checksum(value: bytes) -> int:
    """Hash a value to 64 bits, the same in every run, on every machine and in numpy.

    Args:
        value: Any bytes, also none. Bytes are compared, not text: equal values must be encoded
            equally.

    Returns:
        An unsigned 64-bit hash.

    Note:
        The value is cut into little-endian words of 8 bytes, the last one filled up with 1 to 8
        zeros; each word is mixed with its place, and their sum is mixed with the length. As words
        meet in a sum, numpy needs no loop over places; as the sum is mixed again, the hashes of
        several values do not cancel when their words do. It finds accidents, not forgeries.

    Example:
        >>> hex(checksum(b"")), hex(checksum(b"fish"))
        ('0x48218226ff3cd4bf', '0xa9b178bb653ac78d')
    """
    total = len(value) * _GOLDEN
    words = struct.iter_unpack("<Q", value + bytes(_WORD - len(value) % _WORD))
    for place, (word,) in enumerate(words, 1):
        total += _mix(word + place * _GOLDEN & _WRAP)
    return _mix(total & _WRAP)


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The sums over some updates of one key.

    Args:
        diff_sum: The sum of the diffs.
        len_sum: The sum of length times diff, in bytes.
        checksum_sum: The sum of checksum times diff, modulo 2**64; in `[0, 2**64)`.
        value_xor: The XOR of the values whose diff is odd, as long as the longest of them.

    Note:
        `merge` is associative and commutative, and `Accumulator()` changes nothing in it. So the
        updates may come in any order, split in any way.

    Example:
        >>> a, b, c = (Accumulator.from_update(v, d) for v, d in [(b"x", 1), (b"yz", -1), (b"", 3)])
        >>> a.merge(b).merge(c) == c.merge(a.merge(b)) == a.merge(b.merge(c))
        True
        >>> a.merge(Accumulator()) == a, a.merge(a.negate()).is_zero
        (True, True)
    """

    diff_sum: int = 0
    len_sum: int = 0
    checksum_sum: int = 0
    value_xor: bytes = b""

    @classmethod
    def from_update(cls, value: bytes, diff: int) -> Accumulator:
        """Sum one update; a diff of 0 is no update.

        >>> Accumulator.from_update(b"fish", 0) == Accumulator()
        True
        """
        odd = value if diff % 2 else b""
        return cls(diff, len(value) * diff, checksum(value) * diff & _WRAP, odd)

    def update(self, value: bytes, diff: int) -> Accumulator:
        """Add one update.

        >>> Accumulator().update(b"fish", 1).update(b"bird", 1).update(b"fish", -1).decode()
        b'bird'
        """
        return self.merge(self.from_update(value, diff))

    def merge(self, other: Accumulator) -> Accumulator:
        """Add the updates of another accumulator."""
        length = max(len(self.value_xor), len(other.value_xor))
        left = int.from_bytes(self.value_xor, "little")
        right = int.from_bytes(other.value_xor, "little")
        return Accumulator(
            diff_sum=self.diff_sum + other.diff_sum,
            len_sum=self.len_sum + other.len_sum,
            checksum_sum=self.checksum_sum + other.checksum_sum & _WRAP,
            value_xor=(left ^ right).to_bytes(length, "little"),
        )

    def negate(self) -> Accumulator:
        """Turn additions into retractions and back; the XOR is its own opposite."""
        return Accumulator(
            -self.diff_sum, -self.len_sum, -self.checksum_sum & _WRAP, self.value_xor
        )

    @property
    def is_zero(self) -> bool:
        """Whether nothing is left in any of the four sums."""
        return not (self.diff_sum or self.len_sum or self.checksum_sum or any(self.value_xor))

    def decode(self) -> bytes | None:
        """Read the value that is left; None where nothing is.

        Raises:
            ConsolidationError: The updates do not leave one value or none. Names the first sum
                that disagrees, then all of them.

        Example:
            >>> Accumulator.from_update(b"fish", 3).update(b"fish", -2).decode()
            b'fish'
            >>> Accumulator().decode() is None
            True
        """
        if fault := self.fault():
            raise ConsolidationError(fault)
        return self.value_xor[: self.len_sum] if self.diff_sum else None

    def fault(self) -> str | None:
        """Name the first sum that disagrees, then show all; None where they decode.

        >>> print(Accumulator.from_update(b"fish", 2).fault())
        non 0/1 diff_sum
        Got: diff_sum 2, len_sum 8, checksum_sum 0x5362f176ca758f1a, value_xor of 0 bytes
        """
        if self.diff_sum == 0:
            checks = {
                "len_sum is non-0": self.len_sum != 0,
                "checksum_sum is non-0": self.checksum_sum != 0,
                "value_xor is non-0": any(self.value_xor),
            }
        elif self.diff_sum == 1:
            value = self.value_xor[: max(self.len_sum, 0)]
            checks = {
                "len_sum is negative": self.len_sum < 0,
                "value_xor is not the same length as len_sum": self.len_sum > len(self.value_xor),
                "checksum_sum does not match": self.checksum_sum != checksum(value),
            }
        else:
            checks = {"non 0/1 diff_sum": True}
        return next((f"{fault}\nGot: {self}" for fault, found in checks.items() if found), None)

    def __str__(self) -> str:
        """Show the sums, and of the XOR its length, as values may be long or private."""
        return (
            f"diff_sum {self.diff_sum}, len_sum {self.len_sum}, "
            f"checksum_sum {self.checksum_sum:#018x}, value_xor of {len(self.value_xor)} bytes"
        )


def consolidate_bucket(
    keys: pa.Array, values: pa.Array, diffs: pa.Array, *, chunk_bytes: int = CHUNK_BYTES
) -> tuple[pa.Array, pa.Array]:
    """Consolidate the updates of many keys, each as `Accumulator` would.

    Args:
        keys: The encoded keys; binary or large_binary, shape `(updates,)`, no nulls.
        values: The encoded values; binary or large_binary, shape `(updates,)`, no nulls. A value
            without bytes is a value.
        diffs: What each update adds; int64, shape `(updates,)`, no nulls.
        chunk_bytes: The memory that a chunk of values may take while it is worked on, in bytes;
            the sums of the chunks are merged. On top come the arguments, the result, about 80
            bytes an update, and for each key the length of its longest value.

    Returns:
        The keys that have a value, and their values: two arrays of the types that came, shape
        `(live keys,)`, in the order in which the keys first appear; empty for no updates.

    Note:
        The order of the updates and `chunk_bytes` change no row and no error.

    Raises:
        ConsolidationError: A key does not add up. Names the least such key and what disagrees.
        ValueError: There is a null, or the arrays differ in length.
        OverflowError: The diffs are so large that a sum may leave 64 bits.

    Example:
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
        wrong_keys = bucket.keys.take(pa.array(wrong)).to_pylist()
        key, slot = min(zip(wrong_keys, wrong.tolist(), strict=True))
        message = f"key {_shown(key)}: {bucket.accumulator(slot).fault()}"
        raise ConsolidationError(message)
    return bucket.keys.take(pa.array(live)), live_values.cast(values.type)


def _shown(key: bytes) -> str:
    text = repr(key[:_SHOWN_BYTES].decode(errors="backslashreplace"))
    return text if len(key) <= _SHOWN_BYTES else f"{text}... of {len(key)} bytes"


@dataclass(frozen=True, slots=True)
class Bucket:
    """The sums of many keys: one `Accumulator` a slot, as columns; a slot stands for a key.

    Args:
        keys: The keys, each once, in the order in which they first appear; shape `(slots,)`.
        slots: The slot of each row that was summed; shape `(rows,)`.
        diff_sum: As in `Accumulator`; shape `(slots,)`, like the next two.
        len_sum: As in `Accumulator`.
        checksum_sum: As in `Accumulator`.
        xor_len: How many bytes the XOR of each slot has; shape `(slots,)`.
        xor_head: Its first word in `xor`; shape `(slots,)`.
        xor: All XORs one after the other, each in whole words, at least one.
        chunk_words: How many words are worked on at a time.

    Note:
        The sums of some updates, and of the `parts` of any split of them, are the same.
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
        """Sum updates; the arguments and errors are those of `consolidate_bucket`."""
        _require_whole(keys, values, diffs)
        values, diffs = values.cast(pa.large_binary()), diffs.cast(pa.int64()).to_numpy()
        lengths = np.diff(_offsets(values))
        # Not the product of vectors: its threads would wait for those of other workers.
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
        """Merge accumulators, any number for each key: the columns that `parts` gives.

        Raises:
            ValueError: There is a null, or the arrays differ in length.
            OverflowError: A sum may leave 64 bits.
        """
        _require_whole(keys, diff_sum, len_sum, checksum_sum, value_xor)
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
        # Without checksums `xors` are values: both are made of the same words, which are cut once.
        are_values, sums = checksums is None, _first_checksums(xors)
        encoded = keys.dictionary_encode()
        slots, count = encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
        xor_len = np.zeros(count, np.int64)
        np.maximum.at(xor_len, slots[is_xored], np.diff(_offsets(xors))[is_xored])
        xor_words = xor_len // _WORD + 1
        xor_head = np.cumsum(xor_words) - xor_words
        xor = np.zeros(xor_words.sum(), "<u8")
        for row, place, word in _cut(xors, chunk_words):
            if are_values:
                np.add.at(sums, row, _mixed_words(place, word))
            is_in = is_xored[row]
            target = xor_head[slots[row]] + place
            np.bitwise_xor.at(xor, target[is_in], word[is_in])
        if checksums is None:
            checksums = _mix(sums) * diffs.astype(np.uint64)
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

    def greatest(self, amounts: pa.Array) -> Integers:
        """Give the greatest amount of the rows of each slot.

        Args:
            amounts: int64, shape `(rows,)`, no nulls.

        Raises:
            ValueError: There is a null, or the length is another.
        """
        _require_whole(pa.array(self.slots), amounts)
        greatest = np.full(len(self.keys), np.iinfo(np.int64).min)
        np.maximum.at(greatest, self.slots, amounts.to_numpy())
        return greatest

    def parts(self) -> dict[str, Any]:
        """Give the sums as the columns that `from_parts` takes, each of shape `(slots,)`."""
        return {
            "key": self.keys,
            "diff_sum": self.diff_sum,
            "len_sum": self.len_sum,
            "checksum_sum": self.checksum_sum.view(np.int64),
            "value_xor": self._xors(self.xor_len),
        }

    def accumulator(self, slot: int) -> Accumulator:
        """Give the sums of one slot."""
        xor = self.xor[self.xor_head[slot] :].view(np.uint8)[: self.xor_len[slot]]
        return Accumulator(
            diff_sum=int(self.diff_sum[slot]),
            len_sum=int(self.len_sum[slot]),
            checksum_sum=int(self.checksum_sum[slot]),
            value_xor=xor.tobytes(),
        )

    def decode(self) -> tuple[Integers, pa.Array, Integers]:
        """Read every slot.

        Returns:
            The slots that have a value; those values, large_binary; the slots that do not add up.
        """
        cut_len = np.clip(self.len_sum, 0, self.xor_len)
        live = np.flatnonzero(self.diff_sum == 1)
        values = self._xors(cut_len).take(pa.array(live))
        is_left = (self.len_sum != 0) | (self.checksum_sum != 0)
        is_left |= np.bitwise_or.reduceat(self.xor, self.xor_head) != 0
        is_wrong = np.where(self.diff_sum == 0, is_left, self.diff_sum != 1)
        is_wrong[live] = (self.len_sum != cut_len)[live]
        is_wrong[live] |= self.checksum_sum[live] != _checksums(values, self.chunk_words)
        return live, values, np.flatnonzero(is_wrong)

    def _xors(self, lengths: Integers) -> pa.Array:
        """Give the first bytes of each XOR, as large_binary."""
        # One array over all XORs: in turn what is taken of one, and what is left behind it.
        heads = self.xor_head * _WORD
        bounds = np.append(np.column_stack([heads, heads + lengths]), self.xor.nbytes)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.xor)]
        pieces = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 2 * len(heads), buffers)
        return pieces.take(pa.array(np.arange(0, 2 * len(heads), 2)))


def _require_whole(*arrays: pa.Array) -> None:
    counts = {len(array) for array in arrays}
    null_counts = [array.null_count for array in arrays]
    if len(counts) > 1 or any(null_counts):
        got = f"lengths {sorted(counts)}, nulls {null_counts}"
        message = f"consolidate_bucket: the arrays must have one length and no nulls\nGot: {got}"
        raise ValueError(message)


def _require_64_bits(most: float) -> None:
    if most >= _BEYOND_INT64:
        message = f"consolidate_bucket: a sum may leave 64 bits\nGot: as much as {most:.3g}"
        raise OverflowError(message)


def _sum_by(slots: Integers, slots_count: int, amounts: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros(slots_count, amounts.dtype)
    np.add.at(sums, slots, amounts)
    return sums


def _checksums(values: pa.Array, chunk_words: int) -> Words:
    """Give the `checksum` of each of some large_binary values."""
    sums = _first_checksums(values)
    for row, place, word in _cut(values, chunk_words):
        np.add.at(sums, row, _mixed_words(place, word))
    return _mix(sums)


def _first_checksums(values: pa.Array) -> Words:
    """Give what a checksum begins with: the length."""
    return np.diff(_offsets(values)).astype(np.uint64) * _GOLDEN


def _mixed_words(places: Integers, words: Words) -> Words:
    """Give what each word adds to the checksum of its value."""
    return _mix(words + (places + 1).astype(np.uint64) * _GOLDEN)


def _cut(values: pa.Array, chunk_words: int) -> Iterator[tuple[Integers, Integers, Words]]:
    """Cut large_binary values into words, as `checksum` does; chunks may end within a value.

    Yields:
        The row of each word, its place within the value from 0, and the word; in turn, with at
        most `chunk_words` at a time.
    """
    starts = _offsets(values)
    lengths = np.diff(starts)
    counts = lengths // _WORD + 1
    stops = np.cumsum(counts)
    heads = stops - counts
    for first in range(0, int(stops[-1]) if len(stops) else 0, chunk_words):
        last = min(first + chunk_words, int(stops[-1]))
        low, high = np.searchsorted(stops, [first, last - 1], side="right")
        rows = np.arange(low, high + 1)
        row = np.repeat(rows, np.diff(np.minimum(stops[rows], last), prepend=first))
        place = np.arange(first, last) - heads[row]
        word = _read(values, starts[row] + place * _WORD)
        ended = rows[stops[rows] <= last]
        tail_bits = (lengths[ended] % _WORD * 8).astype(np.uint64)
        word[stops[ended] - 1 - first] &= (np.uint64(1) << tail_bits) - np.uint64(1)
        yield row, place, word


def _read(values: pa.Array, starts: Integers) -> Words:
    """Read the 8 bytes at each of `starts`, which ascend; zeros behind the end of the buffer."""
    text = np.frombuffer(values.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1] + _WORD]
    size = starts[-1] - starts[0] + _WORD
    padded = np.append(text, np.zeros(size - len(text), np.uint8))
    at_each_byte: Words = np.ndarray(size - _WORD + 1, "<u8", padded, strides=(1,))
    words: Words = at_each_byte[starts - starts[0]]
    return words


def _offsets(values: pa.Array) -> Integers:
    """Give where each of some large_binary values begins, and where the last ends."""
    if not len(values):
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(values.buffers()[1], np.int64)
    return offsets[values.offset : values.offset + len(values) + 1]
