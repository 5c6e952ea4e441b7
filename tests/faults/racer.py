"""One of the processes that race: runs the same collection again and again, in step with others.

`python -m tests.faults.racer FOLDER ROUNDS NUMBER [INPUT]`: FOLDER holds the project; a file there
for each process and round says that it is ready, so that all start a round together. Prints one
JSON line a round: whether the run succeeded, and what dbt said.

Without INPUT the collection is of commands, and each round settles one tick more. With it the
collection is by a select, and INPUT the table that it reads: each round begins with one row more.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from tests.project import messages

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

PROCESSES = 2
SHARD = ("race_batch", "race_changelog", "race_state")
BY_SELECT = ("race_corrections", *SHARD)
PATIENCE = 300
"""Seconds to wait for the other process at a round."""


def meet(folder: Path, round_no: int, number: int) -> None:
    """Wait until every process has come to this round."""
    (folder / f"round_{round_no}_{number}").touch()
    until = time.monotonic() + PATIENCE
    while len(list(folder.glob(f"round_{round_no}_*"))) < PROCESSES:
        if time.monotonic() > until:
            message = f"process {number} waited in vain at round {round_no}"
            raise TimeoutError(message)
        time.sleep(0.01)


def main() -> None:
    """Race."""
    folder, rounds, number = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    table = sys.argv[4] if len(sys.argv) > 4 else None
    arguments = ["--project-dir", str(folder), "--quiet", "--no-use-colors"]
    arguments += ["--target-path", str(folder / f"target_{number}")]
    arguments += ["--log-path", str(folder / f"logs_{number}")]
    dbt = dbtRunner(manifest=cast("Manifest", dbtRunner().invoke(["parse", *arguments]).result))
    for round_no in range(rounds):
        if table and number == 0 and round_no:
            SparkSession.active().sql(f"insert into {table} values ({round_no})")
        meet(folder, round_no, number)
        # Both settle the same tick, and nothing but the append can tell who was first.
        until = json.dumps({"trueup_until": round_no + 1})
        # The first round over commands makes the views, too.
        models = BY_SELECT if table else SHARD if round_no else ()
        selected = ["--select", *models] if models else []
        invoked = dbt.invoke(["run", *arguments, *selected, "--vars", until])
        print(json.dumps({"success": invoked.success, "said": messages(invoked)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
