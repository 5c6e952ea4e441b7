"""A fault of the storage is told in one line: the file, and how to go on."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_trueup.errors import StorageError
from dbt_trueup.plugin import statements
from dbt_trueup.plugin.storage import describe_storage_fault

TRACE = (
    "An error occurred while calling o1.collectToPython.\n: org.apache.spark.SparkException: Job"
    " aborted due to stage failure: Lost task 0.0 in stage 2.0 (driver): {}\n"
    "\tat org.apache.iceberg.spark.source.BatchDataReader.open(BatchDataReader.java:1)"
)
RESTORE = "Restore it from a backup, then run again."
FILE = "/w/shop/{}/data/_kind=row/00000-1-a.parquet"
UNREAD = (
    "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file {}. File does not"
    " exist. SQLSTATE: KD001"
)
NOT_FOUND = "org.apache.iceberg.exceptions.NotFoundException: Failed to open input stream for file"
IO = "org.apache.iceberg.exceptions.RuntimeIOException"
PAGE = (
    "java.io.IOException: can not read class PageHeader: secret\n"
    "\tat org.apache.iceberg.shaded.org.apache.parquet.hadoop.ParquetFileReader.open(A.java:1)"
)


@pytest.mark.parametrize(
    ("error", "begin", "end"),
    [
        (
            f"{NOT_FOUND}: file:{FILE.format('orders__trueup')}",
            f"missing file: {FILE.format('orders__trueup')} is not there. ",
            RESTORE,
        ),
        (
            f"{NOT_FOUND}: /w/shop/orders__trueup/metadata/1.metadata.json",
            "missing file: /w/shop/orders__trueup/metadata/1.metadata.json is not there. ",
            RESTORE,
        ),
        (
            f"{NOT_FOUND}: file:/my data/shop/orders__trueup/data/1.parquet",
            "missing file: /my data/shop/orders__trueup/data/1.parquet is not there. ",
            RESTORE,
        ),
        (
            f"{IO}: Mkdirs failed to create: file:/w/shop (exists=false, cwd=file:/w/a.json)",
            "no write access: /w/shop cannot be created. ",
            "then run again.",
        ),
        (
            f"{IO}: Failed to fetch file: {FILE.format('log')}",
            f"damaged file: {FILE.format('log')} cannot be read. ",
            RESTORE,
        ),
        (PAGE, "damaged file: a data file cannot be read. ", "from a backup, then run again."),
        (
            f"{IO}: Failed to create file: /w/a.json\nCaused by: No space left on device",
            "full disk: ",
            "Free some space, then run again.",
        ),
        (
            f"{IO}: Failed to create file: /w/a.json",
            "no write access: /w/a.json cannot be created. ",
            "then run again.",
        ),
        (
            "java.io.FileNotFoundException: /w/a.parquet (Read-only file system)",
            "no write access: ",
            "then run again.",
        ),
        (
            "[DELTA_FILE_NOT_FOUND_DETAILED] File /w/a.parquet SQLSTATE: 42K03",
            "missing file: a data file is not there. ",
            "restore the file from a backup, then run again.",
        ),
        (
            UNREAD.format("s3a://w/cdc/orders/part-0.parquet"),
            "missing file: s3a://w/cdc/orders/part-0.parquet is not there. Restore it from ",
            "the next run then reads the whole log.",
        ),
        (
            "[DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION] Cannot travel",
            "log expired: ",
            "Run again.",
        ),
        ("[SQLITE_BUSY] The database file is locked", "locked catalog: ", "then run again."),
        ("[SQLITE_FULL] Insertion failed", "full disk: ", "then run again."),
        ("[SQLITE_READONLY_DBMOVED] moved", "damaged catalog: ", "then run again."),
        ("(no such table: iceberg_tables)", "damaged catalog: ", "then run again."),
    ],
)
def test_each_fault_is_one_line(error: str, begin: str, end: str) -> None:
    said = describe_storage_fault(TRACE.format(error))
    assert said is not None
    assert said.startswith(begin)
    assert said.endswith(end)
    assert "\n" not in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "error",
    [
        "[DIVIDE_BY_ZERO] Division by zero",
        "[USER_RAISED_EXCEPTION] state moved",
        "[USER_RAISED_EXCEPTION] File does not exist SQLSTATE: P0001",
        "[CAST_INVALID_INPUT] The value 'Permission denied' of the type SQLSTATE: 22018",
        "[UNRESOLVED_COLUMN] `a` SQLSTATE: 42703 'Filter (e = No space left on device)",
        "[FAILED_EXECUTE_UDF] SQLSTATE: 39000 PermissionError: Permission denied: '/home'",
        "java.lang.OutOfMemoryError: Java heap\n\tat a.parquet.ParquetFileReader.read(A.java)",
        "org.apache.iceberg.exceptions.ValidationException: Cannot commit, missing data files: [a]",
        "java.lang.RuntimeException\n\tat org.apache.iceberg.parquet.ParquetWriter.add(A.java:1)",
    ],
)
def test_another_error_is_none(error: str) -> None:
    assert describe_storage_fault(TRACE.format(error)) is None


@pytest.mark.parametrize(("fetcher", "name"), statements.FETCHES)
def test_a_fault_that_is_met_when_rows_are_fetched_is_told(
    monkeypatch: pytest.MonkeyPatch, fetcher: type, name: str
) -> None:
    errors = ["No space left on device", "[DIVIDE_BY_ZERO]"]

    def fetch(_: Any) -> None:
        raise RuntimeError(errors.pop(0))

    monkeypatch.setattr(fetcher, name, fetch)
    statements.install()
    with pytest.raises(StorageError, match=r"^full disk: "):
        getattr(fetcher, name)(None)
    with pytest.raises(RuntimeError, match="DIVIDE"):
        getattr(fetcher, name)(None)
