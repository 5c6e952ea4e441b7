"""What an error of the storage means: a file, a disk or a catalog that cannot be read or written.

Iceberg and Spark report such an error as a page of Java. This module says in one line what is
wrong, with which file, and what to do. It never repeats other text of the error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FILE = r"(?P<file>[^\n(]*?\.(?:parquet|avro|orc|puffin|json)|[^\s,\]]*[^\s,\].:])"
"""A file. If its ending is known, its name may have spaces."""

REPAIR_THE_CAUSE = "What was committed stays. Repair the cause, then run again"

ANOTHER_ERROR = re.compile(r"OutOfMemoryError|SQLSTATE: (?:22|39|42(?!K03)|P0)")
"""An error of the memory, a value, a function or the text of a statement.

Such an error may repeat a value or a part of the statement, which may say anything. 42K03 is a
path that does not exist.
"""


class Fault(NamedTuple):
    """A fault of the storage."""

    pattern: re.Pattern[str]
    """Finds the fault in the text of an error, and perhaps its file."""
    says: str
    """What is wrong. `{}` stands for the file."""
    next_step: str | None = None
    """What to do. None: it depends on the table of the file."""


FAULTS = (
    Fault(
        re.compile(r"No space left on device|Disk quota exceeded|SQLITE_FULL"),
        "full disk: no space is left for the tables, the catalog or Spark's temporary files",
        "What was committed stays. Free some space, then run again",
    ),
    Fault(
        re.compile(r"SQLITE_BUSY|SQLITE_LOCKED|database is locked"),
        "locked catalog: another process holds the SQLite file of the catalog",
        "What was committed stays. Wait for that process, then run again",
    ),
    Fault(
        re.compile(r"SQLITE_(?:CANTOPEN|NOTADB|CORRUPT|IOERR|READONLY)|no such table: iceberg_"),
        "damaged catalog: the SQLite file of the catalog cannot be read or written",
        "Restore the file, or make it writable, then run again",
    ),
    Fault(
        re.compile(rf"(?:Failed to create file|Mkdirs failed to create): ?(?:file:)?{FILE}"),
        "no write access: {} cannot be created",
        REPAIR_THE_CAUSE,
    ),
    Fault(
        re.compile(
            r"Read-only file system|Permission denied|Operation not permitted|AccessDeniedException"
            r"|Mkdirs failed to create"
        ),
        "no write access: Spark may not read or write a folder of the tables",
        REPAIR_THE_CAUSE,
    ),
    Fault(
        re.compile(
            rf"(?:Failed to open input stream for file|FileNotFoundException: File):"
            rf" (?:file:)?{FILE}"
        ),
        "missing file: {} is not there",
    ),
    Fault(
        re.compile(
            r"FAILED_READ_FILE\.FILE_NOT_EXIST\W+Encountered error while reading file"
            rf" (?:file:(?://(?=/))?)?{FILE}"
        ),
        "missing file: {} is not there",
    ),
    Fault(
        re.compile(
            r"(?:FAILED_READ_FILE\.FILE_NOT_EXIST|DELTA_FILE_NOT_FOUND)\w*|File does not exist"
        ),
        "missing file: {} is not there",
    ),
    Fault(
        re.compile(r"DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION"),
        "log expired: Delta no longer reads the version with which this run began, because it is"
        " old and a newer one is there",
        "Run again",
    ),
    Fault(
        re.compile(rf"(?:Failed to (?:fetch|read) file|Checksum error): (?:file:)?{FILE}"),
        "damaged file: {} cannot be read",
    ),
    Fault(
        re.compile(
            # The frame of a reader: the bytes of a damaged file may break any part of it.
            r"FAILED_READ_FILE|is not a Parquet file|\bat [\w.$]*parquet[\w.$]*\.\w*(?:Read|Page)"
        ),
        "damaged file: {} cannot be read",
    ),
)
"""The faults that are known. The first that is found counts."""


def describe_storage_fault(error: str) -> str | None:
    """Describe a fault of the storage.

    Args:
        error: The text of an error of Spark.

    Returns:
        One line. None if the error is no fault of the storage.

    Example:
        >>> print(describe_storage_fault("java.io.IOException: No space left on device"))
        full disk: no space is left for the tables, the catalog or Spark's temporary files. \
What was committed stays. Free some space, then run again.
    """
    if ANOTHER_ERROR.search(error):
        return None
    for fault in FAULTS:
        found = fault.pattern.search(error)
        if found is not None:
            file = found.groupdict().get("file")
            says = fault.says.format(file or "a data file")
            return f"{says}. {fault.next_step or _next_step(file)}."
    return None


def _next_step(file: str | None) -> str:
    """Say how to go on without a file."""
    if file is None:
        return "Find its table and restore the file from a backup, then run again"
    if "/data/" not in file and file.endswith(".parquet"):
        return (
            "Restore it from a backup, then run again. If a vacuum has removed it from a log on"
            " Delta, set the property delta.enableChangeDataFeed of the log again: the next run"
            " then reads the whole log"
        )
    return "Restore it from a backup, then run again"
