"""What must hold of a collection, read from dbt's macro `trueup._get_expectations`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.errors import DbtError, ExpectationsError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Check:
    """A query that must return no rows."""

    name: str
    description: str
    """The rule that holds if there are no rows."""
    wrong_rows: str
    """What the rows of the query are."""
    query: str
    shown_columns: tuple[str, ...] = ()
    """The columns that identify a row; empty for all columns."""


@dataclass(frozen=True)
class Collection:
    """A collection, and what must hold of it."""

    name: str
    table: str
    """The name of its view in SQL."""
    unique: tuple[str, ...]
    """The columns of the key, which are unique together; empty if one of the checks covers this."""
    not_null: tuple[str, ...]
    """The columns without nulls."""
    checks: tuple[Check, ...]


def read_collection(name: str, max_errors: int = 0, options: Sequence[str] = ()) -> Collection:
    """Ask dbt what must hold of a collection.

    dbt starts Spark with the settings of its profile. The session stays open in this process.

    Args:
        name: The collection.
        max_errors: How many open errors are allowed.
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.

    Raises:
        ExpectationsError: dbt failed, for example because there is no such collection.
    """
    call = dbt.call("_get_expectations", name, max_errors=max_errors)
    try:
        return parse_collection(dbt.compile_inline(options, f"{{{{ {call} }}}}"))
    except DbtError as error:
        message = f"dbt could not say what has to hold of `{name}`: {error}"
        raise ExpectationsError(message) from error


def parse_collection(text: str) -> Collection:
    """Parse the JSON of the macro `trueup._get_expectations`.

    Example:
        >>> parse_collection(
        ...     '{"name": "files", "table": "t.files", "unique": ["path"], "not_null": ["path"],'
        ...     ' "checks": []}'
        ... )
        Collection(name='files', table='t.files', unique=('path',), not_null=('path',), checks=())
    """
    given: dict[str, Any] = json.loads(text)
    return Collection(
        name=given["name"],
        table=given["table"],
        unique=tuple(given["unique"]),
        not_null=tuple(given["not_null"]),
        checks=tuple(
            Check(
                name=check["name"],
                description=check["says"],
                wrong_rows=check["wrong"],
                query=check["query"],
                shown_columns=tuple(check.get("shows", ())),
            )
            for check in given["checks"]
        ),
    )


def require_session(name: str) -> None:
    """Check that dbt has started a Spark session in this process.

    Raises:
        ExpectationsError: It has not, because its profile connects to a server.
    """
    if dbt.spark_session() is None:
        message = (
            f"The expectations of `{name}` need a dbt profile with `method: session`.\n"
            "Got: one without a Spark session in this process, such as Thrift or Spark Connect; use"
            " the generic tests of dbt there."
        )
        raise ExpectationsError(message)
