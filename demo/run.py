"""Bring the collection `files` to the HEAD of a git repository, and prove that it is exact.

New commits are appended to the log `git_changes`, and `dbt run` reads them. Then the collection is
compared with the tree that git itself stores.

The log itself shows which commits it has: all up to its last one. Each append is atomic and ends
with a complete commit. So a kill between two appends loses nothing and doubles nothing. A commit
without changes leaves no row in the log; reading it again has no effect. Two runs at once may
append a commit twice, but the collection counts it once.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from dbt_trueup.errors import TrueupError
from dbt_trueup.plugin.java import require_java
from dbt_trueup.plural import count
from demo.git_log import (
    Change,
    GitLogError,
    TreeRow,
    first_parents,
    read_changes,
    read_tree,
    require_prefix,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Row

ROOT = Path(__file__).resolve().parents[1]
"""This checkout: the default repository. Its tables are in the schema of the profile."""

LOG_COLUMNS = """
    commit_no bigint, change_no bigint, commit string, committed_at timestamp,
    path string, mode string, blob string, op string
"""
"""The columns of `git_changes`, in the order of `Change`."""

APPEND_ROWS = 100_000
"""The least number of changes in one append. An append ends with a complete commit."""

SHOWN_ROWS = 10
"""How many differing rows are shown for each side."""


SHOWN_TYPES = 8
"""How many types of files are shown."""


class DbtError(RuntimeError):
    """A dbt command failed. dbt has printed the reason."""


class Tables(NamedTuple):
    """The tables that the demo reads and writes, as dbt names them, with their schema."""

    log: str
    files: str
    live: str
    types: str
    file_format: str


@dataclass(frozen=True)
class Outcome:
    """What a run did, and what it found."""

    repository: Path
    history: Sequence[str]
    """The commits, oldest first."""
    said: Mapping[str, str]
    """What dbt says of each collection."""
    types: Sequence[Row]
    """The rows of `files_by_type` with the most files."""
    found: Mapping[str, Counter[TreeRow]]
    """The rows of `files` and of `files_by_commit_live`, which both have the last commit."""
    expected: Counter[TreeRow]
    """The rows of the tree of the last commit."""

    def is_exact(self) -> bool:
        """Return whether both tables equal that tree, row by row."""
        return all(rows == self.expected for rows in self.found.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo from the command line and print the result.

    Args:
        arguments: The words of the command line; by default those of this process.

    Returns:
        The exit code: 0 if the collection is exact, else 1.
    """
    parser = ArgumentParser(prog="python -m demo.run", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--repository",
        type=Path,
        default=ROOT,
        metavar="PATH",
        help="top folder of a git repository; default: this checkout",
    )
    repository = parser.parse_args(arguments).repository.expanduser().resolve()
    try:
        outcome = run(repository)
        sys.stdout.write(describe(outcome))
    except (DbtError, GitLogError, TrueupError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0 if outcome.is_exact() else 1


def run(repository: Path) -> Outcome:
    """Append new commits to the log, read them with `dbt run`, and look at the result.

    Args:
        repository: The top folder of a git repository, absolute. Every repository other than this
            checkout has a schema of its own, see `schema_of`.

    Raises:
        GitLogError: The history cannot be read, or does not begin with the commits read before.
        JavaMissingError: There is no Java 17 or newer.
        DbtError: dbt could not start Spark, or a model failed.
    """
    history = first_parents(repository)
    require_java()
    # SQLite creates the file of the catalog, but not its folder.
    Path(os.environ.get("TRUEUP_HOME", ".trueup")).mkdir(parents=True, exist_ok=True)
    if repository != ROOT:
        os.environ["TRUEUP_SCHEMA"] = schema_of(repository)
    manifest = dbt("parse")
    # Any statement makes dbt start Spark with the settings of its profile.
    dbt("run-operation", "list_schemas", "--args", "{database: null}", manifest=manifest)
    spark = SparkSession.builder.getOrCreate()
    tables = Tables(
        log=manifest.sources["source.trueup.git.git_changes"].relation_name,
        files=manifest.nodes["model.trueup.files"].relation_name,
        live=manifest.nodes["model.trueup.files_by_commit_live"].relation_name,
        types=manifest.nodes["model.trueup.files_by_type"].relation_name,
        file_format=manifest.nodes["model.trueup.files"].config.get("file_format"),
    )

    append_new_changes(spark, tables, repository, history)
    ran = dbt("run", "--select", "path:models/demo", manifest=manifest)
    shown = {"files": tables.files, "files_by_commit_live": tables.live}
    types = spark.table(tables.types).orderBy(f.desc("file_count"), "extension")
    return Outcome(
        repository=repository,
        history=history,
        said=dict(sorted((one.node.name, one.message) for one in ran.results)),
        types=types.limit(SHOWN_TYPES).collect(),
        found={
            name: Counter(
                TreeRow(*row) for row in spark.table(table).select(*TreeRow._fields).collect()
            )
            for name, table in shown.items()
        },
        expected=Counter(read_tree(repository, history[-1])),
    )


def schema_of(repository: Path) -> str:
    """Return the schema of a repository other than this checkout.

    Args:
        repository: Its folder, absolute.

    Example:
        >>> schema_of(Path("/srv/dbt-core.git"))
        'git_dbt_core_a84b0e'
    """
    words = re.sub(r"[^a-z0-9]+", "_", repository.stem.lower()).strip("_")
    return f"git_{words[:40]}_{sha256(os.fsencode(repository)).hexdigest()[:6]}"


def dbt(*arguments: str, manifest: Any = None) -> Any:
    """Run a dbt command in this process.

    Args:
        arguments: The command and its options.
        manifest: The result of `dbt parse`. Without it dbt parses the project.

    Returns:
        The result of the command.

    Raises:
        DbtError: The command failed. dbt has printed its messages.
    """
    ran = dbtRunner(manifest=manifest).invoke([*arguments, "--quiet", "--no-use-colors"])
    if not ran.success:
        reason = f": {ran.exception}" if ran.exception else "; its messages are above"
        message = f"`dbt {arguments[0]}` failed{reason}"
        raise DbtError(message)
    return ran.result


def append_new_changes(
    spark: SparkSession, tables: Tables, repository: Path, history: Sequence[str]
) -> None:
    """Append the commits that are not in the log yet. Create the log if it is missing.

    Raises:
        NotAPrefixError: The history does not begin with the commits of the log.
    """
    log = tables.log
    spark.sql(f"create schema if not exists {log.rpartition('.')[0]}")
    spark.sql(f"create table if not exists {log} ({LOG_COLUMNS}) using {tables.file_format}")
    last = spark.table(log).agg(f.max("commit_no"), f.max_by("commit", "commit_no")).first()
    after, commit = last if last and last[0] else (0, "")
    if after:
        require_prefix(history, commit_no=after, commit=commit)
    for changes in split_into_appends(read_changes(repository, after, commit=history[-1])):
        spark.createDataFrame(changes, LOG_COLUMNS).coalesce(1).writeTo(log).append()


def split_into_appends(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Split changes, ordered by commit, into lists of `APPEND_ROWS` or a little more."""
    appended: list[Change] = []
    for change in changes:
        if len(appended) >= APPEND_ROWS and change.commit_no != appended[-1].commit_no:
            yield appended
            appended = []
        appended.append(change)
    if appended:
        yield appended


def describe(outcome: Outcome) -> str:
    """Describe the result for people, with the rows that differ."""
    wrong = [name for name, rows in outcome.found.items() if rows != outcome.expected]
    proof = f"{' and '.join(wrong or outcome.found)}: {'differs from' if wrong else 'equals'}"
    head, commits = outcome.history[-1][:7], count(len(outcome.history), "commit")
    said = {**outcome.said, "rows": f"{outcome.found['files'].total():,}"}
    said["types"] = ", ".join(
        f"{row.extension or 'none'} {row.file_count:,}" for row in outcome.types
    )
    said["proof"] = f"{proof} git ls-tree -r HEAD, row by row"
    lines = [
        f"files of {outcome.repository.name} at {head} ({commits})",
        "",
        *(f"  {name:<20}  {text}" for name, text in said.items()),
    ]
    for name in wrong:
        rows = outcome.found[name]
        lines += _describe_rows(f"only in {name}", rows - outcome.expected)
        lines += _describe_rows(f"only in git, not in {name}", outcome.expected - rows)
    return "\n".join([*lines, ""])


def _describe_rows(where: str, rows: Counter[TreeRow]) -> Iterator[str]:
    if rows:
        yield from ("", f"  {count(rows.total(), 'row')} {where}")
    for row in sorted(rows.elements(), key=repr)[:SHOWN_ROWS]:
        yield f"    {row.mode} {row.blob} {row.path!r}"


if __name__ == "__main__":
    sys.exit(main())
