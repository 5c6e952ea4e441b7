"""What the models read, by dbt's manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LOGS = ("_commands", "_desired")
"""The endings of models that may read a table by its name, without `ref` or `source`."""


def inputs(manifest: Any, ran: Collection[str]) -> dict[str, frozenset[str]]:
    """Find the inputs of the models.

    Args:
        manifest: The result of `dbt parse`.
        ran: The ids of the models.

    Returns:
        The name of each input, as dbt writes it in SQL, and the ids of the models that read it. An
        input is a parent that is not among the models themselves, or a model whose name ends with
        one of `LOGS`: it may read a table that is no parent.
    """
    readers: dict[str, set[str]] = {}
    for reader in ran:
        node = manifest.nodes.get(reader)
        if node is None:
            continue
        if node.name.endswith(LOGS):
            readers.setdefault(node.relation_name, set()).add(reader)
        for parent in parents(manifest, reader):
            above = manifest.sources.get(parent) or manifest.nodes.get(parent)
            if above is not None and parent not in ran:
                readers.setdefault(above.relation_name, set()).add(reader)
    return {name: frozenset(readers[name]) for name in sorted(readers)}


def parents(manifest: Any, unique_id: str) -> Iterator[str]:
    """Return the ids of a model's parents. An ephemeral one has no name: return its parents."""
    for parent in manifest.nodes[unique_id].depends_on.nodes:
        node = manifest.nodes.get(parent)
        if node is not None and not node.relation_name:
            yield from parents(manifest, parent)
        else:
            yield parent
