"""Refresh schedules: all vectors of upstream's rounding, and the forms of a schedule."""

from __future__ import annotations

from typing import Any

import pytest

from tests import acceptance
from tests.macros.package import in_model, refused

TRUEUP = in_model("counts_corrections")
GREATEST = 2**63 - 1


def cases() -> list[Any]:
    return [pytest.param(item, id=item["name"]) for item in acceptance.read("refresh")]


by_case = pytest.mark.parametrize("case", cases())


def schedule(case: dict[str, Any]) -> Any:
    return TRUEUP._schedule(case["schedule"])


@by_case
def test_ticks_are_rounded_as_upstream_rounds_them(case: dict[str, Any]) -> None:
    if "error" in case:
        assert case["error"] in refused(TRUEUP._schedule, case["schedule"])[0]
        return
    vectors = [{"greatest": GREATEST, **each} for each in case["vectors"]]
    vectors += case.get("vectors_at_greatest", [])
    assert vectors
    for each in vectors:
        up = TRUEUP._next_refresh(schedule(case), each["t"], each["greatest"])
        down = TRUEUP._last_refresh_before(schedule(case), each["t"])
        assert (down, up) == (each["round_down_m1"], each["round_up"]), each
    assert TRUEUP._last_refresh(schedule(case)) == case["last_refresh"]


@pytest.mark.parametrize("case", [case for case in cases() if "applied" in case])
def test_updates_and_frontiers_move_to_the_next_refresh(case: dict[str, Any]) -> None:
    for applied in case["applied"]:
        sums: dict[tuple[str, int], int] = {}
        for update in applied["updates"]:
            place = (update["row"], TRUEUP._next_refresh(schedule(case), update["ts"]))
            sums[place] = sums.get(place, 0) + update["diff"]
        expected = {
            (each["row"], each["ts"]): each["diff"] for each in applied["expect"]["updates"]
        }
        assert {place: diff for place, diff in sums.items() if diff} == expected
        frontier = TRUEUP._next_refresh(schedule(case), applied["frontier"])
        assert frontier == applied["expect"]["frontier"]


def apply(lower: int, upper: int, given: dict[str, Any]) -> dict[str, Any]:
    plan = {"lower": lower, "upper": upper, "tick": lower}
    found: dict[str, Any] = TRUEUP._with_schedule(plan, TRUEUP._schedule(given))
    assert plan == {"lower": lower, "upper": upper, "tick": lower}
    return found


HUNDREDS = {"every": 100, "aligned_to": 500}


@pytest.mark.parametrize(
    ("lower", "upper", "given", "expected"),
    [
        (0, 151, HUNDREDS, {"tick": 100, "upper": 200}),
        (200, 200, HUNDREDS, {"reason": "the next refresh is at 200", "upper": 200}),
        (200, 151, HUNDREDS, {"reason": "the next refresh is at 200", "upper": 200}),
        (200, 201, HUNDREDS, {"tick": 200, "upper": 300}),
        (200, 777, HUNDREDS, {"tick": 700, "upper": 800}),
        (0, 0, HUNDREDS, {"reason": "the next refresh is at 0", "upper": 0}),
        (0, 125, {"at": [123, 456]}, {"tick": 123, "upper": 456}),
        (456, 457, {"at": [123, 456]}, {"tick": 456, "upper": 457}),
        (457, 900, {"at": [123, 456]}, {"reason": "final since 456", "upper": 457}),
        (0, 30, {"every": 100, "aligned_to": 542}, {"reason": "the next refresh is at 42"}),
        (0, 43, {"every": 100, "aligned_to": 542}, {"tick": 42, "upper": 142}),
        (0, 100, {"at": [123]}, {"reason": "the next refresh is at 123", "upper": 0}),
    ],
)
def test_a_run_writes_at_the_last_refresh_and_settles_up_to_the_next(
    lower: int, upper: int, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = apply(lower, upper, given)

    assert {name: found.get(name) for name in expected} == expected
    assert ("reason" in found) == ("reason" in expected)


@pytest.mark.parametrize(
    ("given", "every", "at"),
    [
        ({"every": "1 hour"}, [(3_600_000, 0)], []),
        ({"every": " 90  Minutes "}, [(5_400_000, 0)], []),
        (
            {"every": "1 day", "aligned_to": "2026-01-31 04:00:00"},
            [(86_400_000, 1769832000000)],
            [],
        ),
        ({"every": 7, "aligned_to": 3, "at": [5]}, [(7, 3)], [5]),
        ({"at": ["1970-01-01", "1970-01-01T00:00:01+00:00"]}, [], [0, 1000]),
        ({"at": ["1970-01-01 01:00:00.500+01:00"]}, [], [500]),
        (
            {"every": [{"interval": "1 week"}, {"interval": 5, "aligned_to": 2}]},
            [(604_800_000, 0), (5, 2)],
            [],
        ),
    ],
)
def test_a_schedule_accepts_ticks_and_texts_that_become_milliseconds(
    given: dict[str, Any], every: list[tuple[int, int]], at: list[int]
) -> None:
    found = TRUEUP._schedule(given)

    assert [(each["interval"], each["aligned_to"]) for each in found["every"]] == every
    assert found["at"] == at


INTERVAL = " whose interval is a positive number of ticks, or a text such as `1 hour` (in "
AT = " whose `at` is an integer, or a time such as 2026-01-31 04:00:00."


@pytest.mark.parametrize(
    ("given", "must", "got"),
    [
        ("1 hour", ": a mapping of every, aligned_to, at.", "1 hour"),
        ({}, " with `every` or `at`.", "{}"),
        ({"each": "1 hour"}, ": a mapping of every, aligned_to, at.", "{'each': '1 hour'}"),
        ({"every": "soon"}, INTERVAL, "soon"),
        ({"every": "0 hours"}, INTERVAL, "0 hours"),
        ({"every": 0}, INTERVAL, "0"),
        ({"every": -5}, INTERVAL, "-5"),
        ({"every": True}, INTERVAL, "True"),
        ({"every": 1.5}, INTERVAL, "1.5"),
        (
            {"every": "1 hour", "aligned_to": "noon"},
            " whose `aligned_to` is an integer, or",
            "noon",
        ),
        (
            {"every": [{"interval": 5}], "aligned_to": 3},
            " whose `aligned_to` is beside the interval it belongs to: in a list, each",
            "{'every': [{'interval': 5}], 'aligned_to': 3}",
        ),
        ({"every": [5]}, ", each of `every`: a mapping of interval, aligned_to.", "5"),
        ({"at": ["2026-13-01"]}, AT, "2026-13-01"),
        ({"at": ["2026-02-30"]}, AT, "2026-02-30"),
        ({"at": ["2026-01-01 24:00:00"]}, AT, "2026-01-01 24:00:00"),
        ({"at": ["0000-01-01"]}, AT, "0000-01-01"),
        ({"at": "2026-01-01"}, " whose `at` is a list.", "2026-01-01"),
        ({"at": 5}, " whose `at` is a list.", "5"),
    ],
)
def test_a_schedule_in_any_other_form_is_refused(given: object, must: str, got: str) -> None:
    options = {"refresh": given}
    lines = refused(in_model("counts_corrections", options=options)._options)

    subject = "Option `refresh` in `meta.trueup` of counts_corrections must be a schedule"
    assert lines[0].startswith(subject + must)
    assert lines[1] == f"Got: {got}"
