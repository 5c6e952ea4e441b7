"""`trueup prove`: the rows of a collection, computed again from its log."""

from __future__ import annotations

import json

import click

from dbt_trueup.prove.proof import prove as prove_collection
from dbt_trueup.prove.screen import describe_proof

from .options import dbt_options, epilog, json_option

EXAMPLE = """\
Example: all keys
  $ trueup prove orders --all
  ...
  orders: proved"""

CODES = """\
Exit codes
  0  proved: log, history, rows and certificate agree
  1  not proved: something differs
  2  the proof could not run"""


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Compute the rows again, and compare.")
@click.argument("collection")
@click.option(
    "--keys",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="About how many keys the sample has. It has the same keys each time.",
)
@click.option("--all", "all_keys", is_flag=True, help="All keys. They must fit into memory.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Another number gives other keys.",
)
@json_option
@dbt_options
def prove(  # noqa: PLR0913 - each is an option of the command
    *, collection: str, keys: int, all_keys: bool, seed: int, as_json: bool, dbt: list[str]
) -> int:
    """Prove that the rows of a collection are what its log says.

    It reads the log up to the newest batch and computes each key again with dicts in Python, not
    with the SQL of trueup. It compares the result with the rows, sums the history and compares it
    with the rows, and checks the certificate of the newest batch. It writes nothing.
    """
    proof = prove_collection(dbt, collection, None if all_keys else keys, seed)
    click.echo(json.dumps(proof.to_document()) if as_json else describe_proof(proof))
    return 0 if proof.holds else 1
