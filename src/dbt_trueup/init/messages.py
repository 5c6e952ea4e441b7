"""Reads the messages of envelopes, as far as guesses need them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .log import decode
from .types import connect_types, postgres_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from .log import Log, Row

POSITIONS = (("lsn",), ("file", "pos"), ("commit_lsn", "change_lsn"), ("scn",))
"""The fields of Debezium's `source` that are a position, by connector."""

CLOCKS = (("ts_ms", "ord"), ("ts_ns",), ("ts_us",))
"""Those that are its clock. `trueup.debezium` takes them if there is no position."""


@dataclass(frozen=True)
class Change:
    """What a message says. Everything that it does not have is None."""

    place: int = 0
    """The number of the row of the log."""
    op: str | None = None
    table: str | None = None
    order: Any = None
    """Its position in the source, as the macro of the envelope reads it."""
    is_flattened: bool = False
    """Whether it is a row with fields of Debezium's envelope in it."""
    gtid: str | None = None
    """The transaction of MySQL or MariaDB."""
    is_by_clock: bool = False
    """Whether the position is a time."""
    row: Row | None = None
    """The columns after the change; for a delete those before it."""
    key: Row | None = None
    """The columns of the key, as the message names them."""
    types: dict[str, str] = field(default_factory=dict)
    """The types that the message declares for its columns, in Spark."""
    server: str | None = None
    """The database that wrote the change, with the name of its connector."""


def object_of(value: Any) -> Row:
    """The value if it is an object; otherwise an empty one. MongoDB's rows are texts of objects."""
    found = decode(value, "string") if isinstance(value, str) else value
    return found if isinstance(found, dict) else {}


def payload(message: Any) -> Any:
    """The message without the `schema` that Connect's converter may put beside it."""
    has_schema = isinstance(message, dict) and "schema" in message and "payload" in message
    return message["payload"] if has_schema else message


def read_debezium(message: Row, keys: Any) -> Change | None:
    """Read a message of Debezium."""
    envelope = payload(message)
    if not isinstance(envelope, dict):
        return None
    source, rows = object_of(envelope.get("source")), []
    if "op" in envelope:
        rows = [envelope.get(name) for name in ("after", "before") if name in envelope]
    elif {"__op", "__deleted"} & set(envelope):
        # A flattened message: the row, and fields of the envelope that begin with underscores.
        rows = [{name: one for name, one in envelope.items() if not name.startswith("__")}]
        names = {name for names in POSITIONS + CLOCKS for name in names}
        names |= {"schema", "db", "table", "gtid", "name"}
        source = {
            name: envelope.get(f"__source_{name}", envelope.get(f"__{name}")) for name in names
        }
    if not rows or any(row is not None and not object_of(row) for row in rows):
        return None
    found = [
        names for names in POSITIONS + CLOCKS if all(source.get(name) is not None for name in names)
    ]
    table, schema = (
        source.get("table") or source.get("collection"),
        source.get("schema") or source.get("db"),
    )
    row = next(filter(None, map(object_of, rows)), None)
    if "collection" in source:
        # A document of MongoDB. The key of the message calls its `_id` id.
        row = rows_of(row) if row else None
        keys = {"_id": keys["id"]} if isinstance(keys, dict) and {*keys} == {"id"} else keys
    return Change(
        op=envelope.get("op") or envelope.get("__op"),
        table=f"{schema}.{table}" if table and schema else table,
        order=[source[name] for name in found[0]] if found else None,
        is_flattened="op" not in envelope,
        gtid=source.get("gtid"),
        is_by_clock=bool(found) and found[0] in CLOCKS,
        row=row,
        key=keys if isinstance(keys, dict) else None,
        types=connect_types(message.get("schema"), "after"),
        server=".".join(str(source[name]) for name in ("name", "db") if source.get(name)) or None,
    )


def read_wal2json(message: Row, keys: Any) -> Change | None:
    """Read a message of wal2json, format version 2. The bounds of a transaction have no row."""
    del keys
    if message.get("action") not in ("I", "U", "D", "T", "B", "C"):
        return None
    columns, identity = columns_of(message, "columns"), columns_of(message, "identity")
    row = {one["name"]: one.get("value") for one in columns or identity}
    named = {one["name"]: row.get(one["name"]) for one in columns_of(message, "pk") or identity}
    return Change(
        op=message["action"],
        # With `include-schemas=false` any schema will do: trueup compares the table alone.
        table=f"{message.get('schema') or 'public'}.{message['table']}"
        if "table" in message
        else None,
        order=message.get("lsn"),
        row=row or None,
        key=named or None,
        types={one["name"]: postgres_type(str(one.get("type", ""))) for one in columns},
    )


def changes_of(message: Row) -> list[Row]:
    """The changes of a message of wal2json, as version 2 writes them. Version 1 has several."""
    listed = message.get("change")
    if not isinstance(listed, list):
        return [message]
    return [
        {
            "action": str(one.get("kind"))[:1].upper(),
            "columns": pairs(
                one.get("columnnames"), one.get("columnvalues"), one.get("columntypes")
            ),
            "identity": pairs(old.get("keynames"), old.get("keyvalues"), old.get("keytypes")),
            "lsn": message.get("nextlsn"),
            **{name: one[name] for name in ("schema", "table") if name in one},
        }
        for one in map(object_of, listed)
        for old in [object_of(one.get("oldkeys"))]
    ]


def pairs(names: Any, values: Any, types: Any) -> list[Row]:
    """Columns, from the lists of their names, values and types."""
    lists = [one if isinstance(one, list) else [] for one in (names, values, types)]
    return [{"name": name, "value": value, "type": kind} for name, value, kind in zip(*lists)]  # noqa: B905


def columns_of(message: Row, name: str) -> list[Row]:
    """A list of columns in a message of wal2json; empty if it has none."""
    given = message.get(name)
    listed = given if isinstance(given, list) else []
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("name"), str)]


class Form(NamedTuple):
    """Where everything lies in a message of an envelope. Names with points are paths."""

    has: tuple[str, ...]
    """What every message has."""
    rows: tuple[str, ...]
    """The row after the change and the one before it. The first one that is there counts."""
    op: str = ""
    table: tuple[str, ...] = ()
    names: str = ""
    """The names of the columns of the key."""
    keys: str = ""
    """The columns of the key with their values."""
    order: tuple[str, ...] = ()
    """The position in the source, if the macro of the envelope reads one. The first one counts."""
    gtid: str = ""
    """The transaction of MySQL or MariaDB."""


FORMS = {
    "dms": Form(
        ("metadata.operation", "metadata.record-type"),
        ("data",),
        "metadata.operation",
        ("metadata.schema-name", "metadata.table-name"),
    ),
    "canal": Form(("type", "isDdl"), ("data",), "type", ("database", "table"), "pkNames"),
    "maxwell": Form(
        ("database", "table", "type", "data"),
        ("data",),
        "type",
        ("database", "table"),
        "primary_key_columns",
        order=("position",),
        gtid="gtid",
    ),
    "goldengate": Form(
        ("op_type",),
        ("after", "before"),
        "op_type",
        ("table",),
        "primary_keys",
        order=("pos",),
    ),
    "dynamodb": Form(
        ("dynamodb.Keys",),
        ("dynamodb.NewImage", "dynamodb.Keys"),
        "eventName",
        keys="dynamodb.Keys",
        order=("dynamodb.SequenceNumber",),
    ),
}


def read_form(form: Form, message: Row, keys: Any) -> Change | None:
    """Read a message by the table of its form."""
    if any(at(message, name) is None for name in form.has):
        return None
    found = (rows_of(at(message, name)) for name in form.rows)
    row = next(filter(None, found), None)
    names = at(message, form.names) if form.names else None
    if form.keys:
        keys = rows_of(at(message, form.keys))
    elif isinstance(names, list):
        keys = {name: (row or {}).get(name) for name in names}
    elif isinstance(keys, dict):
        # Maxwell writes the table into the key, too.
        others = ("database", "table", *form.table)
        keys = {name.removeprefix("pk."): one for name, one in keys.items() if name not in others}
    return Change(
        op=at(message, form.op),
        table=".".join(str(one) for name in form.table if (one := at(message, name))) or None,
        order=next((one for name in form.order if (one := at(message, name))), None),
        gtid=at(message, form.gtid) if form.gtid else None,
        row=row,
        key=keys if keys and isinstance(keys, dict) else None,
    )


def at(message: Row, path: str) -> Any:
    """What a message has at a path; None if it has nothing there."""
    value: Any = message
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def rows_of(value: Any) -> Row:
    """A row, or the first one of a list. Values of DynamoDB and MongoDB may have tags of types.

    Example:
        >>> rows_of({"id": {"N": "1"}, "tags": {"L": [{"S": "new"}]}, "_id": {"$oid": "61f"}})
        {'id': 1, 'tags': ['new'], '_id': '61f'}
    """
    row = object_of(value[0] if isinstance(value, list) and value else value)
    return {name: untagged(one) for name, one in row.items()}


TAGS = ("S", "N", "B", "BOOL", "NULL", "L", "M", "$oid", "$numberLong", "$numberDecimal", "$date")


def untagged(value: Any) -> Any:
    """The value of an object with one field that is the tag of a type; another value as it is."""
    if not (isinstance(value, dict) and len(value) == 1 and {*value} <= {*TAGS}):
        return value
    ((tag, one),) = value.items()
    if tag in ("N", "$numberLong", "$numberDecimal"):
        return decode(one, "string")
    if tag == "L":
        return [*map(untagged, one)]
    if tag == "M":
        return rows_of(one)
    if tag == "$date":
        return datetime.now(tz=timezone.utc)  # only its type counts
    return None if tag == "NULL" else one


def read_cockroachdb(message: Row, keys: Any) -> Change | None:
    """Read a message of a changefeed of CockroachDB. Its key is a list of values."""
    order = message.get("mvcc_timestamp") or message.get("updated")
    if "after" not in message or "op" in message or not (order or "key" in message):
        return None
    row, values = object_of(message["after"]), message.get("key", keys) or []
    named = {name: one for value in values for name, one in row.items() if one == value}
    return Change(
        op="upsert" if row else "delete",
        order=order,
        row=row or None,
        key=named if len(named) == len(values) > 0 else None,
    )


READERS: dict[str, Callable[[Row, Any], Change | None]] = {
    "debezium": read_debezium,
    "wal2json": read_wal2json,
    **{name: partial(read_form, form) for name, form in FORMS.items()},
    "cockroachdb": read_cockroachdb,
}
"""The function that reads a message of an envelope. It returns None for other messages."""


def read_messages(log: Log, envelope: str, value: str, key: str | None) -> list[Change]:
    """Read the messages of a log that can be read. Tombstones are none."""
    keys = keys_of(log, key) if key else [None] * len(log.rows)
    read = READERS[envelope]
    found = [
        (place, read(message, keys[place]))
        for place, whole in enumerate(log.json_columns[value])
        if whole is not None
        for message in (changes_of(whole) if envelope == "wal2json" else [whole])
    ]
    changes = [replace(change, place=place) for place, change in found if change]
    if envelope == "wal2json":
        # With REPLICA IDENTITY FULL the identity of an update or a delete is the whole row.
        widths: dict[str | None, int] = {}
        for one in changes:
            widths[one.table] = max(widths.get(one.table, 0), len(one.types))
        changes = [
            replace(one, key=None) if one.key and len(one.key) >= widths[one.table] > 0 else one
            for one in changes
        ]
    return changes


def keys_of(log: Log, key: str) -> list[Any]:
    """The keys of the messages, decoded. A key may be a list of values."""
    return [payload(decode(row[key], log.types[key])) for row in log.rows]
