"""The first signal lets the current round end. The second one ends the process at once."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from dbt_trueup.runner.screen import Screen


@contextmanager
def stop_on_signals(stop: Event, screen: Screen) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM. The second one ends the process at once."""

    def handle_signal(number: int, _: object) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        screen.print_line("stops when this round is done; a second signal stops at once")

    if current_thread() is not main_thread():  # only the main thread may set handlers
        yield
        return
    before = {
        number: signal.signal(number, handle_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
