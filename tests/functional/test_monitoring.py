"""The monitoring models show what the oracle counts, and how each run ended."""

from __future__ import annotations

import re
import shutil
from datetime import timezone
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt.cli.main import dbtRunner
from prometheus_client.parser import text_string_to_metric_families

from dbt_trueup.command_line.program import main
from tests import oracle
from tests.acceptance import Column
from tests.macros.package import ROOT, in_model
from tests.oracle import Command
from tests.project import QUIET, Project

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
COUNTERS = ("inserts", "updates", "deletes", "error_inserts", "error_retractions", "ties")
COLLECTIONS = ["orders", "queue", "sums", "unborn"]
MODELS = ("trueup_runs", "trueup_statistics", "trueup_lag", "trueup_health")
FRESHNESS = {
    "loaded_at_field": (
        "if(coalesce(commands_to_settle, ticks_behind) = 0, current_timestamp(), committed_at)"
    ),
    "freshness": {"error_after": {"count": 0, "period": "minute"}},
}
SOURCES = {
    "sources": [
        {
            "name": "trueup",
            "schema": "monitored",
            "tables": [
                {
                    "name": name,
                    "identifier": "trueup_lag",
                    "config": {
                        **FRESHNESS,
                        "freshness": {
                            **FRESHNESS["freshness"],  # type: ignore[dict-item]
                            "filter": f"collection = '{name}'",
                        },
                    },
                }
                for name in COLLECTIONS
            ],
        }
    ]
}
"""As on the page of monitoring, but without patience."""
PARTITION = "p"


def put(ts: int, key: str, order: int = 1) -> Command:
    return Command(ts, (order,), (key,), (f"value {ts} {order}",))


def break_value(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), None, "no number")


def delete(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), None)


def offset(at: int, key: str = "a") -> Command:
    return Command(0, (at,), (key,), (PARTITION,))


BATCHES = (
    [put(1, "a"), put(1, "b"), put(2, "c"), *(break_value(2, key) for key in "de")],
    # A late command, a tie, a value in place of an error, and a delete.
    [put(1, "b", 2), put(4, "t"), delete(4, "t"), put(5, "d"), delete(5, "a")],
)
"""What arrives in the log of `orders` before each run."""
AHEAD = [put(9, "a"), put(9, "b"), put(11, "f")]
"""What arrives after the last run."""


@pytest.fixture(scope="module")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Four collections after their first run: with ticks, without ticks, by a SELECT, empty."""
    package = tmp_path_factory.mktemp("package")
    for part in ("dbt_project.yml", "macros"):
        (package / part).symlink_to(ROOT / part)
    (package / "models").symlink_to(ROOT / "models" / "operations")
    project = Project(tmp_path_factory.mktemp("monitored"), "monitored", spark, package)
    project.settings = {
        "vars": {"trueup_collections": COLLECTIONS},
        "on-run-end": "{{ trueup.record_runs(results) }}",
    }
    options = {"late": "correct", "ties": "prefer_upsert", "max_retractions": 2}
    project.add_collection("orders", KEY, VALUE, options)
    project.add_collection("queue", KEY, VALUE, {"max_commands_per_batch": 1})
    project.add_collection("unborn", KEY, VALUE)
    arguments = "reclock=['v', 'log_order'], columns=['v']"
    project.write(
        "models/queue/queue_commands.sql",
        f"{{{{ trueup.commands('{project.name}.queue_log', {arguments}) }}}}",
    )
    project.add_select(
        "sums", "select v, count(*) as n from {{ ref('orders') }} group by v", ["v"], of=["orders"]
    )
    project.write("models/sources.yml", yaml.safe_dump(SOURCES))
    project.append("queue", [offset(10), offset(11), offset(12)])
    project.append("orders", BATCHES[0])
    steps = ("commands", "desired", "corrections", "batch", "changelog", "state")
    models = [f"{name}_{step}" for name in COLLECTIONS for step in steps]
    project.run("orders", *models, *MODELS)
    return project


def show(project: Project, model: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a monitoring model by collection."""
    return {row["collection"]: row.asDict() for row in project.sql(f"select * from {{}}.{model}")}


@pytest.fixture(scope="module")
def day(project: Project) -> dict[str, dict[str, dict[str, Any]]]:
    """What the models showed on a bad day. `orders` and `queue` fail, and succeed later."""
    shown = {}
    project.append("orders", BATCHES[1])
    project.run("path:models/orders", fails=True)
    shown["stopped"] = show(project, "trueup_health")
    (plan,) = set(re.findall(r"plan-\w+", shown["stopped"]["orders"]["error"]))
    project.run("orders_changelog", "orders_state", approve=plan)
    project.sql("alter table {}.queue_log rename to {}.lost_log")
    twin = {"name": "twin", "version": "1.0.0", "models": {"twin": {"+schema": "twin"}}}
    project.write("dbt_packages/twin/dbt_project.yml", yaml.safe_dump(twin))
    project.write("dbt_packages/twin/models/orders_state.sql", "select * from nowhere")
    project.run("queue_commands", "package:twin", fails=True)
    assert sum("cannot be found" in said for said in project.messages) == 1
    assert sum("reads must exist" in said for said in project.messages) == 1
    shutil.rmtree(project.folder / "dbt_packages" / "twin")
    project.configure()
    # A run of the other collections makes the views again.
    project.run("path:models/orders", "trueup_lag", "trueup_health")
    shown["broken"] = show(project, "trueup_health")
    project.sql("alter table {}.lost_log rename to {}.queue_log")
    project.append("queue", [offset(20, "b"), offset(21)])
    project.run("path:models/queue", read_only=True)
    project.append("orders", AHEAD)
    project.run("--full-refresh", "orders_state")
    project.run("trueup_health", stalled_after=1)
    shown["late"] = show(project, "trueup_health")
    return shown


@pytest.fixture(scope="module")
def expected() -> oracle.Collection:
    """The oracle after the same batches."""
    collection = oracle.Collection("correct", ties="prefer_upsert")
    log: list[Command] = []
    for commands in BATCHES:
        log += commands
        collection.run(log)
    return collection


Day = dict[str, dict[str, dict[str, Any]]]


def statuses(health: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the status of each collection."""
    return {name: row["status"] for name, row in health.items()}


def test_a_batch_that_waits_for_approval_is_stalled_and_the_error_shows_how_to_approve(
    day: Day,
) -> None:
    health = day["stopped"]

    assert statuses(health) == {
        "orders": "stalled",
        "queue": "running",
        "sums": "running",
        "unborn": "created",
    }
    assert "must be at most 2 rows" in health["orders"]["error"]
    assert "> in macro" not in health["orders"]["error"]
    assert health["orders"]["hint"].startswith("Look at the staged batch.")
    assert health["orders"]["failed_since"] is not None
    assert (health["orders"]["frontier"], health["orders"]["ticks_behind"]) == (3, 3)
    assert health["orders"]["open_errors"] == 2
    assert health["queue"]["error"] is health["queue"]["hint"] is None


def test_a_failed_collection_shows_its_error_and_hides_no_other_collection(day: Day) -> None:
    health = day["broken"]

    assert statuses(health) == {
        "orders": "running",
        "queue": "failed",
        "sums": "running",
        "unborn": "created",
    }
    assert re.search(r"Got: no table or view \S*`queue_log`", health["queue"]["error"])
    assert health["queue"]["hint"].endswith("dbt run -s queue_commands+")
    assert health["queue"]["frontier"] == 1
    assert health["queue"]["commands_to_settle"] is None
    assert health["orders"]["error"] is None
    assert health["orders"]["open_errors"] == 1


def test_a_dry_run_pauses_and_a_log_that_waits_too_long_stalls(day: Day) -> None:
    health = day["late"]

    assert statuses(health) == {
        "orders": "stalled",
        "queue": "paused",
        "sums": "stalled",
        "unborn": "created",
    }
    assert health["orders"]["error"] is None
    assert "no batch was committed for" in health["orders"]["hint"]
    assert "trueup_read_only" in health["queue"]["hint"]
    assert health["orders"]["commands_to_settle"] == len(AHEAD)
    assert {row["batches_to_apply"] for row in health.values()} == {0}


@pytest.mark.usefixtures("day")
def test_each_failure_success_and_rebuild_is_recorded_once(project: Project) -> None:
    assert project.sql("select model, outcome from {}.trueup_runs order by recorded_at") == [
        ("orders_changelog", "failed"),
        ("orders_changelog", "succeeded"),
        ("queue_commands", "failed"),
        ("queue_commands", "succeeded"),
        ("orders_state", "rehydrated"),
    ]


@pytest.mark.usefixtures("day")
def test_the_counters_and_gauges_are_those_of_the_oracle(
    project: Project, expected: oracle.Collection
) -> None:
    shown = show(project, "trueup_statistics")
    orders, counted = shown["orders"], expected.counters
    progress = project.progress("orders")
    certificate = progress[-1]["_certificate"]

    assert {name: orders[name] for name in COUNTERS} == {name: counted[name] for name in COUNTERS}
    # The late command is counted when its tick is corrected, not as a message.
    assert orders["messages_received"] == counted["messages_received"] - 1
    assert orders["late_dropped"] == orders["corrections"] == 1
    updates = len(project.updates("orders"))
    assert orders["updates_staged"] == orders["updates_committed"] == updates == 11
    assert orders["records_indexed"] == len(expected.rows) + len(expected.errors)
    assert orders["bytes_indexed"] == sum(one["len_sum"] for one in certificate) > 0
    assert orders["offset_known"] == orders["offset_committed"] == expected.upper
    assert orders["snapshot_records_known"] == orders["snapshot_records_staged"] == len(BATCHES[0])
    assert orders["snapshot_committed"] is True
    assert orders["rehydration_latency"] > 0
    assert orders["rehydration_updates"] == updates
    assert orders["batches_committed"] == len(BATCHES)
    assert orders["committed_at"] == progress[-1]["_statistics"]["committed_at"]


@pytest.mark.usefixtures("day")
def test_statistics_without_ticks_a_log_or_a_batch(project: Project) -> None:
    shown = show(project, "trueup_statistics")

    queue = shown["queue"]
    # The dry run has staged a batch of one update, which is not committed.
    assert (queue["updates_staged"], queue["updates_committed"]) == (2, 1)
    assert queue["offset_known"] == queue["offset_committed"] == 13
    assert shown["sums"]["snapshot_records_known"] is None
    assert shown["sums"]["snapshot_records_staged"] is None
    assert shown["sums"]["snapshot_committed"] is True
    nothing = {
        name: value for name, value in shown["unborn"].items() if value not in (None, 0, "unborn")
    }
    assert nothing == {}
    assert shown["unborn"]["snapshot_committed"] is False


@pytest.mark.usefixtures("day")
def test_the_lag_is_the_distance_to_the_end_of_the_log(project: Project) -> None:
    shown = {name: list(row.values())[1:6] for name, row in show(project, "trueup_lag").items()}

    assert shown == {
        "orders": [6, 12, 6, 3, 3],
        "queue": [1, None, None, 2, 2],
        "sums": [3, 6, 3, None, None],
        "unborn": [None, None, None, 0, 0],
    }


@pytest.mark.usefixtures("day")
def test_the_freshness_of_dbt_fails_if_something_waits(project: Project) -> None:
    result = dbtRunner(manifest=project._manifest).invoke(
        ["source", "freshness", "--project-dir", str(project.folder), *QUIET]
    )

    found = {
        one.node.name: str(one.status)
        for one in result.result.results  # type: ignore[union-attr]
        if one.node.resource_type == "source"
    }
    assert found == {"orders": "error", "queue": "error", "sums": "error", "unborn": "pass"}


@pytest.mark.parametrize("model", MODELS)
def test_the_yaml_lists_the_columns_of_the_model(project: Project, model: str) -> None:
    page = yaml.safe_load((ROOT / "models" / "operations" / f"{model}.yml").read_text())
    columns = page["models"][0]["columns"]

    assert [(one["name"], one["data_type"]) for one in columns] == project.spark.table(
        f"{project.name}.{model}"
    ).dtypes


@pytest.mark.usefixtures("day")
def test_the_metrics_are_the_statistics(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "trueup.prom"

    arguments = ["--project-dir", str(project.folder)]
    assert main(["report", "orders", "--prometheus", str(file), *arguments]) == 0

    read = {
        sample.name: (sample.value, sample.labels)
        for family in text_string_to_metric_families(file.read_text())
        for sample in family.samples
    }
    orders = show(project, "trueup_statistics")["orders"]
    assert read["trueup_updates_committed_total"] == (11, {"collection": "orders"})
    assert read["trueup_bytes_indexed"][0] == orders["bytes_indexed"]
    assert read["trueup_committed_at"][0] == int(
        orders["committed_at"].replace(tzinfo=timezone.utc).timestamp()
    )


def test_a_failure_begins_with_its_first_message_after_the_last_success(
    spark: SparkSession,
) -> None:
    spark.sql(
        "create or replace temp view outcomes as"
        " select 'orders' as collection, *, 1 as place, timestamp_seconds(second) as recorded_at"
        " from values ('a', 'failed', 'old', 1), ('a', 'succeeded', null, 2),"
        " ('a', 'failed', 'one', 3), ('a', 'failed', 'two', 4), ('b', 'failed', 'gone', 1),"
        " ('b', 'succeeded', null, 5), ('c', 'failed', 'first', 6)"
        " as runs (model, outcome, error, second)"
    )
    select = in_model("files_batch")._last_outcomes_select("outcomes")
    found = spark.sql(
        f"select model, error, unix_seconds(failed_since) as since from ({select}) order by model"
    )
    assert [tuple(row) for row in found.collect()] == [
        ("a", "two", 3),
        ("b", None, None),
        ("c", "first", 6),
    ]
    spark.catalog.dropTempView("outcomes")


def test_without_an_input_upper_the_next_batch_has_nothing_to_settle(spark: SparkSession) -> None:
    spark.sql("create or replace temp view ahead_of as select id as _ts from range(1, 3)")
    for input_upper, to_settle in (("2L", 1), ("cast(null as bigint)", 0)):
        tables = {"commands": "ahead_of", "is_reclocked": False, "input_upper": input_upper}
        select = in_model("files_batch")._commands_ahead_select(tables, None)
        assert [tuple(row) for row in spark.sql(str(select)).collect()] == [(2, 3, to_settle)]
    spark.catalog.dropTempView("ahead_of")


def test_input_upper_holds_back_a_log_without_ticks_too(spark: SparkSession) -> None:
    spark.sql(
        "create or replace temp view ahead_of as"
        " select cast(null as bigint) as _ts, 'p' as _partition, id as _offset from range(3)"
    )
    spark.sql(
        "create or replace temp view settled_to as select 'progress' as _kind, 4L as _seq,"
        " named_struct('partitions', array(named_struct('_partition', 'p', 'next_offset', 1L)))"
        " as _statistics"
    )
    for input_upper, to_settle in ((None, 2), ("log_upper", 2), ("5L", 2), ("4L", 0)):
        tables = {
            "commands": "ahead_of",
            "changelog": "settled_to",
            "is_reclocked": True,
            "input_upper": input_upper,
        }
        select = in_model("files_batch")._commands_ahead_select(tables, "(select 4L)")
        assert [tuple(row) for row in spark.sql(str(select)).collect()] == [(2, None, to_settle)]
    for view in ("ahead_of", "settled_to"):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize(
    ("has_ticks", "as_of", "input_upper", "expected"),
    [
        (True, None, None, (3, 9, 3)),
        (True, 7, None, (2, 9, 2)),
        (False, None, "1L", (3, None, 3)),
        (False, 7, "7L", (3, None, 0)),
        (False, 7, "8L", (3, None, 3)),
    ],
)
def test_before_the_first_batch_the_lag_counts_from_as_of_on(
    spark: SparkSession,
    as_of: int | None,
    input_upper: str | None,
    expected: tuple[int | None, ...],
    *,
    has_ticks: bool,
) -> None:
    tick = "id" if has_ticks else "cast(null as bigint)"
    spark.sql(
        "create or replace temp view ahead_of as"
        f" select {tick} as _ts, 'p' as _partition, id as _offset from range(6, 9)"
    )
    spark.sql(
        "create or replace temp view settled_to as select 'progress' as _kind, 4L as _seq,"
        " 7L as _upper, cast(null as struct<partitions: array<struct<_partition: string,"
        " next_offset: bigint>>>) as _statistics where false"
    )
    tables = {
        "commands": "ahead_of",
        "is_reclocked": not has_ticks,
        "input_upper": input_upper,
        "as_of": as_of,
    }
    select = in_model("files_batch")._input_ahead_select(tables, "settled_to", {})
    assert [tuple(row) for row in spark.sql(str(select)).collect()] == [expected]
    for view in ("ahead_of", "settled_to"):
        spark.catalog.dropTempView(view)
