"""Has any input of the models grown? Answered from the versions of tables, without reading rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import SparkStoppedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LOGS = ("_commands", "_desired")
"""The endings of models that may read a table by its name, without `ref` or `source`."""

CONSTANT = ("LocalRelation", "OneRowRelation")
"""Relations that are part of the plan itself, and so never grow."""


class Unread(str):
    """The error of a table that cannot be read, in place of its version."""

    __slots__ = ()


def inputs(manifest: Any, ran: Collection[str]) -> list[str]:
    """Return the names of the models' inputs, as dbt writes them in SQL.

    Args:
        manifest: The result of `dbt parse`.
        ran: The ids of the models.

    Returns:
        Sorted and distinct names: the parents that are not among the models themselves, and the
        models whose name ends with one of `LOGS`.
    """
    nodes = [manifest.nodes[one] for one in ran if one in manifest.nodes]
    logs = {node.relation_name for node in nodes if node.name.endswith(LOGS)}
    parents = {parent for node in nodes for parent in node.depends_on.nodes} - set(ran)
    return sorted(logs | {name for one in parents for name in _relations(manifest, one)})


def _relations(manifest: Any, unique_id: str) -> Iterator[str]:
    """Return the name of a parent. An ephemeral one has none: return those of its parents."""
    node = manifest.sources.get(unique_id) or manifest.nodes.get(unique_id)
    if node is None:
        return
    if node.relation_name:
        yield node.relation_name
        return
    for parent in node.depends_on.nodes:
        yield from _relations(manifest, parent)


def versions(names: Collection[str], own: Collection[str]) -> dict[str, str | None]:
    """Return the versions of the tables under some names. No row is read.

    Args:
        names: Tables and views, as in SQL.
        own: Tables to leave out, as in SQL: those that the run writes itself.

    Returns:
        The version of each table, a text that changes with every commit. None if the table has no
        versions: files, a table of a database, or any table if dbt has no Spark session in this
        process. Of a table that cannot be read, and of each one if Spark has stopped, the error, an
        `Unread`: the next round reports it.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy

    # `getActiveSession` does not see the session of another thread.
    session = SparkSession._instantiatedSession  # noqa: SLF001 - has no public form
    if session is None:
        return dict.fromkeys(names)
    try:
        catalog = session.catalog.currentCatalog()
    except Exception as error:  # noqa: BLE001 - the run reports it
        return dict.fromkeys(names, Unread(type(error).__name__))
    left_out = {full_name(name, catalog) for name in own}
    return {
        table: version
        for name in names
        for table, version in _under(session, name)
        if full_name(table, catalog) not in left_out
    }


def require_spark() -> None:
    """Check that the Spark session of this process still runs, if there is one.

    A cluster may have taken the application away, or the JVM may have died. PySpark starts no other
    session then, so every later round would fail.

    Raises:
        SparkStoppedError: It does not.
    """
    from py4j.protocol import (  # type: ignore[import-untyped]  # noqa: PLC0415 - heavy
        Py4JError,
    )
    from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy

    session = SparkSession._instantiatedSession  # noqa: SLF001 - has no public form
    if session is None:
        return
    try:
        is_stopped = session._jsparkSession.sparkContext().isStopped()  # noqa: SLF001
    except (OSError, Py4JError):
        is_stopped = True
    if is_stopped:
        message = "Spark has stopped, and this process cannot start it again: run the command again"
        raise SparkStoppedError(message)


def _under(session: Any, name: str) -> list[tuple[str, str | None]]:
    """List the tables under a name. If it cannot be read, list the name itself with the error."""
    try:
        return list(_leaves(session, name))
    except Exception as error:  # noqa: BLE001 - the run reports it
        return [(name, Unread(type(error).__name__))]


def _leaves(session: Any, name: str) -> Iterator[tuple[str, str | None]]:
    """List the tables that a table or view reads, with their versions."""
    plan = session.table(name)._jdf.queryExecution().analyzed()  # noqa: SLF001
    # A subquery is an expression of the plan, so its tables are not among the leaves of the plan.
    for part in (plan, *_items(plan.subqueriesAll())):
        for leaf in _items(part.collectLeaves()):
            yield from _versions_of(name, leaf)


def _versions_of(name: str, leaf: Any) -> Iterator[tuple[str, str | None]]:
    """Return the table of a leaf of a plan, with its version. A constant has none."""
    kind = leaf.getClass().getSimpleName()
    if kind == "DataSourceV2Relation":
        yield leaf.table().name(), leaf.table().version()
    elif kind.endswith("Relation") and kind not in CONSTANT:
        yield _version_of_v1(name, leaf)


def _items(sequence: Any) -> Iterator[Any]:
    """Iterate over a Scala sequence."""
    return (sequence.apply(index) for index in range(sequence.size()))


def _version_of_v1(name: str, leaf: Any) -> tuple[str, str | None]:
    """Return the version of a relation of Spark's interface V1. Delta's tables have one.

    A table that was dropped and made again has another id, and begins with version 0 again.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy

    try:
        location = leaf.relation().location()
        version = f"{location.version()}@{location.metadata().id()}"
        table = leaf.catalogTable()
        return table.get().identifier().unquotedString() if table.isDefined() else name, version
    except Py4JError:
        return name, None


def full_name(name: str, catalog: str) -> str:
    """Return a name with its catalog and without quotes, so that names can be compared.

    Args:
        name: The name of a table or view, as in SQL.
        catalog: The catalog of a name that has none.

    Example:
        >>> full_name("`trueup`.`files`", "lake")
        'lake.trueup.files'
    """
    plain = name.replace("`", "").lower()
    return plain if plain.count(".") > 1 else f"{catalog}.{plain}"
