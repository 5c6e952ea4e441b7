"""What many small batches do to a collection, with and without maintenance.

    python -m benchmarks.degradation [batches]

It runs that many small batches (200) of two collections over the same commands, by the models of a
user's project. One is never maintained. The other maintains itself after every tenth batch, and
then the operation expires all but the last ten snapshots, as if a day had passed. The two take
turns, so that what else the machine does falls on both.

It prints the seconds of the batches, where the mean of the last ten is compared with that of the
batches 6 to 15; the seconds of the operation; and the files, bytes and metadata of the tables, just
before and just after every second maintenance. All of it is in target/degradation.json, too.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from time import perf_counter

import jinja2
import yaml
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from benchmarks.correction import say
from dbt_trueup.plugin import session
from tests.acceptance import Column
from tests.oracle import Command
from tests.project import Project

ROOT = Path(__file__).parents[1]
BATCHES = 200
KEYS = 10_000
COMMANDS = 100
EVERY = 10
FORMS = {"never": "never", "maintained": EVERY}
TABLES = ("state", "changelog", "batch")
MODELS = ("batch", "changelog", "state")
LIMIT = 1.2
"""How much slower than the batches 6 to 15 the last ten may be on average."""


@dataclass(frozen=True)
class Size:
    """How large one table is, on disk and in its current snapshot."""

    table: str
    files: int
    delete_files: int
    snapshots: int
    bytes_on_disk: int
    metadata_bytes: int


def main() -> None:
    """Run all batches of both forms, and print the figures."""
    batches = int(sys.argv[1]) if len(sys.argv) > 1 else BATCHES
    session.install()
    with tempfile.TemporaryDirectory() as folder:
        spark = start(Path(folder))
        project = make(spark, Path(folder))
        seconds: dict[str, list[float]] = {form: [] for form in FORMS}
        sizes: dict[str, dict[int, list[Size]]] = {form: {} for form in FORMS}
        expiries: list[float] = []
        for number in range(1, batches + 1):
            for form in FORMS:
                project.append(form, commands(number))
                began = perf_counter()
                project.run(*(f"{form}_{role}" for role in MODELS))
                seconds[form].append(perf_counter() - began)
                if form != "never" and number % EVERY == 0:
                    began = perf_counter()
                    expire(project, form)
                    expiries.append(perf_counter() - began)
                if number == batches or number % (2 * EVERY) in {2 * EVERY - 1, 0}:
                    sizes[form][number] = [size(project, folder, form, each) for each in TABLES]
    report(seconds, expiries, sizes)


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


def make(spark: SparkSession, folder: Path) -> Project:
    """Make a project with a collection of each form, both over logs of the same commands."""
    os.environ["DBT_PROFILES_DIR"] = str(folder)
    (folder / "project").mkdir()
    project = Project(folder / "project", "degradation", spark, ROOT)
    values = [Column("name", "string"), Column("amount", "bigint")]
    for form, maintain in FORMS.items():
        project.add_collection(form, [Column("k", "bigint")], values, {"maintain": maintain})
        project.append(form, [Command(0, (1,), (k,), (f"name-{k}", k)) for k in range(KEYS)])
    project.run(*(f"{form}_commands" for form in FORMS))
    return project


def commands(number: int) -> list[Command]:
    """Give the commands of a batch: upserts of some keys, a tenth of them deletes."""
    draw = random.Random(number)  # noqa: S311 - a drawing that repeats
    return [
        Command(number, (1,), (k,), None if place % 10 == 0 else (f"name-{number}", k))
        for place, k in enumerate(draw.sample(range(KEYS), COMMANDS))
    ]


def expire(project: Project, form: str) -> None:
    """Run the operation, as if all that is there were of yesterday."""
    arguments = json.dumps({"collection": form, "retain_hours": 0, "idle": True})
    flags = ["--project-dir", str(project.folder), "--quiet"]
    command = ["run-operation", "trueup.maintain", "--args", arguments, *flags]
    result = dbtRunner().invoke(command)
    if not result.success:
        raise RuntimeError(str(result.exception))


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
) -> None:
    """Print the figures, and write them to a file."""
    say(f"{len(seconds['never'])} batches of {COMMANDS} commands on {KEYS:,} keys")
    for form, each in seconds.items():
        first, last = mean(each[5:15]), mean(each[-10:])
        held = "at most" if last / first <= LIMIT else "MORE THAN"
        say(
            f"  {form:11} batches 6-15 {first:5.2f} s, last ten {last:5.2f} s,"
            f" ratio {last / first:.2f}, {held} {LIMIT}; slowest {max(each[5:]):.2f} s"
        )
    say(f"  {'operation':11} {', '.join(f'{one:.1f}' for one in expiries)} s")
    say("  batch table                 files deletes snapshots   kB on disk  kB of metadata")
    for number in sizes["never"]:
        for one in (one for form in FORMS for one in sizes[form][number]):
            say(
                f"  {number:5} {one.table:20} {one.files:6} {one.delete_files:7}"
                f" {one.snapshots:9} {one.bytes_on_disk / 1000:12,.0f}"
                f" {one.metadata_bytes / 1000:15,.0f}"
            )
    target = ROOT / "target" / "degradation.json"
    target.parent.mkdir(exist_ok=True)
    measured = {
        form: {number: [asdict(one) for one in each] for number, each in found.items()}
        for form, found in sizes.items()
    }
    everything = {"seconds": seconds, "operation": expiries, "sizes": measured}
    target.write_text(json.dumps(everything, indent=2))
    say(f"  all of it: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
