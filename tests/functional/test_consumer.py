"""A project installs the package. It has other schemas, an alias, odd names and nested types."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml
from dbt.cli.main import dbtRunner

from tests.acceptance import multiset
from tests.conftest import ROOT
from tests.generated_sql import mistakes

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.iceberg_only


@pytest.fixture(scope="module")
def consumer(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A copy of tests/consumer with its packages installed."""
    folder = tmp_path_factory.mktemp("consumer") / "project"
    shutil.copytree(
        ROOT / "tests/consumer", folder, ignore=shutil.ignore_patterns("dbt_packages", "target")
    )
    (folder / "packages.yml").write_text(yaml.safe_dump({"packages": [{"local": str(ROOT)}]}))
    dbt(folder, "deps")
    return folder


def dbt(folder: Path, *command: str) -> dict[str, str]:
    """Run dbt, which must succeed. Give its message for each node."""
    quiet = ["--quiet", "--no-use-colors", "--project-dir", str(folder)]
    invoked = dbtRunner().invoke([*command, *quiet])
    said = {one.node.name: str(one.message) for one in getattr(invoked.result, "results", [])}
    assert invoked.success, said or invoked.exception
    return said


def test_a_project_that_installs_trueup_runs_and_passes_its_tests(
    consumer: Path, spark: SparkSession
) -> None:
    assert "orders_batch" in dbt(consumer, "run")
    said = dbt(consumer, "test")
    assert sum("consolidates_to_state" in name for name in said) == 2
    assert sum("one_live_row_per_key" in name for name in said) == 2
    assert sum("matches_certificate" in name for name in said) == 5
    assert sum("has_monotone_frontier" in name for name in said) == 3
    rows = spark.sql("select * from trueup_published.orders order by customer nulls first, 2")
    assert rows.columns == ["customer", "order no", "status", "select", "tags"]
    assert [tuple(row)[:3] for row in rows.collect()] == [
        (None, 1, "open"),
        ("ada", 1, "paid"),
        ("ada", 2, "open"),
    ]
    versions = spark.sql("select * from trueup_sales.orders_history where is_current")
    assert multiset([tuple(row)[:-3] for row in versions.collect()]) == multiset(
        [tuple(row) for row in rows.collect()]
    )
    assert rows.collect()[1]["select"]["zip"] == 10115
    assert rows.collect()[0]["tags"] == [None, "open"]
    assert spark.sql("select * from trueup_sales.orders_now where _kind = 'progress'").count() == 1


def test_a_second_run_writes_nothing_and_says_so(consumer: Path) -> None:
    said = dbt(consumer, "run")
    assert said["orders_batch"] == "up to date at 7"
    assert said["orders_changelog"] == "nothing to append"
    assert said["orders_state"] == "up to date at batch 1"


OURS = re.compile(r"trueup_\w+\.sql|[^/]+/models/(?!.*\.yml/).*\.sql")
"""Compiled models and compiled tests of trueup. dbt writes the SQL of its own tests."""


@pytest.mark.long
@pytest.mark.parametrize("project", ["consumer", "demo"])
def test_compiled_sql_follows_the_rules_for_generated_sql(
    project: str, consumer: Path, tmp_path: Path
) -> None:
    folder = consumer if project == "consumer" else ROOT
    dbt(folder, "compile", "--target-path", str(tmp_path / "target"))
    files = [
        file
        for file in (tmp_path / "target" / "compiled").rglob("*.sql")
        if OURS.search(str(file.relative_to(tmp_path / "target" / "compiled")))
    ]
    found = {f"{file.name}:{one}" for file in files for one in mistakes(file.read_text())}

    assert len(files) > 15
    assert found == set()
