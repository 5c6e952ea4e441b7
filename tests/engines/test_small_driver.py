"""Runs with a driver of 1 GB, whose sorts do not fit into its memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.engines.servers import MARKS, run_module

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = MARKS


def test_a_small_driver_spills_to_disk_and_changes_no_row(package: Path, tmp_path: Path) -> None:
    run_module("on_a_small_driver", tmp_path, package, timeout=1800)
    runs = json.loads((tmp_path / "runs.json").read_text())
    spilled = 0
    for file in tmp_path.rglob("events_*"):
        for line in file.read_text().splitlines():
            event = json.loads(line)
            metrics, task = event.get("Task Metrics") or {}, event.get("Task Info") or {}
            # The queries of the test itself do not count.
            if any(begin <= task.get("Finish Time", 0) <= end for begin, end in runs):
                spilled += metrics.get("Disk Bytes Spilled", 0)
    assert spilled > 0, "no run spilled: the memory was large enough"
