"""A batch that runs without the corrections reads a state whose columns have changed."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import TYPE_CHECKING

import pytest

from tests import between
from tests.acceptance import Column
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "int")], [Column("v", "string")]


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    """The collection `orders` after two batches. The second run has scanned its state."""
    project = own_project("state_columns")
    project.add_collection("orders", KEY, VALUE, {"verify": "always"})
    project.run()
    for ts in (1, 2):
        project.append("orders", [Command(ts, (1,), (key,), (f"v{ts}",)) for key in (1, 2)])
        project.run_collection("orders")
    return project


@pytest.mark.long
def test_a_new_column_does_not_hide_an_edit(project: Project) -> None:
    project.sql("update {}.orders_state set v = 'edited' where k = 1")
    project.set_column("orders", Column("note", "string"))
    project.append("orders", [Command(3, (1,), (1,), ("new", "noted"))])

    project.run("orders_commands", "orders_batch", fails=True)

    assert "state moved: somebody wrote to" in "\n".join(project.messages)
    project.run()
    assert sorted(project.rows("orders")) == [(1, "new", "noted"), (2, "v2", None)]
    assert [update.diff for update in project.updates("orders", after=2)] == [-1, 1]


@pytest.mark.long
def test_a_dropped_column_does_not_come_back_empty(project: Project) -> None:
    project.sql("alter table {}.orders_state drop column v")
    project.append("orders", [Command(3, (1,), (1,), ("new",))])

    for _ in range(2):
        project.run("orders_batch", fails=True)
        assert "a table without v" in "\n".join(project.messages)

    project.run("models/orders")
    assert sorted(project.rows("orders")) == [(1, "new"), (2, "v2")]
    assert project.progress("orders")[-1]["_statistics"]["updates"] == 1


@pytest.mark.long
def test_a_run_that_was_killed_while_it_added_a_column_is_continued(project: Project) -> None:
    project.set_column("orders", Column("note", "string"))
    project.append("orders", [Command(3, (1,), (1,), ("new", "noted"))])
    with between.sent_through(killed_at("orders_state add column")):
        project.run("orders_commands", "orders_batch", fails=True)
    assert "note" in project.spark.table(f"{project.name}.orders_changelog").columns

    project.run("orders_batch", "orders_changelog", "orders_state", "orders")
    assert sorted(project.rows("orders")) == [(1, "new", "noted"), (2, "v2", None)]


@pytest.mark.long
def test_a_dropped_column_does_not_come_back_empty_if_the_heal_is_killed(project: Project) -> None:
    """The killed corrections have added the column, so a later batch sees none missing."""
    project.sql("alter table {}.orders_state drop column v")
    project.append("orders", [Command(3, (1,), (1,), ("new",))])
    with between.sent_through(killed_at("/* trueup: heal */")):
        project.run("orders_corrections", fails=True)
    assert project.sql("select distinct v from {}.orders_state") == [(None,)]

    project.run("orders_batch", fails=True)
    assert "state moved: nobody has verified" in "\n".join(project.messages)

    project.run("orders_corrections")
    project.run("orders_batch", "orders_changelog", "orders_state", "orders")
    assert sorted(project.rows("orders")) == [(1, "new"), (2, "v2")]
    assert project.progress("orders")[-1]["_statistics"]["updates"] == 1


@pytest.mark.long
@pytest.mark.iceberg_only
def test_a_slow_scan_does_not_hide_that_another_run_has_forgotten_the_last_one(
    project: Project,
) -> None:
    """Somebody drops a column after the scan. Another run adds it and is killed before its heal."""
    project.configure(orders={"+unique_key": ["k"], "+meta": {"trueup": {"verify": 1}}})
    project.append("orders", [Command(3, (1,), (1,), ("new",))])

    def forget() -> None:
        project.sql("alter table {}.orders_state drop column v")
        with between.sent_through(killed_at("/* trueup: heal */")):
            project.run("orders_corrections", fails=True)

    with between.before(r"alter table \S*orders_state", forget):
        project.run("orders_corrections")

    project.run("orders_batch", fails=True)
    assert "state moved: nobody has verified" in "\n".join(project.messages)
    project.run("models/orders")
    assert sorted(project.rows("orders")) == [(1, "new"), (2, "v2")]


@pytest.mark.long
@pytest.mark.iceberg_only
@pytest.mark.parametrize("has_corrections", [True, False])
def test_a_batch_that_widens_dates_needs_a_run_that_has_verified_the_state(
    project: Project, *, has_corrections: bool
) -> None:
    project.add_collection("days", KEY, [Column("d", "date")], {"verify": "always"})
    for ts in (1, 2):
        project.append("days", [Command(ts, (1,), (ts,), (date(2026, 1, ts),))])
        project.run("models/days")
    project.set_column("days", Column("d", "timestamp"))
    project.append(
        "days", [Command(3, (1,), (1,), (datetime(2026, 1, 3, 12, tzinfo=timezone.utc),))]
    )

    if not has_corrections:
        project.run("days_commands", "days_batch", fails=True)
        assert "state moved: nobody has verified" in "\n".join(project.messages)
    project.run("models/days")

    rows = project.sql("select k, cast(d as string) from {}.days order by k")
    assert rows == [(1, "2026-01-03 12:00:00"), (2, "2026-01-02 00:00:00")]
    assert project.progress("days")[-1]["_statistics"]["updates"] == 1


def killed_at(words: str) -> Callable[[Callable[[str], None], str], None]:
    """Stop a run at the statement that has these words."""

    def send(execute: Callable[[str], None], sql: str) -> None:
        if words in sql:
            message = "killed"
            raise RuntimeError(message)
        execute(sql)

    return send
