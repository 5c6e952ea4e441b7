"""Check a collection with Great Expectations: one command, a checkpoint, and Data Docs.

`python -m dbt_trueup.expectations files`, in a dbt project, asks dbt what has to hold of the
collection `files`, opens the Spark session of dbt's profile, and runs a checkpoint over its tables.
It needs `pip install "dbt-trueup[expectations]"`.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.cli.main import dbtRunner

if TYPE_CHECKING:
    from collections.abc import Sequence

DBT_OPTIONS = ("project-dir", "profiles-dir", "profile", "target", "vars")
"""The options of the command that are handed to dbt as they are."""

SHOWN_ROWS = 3
"""How many of the rows that are wrong are shown."""


class ExpectationsError(RuntimeError):
    """The collection cannot be checked: something is not installed, not there, or not made yet."""


@dataclass(frozen=True)
class Check:
    """A query that has to find nothing."""

    name: str
    says: str
    """What holds where it finds nothing."""
    wrong: str
    """What its rows are."""
    query: str
    shows: tuple[str, ...] = ()
    """The columns that tell one row from another; all, where none are given."""


@dataclass(frozen=True)
class Collection:
    """A collection, and what has to hold of it; dbt's macro `trueup.expectations` gives it."""

    name: str
    table: str
    """Its view, as it is named in SQL."""
    unique: tuple[str, ...]
    """The columns of the key that are unique together; none, where a check says so."""
    not_null: tuple[str, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Finding:
    """What became of one expectation."""

    name: str
    says: str
    has_passed: bool
    reason: str
    """What was found; empty where nothing was."""


@dataclass(frozen=True)
class Report:
    """What became of a collection."""

    collection: str
    findings: tuple[Finding, ...]
    """In the order of the suite."""
    page: str
    """The address of this run's page of Data Docs."""

    def has_passed(self) -> bool:
        """Say whether every expectation holds."""
        return all(finding.has_passed for finding in self.findings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a collection as the command line asks, and print what was found.

    Args:
        arguments: Those of the command line, where they are not given.

    Returns:
        The exit code: 0 if every expectation holds, 1 if one does not, 2 if none could be checked.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.max_errors < 0:
        parser.error(f"--max-errors must be at least 0, got {given.max_errors}")
    options = [
        word
        for name in DBT_OPTIONS
        if (value := getattr(given, name.replace("-", "_"))) is not None
        for word in (f"--{name}", value)
    ]
    folder = Path(given.output or default_folder(given.project_dir or ".")).resolve()
    try:
        report = check(given.collection, given.max_errors, folder, options)
    except ExpectationsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(describe(report))
    return 0 if report.has_passed() else 1


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m dbt_trueup.expectations", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("collection", help="its name, which is that of its view")
    parser.add_argument(
        "--max-errors", type=int, default=0, metavar="N", help="open errors that may be; default: 0"
    )
    parser.add_argument(
        "--output", metavar="PATH", help="folder of the results; default: target/expectations"
    )
    for name in DBT_OPTIONS:
        parser.add_argument(f"--{name}", help="as in dbt")
    return parser


def default_folder(project: str) -> Path:
    """Name the folder of the results: in the target folder of the project, as dbt finds it."""
    return Path(project, os.environ.get("DBT_TARGET_PATH", "target"), "expectations")


def check(name: str, max_errors: int, folder: Path, options: Sequence[str] = ()) -> Report:
    """Run the checkpoint of a collection, and write its Data Docs.

    Args:
        name: The collection.
        max_errors: How many open errors may be.
        folder: Where results and Data Docs go, absolute.
        options: Those of dbt's command line, such as `["--project-dir", "shop"]`.

    Raises:
        ExpectationsError: Great Expectations is not installed; dbt does not know the collection,
            or it has not run; or dbt has no Spark session in this process.
    """
    require_great_expectations()
    collection = read_collection(name, max_errors, options)
    require_session(name)
    from . import suite  # noqa: PLC0415 - heavy, and not always installed

    return suite.run_checkpoint(collection, folder)


def require_great_expectations() -> None:
    """Check that Great Expectations is there.

    Raises:
        ExpectationsError: It is not; says what to install.
    """
    if find_spec("great_expectations") is None:
        message = (
            "python -m dbt_trueup.expectations needs Great Expectations, which is not installed.\n"
            'Run: pip install "great-expectations~=1.24.0"'
        )
        raise ExpectationsError(message)


def read_collection(name: str, max_errors: int = 0, options: Sequence[str] = ()) -> Collection:
    """Ask dbt what has to hold of a collection.

    dbt starts Spark with the settings of its profile, and leaves the session to this process.

    Args:
        name: The collection.
        max_errors: How many open errors may be.
        options: Those of dbt's command line.

    Raises:
        ExpectationsError: dbt failed, for instance as there is no such collection.
    """
    call = f"trueup.expectations({json.dumps(name)}, max_errors={max_errors})"
    quiet = ["--quiet", "--no-use-colors", "--log-level", "none"]
    ran = dbtRunner().invoke(["compile", "--inline", f"{{{{ {call} }}}}", *quiet, *options])
    if not ran.success:
        results = getattr(ran.result, "results", [])
        why = ran.exception or "; ".join(str(result.message) for result in results)
        lines = [line.strip() for line in str(why).splitlines()]
        # Without the macros that dbt was in.
        told = "\n".join(line for line in lines if line and not line.startswith("> "))
        message = f"dbt could not say what has to hold of `{name}`: {told}"
        raise ExpectationsError(message)
    result: Any = ran.result
    return parse_collection(result.results[0].node.compiled_code)


def parse_collection(text: str) -> Collection:
    """Read what the macro `trueup.expectations` wrote.

    Example:
        >>> parse_collection(
        ...     '{"name": "files", "table": "t.files", "unique": ["path"], "not_null": ["path"],'
        ...     ' "checks": []}'
        ... )
        Collection(name='files', table='t.files', unique=('path',), not_null=('path',), checks=())
    """
    given: dict[str, Any] = json.loads(text)
    checks = (Check(**{**one, "shows": tuple(one.get("shows", ()))}) for one in given["checks"])
    return Collection(
        name=given["name"],
        table=given["table"],
        unique=tuple(given["unique"]),
        not_null=tuple(given["not_null"]),
        checks=tuple(checks),
    )


def require_session(name: str) -> None:
    """Check that dbt has started a Spark session in this process.

    Raises:
        ExpectationsError: It has not, as its profile is one of a server.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy

    # That of another thread counts, which `getActiveSession` does not see.
    if SparkSession._instantiatedSession is None:  # noqa: SLF001 - has no public form
        message = (
            f"The expectations of `{name}` need a dbt profile with `method: session`.\n"
            "Got: one without a Spark session in this process; use the generic tests of dbt there."
        )
        raise ExpectationsError(message)


def describe_rows(
    wrong: str, count: int, rows: Sequence[Any], shows: Sequence[str] = (), *, is_part: bool = False
) -> str:
    """Write what is wrong in one line, with some rows.

    Args:
        wrong: What the rows are.
        count: How many there are.
        rows: Some of them, or all: dicts, or single values.
        shows: The columns to show, where rows are dicts; all, where none are given.
        is_part: Whether there may be more than `count`.

    Example:
        >>> describe_rows("rows of one side", 4, [{"k": "a", "_error": None}, {"k": None}])
        "rows of one side: 4 (k 'a'; k null; ...)"
    """
    texts = list(dict.fromkeys(describe_row(row, shows) for row in rows))[:SHOWN_ROWS]
    if texts and count > min(len(rows), SHOWN_ROWS):
        texts.append("...")
    number = f"{count:,} or more" if is_part else f"{count:,}"
    return f"{wrong}: {number}" + (f" ({'; '.join(texts)})" if texts else "")


def describe_row(row: Any, shows: Sequence[str] = ()) -> str:
    """Write a row in one line: a dict, without those of trueup's columns that are null, or a value.

    Example:
        >>> describe_row({"k": "a", "v": None, "_error": None})
        "k 'a', v null"
    """
    if row is None:
        return "null"
    if not isinstance(row, dict):
        return repr(row) if isinstance(row, str | bytes) else str(row)
    columns = [name for name in shows or row if row[name] is not None or not name.startswith("_")]
    return ", ".join(f"{name} {describe_row(row[name])}" for name in columns)


def describe(report: Report) -> str:
    """Write what was found for a reader, one line an expectation.

    Example:
        >>> held = Finding("key_is_unique", "no key is there twice", has_passed=True, reason="")
        >>> print(describe(Report("files", (held,), "file:///index.html")))
        files: 1 of 1 expectations hold
        <BLANKLINE>
          passed  key_is_unique  no key is there twice
        <BLANKLINE>
          Data Docs: file:///index.html
        <BLANKLINE>
    """
    findings = report.findings
    held = sum(finding.has_passed for finding in findings)
    width = max((len(finding.name) for finding in findings), default=0)
    lines = [
        f"  {'passed' if one.has_passed else 'FAILED'}  {one.name:{width}}  "
        + (one.says if one.has_passed else one.reason)
        for one in findings
    ]
    headline = f"{report.collection}: {held} of {len(findings)} expectations hold"
    return "\n".join([headline, "", *lines, "", f"  Data Docs: {report.page}", ""])
