"""The site builds without a broken link, and works in a browser without a network."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

import pytest
from playwright.sync_api import sync_playwright

from dbt_trueup.command_line.program import trueup
from tests.macros.package import in_model
from tests.report.browser import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
HTML = ROOT / "target" / "site" / "html"
ZENSICAL = ROOT / ".venv" / "docs" / "bin" / "zensical"
FOR_USERS = [
    "dbt_trueup.errors",
    "dbt_trueup.expectations",
    "dbt_trueup.udfs.accumulator",
    "dbt_trueup.udfs.aggregates",
]
"""The modules of Python that users may import from."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing"),
    pytest.mark.skipif(not ZENSICAL.exists(), reason="`make docs` has not installed zensical"),
]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Build the site, and serve it. Return its address."""
    script = ROOT / "docs" / "site" / "build.py"
    built = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(HTML)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that reaches this machine alone."""
    flags = [flag for flag in FLAGS if not flag.startswith("--host-resolver-rules")]
    flags.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield opened
        opened.close()


def open_page(browser: Browser, address: str, **context: object) -> tuple[Page, list[str]]:
    """Open a page. Return it, and what went wrong in it until now and later."""
    page = browser.new_context(**context).new_page()  # type: ignore[arg-type]
    wrong: list[str] = []
    # A page that is left breaks off its requests.
    page.on(
        "requestfailed",
        lambda request: (
            None if request.failure == "net::ERR_ABORTED" else wrong.append(request.url)
        ),
    )
    page.on(
        "response",
        lambda answer: wrong.append(answer.url) if answer.status >= 400 else None,
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(address)
    return page, wrong


def document_of(link: str) -> str:
    """The page that a link leads to."""
    document = urldefrag(link).url
    return f"{document}index.html" if document.endswith("/") else document


def test_every_link_of_the_site_leads_to_a_page_and_a_heading(site: str, browser: Browser) -> None:
    page, wrong = open_page(browser, site + "index.html")
    waiting, seen, anchors = [site + "index.html"], {}, set[str]()
    while waiting:
        address = waiting.pop()
        page.goto(address)
        seen[address] = set(page.eval_on_selector_all("[id]", "found => found.map(one => one.id)"))
        links = page.eval_on_selector_all("a[href]", "found => found.map(one => one.href)")
        for link in links:
            document = urldefrag(link).url
            if not link.startswith(site) or not document.endswith((".html", "/")):
                continue
            anchors.add(link)
            if document_of(link) not in [*seen, *waiting]:
                waiting.append(document_of(link))

    assert wrong == []
    assert len(seen) > 18
    broken = [
        link
        for link in anchors
        if "#" in link and urldefrag(link).fragment not in seen[document_of(link)]
    ]
    assert broken == []


def headings_of(page: str) -> set[str]:
    """The texts of the headings of a page."""
    found = re.findall(r"<h[1-6].*?</h[1-6]>", (HTML / page).read_text(), re.DOTALL)
    return {unescape(re.sub(r"<[^>]+>|&para;|\s+$", "", heading)) for heading in found}


@pytest.mark.usefixtures("site")
def test_the_reference_has_every_macro_and_command_for_users() -> None:
    macros = {name for name in in_model("files").macros if not name.startswith("_")}
    named = {
        f"trueup.{name.removeprefix('test_')}" for name in macros if "materialization" not in name
    }
    options = {
        word
        for command in trueup.commands.values()
        for option in command.params
        for word in option.opts
        if word.startswith("--")
    }
    commands = (HTML / "command-reference.html").read_text()

    assert len(named) > 20
    assert named | {"materialized='trueup'"} <= headings_of("macro-reference.html")
    assert {f"trueup {name}" for name in trueup.commands} <= headings_of("command-reference.html")
    assert len(options) > 20
    assert options <= set(re.findall(r"--[\w-]+", commands))


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("module", FOR_USERS)
def test_the_reference_has_every_function_and_class_for_users(module: str) -> None:
    members = vars(import_module(module)).items()
    own = {
        name
        for name, member in members
        if not name.startswith("_")
        and (inspect.isfunction(member) or inspect.isclass(member))
        and member.__module__.startswith(module)
    }
    page = (HTML / "python-reference.html").read_text()

    assert own
    assert {f"{module}.{name}" for name in own} <= set(re.findall(r'id="([^"]+)"', page))


def test_the_search_finds_an_option_without_a_network(site: str, browser: Browser) -> None:
    page, wrong = open_page(browser, site + "start.html")

    page.wait_for_load_state("networkidle")
    page.keyboard.press("Control+k")
    page.wait_for_timeout(500)
    page.keyboard.type("max_retractions", delay=20)
    found = page.locator("a:has-text('max_retractions')").filter(visible=True).first
    found.wait_for(timeout=20_000)

    assert "options.html" in (found.get_attribute("href") or "")
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "start", "your-log", "options", "python-reference"])
def test_a_page_fits_on_a_phone(site: str, browser: Browser, name: str, scheme: str) -> None:
    page, wrong = open_page(
        browser,
        f"{site}{name}.html",
        viewport={"width": 390, "height": 844},
        color_scheme=scheme,
    )

    width = page.evaluate("document.documentElement.scrollWidth")
    tables = page.eval_on_selector_all(
        "article table", "found => found.map(one => one.scrollWidth)"
    )
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert width <= 390
    assert all(table <= 390 for table in tables), tables
    assert (sum(map(int, background.strip("rgba()").split(",")[:3])) > 380) == (scheme == "light")
    assert wrong == []
