"""The monitoring models show what the collections have stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.monitoring.shop import add_collection, add_monitoring, append, row
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only
MODELS = ("trueup_batches", "trueup_statistics", "trueup_lag", "trueup_health")


def test_every_collection_of_the_project_is_shown(own_project: OwnProject) -> None:
    project = own_project("watched")
    add_collection(project)
    add_collection(project, "d")
    add_monitoring(project)
    # Without a store there is nothing to read, and the health says so.
    project.run(*MODELS)
    assert project.sql("select * from {}.trueup_batches") == []
    assert project.sql("select * from {}.trueup_lag") == []
    new = row(project, "trueup_health")
    assert (new["state"], new["why"], new["batch"]) == (
        "warning",
        "no store when this view was made",
        None,
    )
    # The batches are those of the stores.
    append(project, ("x", 1, "U", "a", 1), ("x", 1, "U", "b", 1), ("y", 1, "U", "a", 1))
    project.run("c", "d")
    append(project, ("x", 2, "U", "a", 1), ("y", 2, "D"), ("z", 2, "U", "a", None, "bad"))
    project.run("c")
    project.run(*MODELS)
    batches = Store(project, "c", ["k"], ["a", "b"]).batches()[1:]
    shown = project.sql("select * from {}.trueup_batches where collection = 'c' order by batch")
    assert len(shown) == len(batches) == 2
    for found, batch in zip(shown, batches, strict=True):
        counts = batch["statistics"]
        assert {name: found[name] for name in counts} == counts
        assert (found["batch"], found["tick"]) == (batch["seq"], batch["ts"])
        assert (found["run_id"], found["repair"]) == (batch["run"], None)
        assert found["log_snapshot"] == batch["position"]["snapshot"]
        assert found["log"] == f"{project.name}.c_log"
    # The statistics are their sums, and the gauges those of the newest one.
    sums = row(project, "trueup_statistics")
    for name in ("messages_received", "inserts", "deletes", "ties", "error_inserts", "superseded"):
        assert sums[name] == sum(batch["statistics"][name] for batch in batches), name
    assert sums["messages_received"] == 6
    assert sums["records_indexed"] == batches[-1]["statistics"]["records_indexed"] == 2
    assert (sums["batch"], sums["batches_committed"], sums["repairs"]) == (2, 2, 0)
    assert sums["snapshot_committed"]
    # An empty log is no batch, and no lag.
    assert row(project, "trueup_health", "d")["why"] is None


@pytest.mark.long
def test_the_lag_counts_rows_of_the_log_that_no_batch_has_read(own_project: OwnProject) -> None:
    project = own_project("behind")
    add_collection(project)
    add_monitoring(project)
    append(project, ("x", 1, "U", "a", 1))
    project.run("c")
    project.run(*MODELS)
    lag = row(project, "trueup_lag")
    assert (lag["is_behind"], lag["commits_waiting"], lag["rows_waiting"]) == (False, 0, 0)
    assert lag["waiting_since"] is None
    # The view sees new rows without a run.
    append(project, ("x", 2, "U", "b", 1), ("y", 2, "U", "b", 1))
    append(project, ("y", 3, "U", "b", 1))
    lag = row(project, "trueup_lag")
    assert (lag["is_behind"], lag["commits_waiting"], lag["rows_waiting"]) == (True, 2, 3)
    assert timedelta(0) <= datetime.now() - lag["waiting_since"] < timedelta(hours=1)  # noqa: DTZ005
    # Only after a while it is a reason for a warning.
    assert row(project, "trueup_health")["state"] == "ok"
    project.run(*MODELS, stalled_after=1)
    health = row(project, "trueup_health")
    assert health["state"] == "warning"
    assert health["why"].startswith("the log has rows that no batch has read, since 2")
    assert health["rows_waiting"] == 3
    project.run("c")
    # A rewrite of files is nothing new.
    project.rewrite_files("c_log")
    lag = row(project, "trueup_lag")
    assert (lag["is_behind"], lag["commits_waiting"], lag["rows_waiting"]) == (False, 0, 0)
    assert row(project, "trueup_health")["state"] == "ok"
    # A log without the snapshot that was read is ahead, but nobody knows how far.
    project.sql("drop table {}.c_log")
    add_collection(project)
    append(project, ("x", 4, "U", "c", 1))
    lag = row(project, "trueup_lag")
    assert (lag["is_behind"], lag["commits_waiting"], lag["rows_waiting"]) == (True, None, None)


def test_the_health_names_open_errors(own_project: OwnProject) -> None:
    project = own_project("unhealthy")
    add_collection(project, null_keys="error")
    add_monitoring(project)
    good = [(key, 1, "U", "a", 1) for key in "pqrs"]
    append(project, *good)
    project.run("c")
    project.run(*MODELS)
    assert row(project, "trueup_health")["state"] == "ok"
    append(
        project,
        ("p", 2, "U", "a", 1),
        ("p", 2, "U", "b", 1),
        ("q", None, "U", "a", 1),
        ("r", 2, "U", "a", 1, "bad"),
        (None, 2, "U", "a", 1),
    )
    project.run("c")
    health = row(project, "trueup_health")
    assert health["state"] == "error"
    assert health["why"] == (
        "keys with a tie: 1; keys in error: 2; keys with a command without an order: 1"
    )
    counts = (health["open_ties"], health["open_errors"], health["open_order_errors"])
    assert counts == (1, 2, 1)


def test_the_health_warns_of_what_looks_wrong(own_project: OwnProject) -> None:
    project = own_project("doubtful")
    add_collection(project, order="timestamp")
    add_monitoring(project)
    project.settings["vars"] = {"trueup_collections": ["c"]}
    project.configure()
    append(project, *[(key, datetime(2026, 1, 1), "U", "a", 1) for key in "pqr"])  # noqa: DTZ001
    append(project, ("far", datetime(9999, 1, 1), "U", "a", 1))  # noqa: DTZ001
    # With the var the models run after the collection: one run is enough.
    project.run()
    assert row(project, "trueup_health")["why"] == "keys whose order is ahead of the clock: 1"
    # A replay has only commands that are superseded.
    append(project, *[(key, datetime(2026, 1, 1), "U", "a", 1) for key in "pqr"])  # noqa: DTZ001
    append(project, ("far", None, "D"))
    append(project, ("far", datetime(9999, 1, 2), "D"))  # noqa: DTZ001
    project.run("c")
    assert (
        "more than half of the newest batch was superseded" in row(project, "trueup_health")["why"]
    )
    project.sql("delete from {}.c__trueup where k = 'p' and _kind = 'row'")
    project.run("c")
    health = row(project, "trueup_health")
    assert health["repairs"] == 1
    assert "repaired at 2" in health["why"]
    assert row(project, "trueup_statistics")["records_indexed"] == 4
    # What a batch of a log with places says.
    below = 'replace(_batch, \'"superseded":\', \'"below_places":2,"superseded":\')'
    project.sql(f"update {{}}.c__trueup set _batch = {below} where _kind = 'batch'")
    assert (
        "new messages at places that were read before: 2" in (row(project, "trueup_health")["why"])
    )


def test_the_var_must_be_a_list(own_project: OwnProject) -> None:
    project = own_project("unlisted")
    add_monitoring(project)
    project.settings["vars"] = {"trueup_collections": "c"}
    project.configure()
    project.run(fails=True)
    assert "Var `trueup_collections` must be a non-empty list" in project.messages[0]
