"""Histories of git repositories: real logs of keyed commands, and the trees they must give."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "git_history"


class Change(NamedTuple):
    """A path that a commit changed. Mode and blob are empty if the op is `D`."""

    commit_no: int
    change_no: int
    committed_at: str
    path: str
    mode: str
    blob: str
    op: str

    def command(self) -> oracle.Command:
        """The change as a command. The commit is the tick, the place in the commit is the order."""
        value = None if self.op == "D" else (self.mode, self.blob)
        return oracle.Command(self.commit_no, (self.change_no,), (self.path,), value)


class File(NamedTuple):
    """A path in the tree of a commit."""

    path: str
    mode: str
    blob: str


@dataclass(frozen=True)
class History:
    """The changes of one repository, and its trees by the number of their commit."""

    name: str
    changes: list[Change]
    trees: dict[int, list[File]]


def available() -> list[str]:
    """The names that `load` takes; none if the folder does not exist."""
    return sorted(manifest.parent.name for manifest in FOLDER.glob("*/manifest.json"))


def load(name: str) -> History:
    """Read one history and compare it with its manifest.

    Raises:
        ValueError: A count or a checksum differs from the manifest.
    """
    manifest = json.loads((FOLDER / name / "manifest.json").read_text(encoding="utf-8"))
    changes = [
        Change(int(commit_no), int(change_no), *texts)
        for commit_no, change_no, *texts in _records(FOLDER / name / "commands.csv.gz")
    ]
    if len(changes) != manifest["commands"]:
        message = f"{name}: {manifest['commands']} commands expected\nGot: {len(changes)}"
        raise ValueError(message)
    trees = {}
    for snapshot in manifest["snapshots"]:
        tree = [File(*texts) for texts in _records(FOLDER / name / snapshot["file"])]
        lines = "".join("\t".join(file) + "\n" for file in tree)
        if sha256(lines.encode()).hexdigest() != snapshot["sha256"]:
            message = f"{name}: the checksum of {snapshot['file']} differs\nGot: {len(tree)} rows"
            raise ValueError(message)
        trees[snapshot["commit_no"]] = tree
    return History(name, changes, trees)


def _records(path: Path) -> Iterator[list[str]]:
    """The records of a CSV file, without its header."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        records = csv.reader(file, strict=True)
        next(records)
        yield from records
