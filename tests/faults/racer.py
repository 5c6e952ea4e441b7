"""One of the processes that race: runs the same collections again and again, in step with others.

`python -m tests.faults.racer FOLDER NUMBER RACES`: FOLDER holds the project, and RACES is a JSON
list of what `Race` has, run one after the other: a Spark of its own is what costs a process most. A
file in FOLDER for each process and round says that it is ready, so that all start a round together.
Prints one JSON line a round: the collection, whether the run succeeded, and what dbt said.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from tests.project import QUIET, messages

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

PROCESSES = 2
SHARD = ("batch", "changelog", "state")
BY_SELECT = ("corrections", *SHARD)
PATIENCE = 300
"""Seconds to wait for the other process at a round."""


class Race(NamedTuple):
    """A collection that the processes run.

    Without `table` it is of commands, and each round settles one tick more. With it the collection
    is by a select, and `table` what it reads: each round begins with one row more.
    """

    name: str
    rounds: int
    table: str | None = None

    def models(self, round_no: int) -> list[str]:
        """What a round runs: the first one over commands makes the views, too."""
        if self.table is None and round_no == 0:
            return [f"path:models/{self.name}"]
        return [f"{self.name}_{role}" for role in (BY_SELECT if self.table else SHARD)]


def meet(folder: Path, name: str, number: int) -> None:
    """Wait until every process has come to this round."""
    (folder / f"{name}_{number}").touch()
    until = time.monotonic() + PATIENCE
    while len(list(folder.glob(f"{name}_*"))) < PROCESSES:
        if time.monotonic() > until:
            message = f"process {number} waited in vain at {name}"
            raise TimeoutError(message)
        time.sleep(0.01)


def main() -> None:
    """Race."""
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    races = [Race(*race) for race in json.loads(sys.argv[3])]
    arguments = ["--project-dir", str(folder), *QUIET]
    arguments += ["--target-path", str(folder / f"target_{number}")]
    arguments += ["--log-path", str(folder / f"logs_{number}")]
    dbt = dbtRunner(manifest=cast("Manifest", dbtRunner().invoke(["parse", *arguments]).result))
    for race in races:
        for round_no in range(race.rounds):
            if race.table and number == 0 and round_no:
                SparkSession.active().sql(f"insert into {race.table} values ({round_no})")
            meet(folder, f"{race.name}_round_{round_no}", number)
            # Both settle the same tick, and nothing but the append can tell who was first.
            until = json.dumps({"trueup_until": round_no + 1})
            selected = ["--select", *race.models(round_no)]
            invoked = dbt.invoke(["run", *arguments, *selected, "--vars", until])
            run = {"name": race.name, "success": invoked.success, "said": messages(invoked)}
            print(json.dumps(run), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
