"""Whether anything has grown that the models of a run read: a look at versions, not at rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LOGS = ("_commands", "_desired")
"""How the models end that may read a table by its name, without `ref` or `source`."""

CONSTANT = ("LocalRelation", "OneRowRelation")
"""What a plan reads that is a part of the plan itself."""


def inputs(manifest: Any, ran: Collection[str]) -> list[str]:
    """Name what models read, as dbt writes it in SQL.

    Args:
        manifest: What `dbt parse` gave.
        ran: The ids of the models. What they read of each other is left out.

    Returns:
        In order, without doubles: their other parents, and the logs among themselves.
    """
    nodes = [manifest.nodes[one] for one in ran if one in manifest.nodes]
    logs = {node.relation_name for node in nodes if node.name.endswith(LOGS)}
    parents = {parent for node in nodes for parent in node.depends_on.nodes} - set(ran)
    return sorted(logs | {name for one in parents for name in _relations(manifest, one)})


def _relations(manifest: Any, unique_id: str) -> Iterator[str]:
    """Name a parent; one that is ephemeral has no name, its parents have."""
    node = manifest.sources.get(unique_id) or manifest.nodes.get(unique_id)
    if node is None:
        return
    if node.relation_name:
        yield node.relation_name
        return
    for parent in node.depends_on.nodes:
        yield from _relations(manifest, parent)


def versions(names: Collection[str], own: Collection[str]) -> dict[str, str | None]:
    """Say at which version the tables are that lie under names. No row is read.

    Args:
        names: Tables and views, as in SQL.
        own: Tables that are left out, as in SQL: what a run writes itself.

    Returns:
        By table: what is another text after a commit; None where it has no versions (files, a
        table of a database, any table where dbt has no Spark session in this process).
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy

    # That of another thread counts, which `getActiveSession` does not see.
    session = SparkSession._instantiatedSession  # noqa: SLF001 - has no public form
    if session is None:
        return dict.fromkeys(names)
    catalog = session.catalog.currentCatalog()
    left_out = {whole(name, catalog) for name in own}
    return {
        table: version
        for name in names
        for table, version in _under(session, name)
        if whole(table, catalog) not in left_out
    }


def _under(session: Any, name: str) -> list[tuple[str, str | None]]:
    """List the tables under a name; the name itself, with the error, where it cannot be read."""
    try:
        return list(_leaves(session, name))
    except Exception as error:  # noqa: BLE001 - what is wrong, the run says
        return [(name, type(error).__name__)]


def _leaves(session: Any, name: str) -> Iterator[tuple[str, str | None]]:
    """List the tables that a table or view consists of, with their versions."""
    plan = session.table(name)._jdf.queryExecution().analyzed()  # noqa: SLF001
    # A subquery is an expression of the plan, and none of its leaves.
    for part in (plan, *_items(plan.subqueriesAll())):
        for leaf in _items(part.collectLeaves()):
            yield from _versions_of(name, leaf)


def _versions_of(name: str, leaf: Any) -> Iterator[tuple[str, str | None]]:
    """Give the table that a leaf of a plan is, with its version, unless it is a constant."""
    kind = leaf.getClass().getSimpleName()
    if kind == "DataSourceV2Relation":
        yield leaf.table().name(), leaf.table().version()
    elif kind.endswith("Relation") and kind not in CONSTANT:
        yield _first_version(name, leaf)


def _items(sequence: Any) -> Iterator[Any]:
    """Give the items of a sequence of Scala."""
    return (sequence.apply(index) for index in range(sequence.size()))


def _first_version(name: str, leaf: Any) -> tuple[str, str | None]:
    """Read the version of a relation of Spark's first interface, which Delta's tables are, too."""
    from py4j.protocol import (  # type: ignore[import-untyped]  # noqa: PLC0415 - heavy
        Py4JError,
    )

    try:
        version = str(leaf.relation().location().version())
        table = leaf.catalogTable()
        return table.get().identifier().unquotedString() if table.isDefined() else name, version
    except Py4JError:
        return name, None


def whole(name: str, catalog: str) -> str:
    """Give a name with its catalog and without quotes, to compare it with another.

    Args:
        name: Of a table or view, as in SQL.
        catalog: The one that it is in where it does not say.

    Example:
        >>> whole("`trueup`.`files`", "lake")
        'lake.trueup.files'
    """
    plain = name.replace("`", "").lower()
    return plain if plain.count(".") > 1 else f"{catalog}.{plain}"
