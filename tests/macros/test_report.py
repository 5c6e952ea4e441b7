"""The results of models: a message for people, and a code for programs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import Package, in_model

WAITING = {"last_seq": 3, "lower": 12, "upper": 12, "open_upper": 12, "log_upper": 15}
OPEN = {"input_upper": "log_upper - 3"}


def result_of(macro: str, message: str, **arguments: Any) -> dict[str, object]:
    results: list[dict[str, object]] = []

    def keep(*_: object, **result: object) -> str:
        results.append(result)
        return ""

    context = in_model("files_state").context
    trueup = Package({**context, "store_raw_result": keep, "noop_statement": keep})
    getattr(trueup, macro)(message, **arguments)
    (result,) = results
    return result


@pytest.mark.parametrize(
    ("macro", "given", "code"),
    [
        ("_report_result", {}, "OK"),
        ("_report_idle", {}, "NOOP"),
        ("_report_idle", {"code": "NOTICE"}, "NOTICE"),
        ("_report_result", {"code": "NOTICE"}, "NOTICE"),
    ],
)
def test_the_code_of_a_result_distinguishes_changes_idle_runs_and_notices(
    macro: str, given: dict[str, str], code: str
) -> None:
    assert result_of(macro, "a message", **given)["code"] == code


def test_a_result_has_the_number_of_rows_if_the_caller_gives_it() -> None:
    assert result_of("_report_result", "5 updates", rows_affected=5)["rows_affected"] == 5
    assert result_of("_report_idle", "nothing to append")["rows_affected"] is None


@pytest.mark.parametrize(
    ("note", "last_seq", "message", "code"),
    [
        (None, 3, "up to date at 12", "NOOP"),
        ("the log ends below", 3, "the log ends below", "NOTICE"),
        ("2 commands below `as_of`", 0, "up to date at 12; 2 commands below `as_of`", "NOOP"),
    ],
)
def test_a_run_that_is_idle_because_the_log_ends_too_early_is_a_notice(
    note: str | None, last_seq: int, message: str, code: str
) -> None:
    trueup = in_model("files_batch")
    plan = {**WAITING, "last_seq": last_seq, "log_upper": 12, "commands_ahead": 0}

    assert trueup._idle_message(plan, {}, note) == message
    assert trueup._idle_code(plan, note) == code


@pytest.mark.parametrize(
    ("late", "count", "note"),
    [
        ("drop", 1, "1 late command has no effect (option `late: drop`)"),
        ("drop", 2, "2 late commands have no effect (option `late: drop`)"),
        ("drop", 0, None),
        ("drop", None, None),
        ("newest", 2, None),
        ("correct", 2, None),
    ],
)
def test_a_run_says_how_many_late_commands_have_no_effect(
    late: str, count: int | None, note: str | None
) -> None:
    trueup, plan = in_model("files_batch"), {"late_dropped": count}
    collection: dict[str, Any] = {"options": {"late": late}, "extras": []}
    assert trueup._late_note(collection, plan) == note
    # A command with a settled offset had its effect before.
    assert trueup._late_note(collection | {"extras": ["_offset"]}, plan) is None


def test_an_idle_run_says_how_many_commands_wait_and_why() -> None:
    trueup, plan = in_model("files_batch"), {**WAITING, "commands_ahead": 5}

    said = trueup._idle_message(plan, OPEN, None)
    assert said == "up to date at 12; 5 commands wait in open ticks (option `input_upper`)"
    said = trueup._idle_message(plan | {"commands_ahead": 1}, OPEN, None)
    assert said == "up to date at 12; 1 command waits in open ticks (option `input_upper`)"
    # With `eager` their rows are there.
    assert trueup._idle_message(plan | {"open_upper": 15}, OPEN, None) == "up to date at 12"
    assert trueup._idle_message(plan | {"log_upper": 12}, OPEN, None) == "up to date at 12"


@pytest.mark.parametrize(
    ("changes", "options", "until", "cause"),
    [
        ({}, OPEN, None, "option `input_upper`"),
        ({}, {}, 14, "var `trueup_until`"),
        ({}, OPEN, 14, "var `trueup_until`"),
        ({}, OPEN, 15, "option `input_upper`"),
        ({"log_upper": 14}, OPEN, None, None),
        # A select has no log.
        ({"log_upper": None}, {}, 14, None),
        # The limit of the batch cuts it, and not the option.
        ({"commands_to_settle": 9}, OPEN, None, None),
        ({"commands_to_settle": 5}, OPEN, None, "option `input_upper`"),
        ({"open_upper": 15}, OPEN, None, None),
    ],
)
def test_a_batch_says_from_which_tick_on_commands_wait_and_why(
    changes: dict[str, Any], options: dict[str, str], until: int | None, cause: str | None
) -> None:
    plan = {**WAITING, "upper": 14, "open_upper": 14, "commands_ahead": 5, **changes}

    note = in_model("files_batch", variables={"trueup_until": until})._waiting_note(plan, options)

    assert note == (f"commands from tick 14 on wait ({cause})" if cause else None)


@pytest.mark.parametrize(
    ("ahead", "to_settle", "note"),
    [
        (10, 40, "commands 11 to 20 of 50"),
        # Commands of open ticks are ahead, too, but cannot be settled yet.
        (45, 40, "commands 11 to 50 of 50"),
        (5, 0, None),
    ],
)
def test_the_batch_of_a_capped_run_says_which_commands_it_settles(
    ahead: int, to_settle: int, note: str | None
) -> None:
    plan = {"commands_settled": 10, "commands_ahead": ahead, "commands_to_settle": to_settle}

    assert in_model("files_batch")._commands_note(plan) == note


def test_a_batch_without_a_limit_says_nothing_of_its_commands() -> None:
    plan = {"commands_settled": 10, "commands_ahead": 5}

    assert in_model("files_batch")._commands_note(plan) is None
