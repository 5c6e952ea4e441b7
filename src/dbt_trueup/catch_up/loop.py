"""The loop of `trueup run --until-caught-up`: run rounds until nothing is left to settle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_trueup.plural import count
from dbt_trueup.runner.rounds import attempt
from dbt_trueup.runner.screen import RUNNING

from .progress import describe_progress

if TYPE_CHECKING:
    from threading import Event

    from dbt_trueup.runner.rounds import Round, Runs
    from dbt_trueup.runner.screen import Screen


def run_until_caught_up(runs: Runs, stop: Event, screen: Screen) -> int:
    """Run rounds until everything is settled, and print the progress of each collection.

    A round that writes nothing and leaves nothing ends the loop. If the log grows all the time, no
    such round comes, so two rounds in a row that leave nothing end it, too. One would not be
    enough: in that round a model may run before another model writes the table that it reads.

    Args:
        runs: The models to run.
        stop: Ends the loop after the current round.
        screen: Prints the lines.

    Returns:
        The exit code. 0: everything is settled. 1: a model failed, two rounds in a row could not
        settle what is left, or `stop` ended the loop before that was known.

    Raises:
        UsageError: The first round has nothing to run.
    """
    before: Round | None = None
    number, seconds = 0, 0.0
    while True:
        number += 1
        screen.show_status(RUNNING)
        done = attempt(runs, is_first=number == 1)
        seconds += done.seconds
        screen.print_round(done, f"round {number}: ")
        if done.failures:
            return 1
        for settled in done.settled:
            screen.print_line(describe_progress(settled, done.seconds))
        if is_caught_up(done, before):
            screen.print_line(f"caught up after {count(number, 'round')} in {seconds:.1f} s")
            return 0
        if is_stuck(done) and before is not None and is_stuck(before):
            for obstacle in done.obstacles:
                screen.print_line(f"no progress in two rounds; {obstacle}")
            return 1
        if stop.is_set():
            screen.print_line(
                f"stopped after {count(number, 'round')}, before it was caught up;"
                " run it again to go on"
            )
            return 1
        before = done


def is_caught_up(done: Round, before: Round | None) -> bool:
    """Return whether nothing is left to settle after a round.

    Args:
        done: The round.
        before: The round before it; None if it is the first one.
    """
    return leaves_nothing(done) and (
        not done.has_written or (before is not None and leaves_nothing(before))
    )


def leaves_nothing(done: Round) -> bool:
    """Return whether every collection settled all that it could when the round planned it."""
    return not done.has_more and not done.obstacles


def is_stuck(done: Round) -> bool:
    """Return whether something is left, and no collection goes on with its next batch."""
    return bool(done.obstacles) and not done.has_more
