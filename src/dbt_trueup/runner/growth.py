"""Which tables do the models read, which of them have grown, and which models does that concern?

Answered by the plans and the versions of tables, without reading rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_trueup.dbt import spark_session
from dbt_trueup.errors import SparkStoppedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

CONSTANT = ("LocalRelation", "OneRowRelation")
"""Relations that are part of the plan itself, and so never grow."""

COLLECTION, VIEW = "trueup", "view"
"""Materializations of models: a collection, and a view, which shows new rows without a run."""


class Unread(str):
    """The error of a table that cannot be read, in place of its version."""

    __slots__ = ()


@dataclass
class Model:
    """A model that runs again and again, and what it reads and writes."""

    name: str
    """The name of its table or view, as dbt writes it in SQL."""
    materialized: str
    parents: Collection[str]
    """The ids of its parents among the models that run."""
    inputs: Collection[str]
    """The names of its other parents."""
    sql: str | None
    """Its SELECT. None if it has none, such as a model in Python."""
    tables: Mapping[str, bool] | None = None
    """The tables that its SELECT reads, and whether each has versions. None: not found yet."""

    def writes(self) -> set[str]:
        """Return the names of the tables that it writes."""
        store = [f"{self.name.replace('`', '')}__trueup"] if self.materialized == COLLECTION else []
        return {self.name, *store} if self.name else set()


@dataclass(frozen=True)
class Table:
    """A table that some models read."""

    name: str
    """Its name, as in SQL."""
    version: str | None
    """A text that changes with every commit.

    None if the table has no versions: files, a table of a database, or any table if dbt has no
    Spark session in this process. If the table cannot be read, or Spark has stopped, it is the
    error, an `Unread`: the next round reports it.
    """
    readers: frozenset[str]
    """The ids of the models that read it."""
    writer: str | None = None
    """The id of the model that writes it, if it is one of the models themselves."""


def tables(models: Mapping[str, Model]) -> list[Table]:
    """Look at the tables that some models read. The models are given by their ids."""
    session = spark_session()
    catalog, error = "", None
    if session is not None:
        try:
            # `session.catalog.currentCatalog()` ignores `spark.sql.defaultCatalog` in a thread that
            # has not started the session.
            catalog = session.sql("select current_catalog()").collect()[0][0]
        except Exception as stopped:  # noqa: BLE001 - the run reports it
            error = Unread(type(stopped).__name__)
    writers = {full_name(name, catalog): one for one, it in models.items() for name in it.writes()}
    readers: dict[str, set[str]] = {}
    versions: dict[str, str | None] = {}
    for one, model in models.items():
        for name, has_versions in _tables_of(session if error is None else None, model).items():
            readers.setdefault(name, set()).add(one)
            writer = writers.get(full_name(name, catalog))
            if name not in versions and writer is None:
                versions[name] = error or (_version(session, name) if has_versions else None)
    return [
        Table(name, versions.get(name), frozenset(ids), writers.get(full_name(name, catalog)))
        for name, ids in sorted(readers.items())
    ]


def affected(
    models: Mapping[str, Model], tables: Iterable[Table], grown: Collection[str]
) -> set[str]:
    """Find the models that read tables which have grown, and all models after them.

    Args:
        models: The models to choose from, by their ids.
        tables: The tables that they read.
        grown: The names of those that have grown.

    Returns:
        The ids of the models. A model comes after another one if it reads it, by `ref`, through an
        ephemeral model, or by the name of its table. Views are left out.
    """
    after: dict[str, set[str]] = {one: set() for one in models}
    for one, model in models.items():
        for parent in model.parents:
            after[parent].add(one)
    reached: set[str] = set()
    waiting: set[str] = set()
    for table in tables:
        if table.writer is not None:
            after[table.writer] |= table.readers
        elif table.name in grown:
            waiting |= table.readers
    while waiting:
        one = waiting.pop()
        reached.add(one)
        waiting |= after[one] - reached
    return {one for one in reached if models[one].materialized != VIEW}


def is_version(version: object) -> bool:
    """Return whether this is a version: not None, and not an error."""
    return version is not None and not isinstance(version, Unread)


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

    session = spark_session()
    if session is None:
        return
    try:
        is_stopped = session._jsparkSession.sparkContext().isStopped()  # noqa: SLF001
    except (OSError, Py4JError):
        is_stopped = True
    if is_stopped:
        message = "Spark has stopped, and this process cannot start it again: run the command again"
        raise SparkStoppedError(message)


def _tables_of(session: Any, model: Model) -> Mapping[str, bool]:
    """Return the tables that a model reads, and whether each has versions.

    They are found once, because Spark needs time to analyze a SELECT. If it cannot, for example
    because a table is missing, the name of the model stands for its tables until it can.
    """
    if session is None or model.sql is None:
        return dict.fromkeys(model.inputs, session is not None)
    if model.tables is None:
        try:
            # In parentheses only a SELECT is SQL, so nothing is written.
            frame = session.sql(f"select * from (\n{model.sql}\n)")  # noqa: S608 - dbt's own text
            model.tables = {
                name or f"the data of {model.name}": version is not None
                for name, version in _leaves(frame)
            }
        except Exception:  # noqa: BLE001 - the run reports it
            return {f"the tables of {model.name}": False}
    return model.tables


def _version(session: Any, name: str) -> str | None:
    """Return the version of a table, or of all tables under a view. None if one has none."""
    try:
        versions = {version for _, version in _leaves(session.table(name))}
    except Exception as error:  # noqa: BLE001 - the run reports it
        return Unread(type(error).__name__)
    return None if None in versions else " ".join(sorted(map(str, versions)))


def _leaves(frame: Any) -> Iterator[tuple[str | None, str | None]]:
    """List the tables that a query reads, with their versions. Files have neither."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    # A subquery is an expression of the plan, so its tables are not among the leaves of the plan.
    for part in (plan, *_items(plan.subqueriesAll())):
        for leaf in _items(part.collectLeaves()):
            kind = leaf.getClass().getSimpleName()
            if kind == "DataSourceV2Relation":
                yield _name_of_v2(leaf), leaf.table().version()
            elif kind.endswith("Relation") and kind not in CONSTANT:
                yield _name_of_v1(leaf), _version_of_v1(leaf)


def _items(sequence: Any) -> Iterator[Any]:
    """Iterate over a Scala sequence."""
    return (sequence.apply(index) for index in range(sequence.size()))


def _name_of_v2(leaf: Any) -> str | None:
    """Return the name of a relation of Spark's interface V2; None if no catalog has it."""
    catalog, identifier = leaf.catalog(), leaf.identifier()
    if catalog.isEmpty() or identifier.isEmpty():
        return None
    table = identifier.get()
    return quoted([catalog.get().name(), *table.namespace(), table.name()])


def _name_of_v1(leaf: Any) -> str | None:
    """Return the name of a relation of Spark's interface V1; None for files without a table."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy

    try:
        table = leaf.catalogTable()
        return quoted(_items(table.get().identifier().nameParts())) if table.isDefined() else None
    except Py4JError:
        return None


def _version_of_v1(leaf: Any) -> str | None:
    """Return the version of a relation of Spark's interface V1. Only Delta's tables have one.

    A table that was dropped and made again has another id, and begins with version 0 again.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy

    try:
        location = leaf.relation().location()
        return f"{location.version()}@{location.metadata().id()}"
    except Py4JError:
        return None


def quoted(parts: Iterable[str]) -> str:
    """Write the name of a table as in SQL, with quotes only where they are needed.

    Example:
        >>> quoted(["lake", "web shop", "orders"])
        'lake.`web shop`.orders'
    """
    return ".".join(
        part if re.fullmatch(r"[A-Za-z_]\w*", part, re.ASCII) else f"`{part.replace('`', '``')}`"
        for part in parts
    )


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
