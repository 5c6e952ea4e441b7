"""Has any input of the models grown? Answered from the versions of tables, without reading rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_trueup.dbt import spark_session
from dbt_trueup.errors import SparkStoppedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONSTANT = ("LocalRelation", "OneRowRelation")
"""Relations that are part of the plan itself, and so never grow."""


class Unread(str):
    """The error of a table that cannot be read, in place of its version."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """A table under the inputs of some models."""

    name: str
    """Its name, as Spark writes it."""
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


def tables(readers: Mapping[str, frozenset[str]], ran: Mapping[str, str]) -> list[Table]:
    """Find the tables under some inputs, with their versions. No row is read.

    Args:
        readers: The inputs, tables and views, as `inputs.inputs` returns them.
        ran: The names of the models' own tables and views, as in SQL, by id.
    """
    session = spark_session()
    if session is None:
        return [Table(name, None, readers[name]) for name in readers]
    try:
        # `session.catalog.currentCatalog()` ignores `spark.sql.defaultCatalog` in a thread that has
        # not started the session.
        catalog = session.sql("select current_catalog()").collect()[0][0]
    except Exception as error:  # noqa: BLE001 - the run reports it
        unread = Unread(type(error).__name__)
        return [Table(name, unread, readers[name]) for name in readers]
    writers = {full_name(name, catalog): model for model, name in ran.items() if name}
    found: dict[str, Table] = {}
    for name, those in readers.items():
        for table, version in _under(session, name):
            seen = found.get(table)
            writer = writers.get(full_name(table, catalog))
            if isinstance(version, Unread) and writer in those:
                # The model's own view is there, but what it reads cannot be read.
                writer = None
            found[table] = (
                Table(table, _both(seen.version, version), those | seen.readers, writer)
                if seen
                else Table(table, version, those, writer)
            )
    return list(found.values())


def _both(first: str | None, second: str | None) -> str | None:
    """Return the versions of one table under two names as one text.

    A view may read an old version of the table. It must not hide that the table grows.
    """
    if first is None or second is None or not (is_version(first) and is_version(second)):
        return second
    return " ".join(sorted({*first.split(), second}))


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
    """Return the name and the version of a relation of Spark's interface V1.

    Delta's tables have a version. A table that was dropped and made again has another id, and
    begins with version 0 again. Files that a view reads have no name. They are called
    `the data of <view>`. With the name of the view alone, the watcher would take them for a table
    that the round itself writes.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy

    found = f"the data of {name}"
    try:
        table = leaf.catalogTable()
        if table.isDefined():
            found = table.get().identifier().unquotedString()
        location = leaf.relation().location()
        return found, f"{location.version()}@{location.metadata().id()}"
    except Py4JError:
        return found, None


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
