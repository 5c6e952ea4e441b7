"""The list of bugs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import yaml

PATH = Path(__file__).with_name("bugs.yml")


class Bug(NamedTuple):
    """A bug that a test must catch."""

    name: str
    file: str
    old: str
    new: str
    test: str

    def put_into(self, folder: Path) -> None:
        """Change the file in a copy of the project.

        Raises:
            ValueError: The file does not have the old text exactly once.
        """
        path = folder / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            message = f"bug {self.name!r}: {self.file} must have once:\n{self.old}"
            raise ValueError(message)
        path.write_text(text.replace(self.old, self.new))


def load() -> list[Bug]:
    """Read the list."""
    return [
        Bug(given["bug"], given["file"], given["old"], given["new"], given["test"])
        for given in yaml.safe_load(PATH.read_text())
    ]
