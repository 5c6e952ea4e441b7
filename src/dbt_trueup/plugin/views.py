"""Lets dbt know the views of an Iceberg catalog.

dbt-spark asks for the tables of a schema. In an Iceberg catalog the answer has no views, so dbt
believes that they are missing: `--defer` would read the other schema, and `dbt docs` leaves them
out.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    from dbt.adapters.base.relation import BaseRelation


def install() -> None:
    """Let dbt-spark list views, too. Calling this again has no effect."""
    list_relations = SparkAdapter.list_relations_without_caching
    if hasattr(list_relations, "lists_views"):
        return

    @wraps(list_relations)
    def list_tables_and_views(adapter: SparkAdapter, schema: BaseRelation) -> list[BaseRelation]:
        tables: list[BaseRelation] = list_relations(adapter, schema)
        return [*tables, *views(adapter, schema, tables)]

    list_tables_and_views.lists_views = True  # type: ignore[attr-defined]
    SparkAdapter.list_relations_without_caching = list_tables_and_views  # type: ignore[method-assign,assignment]


def views(
    adapter: SparkAdapter, schema: BaseRelation, tables: list[BaseRelation]
) -> list[BaseRelation]:
    """List the views of a schema that are not among the tables, by one statement.

    A schema with tables of another format than Iceberg is in a catalog that lists views as tables.
    """
    if tables and not any(getattr(table, "is_iceberg", False) for table in tables):
        return []
    try:
        _, rows = adapter.execute(f"show views in {schema.schema}", fetch=True)
    except DbtRuntimeError:
        return []  # the catalog has no views, or the schema is not there
    known = {table.identifier for table in tables}
    return [
        adapter.Relation.create(
            schema=schema.schema, identifier=row["viewName"], type=RelationType.View
        )
        for row in rows
        # Temporary views are in no schema.
        if row["namespace"] and row["viewName"] not in known
    ]
