"""The tables of the database, the models that follow them, and what makes two rows equal."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

DAY = "YYYY-MM-DD HH24:MI:SS.US"
SAME_DAY = "yyyy-MM-dd HH:mm:ss.SSSSSS"


class Kind(NamedTuple):
    """A type of a column."""

    here: str
    """In the database."""
    there: str
    """In the model."""
    read_here: str = "{}::text"
    """Both of these expressions give the same text or number for the same value."""
    read_there: str = "string({})"


KINDS = {
    "smallint": Kind("smallint", "smallint"),
    "int": Kind("int", "int"),
    "bigint": Kind("bigint", "bigint"),
    "numeric": Kind("numeric(18,4)", "decimal(18,4)"),
    "real": Kind("real", "float", "{}::float8", "double({})"),
    "double": Kind("double precision", "double", "{}", "{}"),
    "boolean": Kind("boolean", "boolean"),
    "text": Kind("text", "string"),
    "char": Kind("char(8)", "string", "rpad({}, 8)"),
    "bytea": Kind("bytea", "binary", "encode({}, 'hex')", "lower(hex({}))"),
    "date": Kind("date", "date"),
    "time": Kind("time", "string"),
    "timestamp": Kind(
        *("timestamp", "timestamp_ntz", f"to_char({{}}, '{DAY}')"),
        f"date_format({{}}, '{SAME_DAY}')",
    ),
    "timestamptz": Kind(
        *("timestamptz", "timestamp", f"to_char({{}} at time zone 'UTC', '{DAY}')"),
        f"date_format({{}}, '{SAME_DAY}')",
    ),
    "uuid": Kind("uuid", "string"),
    "json": Kind("json", "string"),
    "jsonb": Kind("jsonb", "string"),
    "ints": Kind("int[]", "array<int>", "array_to_json({})::text", "to_json({})"),
    "inet": Kind("inet", "string", "host({})"),
    "mood": Kind("mood", "string"),
}


OWN_TESTS = ["trueup.consolidates_to_state", "trueup.matches_certificate"]
"""The tests of a collection without its log."""


@dataclass(frozen=True)
class Table:
    """A table, and the collection of the same name."""

    name: str
    key: dict[str, str]
    """The kinds of the key columns."""
    values: dict[str, str]
    """The kinds of the other columns."""

    @property
    def columns(self) -> dict[str, str]:
        """The kinds of all columns."""
        return self.key | self.values

    def create(self) -> str:
        """The statement that creates it."""
        columns = ", ".join(f"{name} {KINDS[kind].here}" for name, kind in self.columns.items())
        return f"create table {self.name} ({columns}, primary key ({', '.join(self.key)}))"

    def select_here(self) -> str:
        """A query of the database for all rows."""
        return self._select([KINDS[kind].read_here for kind in self.columns.values()], self.name)

    def select_there(self, relation: str) -> str:
        """A query of Spark for all rows."""
        return self._select([KINDS[kind].read_there for kind in self.columns.values()], relation)

    def _select(self, reads: list[str], relation: str) -> str:
        pairs = zip(reads, self.columns, strict=True)
        return f"select {', '.join(read.format(name) for read, name in pairs)} from {relation}"

    def model(self, log: str) -> str:
        """The model over the messages of Debezium."""
        given = {"relation": log, "reclock": ["topic", "partition", "offset"], **self._arguments()}
        return self._model("debezium", given)

    def model_by_commit(self, log: str) -> str:
        """The model over the changes of wal2json, with the place of the commit as its tick."""
        given = {"relation": log, "ts": "commit_lsn", **self._arguments()}
        return self._model("wal2json", {k: given[k] for k in ("relation", "ts", "schema", "table")})

    def _model(self, macro: str, given: dict[str, Any]) -> str:
        arguments = ", ".join(f"{name}={json.dumps(one)}" for name, one in given.items())
        config = f"materialized='trueup', unique_key={list(self.key)}"
        return f"{{{{ config({config}) }}}}\n{{{{ trueup.{macro}({arguments}) }}}}\n"

    def _arguments(self) -> dict[str, Any]:
        """The arguments of `trueup.debezium`."""
        return {
            "schema": {name: KINDS[kind].there for name, kind in self.columns.items()},
            "table": f"public.{self.name}",
            "old_key": "string(filter(headers, one -> one.key = '__debezium.oldkey')[0].value)",
            "snapshot": True,
        }

    def tests(self, log: str) -> dict[str, Any]:
        """The tests of the collection, as YAML."""
        messages = {"macro": "debezium", **self._arguments()}
        agrees = {
            "log": log,
            "key": list(self.key),
            "columns": list(self.values),
            "messages": messages,
        }
        tests = [{"trueup.agrees_with_log": {"arguments": agrees}}, *OWN_TESTS]
        return {"name": self.name, "data_tests": tests}


def whole(bits: int) -> Callable[[Random], int]:
    """Random whole numbers of a type with so many bits."""
    most = 2 ** (bits - 1)
    return lambda random: random.choice([0, 1, -1, most - 1, -most, random.randrange(-most, most)])


def fraction(random: Random) -> float:
    """A number with a fraction, or one of the special ones."""
    special = [float("nan"), float("inf"), float("-inf"), -0.0, 0.1]
    return random.choice([*special, random.uniform(-1e6, 1e6)])


def text(random: Random) -> str:
    """A text that something may take for something else."""
    return random.choice(["", "a", "NULL", "ü 'quoted' \"\\", "{}", "line\nline", " 7"])


def time(random: Random) -> str:
    """A time of a day."""
    return f"{random.randrange(24):02}:30:0{random.randrange(9)}.{random.randrange(10**6):06}"


def day(first: int, last: int, random: Random) -> str:
    """A day between two years."""
    return f"{random.randrange(first, last):04}-0{random.randint(1, 9)}-{random.randint(10, 28)}"


def document(random: Random) -> str:
    """A text in JSON."""
    return json.dumps({"b": [random.random(), None, 'ü"\\'], "a": random.randrange(9)})


VALUES: dict[str, Callable[[Random], Any]] = {
    "smallint": whole(16),
    "int": whole(32),
    "bigint": whole(64),
    "numeric": lambda random: f"{random.randrange(-(10**17), 10**17) / 10000:.4f}",
    "real": fraction,
    "double": fraction,
    "boolean": lambda random: random.random() < 0.5,
    "text": text,
    "char": lambda random: text(random)[:8],
    "bytea": lambda random: random.randbytes(random.choice([0, 1, 40])),
    "date": lambda random: day(1, 9999, random),
    "time": time,
    "timestamp": lambda random: f"{day(1600, 2300, random)} {time(random)}",
    "timestamptz": lambda random: f"{day(1600, 2300, random)} {time(random)}",
    "uuid": lambda random: f"{random.getrandbits(128):032x}",
    "json": document,
    "jsonb": document,
    "ints": lambda random: [random.choice([None, 1, -5]) for _ in range(random.randrange(4))],
    "inet": lambda random: f"192.168.0.{random.randrange(256)}",
    "mood": lambda random: random.choice(["sad", "ok", "glad"]),
}


def value(random: Random, kind: str) -> Any:
    """A random value of a kind, as psycopg takes it; often null."""
    return None if random.random() < 0.15 else VALUES[kind](random)


def long_text(random: Random) -> str:
    """A text that the database stores beside its row: an update that keeps it does not send it."""
    return random.randbytes(3000).hex()


SEED = int(os.environ.get("TRUEUP_SEED", "1"))
THINGS = Table(
    "things",
    {"id": "int"},
    # Of two even seeds, one has every second kind, and one the others.
    {f"a_{kind}": kind for kind in [*KINDS][SEED // 2 % 2 :: 2]},
)
NOTES = Table(
    "notes",
    {"shop": "text", "number": "int"},
    {"title": "text", "body": "text", "data": "bytea", "amount": "numeric"},
)
MARKS = Table("marks", {"id": "bigint"}, {"at": "timestamptz"})
ACCOUNTS = [
    Table(f"accounts_{number}", {"id": "int"}, {"balance": "bigint", "filler": "text"})
    for number in range(1, int(os.environ.get("TRUEUP_ACCOUNTS", "1")) + 1)
]
"""What pgbench writes, in the long form of an odd seed. With 8 of them there are ten tables."""
