"""Runs the command of the Great Expectations suite over the demo, intact and damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

from dbt_trueup.command_line import program
from demo import run
from tests.acceptance import Column
from tests.git_repository import FILE, commit, new_repository
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only
"""The demo has tables of Iceberg."""

HOLDS = """\
files: 10 of 10 expectations hold

  passed  key_is_not_null                 no key of files is null
  passed  key_is_unique                   no key of files is there twice
  passed  one_live_row_per_key            at every tick a key of files_changelog has one live row \
or none
"""


class Printed(NamedTuple):
    """The exit code and the output of the command."""

    exit_code: int
    out: str
    err: str

    def failed(self) -> dict[str, str]:
        """The reason of each failed expectation, by its name."""
        lines = [line.split(None, 2) for line in self.out.splitlines()]
        return {line[1]: line[2] for line in lines if line and line[0] == "FAILED"}


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """A function that runs the command."""

    def run_command(*arguments: str) -> Printed:
        capsys.readouterr()
        exit_code = program.main(["check", *arguments])
        return Printed(exit_code, *capsys.readouterr())

    return run_command


class Demo:
    """The demo over a small repository. A test may damage its tables."""

    def __init__(self, spark: SparkSession, schema: str, target: Path) -> None:
        """Take the schema of the demo, and the target folder of dbt."""
        self.spark, self.schema, self.target = spark, schema, target
        self.snapshots: dict[str, int] = {}

    def damage(self, table: str, statement: str) -> None:
        """Run a statement on a table. `{}` in the statement stands for the name of the table."""
        name = f"{self.schema}.{table}"
        latest = f"select snapshot_id from {name}.history order by made_current_at desc"
        self.snapshots[name] = self.spark.sql(latest).collect()[0][0]
        self.spark.sql(statement.replace("{}", name))

    def mend(self) -> None:
        """Restore every damaged table."""
        for name, snapshot in self.snapshots.items():
            self.spark.sql(f"call lake.system.set_current_snapshot('{name}', {snapshot})")
        self.snapshots = {}


@pytest.fixture(scope="module")
def settled(
    spark: SparkSession, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    """The demo after two batches."""
    folder = tmp_path_factory.mktemp("expectations")
    repository = new_repository(folder / "small.git")
    content = yaml.safe_load((home / "profiles.yml").read_text())
    content["trueup"]["outputs"]["local"]["schema"] = "{{ env_var('TRUEUP_SCHEMA') }}"
    (folder / "profiles.yml").write_text(yaml.safe_dump(content))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "DBT_PROFILES_DIR": folder,
            "DBT_TARGET_PATH": folder / "target",
            "DBT_LOG_PATH": folder / "logs",
            "TRUEUP_HOME": home,
            "TRUEUP_SCHEMA": "set by the demo",
        }.items():
            patch.setenv(name, str(value))
        commit(repository, {b"a": (FILE, "1"), b"b": (FILE, "1"), b"c": (FILE, "1")})
        assert run.main(["--repository", str(repository)]) == 0
        commit(repository, {b"a": (FILE, "2"), b"b": None})
        assert run.main(["--repository", str(repository)]) == 0
        yield Demo(spark, run.schema_of(repository), folder / "target")


@pytest.fixture
def demo(settled: Demo) -> Iterator[Demo]:
    """The demo. Its tables are restored after the test."""
    yield settled
    settled.mend()


def test_every_expectation_holds_on_the_demo(demo: Demo, check: Callable[..., Printed]) -> None:
    printed = check("files")

    site = demo.target / "expectations" / "site"
    assert printed.exit_code == 0
    assert printed.out.startswith(HOLDS)
    (page,) = site.glob("validations/files/files/*/*.html")
    assert printed.out.endswith(f"\n\n  Data Docs: file://{page}\n")
    assert printed.out.count("  passed  ") == 10
    assert printed.err == ""
    assert "files" in (site / "index.html").read_text()
    assert "no key of files is there twice" in page.read_text()


@pytest.mark.long
def test_a_changed_row_in_the_state_is_reported(demo: Demo, check: Callable[..., Printed]) -> None:
    demo.damage("files_state", "update {} set mode = '100755' where path = 'c'")

    printed = check("files")

    failed = printed.failed()
    assert printed.exit_code == 1
    assert list(failed) == [
        "state_is_consolidated",
        "state_matches_certificate",
        "collection_matches_certificate",
    ]
    assert failed["state_is_consolidated"].startswith(
        "rows that only files_changelog (_diff above 0) or only files_state has (below 0): 2 (path"
    )
    assert "path 'c', mode '100755'" in failed["state_is_consolidated"]
    assert (
        "buckets of keys in which rows were lost, doubled or changed: 1 (bucket "
        in (failed["state_matches_certificate"])
    )


@pytest.mark.long
def test_a_row_of_another_kind_is_reported(demo: Demo, check: Callable[..., Printed]) -> None:
    demo.damage("files_state", "update {} set _kind = 'error' where path = 'c'")

    assert "path 'c'" in check("files").failed()["state_is_consolidated"]


@pytest.mark.long_cases
@pytest.mark.parametrize(
    ("table", "damage", "found"),
    [
        ("files_changelog", "delete from {} where true", "'lost', _seq 2"),
        ("files_changelog", "delete from {} where _seq = 2", "'lost', _seq 2"),
        ("files_state", "delete from {} where _kind = 'progress'", "'lost'"),
    ],
)
def test_lost_batches_are_reported(
    demo: Demo, check: Callable[..., Printed], table: str, damage: str, found: str
) -> None:
    demo.damage(table, damage)

    assert found in check("files").failed()["frontier_is_monotone"]


def test_a_duplicate_key_is_reported(demo: Demo, check: Callable[..., Printed]) -> None:
    demo.damage("files_state", "insert into {} select * from {} where path = 'c'")

    failed = check("files").failed()

    assert failed["key_is_unique"] == "rows of files whose key is there twice: 2 ('c')"
    assert "state_matches_certificate" in failed


@pytest.mark.long
def test_a_duplicate_update_in_the_changelog_is_reported(
    demo: Demo, check: Callable[..., Printed]
) -> None:
    demo.damage(
        "files_changelog",
        "insert into {} select * from {} where path = 'a' and _seq = 2 and _diff = 1",
    )

    failed = check("files").failed()

    assert list(failed) == [
        "one_live_row_per_key",
        "diffs_consolidate",
        "changelog_matches_certificate",
        "state_is_consolidated",
    ]
    assert failed["one_live_row_per_key"] == (
        "keys and ticks with more than one live row, or with less than none: 1"
        " (_kind 'key', path 'a', _ts 2, _diff_total 2)"
    )
    assert failed["changelog_matches_certificate"] == (
        "batches of which rows were lost, doubled or changed: 1 (_seq 2, progress_count 1)"
    )


@pytest.mark.long
def test_a_frontier_that_goes_back_is_reported(demo: Demo, check: Callable[..., Printed]) -> None:
    demo.damage("files_changelog", "update {} set _upper = 1 where _kind = 'progress' and _seq = 2")

    assert check("files").failed() == {
        "changelog_matches_certificate": "batches of which rows were lost, doubled or changed: 1"
        " (_seq 2, progress_count 1)",
        "frontier_is_monotone": "batches that take the frontier back: 2"
        " (_finding 'backwards', _seq 2, _lower 2, _upper 1, _previous_upper 2;"
        " _finding 'not_as_applied', _seq 2, _lower 2, _upper 1, _previous_upper 3)",
    }


@pytest.fixture(scope="module")
def orders(new_project: Callable[[str], Project]) -> Project:
    """A collection with a key that Great Expectations cannot name, and an open error."""
    project = new_project("expected")
    key = [Column("order`s no.", "int"), Column("region", "string")]
    value = [Column("{status}", "string")]
    project.add_collection("orders", key, value, {"inline_errors": "oops", "eager": True})
    commands = [
        Command(1, (1,), (1, "eu"), ("new",)),
        Command(1, (1,), (1, None), ("new",)),
        Command(1, (1,), (2, None), None, "no status"),
    ]
    project.append("orders", commands)
    project.run()
    return project


def test_open_errors_fail_only_above_their_threshold(
    orders: Project, check: Callable[..., Printed]
) -> None:
    options = ["orders", "--project-dir", str(orders.folder), "--output", str(orders.folder / "gx")]

    assert check(*options).failed() == {
        "errors_under_threshold": "open errors, where at most 0 may be: 1 (order`s no. 2,"
        " region null, _error_kind 'value', _error 'no status', _ts 1)"
    }
    orders.sql("insert into {}.orders_state select * from {}.orders_state where region = 'eu'")
    twice = check(*options, "--max-errors", "1")
    assert twice.failed()["key_is_unique"] == (
        "keys of orders that are there twice: 1 (order`s no. 1, region 'eu', _row_count 2)"
    )
    assert "errors_under_threshold          orders_errors has at most 1 open error" in twice.out
    assert (orders.folder / "gx" / "site" / "index.html").is_file()


def test_an_unknown_collection_is_an_error_before_spark_is_asked(
    orders: Project, check: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("dbt_trueup.expectations.check.read_collection")
    printed = check("order", "--project-dir", str(orders.folder))

    unknown = "trueup check: COLLECTION must be one of orders.\nGot: order\n"
    assert printed == (2, "", unknown)
