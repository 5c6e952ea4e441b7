"""Every way to rebuild the state from the changelog, and the changelogs that are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dbt_trueup.udfs.aggregates import register

from tests.acceptance import Column, multiset
from tests.between import before
from tests.oracle import Command
from tests.project import SHORT_LIVED, quote

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from tests.project import Project

KEY = [Column("k", "string"), Column("part of key", "double")]
VALUE = [
    Column("it's", "string"),
    Column("small", "float"),
    Column("money", "decimal(38,18)"),
    Column("raw", "binary"),
    Column("yes", "boolean"),
    Column("day", "date"),
    Column("at", "timestamp"),
    Column("local", "timestamp_ntz"),
    Column("nested", "struct<a: int, b: array<struct<c: string, d: double>>>"),
    Column("wide", "struct<" + ", ".join(f"f{number}: int" for number in range(30)) + ">"),
]
FULL = (
    "line\none \x01n\x02\x00",
    -0.0,
    Decimal("0.000000000000000001"),
    b"\x00\xff",
    True,
    date(1899, 12, 31),
    datetime(2024, 3, 10, 7, 30, 0, 1, tzinfo=timezone.utc),
    datetime(2024, 3, 10, 2, 30, 0, 500_000),  # noqa: DTZ001 - a time without a zone
    (7, [("", float("nan")), None, (None, float("-inf"))]),
    tuple(range(30)),
)
NULLS = (None,) * len(VALUE)
SHORT: tuple[Any, ...] = ("", None, None, b"", *(None,) * 4, (None, []), None)
WAYS: dict[str, dict[str, Any]] = {
    "by_udaf": {"rehydrate": "udaf"},
    "in_chunks": {"rehydrate": "udaf", "max_group_bytes": 300},
    "natively": {"rehydrate": "native"},
}
each_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A project with the collection `rich`: three batches of rows, deletes and errors."""
    project = new_project("rehydration")
    project.add_collection("rich", KEY, VALUE)
    a, b, c, d = ("a", 1.5), (None, float("nan")), ("", 0.0), ("gone", None)
    batches = [
        [Command(1, (1,), key, value) for key, value in ((a, FULL), (b, NULLS), (d, FULL))],
        [Command(2, (1,), a, NULLS), Command(3, (1,), a, FULL), Command(3, (1,), d, None)],
        [Command(4, (1,), c, None, "no number"), Command(4, (1,), b, SHORT)],
    ]
    batches[2].append(Command(4, (1,), None, FULL, None, "x00ff"))
    for batch in batches:
        project.append("rich", batch)
        project.run("models/rich")
    return project


def use(project: Project, options: dict[str, Any]) -> None:
    key = [column.name for column in KEY]
    project.configure(rich={"+unique_key": key, "+meta": {"trueup": options}})


def contents(project: Project) -> Counter[Any]:
    return multiset(project.sql("select * from {}.rich_state"))


@each_way
def test_a_rebuilt_state_equals_the_state_that_the_batches_made(project: Project, way: str) -> None:
    applied = contents(project)
    assert applied.total() == 5
    use(project, WAYS[way])
    project.sql("delete from {}.rich_state where k = 'a'")
    project.run("rich_state", "--full-refresh")
    assert contents(project) == applied
    columns = project.spark.table("rehydration.rich_state").schema
    project.sql("drop table {}.rich_state")
    project.run("models/rich")
    assert contents(project) == applied
    assert project.spark.table("rehydration.rich_state").schema == columns


LIVE = "k = 'a' and _diff = 1 and _ts = 3"
UNBALANCED: dict[str, tuple[str, dict[str, str], str]] = {
    "added twice": (LIVE, {}, "diff_sum 2"),
    "retracted twice": (LIVE, {"_diff": "-2"}, "diff_sum -1"),
    "retracted as another": (LIVE, {"_diff": "-1", "small": "float(7)"}, "diff_sum 0"),
    "an error added twice": ("k = '' and _diff = 1", {}, "diff_sum 2"),
}
"""One update that somebody adds to the changelog: a copy of another update with some changes."""


@pytest.mark.long_cases
@each_way
@pytest.mark.parametrize("what", UNBALANCED)
def test_a_changelog_that_does_not_add_up_stops_the_rebuild(
    project: Project, way: str, what: str
) -> None:
    applied = contents(project)
    use(project, WAYS[way])
    copied, changed, sums = UNBALANCED[what]
    changed = {"_cause": "'tampered'", **changed}
    values = ", ".join(
        f"{changed.get(name, quote(name))} as {quote(name)}"
        for name in project.spark.table("rehydration.rich_changelog").columns
    )

    def tamper() -> None:
        project.sql(
            "insert into {}.rich_changelog by name"
            f" select {values} from {{}}.rich_changelog where {copied}"
        )

    try:
        # The edit comes after the run has compared the changelog with its certificates.
        with before(r"create or replace table \S*rich_state", tamper):
            project.run("rich_state", "--full-refresh", fails=True)
    finally:
        project.sql("delete from {}.rich_changelog where _cause = 'tampered'")
    assert "a key in rehydration.rich_changelog do not add up: key {" in project.messages[0]
    assert sums in project.messages[0]
    assert ("checksum_sum" in project.messages[0]) == (way != "natively")
    assert contents(project) == applied


@pytest.mark.long
@pytest.mark.parametrize("verify", ["never", "always"])
def test_a_missing_state_is_not_rebuilt_from_an_edited_changelog(
    project: Project, verify: str
) -> None:
    use(project, {"verify": verify})
    applied = contents(project)
    project.sql("drop table {}.rich_state")
    project.sql(
        "insert into {}.rich_changelog by name select * except (_cause), 'tampered' as _cause"
        f" from {{}}.rich_changelog where {LIVE}"
    )
    try:
        project.run("models/rich", fails=True)
    finally:
        project.sql("delete from {}.rich_changelog where _cause = 'tampered'")
    assert any("must be what its certificate says" in said for said in project.messages)
    assert not project.spark.catalog.tableExists("rehydration.rich_state")
    project.run("models/rich")
    assert contents(project) == applied


def test_a_state_is_rebuilt_natively_if_the_session_has_no_aggregate(project: Project) -> None:
    use(project, {"rehydrate": "udaf"})
    applied = contents(project)
    project.sql("delete from {}.rich_state where _kind = 'row'")
    project.sql("drop temporary function trueup_consolidate")
    try:
        project.run("rich_state", "--full-refresh")
    finally:
        register(project.spark)
    assert contents(project) == applied


@pytest.mark.iceberg_only
def test_dbt_run_from_a_plain_shell_has_the_aggregates(project: Project) -> None:
    use(project, {})
    applied = contents(project)
    project.write(
        "models/shell.sql",
        """
        {{ config(materialized='table', file_format='iceberg') }}
        select trueup_consolidate(cast('k' as binary), cast('v' as binary), diff, diff, diff).value
            as live
        from (values (bigint(1))) as updates (diff)
        """,
    )
    dbt = str(Path(sys.executable).with_name("dbt"))
    command = [dbt, "run", "--project-dir", str(project.folder)]
    command += ["--full-refresh", "--select", "shell", "rich_state"]
    project.sql("delete from {}.rich_state where _kind = 'row'")
    environment = os.environ | SHORT_LIVED
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stdout
    assert project.sql("select live from {}.shell")[0][0] == [b"v"]
    assert contents(project) == applied


@pytest.mark.long
def test_a_state_whose_key_is_a_struct_is_healed_and_rebuilt(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("struct_key")
    key = [Column("k", "struct<a: int, b: struct<c: string>>")]
    project.add_collection("orders", key, [Column("v", "string")], {"verify": "content"})
    keys = [(1, ("x",)), (1, ("y",)), (None, (None,)), (2, None)]
    project.append("orders", [Command(1, (1,), (one,), (f"v{one}",)) for one in keys])
    project.append("orders", [Command(2, (1,), (keys[1],), None)])
    project.append("orders", [Command(2, (1,), None, ("v",), None, "bad")])
    project.run()
    state = multiset(project.sql("select * from {}.orders_state"))
    assert len(state) == 5

    project.sql("update {}.orders_state set v = 'edited' where k.a = 1")
    project.sql("delete from {}.orders_state where k.a is null and v is not null")
    project.run("orders_corrections")
    assert "healed" in project.messages[0]
    assert multiset(project.sql("select * from {}.orders_state")) == state

    project.sql("delete from {}.orders_state where true")
    project.run("orders_corrections")
    assert "the state was rebuilt" in project.messages[0]
    assert multiset(project.sql("select * from {}.orders_state")) == state

    for rehydrate in ("udaf", "native"):
        options = {"verify": "content", "rehydrate": rehydrate}
        project.configure(orders={"+unique_key": ["k"], "+meta": {"trueup": options}})
        project.run("orders_state", "--full-refresh")
        assert multiset(project.sql("select * from {}.orders_state")) == state
