"""The counts of the long forms, in counts.json."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.stage import SECONDS
from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.faults.stage import Stage

PATH = Path(__file__).with_name("counts.json")

COMMIT = subprocess.run(
    ["git", "describe", "--always", "--dirty"],
    cwd=PATH.parent,
    check=False,
    capture_output=True,
    text=True,
).stdout.strip()
"""The commit that is tested; empty outside of a repository."""


def report(kind: str, seed: int, classes: Mapping[str, int], stage: Stage) -> None:
    """Print the counts of an execution. Those of a long form are added to the file.

    Args:
        kind: `races`, `interleavings` or `kills`.
        seed: Its seed.
        classes: How often each class of script was played and took effect.
        stage: What else was counted, and the violations.
    """
    execution = {
        "kind": kind,
        "engine": TABLE_FORMAT,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": COMMIT,
        "seed": seed,
        "seconds": SECONDS,
        "classes": dict(classes),
        "happened": dict(stage.counts),
        "violations": len(stage.violations),
    }
    print(json.dumps(execution))  # noqa: T201
    if not SECONDS:
        return
    executions = json.loads(PATH.read_text()) if PATH.exists() else []
    lines = ",\n".join(json.dumps(one) for one in [*executions, execution])
    PATH.write_text(f"[\n{lines}\n]\n")
