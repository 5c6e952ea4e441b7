"""Numbers with their nouns, as people write them."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

    Example:
        >>> count(1, "tick"), count(1204, "tick")
        ('1 tick', '1,204 ticks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
