"""One round, and nothing more: `trueup run`, and `trueup watch --once`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_trueup.plural import count

from .screen import RUNNING

if TYPE_CHECKING:
    from .rounds import Runs
    from .screen import Screen


def run_once(runs: Runs, screen: Screen) -> int:
    """Run a single round. Return the exit code that `dbt run` would have."""
    screen.show_status(RUNNING)
    done = runs.run()
    screen.print_round(done)
    if not done.changes and not done.failures:
        screen.print_line(
            f"no collection has changed: {count(done.models, 'model')} in {done.seconds:.1f} s"
        )
    return 1 if done.failures else 0
