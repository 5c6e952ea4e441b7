"""The decoder gives the commands of each message, by plain SELECTs."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import re
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from pyspark.sql import Row
from pyspark.sql.types import VariantVal

from tests.macros.package import in_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = {"id": "bigint", "status": "string", "amount": "decimal(10,2)", "tags": "array<string>"}
LOST = "__debezium_unavailable_value"
LOST_UUID = str(uuid.UUID(bytes=hashlib.md5(LOST.encode()).digest(), version=3))  # noqa: S324


class Decoded(NamedTuple):
    """A decoded command. `status` is its only value here."""

    op: str
    id: int | None = None
    status: str | None = None
    error: str | None = None
    error_key: str | None = None
    unchanged: tuple[str, ...] = ()
    old_key: int | None = None


class Message(NamedTuple):
    """A message, its key, and the commands that it must decode to."""

    value: Any
    expected: list[Decoded]
    key: Any = None
    header: Any = None


def hexed(text: str) -> str:
    return "x" + text.encode().hex()


def as_text(part: Any) -> str | None:
    return part if part is None or isinstance(part, str) else json.dumps(part)


def commands(
    spark: SparkSession,
    form: str,
    log: DataFrame,
    unique_key: Sequence[str] = ("id",),
    columns: Sequence[str] = (),
    **arguments: Any,
) -> list[Row]:
    """Return the commands of a log. `columns` are expressions to return besides."""
    log.coalesce(1).createOrReplaceTempView("messages")
    trueup = in_model("orders", unique_key=list(unique_key), options={"null_keys": "value"})
    given: dict[str, Any] = {"relation": "messages", "schema": SCHEMA, **arguments}
    frame = spark.sql(str(getattr(trueup, form)(**given)))
    rows = frame.selectExpr("_error", *columns).collect() if columns else frame.collect()
    spark.catalog.dropTempView("messages")
    return rows


def decode(
    spark: SparkSession, form: str, cases: Mapping[str, Message], **arguments: Any
) -> dict[str, list[Decoded]]:
    """Decode all messages in one query. The order of a message is its number."""
    log = [
        (n, *map(as_text, (message.key, message.value, message.header)))
        for n, message in enumerate(cases.values())
    ]
    frame = spark.createDataFrame(log, "n bigint, key string, value string, header string")
    given = {"value": "value", "sequence_by": ["n"], **arguments}
    found: dict[str, list[Decoded]] = {name: [] for name in cases}
    for one in commands(spark, form, frame, ["ID"], **given):
        row = one.asDict()
        old_key = row.get("_old_key", None)
        found[list(cases)[row["_order"]["_1"]["_1"]]].append(
            Decoded(
                row["_op"],
                row["ID"],
                row["status"],
                row["_error"],
                row["_error_key"],
                tuple(row.get("_unchanged", ())),
                old_key and old_key["id"],
            )
        )
    return found


def event(after: Any = None, before: Any = None, op: str = "u", **others: Any) -> dict[str, Any]:
    source = {"ts_ms": 5, "lsn": 7}
    return {"before": before, "after": after, "op": op, "ts_ms": 6, "source": source, **others}


def wrapped(payload: Any) -> dict[str, Any]:
    return {"schema": {"type": "struct", "fields": []}, "payload": payload}


DEBEZIUM = {
    "the row is after": Message(
        event({"id": 1, "status": "new", "amount": 1.10, "tags": ["a"]}, op="c"),
        [Decoded("upsert", 1, "new")],
        {"id": 1},
    ),
    "schema and payload may be around both": Message(
        wrapped(event({"id": 1, "status": "new"})),
        [Decoded("upsert", 1, "new")],
        wrapped({"id": 1}),
    ),
    "op is not trusted": Message(
        event({"id": 1, "status": "new"}, op="d"), [Decoded("upsert", 1, "new")], {"id": 1}
    ),
    "a null after is a delete": Message(
        event(None, {"id": 1}, op="u"), [Decoded("delete", 1)], {"id": 1}
    ),
    "a delete may lack after": Message({"op": "d"}, [Decoded("delete", 1)], {"id": 1}),
    "a tombstone is a delete": Message(None, [Decoded("delete", 1)], {"id": 1}),
    "a null payload is a delete": Message(wrapped(None), [Decoded("delete", 1)], {"id": 1}),
    "a payload that is no object is an error": Message(
        {"schema": {"type": "string"}, "payload": "hello"},
        [
            Decoded(
                "upsert",
                1,
                error="The text must be a message of Debezium. Got: "
                '{"schema": {"type": "string"}, "payload": "hello"}',
            )
        ],
        {"id": 1},
    ),
    "a row with a column called schema is an error": Message(
        {"id": 1, "schema": "public"},
        [
            Decoded(
                "upsert",
                1,
                error='The text must be a message of Debezium. Got: {"id": 1, "schema": "public"}',
            )
        ],
        {"id": 1},
    ),
    "a null of JSON is a delete": Message("null", [Decoded("delete", 1)], {"id": 1}),
    "an empty text is no delete": Message(
        "",
        [Decoded("upsert", 1, error="The text must be a message of Debezium. Got: ")],
        {"id": 1},
    ),
    "an unavailable value is unchanged": Message(
        event({"id": 1, "status": LOST, "amount": 2}),
        [Decoded("upsert", 1, unchanged=("status",))],
        {"id": 1},
    ),
    "unavailable values of all types are unchanged": Message(
        event({"id": 1, "status": LOST, "amount": LOST, "tags": [LOST]}),
        [Decoded("upsert", 1, unchanged=("status", "amount", "tags"))],
        {"id": 1},
    ),
    "unavailable arrays of numbers are unchanged": Message(
        event({"id": 1, "status": "new", "tags": list(LOST.encode())}),
        [Decoded("upsert", 1, "new", unchanged=("tags",))],
        {"id": 1},
    ),
    "unavailable arrays of UUIDs and maps are unchanged": Message(
        event({"id": 1, "status": f'{{"{LOST}":"{LOST}"}}', "tags": [LOST_UUID]}),
        [Decoded("upsert", 1, unchanged=("status", "tags"))],
        {"id": 1},
    ),
    "an unavailable map may be an object": Message(
        event({"id": 1, "status": {LOST: LOST}}),
        [Decoded("upsert", 1, unchanged=("status",))],
        {"id": 1},
    ),
    "a column that after lacks is null": Message(
        event({"id": 1}), [Decoded("upsert", 1)], {"id": 1}
    ),
    **{
        f"a row with a column op is an error, also with {op}": Message(
            {"id": 1, "op": op, "status": "x"},
            [
                Decoded(
                    "upsert",
                    1,
                    error="The text must be a message of Debezium. Got: "
                    + json.dumps({"id": 1, "op": op, "status": "x"}),
                )
            ],
            {"id": 1},
        )
        for op in ("t", "d", "m")
    },
    "a truncate has no key": Message({"op": "t", "source": {}}, [Decoded("truncate")]),
    "a logical message is no command": Message(event(op="m"), [], {"prefix": "p"}),
    "a before of another key changes the key": Message(
        event({"id": 2, "status": "moved", "tags": [LOST]}, {"id": 1}),
        [
            Decoded("delete", 1),
            Decoded("upsert", 2, "moved", unchanged=("tags",), old_key=1),
        ],
        {"id": 2},
    ),
    "a header names the old key": Message(
        event({"id": 2, "status": LOST}, op="c"),
        [Decoded("delete", 1), Decoded("upsert", 2, unchanged=("status",), old_key=1)],
        {"id": 2},
        wrapped({"id": 1}),
    ),
    "a header deletes the old key of a bad one": Message(
        event({"id": 2, "status": "new"}, op="c"),
        [Decoded("delete", 1), Decoded("upsert", None, "new", error_key=hexed("two"))],
        "two",
        {"id": 1},
    ),
    "a before without a good key says nothing": Message(
        event({"id": 2, "status": "new"}, {"id": "1", "status": None}),
        [Decoded("upsert", 2, "new")],
        {"id": 2},
    ),
    "a before with a null key says nothing": Message(
        event({"id": 2, "status": "new"}, {"id": None}), [Decoded("upsert", 2, "new")], {"id": 2}
    ),
    "a text where a number belongs is an error": Message(
        event({"id": 1, "status": "new", "amount": "12,5"}),
        [Decoded("upsert", 1, "new", '`amount` must be decimal(10,2). Got: "12,5"')],
        {"id": 1},
    ),
    "digits that may be a decimal or its bytes are an error": Message(
        event({"id": 1, "status": "new", "amount": "1234"}),
        [
            Decoded(
                "upsert",
                1,
                "new",
                '`amount` must be decimal(10,2). Got: "1234". Say how it is written,'
                " `decimal(10,2) from base64` or `from text`",
            )
        ],
        {"id": 1},
    ),
    "a number where a text belongs is an error": Message(
        event({"id": 1, "status": 12}),
        [Decoded("upsert", 1, error="`status` must be string. Got: 12")],
        {"id": 1},
    ),
    "broken JSON is an error of its key": Message(
        '{"after": ',
        [Decoded("upsert", 1, error='The text must be a message of Debezium. Got: {"after": ')],
        {"id": 1},
    ),
    "a row without its envelope is an error": Message(
        {"id": 1, "status": "new"},
        [
            Decoded(
                "upsert",
                1,
                error='The text must be a message of Debezium. Got: {"id": 1, "status": "new"}',
            )
        ],
        {"id": 1},
    ),
    "an after that is no object is an error": Message(
        event([1], source=None),
        [
            Decoded(
                "upsert",
                1,
                error="The text must be a message of Debezium. Got: "
                + json.dumps(event([1], source=None))[:100],
            )
        ],
        {"id": 1},
    ),
    "a key that is no JSON is its bytes": Message(
        event({"id": 1, "status": "new"}),
        [Decoded("upsert", None, "new", error_key=hexed("oops"))],
        "oops",
    ),
    "a key of another type is its bytes": Message(
        event({"id": 1}), [Decoded("upsert", error_key=hexed('{"id": "1"}'))], {"id": "1"}
    ),
    "a key without its column is its bytes": Message(
        event({"id": 1}), [Decoded("upsert", error_key=hexed('{"key": 1}'))], {"key": 1}
    ),
    "a bad key is deleted by its bytes": Message(
        None, [Decoded("delete", error_key=hexed("oops"))], "oops"
    ),
    "a missing key": Message(event({"id": 1}), [Decoded("upsert", error_key="null")]),
    "a missing key is deleted": Message(None, [Decoded("delete", error_key="null")]),
}

KEYLESS = {
    "the key is in after": Message(
        event({"id": 1, "status": "new"}), [Decoded("upsert", 1, "new")]
    ),
    "the key of a delete is in before": Message(event(None, {"id": 1}), [Decoded("delete", 1)]),
    "a tombstone is no command": Message(None, []),
    "a bad key is its columns as JSON": Message(
        event({"id": "x", "status": "new"}),
        [Decoded("upsert", None, "new", error_key=hexed('{"id":"x"}'))],
    ),
    "a bad key is deleted by its columns": Message(
        event(None, {"id": "x"}), [Decoded("delete", error_key=hexed('{"id":"x"}'))]
    ),
    "a delete without a key is an error": Message(
        '{"op":"d","after":null}',
        [
            Decoded(
                "upsert",
                error='The text must be a message of Debezium. Got: {"op":"d","after":null}',
                error_key=hexed('{"op":"d","after":null}'),
            )
        ],
    ),
    "broken JSON is its bytes": Message(
        "{",
        [
            Decoded(
                "upsert",
                error="The text must be a message of Debezium. Got: {",
                error_key=hexed("{"),
            )
        ],
    ),
}


def change(action: str, **others: Any) -> dict[str, Any]:
    return {"action": action, "schema": "public", "table": "orders", **others}


def columns(**values: Any) -> list[dict[str, Any]]:
    return [{"name": name, "type": "text", "value": value} for name, value in values.items()]


def no_message(text: str) -> list[Decoded]:
    error = f"The text must be a message of wal2json. Got: {text[:100]}"
    return [Decoded("upsert", error=error, error_key=hexed(text))]


WAL2JSON = {
    "an insert": Message(
        change("I", columns=columns(id=1, status="new", amount=1.10)),
        [Decoded("upsert", 1, "new")],
    ),
    "a column that an insert lacks is null": Message(
        change("I", columns=columns(id=1)), [Decoded("upsert", 1)]
    ),
    "a column that an update lacks is unchanged": Message(
        change("U", columns=columns(id=1, amount=None), identity=columns(id=1)),
        [Decoded("upsert", 1, unchanged=("status", "tags"))],
    ),
    "an unchanged value is in the whole old row": Message(
        change(
            "U",
            columns=columns(id=1, amount=None, tags=None),
            identity=columns(id=1, status="long"),
        ),
        [Decoded("upsert", 1, "long")],
    ),
    "another identity changes the key": Message(
        change("U", columns=columns(id=2, status="moved"), identity=columns(id=1)),
        [
            Decoded("delete", 1),
            Decoded("upsert", 2, "moved", unchanged=("amount", "tags"), old_key=1),
        ],
    ),
    "a bad new key deletes the old one": Message(
        change("U", columns=columns(id="two", status="new"), identity=columns(id=1)),
        [
            Decoded("delete", 1),
            Decoded(
                "upsert",
                None,
                "new",
                error_key=hexed('{"id":"two"}'),
                unchanged=("amount", "tags"),
            ),
        ],
    ),
    "a good new key deletes the bad old one": Message(
        change("U", columns=columns(id=2, status="new"), identity=columns(id="x")),
        [
            Decoded("delete", error_key=hexed('{"id":"x"}')),
            Decoded("upsert", 2, "new", unchanged=("amount", "tags")),
        ],
    ),
    "a bad new key deletes another bad old one": Message(
        change("U", columns=columns(id="y", status="new"), identity=columns(id="x")),
        [
            Decoded("delete", error_key=hexed('{"id":"x"}')),
            Decoded(
                "upsert",
                None,
                "new",
                error_key=hexed('{"id":"y"}'),
                unchanged=("amount", "tags"),
            ),
        ],
    ),
    "a bad key that stays is not deleted": Message(
        change("U", columns=columns(id="x", status="new"), identity=columns(id="x")),
        [
            Decoded(
                "upsert",
                None,
                "new",
                error_key=hexed('{"id":"x"}'),
                unchanged=("amount", "tags"),
            )
        ],
    ),
    "a key that an update lacks is in identity": Message(
        change(
            "U",
            columns=columns(status="paid", amount=1, tags=None),
            identity=columns(id=1, status="new"),
        ),
        [Decoded("upsert", 1, "paid")],
    ),
    "a delete": Message(change("D", identity=columns(id=1, status="new")), [Decoded("delete", 1)]),
    "a truncate": Message(change("T"), [Decoded("truncate")]),
    "a begin is no command": Message({"action": "B"}, []),
    "a commit is no command": Message({"action": "C"}, []),
    "a logical message is no command": Message({"action": "M", "content": "hi"}, []),
    "a change of another table is no command": Message(
        change("I", columns=columns(id=1)) | {"table": "carriers"}, []
    ),
    "a message may have no schema": Message(
        {"action": "I", "table": "orders", "columns": columns(id=1, status="new")},
        [Decoded("upsert", 1, "new")],
    ),
    "a change of another table without a schema is no command": Message(
        {"action": "T", "table": "carriers"}, []
    ),
    "a wrong position is no error": Message(
        change("I", columns=columns(id=1, status="new"), lsn="80000000/0"),
        [Decoded("upsert", 1, "new")],
    ),
    "a text where a number belongs is an error": Message(
        change("I", columns=columns(id=1, amount="12")),
        [Decoded("upsert", 1, error='`amount` must be decimal(10,2). Got: "12"')],
    ),
    "a name that repeats is an error": Message(
        '{"action":"I","columns":[{"name":"id","value":1},{"name":"id","value":2}]}',
        no_message('{"action":"I","columns":[{"name":"id","value":1},{"name":"id","value":2}]}'),
    ),
    "a bad key is its columns as JSON": Message(
        change("I", columns=columns(id="x", status="new")),
        [Decoded("upsert", None, "new", error_key=hexed('{"id":"x"}'))],
    ),
    "a bad key is deleted by its columns": Message(
        change("D", identity=columns(id="x")), [Decoded("delete", error_key=hexed('{"id":"x"}'))]
    ),
    "an update without columns": Message('{"action":"U"}', no_message('{"action":"U"}')),
    "a delete without identity": Message('{"action":"D"}', no_message('{"action":"D"}')),
    "an unknown action": Message('{"action":"X"}', no_message('{"action":"X"}')),
    "no JSON": Message("oops", no_message("oops")),
}


def test_a_debezium_message_decodes_to_its_commands(spark: SparkSession) -> None:
    expected = {name: message.expected for name, message in DEBEZIUM.items()}
    assert decode(spark, "debezium", DEBEZIUM, old_key="header") == expected


def of_table(schema: str, table: str) -> dict[str, Any]:
    """A change of a table."""
    return event({"id": 1}) | {"source": {"lsn": 7, "schema": schema, "table": table}}


OTHER_TABLES = {
    "a change of the table is a command": Message(
        of_table("public", "orders"), [Decoded("upsert", 1)], {"id": 1}
    ),
    "also with a schema beside it": Message(
        wrapped(of_table("public", "orders")), [Decoded("upsert", 1)], {"id": 1}
    ),
    "a change of another table is none": Message(of_table("public", "carriers"), [], {"id": 1}),
    "also with a schema beside it, and another table": Message(
        wrapped(of_table("public", "carriers")), [], {"id": 1}
    ),
    "a change of another schema is none": Message(of_table("shop", "orders"), [], {"id": 1}),
    "a name in another field says nothing": Message(
        of_table("public", "orders") | {"table": "carriers", "payload": {"source": {"table": "x"}}},
        [Decoded("upsert", 1)],
        {"id": 1},
    ),
}


def test_only_messages_that_name_another_table_are_left_out(spark: SparkSession) -> None:
    """They are left out before they are parsed. Those of DEBEZIUM name no table."""
    cases = {**DEBEZIUM, **OTHER_TABLES}
    expected = {name: message.expected for name, message in cases.items()}
    assert decode(spark, "debezium", cases, old_key="header", table="public.orders") == expected


def test_a_debezium_message_without_a_key_decodes_to_its_commands(spark: SparkSession) -> None:
    expected = {name: message.expected for name, message in KEYLESS.items()}
    assert decode(spark, "debezium", KEYLESS, key=None) == expected


def test_a_wal2json_message_decodes_to_its_commands(spark: SparkSession) -> None:
    expected = {name: message.expected for name, message in WAL2JSON.items()}
    assert decode(spark, "wal2json", WAL2JSON, table="public.orders") == expected


TYPES = {
    "id": "bigint",
    "tiny": "tinyint",
    "price": "decimal(6,2)",
    "whole": "decimal(20,0)",
    "fine": "decimal(30,20)",
    "half": "float",
    "ratio": "double",
    "on": "boolean",
    "name": "string",
    "raw": "binary",
    "day": "date",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "tags": "array<bigint>",
    "part": "struct<x: bigint>",
    "free": "variant",
    "it's `odd`\\": "string",
}
GOOD: dict[str, list[Any]] = {
    "id": [0, -7, 2**63 - 1, 1.0, None],
    "tiny": [127],
    "price": [1, 1.5, 1.25, 1.250, 9999.99, "1e2", "1E-2", "1.25e1"],
    "whole": [12345678901234567890, "1e2"],
    "fine": ["1E-20", "0.12345678901234567890", "1.2345678901234e-3"],
    "half": [1.5, "Infinity"],
    "ratio": [1, 1.5, "1e300", "NaN", "Infinity"],
    "on": [True, 1, 0],
    "name": ["", "12", "a'b\"c\\d\n", "☃"],
    "raw": ["aGk="],
    "day": ["2026-01-05", "2026-01-05T00:00:00Z", "2026-01-05 10:00:00 UTC"],
    "at": ["2026-01-05 10:00:00.123456+00", "2026-01-05T10:00:00Z"],
    "local": ["2026-01-05 10:00:00"],
    "tags": [[], [1, 2]],
    "part": [{"x": 1}, {"x": None}, {"x": 1, "y": 2}],
    "free": [
        {"b": [1, {"c": None}], "a": 1.5},
        [2],
        3,
        True,
        "twelve",
        "{ no object",
        '{"a": 1}',
        None,
    ],
    "it's `odd`\\": ["x"],
}
BAD: dict[str, list[Any]] = {
    "id": ["1", 1.5, 2**63, True, [], {}],
    "tiny": [128],
    "price": ["1.5", 1.255, 10000, True, "1e-3"],
    "whole": [1.5],
    "fine": ["1.23456789012345678901e0"],
    "half": ["1e39"],
    "ratio": ["1.5", True, "1e400"],
    "on": ["true", 2],
    "name": [12, True],
    "raw": ["###", 1],
    "day": ["yesterday", 20000, "0044-03-15 BC", "2026-01"],
    "at": ["soon", 0, " 202601", "0044-03-15 10:00:00 BC", "12:30:00", "T12:30", "12:30:00Z"],
    "local": ["soon", 0, "12:30:00"],
    "tags": [["1"], "a", {"a": 1}, 1],
    "part": [{"x": "1"}, [1], 1],
    "it's `odd`\\": [1],
}
NOT_ONE_OBJECT = [
    *("", " ", "{", "[]", "1", '"a"', "{'id': 1}", '{"id": 1} x', '{"id": 1}{"id": 2}'),
    *('{"id": 1}, {"id": 2}', '{"id": 1, "id": 2}', '{"id": 01}', '{"id": 1}]', '{"id": 1}] x'),
    *(
        '{"id": 1},{}]',
        '{"id": 1},{"_end":null}',
        '{"id": 1}]}',
        '{"id": 1}] {"id": 2}',
        '{"id": 1},',
    ),
]
NUMBER = re.compile(r"-?[0-9]+([.][0-9]+)?([eE]-?[0-9]+)?")
"""A text here that is a JSON number, which Python would write in another way."""
DOUBLES = {
    "1e-3": "0.001",
    "1.23456789012345678901e0": "1.2345678901234567",
    "1e39": "1.0E39",
    "1e400": '"Infinity"',
}
"""What Spark prints of these JSON numbers."""


def as_json(name: str, value: Any) -> str:
    is_number = isinstance(value, str) and TYPES[name] != "string" and NUMBER.fullmatch(value)
    text = value if is_number and value not in ("1", "1.5") else json.dumps(value)
    return f"{{{json.dumps(name)}: {text}}}"


@pytest.fixture(scope="module")
def read_json(spark: SparkSession) -> Callable[[Sequence[str | None]], list[Any]]:
    """Give a function that parses texts in one query."""

    def read(texts: Sequence[str | None]) -> list[Any]:
        parse = in_model("orders").parse_json("text", TYPES)
        frame = spark.createDataFrame(list(enumerate(texts)), "n int, text string").coalesce(1)
        rows = frame.selectExpr("n", f"{parse} as json").orderBy("n").collect()
        return [row["json"] for row in rows]

    return read


def as_python(name: str, value: Any) -> Any:
    """Give what Spark makes of a JSON value of the type of a column, as PySpark shows it."""
    kind = TYPES[name]
    if value is None or kind in ("boolean", "string", "array<bigint>"):
        return value
    if kind == "variant":
        return {"a": 1} if value == '{"a": 1}' else value
    if kind.startswith("struct"):
        return {"x": value["x"]}
    if kind.startswith("timestamp"):
        moment = dt.datetime.fromisoformat(re.sub(r"(Z|[+]00)$", "+00:00", value))
        return moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment
    if kind.startswith("decimal"):
        return Decimal(str(value))
    convert: dict[str, Callable[[Any], Any]] = {
        "binary": base64.b64decode,
        "date": lambda text: dt.date.fromisoformat(text[:10]),
        "double": float,
        "float": float,
    }
    return convert.get(kind, int)(value)


def test_json_that_fits_its_type_is_read_without_an_error(
    read_json: Callable[[Sequence[str | None]], list[Any]],
) -> None:
    cases = [(name, value) for name, values in GOOD.items() for value in values]

    for (name, value), json_read in zip(
        cases, read_json([as_json(*case) for case in cases]), strict=True
    ):
        assert json_read["error"] is None, (name, value)
        got = json_read["value"][name]
        got = got.asDict() if isinstance(got, Row) else got
        got = got.toPython() if isinstance(got, VariantVal) else got
        # NaN equals nothing.
        assert got == as_python(name, value) or (value == "NaN" and got != got), (name, value)  # noqa: PLR0124
        assert json_read["absent"] == [other for other in TYPES if other != name]


def test_json_that_does_not_fit_its_type_is_an_error(
    read_json: Callable[[Sequence[str | None]], list[Any]],
) -> None:
    cases = [(name, value) for name, values in BAD.items() for value in values]

    for (name, value), json_read in zip(
        cases, read_json([as_json(*case) for case in cases]), strict=True
    ):
        got = DOUBLES.get(str(value)) or json.dumps(value, separators=(",", ":"))
        hint = f". Say what it counts, as in `{TYPES[name]} from micros`" if value == 0 else ""
        assert json_read["error"] == f"`{name}` must be {TYPES[name]}. Got: {got}{hint}"
        assert json_read["value"][name] is None


def test_an_error_names_every_wrong_column_and_the_others_are_read(
    read_json: Callable[[Sequence[str | None]], list[Any]],
) -> None:
    long = "x" * 1000
    (json_read,) = read_json([f'{{"id": 7, "tiny": "{long}", "on": 7}}'])

    assert json_read["value"]["id"] == 7
    assert json_read["error"] == (
        f'`tiny` must be tinyint. Got: "{"x" * 99}; `on` must be boolean. Got: 7'
    )


def test_a_text_must_be_exactly_one_json_object(
    read_json: Callable[[Sequence[str | None]], list[Any]],
) -> None:
    for text, json_read in zip(NOT_ONE_OBJECT, read_json(NOT_ONE_OBJECT), strict=True):
        assert json_read["error"] == f"The text must be a JSON object. Got: {text}"
        assert set(json_read["value"]) == {None}


def test_bytes_that_are_not_utf_8_are_an_error(spark: SparkSession) -> None:
    parse = in_model("orders").parse_json("text", {"id": "string"})
    texts = "values (x'7B226964223A22FF227D'), (x'7B226964223A22C3A9227D') as texts (text)"
    broken, good = spark.sql(f"select {parse} as json from {texts}").collect()
    assert broken["json"]["error"].startswith("The text must be a JSON object. Got: ")
    assert good["json"]["value"]["id"] == "\u00e9"


@pytest.mark.parametrize("given", [{}, {"table": "public.orders"}, {"sequence_by": ["n"]}])
def test_a_filter_does_not_decode_a_message_again(
    spark: SparkSession, given: dict[str, Any]
) -> None:
    """Spark would write the whole decoder into the filter, once for each use of each step."""
    types = "n bigint, key string, value string"
    spark.createDataFrame([], types).createOrReplaceTempView("messages")
    trueup = in_model("orders", unique_key=["id"], options={})
    query = str(trueup.debezium(relation="messages", schema=SCHEMA, key="key", **given))
    rows = spark.sql(query).where("_order is not null and _op <> 'truncate' and id > 7")
    plan = rows._jdf.queryExecution().optimizedPlan().toString()
    filters = [line for line in plan.splitlines() if re.match(r"[ :+-]*Filter ", line)]
    assert filters
    assert not any("parseJson" in line for line in filters)
