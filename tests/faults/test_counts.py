"""The page about faults shows the counts of counts.json."""

from __future__ import annotations

import re

import pytest

from tests.faults import counts
from tests.mutations.bugs import load


@pytest.mark.parametrize("name", counts.TABLES)
def test_the_page_shows_the_sums_of_all_executions(name: str) -> None:
    found = re.findall(counts.shown(name), counts.PAGE.read_text())
    assert found == [counts.table(name)]


def test_the_page_names_each_bug_and_its_test() -> None:
    text = counts.PAGE.read_text()
    for bug in load():
        assert f"| {bug.name} | `{bug.test.partition('[')[0]}` |" in text
