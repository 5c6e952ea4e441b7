"""`trueup report` over real collections shows what their stores have."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from dbt_trueup.report.data import describe_left_out, read_collection
from tests.monitoring.shop import add_collection, add_monitoring, append
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """The collection `c`: three batches, an edit, a log that grew. And one without a run."""
    project = new_project("reported")
    add_collection(project)
    add_collection(project, "unborn")
    add_monitoring(project)
    append(project, ("a", 1, "U", "x", 1), ("b", 1, "U", "x", 1), ("secret name", 1, "U", "x", 1))
    project.run("c")
    append(project, ("a", 2, "D"), ("b", 2, "U", "y", 1), ("d", 1, "U", "x", 1, "no number"))
    project.run("c")
    append(project, ("a", 1, "U", "x", 1), ("e", 1, "U", "x"), ("e", 1, "U", "y"))
    project.run("c", "trueup_batches", "trueup_statistics")
    append(project, ("a", 9, "U", "x", 1), ("b", 9, "U", "x", 1))
    project.sql("update {}.c__trueup set a = 'edited' where _kind = 'row' and k = 'secret name'")
    return project


def report(project: Project, *words: str) -> str:
    """Run `trueup report`. Return what it prints."""
    out = StringIO()
    with redirect_stdout(out):
        assert main(["report", *words, "--project-dir", str(project.folder)]) == 0
    return out.getvalue()


def test_the_report_shows_what_the_store_has(project: Project, tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads(report(project, "--json", "--show-values"))
    shown = {one["name"]: one for one in document["collections"]}
    found, store = shown["c"], Store(project, "c", ["k"], ["a", "b"])
    batches = [batch["statistics"] for batch in store.batches()[1:]]
    for one, counts in zip(found["batches"], batches, strict=True):
        assert (
            one.items()
            >= {name: counts[name] for name in counts if name != "bytes_indexed"}.items()
        )
    assert found["key"] == ["k"]
    assert found["rows"] == 2
    assert found["error_kinds"] == {"tie": 1, "value": 1}
    assert sorted((row["key"], row["kind"], row["error"]) for row in found["errors"]) == [
        (["d"], "value", "no number"),
        (["e"], "tie", "two commands of this key have the same order and another content"),
    ]
    assert sum(found["buckets"].values()) == 4
    assert len(found["wrong_buckets"]) == 1
    assert str(found["wrong_buckets"][0]) in found["buckets"]
    assert not found["is_history_wrong"]
    assert (found["health"]["state"], found["health"]["rows_waiting"]) == ("error", 2)
    assert shown["unborn"]["key"] == []
    assert document["summary"] == [
        "Not run yet: unborn.",
        "The log has rows that no batch has read: c (2 rows).",
        (
            "Rows differ from the certificate: c (1 bucket). Somebody has edited a store. The next"
            " run repairs it."
        ),
        "2 open errors: c 2.",
    ]
    # The page masks the values, and its path is printed.
    target = tmp_path / "new folder" / "report.html"
    assert report(project, "c", "--output", str(target)).splitlines()[-1] == f"report  {target}"
    page = target.read_text()
    assert "no number" not in page
    assert "n… (9 characters)" in page


def test_older_batches_are_groups_with_their_sums(project: Project) -> None:
    options = ["--project-dir", str(project.folder)]
    limits = {"recent": 1, "older": 1, "rows": 1}
    found = read_collection(options, "c", limits, show_values=False)
    assert [(one["first"], one["last"], one["batches"]) for one in found.batches] == [
        (1, 2, 2),
        (3, 3, 1),
    ]
    assert [one["inserts"] for one in found.batches] == [3, 0]
    assert [one["messages_received"] for one in found.batches] == [6, 3]
    assert describe_left_out(found) == [
        "The oldest 2 of 3 batches of c are shown in 1 group.",
        "1 of 2 open errors of c are listed.",
    ]


def test_the_metrics_are_the_statistics(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "trueup.prom"
    report(project, "--prometheus", str(file))
    assert 'trueup_messages_received_total{collection="c"} 9.0' in file.read_text()
    assert 'trueup_records_indexed{collection="c"} 4.0' in file.read_text()


def test_an_unknown_collection_is_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "d", "--project-dir", str(project.folder)]) == 2
    assert capsys.readouterr().err == (
        "trueup report: COLLECTION must be one of c, unborn.\nGot: d\n"
    )
