"""The metrics of Prometheus have the statistics, as the library's own parser reads them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from dbt_trueup import dbt, libraries
from dbt_trueup.command_line.program import main
from dbt_trueup.report import metrics
from tests.macros.package import ROOT
from tests.report.sample import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PAGE = ROOT / "models" / "operations" / "_operations.yml"
KINDS = {"counter": metrics.COUNTERS, "gauge": metrics.GAUGES}
NAMES = ["orders", f'a "quote"\\ and {HOSTILE}\nnext line']


def rows() -> list[dict[str, Any]]:
    """Invent a row for each collection, with another number in each column."""
    columns = [*metrics.COUNTERS, *metrics.GAUGES]
    made = [
        {"collection": name, **{column: at + 100 * place for at, column in enumerate(columns)}}
        for place, name in enumerate(NAMES)
    ]
    made[1] |= {"frontier": None}
    return made


def test_the_parser_of_the_library_reads_every_value(tmp_path: Path) -> None:
    file = tmp_path / "new folder" / "trueup.prom"

    metrics.write_metrics(rows(), file)

    families = list(text_string_to_metric_families(file.read_text()))
    read = {
        (each.name, sample.labels["collection"]): sample.value
        for each in families
        for sample in each.samples
    }
    given = {
        (f"trueup_{column}", row["collection"]): float(row[column])
        for row in rows()
        for column in row
        if column != "collection" and row[column] is not None
    }
    assert read == given
    assert {each.name: each.type for each in families} == {
        f"trueup_{column}": kind for kind, columns in KINDS.items() for column in columns
    }
    assert "trueup_messages_received_total{" in file.read_text()


def test_every_number_of_the_model_is_a_metric() -> None:
    models = {one["name"]: one for one in yaml.safe_load(PAGE.read_text())["models"]}
    described = {column["name"] for column in models[metrics.VIEW]["columns"]}
    no_metrics = {"collection", "batch", "log", "log_snapshot", "repaired_at", "superseded_share"}

    assert described - no_metrics == {*metrics.COUNTERS, *metrics.GAUGES}


def test_a_missing_library_is_refused_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda _: None)

    assert main(["report", "--prometheus", "never.prom"]) == 2

    error = capsys.readouterr().err
    assert "prometheus-client, but it is not installed" in error
    assert 'pip install "prometheus-client>=0.26,<1"' in error


def test_a_view_of_an_earlier_version_is_refused_with_the_command_to_make_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    project = SimpleNamespace(nodes={"model": SimpleNamespace(name=metrics.VIEW)})
    old = [{name: row[name] for name in row if name != "superseded"} for row in rows()]
    monkeypatch.setattr(dbt, "parse", lambda _: project)
    monkeypatch.setattr(dbt, "query", lambda *_: old)
    file = tmp_path / "trueup.prom"

    assert main(["report", "--prometheus", str(file)]) == 2

    error = capsys.readouterr().err
    assert "Got: a view without superseded" in error
    assert "dbt run -s +trueup_statistics" in error
    assert not file.exists()
