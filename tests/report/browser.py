"""Headless Chromium without a network."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from playwright.sync_api import Browser, Page, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM = which("chromium")
"""The program, as Debian's package `chromium` installs it; None if it is missing."""

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
"""No name can be resolved, so a request would fail and be seen."""


@dataclass
class Opened:
    """A page in a browser, and what it did."""

    tab: Page
    messages: list[str] = field(default_factory=list)
    """Warnings and errors of the console, and exceptions."""
    requests: list[str] = field(default_factory=list)
    """The addresses that the page asked for, except its own."""

    def text(self) -> str:
        """Return the visible text."""
        return self.tab.inner_text("body")


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Start the browser. A process can have only one."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def open_page(
    browser: Browser,
    page: str,
    width: int = 1200,
    height: int = 900,
    scheme: Literal["light", "dark"] = "light",
) -> Iterator[Opened]:
    """Open a page from a file."""
    settings: Any = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    with TemporaryDirectory() as folder, browser.new_page(**settings) as tab:
        file = Path(folder, "report.html")
        file.write_text(page, encoding="utf-8")
        opened = Opened(tab)
        tab.on("console", lambda message: opened.messages.append(message.text))
        tab.on("pageerror", lambda error: opened.messages.append(str(error)))
        tab.on("request", lambda request: opened.requests.append(request.url))
        tab.goto(file.as_uri())
        opened.requests.remove(file.as_uri())
        yield opened
