"""Runs the checkpoint of a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_trueup.dbt import collections, parse, require_collection
from dbt_trueup.errors import ExpectationsError
from dbt_trueup.libraries import require_library
from dbt_trueup.runner.sources import target_folder

from .collection import read_collection, require_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .report import Report


def default_folder(project: Path) -> Path:
    """Return the folder of the results. It is in the target folder of the dbt project."""
    return target_folder(project) / "expectations"


def check(name: str, max_errors: int, folder: Path, options: Sequence[str] = ()) -> Report:
    """Run the checkpoint of a collection and write its Data Docs.

    Args:
        name: The collection.
        max_errors: How many open errors are allowed.
        folder: The folder for results and Data Docs, absolute.
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.

    Raises:
        ExpectationsError: Great Expectations is not installed, the collection has not run yet, or
            dbt has no Spark session in this process.
        UsageError: The project has no such collection.
    """
    require_library(
        module="great_expectations",
        requirement="great-expectations~=1.24.0",
        needs="the suite needs Great Expectations",
        error=ExpectationsError,
    )
    require_collection(name, collections(parse(options)))  # before Spark starts
    collection = read_collection(name, max_errors, options)
    require_session(name)
    from . import suite  # noqa: PLC0415 - heavy, and not always installed

    return suite.run_checkpoint(collection, folder)
