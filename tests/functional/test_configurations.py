"""The settings of Spark and of Iceberg change no row of a state and no update of a changelog.

The ordinary suite runs one configuration with many settings. `make engines` runs all of them.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, check_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.oracle import Late
    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string"), Column("At", "timestamp")]

AS_USERS_RUN_IT = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.shuffle.partitions": "4",
}
COPY_ON_WRITE = {
    f"write.{command}.mode": "copy-on-write" for command in ("delete", "update", "merge")
}
ZONE = "spark.sql.session.timeZone"
CONFIGURATIONS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "as users run it": (AS_USERS_RUN_IT, {}),
    "many at once": (
        {
            "spark.sql.ansi.enabled": "true",
            "spark.sql.caseSensitive": "true",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.shuffle.partitions": "4",
            ZONE: "America/St_Johns",
        },
        COPY_ON_WRITE | {"format-version": "2"},
    ),
    "ANSI mode": ({"spark.sql.ansi.enabled": "true"}, {}),
    "case sensitive": ({"spark.sql.caseSensitive": "true"}, {}),
    "adaptive": ({"spark.sql.adaptive.enabled": "true"}, {}),
    "200 partitions": ({"spark.sql.shuffle.partitions": "200"}, {}),
    "no broadcast": ({"spark.sql.autoBroadcastJoinThreshold": "-1"}, {}),
    "copy-on-write": ({}, COPY_ON_WRITE),
    "format 2": ({}, {"format-version": "2"}),
    "east": ({ZONE: "Pacific/Kiritimati"}, {}),
}
"""The settings of the session, and the properties of the tables."""

CHOSEN = [("many at once", "correct")]
if "TRUEUP_ENGINES" in os.environ:
    CHOSEN += [("many at once", "drop"), ("as users run it", "drop")]
    CHOSEN += [(each, "correct") for each in CONFIGURATIONS if each != "many at once"]


def put(ts: int, order: int, key: str, value: str | None) -> Command:
    # On this day clocks go forward in St. John's.
    at = datetime(2024, 3, 10, order, 30)  # noqa: DTZ001 - pyspark gives back what it was given
    return Command(ts, (order,), (key,), None if value is None else (value, at))


def hot(ts: int) -> list[Command]:
    """Many commands of one key in one tick: with them, one key has half of all commands."""
    return [put(ts, order, "hot", f"{ts}.{order}") for order in range(12)]


BATCHES = [
    [*hot(1), *(put(1, 1, f"key {n}", "first") for n in range(12))],
    [
        # Both commands of a tie are equal. The last command of the tick is a delete.
        *(*hot(2), put(2, 1, "key 1", "same"), put(2, 1, "key 1", "same"), put(2, 13, "hot", None)),
        # Late, and in time.
        *(put(1, 5, "key 2", "late"), put(1, 9, "new", "late")),
        *(put(3, 1, "key 3", None), *hot(3)),
    ],
    # The truncate comes between two commands of its tick.
    [
        put(4, 1, "key 4", "gone"),
        Command(4, (2,), None, None, is_truncate=True),
        put(4, 3, "key 5", "again"),
        put(5, 1, "KEY 5", "another key"),
    ],
    # Late for the truncate.
    [put(2, 1, "key 6", "late"), put(6, 1, "key 5", "again")],
]
"""The commands that arrive before each run."""


@contextmanager
def configured(settings: dict[str, str]) -> Iterator[None]:
    """Give the settings to every statement of dbt, in place of those of the profile."""
    execute = Cursor.execute

    def execute_configured(cursor: Cursor, sql: str, *parameters: Any) -> None:
        cursor.server_side_parameters = cursor.server_side_parameters | settings
        execute(cursor, sql, *parameters)

    Cursor.execute = execute_configured  # type: ignore[assignment]
    try:
        yield
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    return new_project("configurations")


def run_batches(
    project: Project, name: str, late: Late, settings: dict[str, str], properties: dict[str, str]
) -> None:
    """Run the batches of a collection with some settings, and compare it with the oracle's."""
    project.add_collection(name, KEY, VALUE, {"late": late, "verify": "always"}, ["truncate_when"])
    project.configure(**{name: project.config[name] | {"+tblproperties": properties}})
    oracle, log = Collection(late=late), list[Command]()
    before = {each: str(project.spark.conf.get(each)) for each in settings}
    try:
        with configured(settings):
            for arriving in BATCHES:
                log += arriving
                project.append(name, arriving)
                project.run(f"models/{name}")
                oracle.run(log)
                assert {each: project.spark.conf.get(each) for each in settings} == settings
    finally:
        for each, value in before.items():
            project.spark.conf.set(each, value)
    updates = project.updates(name)
    check_updates(updates, oracle.changelog)
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    shown = {
        row["key"]: row["value"] for row in project.sql(f"show tblproperties {{}}.{name}_state")
    }
    assert shown.items() >= properties.items()


@pytest.mark.parametrize(("configuration", "late"), CHOSEN)
def test_a_configuration_changes_no_row_and_no_update(
    project: Project, configuration: str, late: Late
) -> None:
    settings, properties = CONFIGURATIONS[configuration]
    name = f"{configuration}_{late}".replace(" ", "_").replace("-", "_").lower()
    run_batches(project, name, late, settings, properties)


@pytest.mark.iceberg_only
@pytest.mark.skipif("TRUEUP_ENGINES" not in os.environ, reason="run `make engines`")
def test_a_catalog_that_caches_its_tables_changes_no_row_and_no_update(project: Project) -> None:
    lake, cached = "spark.sql.catalog.lake", "spark.sql.catalog.cached"
    for name, value in project.spark.conf.getAll.items():
        if name.startswith(lake):
            project.spark.conf.set(name.replace(lake, cached), value)
    project.spark.conf.set(f"{cached}.cache-enabled", "true")
    project.spark.sql(f"create schema cached.{project.name}")
    project.spark.sql("use cached")
    try:
        run_batches(project, "cached", "correct", {}, {})
        assert project.spark.catalog.currentCatalog() == "cached"
    finally:
        project.spark.sql("use lake")
