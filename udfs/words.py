"""Binary values cut into little-endian words of 8 bytes, which numpy can work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa  # type: ignore[import-untyped]
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Words = NDArray[np.uint64]

WORD = 8
"""The bytes of a word."""


def value_offsets(values: pa.Array) -> Integers:
    """Return where each value of a large_binary array begins, and where the last one ends."""
    if not len(values):
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(values.buffers()[1], np.int64)
    return offsets[values.offset : values.offset + len(values) + 1]


def value_lengths(values: pa.Array) -> Integers:
    """Return the length of each value of a large_binary array, in bytes."""
    return np.diff(value_offsets(values))


def cut_words(values: pa.Array, chunk_words: int) -> Iterator[tuple[Integers, Integers, Words]]:
    """Cut the values of a large_binary array into words. A chunk may end within a value.

    The last word of a value is filled with 1 to 8 zero bytes, so a value without bytes is one word.

    Yields:
        The row of each word, its place within the value (from 0), and the word. The rows ascend,
        and a chunk has at most `chunk_words` words.
    """
    starts = value_offsets(values)
    lengths = np.diff(starts)
    counts = lengths // WORD + 1
    stops = np.cumsum(counts)
    heads = stops - counts
    for first in range(0, int(stops[-1]) if len(stops) else 0, chunk_words):
        last = min(first + chunk_words, int(stops[-1]))
        low, high = np.searchsorted(stops, [first, last - 1], side="right")
        rows = np.arange(low, high + 1)
        row = np.repeat(rows, np.diff(np.minimum(stops[rows], last), prepend=first))
        place = np.arange(first, last) - heads[row]
        word = _read_words(values, starts[row] + place * WORD)
        ended = rows[stops[rows] <= last]
        tail_bits = (lengths[ended] % WORD * 8).astype(np.uint64)
        word[stops[ended] - 1 - first] &= (np.uint64(1) << tail_bits) - np.uint64(1)
        yield row, place, word


def _read_words(values: pa.Array, starts: Integers) -> Words:
    """Read 8 bytes at each of the ascending `starts`; beyond the end of the buffer all are 0."""
    text = np.frombuffer(values.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1] + WORD]
    size = starts[-1] - starts[0] + WORD
    padded = np.append(text, np.zeros(size - len(text), np.uint8))
    at_each_byte: Words = np.ndarray(size - WORD + 1, "<u8", padded, strides=(1,))
    words: Words = at_each_byte[starts - starts[0]]
    return words
