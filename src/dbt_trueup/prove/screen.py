"""How a proof is written for people."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from dbt_trueup.plural import count
from dbt_trueup.printable import cut, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .proof import Difference, Proof, Round

SHOWN = 3
"""How many counterexamples of a round, and how many of their updates, are shown."""


def describe_proof(proof: Proof) -> str:
    """Describe each round in a line, and its counterexamples below it."""
    lines = [line for each in proof.rounds for line in describe_round(each)]
    last = "equal" if proof.holds else "NOT equal"
    return "\n".join([*lines, f"{proof.collection}: {last}"])


def describe_round(one: Round) -> list[str]:
    """Describe a round.

    Example:
        >>> from .proof import Round
        >>> describe_round(Round(seed=1, batches=2, keys=100, commands=340, late_keys=["a"]))
        ['seed 1: 100 keys, 340 commands in 2 batches: equal, except 1 key with late commands']
    """
    text = f"seed {one.seed}: {count(one.keys, 'key')}, {count(one.commands, 'command')}"
    text += f" in {one.batches} batch{'' if one.batches == 1 else 'es'}: "
    found = len(one.counterexamples)
    text += count(found, "counterexample") if found else "equal"
    if one.late_keys:
        late = f"{count(len(one.late_keys), 'key')} with late commands"
        text += f"; {late} left out" if found else f", except {late}"
    if not one.compares_ticks:
        text += "; the changelog was compacted, so only the rows of now were compared with it"
    shown = [line for each in one.counterexamples[:SHOWN] for line in describe_difference(each)]
    if found > SHOWN:
        shown.append(f"  {found - SHOWN:,} more are left out; --json has all of them")
    return [text, *shown]


def describe_difference(one: Difference) -> list[str]:
    """Describe a key that is not the same in two places. Long values are cut where they differ."""
    pairs = list(zip_longest(one.expected[:SHOWN], one.got[:SHOWN]))
    return [
        f"  {cut(printable(one.key))}: {one.places} differ",
        *(f"    expected  {describe_update(first, second)}" for first, second in pairs if first),
        *(f"    got       {describe_update(second, first)}" for first, second in pairs if second),
    ]


def describe_update(update: tuple[Any, ...], other: tuple[Any, ...] | None = None) -> str:
    """Describe an update, or a row that exists now. `other` is the one in the other place.

    Example:
        >>> describe_update((4, -1, ('{"v":1}', '{"w":null}', None)))
        'tick 4  -  {"v":1,"w":null}'
        >>> describe_update((None, 1, ('{"v":null}', '{"w":null}', "no number")))
        'error: no number'
    """
    tick, diff, value = update
    text = cut(describe_value(value), describe_value(other[2]) if other else None)
    return text if tick is None else f"tick {tick}  {'+' if diff > 0 else '-'}  {text}"


def describe_value(value: Sequence[str | None]) -> str:
    """Write the columns of a row in one JSON, or the text of an error."""
    *columns, error = value
    text = "{" + ",".join((column or "{}")[1:-1] for column in columns) + "}"
    return printable(text if error is None else f"error: {error}")
