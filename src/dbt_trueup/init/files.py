"""Writes the text of each file of a collection: one model and its properties."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .columns import typed_columns
from .log import quoted
from .order import delivery_of_extracts

if TYPE_CHECKING:
    from .facts import Facts

COMPANIONS = {
    "changelog": "The changes of {}: one row for each that was added (`_diff` 1) or removed (-1).",
    "errors": "The keys of {} that are broken now, and why.",
}
"""The views that `--companions` adds, each with its description."""

UNKNOWN = "<{}>"
"""What a model that the user must finish has in place of an argument that nobody knows."""


@dataclass(frozen=True)
class Place:
    """Where the log is, and where the models go."""

    relation: str
    """The log in Jinja, such as `source('cdc', 'orders_log')`."""
    folder: str
    schema: str | None = None
    """The schema of the log if it is a new source; None if the project has the log already."""
    companions: bool = False

    def models(self, name: str) -> list[str]:
        """The models of a collection."""
        return [name, *(f"{name}_{role}" for role in COMPANIONS if self.companions)]


def write_files(facts: Facts, place: Place) -> dict[str, str]:
    """Return the text of each file by its path."""
    name, (model, *others) = facts.name, place.models(facts.name)
    files = {f"{place.folder}/{model}.sql": write_model(facts, place.relation)}
    for companion in others:
        call = companion.removeprefix(f"{name}_")
        files[f"{place.folder}/{companion}.sql"] = f"{{{{ trueup.{call}(ref('{name}')) }}}}\n"
    return {**files, f"{place.folder}/{name}.yml": write_properties(facts, place)}


def write_model(facts: Facts, relation: str) -> str:
    """The model. What is not known has a word in angle brackets."""
    key = key_names(facts) or [UNKNOWN.format("key")]
    config: dict[str, Any] = {
        "materialized": "trueup",
        "unique_key": key[0] if len(key) == 1 else key,
    }
    if facts["ties"]:
        config["meta"] = {"trueup": {"ties": facts["ties"]}}
    settings = ", ".join(f"{name}={value!r}" for name, value in config.items())
    arguments = {"relation": relation}
    arguments |= (message_arguments if facts.is_decoded else table_arguments)(facts, relation)
    macro = facts["envelope"] if facts.is_decoded else "commands"
    lines = ",\n".join(f"    {name}={value}" for name, value in arguments.items())
    return f"{{{{ config({settings}) }}}}\n\n{{{{ trueup.{macro}(\n{lines}\n) }}}}\n"


def table_arguments(facts: Facts, relation: str) -> dict[str, str]:
    """The arguments of `trueup.commands`."""
    arguments: dict[str, str] = {}
    fields = ["ts", "sequence_by", "delete_when", "skip_when", "truncate_when"]
    if facts["envelope"] == "snapshots":
        extract = extract_of(facts)
        arguments["relation"] = (
            f"trueup.snapshot_commands(\n        relation={relation},\n"
            f"        unique_key={facts['key'] or [UNKNOWN.format('key')]!r},\n"
            f"        ts={extract!r}\n    )"
        )
    elif nested := [name for name in facts["key"] or () if name not in facts.log.columns]:
        # A key is a column. So the fields of structs that are in the key become columns.
        fields_as = ", ".join(
            f"{facts.log.sql(name)} as {quoted(facts.log.paths[name][-1])}" for name in nested
        )
        arguments["relation"] = f"'(select *, {fields_as} from ' ~ {relation} ~ ')'"  # noqa: S608 - a text
    if not facts["sequence_by"] and not facts["ts"]:
        arguments["sequence_by"] = repr([UNKNOWN.format("order")])
    columns = list(facts["columns"] or ()) or [UNKNOWN.format("column")]
    return {
        **arguments,
        **given(facts, fields),
        **place_of_message(facts),
        "columns": repr(columns),
    }


def extract_of(facts: Facts) -> str:
    """What identifies an extract, or one of its deliveries, in SQL."""
    if not facts["extract"]:
        return UNKNOWN.format("extract")
    extract, delivery = facts.log.sql(facts["extract"]), delivery_of_extracts(facts)
    return f"struct({extract}, {facts.log.sql(delivery)})" if delivery else extract


def message_arguments(facts: Facts, relation: str) -> dict[str, str]:
    """The arguments of the macro of an envelope."""
    del relation
    found = messages_of(facts)
    arguments = {
        name: "none" if one is None else "true" if one is True else repr(one)
        for name, one in found.items()
    }
    lines = [f"        {name!r}: {kind!r}" for name, kind in typed_columns(facts).items()]
    arguments["schema"] = "{\n" + ",\n".join(lines) + "\n    }"
    return {**arguments, **place_of_message(facts)}


def messages_of(facts: Facts) -> dict[str, Any]:
    """The same as data, without the place of a message."""
    arguments: dict[str, Any] = {"schema": typed_columns(facts)}
    value, key = facts["value"], facts["message_key"]
    if value != ("data" if facts["envelope"] == "wal2json" else "value"):
        # Messages that are structs have an expression in place of a column.
        arguments["value"] = quoted(value) if value in facts.log.types else value
    if facts["envelope"] in ("debezium", "cockroachdb") and key != "key":
        arguments["key"] = quoted(key) if key else None
    if any(change.is_flattened for change in facts.changes):
        arguments["flattened"] = True
    names = ("table", "ts", "sequence_by", "old_key")
    return arguments | {name: facts[name] for name in names if facts[name]}


def place_of_message(facts: Facts) -> dict[str, str]:
    """The argument that says where a message lies in its topic."""
    place = [facts.log.sql(name) for name in facts["place"] or ()]
    return {"reclock": repr(place)} if place else {}


def given(facts: Facts, fields: list[str]) -> dict[str, str]:
    """The arguments that have a value, as Jinja. Jinja reads what Python writes."""
    return {name: repr(facts[name]) for name in fields if facts[name]}


def key_names(facts: Facts) -> list[str]:
    """The columns of the key, as the collection has them."""
    paths = facts.log.paths if not facts.is_decoded else {}
    return [paths.get(name, (name,))[-1] for name in facts["key"] or ()]


def write_properties(facts: Facts, place: Place) -> str:
    """The properties: descriptions and tests, and the log as a source if it is a new one."""
    name, lines = facts.name, ["version: 2", ""]
    if place.schema:
        lines += [
            "sources:",
            f"  - name: {scalar(place.schema)}",
            "    tables:",
            f"      - name: {scalar(facts.log.name)}",
            f"        description: The log of {name}. Rows are only ever appended.",
            "",
        ]
    lines += [
        "models:",
        f"  - name: {scalar(name)}",
        f"    description: The rows of {name} as they are now, one for each key.",
        "    columns:",
    ]
    key = key_names(facts)
    for column in [*key, *(facts["columns"] or ())]:
        what = "A part of the key." if len(key) > 1 else "The key."
        lines += [
            f"      - name: {scalar(column)}",
            *(["        quote: true"] if quoted(column) != column else []),
            f"        description: {what if column in key else newest(column)}",
            *(["        data_tests: [not_null, unique]"] if key == [column] else []),
        ]
    lines += ["    data_tests:", "      - trueup.no_open_errors", *log_test(facts, place)]
    for companion in place.models(name)[1:]:
        description = COMPANIONS[companion.removeprefix(f"{name}_")].format(name)
        lines += ["", f"  - name: {scalar(companion)}", f'    description: "{description}"']
    return "\n".join(lines) + "\n"


def newest(column: str) -> str:
    """The description of a value column."""
    return json.dumps(f"The newest value of `{column}`.", ensure_ascii=False)


def log_test(facts: Facts, place: Place) -> list[str]:
    """The test that compares the table with its log."""
    nested = [name for name in facts["key"] or () if name not in facts.log.columns]
    if nested and not facts.is_decoded:
        return []
    arguments: dict[str, Any] = {"log": place.relation, "key": facts["key"]}
    if facts.is_decoded:
        arguments["messages"] = {"macro": facts["envelope"], **messages_of(facts)}
    else:
        fields = ("ts", "sequence_by", "delete_when", "skip_when", "truncate_when")
        arguments |= {name: facts[name] for name in fields}
        if facts["envelope"] == "snapshots":
            arguments["extract"] = extract_of(facts)
    arguments["columns"] = list(facts["columns"] or ())
    return [
        "      - trueup.agrees_with_log:",
        "          arguments:",
        *(
            f"            {name}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in arguments.items()
            if value
        ),
    ]


def scalar(text: str) -> str:
    """A text in YAML, in quotes if it needs them.

    Example:
        >>> scalar("order_id"), scalar("no"), scalar("order no: 1")
        ('order_id', '"no"', '"order no: 1"')
    """
    words = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    is_plain = re.fullmatch(r"[A-Za-z_]\w*", text) and text.lower() not in words
    return text if is_plain else json.dumps(text, ensure_ascii=False)
