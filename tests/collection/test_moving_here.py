"""What docs/moving-here.md says of tables that people have: both sides run over the same rows.

`rows` in tests/rules.yml names a test for each row of the tables of that page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only

MERGED = """
{{ config(
    materialized='incremental', incremental_strategy='merge', unique_key='order_id',
    file_format='iceberg', merge_update_columns=['status']
) }}
select order_id, status, note, load from SCHEMA.orders_log
{% if is_incremental() %} where load > (select max(load) from {{ this }}) {% endif %}
"""
ORDERS = """
{{ config(
    materialized='trueup', unique_key='order_id',
    incremental_strategy='merge', incremental_predicates=['false']
) }}
{{ trueup.commands(
    relation='SCHEMA.orders_log', sequence_by=['log_position'], delete_when="op = 'D'",
    columns=['status', 'note'], ignore_null_updates=true
) }}
"""
SNAPSHOTS = {
    "by_check": {"strategy": "check", "check_cols": "all"},
    "by_timestamp": {"strategy": "timestamp", "updated_at": "updated_at"},
}
EVENTS = """
{{ config(materialized='trueup', unique_key='event_id') }}
{{ trueup.commands(
    relation='SCHEMA.events_log', sequence_by=['event_at'], columns=['day', 'amount']
) }}
"""
DAYS = """
{{ config(materialized='trueup', unique_key='day') }}
select day, sum(amount) as amount from {{ ref('events') }} group by day
"""


def write(project: Project, **models: str) -> None:
    for name, text in models.items():
        project.write(f"models/{name}.sql", text.replace("SCHEMA", project.name))


def rows(project: Project, query: str) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in project.sql(query)), key=str)


@pytest.mark.long
def test_an_incremental_model_beside_its_collection(own_project: OwnProject) -> None:
    project = own_project("merged")
    columns = "load int, order_id int, op string, log_position int, status string, note string"
    project.sql(f"create table {{}}.orders_log ({columns}) using iceberg")
    write(project, merged=MERGED, orders=ORDERS, broken="{{ trueup.errors('orders') }}")
    project.insert(
        "orders_log", [(1, 1, "U", 10, "placed", "gift"), (1, None, "U", 11, "lost", None)]
    )
    project.run()
    project.insert("orders_log", [(2, 1, "U", 20, "sent", None), (2, None, "U", 12, "lost", None)])
    project.run()

    # A missing key is one more row in each run of the merge, and one error here.
    nobody = (None, "lost", None)
    merged = "select order_id, status, note from {}.merged"
    assert rows(project, merged) == [(1, "sent", "gift"), nobody, nobody]
    # Configs of the merge have no effect: `false` would match no row.
    assert rows(project, "select * from {}.orders") == [(1, "sent", "gift")]
    assert rows(project, "select order_id, _error_kind from {}.broken") == [(None, "null_key")]

    # The filter of the merge never reads a load that comes late. Of the row that comes late, only
    # the column counts that nobody has given later.
    project.insert("orders_log", [(1, 1, "U", 15, "packed", "red"), (1, 3, "U", 5, "late", None)])
    project.run()
    assert (3, "late", None) not in rows(project, merged)
    assert rows(project, "select * from {}.orders") == [(1, "sent", "red"), (3, "late", None)]

    # A key that is twice in a load stops the merge.
    twice, tie = (3, 1, "U", 30, "paid", None), (3, 3, "U", 31)
    project.insert("orders_log", [twice, twice, (*tie, "a", None), (*tie, "b", None)])
    project.run("merged", fails=True)
    assert "multiple rows" in project.messages[0] or "CARDINALITY" in project.messages[0]
    project.run("orders")
    assert rows(project, "select * from {}.orders") == [(1, "paid", "red")]
    broken = rows(project, "select order_id, _error_kind from {}.broken")
    assert broken == [(3, "tie"), (None, "null_key")]


@pytest.mark.long
def test_a_snapshot_beside_its_collection(own_project: OwnProject) -> None:
    project = own_project("snapshots")
    project.sql(
        "create table {}.customers (customer_id int, name string, city string,"
        " updated_at timestamp) using iceberg"
    )
    configs = {"unique_key": "customer_id", "hard_deletes": "invalidate", "file_format": "iceberg"}
    sources = [{"name": "shop", "schema": project.name, "tables": [{"name": "customers"}]}]
    snapshots = [
        {"name": name, "relation": "source('shop', 'customers')", "config": configs | config}
        for name, config in SNAPSHOTS.items()
    ]
    project.write(
        "snapshots/customers.yml", yaml.safe_dump({"sources": sources, "snapshots": snapshots})
    )
    select = "select customer_id, name, city from {{ source('shop', 'customers') }}"
    project.add_select("people", select, ["customer_id"])
    write(
        project,
        people_history="{{ trueup.history('people') }}",
        people_changelog="{{ trueup.changelog('people') }}",
    )
    for change in (
        (
            "insert into {}.customers values (1, 'Ann', 'Rome', timestamp'2026-01-01 00:00:00'),"
            " (2, 'Bob', 'Oslo', timestamp'2026-01-01 00:00:00')"
        ),
        "update {}.customers set city = 'Paris' where customer_id = 1",  # its time stays
        "delete from {}.customers where customer_id = 2",
    ):
        project.sql(change)
        project.run(command="snapshot")
        project.run()

    versions = "select customer_id, name, city, {} from {{}}.{}"
    theirs = rows(project, versions.format("dbt_valid_to is null", "by_check"))
    ours = rows(project, versions.format("is_current", "people_history"))
    assert ours == theirs
    assert (1, "Ann", "Paris", True) in ours
    assert (2, "Bob", "Oslo", False) in ours
    # By its time, the snapshot has not seen the change.
    by_time = rows(project, versions.format("dbt_valid_to is null", "by_timestamp"))
    assert by_time == [(1, "Ann", "Rome", True), (2, "Bob", "Oslo", False)]
    assert rows(project, "select * from {}.people") == [(1, "Ann", "Paris")]
    ((added, named),) = rows(
        project,
        "select count(*), count(distinct customer_id, _seq) from {}.people_changelog"
        " where _diff = 1",
    )
    assert added == named == 3


@pytest.mark.long
def test_events_and_their_sums_need_no_windows(own_project: OwnProject) -> None:
    project = own_project("events")
    project.sql(
        "create table {}.events_log (event_id int, event_at int, day string, amount int)"
        " using iceberg"
    )
    write(project, events=EVENTS, days=DAYS)
    first = [(1, 1, "mon", 10), (2, 2, "mon", 5), (3, 9, "tue", 1)]
    project.insert("events_log", first)
    project.run()
    project.insert("events_log", [first[1], (4, 3, "mon", 7)])
    project.run()

    assert rows(project, "select event_id from {}.events") == [(1,), (2,), (3,), (4,)]
    assert rows(project, "select * from {}.days") == [("mon", 22), ("tue", 1)]
