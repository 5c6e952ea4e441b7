"""Values of the data on a terminal."""

from __future__ import annotations

from itertools import zip_longest

SHOWN_CHARACTERS = 120
"""How many characters of a value are shown. `--json` prints all of them."""

SHOWN_BEFORE = 40
"""How many of them are before the first difference, if that is far from the start."""


def printable(text: str) -> str:
    r"""Replace what a terminal would obey, such as the start of a colour, by blanks.

    Example:
        >>> printable("Größe\x1b[2J\n")
        'Größe [2J '
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def cut(text: str, other: str | None = None) -> str:
    """Cut a long text. With another text, show the place where they first differ.

    Example:
        >>> cut("short"), len(cut("x" * 500)), cut("x" * 500)[-5:]
        ('short', 123, 'xx...')
        >>> cut("x" * 500 + "y", "x" * 500 + "z") == "..." + "x" * 40 + "y"
        True
    """
    if len(text) <= SHOWN_CHARACTERS:
        return text
    # The end of a text is a difference, too. Two equal texts have none.
    pairs = enumerate(zip_longest(text, text if other is None else other))
    place = next((number for number, (one, two) in pairs if one != two), 0)
    start = place - SHOWN_BEFORE if place > SHOWN_CHARACTERS - SHOWN_BEFORE else 0
    shown = text[start : start + SHOWN_CHARACTERS]
    return "..." * (start > 0) + shown + "..." * (start + len(shown) < len(text))
