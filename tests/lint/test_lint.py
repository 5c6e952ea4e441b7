"""`trueup lint` finds what makes incremental models wrong, and nothing in models that are right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dbt_trueup.command_line.program import main
from dbt_trueup.lint.rules import RULES, SNAPSHOT_RULES
from tests.conftest import ROOT
from tests.lint.cases import CASES, OTHER_FILES, OTHER_FINDINGS, PROPERTIES
from tests.test_docs import first_cells

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Report = dict[str, Any]


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a model of each case."""
    del home
    folder = tmp_path_factory.mktemp("lint") / "shop"
    files = {
        **{f"models/{name}.sql": case.sql for name, case in CASES.items()},
        **OTHER_FILES,
        "models/properties.yml": PROPERTIES,
        "dbt_project.yml": yaml.safe_dump(
            {
                "name": "shop",
                "version": "1.0.0",
                "profile": "trueup",
                "vars": {"order": "position", "days": 3},
            }
        ),
    }
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture
def lint(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A function that runs `trueup lint`. It returns the exit code, the output and the errors."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["lint", *words, "--project-dir", str(project)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def report(project: Path) -> Report:
    """What `trueup lint --json` finds in the whole project."""
    from click.testing import CliRunner  # noqa: PLC0415 - it prints to another place

    from dbt_trueup.command_line.program import trueup  # noqa: PLC0415

    words = ["lint", "--json", "--project-dir", str(project)]
    result = CliRunner().invoke(trueup, words, standalone_mode=False)
    assert result.return_value == 1
    found: Report = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("name", [*CASES, *OTHER_FINDINGS, "invalidated"])
def test_a_model_breaks_exactly_these_rules(name: str, report: Report) -> None:
    expected = CASES[name].found if name in CASES else OTHER_FINDINGS.get(name, {})
    found = [one for one in report["findings"] if one["model"] == name]
    assert {one["rule"]: one["line"] for one in found} == expected
    assert len(found) == len(expected)


def test_every_rule_finds_something_and_is_on_the_page() -> None:
    cases = [case.found for case in CASES.values()]
    found = {rule for each in [*cases, *OTHER_FINDINGS.values()] for rule in each}
    assert found == {*RULES, *SNAPSHOT_RULES}
    rows = first_cells(ROOT / "docs/commands.md", "trueup lint")
    assert rows == [f"`{rule}`" for rule in [*RULES, *SNAPSHOT_RULES]]


def test_each_finding_has_a_hazard_and_a_fix_in_whole_sentences(report: Report) -> None:
    for one in report["findings"]:
        assert one["hazard"].endswith("."), one
        assert len(one["fix"]) > 20, one


def test_a_finding_names_the_columns_of_the_model(
    lint: Callable[..., tuple[int, str, str]],
) -> None:
    code, printed, errors = lint("typical")
    assert (code, errors) == (1, "")
    assert "models/typical.sql:14  typical  late-rows-lost" in printed
    assert "where updated_at >= (select max(updated_at) - interval 3 days from {{ this }})" in (
        " ".join(printed.split())
    )
    assert "partition by id order by updated_at desc, <a unique column> desc" in (
        " ".join(printed.split())
    )
    assert printed.splitlines()[-1] == "4 findings in 1 of 1 model"


@pytest.mark.slow
def test_only_what_is_selected_is_looked_at(lint: Callable[..., tuple[int, str, str]]) -> None:
    assert lint("clean")[:2] == (0, "0 findings in 0 of 1 model\n")
    assert lint("snapshots/", "clean")[1].splitlines()[-1] == "1 finding in 1 of 2 models"
    code, printed, errors = lint("no_such_model")
    assert (code, printed) == (2, "")
    assert errors == (
        "trueup lint: SELECT must select a model or a snapshot.\nGot: no_such_model\n"
    )


def test_an_unknown_rule_cannot_be_allowed(
    project: Path, lint: Callable[..., tuple[int, str, str]]
) -> None:
    model = project / "models/rows_that_may_allow.sql"
    text = model.read_text()
    model.write_text(text.replace("no-deduplication", "everything"))
    try:
        code, _, errors = lint("rows_that_may_allow")
    finally:
        model.write_text(text)
    assert code == 2
    assert "must be a list of rules: no-key, ignored-key" in errors
    assert "Got: ['nullable-key', 'everything']" in errors


def test_a_project_without_such_models_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """The project is trueup itself: it has only materializations of its own, and views."""
    assert main(["lint", "--project-dir", str(ROOT)]) == 0
    assert capsys.readouterr().out == (
        "nothing to check: none of the models is a snapshot or an incremental model that is"
        " merged\n"
    )
