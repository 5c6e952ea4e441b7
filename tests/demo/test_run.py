"""Runs the command line of the demo over small repositories."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml
from pyspark.sql.readwriter import DataFrameWriterV2

from demo import run
from demo.git_log import TreeRow
from tests.git_repository import FILE, PROGRAM, commit, git, new_repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

WITH_SPARK = pytest.mark.usefixtures("spark", "profile")
PROOF = f"  {'proof':<20}  {{}} git ls-tree -r HEAD, row by row\n"
EXACT = PROOF.format("files and files_by_commit_live: equals")


class KilledError(BaseException):
    """Stands for a kill of the process. No code catches it."""


class Printed(NamedTuple):
    """The exit code and the output of a run of the demo."""

    exit_code: int
    out: str
    err: str


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with three commits. The second commit is empty."""
    path = new_repository(tmp_path / "small.git")
    commit(path, {b"a": (FILE, "1"), b"b": (FILE, "1"), b"caf\xc3\xa9 'q'": (FILE, "1")})
    commit(path, {})
    commit(path, {b"b": (FILE, "2")})
    return path


@pytest.fixture
def profile(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let dbt use the tests' session and the demo's schema, and write nothing to the checkout."""
    content = yaml.safe_load((home / "profiles.yml").read_text())
    content["trueup"]["outputs"]["local"]["schema"] = "{{ env_var('TRUEUP_SCHEMA') }}"
    (tmp_path / "profiles.yml").write_text(yaml.safe_dump(content))
    for name, value in {
        "DBT_PROFILES_DIR": tmp_path,
        "DBT_TARGET_PATH": tmp_path / "target",
        "DBT_LOG_PATH": tmp_path / "logs",
        "TRUEUP_HOME": home,
        "TRUEUP_SCHEMA": "set by the demo",
    }.items():
        monkeypatch.setenv(name, str(value))


@pytest.fixture
def demo(repository: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], Printed]:
    """A function that runs the demo over the repository."""

    def run_demo() -> Printed:
        exit_code = run.main(["--repository", str(repository)])
        return Printed(exit_code, *capsys.readouterr())

    return run_demo


@pytest.fixture
def log(spark: SparkSession, repository: Path) -> Callable[[], list[Row]]:
    """A function that reads the log of the repository."""
    table = f"{run.schema_of(repository)}.git_changes"
    return lambda: spark.table(table).orderBy("commit_no", "change_no").collect()


@pytest.mark.long
@WITH_SPARK
def test_the_demo_reads_a_history_and_then_only_new_commits(
    demo: Callable[[], Printed], repository: Path
) -> None:
    head = git(repository, "rev-parse", "main")
    assert demo() == (
        0,
        f"files of small.git at {head[:7]} (3 commits)\n\n"
        "  files                 batch 1: 4 commands, 3 inserted, 1 superseded\n"
        # The last commit is open, and only the live table has it.
        "  files_by_commit       batch 1: 3 commands, 3 inserted\n"
        "  files_by_commit_live  OK\n"
        "  files_by_type         batch 1: 1 inserted\n"
        "  rows                  3\n"
        "  types                 none 3\n" + EXACT,
        "",
    )

    commit(repository, {})
    again = demo()
    assert again.exit_code == 0
    assert "  files                 up to date at batch 1\n" in again.out
    assert "  files_by_commit       up to date at batch 1\n" in again.out
    assert "  files_by_type         up to date at batch 1\n" in again.out
    assert EXACT in again.out

    commit(repository, {b"a": None, b"b": (PROGRAM, "2"), b"c.py": (FILE, "3")})
    later = demo()
    assert later.exit_code == 0
    assert "(5 commits)" in later.out
    assert (
        "  files                 batch 2: 3 commands, 1 inserted, 1 updated, 1 deleted\n"
        "  files_by_commit       batch 2: 1 command, 1 updated\n"
        "  files_by_commit_live  OK\n"
        "  files_by_type         batch 2: 1 inserted, 1 updated\n"
        "  rows                  3\n"
        "  types                 none 2, py 1\n" + EXACT
    ) in later.out


@pytest.mark.long
@WITH_SPARK
def test_a_rewritten_history_is_refused_and_nothing_is_appended(
    demo: Callable[[], Printed], repository: Path, log: Callable[[], list[Row]]
) -> None:
    assert demo().exit_code == 0
    before = log()
    first = git(repository, "rev-list", "--max-parents=0", "main")
    other = commit(repository, {b"b": (FILE, "another")}, parents=[first])
    git(repository, "update-ref", "refs/heads/main", other)
    commit(repository, {b"b": (FILE, "and more")})

    refused = demo()

    assert refused.exit_code == 1
    assert refused.out == ""
    assert "It was rewritten, or it is that of another branch; to" in refused.err
    assert "`make clean`" in refused.err
    assert log() == before


@pytest.mark.long
@WITH_SPARK
def test_a_kill_neither_loses_nor_repeats_a_change(
    demo: Callable[[], Printed],
    log: Callable[[], list[Row]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append, dbt = DataFrameWriterV2.append, run.dbt
    appends: list[int] = []

    def append_once(writer: DataFrameWriterV2) -> None:
        if appends:
            raise KilledError
        appends.append(1)
        append(writer)

    def dbt_before_the_run(*arguments: str, manifest: object = None) -> object:
        if arguments[0] == "run":
            raise KilledError
        return dbt(*arguments, manifest=manifest)

    with monkeypatch.context() as patch:
        patch.setattr(run, "APPEND_ROWS", 1)
        patch.setattr(DataFrameWriterV2, "append", append_once)
        with pytest.raises(KilledError):
            demo()
    assert [row["commit_no"] for row in log()] == [1, 1, 1], "an append is of whole commits"
    with monkeypatch.context() as patch:
        patch.setattr(run, "dbt", dbt_before_the_run)
        with pytest.raises(KilledError):
            demo()
    assert [row["commit_no"] for row in log()] == [1, 1, 1, 3]

    after = demo()

    assert [row["commit_no"] for row in log()] == [1, 1, 1, 3]
    assert after.exit_code == 0
    assert "  files                 batch 1: 4 commands, 3 inserted, 1 superseded\n" in after.out
    assert EXACT in after.out


def test_rows_that_differ_from_git_are_printed_and_fail_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [TreeRow("both", FILE, "1")]
    tree = [TreeRow(f"only git {number:02}", FILE, "1") for number in range(12)]
    outcome = run.Outcome(
        repository=run.ROOT,
        history=["c1"],
        said={"files": "up to date at batch 1"},
        types=[],
        found={"files": Counter(both * 2), "files_by_commit_live": Counter(both + tree)},
        expected=Counter(both + tree),
    )
    monkeypatch.setattr(run, "run", lambda _: outcome)

    assert run.main([]) == 1

    printed = capsys.readouterr().out
    assert PROOF.format("files: differs from") in printed
    assert "\n  1 row only in files\n    100644 1 'both'\n" in printed
    assert "\n  12 rows only in git, not in files\n    100644 1 'only git 00'\n" in printed
    assert printed.endswith("'only git 09'\n")


def test_every_repository_has_its_own_valid_schema_name(tmp_path: Path) -> None:
    schemas = {run.schema_of(tmp_path / name) for name in ("a/same", "b/same", "b/Same", "b/日本")}

    assert len(schemas) == 4
    assert all(name.isascii() and name.isidentifier() and name.islower() for name in schemas)
