"""The results of models: a message for people, and a code that `trueup watch` reads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import Package, in_model


def code_of(macro: str, message: str, **arguments: Any) -> str:
    results: list[dict[str, object]] = []

    def keep(*_: object, **result: object) -> str:
        results.append(result)
        return ""

    context = in_model("files_state").context
    trueup = Package({**context, "store_raw_result": keep, "noop_statement": keep})
    getattr(trueup, macro)(message, **arguments)
    (result,) = results
    return str(result["code"])


@pytest.mark.parametrize(
    ("macro", "message", "code"),
    [
        ("_report_result", "applied batch 3", "OK"),
        ("_report_result", "rebuilt from the changelog", "OK"),
        ("_report_result", "batch 3: 5 updates, upper 14", "OK"),
        (
            "_report_result",
            "corrections: 1 external_edit; 1 buckets of the state were healed",
            "OK",
        ),
        ("_report_result", "corrections: none; the state was made anew", "OK"),
        ("_report_result", "corrections: none", "NOOP"),
        ("_report_result", "corrections: none; the next refresh is at 10", "NOOP"),
        ("_report_result", "corrections: none; final since 10", "NOOP"),
        ("_report_result", "up to date at 12", "NOOP"),
        ("_report_result", "skipped: upper mismatch", "NOTICE"),
        ("_report_idle", "nothing to append", "NOOP"),
        ("_report_idle", "nothing to correct (late: drop, verify: never)", "NOOP"),
        ("_report_idle", "up to date at batch 3", "NOOP"),
        ("_report_idle", "read only: batch 3 is staged, not appended", "NOTICE"),
        ("_report_idle", "the log ends below the frontier: ...", "NOTICE"),
    ],
)
def test_the_code_of_a_result_tells_changes_idle_runs_and_notices_apart(
    macro: str, message: str, code: str
) -> None:
    assert code_of(macro, message) == code


def test_a_caller_may_give_the_code_itself() -> None:
    assert code_of("_report_result", "corrections: none", code="OK") == "OK"
    assert code_of("_report_idle", "nothing to append", code="NOTICE") == "NOTICE"
