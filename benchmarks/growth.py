"""What a batch of 1,000 commands costs as the log and the table grow.

    python -m benchmarks.growth [--logs SMALL LARGE] [--messages SMALL LARGE] [--rows N]
                                [--rounds N] [--only LINE ...]

Each line compares two collections that take the same batches in turn. The medians and their ratio
are printed; the first two rounds are not counted.

- `log`: a log of LARGE commands against one of SMALL commands, with the same rows
- `wal2json`, `debezium`: the same with messages in JSON, which a run has to parse
- `correct`: as `log`, with `late: correct` and no late command
- `newest`: as `log`, with `late: newest`, where a tenth of each batch comes late
- `verify`: a state of N rows with `verify: always` against one with `verify: never`

Seconds are those of the models that write: corrections, batch, changelog, state.
"""

# ruff: noqa: S608 - all SQL is made of numbers and names that stand here

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.correction import say
from benchmarks.degradation import ROOT, start
from dbt_trueup.plugin import session
from tests.project import TABLES, Project

COMMANDS = 1_000
KEYS = 100_000
LINES = ("log", "wal2json", "debezium", "correct", "newest", "verify")
TICKS = 10
"""The ticks of the first batch. With few ticks a large log leaves a changelog of the same size."""
WARM_ROUNDS = 2
MESSAGES = {
    "wal2json": """concat(
        '{{"action":"U","schema":"public","table":"orders","columns":',
        '[{{"name":"k","type":"bigint","value":', {k},
        '}},{{"name":"v","type":"text","value":"v', {v}, '"}}],"identity":[]}}'
    )""",
    "debezium": """concat(
        '{{"before":null,"after":{{"k":', {k}, ',"v":"v', {v}, '"}},"source":{{"table":"orders"}},',
        '"op":"u","ts_ms":1}}'
    )""",
}
"""The message of an upsert in each envelope, as an SQL expression."""
SCHEMA = {"k": "bigint", "v": "string"}


@dataclass(frozen=True)
class Side:
    """One of the two collections that a line compares."""

    name: str
    commands: int
    keys: int
    options: dict[str, object]
    envelope: str | None = None
    late: int = 0
    """How many commands of a batch come late, by one tick."""


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, nargs=2, default=[1_000_000, 20_000_000])
    parser.add_argument("--messages", type=int, nargs=2, default=[50_000, 1_000_000])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=LINES)
    given = parser.parse_args()
    lines = {
        "log": [Side(f"log_{n}", n, KEYS, {}) for n in given.logs],
        **{
            envelope: [
                Side(f"{envelope}_{n}", n, KEYS, {}, envelope=envelope) for n in given.messages
            ]
            for envelope in MESSAGES
        },
        "correct": [Side(f"correct_{n}", n, KEYS, {"late": "correct"}) for n in given.logs],
        "newest": [
            Side(f"newest_{n}", n, KEYS, {"late": "newest"}, late=COMMANDS // 10)
            for n in given.logs
        ],
        "verify": [
            Side(f"verify_{verify}", given.rows, given.rows, {"verify": verify})
            for verify in ("never", "always")
        ],
    }
    session.install()
    with tempfile.TemporaryDirectory() as folder:
        spark = start(Path(folder))
        os.environ["DBT_PROFILES_DIR"] = folder
        (Path(folder) / "project").mkdir()
        project = Project(Path(folder) / "project", "growth", spark, ROOT)
        for line, sides in lines.items():
            if given.only and line not in given.only:
                continue
            seconds = measure(project, sides, given.rounds)
            base, other = (median(each) for each in seconds)
            say(
                f"{line:9} {sides[0].name} {base:.2f} s, {sides[1].name} {other:.2f} s,"
                f" ratio {other / base:.2f} ({given.rounds} rounds)"
            )


def measure(project: Project, sides: list[Side], rounds: int) -> list[list[float]]:
    """Run the same batches of both collections in turn, and return the seconds of each."""
    for side in sides:
        add(project, side)
        insert(
            project,
            side,
            f"range({side.commands})",
            f"cast(id * {TICKS} div {side.commands} as bigint)",
        )
        project.run(f"{side.name}_commands", *models(side))
    seconds: list[list[float]] = [[] for _ in sides]
    for number in range(rounds + WARM_ROUNDS):
        for side, each in zip(sides, seconds, strict=True):
            late = f"{TICKS + number} - if(id < {side.late}, 1, 0)"
            insert(project, side, f"range({COMMANDS})", late, step=97 + number)
            began = perf_counter()
            project.run(*models(side))
            if number >= WARM_ROUNDS:
                each.append(perf_counter() - began)
    return seconds


def models(side: Side) -> list[str]:
    """Name the models that write, in their sequence."""
    return [f"{side.name}_{role}" for role in TABLES]


def add(project: Project, side: Side) -> None:
    """Write the models of a collection, and create its empty log."""
    columns = "value string" if side.envelope else "k bigint, v string"
    log = f"growth.{side.name}_log"
    project.spark.sql(f"create table {log} (ts bigint, place bigint, {columns}) using iceberg")
    given: dict[str, object] = {"relation": log, "ts": "ts", "sequence_by": ["place"]}
    if side.envelope:
        given["schema"] = SCHEMA
    if side.envelope == "wal2json":
        given |= {"table": "public.orders", "value": "value"}
    elif side.envelope == "debezium":
        given["key"] = None
    else:
        given["columns"] = ["v"]
    call = ", ".join(
        f"{argument}={json.dumps(item) if item else 'none'}" for argument, item in given.items()
    )
    macro = side.envelope or "commands"
    project.write(
        f"models/{side.name}/{side.name}_commands.sql", f"{{{{ trueup.{macro}({call}) }}}}"
    )
    for role in TABLES:
        text = f"{{{{ trueup.{role}('{side.name}') }}}}"
        project.write(f"models/{side.name}/{side.name}_{role}.sql", text)
    meta = {"trueup": side.options}
    project.configure(**{side.name: {"+unique_key": ["k"], "+meta": meta}})


def insert(project: Project, side: Side, rows: str, ts: str, step: int = 1) -> None:
    """Append commands to the log of a collection. Each `step`-th key gets one."""
    key, value = f"pmod(id * {step}, {side.keys})", f"id + {step}"
    data = (
        MESSAGES[side.envelope].format(k=key, v=value)
        if side.envelope
        else f"{key}, concat('v', {value})"
    )
    project.spark.sql(f"insert into growth.{side.name}_log select {ts}, id, {data} from {rows}")


if __name__ == "__main__":
    main()
