"""The list of bugs fits the code. `make mutations` puts each bug in and runs its test."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.mutations.bugs import Bug, load

if TYPE_CHECKING:
    from pathlib import Path


def test_there_are_eleven_bugs() -> None:
    assert len({bug.name for bug in load()}) == 11


@pytest.mark.parametrize("bug", load(), ids=lambda bug: bug.name)
def test_a_bug_can_be_put_into_the_code_and_its_test_exists(bug: Bug, tmp_path: Path) -> None:
    copy = tmp_path / bug.file
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / bug.file, copy)
    bug.put_into(tmp_path)
    assert copy.read_text() != (ROOT / bug.file).read_text()
    path, _, name = bug.test.partition("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()
