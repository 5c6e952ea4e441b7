"""Values of the data on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Replace what a terminal would obey, such as the start of a colour, by blanks.

    Example:
        >>> printable("Größe\x1b[2J\n")
        'Größe [2J '
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)
