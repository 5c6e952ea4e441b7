"""Opens the page of a report in headless Chromium, with figures from no warehouse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.report import charts, page
from tests.report.browser import CHROMIUM, Opened, open_page, start_browser
from tests.report.sample import HOSTILE, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


def in_a_browser(test: Any) -> Any:
    """Mark a test that needs Chromium."""
    reason = "needs the program `chromium`: apt-get install chromium"
    return pytest.mark.slow(pytest.mark.skipif(CHROMIUM is None, reason=reason)(test))


MOST_BYTES = 500_000


@pytest.fixture(scope="module")
def hostile() -> str:
    """The page of the sample, with its values."""
    return page.render(sample(show_values=True))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser."""
    with start_browser() as started:
        yield started


def quiet(shown: Opened) -> bool:
    """Whether the page has caused no message and no request."""
    return shown.messages == [] and shown.requests == []


@in_a_browser
def test_hostile_values_are_text(browser: Browser, hostile: str) -> None:
    with open_page(browser, hostile) as shown:
        assert HOSTILE in shown.text()
        assert shown.tab.evaluate("window.hacked") is None
        assert shown.tab.locator("img").count() == 0
        assert quiet(shown)


@in_a_browser
def test_every_bar_and_every_bucket_has_a_place(browser: Browser, hostile: str) -> None:
    with open_page(browser, hostile) as shown:
        outside = shown.tab.evaluate(
            """() => [...document.querySelectorAll("svg rect")].filter(rect => {
                const box = rect.getBBox(), frame = rect.ownerSVGElement.viewBox.baseVal;
                const right = box.x + box.width - frame.width;
                const bottom = box.y + box.height - frame.height;
                return Math.min(box.width, box.height) <= 0
                    || Math.min(box.x, box.y) < -0.01 || Math.max(right, bottom) > 0.01;
            }).length"""
        )
        assert outside == 0
        assert shown.tab.locator("svg.map path.wrong").count() == 2


@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_it_fits_in_both_schemes(browser: Browser, hostile: str, scheme: Any, width: int) -> None:
    with open_page(browser, hostile, width=width, height=844, scheme=scheme) as shown:
        ground = shown.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
        assert shown.tab.evaluate("document.documentElement.scrollWidth") == width
        assert quiet(shown)


def test_each_bar_is_the_count_of_its_batch() -> None:
    orders = sample().collections[0]
    commands, changes, errors, rows = charts.charts_of(orders)
    newest = orders.batches[-1]
    assert [chart.title for chart in (commands, changes, errors, rows)] == [
        *("Commands", "Changes", "Errors", "Rows")
    ]
    assert [bar.title for bar in changes.bars if bar.title.startswith("batch 3,000:")] == [
        f"batch 3,000: {newest['inserts']:,} inserted",
        f"batch 3,000: {newest['updates']:,} updated",
        f"batch 3,000: {newest['deletes']:,} deleted",
    ]
    # The bars of one batch stand on each other, and the highest group fills the chart.
    by_place: dict[float, float] = {}
    for bar in changes.bars:
        by_place[bar.x] = by_place.get(bar.x, 0) + bar.height
    assert len(by_place) == 60
    assert max(by_place.values()) == pytest.approx(charts.HEIGHT, abs=0.1)
    heights = {
        group["last"]: bar.height for group, bar in zip(orders.batches, rows.bars, strict=True)
    }
    assert heights[3000] / charts.HEIGHT == pytest.approx(
        newest["records_indexed"] / max(each["records_indexed"] for each in orders.batches),
        abs=0.01,
    )
    # A group of many batches shows their average.
    assert commands.bars[0].title.startswith("batches 1 to 295: ")
    assert commands.bars[0].height < charts.HEIGHT


def test_a_collection_without_errors_has_no_chart_of_them() -> None:
    revenue = sample().collections[2]
    assert [chart.title for chart in charts.charts_of(revenue)] == ["Commands", "Changes", "Rows"]
    assert charts.charts_of(sample().collections[3]) == []


def test_the_policy_of_the_page_allows_no_script(hostile: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', hostile)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    assert "script-src" not in policy
    assert "<script" not in hostile


def test_the_size_of_the_page_is_limited(hostile: str) -> None:
    assert len(hostile.encode()) < MOST_BYTES
    assert "The oldest 2,950 of 3,000 batches of orders are shown in 10 groups." in hostile
    assert "50 of 73 open errors of orders are listed." in hostile


def test_values_are_masked_unless_they_are_asked_for(hostile: str) -> None:
    masked = page.render(sample(show_values=False))
    assert "order 1" not in masked
    assert "is not a number" not in masked
    assert "o… (7 characters)" in masked
    assert "order 1" in hostile
