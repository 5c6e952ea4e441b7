"""A project with one collection, for the tests of what watches it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.project import Project

ROOT = Path(__file__).parents[2]
LOG = "k string, ord {order}, op string, a string, b int, err string, same array<string>"
MODEL = """{{{{ config(materialized='trueup', unique_key='k', meta={{'trueup': {options}}}) }}}}
{{{{ trueup.commands(
    relation='{log}', sequence_by=['ord'], columns=['a', 'b'], error='err',
    delete_when="op = 'D'"{more}
) }}}}
"""


def add_collection(
    project: Project, name: str = "c", order: str = "bigint", more: str = "", **options: Any
) -> None:
    """Write the model of a collection, and create its log `<name>_log`."""
    project.sql(f"create table {{}}.{name}_log ({LOG.format(order=order)}) using {{format}}")
    log = f"{project.name}.{name}_log"
    model = MODEL.format(log=log, options=options, more=more)
    project.write(f"models/{name}.sql", model)


def append(project: Project, *commands: tuple[Any, ...], name: str = "c") -> None:
    """Append commands: key, order, operation, a, b, error, unchanged columns."""
    project.insert(f"{name}_log", [(*one, *[None] * (7 - len(one))) for one in commands])


def add_monitoring(project: Project) -> None:
    """Give the project the monitoring models of the package."""
    for file in (ROOT / "models" / "operations").glob("*.sql"):
        project.write(f"models/operations/{file.name}", file.read_text())


def row(project: Project, model: str, collection: str = "c") -> dict[str, Any]:
    """Return the row of a collection in a monitoring model."""
    (found,) = project.sql(f"select * from {{}}.{model} where collection = '{collection}'")
    return dict(found.asDict())
