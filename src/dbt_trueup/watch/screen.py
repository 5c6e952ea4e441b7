"""Prints the lines of the watcher."""

from __future__ import annotations

import sys
from time import strftime


class Screen:
    """Standard output. A terminal also shows an idle line, which the next line replaces."""

    idle_line = ""
    """The idle line that a terminal shows now."""

    def print_line(self, text: str) -> None:
        """Print a line at once, with the time."""
        blank = " " * len(self.idle_line)
        erased = f"\r{blank}\r" if blank else ""
        self.idle_line = ""
        sys.stdout.write(f"{erased}{strftime('%H:%M:%S')}  {text}\n")
        sys.stdout.flush()

    def show_idle(self) -> None:
        """Show on a terminal that there is nothing to do."""
        if not self.idle_line and sys.stdout.isatty():
            self.idle_line = f"{strftime('%H:%M:%S')}  idle"
            sys.stdout.write(self.idle_line)
            sys.stdout.flush()
