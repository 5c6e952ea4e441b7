"""A project installs the package. It has other schemas, an alias, odd names and nested types."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml
from dbt.cli.main import dbtRunner

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
    ignored = shutil.ignore_patterns("dbt_packages", "target")
    shutil.copytree(ROOT / "tests/consumer", folder, ignore=ignored)
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


def test_a_full_parse_has_no_warning(consumer: Path) -> None:
    dbt(consumer, "parse", "--no-partial-parse", "--warn-error")


def test_a_project_that_installs_trueup_builds_and_passes_its_tests(
    consumer: Path, spark: SparkSession
) -> None:
    said = dbt(consumer, "build")
    assert said["orders"] == "batch 1: 8 commands, 3 inserted, 1 error, 1 tie, 3 superseded"
    assert {"trueup_batches", "trueup_health"} <= said.keys()
    rows = spark.sql("select * from trueup_published.orders_now order by customer nulls first, 2")
    assert rows.columns == ["customer", "order no", "status", "select", "tags"]
    assert [tuple(row)[:3] for row in rows.collect()] == [
        (None, 1, "open"),
        ("ada", 1, "paid"),
        ("ada", 2, "open"),
    ]
    assert rows.collect()[1]["select"]["zip"] == 10115
    assert rows.collect()[0]["tags"] == [None, "open"]
    batches = spark.sql("select * from trueup_published.orders_now__trueup where _kind = 'batch'")
    assert batches.count() == 2


def test_a_second_run_says_that_nothing_is_new(consumer: Path) -> None:
    assert (
        dbt(consumer, "run", "--select", "path:models/orders/orders.sql")["orders"]
        == "up to date at batch 1"
    )


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

    assert len(files) > 5
    assert found == set()
