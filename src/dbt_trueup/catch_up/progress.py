"""The lines that show how far a collection is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt_trueup.runner.batches import Settled

MINUTE, HOUR = 60, 3600
"""In seconds."""

SLOW = 10
"""Below this rate a decimal is shown."""


def describe_progress(settled: Settled, seconds: float) -> str:
    """Describe how far a collection is: its settled commands, the rate, and the time left.

    Args:
        settled: The commands before and after a round.
        seconds: How long the round took. The rate is that of this round.

    Example:
        >>> from dbt_trueup.runner.batches import Settled
        >>> describe_progress(Settled("orders", 200_000, 400_000, 1_000_000), 16.25)
        'orders: 400,000 of 1,000,000 commands (40 %), 12,308/s, 49 s left'
        >>> describe_progress(Settled("orders", 990_000, 1_000_000, 1_000_000), 10)
        'orders: 1,000,000 of 1,000,000 commands (100 %), 1,000/s'
    """
    rate = (settled.after - settled.before) / seconds if seconds else 0.0
    # Rounded down, so that 100 % means all.
    percent = settled.after * 100 // settled.total
    texts = [
        f"{settled.collection}: {settled.after:,} of {settled.total:,} commands ({percent} %)",
        *([f"{rate:,.0f}/s" if rate >= SLOW else f"{rate:.1f}/s"] if rate else []),
    ]
    left = settled.total - settled.after
    if left and rate:
        texts.append(f"{describe_seconds(left / rate)} left")
    return ", ".join(texts)


def describe_seconds(seconds: float) -> str:
    """Describe a time in at most two units.

    Example:
        >>> [describe_seconds(seconds) for seconds in (0.2, 90, 600, 11_700)]
        ['1 s', '90 s', '10 min', '3 h 15 min']
    """
    if seconds < 2 * MINUTE:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / MINUTE)
    if seconds < 2 * HOUR:
        return f"{minutes} min"
    return f"{minutes // MINUTE} h {minutes % MINUTE} min"
