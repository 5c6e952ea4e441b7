"""The sums over the updates of one key, in pure Python: the reference for `Bucket`.

Four sums decide what the updates leave: one value, none, or an error. Neither the order of the
updates nor the way they were split matters.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt_trueup.errors import ConsolidationError

from .checksums import WRAP, checksum


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The sums over some updates of one key.

    Args:
        diff_sum: The sum of the diffs.
        len_sum: The sum of length times diff, in bytes.
        checksum_sum: The sum of checksum times diff, modulo 2**64; in `[0, 2**64)`.
        value_xor: The XOR of the values that have an odd diff. It is as long as the longest one.

    Note:
        `merge` is associative and commutative, and merging `Accumulator()` changes nothing. So
        the updates may come in any order and may be split in any way.

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
        """Sum one update. A diff of 0 adds nothing.

        Example:
            >>> Accumulator.from_update(b"fish", 0) == Accumulator()
            True
        """
        odd = value if diff % 2 else b""
        return cls(diff, len(value) * diff, checksum(value) * diff & WRAP, odd)

    def update(self, value: bytes, diff: int) -> Accumulator:
        """Add one update.

        Example:
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
            checksum_sum=self.checksum_sum + other.checksum_sum & WRAP,
            value_xor=(left ^ right).to_bytes(length, "little"),
        )

    def negate(self) -> Accumulator:
        """Turn additions into retractions and back. The XOR stays: it is its own inverse."""
        return Accumulator(-self.diff_sum, -self.len_sum, -self.checksum_sum & WRAP, self.value_xor)

    @property
    def is_zero(self) -> bool:
        """Whether all four sums are zero."""
        return not (self.diff_sum or self.len_sum or self.checksum_sum or any(self.value_xor))

    def decode(self) -> bytes | None:
        """Read the value that the updates leave; None if they leave none.

        Raises:
            ConsolidationError: The updates leave neither one value nor none. The message names
                the first sum that is wrong, then shows all of them.

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
        """Name the first sum that is wrong, then show all sums; None if `decode` succeeds.

        Example:
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
        """Show the sums. Show only the length of the XOR: values may be long or private."""
        return (
            f"diff_sum {self.diff_sum}, len_sum {self.len_sum}, "
            f"checksum_sum {self.checksum_sum:#018x}, value_xor of {len(self.value_xor)} bytes"
        )
