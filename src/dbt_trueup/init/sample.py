"""Asks dbt for the columns of a log and for some of its rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbt_trueup.dbt import compile_inline, query
from dbt_trueup.errors import UsageError
from dbt_trueup.printable import printable

from .log import Log, quoted, read_log

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = 5000
"""How many rows are sampled."""

COLUMNS = """\
{{%- set log = {relation} -%}}
{{%- if execute -%}}
    {{%- set columns = trueup._get_columns('select * from ' ~ log) -%}}
    {{{{ tojson({{'columns': columns, 'schema': target.schema}}) }}}}
{{%- endif -%}}"""


def ask_for_log(options: Sequence[str], relation: str, name: str) -> tuple[Log, str]:
    """Return a log with a sample of its rows, and the schema in which dbt makes models.

    Args:
        options: Options for dbt's command line.
        relation: The log in Jinja.
        name: The name of its table.

    Raises:
        UsageError: dbt would run the name of a column as Jinja.
    """
    answer = json.loads(compile_inline(options, COLUMNS.format(relation=relation)))
    types = {column["name"]: column["type"] for column in answer["columns"]}
    for column, kind in types.items():
        if any(begin in column + kind for begin in ("{{", "{%", "{#")):
            message = (
                "the log must have no column with braces of Jinja in its name or type: dbt would"
                f" run them.\nGot: {printable(column)} {printable(kind)}\n"
                "Nothing is written. Rename it in the log, or write the models yourself:"
                " docs/start.md of trueup shows them."
            )
            raise UsageError(message)
    items = ", ".join(sampled(column, kind) for column, kind in types.items())
    select = f"select {items} from {{{{ {relation} }}}} limit {ROWS}"  # noqa: S608
    return read_log(name, types, query(options, select)), answer["schema"]


def sampled(column: str, kind: str) -> str:
    """The select item of a column. Times are texts, because JSON would cut them to milliseconds.

    A timestamp has its offset from UTC: an hour comes twice when the clocks go back.
    """
    name = quoted(column)
    if not kind.startswith(("timestamp", "date")):
        return name
    offset = f" || date_format({name}, 'XXX')" if kind == "timestamp" else ""
    return f"cast({name} as string){offset} as {name}"
