"""Asks how a collection and another table differ, by cause."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.errors import DbtError, UsageError
from dbt_trueup.prove.evidence import read_model
from dbt_trueup.report.mask import SHOWN_LENGTH, mask
from dbt_trueup.runner.dbt_options import with_vars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt_trueup.prove.evidence import Model

SAMPLES = 5
"""How many rows of each cause are shown."""

EQUAL = "equal"
"""The cause of a row that does not differ."""

CAUSES = {
    "missed_delete": "{here} has deleted the key, {there} has it",
    "late_update": "{there} has a value that {here} had before",
    "missing_row": "{here} has the key, {there} does not",
    "unknown_key": "{there} has the key, {here} never had it",
    "other": "{there} has a value that {here} never had",
    "error": "{here} has an error in place of the row",
    "duplicate": "{there} has the key more than once",
    "null_key": "the key is null; {here} has no such row",
}
"""Why rows differ, in the order of the report."""

PLAN_TABLE = re.compile(r"the changes are in (?:\S+\.)?(\S+), and plan-")
"""The message of a dry run."""


@dataclass(frozen=True)
class Drift:
    """How the two differ."""

    counts: dict[str, int]
    """The rows of each cause."""
    samples: dict[str, list[dict[str, Any]]]
    """Some rows of each cause: `key`, and `differing`, the columns that differ."""
    only_here: list[str]
    """The columns that only the collection has."""
    only_there: list[str]
    """The columns that only the other table has."""

    @property
    def differing_rows(self) -> int:
        """The number of rows that differ."""
        return sum(number for cause, number in self.counts.items() if cause != EQUAL)

    def to_document(self, **more: Any) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**more, **asdict(self), "differing_rows": self.differing_rows}


def compare(
    options: Sequence[str],
    collection: str,
    against: str,
    as_of: int | str | dict[str, Any] | None = None,
    *,
    show_values: bool,
) -> Drift:
    """Compare a collection with a table.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        collection: The name of the collection.
        against: A table with its schema, or a SELECT in parentheses.
        as_of: The tick at whose end the collection is read, a time in UTC, or a place: `topic`,
            `partition` and `offset`. None for now.
        show_values: Whether keys and values are shown. Otherwise they are masked.

    Raises:
        UsageError: The project has no such collection.
        DbtError: dbt or the query failed, or the collection has not run.
    """
    given = identify(read_model(options, collection))
    call = dbt.call("_get_drift_select", given, against, as_of=as_of, limit=SAMPLES)
    return parse(dbt.query(options, dbt.when_executed(call)), show_values=show_values)


def preview(options: Sequence[str], collection: str, *, show_values: bool) -> tuple[str, Drift]:
    """Compare the table that has the name of a collection with the rows that its log gives.

    A dry run of the model writes the rows into a plan table, and changes nothing else.

    Returns:
        The table, and how it differs.

    Raises:
        UsageError: The project has no such collection, or it has run already.
        DbtError: dbt or a query failed.
    """
    model = read_model(options, collection)
    dry = with_vars(options, {"trueup_read_only": True})
    (ran,) = dbt.invoke(dry, "run", "--select", f"file:{collection}.sql", dbt.UNWRITTEN).results
    message = str(ran.message)
    plan = PLAN_TABLE.search(message)
    if plan is None or not message.startswith("a dry run: batch 1 "):
        text = (
            f"{collection} must be a collection that has not run.\nGot: {message}\n"
            f"Compare it with: trueup check {collection} --against <a table>"
        )
        raise UsageError(text)
    table = ".".join(f"`{part}`" for part in (model.schema, model.identifier))
    given = identify(model) | {"store": plan[1].strip("`"), "query": model.query}
    call = dbt.call("_get_drift_select", given, table, limit=SAMPLES)
    try:
        rows = dbt.query(options, dbt.when_executed(call))
    except DbtError as error:
        if "TABLE_OR_VIEW_NOT_FOUND" not in str(error):
            raise
        text = (
            f"A table {model.schema}.{model.identifier} must exist: the collection adopts the table"
            " of its own name.\nGot: no such table\n"
            f"To compare the collection with another table: dbt run -s {collection}, then trueup"
            f" check {collection} --against <a table>"
        )
        raise UsageError(text) from error
    return f"{model.schema}.{model.identifier}", parse(rows, show_values=show_values)


def identify(model: Model) -> dict[str, Any]:
    """Return what `trueup._get_drift_select` needs to find a collection."""
    return {
        "name": model.name,
        "schema": model.schema,
        "identifier": model.identifier,
        "key": model.key,
    }


def parse(rows: Sequence[dict[str, Any]], *, show_values: bool) -> Drift:
    """Read the rows of `trueup._get_drift_select`.

    Example:
        >>> row = {"cause": "equal", "cause_rows": 7, "key": None, "differing": None}
        >>> one_sided = '{"only_here": [], "only_there": []}'
        >>> parse([{**row, "one_sided": one_sided}], show_values=False).counts["equal"]
        7
    """
    counts = dict.fromkeys((EQUAL, *CAUSES), 0)
    samples: dict[str, list[dict[str, Any]]] = {cause: [] for cause in CAUSES}
    for row in rows:
        counts[row["cause"]] = row["cause_rows"]
        if row["key"] is not None:
            samples[row["cause"]].append(shown(row, show_values=show_values))
    # All rows say the same. Without rows, both are empty.
    one_sided = json.loads(rows[0]["one_sided"]) if rows else {}
    return Drift(counts, samples, one_sided.get("only_here", []), one_sided.get("only_there", []))


def shown(row: dict[str, Any], *, show_values: bool) -> dict[str, Any]:
    """Return what is shown of a row. Names of columns are never masked."""

    def write(text: str | None) -> str | None:
        return (text and text[:SHOWN_LENGTH]) if show_values else mask(text)

    return {
        "key": [write(text) for text in row["key"]],
        "differing": {
            each["column"]: [write(each["here"]), write(each["there"])]
            for each in row["differing"] or []
        },
    }
