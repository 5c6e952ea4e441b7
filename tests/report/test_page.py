"""Opens the page of a report in headless Chromium, with figures from no warehouse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup import libraries
from dbt_trueup.errors import UsageError
from dbt_trueup.report import page
from tests.report.browser import CHROMIUM, Opened, open_page, start_browser
from tests.report.sample import HOSTILE, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
"""The first page takes three seconds, and Chromium takes as long to start."""
WITH_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="needs the program `chromium`: apt-get install chromium"
)
CHARTS = {
    *("frontier", "lag", "commands", "changes", "corrections", "errors", "open-errors", "doubts"),
    *("durations", "certificate"),
}
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def hostile() -> str:
    """The page of the sample, with its values."""
    return page.render(sample(show_values=True))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser."""
    with start_browser() as started:
        yield started


@pytest.fixture(scope="module")
def opened(browser: Browser, hostile: str) -> Iterator[Opened]:
    """The page in the browser."""
    with open_page(browser, hostile) as shown:
        yield shown


@pytest.fixture(autouse=True)
def _is_quiet(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test the browser has seen no error and no request."""
    yield
    if "opened" in request.fixturenames:
        shown: Opened = request.getfixturevalue("opened")
        assert shown.messages == []
        assert shown.requests == []


@WITH_CHROMIUM
def test_every_chart_has_data(opened: Opened) -> None:
    opened.tab.select_option("#collection", "orders")
    marks = opened.settled_marks()

    assert marks.keys() == CHARTS
    assert all(marks.values()), marks
    assert marks["certificate"] == 256


@WITH_CHROMIUM
def test_the_page_filters_by_collection_and_by_batch(opened: Opened) -> None:
    opened.tab.select_option("#collection", "orders")
    opened.tab.click("text=Newest 50")
    newest = opened.settled_marks()
    assert opened.tab.input_value("#from") == "2951"
    assert newest["commands"] == 50
    opened.tab.fill("#to", "2960")
    opened.tab.press("#to", "Tab")
    assert opened.settled_marks()["commands"] == 10
    assert "Wrong rows of orders" in opened.text()

    opened.tab.select_option("#collection", "revenue")
    assert opened.settled_marks()["commands"] == 2
    assert "Unknown: this collection keeps no position in a log." in opened.text()
    assert "Wrong rows of revenue" in opened.text()
    assert "Wrong rows of orders" not in opened.text()


@WITH_CHROMIUM
def test_a_correction_that_waits_for_its_batch_is_shown_with_the_last_one(opened: Opened) -> None:
    opened.tab.select_option("#collection", "orders")
    opened.tab.click('[data-newest="all"]')
    opened.settled_marks()
    assert [f"order {number}" in opened.text() for number in (90, 91, 92)] == [True] * 3

    opened.tab.fill("#to", "2999")
    opened.tab.press("#to", "Tab")
    opened.settled_marks()
    assert [f"order {number}" in opened.text() for number in (90, 91, 92)] == [False] * 3


def test_a_large_tick_keeps_all_its_digits() -> None:
    """JavaScript rounds numbers above 2^53."""
    data = sample(show_values=True)
    data.collections[0].batches[-1]["upper"] = 1_795_000_000_123_456_789
    assert '"1,795,000,000,123,456,789"' in page.render(data)


@WITH_CHROMIUM
def test_hostile_values_are_text(opened: Opened) -> None:
    opened.tab.select_option("#collection", "payments")
    opened.settled_marks()

    assert HOSTILE in opened.text()
    assert opened.tab.evaluate("window.hacked") is None
    assert opened.tab.locator("img").count() == 0


@WITH_CHROMIUM
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_in_both_schemes(
    browser: Browser, hostile: str, scheme: Any
) -> None:
    with open_page(browser, hostile, width=390, height=844, scheme=scheme) as shown:
        ground = shown.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert shown.tab.evaluate("document.documentElement.scrollWidth") == 390
        assert all(shown.settled_marks().values())

        shown.tab.click("#theme")

        assert all(shown.settled_marks().values())
        assert shown.tab.evaluate("getComputedStyle(document.body).backgroundColor") != ground
        assert shown.messages == []
        assert shown.requests == []


def test_the_policy_of_the_page_allows_nothing_but_its_own_scripts(hostile: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', hostile)
    default, scripts, *_ = policy.split("; ")

    assert default == "default-src 'none'"
    assert re.fullmatch(r"script-src( 'sha256-[\w+/]{43}='){2}", scripts)
    assert len(re.findall(r"<script", hostile)) == 3
    assert len(re.findall(r"</script", hostile)) == 3


def test_the_size_of_the_page_is_limited(hostile: str) -> None:
    assert len(hostile.encode()) < MOST_BYTES
    assert "The oldest 2,200 of 3,000 batches of orders are shown in 200 groups." in hostile


def test_values_are_masked_unless_they_are_asked_for(hostile: str) -> None:
    masked = page.render(sample(show_values=False))

    assert "order 1" not in masked
    assert "is not a number" not in masked
    assert "o… (7 characters)" in masked
    assert "order 1" in hostile


def test_the_library_of_the_charts_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda _: None)

    with pytest.raises(UsageError, match="pip install"):
        page.render(sample())
