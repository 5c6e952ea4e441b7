"""The files of a dbt project: in which folders they are, and when each of them last changed."""

from __future__ import annotations

import os
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from dbt_trueup.dbt import TARGET_PATH_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

SUFFIXES = (".csv", ".md", ".py", ".sql", ".yaml", ".yml")
"""How the names of dbt's files end."""

SETTINGS = ("dbt_project.yml", "vars.yml")
"""The files with settings in the folder of a project. dbt reads the second one from 1.12 on."""

READ_FOLDERS = {
    "analysis-paths": ["analyses"],
    "docs-paths": [],
    "function-paths": ["functions"],
    "macro-paths": ["macros"],
    "model-paths": ["models"],
    "seed-paths": ["seeds"],
    "snapshot-paths": ["snapshots"],
    "test-paths": ["tests"],
}
"""The settings of a project for the folders that dbt reads, with their defaults."""

WRITTEN_FOLDERS = {
    "target-path": "target",
    "log-path": "logs",
    "packages-install-path": "dbt_packages",
}
"""The settings of a project for the folders that dbt writes, with their defaults.

If dbt reads the whole folder of the project, they are in it, and change in each round.
"""


class Sources(NamedTuple):
    """The folders of a project or package."""

    read: set[str]
    """Those with its files."""
    written: set[str]
    """Those that dbt writes itself."""


def normal(root: object, folder: str) -> str:
    """The path of a folder, in one form for each folder."""
    return os.path.normpath(os.path.join(str(root), folder))  # noqa: PTH118 - as fast as os.walk


def settings_of(root: Path) -> dict[str, Any]:
    """Read the settings of a project; none if they cannot be read. dbt says then what is wrong."""
    try:
        settings = yaml.safe_load((root / "dbt_project.yml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return settings if isinstance(settings, dict) else {}


def target_folder(project: Path) -> Path:
    """Return the target folder of dbt: that of the environment, or else of the settings.

    A relative path counts from the folder of the project, as in dbt.
    """
    named = [*map(os.environ.get, TARGET_PATH_VARIABLES), settings_of(project).get("target-path")]
    return project / next(filter(None, named), WRITTEN_FOLDERS["target-path"])


def files_in(folder: str, left_out: Collection[str]) -> Iterator[str]:
    """List the files of dbt in a folder, without those of some folders in it.

    A folder may disappear while it is listed. Then its files have changed.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and f"{parent}{os.sep}{name}" not in left_out
        ]
        for name in names:
            if name.endswith(SUFFIXES):
                yield f"{parent}{os.sep}{name}"


def changed_at(file: str) -> int:
    """Return when a file last changed; 0 if it is a folder or does not exist any more."""
    try:
        found = os.stat(file)  # noqa: PTH116 - the watcher asks for each file, again and again
    except OSError:
        return 0
    return 0 if S_ISDIR(found.st_mode) else found.st_mtime_ns
