"""What the commands ask dbt leaves nothing behind. The warehouse of the profile does not answer."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
from dbt.cli.exceptions import DbtUsageException

from dbt_trueup import dbt, dbt_errors
from dbt_trueup.errors import DbtError
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "`}} {% raw %} {# ' \" \\ ${env:HOME} 😀 = \n`"
"""The name of a table that tries to leave its quotes in Jinja and JSON."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose last run has left its results."""
    monkeypatch.setenv("DBT_PROFILES_DIR", str(ROOT / "tests/dbt_2"))
    monkeypatch.setenv("DBT_POPULATE_CACHE", "false")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/a.sql").write_text("select 1 as a")
    (tmp_path / "dbt_project.yml").write_text("{name: shop, profile: trueup}")
    (tmp_path / "target").mkdir()
    for name in ("manifest.json", "run_results.json"):
        (tmp_path / "target" / name).write_text("of the last run")
    return tmp_path


def texts(folder: Path) -> dict[str, bytes]:
    """The text of each file."""
    return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.slow  # the first parse takes three seconds
def test_a_command_keeps_the_results_of_the_last_run_and_no_query(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    for options in (["--project-dir", str(shop)], ["--project-dir", shop.name]):
        assert [*dbt.parse(options).nodes] == ["model.shop.a"]
        assert dbt.list_nodes(options, ["a"]) == ["model.shop.a"]
        compiled = dbt.compile_inline(options, "select '{{ target.schema }}' as anna")
        assert compiled == "select 'trueup' as anna"
        with pytest.raises(DbtError, match="connect"):
            dbt.query(options, "select 'anna' as name")
        found = texts(shop)
        assert found["manifest.json"] == found["run_results.json"] == b"of the last run"
        assert [name for name, text in found.items() if b"anna" in text] == []
        # The project is not parsed anew each time.
        assert "partial_parse.msgpack" in found


def test_a_missing_profile_is_named() -> None:
    error = DbtUsageException("Path '/root/.dbt' does not exist.")
    assert dbt_errors.describe_error(error) == (
        "Path '/root/.dbt' does not exist: dbt finds no profiles.yml; run this in the folder of the"
        " project, or give --profiles-dir"
    )
    wrong_option = DbtUsageException("No such option: -x")
    assert dbt_errors.describe_error(wrong_option) == "No such option: -x"


def test_a_macro_gets_the_arguments_of_a_call_unchanged() -> None:
    got: list[Any] = []

    def macro(*arguments: object, **named: object) -> str:
        got.append((arguments, named))
        return "done"

    call = dbt.call("macro", "orders", HOSTILE, 5, key={HOSTILE: None}, latest=None)
    template = jinja2.Template(f"{dbt.when_executed(call)} from {{{{ {dbt.literal(HOSTILE)} }}}}")
    trueup = SimpleNamespace(macro=macro)
    text = template.render(trueup=trueup, fromjson=json.loads, execute=True)

    assert text == f"done from {HOSTILE}"
    assert got == [(("orders", HOSTILE, 5), {"key": {HOSTILE: None}, "latest": None})]
    assert not template.render(trueup=trueup, fromjson=json.loads).startswith("done")
