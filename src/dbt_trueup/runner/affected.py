"""Which models have to run after some tables have grown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .inputs import parents

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .growth import Table


DESIRED = "_desired"
"""The ending of the model with the SELECT of a collection."""


def affected(
    manifest: Any, ran: Collection[str], tables: Sequence[Table], grown: Collection[str]
) -> set[str]:
    """Find the models that read tables which have grown, and all models after them.

    Args:
        manifest: The result of `dbt parse`.
        ran: The ids of the models to choose from.
        tables: The tables under the inputs of these models, as `growth.tables` finds them.
        grown: The names of those that have grown.

    Returns:
        The ids of the models. A model comes after another one if it reads it, by `ref`, through
        an ephemeral model, or by the name of its table. All models above the SELECT of a collection
        are added: a run settles its ticks only if it makes the tables that the SELECT reads.
    """
    after: dict[str, set[str]] = {one: set() for one in ran}
    for one in manifest.nodes.keys() & ran:
        # Nothing comes through a parent that does not run.
        for parent in after.keys() & parents(manifest, one):
            after[parent].add(one)
    for table in tables:
        if table.writer is not None:
            after[table.writer] |= table.readers
    reached: set[str] = set()
    waiting = {reader for table in tables if table.name in grown for reader in table.readers}
    while waiting:
        one = waiting.pop()
        reached.add(one)
        waiting |= after[one] - reached
    selects = {one for one in reached if manifest.nodes[one].name.endswith(DESIRED)}
    return reached | _above(manifest, selects).intersection(ran)


def _above(manifest: Any, models: set[str]) -> set[str]:
    """Return the parents of some models, their parents, and so on."""
    found: set[str] = set()
    waiting = set(models)
    while waiting:
        node = manifest.nodes.get(waiting.pop())
        # A source is no node, and a seed has no list of parents.
        new = set(getattr(node.depends_on, "nodes", ()) if node else ()) - found
        found |= new
        waiting |= new
    return found
