"""Adopts a table: renames it if its name is needed, and runs the collection twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.errors import DbtError, UsageError
from dbt_trueup.runner.dbt_options import with_vars

from .drift import read_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .drift import Facts

ROLES = ("commands", "corrections", "batch", "changelog", "state", "errors")
"""The models of a collection, without its view."""


def models_of(manifest: Any, collection: str) -> dict[str, str]:
    """Return what selects each model that a run of the collection needs, by its name.

    A name alone would also select the models in a folder or a package of this name.

    Raises:
        UsageError: The project has no such collection.
    """
    known = dbt.collections(manifest)
    if collection not in known:
        message = (
            f"TABLE or --collection must name a collection{': ' if known else '; there is none'}"
            f"{', '.join(known)}.\n"
            f"Got: {collection}\n"
            f"Write its models first: trueup init <the log> --name {collection}"
        )
        raise UsageError(message)
    names = {collection, *(f"{collection}_{role}" for role in ROLES)}
    nodes = [node for node in manifest.nodes.values() if is_model_of(node, names)]
    # As everywhere, a collection of the project itself comes before one of a package.
    own = [node for node in nodes if node.package_name == manifest.metadata.project_name]
    return {node.name: f"package:{node.package_name},file:{node.name}.sql" for node in own or nodes}


def is_model_of(node: Any, names: set[str]) -> bool:
    """Whether a node is a model with one of these names."""
    return str(node.resource_type) == "model" and node.name in names


def make_commands(options: Sequence[str], collection: str, models: Mapping[str, str]) -> None:
    """Create the view of the commands, which the comparison reads. A view stores no rows."""
    # A collection by a SELECT has no such model. The comparison says so.
    if commands := models.get(f"{collection}_commands"):
        dbt.invoke(options, "run", "--select", commands, dbt.UNWRITTEN)


def adopt(
    options: Sequence[str], collection: str, table: str, facts: Facts, models: Mapping[str, str]
) -> None:
    """Make the collection from the rows of the table, and correct it from the log.

    Each step may be repeated, so an interrupted adoption is continued by calling this again.

    Raises:
        DbtError: A step failed, or the first run did not take the rows of the table.
    """
    if not facts.is_adopted:
        arguments = json.dumps({"collection": collection, "table": table})
        adopting = with_vars(options, {"trueup_adopt": plain_name(facts.then)})
        dbt.invoke(options, "run-operation", "trueup.adopt", "--args", arguments)
        dbt.invoke(adopting, "run", "--select", *models.values())
        if not read_facts(options, collection, table).is_adopted:
            message = (
                f"{collection} has not adopted the table: its run appended no batch, perhaps"
                " because another run was first. Call the command again."
            )
            raise DbtError(message)
    dbt.invoke(options, "run", "--select", *models.values())


def plain_name(relation: str) -> str:
    """Return the name of a relation without quotes.

    Example:
        >>> plain_name("`shop`.`orders`")
        'shop.orders'
    """
    return relation.replace("`", "")


def read_corrections(options: Sequence[str], collection: str) -> dict[str, int]:
    """Return how many rows were adopted, and how many the corrections added and removed."""
    changelog = f"{{{{ ref({dbt.literal(f'{collection}_changelog')}) }}}}"
    select = f"""\
select
    count_if(_diff = 1 and _cause = 'adopted') as adopted,
    count_if(_diff = 1 and _cause = 'drift') as added,
    count_if(_diff = -1 and _cause = 'drift') as removed
from {changelog}
where _kind = 'update'"""  # noqa: S608 - the name of a model that exists
    (row,) = dbt.query(options, select)
    return row
