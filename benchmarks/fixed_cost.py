"""What a run costs that has nothing to do: statements by model, and seconds a collection.

    python -m benchmarks.fixed_cost [collections]

It makes a project of that many collections (20) of 100 rows each, verified by every run, and runs
it in a process of its own where nothing is new: first cold, then warm, one collection alone and all
of them. The start of the JVM is shown apart. The settings are those of the example profile, on two
cores.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from time import perf_counter

from dbt.adapters.spark.session import Cursor
from dbt.cli.main import dbtRunner

from benchmarks.correction import say
from benchmarks.degradation import ROOT, start
from dbt_trueup.plugin import session
from tests.acceptance import Column
from tests.oracle import Command
from tests.project import Project

COLLECTIONS = 20
WARM_ROUNDS, ROUNDS = 12, 5
"""Java compiles what a run needs only after some runs: the first ones do not count."""
ROLES = ("corrections", "batch", "changelog", "state")


def main() -> None:
    """Make the project, and measure it in a new process."""
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]))
        return
    collections = int(sys.argv[1]) if len(sys.argv) > 1 else COLLECTIONS
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), collections)
        subprocess.run(  # noqa: S603 - this module
            [sys.executable, "-m", "benchmarks.fixed_cost", "--measure", folder],
            cwd=ROOT,
            check=True,
        )


def make(folder: Path, collections: int) -> None:
    """Make the collections, with rows."""
    session.install()
    spark = start(folder)
    os.environ["DBT_PROFILES_DIR"] = str(folder)
    (folder / "project").mkdir()
    project = Project(folder / "project", "idle", spark, ROOT)
    columns = [Column("k", "bigint")], [Column("name", "string"), Column("amount", "bigint")]
    commands = [Command(0, (1,), (k,), (f"name-{k}", k)) for k in range(100)]
    for number in range(collections):
        name = f"c{number}"
        project.add_collection(name, *columns, {"verify": "always"})
        project.append(name, commands)
    project.run()
    spark.stop()


def measure(folder: Path) -> None:
    """Run the project, where nothing is new, and print what that takes."""
    session.install()
    began = perf_counter()
    start(folder)
    say(f"start of the JVM: {perf_counter() - began:.1f} s")
    flags = ["--project-dir", str(folder / "project"), "--profiles-dir", str(folder), "--quiet"]
    parsed = dbtRunner().invoke(["parse", *flags])
    collections = len(list((folder / "project" / "models").iterdir()))
    statements: Counter[str] = Counter()
    execute = Cursor.execute

    def counting(cursor: Cursor, sql: str, *parameters: object) -> None:
        comment = re.match(r"/\*\s*(\{.*?\})\s*\*/", sql)
        node = json.loads(comment[1]).get("node_id", "") if comment else ""
        if node:
            statements[node.rpartition("_")[2]] += 1
        execute(cursor, sql, *parameters)

    Cursor.execute = counting  # type: ignore[assignment]

    def run(*names: str) -> float:
        began = perf_counter()
        models = [f"{name}_{role}" for name in names for role in ROLES]
        result = dbtRunner(manifest=parsed.result).invoke(["run", *flags, "--select", *models])  # type: ignore[arg-type]
        if not result.success:
            raise RuntimeError(str(result.exception or result.result))
        return perf_counter() - began

    say(f"one collection, cold: {run('c0'):.1f} s")
    statements.clear()
    run("c0")
    say(f"statements: {dict(statements)}")
    names = [f"c{number}" for number in range(collections)]
    for _ in range(WARM_ROUNDS):
        run(*names)
    alone = [run("c0") for _ in range(ROUNDS)]
    each = [run(*names) / collections for _ in range(ROUNDS)]
    say(f"one collection, warm: {median(alone):.2f} s")
    say(f"{collections} collections, warm: {median(each):.2f} s each")


if __name__ == "__main__":
    main()
