"""How a proof is written for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_trueup.plural import count
from dbt_trueup.printable import cut, printable

from .proof import LEFT_OUT

if TYPE_CHECKING:
    from .proof import Difference, Proof

SHOWN = 5
"""How many differences are shown. `--json` prints all of them."""


def describe_proof(proof: Proof) -> str:
    """Describe what was compared, what differs, and what could not be compared."""
    sample = "all keys" if proof.share == 1 else f"a sample of one key in {proof.share:,}"
    folded = f"{count(proof.commands, 'command')} of {count(proof.keys, 'key')}, folded in Python"
    summed = f"{count(proof.updates, 'update')} of the history, summed in Python"
    lines = [
        f"{proof.collection}, batch {proof.batch}: {sample}",
        f"  {folded}: {result(proof, 'the log and the row')}",
        f"  {summed}: {result(proof, 'the sum of the history and the row')}",
        f"  the certificate of the newest batch: {describe_certificate(proof)}",
        *(
            f"  left out: {count(len(keys), 'key')}; {LEFT_OUT[reason]}"
            for reason, keys in sorted(proof.left_out.items())
        ),
    ]
    for one in proof.differences[:SHOWN]:
        lines += describe_difference(one)
    if len(proof.differences) > SHOWN:
        lines.append(f"  {len(proof.differences) - SHOWN:,} more are left out; --json has them")
    if not proof.is_pinned:
        lines.append(
            "the log cannot be read as the newest batch has read it, so what arrived since then"
            f" differs; run first: dbt run -s {proof.collection}"
        )
    lines.append(f"{proof.collection}: {'proved' if proof.holds else 'NOT proved'}")
    return "\n".join(lines)


def result(proof: Proof, places: str) -> str:
    """Say how many keys differ in two places."""
    number = sum(one.places == places for one in proof.differences)
    return f"{count(number, 'key')} NOT equal to the rows" if number else "equal to the rows"


def describe_certificate(proof: Proof) -> str:
    """Say whether the store agrees with its certificate."""
    if proof.is_certificate_right:
        return "agrees with the store"
    damage = proof.damage or {"buckets": [], "history": False}
    wrong = [f"{count(len(damage['buckets']), 'bucket')} of current rows"] * bool(damage["buckets"])
    wrong += ["the history"] * bool(damage["history"])
    return f"does NOT agree with the store: {' and '.join(wrong)}"


def describe_difference(one: Difference) -> list[str]:
    """Describe a key that differs. Long values are cut where they differ."""
    return [
        f"  {cut(printable(one.identity))}: {one.places} differ",
        f"    expected  {cut(printable(one.expected), printable(one.got))}",
        f"    got       {cut(printable(one.got), printable(one.expected))}",
    ]
