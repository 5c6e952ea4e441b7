"""Stands for dbt, the screen and the clock in tests of the loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_trueup.errors import SparkStoppedError, UsageError
from dbt_trueup.runner.rounds import Round
from dbt_trueup.runner.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from threading import Event

IDLE = Round(seconds=1.0, models=2)
CHANGED = Round(seconds=1.0, models=2, changes=("files: batch 2: 34 commands, 34 inserted",))
FAILED = Round(seconds=1.0, models=1, failures=("files: broken",))


def nothing(_: int) -> None:
    """Do nothing."""


class Fake:
    """Rounds with given outcomes. The last round stops the loop."""

    def __init__(
        self, *outcomes: Round | UsageError, during: Callable[[int], None] = nothing
    ) -> None:
        """Take the outcomes, and a function that each round calls."""
        self.outcomes = list(outcomes)
        self.during = during
        self.log = 0
        self.rounds = 0
        self.grown: list[set[str] | None] = []
        """What each round was told to have grown."""
        self.stop: Event | None = None
        self.is_spark_stopped = False

    def run(self, grown: Collection[str] | None = None) -> Round:
        """Give the next outcome."""
        self.rounds += 1
        self.grown.append(None if grown is None else set(grown))
        self.during(self.rounds)
        if self.rounds == len(self.outcomes) and self.stop:
            self.stop.set()
        outcome = self.outcomes[self.rounds - 1]
        if isinstance(outcome, UsageError):
            raise outcome
        return outcome

    def require_spark(self) -> None:
        """Raise if Spark has stopped."""
        if self.is_spark_stopped:
            message = "Spark has stopped"
            raise SparkStoppedError(message)

    def look(self) -> Mapping[str, object]:
        """Return the length of the log."""
        return {"lake.log": str(self.log)}


class Printed(Screen, list[str]):
    """A screen that keeps the printed lines, without their time."""

    def print_line(self, text: str) -> None:
        """Keep the line."""
        self.append(text)

    def show_status(self, text: str) -> None:
        """Print nothing."""


class Stop:
    """An event that counts pauses instead of making them."""

    def __init__(self, after: Callable[[int], None] = nothing) -> None:
        """Take a function that each pause calls."""
        self.pauses: list[float] = []
        self.is_stopped = False
        self.after = after

    def is_set(self) -> bool:
        """Return whether the loop must end."""
        return self.is_stopped

    def set(self) -> None:
        """End the loop."""
        self.is_stopped = True

    def wait(self, seconds: float) -> bool:
        """Record a pause and return at once."""
        self.pauses.append(seconds)
        self.after(len(self.pauses))
        return self.is_stopped
