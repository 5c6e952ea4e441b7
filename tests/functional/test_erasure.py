"""The steps of docs/security.md remove the data of a person from every data file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from tests.acceptance import Column
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.project import Project

NAME = "Ada Lovelace"


def files_with(folder: Path, text: str) -> list[str]:
    """The data files below a folder that have a text in one of their rows."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*.parquet"))
        if text in str(pq.ParquetFile(path).read().to_pylist())
    ]


def forget_old_files(project: Project, table: str) -> None:
    """Write the files of a table again, without deleted rows, and remove the old ones."""
    if project.table_format == "delta":
        project.sql(f"reorg table {{}}.{table} apply (purge)")
        project.sql(f"vacuum {{}}.{table} retain 0 hours")
        return
    project.sql(
        f"call lake.system.rewrite_data_files(table => '{{}}.{table}', options => map("
        "'delete-file-threshold', '1', 'min-input-files', '1', 'rewrite-all', 'true'))"
    )
    project.sql(
        f"call lake.system.expire_snapshots(table => '{{}}.{table}', retain_last => 1,"
        " older_than => timestamp '2999-01-01')"
    )


@pytest.fixture
def _short_retention(spark: SparkSession) -> Iterator[None]:
    """Let Delta remove files that are younger than a week. Iceberg does not know the setting."""
    setting = "spark.databricks.delta.retentionDurationCheck.enabled"
    spark.conf.set(setting, "false")
    yield
    spark.conf.unset(setting)


@pytest.mark.usefixtures("_short_retention")
def test_the_data_of_a_person_is_in_no_data_file_after_the_steps_of_the_page(
    new_project: Callable[[str], Project], home: Path
) -> None:
    project = new_project("erased")
    project.add_collection("c", [Column("k", "string")], [Column("v", "string")])
    others = [Command(1, (1,), (f"key {number}",), ("somebody",)) for number in range(100)]
    project.append("c", [*others, Command(1, (1,), ("ada",), (NAME,))])
    project.run_collection("c")
    is_delta = project.table_format == "delta"
    folder = next(home.rglob("erased.db" if is_delta else "erased"))
    assert files_with(folder, NAME)

    project.append("c", [Command(2, (1,), ("ada",), None)])
    project.run_collection("c")
    project.sql("delete from {}.c_log where k = 'ada'")
    forget_old_files(project, "c_log")
    upper = project.progress("c")[-1]["_upper"]
    project.operate("compact", collection="c", since=upper)
    for role in ("batch", "corrections"):
        project.sql(f"drop table if exists {{}}.c_{role}{'' if is_delta else ' purge'}")
    project.run("c_state", "--full-refresh")
    project.sql(
        "reorg table {}.c_changelog apply (purge)"
        if is_delta
        else "call lake.system.rewrite_data_files(table => '{}.c_changelog', options =>"
        " map('rewrite-all', 'true'))"
    )
    project.operate("maintain", collection="c", retain_hours=0, retain_last=1, idle=True)

    assert files_with(folder, NAME) == []
    project.run_collection("c")
    assert len(project.rows("c")) == len(others)
