"""What many small batches do to a collection, with and without maintenance.

    python -m benchmarks.degradation [--batches N] [--keys N] [--hot N] [--commands N] [--every N]
                                     [--only FORM] [--same-day] [--minutes N]

It runs `--batches` batches (200) of two collections of `--keys` rows (10,000) over the same
commands, by the models of a user's project, with the default options. A batch has `--commands`
commands (100), all on the first `--hot` keys (all keys). One collection is never maintained. The
other maintains itself after every `--every`-th batch (10), and then the operation expires all but
the last ten snapshots, as if a day had passed. With `--same-day` it does not: then all snapshots
stay, as in a process that has run for less than a day. The two take turns, so that what else the
machine does falls on both. `--only` runs one of them. After `--minutes` it ends with the next batch
whose tables are measured.

It prints the seconds of the batches: the mean of the last twentieth of them is compared with that
of the second twentieth. It prints the seconds of the operation. Just before and just after some of
the maintenances it prints the files, bytes and metadata of the tables; just after them also the
memory of the process, and the heap of Java after a garbage collection. The log keeps its last 100
snapshots, as the log of a careful user does. All figures are in target/degradation.json, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import jinja2
import yaml
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from benchmarks.correction import say
from dbt_trueup.plugin import session
from tests.acceptance import Column
from tests.oracle import Command
from tests.project import TABLES, Project

ROOT = Path(__file__).parents[1]
FORMS = ("never", "maintained")
MEASURED = ("state", "changelog", "batch", "corrections")
"""The tables whose size is measured."""
TWENTIETH = 20
LIMIT = 1.2
"""How much slower than the second twentieth of the batches the last one may be on average."""
KEPT_OF_LOG = 100
"""How many snapshots of its log a user keeps."""


@dataclass(frozen=True)
class Size:
    """How large one table is, on disk and in its current snapshot."""

    table: str
    files: int
    delete_files: int
    snapshots: int
    bytes_on_disk: int
    metadata_bytes: int


@dataclass(frozen=True)
class Memory:
    """What the process needs, in MB: all of it, and the live objects of Java."""

    resident: int
    heap: int


def main() -> None:
    """Run all batches of both forms, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--hot", type=int)
    parser.add_argument("--commands", type=int, default=100)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--only", choices=FORMS)
    parser.add_argument("--same-day", action="store_true")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    forms = [given.only] if given.only else list(FORMS)
    session.install()
    with tempfile.TemporaryDirectory() as folder:
        spark = start(Path(folder))
        project = make(spark, Path(folder), forms, given)
        seconds: dict[str, list[float]] = {form: [] for form in forms}
        sizes: dict[str, dict[int, list[Size]]] = {form: {} for form in forms}
        memory: dict[int, Memory] = {}
        expiries: list[float] = []
        seen = max(2 * given.every, given.batches // TWENTIETH // given.every * given.every)
        end = perf_counter() + 60 * given.minutes
        for number in range(1, given.batches + 1):
            is_last = number == given.batches or (number % seen == 0 and perf_counter() > end)
            for form in forms:
                project.append(form, commands(number, given.hot or given.keys, given.commands))
                began = perf_counter()
                project.run(*(f"{form}_{role}" for role in TABLES))
                seconds[form].append(perf_counter() - began)
                is_maintained = form == "maintained" and number % given.every == 0
                if is_maintained and not given.same_day:
                    began = perf_counter()
                    expire(project, form)
                    expiries.append(perf_counter() - began)
                if number % KEPT_OF_LOG == 0:
                    expire_log(project, form)
                if is_last or number % seen in {seen - 1, 0}:
                    sizes[form][number] = [size(project, folder, form, each) for each in MEASURED]
            if is_last or number % seen == 0:
                memory[number] = measure_memory(spark)
                say(f"  {number} batches, {memory[number]}, last ten: {recent(seconds)}")
            if is_last:
                break
    report(seconds, expiries, sizes, memory)


def recent(seconds: dict[str, list[float]]) -> str:
    """Give the mean seconds of the last ten batches of each form."""
    return ", ".join(f"{form} {mean(each[-10:]):.2f} s" for form, each in seconds.items())


def start(folder: Path) -> SparkSession:
    """Start a session of two cores on a folder, with the settings of the example profile."""
    example = jinja2.Template((ROOT / "profiles.yml.example").read_text())
    environment = {"TRUEUP_HOME": str(folder), "TRUEUP_SCHEMA": "trueup"}
    profile = yaml.safe_load(example.render(env_var=environment.get))
    settings = profile["trueup"]["outputs"]["local"]["server_side_parameters"]
    settings |= {"spark.master": "local[2]", "spark.trueup.jvm_log": str(folder / "spark.log")}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def make(spark: SparkSession, folder: Path, forms: list[str], given: argparse.Namespace) -> Project:
    """Make a project with a collection of each form, both over logs of the same commands."""
    os.environ["DBT_PROFILES_DIR"] = str(folder)
    (folder / "project").mkdir()
    project = Project(folder / "project", "degradation", spark, ROOT)
    values = [Column("name", "string"), Column("amount", "bigint")]
    for form in forms:
        options = {
            "maintain": given.every if form == "maintained" else "never",
            "verify": "always",
        }
        project.add_collection(form, [Column("k", "bigint")], values, options)
        rows = [Command(0, (1,), (k,), (f"name-{k}", k)) for k in range(given.keys)]
        project.append(form, rows)
    project.run(*(f"{form}_commands" for form in forms))
    return project


def commands(number: int, hot: int, count: int) -> list[Command]:
    """Give the commands of a batch: upserts of some keys, a tenth of them deletes."""
    draw = random.Random(number)  # noqa: S311 - a drawing that repeats
    return [
        Command(number, (1,), (k,), None if place % 10 == 0 else (f"name-{number}", k))
        for place, k in enumerate(draw.sample(range(hot), count))
    ]


def expire(project: Project, form: str) -> None:
    """Run the operation, as if all that is there were of yesterday."""
    arguments = json.dumps({"collection": form, "retain_hours": 0, "idle": True})
    flags = ["--project-dir", str(project.folder), "--quiet"]
    command = ["run-operation", "trueup.maintain", "--args", arguments, *flags]
    result = dbtRunner().invoke(command)
    if not result.success:
        raise RuntimeError(str(result.exception))


def expire_log(project: Project, form: str) -> None:
    """Expire the older snapshots of a log."""
    project.spark.sql(
        f"call system.expire_snapshots(table => '{project.name}.{form}_log',"
        f" older_than => current_timestamp(), retain_last => {KEPT_OF_LOG})"
    )


def measure_memory(spark: SparkSession) -> Memory:
    """Measure the memory of the Java machine, the heap after a garbage collection."""
    java: Any = spark._jvm
    java.java.lang.System.gc()
    runtime = java.java.lang.Runtime.getRuntime()
    process = java.java.lang.ProcessHandle.current().pid()
    status = Path(f"/proc/{process}/status").read_text()
    (resident,) = (int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
    heap = runtime.totalMemory() - runtime.freeMemory()
    return Memory(resident // 1000, heap // 1_000_000)


def size(project: Project, folder: str, form: str, role: str) -> Size:
    """Measure a table."""
    table = f"{form}_{role}"
    (figures,) = project.spark.sql(
        "select count_if(content = 0), count_if(content <> 0), "  # noqa: S608
        f"(select count(*) from {project.name}.{table}.snapshots) from {project.name}.{table}.files"
    ).collect()
    place = Path(folder) / "warehouse" / project.name / table
    on_disk = {file: file.stat().st_size for file in place.rglob("*") if file.is_file()}
    metadata = sum(bytes_ for file, bytes_ in on_disk.items() if file.parent.name == "metadata")
    return Size(table, figures[0], figures[1], figures[2], sum(on_disk.values()), metadata)


def report(
    seconds: dict[str, list[float]],
    expiries: list[float],
    sizes: dict[str, dict[int, list[Size]]],
    memory: dict[int, Memory],
) -> None:
    """Print the figures, and write them to a file."""
    for form, each in seconds.items():
        part = max(1, len(each) // TWENTIETH)
        first, last = mean(each[part : 2 * part]), mean(each[-part:])
        held = "at most" if last / first <= LIMIT else "MORE THAN"
        say(
            f"  {form:11} batches {part + 1}-{2 * part} {first:5.2f} s, last {part} {last:5.2f} s,"
            f" ratio {last / first:.2f}, {held} {LIMIT}; slowest {max(each[part:]):.2f} s"
        )
    say(f"  {'operation':11} {', '.join(f'{one:.1f}' for one in expiries)} s")
    say("  batch table                   files deletes snapshots   kB on disk  kB of metadata")
    for number, one in (
        (number, one)
        for form_sizes in sizes.values()
        for number, each_size in form_sizes.items()
        for one in each_size
    ):
        say(
            f"  {number:5} {one.table:22} {one.files:6} {one.delete_files:7}"
            f" {one.snapshots:9} {one.bytes_on_disk / 1000:12,.0f}"
            f" {one.metadata_bytes / 1000:15,.0f}"
        )
    target = ROOT / "target" / "degradation.json"
    target.parent.mkdir(exist_ok=True)
    measured = {
        form: {number: [asdict(one) for one in each] for number, each in found.items()}
        for form, found in sizes.items()
    }
    everything = {
        "seconds": seconds,
        "operation": expiries,
        "sizes": measured,
        "memory": {number: asdict(one) for number, one in memory.items()},
    }
    target.write_text(json.dumps(everything, indent=2))
    say(f"  all of it: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
