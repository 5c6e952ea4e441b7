"""The suite that is built, and how it is read, without Spark."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from great_expectations.core import ExpectationValidationResult
from pyspark.sql import SparkSession

from dbt_trueup.expectations import command_line as expectations
from dbt_trueup.expectations import suite
from dbt_trueup.expectations.command_line import Check, Collection, Finding

if TYPE_CHECKING:
    from pathlib import Path

CHECK = Check("nothing", "nothing is there", "things", "select '{a}' as thing", ("thing",))


def configs(**key: tuple[str, ...]) -> list[Any]:
    given: dict[str, tuple[str, ...]] = {"unique": (), "not_null": (), **key}
    collection = Collection(name="files", table="trueup.files", checks=(CHECK,), **given)
    return [one.configuration for one in suite.build_suite(collection).expectations]


def test_a_key_of_one_column_is_unique_and_not_null() -> None:
    not_null, unique, _ = configs(unique=("path",), not_null=("path",))

    assert (not_null.type, not_null.kwargs["column"]) == (
        "expect_column_values_to_not_be_null",
        "path",
    )
    assert (unique.type, unique.kwargs["column"]) == ("expect_column_values_to_be_unique", "path")


def test_a_null_in_a_key_of_several_columns_is_an_ordinary_value() -> None:
    unique, _ = configs(unique=("a", "b"))

    assert unique.type == "expect_compound_columns_to_be_unique"
    assert unique.kwargs["column_list"] == ["a", "b"]
    assert unique.kwargs["ignore_row_if"] == "never"


def test_a_query_keeps_its_braces() -> None:
    (check,) = configs()

    query = check.kwargs["unexpected_rows_query"].format(batch="files")
    assert query.endswith("\nselect '{a}' as thing")
    assert check.description == "nothing is there"
    assert check.meta == {"check": "nothing"}


def test_what_could_not_be_checked_has_failed_and_says_why() -> None:
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


def test_more_rows_than_are_read_are_said_to_be_more() -> None:
    rows = [{"k": number} for number in range(200)]

    assert expectations.describe_rows("rows", 200, rows, is_part=True) == (
        "rows: 200 or more (k 0; k 1; k 2; ...)"
    )


def test_a_missing_great_expectations_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(expectations, "find_spec", lambda _: None)

    assert expectations.main(["files"]) == 2

    assert 'pip install "great-expectations~=1.24.0"' in capsys.readouterr().err


def test_a_profile_without_a_session_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)

    with pytest.raises(expectations.ExpectationsError, match="profile with `method: session`"):
        expectations.require_session("files")


def test_a_negative_threshold_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        expectations.main(["files", "--max-errors", "-1"])

    assert "--max-errors must be at least 0, got -1" in capsys.readouterr().err


def test_results_go_where_dbt_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)
    assert expectations.default_folder("shop").as_posix() == "shop/target/expectations"

    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path))
    assert expectations.default_folder("shop") == tmp_path / "expectations"


def test_the_plugin_does_not_load_great_expectations() -> None:
    program = "import sys, dbt_trueup, dbt_trueup.plugin.session, dbt_trueup.expectations;"
    program += "sys.exit('great_expectations' in sys.modules)"

    subprocess.run([sys.executable, "-c", program], check=True)
