"""A real database, Kafka and Debezium, and the collections that follow it, while parts are killed.

`make live` plays it for TRUEUP_SECONDS. After some faults the writers pause, and each collection
must equal its table. The short form, without TRUEUP_SECONDS, has three faults and no watcher: this
process runs the models.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections import Counter
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import yaml
from pyspark.errors import AnalysisException

from dbt_trueup.command_line import program
from dbt_trueup.dbt import compile_inline
from tests.conftest import ROOT
from tests.faults.counts import SECONDS, report

from .servers import CACHE, SERVER_MARKS, Server, Source, fetch_jars, run
from .tables import ACCOUNTS, MARKS, NOTES, OWN_TESTS, SEED, THINGS, Table
from .writers import Writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

pytestmark = SERVER_MARKS

PATIENCE = 1800 if SECONDS else 300
"""Seconds until the collections must have all that was written before the pause."""
TABLES = [
    NOTES,
    *[MARKS] * (SECONDS > 0 or SEED % 2),
    *(ACCOUNTS if SECONDS and SEED % 2 else [THINGS] * (SEED % 2 == 0)),
]
"""A cold JVM needs a minute of both cores for each collection, so they are few.

If the first one has one row, a snapshot of Debezium does not say that it is the last row.
"""
FAULTS_OF_PAUSE = 66 if SECONDS else 3
"""So many faults happen between two comparisons."""
WARM, CALM = (60, 60 * len(TABLES)) if SECONDS else (0, 0)
"""So many seconds nothing breaks, first of all: the figures are of the second time."""
CALM_RATE, FAULT_RATE = 10, 20
"""The transactions of pgbench in a second of each time: each changes 41 rows."""
LOG = "live.messages"
BY_COMMIT, CHANGES = "notes_by_commit", "live.changes"
"""A collection with ticks, straight from a slot."""


class Live:
    """The pipeline: the source, `trueup land` and `trueup watch`."""

    def __init__(self, source: Source, project: Project, home: Path) -> None:
        """Write the models. Start nothing yet."""
        self.source = source
        self.project = project
        self.spark = project.spark
        self.environment = {"TRUEUP_HOME": str(home)}
        self.happened: Counter[str] = Counter()
        models: dict[str, Any] = {"version": 2, "models": [table.tests(LOG) for table in TABLES]}
        models["models"] += [{"name": BY_COMMIT, "data_tests": OWN_TESTS}]
        project.write("models/live.yml", yaml.safe_dump(models))
        for table in TABLES:
            project.write(f"models/{table.name}.sql", table.model(LOG))
        project.write(f"models/{BY_COMMIT}.sql", NOTES.model_by_commit(CHANGES))
        topics = ["--kafka", source.brokers, "--topics", "shop[.]public[.].*", "--every", "5"]
        self.lander = self._trueup("lander", "land", LOG, *topics)
        self.watcher = self._trueup("watcher", "watch", "--every", "5")
        """Not started in the short form."""

    def _trueup(self, name: str, *words: str) -> Server:
        """A command of trueup, in a process of its own with its own JVM, and the usual settings."""
        profile = yaml.safe_load((ROOT / "profiles.yml.example").read_text())
        settings = profile["trueup"]["outputs"]["local"]["server_side_parameters"]
        settings["spark.trueup.jvm_log"] = str(self.source.folder / f"{name}_spark.log")
        settings["spark.jars"] = ",".join(map(str, sorted((CACHE / "spark").glob("*.jar"))))
        settings["spark.driver.memory"] = "4g"
        folder = self.source.folder / name
        folder.mkdir()
        (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
        program = str(Path(sys.executable).with_name("trueup"))
        options = ["--project-dir", str(self.project.folder), "--profiles-dir", str(folder)]
        environment = self.environment | {"DBT_TARGET_PATH": str(folder / "target")}
        return Server(
            name,
            [program, *words, *options],
            folder,
            lambda: True,
            environment=environment,
        )

    def processes(self) -> list[Server]:
        """All processes, the first ones first."""
        source = self.source
        watcher = [self.watcher] * (SECONDS > 0)
        return [source.database, source.broker, source.connect, self.lander, *watcher]

    def follow(self, *names: str) -> None:
        """In the short form, run models; in the long one, let the watcher do it for a while."""
        self.happened["Debezium restarted"] += self.source.restart_failed()
        if SECONDS:
            time.sleep(3)
        else:
            self.project.run(*names)

    def differences(self, table: Table) -> list[tuple[str, Any]]:
        """The rows that only the database or only the collection has."""
        with psycopg.connect(self.source.dsn) as database:
            here = Counter(map(canonical, database.execute(table.select_here()).fetchall()))
        select = table.select_there(f"{self.project.name}.{table.name}")
        there = Counter(map(canonical, self.spark.sql(select).collect()))
        only_here = [("database", row) for row in (here - there).elements()]
        return [*only_here, *(("collection", row) for row in (there - here).elements())]

    def wait_until_equal(self) -> None:
        """Wait until each collection equals its table. Raise with the differences."""
        end = time.monotonic() + PATIENCE
        for table in TABLES:
            while found := self.differences(table):
                assert time.monotonic() < end, (
                    f"{table.name}: {len(found)}: {found[0]}, {found[-1]}"
                )
                self.follow(table.name)

    def land_changes(self) -> None:
        """Land the changes of the slot, without Kafka."""
        slot = ["--postgres", self.source.dsn, "--slot", "commits", "--tables", "public.notes"]
        options = ["--project-dir", str(self.project.folder)]
        assert program.main(["land", CHANGES, *slot, *options]) == 0

    def has_read(self, commit: int) -> bool:
        """Whether the collection with ticks has read all commits before a place."""
        self.follow(BY_COMMIT)
        store = f"{self.project.name}.{BY_COMMIT}__trueup"
        if not self.has_view(BY_COMMIT):
            return False
        newest = self.spark.sql(f"select max(_ts) from {store} where _kind = 'batch'").collect()[0]
        return newest[0] is not None and newest[0] >= commit - 1

    def check_log(self) -> None:
        """Run the tests of all collections; the long form has the usual settings for that."""
        if not SECONDS:
            self.project.run(command="test")
            return
        self.watcher.kill()
        folder = str(self.source.folder / "watcher")
        dbt = str(Path(sys.executable).with_name("dbt"))
        options = ["--project-dir", str(self.project.folder), "--profiles-dir", folder]
        run([dbt, "test", *options], self.environment | {"DBT_LOG_PATH": folder}, 3600)

    def look_back(self) -> tuple[int, Counter[tuple[Any, ...]]]:
        """The rows of the database at a moment, and the place of the first commit after it."""
        replication = f"{self.source.dsn} replication=database"
        client = psycopg.ClientCursor[Any]
        with psycopg.connect(replication, autocommit=True, cursor_factory=client) as slot:
            create = "CREATE_REPLICATION_SLOT moment TEMPORARY LOGICAL pgoutput (SNAPSHOT 'export')"
            _, place, snapshot, _ = slot.execute(create).fetchall()[0]
            high, _, low = place.partition("/")
            with psycopg.connect(self.source.dsn) as database:
                database.execute("set transaction isolation level repeatable read")
                database.execute(f"set transaction snapshot '{snapshot}'")
                rows = database.execute(NOTES.select_here()).fetchall()
        return (int(high, 16) << 32) + int(low, 16), Counter(map(canonical, rows))

    def rows_before(self, commit: int) -> Counter[tuple[Any, ...]]:
        """The rows of the collection as of the last commit before a place."""
        as_of = compile_inline(
            ["--project-dir", str(self.project.folder)],
            f"{{{{ trueup.as_of('{BY_COMMIT}', {commit - 1}) }}}}",
        )
        return Counter(map(canonical, self.spark.sql(NOTES.select_there(f"({as_of})")).collect()))

    def figures(self, calm: tuple[float, float]) -> dict[str, float]:
        """How long a row takes from its commit to the commit that shows it, and what is stored.

        Args:
            calm: The seconds since 1970 between which nothing broke.
        """
        store = f"{self.project.name}.{MARKS.name}__trueup"
        commits = sorted(
            row[0]
            for row in self.spark.sql(
                f"select unix_millis(committed_at) from {store}.snapshots"
            ).collect()
        )
        rows = self.spark.sql(
            f"select unix_millis(rows.at), batches._ts from {store} rows join {store} batches"
            " on batches._kind = 'batch' and batches._seq = rows._seq"
            " where rows._kind = 'update' and rows._diff = 1"
        ).collect()
        # The first commit after a batch has looked is its own.
        first, last = calm
        pairs = sorted((at, commits[bisect(commits, looked)] - at) for at, looked in rows)
        ages = [age for at, age in pairs if first * 1000 <= at < last * 1000]
        half = len(ages) // 2
        files, size = 0, 0
        for table in (LOG, *(f"{self.project.name}.{table.name}__trueup" for table in TABLES)):
            found = self.spark.sql(
                f"select count(*), sum(file_size_in_bytes) from {table}.files"
            ).collect()[0]
            files, size = files + found[0], size + found[1]
        return {
            "freshness, median, s": median(ages) / 1000,
            "freshness, 99 %, s": sorted(ages)[len(ages) * 99 // 100] / 1000,
            "freshness, median of the first half, s": median(ages[:half]) / 1000,
            "freshness, median of the second half, s": median(ages[half:]) / 1000,
            "messages": self.spark.table(LOG).count(),
            "files": files,
            "bytes": size,
        }

    def wait_for_slot(self) -> None:
        """Wait until the connector has a slot, and its snapshot a place."""
        made = (
            "select from pg_replication_slots where slot_name = 'debezium' and active"
            " and confirmed_flush_lsn is not null"
        )
        with psycopg.connect(self.source.dsn, autocommit=True) as database:
            wait_until(lambda: database.execute(made).fetchall() != [])

    def wait_for_first_rows(self) -> None:
        """Wait until there are all collections."""
        self.wait_for_slot()
        wait_until(lambda: bool(self.spark.catalog.tableExists(LOG)))
        self.follow()
        for table in TABLES:
            wait_until(lambda view=table.name: self.has_view(view))  # type: ignore[misc]

    def has_view(self, name: str) -> bool:
        """Whether a collection has its view. Spark does not list views of Iceberg."""
        try:
            self.spark.table(f"{self.project.name}.{name}")
        except AnalysisException:
            return False
        return True


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.2)


def say(text: str) -> None:
    """Print what is done now."""
    print(time.strftime("%H:%M:%S"), text, flush=True)  # noqa: T201


def canonical(row: Any) -> tuple[Any, ...]:
    """A row in which a NaN equals a NaN, and 0.0 equals -0.0."""
    return tuple(repr(one + 0.0) if isinstance(one, float) else one for one in row)


class Faults:
    """What goes wrong. Each fault counts that it happened."""

    def __init__(self, live: Live, writers: Writers, random: Random) -> None:
        """Take the pipeline."""
        self.live = live
        self.writers = writers
        self.random = random
        self.happened: Counter[str] = Counter()

    def play(self, fault: Callable[[], None]) -> bool:
        """Let something break. Return whether it did: a process may be dead already."""
        self.happened["Debezium restarted"] += self.live.source.restart_failed()
        say(fault.__name__)
        before = self.happened.total()
        fault()
        if self.happened.total() == before:
            self.happened["faults that found their process dead"] += 1
            return False
        return True

    def kill(self, server: Server) -> None:
        """Kill a process, and start it again after a while."""
        self.happened[f"{server.name} killed"] += server.kill()
        time.sleep(self.random.random() * 3)
        server.start()

    def kill_connect(self) -> None:
        """The worker sends again what it had not noted."""
        self.kill(self.live.source.connect)

    def kill_broker(self) -> None:
        """The broker."""
        self.kill(self.live.source.broker)

    def kill_lander(self) -> None:
        """The lander and its JVM."""
        self.kill(self.live.lander)

    def kill_watcher(self) -> None:
        """The watcher and its JVM."""
        self.kill(self.live.watcher)

    def kill_database(self) -> None:
        """The database. The connector connects again by itself."""
        self.kill(self.live.source.database)

    def land_twice(self) -> None:
        """A batch of messages is there a second time."""
        spark = self.live.spark
        batches = (
            f"select parent_id, snapshot_id from {LOG}.snapshots"
            " where operation = 'append' and parent_id is not null order by committed_at"
        )
        wait_until(lambda: spark.sql(batches).collect() != [])
        before, batch = self.random.choice(spark.sql(batches).collect())
        part = spark.read.option("start-snapshot-id", before).option("end-snapshot-id", batch)
        again = part.table(LOG).localCheckpoint()
        again.writeTo(LOG).append()
        self.happened["messages landed twice"] += again.count()
        self.happened["batches landed twice"] += 1

    def lose_slot(self) -> None:
        """The slot is dropped. What was written until there is a new one is in no message.

        The writers pause while the new one is made: the order of a change is its place in the log
        of the database, so that of a transaction which is open then may be below the snapshot.
        """
        connect = self.live.source.connect
        connect.kill()
        with psycopg.connect(self.live.source.dsn, autocommit=True) as database:
            drop = "select pg_drop_replication_slot(slot_name) from pg_replication_slots"
            wait_until(
                lambda: (
                    database.execute(
                        f"{drop} where slot_name = 'debezium' and not active"
                    ).fetchall()
                    != []
                )
            )
            time.sleep(2)
            # In every second gap the first table loses all its rows, and gets one again: a table
            # without rows would be in no message of the snapshot.
            self.writers.pause()
            if self.happened["slots lost"] % 2 == 0:
                database.execute(f"truncate {NOTES.name}")
            self.writers.write_last()
            connect.start()
            self.live.wait_for_slot()
        self.writers.resume()
        self.happened["slots lost"] += 1

    def compact(self) -> None:
        """The files of a store are rewritten while it is in use."""
        self.live.project.operate("maintain", collection=self.random.choice(TABLES).name)
        self.happened["stores compacted"] += 1

    def run_too(self) -> None:
        """A second run beside the watcher. Without generated code it is slow, so pgbench waits.

        It may give up, because the watcher was first each time.
        """
        rate, self.writers.accounts_a_second = self.writers.accounts_a_second, 1
        self.live.project.run(MARKS.name, fails=None)
        self.writers.accounts_a_second = rate
        (said,) = self.live.project.messages
        gave_up = "upper mismatch" in said
        assert gave_up or "up to date" in said or " commands" in said, said
        self.happened["second runs that gave up" if gave_up else "second runs"] += 1

    def sequence(self, count: int | None) -> Iterator[Callable[[], None]]:
        """So many faults, or faults without an end; those that last long are not so frequent."""
        kinds = [
            self.kill_connect,
            self.land_twice,
            self.kill_database,
            self.lose_slot,
            self.kill_lander,
            self.run_too,
            self.kill_watcher,
            self.compact,
            self.kill_broker,
        ]
        if count:
            yield from kinds[:count]
            return
        slow = [self.kill_watcher, self.run_too, self.compact]
        kinds = [kind for kind in kinds if kind not in slow] * 3 + slow
        while True:
            yield from self.random.sample(kinds, len(kinds))


@pytest.fixture(scope="module")
def live(home: Path, new_project: Callable[[str], Project]) -> Iterator[Live]:
    """The pipeline, running. Nothing of it is left at the end."""
    try:
        fetch_jars()
    except (AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"the JARs of Kafka and Debezium could not be fetched: {error}")
    folder = Path(tempfile.mkdtemp(prefix="trueup_live_"))
    folder.chmod(0o755)  # the user of the database works in it
    processes: list[Server] = []
    try:
        source = Source(folder, [table.name for table in TABLES])
        made = Live(source, new_project("live"), home)
        processes = made.processes()
        source.database.start()
        with psycopg.connect(source.dsn, autocommit=True) as database:
            database.execute("create type mood as enum ('sad', 'ok', 'glad')")
            for table in TABLES:
                database.execute(table.create())
                if table in ACCOUNTS:
                    rows = "select generate_series(1, 5000), 0, 'x'"
                    database.execute(f"insert into {table.name} {rows}")
        for process in processes[1:]:
            process.start()
        made.land_changes()
        yield made
    finally:
        for process in reversed(processes):
            process.kill()
        shutil.rmtree(folder)


def test_collections_equal_the_tables_of_a_real_database_whatever_breaks(live: Live) -> None:
    random = Random(SEED)  # noqa: S311
    played: Counter[str] = Counter()
    writers = Writers(live.source.dsn, SEED, TABLES)
    faults = Faults(live, writers, random)
    began = time.monotonic()
    violations = ["the test has not ended"]
    try:
        writers.write_last()
        live.wait_for_first_rows()
        writers.accounts_a_second = CALM_RATE
        writers.resume()
        time.sleep(WARM)
        began_calm, done = time.time(), writers.done["changes"]
        time.sleep(CALM)
        calm, done = (began_calm, time.time()), writers.done["changes"] - done
        writers.accounts_a_second = FAULT_RATE
        for number, fault in enumerate(faults.sequence(3 if SECONDS == 0 else None), 1):
            writers.resume()
            time.sleep(random.random() * 3)
            assert writers.is_alive()
            if faults.play(fault):
                played[fault.__name__] += 1
            if number % FAULTS_OF_PAUSE:
                continue
            time.sleep(random.random() * 5)
            say("comparison")
            place, then = live.look_back()
            writers.write_last()
            live.wait_until_equal()
            played["comparisons"] += 1
            say(f"equal after {writers.done['changes']} changes")
            live.land_changes()
            wait_until(lambda commit=place: live.has_read(commit))  # type: ignore[misc]
            assert live.rows_before(place) == then
            played["comparisons as of a commit"] += 1
            if SECONDS and time.monotonic() - began > SECONDS:
                break
        if CALM:
            say(json.dumps(live.figures(calm) | {"changes a second": done / CALM}))
        live.check_log()
        played["tests of all collections"] += 1
        violations = []
    finally:
        writers.stop()
        happened = writers.done + faults.happened + live.happened
        report("live", SEED, played, happened, violations)
