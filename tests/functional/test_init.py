"""`trueup init` leads from a log to a tested collection, as a new user would do it."""

from __future__ import annotations

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt.cli.main import dbtRunner

from dbt_trueup.command_line.program import main
from tests.conftest import ROOT
from tests.init.logs import CUSTOMERS, PARCELS
from tests.oracle import Collection, Command
from tests.project import FILE_FORMAT, TABLE_FORMAT

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from dbt_trueup.init.log import Log

CHANGES = """\
commit_no,change_no,op,order_id,customer_id,status,amount,arrived_at
1,1,I,1,7,placed,10.5,2026-11-01 09:00:00
1,2,I,2,8,placed,7.0,2026-11-01 09:00:00
2,3,U,1,7,paid,10.5,2026-11-01 10:00:00
2,3,U,1,7,paid,10.5,2026-11-01 10:00:05
2,4,U,2,8,packed,7.0,2026-11-01 10:00:05
2,5,U,2,9,sent,7.5,2026-11-01 10:00:05
3,6,D,1,7,paid,10.5,2026-11-01 11:00:00
4,7,I,3,8,placed,3.25,2026-11-01 12:00:00
"""

MODELS = 7


@pytest.fixture(scope="module")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with trueup, a CSV of changes, and the logs of two databases."""
    folder = tmp_path_factory.mktemp("init") / "shop"
    (folder / "seeds").mkdir(parents=True)
    (folder / "seeds/orders_log.csv").write_text(CHANGES)
    page = {"name": "shop", "version": "1.0.0", "profile": "trueup", "models": FILE_FORMAT}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(page))
    (folder / "packages.yml").write_text(yaml.safe_dump({"packages": [{"local": str(ROOT)}]}))
    dbt(folder, "deps")
    spark.sql("create schema if not exists cdc")
    for log in (CUSTOMERS, PARCELS):
        save(spark, log)
    return folder


@pytest.fixture(scope="module")
def statuses_of_orders(project: Path) -> dict[str, str]:
    """Seed, `trueup init` and the command that it prints. Gives the status of each node."""
    dbt(project, "seed")
    printed, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors):
        assert main(["init", "orders_log", "--project-dir", str(project)]) == 0
    assert errors.getvalue() == ""
    following = printed.getvalue().splitlines()[-1]
    assert following == f"next: dbt build --select path:models/orders --project-dir {project}"
    return dbt(project, *following.split()[2:])


def save(spark: SparkSession, log: Log) -> None:
    """Write a log as a table of the schema `cdc`."""
    schema = ", ".join(f"{name} {kind}" for name, kind in log.types.items())
    rows = [tuple(row.values()) for row in log.rows]
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    frame.writeTo(f"cdc.{log.name}").using(TABLE_FORMAT).createOrReplace()


def dbt(folder: Path, *command: str, fails: bool = False) -> dict[str, str]:
    """Run dbt. Return the status of each node."""
    invoked = dbtRunner().invoke([*command, "--quiet", "--project-dir", str(folder)])
    statuses = {
        one.node.name: f"{one.status}: {one.message}"
        for one in getattr(invoked.result, "results", [])
    }
    assert invoked.success != fails, statuses or invoked.exception
    return statuses


def rows(spark: SparkSession, name: str) -> list[tuple[Any, ...]]:
    """The rows of a collection, sorted."""
    return sorted(tuple(row) for row in spark.table(f"trueup.{name}").collect())


def test_three_commands_lead_from_a_csv_of_changes_to_a_tested_table(
    project: Path,
    spark: SparkSession,
    statuses_of_orders: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert rows(spark, "orders") == expected_orders()
    for log, name in (("cdc.customers_topic", "customers"), ("cdc.slot", "parcels")):
        words = ["init", log, "--name", name, "--json", "--project-dir", str(project)]
        assert main(words) == 0
        report = json.loads(capsys.readouterr().out)
        assert len(report["files"]) == MODELS + 2  # the properties, and the source
    others = dbt(project, "build", "--exclude", "path:models/orders")
    statuses = statuses_of_orders | others

    assert {status.split(":")[0] for status in statuses.values()} == {"success", "pass"}
    assert sum("matches_certificate" in name for name in statuses) == 3 * 3
    assert sum("consolidates_to_state" in name for name in statuses) == 3
    assert sum(name.startswith("unique_") for name in statuses) == 3
    assert rows(spark, "customers") == [(1, "Ada L.", "a long text")]
    # The last second of the slot is held back, and with it the delete of the parcel.
    assert [row[:2] for row in rows(spark, "parcels")] == [(9, "sent")]
    updates = spark.sql("select id, state from trueup.parcels_changelog where _diff = -1")
    assert sorted(tuple(row) for row in updates.collect()) == [(1, "packed")]
    assert spark.table("trueup.orders_errors").count() == 0


def expected_orders() -> list[tuple[Any, ...]]:
    """What the oracle makes of the CSV."""
    commands = [
        Command(
            int(row["commit_no"]),
            (int(row["change_no"]),),
            (int(row["order_id"]),),
            None
            if row["op"] == "D"
            else (int(row["customer_id"]), row["status"], float(row["amount"])),
        )
        for row in csv.DictReader(CHANGES.splitlines())
    ]
    collection = Collection()
    collection.run(commands)
    return sorted(collection.rows)


@pytest.mark.long
@pytest.mark.usefixtures("statuses_of_orders")
def test_the_contract_of_the_view_is_enforced(project: Path) -> None:
    properties = project / "models/orders/orders.yml"
    text = properties.read_text()
    properties.write_text(text.replace("data_type: string", "data_type: bigint"))
    try:
        statuses = dbt(project, "run", "--select", "orders", fails=True)
    finally:
        properties.write_text(text)
    assert "contract" in statuses["orders"]


@pytest.mark.usefixtures("statuses_of_orders")
def test_a_file_is_replaced_only_with_force_and_only_if_it_is_of_trueup(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = project / "models/orders/orders_commands.sql"
    text = model.read_text()
    model.write_text(text + "{# changed by hand #}")
    words = ["init", "orders_log", "--project-dir", str(project)]
    assert main(words) == 2
    assert "models/orders/orders_commands.sql" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert model.read_text() == text
    properties = project / "models/orders/orders.yml"
    properties.write_text("version: 2")
    assert main([*words, "--force"]) == 2
    assert "orders.yml exist; move them" in capsys.readouterr().err
    assert properties.read_text() == "version: 2"


def test_a_table_that_does_not_exist_is_an_error_of_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for log, why in (("cdc.nothing", "nothing"), ("nothing", "a table with its schema")):
        assert main(["init", log, "--project-dir", str(project)]) == 2
        printed, errors = capsys.readouterr()
        assert printed == ""
        assert errors.startswith("trueup init: ")
        assert errors.count("\n") == 1
        assert why in errors
    assert not (project / "models/nothing").exists()
