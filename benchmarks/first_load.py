"""What the first load of a large log costs, against plain statements that write the same rows.

    python -m benchmarks.first_load [--commands N] [--keys N] [--ticks N] [--rounds N]
                                    [--only LINE]

Each round measures every line once, in turn. The medians and the ratios are printed.

- `snapshot`: a collection with `first_batch: snapshot`, against one `create table as select` that
  takes the last command of each key by `row_number`
- `history`: a collection with its whole history, against one `create table as select` that copies
  the updates of its changelog, and against one that makes them from the log by window functions

Seconds of a collection are those of the models that write: corrections, batch, changelog, state.
"""

# ruff: noqa: S608 - all SQL is made of numbers and names that stand here

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.correction import say
from benchmarks.degradation import ROOT, start
from dbt_trueup.plugin import session
from tests.project import TABLES, Project

if TYPE_CHECKING:
    from collections.abc import Callable

LAST_COMMANDS = """
create or replace table first_load.last_commands using iceberg as
select k, v
from (
    select *, row_number() over (partition by k order by ts desc, place desc) as place_from_last
    from first_load.log
)
where place_from_last = 1
"""
COPY_OF_UPDATES = """
create or replace table first_load.copied_updates using iceberg as
select k, v, _ts, _diff
from first_load.history_changelog
where _kind = 'update'
"""
UPDATES_OF_LOG = """
create or replace table first_load.made_updates using iceberg as
with last_of_tick as (
    select k, v, ts, lag(struct(v)) over (partition by k order by ts) as prior
    from (
        select *, row_number() over (partition by k, ts order by place desc) as place_from_last
        from first_load.log
    )
    where place_from_last = 1
)
select k, side.value.v, ts as _ts, side._diff
from last_of_tick
lateral view inline(
    array(struct(prior as value, -1L as _diff), struct(struct(v) as value, 1L as _diff))
) side as value, _diff
where not (prior <=> struct(v)) and side.value is not null
"""

PEERS = {
    "snapshot": {"last commands": LAST_COMMANDS},
    "history": {"copy of the updates": COPY_OF_UPDATES, "updates by windows": UPDATES_OF_LOG},
}
"""The lines, each with the statements that it is set against."""


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", type=int, default=20_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--ticks", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=PEERS, action="append")
    given = parser.parse_args()
    lines = given.only or list(PEERS)
    session.install()
    with tempfile.TemporaryDirectory() as folder:
        spark = start(Path(folder))
        os.environ["DBT_PROFILES_DIR"] = folder
        (Path(folder) / "project").mkdir()
        project = Project(Path(folder) / "project", "first_load", spark, ROOT)
        spark.sql(
            "create table first_load.log (ts bigint, place bigint, k bigint, v string)"
            " using iceberg"
        )
        spark.sql(
            f"insert into first_load.log select id * {given.ticks} div {given.commands}, id,"
            f" pmod(xxhash64(id), {given.keys}), concat('v', id) from range({given.commands})"
        )
        for name in lines:
            add(project, name)
            project.run(f"{name}_commands")
        seconds: dict[str, list[float]] = {}
        for _ in range(given.rounds):
            for name in lines:
                drop(project, name)
                load = [f"{name}_{role}" for role in TABLES]
                measure(seconds, name, lambda models=load: project.run(*models))  # type: ignore[misc]
                for peer, sql in PEERS[name].items():
                    measure(seconds, peer, lambda sql=sql: project.spark.sql(sql))  # type: ignore[misc]
        for name in lines:
            own = median(seconds[name])
            for peer in PEERS[name]:
                other = median(seconds[peer])
                say(f"{name:9} {own:.1f} s, {peer} {other:.1f} s, ratio {own / other:.2f}")
        say(
            f"{given.commands:,} commands, {given.keys:,} keys, {given.ticks:,} ticks,"
            f" {given.rounds} rounds"
        )


def measure(seconds: dict[str, list[float]], name: str, act: Callable[[], object]) -> None:
    """Add the seconds of one call."""
    began = perf_counter()
    act()
    seconds.setdefault(name, []).append(perf_counter() - began)


def add(project: Project, name: str) -> None:
    """Write the models of a collection over the log."""
    call = "relation='first_load.log', ts='ts', sequence_by=['place'], columns=['v']"
    project.write(f"models/{name}/{name}_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
    for role in TABLES:
        project.write(f"models/{name}/{name}_{role}.sql", f"{{{{ trueup.{role}('{name}') }}}}")
    meta = {"trueup": {"first_batch": name}}
    project.configure(**{name: {"+unique_key": ["k"], "+meta": meta}})


def drop(project: Project, name: str) -> None:
    """Drop the tables of a collection, so that the next run is its first."""
    for role in TABLES:
        project.spark.sql(f"drop table if exists first_load.{name}_{role} purge")


if __name__ == "__main__":
    main()
