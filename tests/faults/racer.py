"""One of the processes that race. It runs the same collection many times, in step with the others.

Usage: `python -m tests.faults.racer FOLDER NUMBER RACE`. FOLDER holds the project. RACE is a JSON
list with the fields of a `Race`. For each round, each process makes a file in FOLDER when it is
ready, so that all processes start the round together. For each round, the process prints one JSON
line: the success of the run, and the messages of dbt.
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
STEPS = ("batch", "changelog", "state")
BY_SELECT = ("corrections", *STEPS)
PATIENCE = 300
"""Seconds to wait for the other process at a round."""


class Race(NamedTuple):
    """A collection that the processes run.

    Without `table`, the collection reads commands, and each round settles one more tick. With
    `table`, the collection is a select from that table, and each round begins with one more row.
    """

    name: str
    rounds: int
    table: str | None = None

    def models(self, round_no: int) -> list[str]:
        """The models of a round. The first round over commands makes the views, too."""
        if self.table is None and round_no == 0:
            return [f"path:models/{self.name}"]
        return [f"{self.name}_{role}" for role in (BY_SELECT if self.table else STEPS)]


def meet(folder: Path, name: str, number: int) -> None:
    """Wait until every process has reached this round."""
    (folder / f"{name}_{number}").touch()
    until = time.monotonic() + PATIENCE
    while len(list(folder.glob(f"{name}_*"))) < PROCESSES:
        if time.monotonic() > until:
            message = f"process {number} waited in vain at {name}"
            raise TimeoutError(message)
        time.sleep(0.01)


def main() -> None:
    """Run the race."""
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    race = Race(*json.loads(sys.argv[3]))
    arguments = ["--project-dir", str(folder), *QUIET]
    arguments += ["--target-path", str(folder / f"target_{number}")]
    arguments += ["--log-path", str(folder / f"logs_{number}")]
    dbt = dbtRunner(manifest=cast("Manifest", dbtRunner().invoke(["parse", *arguments]).result))
    for round_no in range(race.rounds):
        if race.table and number == 0 and round_no:
            SparkSession.active().sql(f"insert into {race.table} values ({round_no})")
        meet(folder, f"{race.name}_round_{round_no}", number)
        # Both settle the same tick. Only the append decides which process is first.
        until = json.dumps({"trueup_until": round_no + 1})
        selected = ["--select", *race.models(round_no)]
        invoked = dbt.invoke(["run", *arguments, *selected, "--vars", until])
        run = {"success": invoked.success, "said": messages(invoked)}
        print(json.dumps(run), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
