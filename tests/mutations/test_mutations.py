"""Puts each bug of bugs.yml into the macros, and requires that a short script shows it.

The script is one for all bugs: a collection of whole commands and one of partial commands, three
runs, the oracle after each, the laws of the store, and a scan of the store at the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.acceptance import Column
from tests.conftest import ROOT
from tests.newest_oracle import Command, Newest
from tests.project import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.iceberg_only

BUGS: list[dict[str, str]] = yaml.safe_load(Path(__file__).with_name("bugs.yml").read_text())
KEY = [Column("k1", "string"), Column("k2", "string")]
VALUE = [Column("v", "string"), Column("w", "string")]
SAME_W = frozenset([1])


def put(major: int, minor: int, key: str | None, *value: str | None, **more: Any) -> Command:
    return Command((major, minor), (key, "k"), value, **more)


def delete(major: int, minor: int, key: str) -> Command:
    return Command((major, minor), (key, "k"), None)


WHOLE = [
    [
        put(1, 1, "nulls", "x", None),
        put(1, 5, "older", "new", ""),
        put(1, 4, "older", "old", ""),
        put(1, 1, None, "n", "1"),
        put(1, 3, "tie", "one", ""),
        put(1, 3, "tie", "two", ""),
        delete(1, 5, "absent"),
        put(1, 1, "deleted", "d", ""),
        put(1, 1, "renewed", "same", ""),
        Command((1, 1), ("error", "k"), None, "bad"),
        Command((1, 1), None, (None, None), "bad key", "xff"),
        put(0, 1, "truncated", "t", ""),
    ],
    [
        put(1, 2, "nulls", None, "x"),
        put(1, 3, "older", "late", ""),
        put(1, 2, None, "n", "2"),
        put(1, 4, "absent", "zombie", ""),
        delete(1, 5, "deleted"),
        put(1, 5, "renewed", "same", ""),
        put(1, 2, "error", "good", ""),
        Command((None, None), ("older", "k"), ("no order", "")),
    ],
    [
        put(1, 3, "renewed", "late", ""),
        put(1, 4, "deleted", "zombie", ""),
        Command((0, 9), None, None, is_truncate=True),
        put(0, 8, "late", "gone", ""),
        put(0, 9, "reloaded", "stays", ""),
        delete(1, 9, "nulls"),
    ],
]
PARTIAL = [
    [
        put(1, 1, "a", "v1", "w1"),
        put(1, 3, "a", "v3", "", unchanged=SAME_W),
        put(1, 5, "b", "v5", "w5"),
        put(1, 1, "c", "v1", "w1"),
    ],
    [put(1, 2, "a", "v2", "w2"), put(1, 4, "b", "v4", "w4"), delete(1, 7, "c")],
    [put(1, 9, "c", "v9", "", unchanged=SAME_W), put(1, 6, "a", "v6", "", unchanged=SAME_W)],
]
SCRIPTS = {"whole": WHOLE, "partial": PARTIAL}


def copy_with(bug: dict[str, str] | None, folder: Path) -> Path:
    """Make the package in a folder, with a bug."""
    for path in (ROOT / "dbt_project.yml", *(ROOT / "macros").rglob("*.sql")):
        link = folder / path.relative_to(ROOT)
        link.parent.mkdir(parents=True, exist_ok=True)
        if bug is not None and path == ROOT / "macros" / bug["file"]:
            link.write_text(path.read_text().replace(bug["old"], bug["new"]))
        else:
            link.symlink_to(path)
    return folder


def play(project: Project) -> str:
    """Play the script. Say what differs first."""
    for name in SCRIPTS:
        extra = ["truncate_when", *(["unchanged"] if name == "partial" else [])]
        project.add_collection(name, KEY, VALUE, {}, extra)
    oracles = {name: Newest(width=len(VALUE)) for name in SCRIPTS}
    for run in range(3):
        for name, script in SCRIPTS.items():
            project.append(name, script[run])
            oracles[name].run(script[run])
        project.run(fails=None)
        for name, oracle in oracles.items():
            store = project.store(name)
            what = "rows"
            try:
                assert store.rows() == oracle.rows()
                what = "errors"
                assert store.errors() == oracle.errors()
                what = "order errors"
                assert store.order_errors() == oracle.order_errors()
                what = "laws"
                store.check_laws()
            except AssertionError:
                return f"{what} of {name}"
    for name in SCRIPTS:
        project.set_options(name, verify="always")
    project.run(fails=None)
    up_to_date = all("up to date" in said for said in project.messages)
    is_damaged = any("rebuilt" in said or "restored" in said for said in project.messages)
    return "nothing" if up_to_date and not is_damaged else "scan"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug["bug"])
def test_the_file_of_each_bug_has_the_old_text_once(bug: dict[str, str]) -> None:
    text = (ROOT / "macros" / bug["file"]).read_text()
    assert text.count(bug["old"]) == 1


@pytest.mark.long
@pytest.mark.parametrize("bug", [None, *BUGS], ids=lambda bug: bug["bug"] if bug else "none")
def test_each_bug_shows_and_nothing_else_does(
    bug: dict[str, str] | None, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    name = f"mutation_{BUGS.index(bug) if bug else 'none'}"
    package = copy_with(bug, tmp_path / "package")
    project = Project(tmp_path / "project", name, spark, package)
    assert play(project) == (bug["shows"] if bug else "nothing")
