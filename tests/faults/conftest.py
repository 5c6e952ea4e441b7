"""All tests of this folder share the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.stage import open_stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.stage import Stage
    from tests.project import Project


@pytest.fixture(scope="session")
def stage(new_project: Callable[[str], Project]) -> Iterator[Stage]:
    with open_stage(new_project("faults")) as stage:
        yield stage
