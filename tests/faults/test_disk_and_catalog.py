"""A fault of a file, the disk or the catalog stops a run in one clear line, and loses nothing.

A full disk and a read-only folder are real: the tables, or Spark's temporary files, lie on a small
tmpfs, which the test fills or mounts again without write access. Only root may mount one.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.acceptance import Column, multiset
from tests.faults import counts
from tests.faults.scripts import SEED
from tests.oracle import Collection, Command, check_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

IS_LONG = bool(os.environ.get("TRUEUP_STORAGE_FAULTS"))
"""Whether to test every damage of every table. A long run sets it."""

in_the_long_form = pytest.mark.skipif(not IS_LONG, reason="runs in the long form: make faults")

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
FAULT = re.compile(r"(?:missing|damaged|full|no|locked) (?:file|disk|write|catalog)\b.*")
"""The line of a fault."""
OTHERWISE = "Otherwise restore the file from a backup."
"""How the advice ends if a file has the name of one of trueup's tables."""
SMALL_DISK = 8 << 20
"""Bytes of the tmpfs."""


def put(ts: int) -> list[Command]:
    """Give a new key and a new value of an old key, and a delete."""
    return [
        Command(ts, (1,), ("always",), (f"value {ts}",)),
        Command(ts, (1,), (f"new {ts}",), ("new",)),
        Command(ts, (1,), (f"new {ts - 1}",), None),
    ]


met: list[str] = []
"""The kinds of the faults that a test has met since its last recovery."""
recovered: Counter[str] = Counter()
"""How often a run recovered from each kind of fault."""


@pytest.fixture(autouse=True)
def _forget_the_faults_of_a_failed_test() -> None:
    met.clear()


@pytest.fixture(scope="module", autouse=True)
def _counted() -> Iterator[None]:
    """Note the faults of the long form for the page about faults."""
    yield
    if IS_LONG:
        counts.add("storage", SEED, recovered, {})


class Feed:
    """A collection of a project, its log so far, and the oracle."""

    def __init__(self, project: Project, name: str) -> None:
        """Write the collection, and run it twice."""
        self.project, self.name = project, name
        self.log: list[Command] = []
        self.oracle = Collection("correct")
        project.add_collection(name, KEY, VALUE, {"late": "correct", "verify": "always"})
        for _ in range(2):
            self.arrive()
            project.run(f"models/{name}")
            self.oracle.run(self.log)

    def arrive(self, *late: Command) -> None:
        """Append the commands of a new tick to the log."""
        ts = max((command.ts for command in self.log), default=0) + 1
        arriving = [*put(ts), *late]
        self.log += arriving
        self.project.append(self.name, arriving)

    def fail(self, *models: str) -> str:
        """Run models that must fail. Return the line that names the fault."""
        self.project.run(*(models or (f"path:models/{self.name}",)), fails=True)
        said = "\n".join(self.project.messages)
        assert "\tat " not in said, f"a page of Java: {said[:3000]}"
        (line,) = FAULT.findall(said)
        met.append(line.partition(":")[0])
        return str(line)

    def recover(self, *, is_last: bool = False) -> None:
        """Run again. Everything must be as if nothing had happened."""
        if not (IS_LONG or is_last):
            return  # The short form has one recovery, after all of its faults.
        before = self.project.updates(self.name)
        self.project.run(f"path:models/{self.name}")
        self.oracle.run(self.log)
        updates = self.project.updates(self.name)
        assert multiset(before) <= multiset(updates), "an acknowledged update is lost"
        check_updates(updates, self.oracle.changelog)
        assert multiset(self.project.rows(self.name)) == multiset(self.oracle.rows)
        progress = self.project.progress(self.name)
        assert [row["_seq"] for row in progress] == list(range(1, len(progress) + 1))
        self.project.run(f"path:models/{self.name}")
        assert multiset(self.project.updates(self.name)) == multiset(updates)
        assert f"{self.name} is well." in self.project.operate("doctor", collection=self.name)
        recovered.update(met)
        met.clear()

    def files(self, role: str) -> list[Path]:
        """Give the data files of a table."""
        query = f"select file_path from {{}}.{self.name}_{role}.files order by 1"
        return [Path(row[0].removeprefix("file:")) for row in self.project.sql(query)]


def flip(data: bytes) -> bytes:
    """Flip bits in the first pages of a file."""
    return bytes(
        byte ^ 0x55 if 4 <= place < 400 and place % 7 == 0 else byte
        for place, byte in enumerate(data)
    )


class Damage(NamedTuple):
    """What happens to the data files of a table."""

    name: str
    change: Callable[[list[bytes]], list[bytes] | None]
    keeps_checksums: bool = False
    """Whether Hadoop's files with checksums stay. An object store has none."""


DAMAGES = [
    Damage("missing", lambda _: None),
    Damage("truncated", lambda files: [data[: len(data) // 2] for data in files]),
    Damage("flipped", lambda files: [flip(data) for data in files]),
    Damage(
        "flipped_under_a_checksum",
        lambda files: [flip(data) for data in files],
        keeps_checksums=True,
    ),
    Damage("swapped", lambda files: files[1:] + files[:1]),
]


@contextmanager
def damaged(files: list[Path], damage: Damage) -> Iterator[None]:
    """Damage files, and restore them."""
    kept = {file: file.read_bytes() for file in files}
    sums = {file.with_name(f".{file.name}.crc"): b"" for file in files}
    sums = {file: file.read_bytes() for file in sums}
    after = damage.change(list(kept.values()))
    for place, file in enumerate(kept):
        if after is None:
            file.unlink()
        else:
            file.write_bytes(after[place])
            assert file.read_bytes() != kept[file], "nothing is damaged"
    if not damage.keeps_checksums:
        for file in sums:
            file.unlink()
    try:
        yield
    finally:
        for file, data in (kept | sums).items():
            if file.parent.exists():
                file.write_bytes(data)


@pytest.fixture(scope="module")
def feed(new_project: Callable[[str], Project]) -> Feed:
    return Feed(new_project("storage"), "orders")


CASES = [
    (role, damage)
    for role in ("log", "changelog", "state")
    for damage in DAMAGES
    if IS_LONG or (role, damage.name) in [("changelog", "flipped"), ("log", "missing")]
]


@pytest.mark.parametrize(
    ("role", "damage"), CASES, ids=[f"{role}-{damage.name}" for role, damage in CASES]
)
def test_a_run_over_a_damaged_table_stops_and_loses_nothing(
    feed: Feed, role: str, damage: Damage
) -> None:
    feed.arrive()
    files = feed.files(role)
    with damaged(files, damage):
        line = feed.fail()
        assert line.startswith("missing file: " if damage.name == "missing" else "damaged file: ")
        assert ("a data file" in line) or any(str(file) in line for file in files), line
    feed.recover()


def metadata_of(home: Path, table: str) -> Path:
    """Give the current metadata file of a table, as the catalog knows it."""
    with sqlite3.connect(home / "catalog.db") as catalog:
        query = (
            "select metadata_location from iceberg_tables"
            " where table_namespace = 'storage' and table_name = ?"
        )
        ((location,),) = catalog.execute(query, (table,)).fetchall()
    return Path(location.removeprefix("file:"))


def test_a_missing_metadata_file_stops_the_run(feed: Feed, home: Path) -> None:
    feed.arrive()
    for role in ("log", "changelog", "state") if IS_LONG else ("state",):
        file = metadata_of(home, f"orders_{role}")
        with damaged([file], DAMAGES[0]):
            line = feed.fail()
        assert line == (
            f"missing file: {file} is not there. Restore it from a backup, then run again."
        )
    feed.recover()


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Put a folder on a tmpfs of 8 MB. It keeps its subfolders."""
    folders = [path.relative_to(folder) for path in folder.glob("*") if path.is_dir()]
    try:
        mount("-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError):
        if IS_LONG:
            raise
        pytest.skip("needs the right to mount a tmpfs")
    try:
        for path in folders:
            (folder / path).mkdir()
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full(folder: Path, left: int = 0) -> Iterator[None]:
    """Fill the disk of a folder, except for some bytes."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    with ballast.open("rb+") as file:
        file.truncate(ballast.stat().st_size - left)
    assert os.statvfs(folder).f_bavail * 4096 <= left + 4096, "the disk is not full"
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    mount("-o", "remount,ro", str(folder))
    try:
        yield
    finally:
        mount("-o", "remount,rw", str(folder))


def test_a_full_disk_of_shuffles_stops_a_run_and_loses_nothing(feed: Feed) -> None:
    feed.arrive()
    jvm: Any = feed.project.spark._jvm
    blocks = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirs()
    (folder,) = [Path(file.getPath()) for file in blocks]
    with small_disk(folder), full(folder):
        assert feed.fail().startswith("full disk: ")
    feed.recover()


@pytest.mark.parametrize("damage", DAMAGES if IS_LONG else DAMAGES[:1], ids=lambda it: it.name)
def test_a_state_with_a_damaged_file_is_named_and_rebuilt_without_it(
    feed: Feed, damage: Damage
) -> None:
    files = feed.files("state")
    with damaged(files, damage):
        said = "\n".join(feed.project.operate("doctor", fails=True, collection=feed.name))
        assert "  ok     the changelog has" in said
        # The doctor and the run may meet different files.
        for line in (FAULT.findall(said)[0], feed.fail("orders_corrections")):
            assert "orders_state/data/" in line or "a data file" in line
            if "a data file" not in line:
                assert line.endswith(
                    f"rebuild it: dbt run --full-refresh -s orders_state. {OTHERWISE}"
                )
        feed.project.run("orders_state", "--full-refresh")
        feed.arrive()
        feed.recover()


OF_ONE_RUN = [
    (role, damage)
    for role in ("batch", "corrections")
    for damage in DAMAGES
    # Such a table has one file, which has no other to be swapped with.
    if damage.name != "swapped" and (IS_LONG or (role, damage.name) == ("corrections", "missing"))
]


@pytest.mark.parametrize(
    ("role", "damage"), OF_ONE_RUN, ids=[f"{role}-{damage.name}" for role, damage in OF_ONE_RUN]
)
def test_a_table_of_one_run_with_a_damaged_file_can_be_dropped(
    feed: Feed, role: str, damage: Damage
) -> None:
    number = len(feed.log)
    feed.arrive(Command(1, (number,), (f"late {number}",), ("late",)))
    models = ["orders_corrections", "orders_batch", "orders_changelog"]
    place = models.index(f"orders_{role}")
    feed.project.run(*models[: place + 1])
    files = feed.files(role)
    assert files, "there is no file to lose"
    with damaged(files, damage):
        line = feed.fail(*models[place + 1 :])
        assert line.startswith("missing file: " if damage.name == "missing" else "damaged file: ")
        if "a data file" not in line:
            assert f"orders_{role}/data/" in line
            advice = f"If orders_{role} is a table of trueup, drop it: the next run makes it again."
            assert line.endswith(f"{advice} {OTHERWISE}")
        feed.project.sql(f"drop table {{}}.orders_{role}")
        feed.recover(is_last=True)


@in_the_long_form
def test_a_truncated_metadata_file_stops_the_run(feed: Feed, home: Path) -> None:
    # Iceberg reads such a file 20 times, for two minutes.
    feed.arrive()
    with damaged([metadata_of(home, "orders_state")], DAMAGES[1]):
        assert feed.fail().startswith("damaged file: ")
    feed.recover()


@in_the_long_form
def test_a_full_disk_and_a_read_only_folder_stop_a_write_and_lose_nothing(
    new_project: Callable[[str], Project], home: Path
) -> None:
    project = new_project("small_disk")
    folder = home / "warehouse" / "small_disk"
    folder.mkdir(parents=True, exist_ok=True)
    with small_disk(folder):
        feed = Feed(project, "orders")
        # With some bytes left, the statements before the first large one still succeed.
        for left in (0, 40_000, 80_000, 120_000, 160_000):
            feed.arrive()
            with full(folder, left):
                assert feed.fail().startswith("full disk: ")
            feed.recover()
        feed.arrive()
        with read_only(folder):
            assert feed.fail().startswith("no write access: ")
        feed.recover()


@contextmanager
def own_catalog(project: Project, folder: Path) -> Iterator[Feed]:
    """Give a collection in a catalog of its own, which waits for half a second."""
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{folder}/catalog.db?busy_timeout=500",
        ".jdbc.schema-version": "V1",
        ".cache-enabled": "false",
        ".warehouse": f"{folder}_warehouse",
    }
    for name, value in settings.items():
        project.spark.conf.set(f"spark.sql.catalog.{folder.name}{name}", value)
    project.spark.sql(f"use {folder.name}")
    try:
        project.sql("create schema if not exists {}")
        yield Feed(project, "orders")
    finally:
        project.spark.sql("use lake")


@in_the_long_form
def test_a_locked_missing_or_damaged_catalog_stops_a_run_and_loses_nothing(
    new_project: Callable[[str], Project], home: Path
) -> None:
    folder = home / "other"
    folder.mkdir()
    with own_catalog(new_project("storage"), folder) as feed:
        file = folder / "catalog.db"
        feed.arrive()
        holder = sqlite3.connect(file, isolation_level=None)
        holder.execute("begin exclusive")
        assert feed.fail().startswith("locked catalog: ")
        holder.execute("rollback")
        holder.close()
        feed.recover()
        feed.arrive()
        away = file.with_name("away.db")
        file.rename(away)
        assert feed.fail().startswith("damaged catalog: ")
        away.rename(file)
        feed.recover()
        feed.arrive()
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        assert feed.fail().startswith("damaged catalog: ")
        file.write_bytes(content)
        feed.recover()


@in_the_long_form
def test_a_catalog_on_a_full_disk_stops_a_run_and_loses_nothing(
    new_project: Callable[[str], Project], home: Path
) -> None:
    folder = home / "small"
    folder.mkdir()
    with small_disk(folder), own_catalog(new_project("storage"), folder) as feed:
        feed.arrive()
        with full(folder):
            assert feed.fail().startswith("full disk: ")
        feed.recover()
