"""Tests the loop of `trueup watch`, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_trueup.errors import SparkStoppedError, UsageError
from dbt_trueup.watch import loop
from tests.runner.fakes import CHANGED, FAILED, IDLE, Fake, Printed, Stop

SOON = 0.001


def repeat(fake: Fake, stop: Stop, every: float = 60) -> list[str]:
    fake.stop = stop  # type: ignore[assignment]
    printed: Any = Printed()
    assert loop.repeat(fake, every, 1, stop, printed) == 0  # type: ignore[arg-type]
    return list(printed)


def test_the_next_round_waits_until_the_log_has_grown() -> None:
    fake = Fake(IDLE, CHANGED)
    stop = Stop(after=lambda pauses: setattr(fake, "log", 1) if pauses == 3 else None)
    assert repeat(fake, stop) == [
        "looks at lake.log every 1 s; runs every 60 s at the latest",
        "round 2: 2 models in 1.0 s; files: batch 2: 34 commands, 34 inserted",
        "stopped after 2 rounds, 1 of which changed something",
    ]
    assert stop.pauses == [1, 1, 1]
    assert fake.grown == [None, {"lake.log"}]


def test_an_append_during_a_round_starts_another_round() -> None:
    fake = Fake(IDLE, IDLE, during=lambda number: setattr(fake, "log", 1) if number == 1 else None)
    stop = Stop()
    repeat(fake, stop)
    assert (fake.rounds, stop.pauses) == (2, [])


def test_a_round_runs_after_each_interval_even_if_nothing_grows() -> None:
    fake = Fake(IDLE, IDLE, IDLE)
    repeat(fake, Stop(), every=SOON)
    assert fake.rounds == 3


def test_all_models_run_after_each_interval_even_if_a_log_never_rests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(loop, "monotonic", lambda: now[0])

    def grow(number: int) -> None:
        now[0] += 2
        fake.log = number

    fake = Fake(*[CHANGED] * 7, IDLE, during=grow)
    repeat(fake, Stop(), every=5)
    only = {"lake.log"}
    # Each round takes two seconds.
    assert fake.grown == [None, only, only, only, None, only, only, only]


def test_what_grows_between_two_looks_is_not_lost() -> None:
    """Another log grows between the look that ends a pause and the one before the next round."""
    looks = iter([("1", "1"), ("1", "1"), ("2", "1"), ("2", "2")])
    fake = Fake(IDLE, CHANGED)
    fake.look = lambda: dict(zip(("lake.log", "lake.other"), next(looks), strict=True))  # type: ignore[method-assign]
    repeat(fake, Stop())
    assert fake.grown == [None, {"lake.log", "lake.other"}]


def test_after_a_failure_all_models_run() -> None:
    def grow(number: int) -> None:
        fake.log = number

    fake = Fake(IDLE, FAILED, CHANGED, IDLE, during=grow)
    repeat(fake, Stop())
    assert fake.grown == [None, {"lake.log"}, None, {"lake.log"}]


def test_the_loop_goes_on_after_a_thousand_failures() -> None:
    fake = Fake(*[FAILED] * 1_100, IDLE)
    repeat(fake, Stop(), every=SOON / 10)
    assert fake.rounds == 1_101


def test_a_failure_is_printed_and_retried_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(loop, "monotonic", lambda: now[0])
    fake = Fake(FAILED, FAILED, FAILED, UsageError("dbt did not run: no profile"), CHANGED)
    stop = Stop(after=lambda _: now.__setitem__(0, now[0] + stop.pauses[-1]))
    printed = repeat(fake, stop, every=5)
    assert printed[0] == "round 1: failed after 1.0 s; files: broken"
    assert printed[4] == "round 4: failed after 0.0 s; dbt did not run: no profile"
    assert printed[5].startswith("round 5: 2 models")
    # The pauses are 2 s, 4 s, and then at most `every`.
    assert sum(stop.pauses) == 2 + 4 + 5 + 5


def test_a_usage_error_in_the_first_round_ends_the_loop() -> None:
    with pytest.raises(UsageError, match="no such project"):
        repeat(Fake(UsageError("no such project"), IDLE), Stop())


def test_the_watcher_ends_after_it_has_shown_the_failure_if_spark_has_stopped() -> None:
    fake = Fake(FAILED, IDLE)
    fake.is_spark_stopped = True
    printed: Any = Printed()
    with pytest.raises(SparkStoppedError):
        loop.repeat(fake, 60, 1, Stop(), printed)  # type: ignore[arg-type]
    assert "files: broken" in "\n".join(printed)


def test_a_signal_that_also_stops_spark_ends_the_watcher_as_always() -> None:
    fake = Fake(FAILED)
    fake.is_spark_stopped = True
    assert repeat(fake, Stop())[-1].startswith("stopped after 1 round")
