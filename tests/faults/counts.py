"""The counts of the long forms, in counts.json."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from tests.project import TABLE_FORMAT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECONDS = int(os.environ.get("TRUEUP_SECONDS", "0"))
"""How long the long form of a test may take; 0 for the short form."""
PATH = Path(__file__).with_name("counts.json")

COMMIT = subprocess.run(
    ["git", "describe", "--always", "--dirty"],
    cwd=PATH.parent,
    check=False,
    capture_output=True,
    text=True,
).stdout.strip()
"""The commit that is tested; empty outside of a repository."""


def report(  # noqa: PLR0913
    kind: str,
    seed: int,
    classes: Mapping[str, int],
    happened: Mapping[str, int],
    violations: Sequence[str],
    *,
    is_long: bool = SECONDS > 0,
) -> None:
    """Print the counts of an execution. Those of a long form are added to the file.

    Args:
        kind: `races`, `interleavings`, `kills` or `random scripts`.
        seed: Its seed.
        classes: How often each class of script was played and took effect.
        happened: What else was counted.
        violations: What did not hold.
        is_long: Whether it was a long form.
    """
    execution = {
        "kind": kind,
        "engine": TABLE_FORMAT,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": COMMIT,
        "seed": seed,
        "seconds": SECONDS,
        "classes": dict(classes),
        "happened": dict(happened),
        "violations": len(violations),
    }
    print(json.dumps(execution))  # noqa: T201
    if not is_long:
        return
    executions = json.loads(PATH.read_text()) if PATH.exists() else []
    lines = ",\n".join(json.dumps(one) for one in [*executions, execution])
    PATH.write_text(f"[\n{lines}\n]\n")
