"""Tests when `trueup run --until-caught-up` ends, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_trueup.catch_up.loop import run_until_caught_up
from dbt_trueup.catch_up.progress import describe_progress
from dbt_trueup.errors import UsageError
from dbt_trueup.runner.batches import Settled
from dbt_trueup.runner.rounds import Round
from tests.runner.fakes import FAILED, IDLE, LAST, MORE, Fake, Printed, Stop

WAITS = Round(seconds=1.0, models=7, obstacles=("a: read only: batch 1 is staged, not appended",))


def run(*outcomes: Round | UsageError, stop: Stop | None = None) -> tuple[int, int, list[str]]:
    """Return the exit code, the number of rounds, and the printed lines."""
    fake, printed = Fake(*outcomes), Printed()
    given: Any = fake, stop or Stop(), printed
    exit_code = run_until_caught_up(*given)
    return exit_code, fake.rounds, list(printed)


def test_a_run_with_nothing_to_do_is_one_round() -> None:
    assert run(IDLE) == (0, 1, ["caught up after 1 round in 1.0 s"])


def test_rounds_run_until_one_has_nothing_to_do() -> None:
    assert run(MORE, MORE, LAST, IDLE)[:2] == (0, 4)


def test_a_log_that_never_rests_ends_the_run_after_two_rounds_that_leave_nothing() -> None:
    assert run(MORE, LAST, LAST)[:2] == (0, 3)
    assert run(LAST, MORE, LAST, IDLE)[:2] == (0, 4)


def test_a_failure_ends_the_run_with_the_message_of_dbt() -> None:
    exit_code, rounds, lines = run(MORE, FAILED, IDLE)
    assert (exit_code, rounds) == (1, 2)
    assert lines[-1] == "round 2: failed after 1.0 s; files_batch: broken"


def test_a_later_round_that_dbt_does_not_run_is_a_failure() -> None:
    exit_code, rounds, lines = run(MORE, UsageError("dbt did not run: no database"), IDLE)
    assert (exit_code, rounds) == (1, 2)
    assert lines[-1] == "round 2: failed after 0.0 s; dbt did not run: no database"


def test_two_rounds_without_progress_end_the_run_and_say_why() -> None:
    exit_code, rounds, lines = run(MORE, WAITS, WAITS, IDLE)
    assert (exit_code, rounds) == (1, 3)
    reason = "a: read only: batch 1 is staged, not appended"
    assert lines[-1] == f"no progress in two rounds; {reason}"


def test_an_obstacle_that_goes_away_does_not_end_the_run() -> None:
    assert run(WAITS, MORE, WAITS, LAST, IDLE)[:2] == (0, 5)


def test_a_collection_with_an_obstacle_does_not_stop_the_batches_of_another_one() -> None:
    both = Round(seconds=1.0, has_more=True, has_written=True, obstacles=WAITS.obstacles)
    assert run(both, both, both, WAITS, WAITS)[:2] == (1, 5)


def test_a_signal_ends_the_run_after_its_round_and_is_no_success() -> None:
    stop = Stop()
    stop.set()
    exit_code, rounds, lines = run(MORE, MORE, stop=stop)
    assert (exit_code, rounds) == (1, 1)
    assert lines[-1].startswith("stopped after 1 round, before it was caught up")


def test_a_signal_in_the_last_round_changes_nothing() -> None:
    stop = Stop()
    stop.set()
    assert run(IDLE, stop=stop)[0] == 0


def test_an_empty_selection_is_an_error() -> None:
    with pytest.raises(UsageError, match="no model is selected"):
        run(UsageError("no model is selected"))


@pytest.mark.parametrize(
    ("settled", "line"),
    [
        (Settled("a", 0, 999, 1000), "a: 999 of 1,000 commands (99 %), 100/s, 1 s left"),
        (Settled("a", 0, 5, 3700), "a: 5 of 3,700 commands (0 %), 0.5/s, 2 h 3 min left"),
        (Settled("a", 7, 7, 9), "a: 7 of 9 commands (77 %)"),
    ],
)
def test_a_line_shows_the_progress_of_a_collection(settled: Settled, line: str) -> None:
    assert describe_progress(settled, 9.99) == line
