"""Settles millions of commands with a driver of 1 GB. One key has half of all commands.

Usage: `python -m tests.engines.on_a_small_driver FOLDER PACKAGE`. It is a process of its own,
because a JVM keeps its size. It writes the start and the end of each run to `runs.json`, in
milliseconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.engines.script import KEY, VALUE, agrees, open_project
from tests.engines.servers import settings

SMALL_DRIVER = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}

BATCHES = [(0, 2_000_000), (2_000_000, 2_200_000)]
"""The numbers of the commands that arrive before each run."""

COMMANDS = """
insert into {{}}.big_log (log_ts, log_order, log_delete, k, v)
select
    id div 2000,
    id,
    id % 7 = 0 and id >= 2000000,
    case when id % 2 = 0 then 'hot' else concat('key ', id % 100003) end,
    concat('value ', id)
from range({}, {})
"""

RIGHT = """
select k, max_by(v, log_order) as v from {}.big_log
group by k having not max_by(log_delete, log_order)
"""
"""The rows that the collection must have: the last command of each key, unless it is a delete."""


def main() -> None:
    """Run the batches. The process fails with the first check that fails."""
    folder, package = Path(sys.argv[1]), Path(sys.argv[2])
    given = settings(folder) | SMALL_DRIVER | {"spark.eventLog.dir": f"file:{folder}"}
    project = open_project(folder, "small_driver", given, package)
    project.add_collection("big", KEY, VALUE, {"verify": "always"})
    project.write("models/big.yml", agrees(project, "big"))
    runs: list[tuple[float, float]] = []
    for commands in BATCHES:
        project.sql(COMMANDS.format(*commands))
        began = time.time()
        project.run("big")
        runs.append((began * 1000, time.time() * 1000))
        found = "select k, v from {}.big"
        for one, other in ((RIGHT, found), (found, RIGHT)):
            assert not project.sql(f"({one}) except all ({other}) limit 1")
    project.run("big", command="test")
    project.spark.stop()
    (folder / "runs.json").write_text(json.dumps(runs))


if __name__ == "__main__":
    main()
