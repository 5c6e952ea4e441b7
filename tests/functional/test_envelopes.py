"""Envelopes decode each message to its commands, and a collection gives the right rows."""

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

from tests.macros.package import in_model
from tests.project import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from tests.project import Project

SCHEMA = {"id": "bigint", "status": "string", "amount": "decimal(10,2)", "tags": "array<string>"}
LOST = "__debezium_unavailable_value"
LOST_UUID = str(uuid.UUID(bytes=hashlib.md5(LOST.encode()).digest(), version=3))  # noqa: S324
TICK = 1_522_152_329_914_496


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


def decode(
    spark: SparkSession, macro: str, cases: Mapping[str, Message], **arguments: Any
) -> dict[str, list[Decoded]]:
    """Decode all messages in one query. The tick of a message is its number."""
    log = [
        (n, *map(as_text, (message.key, message.value, message.header)))
        for n, message in enumerate(cases.values())
    ]
    spark.createDataFrame(
        log, "n bigint, key string, value string, header string"
    ).createOrReplaceTempView("messages")
    trueup = in_model("orders_commands", unique_key=["ID"])
    given: dict[str, Any] = {
        "relation": "messages",
        "schema": SCHEMA,
        "value": "value",
        "ts": "n",
        "sequence_by": ["n"],
    }
    sql = str(getattr(trueup, macro)(**given | arguments))
    found: dict[str, list[Decoded]] = {name: [] for name in cases}
    for row in spark.sql(sql).collect():
        told = row["_command"]
        found[list(cases)[told["ts"]]].append(
            Decoded(
                told["op"],
                row["id"],
                row["status"],
                told["error"],
                told["error_key"],
                tuple(told["unchanged"] or ()),
                told["old_key"] and told["old_key"]["id"],
            )
        )
    spark.catalog.dropTempView("messages")
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
                error="The text must be a Debezium envelope. Got: "
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
                error='The text must be a Debezium envelope. Got: {"id": 1, "schema": "public"}',
            )
        ],
        {"id": 1},
    ),
    "a null of JSON is a delete": Message("null", [Decoded("delete", 1)], {"id": 1}),
    "an empty text is no delete": Message(
        "",
        [Decoded("upsert", 1, error="The text must be a Debezium envelope. Got: ")],
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
                    error="The text must be a Debezium envelope. Got: "
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
        event({"id": 1, "status": "new", "amount": "12"}),
        [Decoded("upsert", 1, "new", '`amount` must be decimal(10,2). Got: "12"')],
        {"id": 1},
    ),
    "a number where a text belongs is an error": Message(
        event({"id": 1, "status": 12}),
        [Decoded("upsert", 1, error="`status` must be string. Got: 12")],
        {"id": 1},
    ),
    "broken JSON is an error of its key": Message(
        '{"after": ',
        [Decoded("upsert", 1, error='The text must be a Debezium envelope. Got: {"after": ')],
        {"id": 1},
    ),
    "a row without its envelope is an error": Message(
        {"id": 1, "status": "new"},
        [
            Decoded(
                "upsert",
                1,
                error='The text must be a Debezium envelope. Got: {"id": 1, "status": "new"}',
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
                error="The text must be a Debezium envelope. Got: "
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
                error='The text must be a Debezium envelope. Got: {"op":"d","after":null}',
                error_key=hexed('{"op":"d","after":null}'),
            )
        ],
    ),
    "broken JSON is its bytes": Message(
        "{",
        [
            Decoded(
                "upsert", error="The text must be a Debezium envelope. Got: {", error_key=hexed("{")
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
    "a name that repeats counts once": Message(
        change("I", columns=columns(id=1, status="a") + columns(id=2, status="b")),
        [Decoded("upsert", 1, "a")],
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


@pytest.fixture(scope="module")
def debezium(spark: SparkSession) -> dict[str, list[Decoded]]:
    return decode(spark, "decode_debezium", DEBEZIUM, old_key="header")


@pytest.fixture(scope="module")
def keyless(spark: SparkSession) -> dict[str, list[Decoded]]:
    return decode(spark, "decode_debezium", KEYLESS, key=None)


@pytest.fixture(scope="module")
def wal2json(spark: SparkSession) -> dict[str, list[Decoded]]:
    return decode(spark, "decode_wal2json", WAL2JSON, table="public.orders")


@pytest.mark.parametrize("name", DEBEZIUM)
def test_a_debezium_message_decodes_to_its_commands(
    name: str, debezium: dict[str, list[Decoded]]
) -> None:
    assert debezium[name] == DEBEZIUM[name].expected


@pytest.mark.parametrize("name", KEYLESS)
def test_a_debezium_message_without_a_key_decodes_to_its_commands(
    name: str, keyless: dict[str, list[Decoded]]
) -> None:
    assert keyless[name] == KEYLESS[name].expected


@pytest.mark.parametrize("name", WAL2JSON)
def test_a_wal2json_message_decodes_to_its_commands(
    name: str, wal2json: dict[str, list[Decoded]]
) -> None:
    assert wal2json[name] == WAL2JSON[name].expected


def test_tick_and_order_come_from_the_message_by_default(spark: SparkSession) -> None:
    trueup = in_model("orders_commands", unique_key=["id"])
    stamped = {"timestamp": "2018-03-27 12:05:29.914496+00", "lsn": "16/B374D848"}
    for macro, message, ts, order in (
        ("decode_debezium", event({"id": 1}), 5, 7),
        ("decode_wal2json", change("I", columns=columns(id=1)) | stamped, TICK, 97_500_059_720),
    ):
        spark.createDataFrame(
            [('{"id":1}', json.dumps(message))], "key string, value string"
        ).createOrReplaceTempView("messages")
        sql = getattr(trueup, macro)(relation="messages", schema=SCHEMA, value="value")
        (row,) = spark.sql(str(sql)).collect()
        assert (row["_command"]["ts"], row["_command"]["sequence"]["_1"]) == (ts, order)
    spark.catalog.dropTempView("messages")


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
    "on": [True],
    "name": ["", "12", "a'b\"c\\d\n", "☃"],
    "raw": ["aGk="],
    "day": ["2026-01-05", "2026-01-05T00:00:00Z", "2026-01-05 10:00:00 UTC"],
    "at": ["2026-01-05 10:00:00.123456+00", "2026-01-05T10:00:00Z"],
    "local": ["2026-01-05 10:00:00"],
    "tags": [[], [1, 2]],
    "part": [{"x": 1}, {"x": None}, {"x": 1, "y": 2}],
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
    "on": ["true", 1],
    "name": [12, True, ["a"], {"a": 1}],
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
        assert json_read["error"] == f"`{name}` must be {TYPES[name]}. Got: {got}"
        assert json_read["value"][name] is None


def test_an_error_names_every_wrong_column_and_the_others_are_read(
    read_json: Callable[[Sequence[str | None]], list[Any]],
) -> None:
    long = "x" * 1000
    (json_read,) = read_json([f'{{"id": 7, "tiny": "{long}", "on": 1}}'])

    assert json_read["value"]["id"] == 7
    assert json_read["error"] == (
        f'`tiny` must be tinyint. Got: "{"x" * 99}; `on` must be boolean. Got: 1'
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


def test_a_delete_with_a_part_of_the_key_is_an_error(spark: SparkSession) -> None:
    """The replica identity has fewer columns than the key, so nobody knows which row is gone."""
    schema = {"id": "bigint", "region": "string", "status": "string"}
    trueup = in_model("orders_commands", unique_key=["id", "region"])
    for macro, message, key in (
        ("decode_wal2json", change("D", identity=columns(id=1)), {"key": None}),
        ("decode_debezium", event(None, {"id": 1}), {"key": None}),
    ):
        rows = [(json.dumps(message),)]
        spark.createDataFrame(rows, "data string").createOrReplaceTempView("parts")
        given = key if macro == "decode_debezium" else {}
        sql = getattr(trueup, macro)(relation="parts", schema=schema, value="data", **given)
        (row,) = spark.sql(str(sql)).collect()
        assert row["_command"]["op"] == "upsert"
        assert row["_command"]["error_key"] == hexed('{"id":1}')
        assert row["_command"]["error"].startswith(
            "A delete must have all columns of the key: id, region. Got: "
        )
    spark.catalog.dropTempView("parts")


def test_a_bytea_of_wal2json_is_hex(spark: SparkSession) -> None:
    given = ["deadbeef", "", "DE", "dea", "aGk="]
    rows = [(json.dumps(change("I", columns=columns(id=1, doc=text))),) for text in given]
    spark.createDataFrame(rows, "data string").coalesce(1).createOrReplaceTempView("bytea")
    schema = {"id": "bigint", "doc": "binary"}
    trueup = in_model("orders", unique_key="id")
    sql = trueup.decode_wal2json(relation="bytea", schema=schema)
    found = [(row["doc"], row["_command"]["error"]) for row in spark.sql(str(sql)).collect()]
    spark.catalog.dropTempView("bytea")
    assert [doc and bytes(doc) for doc, _ in found] == [
        b"\xde\xad\xbe\xef",
        b"",
        b"\xde",
        None,
        None,
    ]
    assert [error for _, error in found[:3]] == [None] * 3
    assert found[3][1] == '`doc` must be binary. Got: "dea"'


def test_a_null_gives_no_value_and_no_error(
    read_json: Callable[[Sequence[str | None]], list[Any]],
) -> None:
    for json_read in read_json([None, "null"]):
        assert json_read["error"] is None
        assert set(json_read["value"]) == {None}


def test_a_row_that_the_next_extract_lacks_is_deleted(spark: SparkSession) -> None:
    extracts = [
        (1, "a", "x", 1),
        (1, None, "x", 2),
        (2, "a", "x", 1),
        (2, "b", "x", 1),
        (3, None, "x", 3),
        (3, "b", "x", 1),
        # A row without a tick stays a command, for the check that refuses it.
        (None, "c", "x", 1),
    ]
    spark.createDataFrame(extracts, "day int, k1 string, k2 string, v int").createOrReplaceTempView(
        "extracts"
    )
    sql = in_model("orders_commands").snapshot_commands("extracts", ["k1", "k2"], "day")

    found = spark.sql(f"select snapshot_ts, k1, v, is_absent from {sql}").collect()

    assert sorted((tuple(row) for row in found), key=str) == sorted(
        [(day, k1, v, False) for day, k1, _, v in extracts]
        + [(2, None, 2, True), (3, "a", 1, True)],
        key=str,
    )
    spark.catalog.dropTempView("extracts")


def test_extracts_may_use_any_column_name_except_the_two_added_ones(
    spark: SparkSession, shop: Project
) -> None:
    names = ["step", "extract_ts", "next_ts", "this_ts", "present_ts", "_key_1", "present", "col"]
    columns = ", ".join(f"{i} as {name}" for i, name in enumerate(names))
    spark.sql(
        f"create or replace temp view named as select id as extracts, day, {columns}"
        " from values (1, 1), (2, 1), (1, 2) as log (id, day)"
    )
    sql = in_model("orders_commands").snapshot_commands("named", ["extracts"], "day")

    found = spark.sql(f"select * from {sql}")

    assert found.columns == ["extracts", "day", *names, "snapshot_ts", "is_absent"]
    assert {row[2:-2] for row in found.collect()} == {tuple(range(len(names)))}
    rows = sorted((row[0], *row[-2:]) for row in found.collect())
    assert rows == [(1, 1, False), (1, 2, False), (2, 1, False), (2, 2, True)]
    spark.catalog.dropTempView("named")

    shop.sql("create table {}.extracts (id int, Snapshot_TS int, v int) using {format}")
    shop.write(
        "models/twice_commands.sql",
        "{{ config(unique_key=['id']) }}{{ trueup.commands(relation=trueup.snapshot_commands("
        "relation='envelopes.extracts', unique_key=['id'], ts='Snapshot_TS'), ts='snapshot_ts',"
        " sequence_by=['is_absent'], delete_when='is_absent', columns=['v']) }}",
    )
    shop.run("twice_commands", fails=True)
    (said_so,) = shop.messages
    assert "must be without columns of the names that it adds, snapshot_ts and is_absent" in said_so
    assert "Got: snapshot_ts" in said_so
    (shop.folder / "models/twice_commands.sql").unlink()
    shop.configure()


@pytest.mark.long
def test_a_run_that_reads_what_arrived_finds_the_deletes_of_an_extract(
    own_project: Callable[[str], Project],
) -> None:
    """The rows of an extract land one after the other, so most of them land before the last."""
    project = own_project("extracts")
    project.sql("create table {}.days (id int, v int, day int, landed_at int) using {format}")
    for role in ROLES[1:]:
        project.write(f"models/c/c_{role}.sql", f"{{{{ trueup.{role}('c') }}}}")
    project.write("models/c/c.sql", "{{ trueup.collection('c') }}")
    extracts = f"relation='{project.name}.days', unique_key=['id'], ts='day'"
    project.write(
        "models/c/c_commands.sql",
        f"{{{{ trueup.commands(trueup.snapshot_commands({extracts}), ts='snapshot_ts',"
        " sequence_by=['is_absent'], delete_when='is_absent', columns=['v'],"
        " arrived='snapshot_ts') }}",
    )
    project.configure(c={"+unique_key": ["id"]})
    days = [
        ["(1, 1, 1, 10)", "(2, 1, 1, 11)", "(3, 1, 1, 12)"],
        ["(2, 2, 2, 20)", "(3, 1, 2, 21)"],
        ["(3, 1, 3, 30)"],
    ]
    for rows in days:
        project.sql(f"insert into {{}}.days values {', '.join(rows)}")
        project.run()

    assert [tuple(row) for row in project.sql("select id, v from {}.c")] == [(3, 1)]
    statistics = project.progress("c")[-1]["_statistics"]
    assert (statistics.whole_log_reason, statistics.late_dropped) == (None, 0)


@pytest.fixture(scope="module")
def shop(new_project: Callable[[str], Project]) -> Project:
    """A collection that reads Debezium. Each run settles the messages appended before it."""
    project = new_project("envelopes")
    project.sql(
        "create table {}.orders_log (n bigint, key string, value string, header string)"
        " using {format}"
    )
    project.write("models/orders/orders.sql", "{{ trueup.collection('orders') }}")
    for role in ROLES[1:]:
        project.write(f"models/orders/orders_{role}.sql", f"{{{{ trueup.{role}('orders') }}}}")
    project.write(
        "models/orders/orders_commands.sql",
        "{{ trueup.debezium(relation='envelopes.orders_log', ts='n', old_key='header',"
        f" schema={json.dumps(SCHEMA)}) }}}}",
    )
    project.configure(orders={"+unique_key": ["id"]})
    return project


def append(project: Project, *messages: tuple[Any, ...]) -> None:
    texts = [(n, *map(as_text, parts)) for n, *parts in messages]
    project.insert("orders_log", texts)


@pytest.mark.long
def test_a_debezium_log_gives_the_right_rows_and_errors_after_each_run(shop: Project) -> None:
    def shown() -> list[tuple[Any, ...]]:
        rows = shop.sql("select id, status, cast(amount as string) from {}.orders order by id")
        return [tuple(row) for row in rows]

    def errors() -> list[tuple[Any, ...]]:
        rows = shop.sql("select id, _error_key, _error from {}.orders_errors order by id")
        return [tuple(row) for row in rows]

    append(
        shop,
        (1, {"id": 9}, event({"id": 9, "status": "old"}, op="c"), None),
        (2, None, {"op": "t", "source": {"lsn": 6}}, None),
        (2, {"id": 1}, event({"id": 1, "status": "long", "amount": 1}, op="c"), None),
        (2, {"id": 2}, event({"id": 2, "status": "new", "amount": "2"}, op="c"), None),
        (2, {"id": 3}, event({"id": 3, "status": "new", "amount": 3}, op="c"), None),
        (2, "oops", event({"id": 4, "status": "new"}, op="c"), None),
        (2, {"id": 5}, event({"id": 5, "status": "kept"}, op="c"), None),
    )
    shop.run()
    assert shown() == [(1, "long", "1.00"), (3, "new", "3.00"), (5, "kept", None)]
    assert errors() == [
        (None, hexed("oops"), "the key cannot be decoded"),
        (2, None, '`amount` must be decimal(10,2). Got: "2"'),
    ]

    append(
        shop,
        (3, {"id": 1}, event({"id": 1, "status": LOST, "amount": 10}), None),
        (3, {"id": 2}, event({"id": 2, "status": "good", "amount": 2}), None),
        (3, {"id": 3}, event(None, {"id": 3}, op="d"), None),
        (3, {"id": 3}, None, None),
        (4, {"id": 1}, event(None, {"id": 1}, op="d"), None),
        (4, {"id": 1}, None, None),
        (4, {"id": 7}, event({"id": 7, "status": LOST, "amount": 11}, op="c"), {"id": 1}),
        (5, {"id": 8}, event({"id": 8, "status": LOST}, {"id": 5}), None),
    )
    shop.run()
    assert shown() == [(2, "good", "2.00"), (7, "long", "11.00"), (8, "kept", None)]
    assert errors() == [(None, hexed("oops"), "the key cannot be decoded")]


@pytest.mark.long
def test_two_keys_that_change_places_by_a_third_one_keep_their_values(shop: Project) -> None:
    """PostgreSQL checks a key row by row, so one of the two rows goes to a free key first."""
    shop.sql("create table {}.swaps_log (n bigint, data string) using {format}")
    shop.write("models/swaps/swaps.sql", "{{ trueup.collection('swaps') }}")
    for role in ROLES[1:]:
        shop.write(f"models/swaps/swaps_{role}.sql", f"{{{{ trueup.{role}('swaps') }}}}")
    shop.write(
        "models/swaps/swaps_commands.sql",
        "{{ trueup.wal2json(relation='envelopes.swaps_log', ts='n',"
        f" schema={json.dumps(SCHEMA)}) }}}}",
    )
    shop.configure(swaps={"+unique_key": ["id"]})

    def add(n: int, lsn: int, **message: Any) -> tuple[int, str]:
        return n, json.dumps(change(**message, lsn=f"0/{lsn}"))

    def move(n: int, lsn: int, before: int, after: int) -> tuple[int, str]:
        parts = {"columns": columns(id=after, amount=after), "identity": columns(id=before)}
        return add(n, lsn, action="U", **parts)

    def shown() -> list[tuple[Any, ...]]:
        rows = shop.sql("select id, status, cast(amount as int) from {}.swaps order by id")
        return [tuple(row) for row in rows]

    inserts = [
        add(1, key, action="I", columns=columns(id=key, status=f"of {key}", amount=key))
        for key in (1, 2)
    ]
    for messages in (inserts, [move(2, 3, 1, 9), move(2, 4, 2, 1), move(2, 5, 9, 2)]):
        shop.insert("swaps_log", messages)
        shop.run("models/swaps")
    assert shown() == [(1, "of 2", 1), (2, "of 1", 2)]

    # A deferrable key allows this. The messages do not say which of two rows of a key moves.
    shop.insert("swaps_log", [move(3, 6, 1, 2), move(3, 7, 2, 1)])
    shop.run("models/swaps")
    assert shown() == [(1, "of 2", 1)]
