"""Puts each bug of bugs.yml into a copy of the project, and runs the test that catches it.

Usage: `python -m tests.mutations [WORD]`. With WORD, only the bugs with this word in their name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutations.bugs import Bug, load

ROOT = Path(__file__).parents[2]
PATIENCE = 900
"""Seconds for one test."""


def copy_project(folder: Path) -> dict[str, str]:
    """Copy the project. Return the environment in which tests use the copy."""
    for name in ("macros", "models", "tests", "udfs", "src", "demo", "benchmarks", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder / path.name)
    module = folder / "site" / "dbt_trueup"
    module.parent.mkdir()
    module.symlink_to(folder / "src" / "dbt_trueup")
    (folder / "src" / "dbt_trueup" / "udfs").symlink_to(folder / "udfs")
    return os.environ | {"PYTHONPATH": str(module.parent)}


def run_tests(bug: Bug | None, *tests: str) -> tuple[int, str]:
    """Run tests in a copy of the project. Give the exit code and the output."""
    with tempfile.TemporaryDirectory(prefix="trueup_mutation_") as name:
        folder = Path(name)
        environment = copy_project(folder)
        if bug is not None:
            bug.put_into(folder)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-x", *tests],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    return done.returncode, done.stdout


def main() -> int:
    """Print a line for each bug. Return the number of bugs that no test caught.

    First all tests run without a bug, and must pass. Otherwise their failure would prove nothing.
    """
    part = " ".join(sys.argv[1:])
    bugs = [bug for bug in load() if part in bug.name]
    code, said = run_tests(None, *sorted({bug.test for bug in bugs}))
    if code != 0:
        print(f"the tests fail without a bug, too:\n{said[-3000:]}")  # noqa: T201
        return len(bugs)
    missed = 0
    for bug in bugs:
        _, said = run_tests(bug, bug.test)
        # A bug may also show before the test itself, while its fixtures run dbt.
        shown = re.search(rf"^(FAILED|ERROR) {re.escape(bug.test)}.*", said, re.MULTILINE)
        caught = shown is not None
        missed += not caught
        print(f"{'caught' if caught else 'MISSED'}: {bug.name}, by {bug.test}", flush=True)  # noqa: T201
        if shown:
            print(f"    {shown[0]}", flush=True)  # noqa: T201
        if not caught:
            print(said[-3000:])  # noqa: T201
    return missed


if __name__ == "__main__":
    sys.exit(main())
