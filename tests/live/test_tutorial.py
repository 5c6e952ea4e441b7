"""The commands of docs/from-postgresql.md, run in a shell as they are printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

from .servers import SERVER_MARKS, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = SERVER_MARKS
PAGE = (ROOT / "docs" / "from-postgresql.md").read_text()
FILE = re.compile(r"```\w+\n(?:--|#) (\S+)\n(.*?)```", re.DOTALL)
"""A file that the page shows in full: a comment with its path, then its text."""


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """An empty database, whose connection string is in the environment."""
    folder = Path(tempfile.mkdtemp(prefix="trueup_tutorial_"))
    folder.chmod(0o755)  # the user of the database works in it
    source = Source(folder, [])
    try:
        source.database.start()
        monkeypatch.setenv("DATABASE", source.dsn)
        yield source
    finally:
        source.database.kill()
        shutil.rmtree(folder)


@pytest.mark.usefixtures("database")
def test_the_page_leads_from_postgresql_to_an_exact_table(tmp_path: Path) -> None:
    steps = PAGE.partition("## Without Kafka")[2].partition("### 6. ")[0]
    install, *scripts = re.findall(r"```shell\n(.*?)```", steps, re.DOTALL)
    assert "pip install" in install
    for path, text in FILE.findall(steps):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace("- git: <this repository>", f"- local: {ROOT}"))
    rest = install.partition("\n")[2]  # trueup is installed
    shown = [run(script, tmp_path) for script in (rest, *scripts)]

    expected = re.findall(r"```text\n(.*?)```", steps, re.DOTALL)[-1].splitlines()
    assert [line for line in shown[-1].splitlines() if line.startswith("|")] == expected
    assert "orders: batch 1: 2 commands, 2 inserted" in shown[-2]


def run(script: str, folder: Path) -> str:
    """Run a script in a shell, and return what it prints."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": path, "DBT_PROFILES_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
