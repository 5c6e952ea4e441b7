"""Reads the messages of envelopes, as far as guesses need them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

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
    is_by_clock: bool = False
    """Whether the position is a time."""
    row: Row | None = None
    """The columns after the change; for a delete those before it."""
    key: Row | None = None
    """The columns of the key, as the message names them."""
    types: dict[str, str] = field(default_factory=dict)
    """The types that the message declares for its columns, in Spark."""


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
        names = {name for names in POSITIONS + CLOCKS for name in names} | {"schema", "db", "table"}
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
    return Change(
        op=envelope.get("op") or envelope.get("__op"),
        table=f"{schema}.{table}" if table and schema else table,
        order=found[0] if found else None,
        is_by_clock=bool(found) and found[0] in CLOCKS,
        row=next(filter(None, map(object_of, rows)), None),
        key=keys if isinstance(keys, dict) else None,
        types=connect_types(message.get("schema"), "after"),
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


def read_maxwell(message: Row, keys: Any) -> Change | None:
    """Read a message of Maxwell."""
    if not (
        {"database", "table", "type", "data"} <= set(message) and isinstance(message["data"], dict)
    ):
        return None
    named = message.get("primary_key_columns")
    if isinstance(named, list):
        keys = {name: message["data"].get(name) for name in named}
    elif isinstance(keys, dict):
        keys = {
            name.removeprefix("pk."): one
            for name, one in keys.items()
            if name not in ("database", "table")
        }
    return Change(
        op=message["type"],
        table=f"{message['database']}.{message['table']}",
        order=message.get("position"),
        row=message["data"] or None,
        key=keys if isinstance(keys, dict) else None,
    )


def read_canal(message: Row, keys: Any) -> Change | None:
    """Read a message of Canal. Its `data` is a list of rows."""
    del keys
    if not {"data", "database", "table", "type", "es"} <= set(message):
        return None
    rows = message["data"] if isinstance(message["data"], list) else []
    row, names = (object_of(rows[0]) if rows else {}), message.get("pkNames") or []
    return Change(
        op=message["type"],
        table=f"{message['database']}.{message['table']}",
        row=row or None,
        key={name: row.get(name) for name in names} or None,
    )


def read_dms(message: Row, keys: Any) -> Change | None:
    """Read a message of AWS DMS."""
    del keys
    metadata = object_of(message.get("metadata"))
    if "operation" not in metadata or "record-type" not in metadata:
        return None
    return Change(
        op=metadata["operation"],
        table=f"{metadata.get('schema-name')}.{metadata.get('table-name')}",
        row=object_of(message.get("data")) or None,
    )


def read_goldengate(message: Row, keys: Any) -> Change | None:
    """Read a message of Oracle GoldenGate in JSON."""
    if not {"table", "op_type", "op_ts"} <= set(message):
        return None
    row = object_of(message.get("after")) or object_of(message.get("before"))
    names = message.get("primary_keys") or []
    return Change(
        op=message["op_type"],
        table=str(message["table"]),
        order=message.get("pos"),
        row=row or None,
        key={name: row.get(name) for name in names} or (keys if isinstance(keys, dict) else None),
    )


def read_cockroachdb(message: Row, keys: Any) -> Change | None:
    """Read a message of a changefeed of CockroachDB. Its key is a list of values."""
    if (
        "after" not in message
        or not {"updated", "mvcc_timestamp", "key"} & set(message)
        or "op" in message
    ):
        return None
    row, values = object_of(message["after"]), message.get("key", keys)
    names = [
        next((name for name, one in row.items() if one == value), None) for value in values or []
    ]
    return Change(
        op="upsert" if row else "delete",
        order=message.get("mvcc_timestamp") or message.get("updated"),
        row=row or None,
        key=dict(zip(names, values, strict=True)) if names and None not in names else None,  # type: ignore[arg-type]
    )


def read_dynamodb(message: Row, keys: Any) -> Change | None:
    """Read a record of a stream of DynamoDB. Each of its values has its type beside it."""
    del keys
    record = object_of(message.get("dynamodb"))
    if "Keys" not in record:
        return None
    named = {name: item_of(one) for name, one in object_of(record["Keys"]).items()}
    image = {name: item_of(one) for name, one in object_of(record.get("NewImage")).items()}
    return Change(
        op=message.get("eventName"),
        table=message.get("tableName"),
        order=record.get("SequenceNumber"),
        row=image or named or None,
        key=named or None,
    )


def item_of(value: Any) -> Any:
    """The value of an attribute of DynamoDB.

    Example:
        >>> item_of({"N": "1"}), item_of({"S": "new"}), item_of({"L": [{"BOOL": True}]})
        (1, 'new', [True])
    """
    ((kind, one),) = (
        value.items() if isinstance(value, dict) and len(value) == 1 else [("S", value)]
    )
    if kind == "N":
        return decode(one, "string")
    if kind == "L":
        return list(map(item_of, one))
    if kind == "M":
        return {name: item_of(inner) for name, inner in one.items()}
    return None if kind == "NULL" else one


READERS: dict[str, Callable[[Row, Any], Change | None]] = {
    "debezium": read_debezium,
    "wal2json": read_wal2json,
    "dms": read_dms,
    "canal": read_canal,
    "maxwell": read_maxwell,
    "goldengate": read_goldengate,
    "dynamodb": read_dynamodb,
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
