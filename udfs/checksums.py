"""A 64-bit checksum of a value: in pure Python for one, in numpy for many."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from .words import WORD, cut_words, value_lengths

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

    from .words import Integers, Words

Bits = TypeVar("Bits", int, "Words")

WRAP = 2**64 - 1
"""`x & WRAP` is `x` modulo 2**64."""

_GOLDEN = 0x9E3779B97F4A7C15


def checksum(value: bytes) -> int:
    """Hash a value to 64 bits. The hash is the same in every run, on every machine and in numpy.

    Args:
        value: Any bytes, or none. Bytes are compared, not text: encode equal values equally.

    Returns:
        An unsigned 64-bit hash.

    Note:
        The value is cut into words, see `cut_words`. Each word is mixed with its place. The sum of
        the mixed words is mixed with the length. Because the words are summed, numpy needs no
        loop over the places. Because the sum is mixed again, the hashes of several values do not
        cancel out when their words do. The checksum finds accidents, not forgeries.

    Example:
        >>> hex(checksum(b"")), hex(checksum(b"fish"))
        ('0x48218226ff3cd4bf', '0xa9b178bb653ac78d')
    """
    total = len(value) * _GOLDEN
    words = struct.iter_unpack("<Q", value + bytes(WORD - len(value) % WORD))
    for place, (word,) in enumerate(words, 1):
        total += _mix(word + place * _GOLDEN & WRAP)
    return _mix(total & WRAP)


def checksum_values(values: pa.Array, chunk_words: int) -> Words:
    """Return the `checksum` of each value of a large_binary array."""
    sums = begin_checksums(values)
    for row, place, word in cut_words(values, chunk_words):
        np.add.at(sums, row, mix_words(place, word))
    return finish_checksums(sums)


def begin_checksums(values: pa.Array) -> Words:
    """Return the number that the checksum of each value begins with. It depends on its length."""
    return value_lengths(values).astype(np.uint64) * _GOLDEN


def mix_words(places: Integers, words: Words) -> Words:
    """Return the number that each word adds to the checksum of its value."""
    return _mix(words + (places + 1).astype(np.uint64) * _GOLDEN)


def finish_checksums(sums: Words) -> Words:
    """Turn the sum over the words of each value into its checksum."""
    return _mix(sums)


def _mix(bits: Bits) -> Bits:
    """Scatter 64 bits: the output function of the generator splitmix64, a bijection."""
    mixed: Any = bits
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & WRAP
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & WRAP
    return cast("Bits", mixed ^ (mixed >> 31))
