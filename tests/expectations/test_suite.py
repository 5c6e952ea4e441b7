"""Builds the suite and reads its results, without Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt_trueup import libraries
from dbt_trueup.command_line import program
from dbt_trueup.errors import ExpectationsError
from dbt_trueup.expectations import check
from dbt_trueup.expectations.collection import Check, Collection, parse_collection, require_session
from dbt_trueup.expectations.report import Finding, describe_rows

imports_great_expectations = pytest.mark.slow
"""The import alone takes three seconds. So these tests import modules inside their functions."""
CHECK = Check("nothing", "nothing is there", "things", "select '{a}' as thing", ("thing",))


def configs(**key: tuple[str, ...]) -> list[Any]:
    from dbt_trueup.expectations import suite  # noqa: PLC0415

    given: dict[str, tuple[str, ...]] = {"unique": (), "not_null": (), **key}
    collection = Collection(name="files", table="trueup.files", checks=(CHECK,), **given)
    return [one.configuration for one in suite.build_suite(collection).expectations]


@imports_great_expectations
def test_a_key_of_one_column_must_be_unique_and_not_null() -> None:
    not_null, unique, _ = configs(unique=("path",), not_null=("path",))

    assert (not_null.type, not_null.kwargs["column"]) == (
        "expect_column_values_to_not_be_null",
        "path",
    )
    assert (unique.type, unique.kwargs["column"]) == ("expect_column_values_to_be_unique", "path")


@imports_great_expectations
def test_a_null_in_a_key_of_several_columns_is_an_ordinary_value() -> None:
    unique, _ = configs(unique=("a", "b"))

    assert unique.type == "expect_compound_columns_to_be_unique"
    assert unique.kwargs["column_list"] == ["a", "b"]
    assert unique.kwargs["ignore_row_if"] == "never"


@imports_great_expectations
def test_a_query_keeps_its_braces() -> None:
    (check,) = configs()

    query = check.kwargs["unexpected_rows_query"].format(batch="files")
    assert query.endswith("\nselect '{a}' as thing")
    assert check.description == "nothing is there"
    assert check.meta == {"check": "nothing"}


@imports_great_expectations
def test_a_check_that_could_not_run_fails_with_its_reason() -> None:
    from great_expectations.core import ExpectationValidationResult  # noqa: PLC0415

    from dbt_trueup.expectations import suite  # noqa: PLC0415

    (check,) = configs()
    raised = {"metric": {"exception_message": "no such table\nat line 1", "raised_exception": True}}
    result = ExpectationValidationResult(
        success=False, expectation_config=check, result={}, exception_info=raised
    )

    assert suite.read_finding(result) == Finding(
        "nothing",
        "nothing is there",
        has_passed=False,
        reason="could not be checked: no such table",
    )


def test_the_count_is_a_lower_bound_if_not_all_rows_were_read() -> None:
    rows = [{"k": number} for number in range(200)]

    assert describe_rows("rows", 200, rows, is_part=True) == (
        "rows: 200 or more (k 0; k 1; k 2; ...)"
    )


def test_without_great_expectations_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda _: None)

    assert program.main(["check", "files"]) == 2

    assert 'pip install "great-expectations~=1.24.0"' in capsys.readouterr().err


def test_a_profile_without_a_session_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)

    with pytest.raises(ExpectationsError, match="profile with `method: session`"):
        require_session("files")


def test_a_negative_threshold_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["check", "files", "--max-errors", "-1"]) == 2

    assert "Invalid value for '--max-errors': -1" in capsys.readouterr().err


def test_results_go_to_the_target_folder_of_dbt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)
    assert check.default_folder(Path("shop")).as_posix() == "shop/target/expectations"
    (tmp_path / "dbt_project.yml").write_text("target-path: build")
    assert check.default_folder(tmp_path) == tmp_path / "build" / "expectations"

    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path))
    assert check.default_folder(Path("shop")) == tmp_path / "expectations"


@pytest.mark.slow
def test_the_plugin_does_not_load_great_expectations() -> None:
    program = "import sys, dbt_trueup, dbt_trueup.plugin.session, dbt_trueup.expectations;"
    program += "sys.exit('great_expectations' in sys.modules)"

    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_json_of_dbt_becomes_a_collection() -> None:
    check = '{"name": "n", "says": "s", "wrong": "w", "query": "q", "shows": ["k"]}'
    text = f'{{"name": "c", "table": "t.c", "unique": [], "not_null": [], "checks": [{check}]}}'

    assert parse_collection(text).checks == (Check("n", "s", "w", "q", ("k",)),)
