"""What every engine must do: batches, a late command, nothing to do, a correction, dbt's tests."""

from __future__ import annotations

from threading import Timer
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark.session import Cursor
from pyspark.sql import SparkSession

from dbt_trueup.plugin import session
from tests.acceptance import Column, multiset
from tests.between import sent, sent_through
from tests.engines.servers import write_profile
from tests.faults.racer import Race
from tests.faults.test_races import LOST, race
from tests.oracle import Collection, Command, check_laws, consolidate
from tests.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.oracle import Late

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
SLOW = "java_method('java.lang.Thread', 'sleep', 4000L) = 'null'"
"""A condition that takes four seconds for each row."""


def put(ts: int, key: str, value: str | None) -> Command:
    """A command that sets a key, or deletes it if there is no value."""
    return Command(ts, (1,), (key,), None if value is None else (value,))


BATCHES = [
    [put(1, "a", "one"), put(1, "b", "two"), put(2, "a", "three")],
    [put(3, "b", None), put(3, "c", "four")],
    [put(2, "b", "late"), put(1, "d", "late"), put(4, "a", "five")],
    [],
]
"""The commands that arrive before each run. Those of the third batch below 4 are late."""

TESTS = """
models:
  - name: {name}
    columns:
      - name: k
        data_tests: [not_null, unique]
  - name: {name}_changelog
    data_tests:
      - trueup.consolidates_to_state:
          arguments:
            state: ref('{name}_state')
  - name: {name}_state
    data_tests:
      - trueup.matches_certificate:
          arguments:
            unique_key: [k]
            changelog: ref('{name}_changelog')
"""


def open_project(folder: Path, name: str, given: Mapping[str, str], package: Path) -> Project:
    """Start a session with some settings, and make an empty project that uses it."""
    write_profile(folder, given)
    session.install()
    spark = SparkSession.builder.config(map={**given}).getOrCreate()
    (folder / "project").mkdir()
    return Project(folder / "project", name, spark, package)


def check(project: Project, name: str, oracle: Collection) -> None:
    """Compare the rows, the updates and the batches of a collection with the oracle's."""
    updates = project.updates(name)
    check_laws(updates)
    assert consolidate(updates) == consolidate(oracle.changelog)
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    progress = project.progress(name)
    assert [row["_seq"] for row in progress] == list(range(1, len(progress) + 1))


def run_script(project: Project, name: str, late: Late = "drop") -> Collection:
    """Run the batches of a collection, and compare each result with the oracle."""
    project.add_collection(name, KEY, VALUE, {"late": late, "verify": "always"})
    project.write(f"models/{name}/{name}.yml", TESTS.format(name=name))
    oracle, log = Collection(late=late), list[Command]()
    for arriving in BATCHES:
        if arriving:
            project.append(name, arriving)
        log += arriving
        project.run(f"models/{name}")
        oracle.run(log)
        check(project, name, oracle)
    batches = len(project.progress(name))
    project.run(f"models/{name}")
    assert len(project.progress(name)) == batches, "a run with nothing to do wrote a batch"
    project.run(f"models/{name}", command="test")
    return oracle


def run_python_aggregates(project: Project) -> None:
    """Fold open ticks and rebuild a state with the Python aggregates, in the workers of Spark."""
    with (
        sent(r"create or replace table \S*eager_batch[^;]*trueup_provisional\(") as folded,
        sent(r"create or replace table \S*eager_state[^;]*trueup_consolidate\(") as rebuilt,
    ):
        fold_open_ticks_and_rebuild(project, fold="udaf", rehydrate="udaf")
    assert folded
    assert rebuilt


def fold_open_ticks_and_rebuild(project: Project, **options: str) -> None:
    """Fold open ticks, then rebuild the state."""
    eager = {"verify": "always", "eager": True, "input_upper": "least(log_upper, 3)"}
    project.add_collection("eager", KEY, VALUE, eager | options)
    log = [put(1, "a", "one"), put(2, "a", "two"), put(5, "a", "open"), put(5, "b", "open")]
    project.append("eager", log)
    project.run("models/eager")
    assert 5 in {update.ts for update in project.updates("eager")}
    oracle = Collection()
    oracle.run(log)
    assert multiset(project.rows("eager")) == multiset(oracle.rows)
    project.run("eager_state", "--full-refresh")
    assert multiset(project.rows("eager")) == multiset(oracle.rows)


def lose_a_race(project: Project, connection: type[Any] = Cursor) -> None:
    """Replace the state while an apply reads the changelog. The run says so in one line.

    Args:
        project: A project without a collection `replaced`.
        connection: The class by which dbt sends statements.
    """
    project.add_collection("replaced", KEY, VALUE)
    project.append("replaced", [put(1, "a", "first")])
    project.run("models/replaced")
    project.append("replaced", [put(2, "a", "second")])
    project.run("replaced_batch", "replaced_changelog")
    state = f"{project.name}.replaced_state"

    def send(execute: Callable[[str], None], sql: str) -> None:
        if "/* trueup: apply" in sql:
            assert "where _seq > " in sql
            sql = sql.replace("where _seq > ", f"where {SLOW} and _seq > ")
            replace = f"create or replace table {state} as select * from {state}"
            Timer(2, lambda: project.sql(replace)).start()
        execute(sql)

    with sent_through(send, connection):
        project.run("replaced_state", fails=True)
    (said,) = project.messages
    moved = f"state moved: another run wrote to {state} at the same moment;"
    assert f"{moved} nothing is applied; run again" in said, said
    assert "\tat org." not in said, said
    project.run("models/replaced")
    assert multiset(project.rows("replaced")) == multiset([("a", "second")])


def race_two_processes(project: Project, rounds: int) -> None:
    """Let two processes run a collection at once. Each run that loses says so in one line."""
    log = [put(ts, f"key {key}", f"value {ts}") for ts in range(rounds) for key in range(3)]
    project.add_collection("raced", KEY, VALUE)
    project.append("raced", log)
    project.run("models/raced", until=0)
    runs = race(project, Race("raced", rounds))
    project.run("models/raced")
    losers = [one for one in runs if not one["success"]]
    assert losers, "nobody lost: the processes did not race"
    for loser in losers:
        assert any(text in said for said in loser["said"] for text in LOST), loser["said"]
        assert not any("\tat org." in said for said in loser["said"]), loser["said"]
    oracle = Collection()
    oracle.run(log)
    check(project, "raced", oracle)
    assert len(project.updates("raced")) == len(oracle.changelog)
