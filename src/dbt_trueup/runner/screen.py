"""Prints the lines of the program."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from time import strftime
from typing import TYPE_CHECKING

from dbt_trueup.plural import count

if TYPE_CHECKING:
    from .rounds import Round


IDLE, RUNNING = "idle", "running"
"""What a terminal shows between two lines."""


class Screen:
    """Standard output. A terminal also shows a status, which the next line replaces."""

    status_line = ""
    """The line of the status that a terminal shows now."""

    def print_line(self, text: str) -> None:
        """Print a line at once, with the time."""
        self._replace_status("")
        sys.stdout.write(f"{strftime('%H:%M:%S')}  {text}\n")
        sys.stdout.flush()

    def show_status(self, text: str) -> None:
        """Show on a terminal what happens now, and since when."""
        if sys.stdout.isatty() and not self.status_line.endswith(f"  {text}"):
            self._replace_status(f"{strftime('%H:%M:%S')}  {text}")
            sys.stdout.flush()

    def clear_status(self) -> None:
        """Erase the status, before something else writes to the terminal."""
        self._replace_status("")
        sys.stdout.flush()

    def _replace_status(self, line: str) -> None:
        """Erase the line of the status, and write another one in its place."""
        blank = " " * len(self.status_line)
        sys.stdout.write((f"\r{blank}\r" if blank else "") + line)
        self.status_line = line

    def print_round(self, done: Round, prefix: str = "") -> None:
        """Print one line for the changes of a round, and one for each model that failed."""
        if done.changes:
            changes = "; ".join(done.changes)
            models = count(done.models, "model")
            self.print_line(f"{prefix}{models} in {done.seconds:.1f} s; {changes}")
        for failure in done.failures:
            self.print_line(f"{prefix}failed after {done.seconds:.1f} s; {failure}")


class JsonScreen(Screen):
    """Standard output for programs: each line is a JSON object with the time."""

    def print_line(self, text: str) -> None:
        """Print a text as `{"at": ..., "text": ...}`."""
        self._print(text=text)

    def show_status(self, text: str) -> None:
        """Print nothing."""

    def print_round(self, done: Round, prefix: str = "") -> None:
        """Print all that is known of a round as `{"at": ..., "round": ...}`."""
        del prefix  # it is for people
        self._print(round=asdict(done))

    def _print(self, **fields: object) -> None:
        at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        sys.stdout.write(json.dumps({"at": at, **fields}) + "\n")
        sys.stdout.flush()
