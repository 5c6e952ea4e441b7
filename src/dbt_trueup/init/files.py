"""Writes the text of each file of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .columns import typed_columns
from .log import quoted, quoted_text
from .properties import model_properties, source_properties

if TYPE_CHECKING:
    from .facts import Facts

ROLES = ("corrections", "batch", "changelog", "state", "errors")
"""The models that are one call of the macro with their name."""

OF_TABLE = """
        where concat_ws(
            '.',
            {schema},
            {table}
        ) = {name}
    )"""
"""What leaves out Debezium's messages of other tables. A tombstone names no table."""


@dataclass(frozen=True)
class Place:
    """Where the log is, and where the models go."""

    relation: str
    """The log in Jinja, such as `source('cdc', 'orders_log')`."""
    folder: str
    schema: str | None = None
    """The schema of the log if it is a new source; None if the project has the log already."""
    file_format: str = "iceberg"
    """The table format of the models."""


def write_files(facts: Facts, place: Place) -> dict[str, str]:
    """Return the text of each file by its path."""
    name, folder = facts.name, place.folder
    files = {f"{folder}/{name}_commands.sql": commands_model(facts, place.relation)}
    for role in ROLES:
        files[f"{folder}/{name}_{role}.sql"] = f"{{{{ trueup.{role}('{name}') }}}}\n"
    files[f"{folder}/{name}.sql"] = f"{{{{ trueup.collection('{name}') }}}}\n"
    files[f"{folder}/{name}.yml"] = model_properties(facts, place.file_format)
    if place.schema:
        files[f"{folder}/{name}_sources.yml"] = source_properties(facts, place.schema)
    return files


def commands_model(facts: Facts, relation: str) -> str:
    """The model of the commands: the only one that depends on the log."""
    envelope = facts["envelope"]
    arguments: dict[str, str] = {"relation": relation}
    if envelope == "debezium":
        arguments |= debezium_arguments(facts, relation)
    elif envelope == "wal2json":
        arguments |= wal2json_arguments(facts)
    else:
        arguments |= table_arguments(facts, relation)
    macro = envelope if facts.is_decoded else "commands"
    lines = ",\n".join(f"    {name}={value}" for name, value in arguments.items())
    return f"{{{{ trueup.{macro}(\n{lines}\n) }}}}\n"


def table_arguments(facts: Facts, relation: str) -> dict[str, str]:
    """The arguments of `trueup.commands`."""
    arguments = {}
    fields = ["reclock", "ts", "sequence_by", "delete_when", "truncate_when"]
    if facts["envelope"] == "snapshots":
        inner = given(facts, ["key", "ts"])
        arguments["relation"] = (
            f"trueup.snapshot_commands(\n        relation={relation},\n"
            f"        unique_key={inner['key']},\n        ts={inner['ts']}\n    )"
        )
        arguments["ts"] = "'snapshot_ts'"
        fields.remove("ts")
    return {**arguments, **given(facts, fields), "columns": literal(list(facts["columns"]))}


def debezium_arguments(facts: Facts, relation: str) -> dict[str, str]:
    """The arguments of `trueup.debezium`."""
    arguments = {"schema": schema_literal(facts)}
    if facts["table"]:
        arguments["relation"] = only_table(relation, facts["value"], facts["table"])
    if facts["value"] != "value":
        arguments["value"] = literal(quoted(facts["value"]))
    if facts["message_key"] != "key":
        arguments["key"] = literal(quoted(facts["message_key"])) if facts["message_key"] else "none"
    return {**arguments, **given(facts, ["reclock", "ts", "sequence_by", "old_key"])}


def only_table(relation: str, value: str, table: str) -> str:
    """The messages of one table, as a select in parentheses."""
    paths = [f"$.{inner}source" for inner in ("payload.", "")]

    def field(*names: str) -> str:
        reads = ", ".join(
            f"get_json_object(cast({quoted(value)} as string), '{path}.{name}')"
            for path in paths
            for name in names
        )
        return f"coalesce({reads})"

    condition = OF_TABLE.format(
        schema=field("schema", "db"), table=field("table"), name=quoted_text(table)
    )
    escaped = condition.replace("\\", "\\\\").replace('"', '\\"')
    return f"'(select * from ' ~ {relation} ~ \"{escaped}\""  # noqa: S608 - the text of a model


def wal2json_arguments(facts: Facts) -> dict[str, str]:
    """The arguments of `trueup.wal2json`."""
    arguments = {"schema": schema_literal(facts)}
    if facts["value"] != "data":
        arguments["value"] = literal(quoted(facts["value"]))
    return {**arguments, **given(facts, ["table", "reclock", "ts", "sequence_by"])}


def given(facts: Facts, fields: list[str]) -> dict[str, str]:
    """The arguments that have a value, as Jinja."""
    return {name: literal(facts[name]) for name in fields if facts[name] is not None}


def schema_literal(facts: Facts) -> str:
    """The columns of the messages with their types, the key first, one in a line."""
    lines = [
        f"        {literal(name)}: {literal(kind)}" for name, kind in typed_columns(facts).items()
    ]
    return "{\n" + ",\n".join(lines) + "\n    }"


def literal(value: Any) -> str:
    """A text or a list of texts in Jinja. Jinja reads what Python writes."""
    return repr(value)
