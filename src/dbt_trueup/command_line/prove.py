"""`trueup prove`: a sample of keys, folded again from other batches."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from dbt_trueup.prove.proof import prove as run_rounds
from dbt_trueup.prove.screen import describe_proof

from .options import dbt_options, epilog, json_option

EXAMPLE = """\
Example: the commands of 500 keys, shuffled, doubled and cut into other batches
  $ trueup prove orders --keys 500
  ...
  orders: equal"""

CODES = """\
Exit codes
  0  equal, or late commands explain the differences
  1  not equal: there is a counterexample
  2  the proof could not run"""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Fold your own data again, and compare.")
@click.argument("collection")
@click.option(
    "--keys",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many keys the sample has.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How many rounds. They deal one, two and three batches in turn.",
)
@json_option
@dbt_options
def prove(  # noqa: PLR0913 - each is an option of the command
    *, collection: str, keys: int, seed: int, rounds: int, as_json: bool, dbt: list[str]
) -> int:
    """Prove that batches, duplicates and the sequence of commands change nothing.

    It takes a sample of keys, deals their settled commands into other batches, and folds them again
    with the SQL of the package and with a dict. It compares the results with the changelog and the
    state, and writes nothing.
    """
    proof = run_rounds(dbt, collection, keys, seed, rounds)
    if as_json:
        click.echo(json.dumps({**asdict(proof), "holds": proof.holds}))
    else:
        click.echo(describe_proof(proof))
    return 0 if proof.holds else 1
