"""A large state: stage and apply read only the range of the keys of a batch.

What is large is lowered for this test, in a copy of the package: a thousand rows.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.acceptance import Column
from tests.macros.package import Package, in_model
from tests.project import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
ROWS = 2_000
LIMITS = {"rows >= 1000000": "rows >= 1000", "changes <= 200000": "changes <= 300"}
COLUMNS = "log_ts, log_order, log_delete, log_error_key, a, b, v"
LATEST = """
select a, b, v
from (
    select *, row_number() over (partition by a, b order by log_ts desc, log_order desc) as place
    from large.many_log
    where log_error_key is null
)
where place = 1 and not log_delete
"""
"""What the log comes to, by another way than the fold's."""


@pytest.fixture(scope="module")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A collection of many rows, with a key of two columns and an error."""
    package = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "macros", package / "macros")
    shutil.copy(ROOT / "dbt_project.yml", package)
    for path in (package / "macros" / "batch").glob("*.sql"):
        text = path.read_text()
        for limit, lower in LIMITS.items():
            text = text.replace(limit, lower)
        path.write_text(text)
    project = Project(tmp_path_factory.mktemp("large"), "large", spark, package)
    key = [Column("a", "bigint"), Column("b", "string")]
    project.add_collection("many", key, [Column("v", "bigint")])
    append(project, 1, "a", f"range({ROWS}) as keys (a)")
    broken(project, 1)
    project.run()
    assert_right(project, batches=1)
    return project


def append(project: Project, ts: int, key: str, source: str, deletes: str = "false") -> None:
    """Append commands that set values to the tick, or delete, two for each key."""
    project.sql(
        f"insert into large.many_log ({COLUMNS}) select {ts}, 1, false, null, {key}, 'b', -1"
        f" from {source} union all select {ts}, 2, {deletes}, null, {key}, 'b', {ts}"
        f" from {source}"
    )


def broken(project: Project, ts: int) -> None:
    """Append a command whose key cannot be decoded, always the same."""
    project.sql(
        f"insert into large.many_log ({COLUMNS})"
        f" values ({ts}, 1, false, 'broken', null, null, null)"
    )


def assert_right(project: Project, batches: int) -> None:
    """Compare the state with what the log comes to, and see that every update stands once."""
    state = "select a, b, v from large.many_state where _kind = 'row'"
    both = f"({state} except all {LATEST}) union all ({LATEST} except all {state})"
    assert project.sql(f"select count(*) from ({both})")[0][0] == 0
    # The error and the progress row are older than the batches that say nothing new of them.
    keyless = "select _kind, _seq from large.many_state where a is null order by _kind"
    assert project.sql(keyless) == [("error", 1), ("progress", batches)]
    left = project.sql(
        "select count(*) from (select sum(_diff) as n from large.many_changelog"
        " where _kind = 'update' group by a, b, v, _error_key having n not in (0, 1))"
    )
    assert left[0][0] == 0
    assert len(project.progress("many")) == batches


def scans(project: Project) -> str:
    """What the last stage asked the state's files for."""
    steps = in_model("many_batch", package="large")._session_name("many", "steps")
    plan = project.sql(f"explain select * from {steps}")[0][0]
    found = re.search(r"BatchScan \S+\.many_state\[.*?filters=(.*?), runtimeFilters", plan)
    assert found
    return found[1]


def test_neighbouring_keys_are_looked_for_where_they_can_be(project: Project) -> None:
    append(project, 2, "a", f"range({ROWS - 40}, {ROWS + 40}) as keys (a)", deletes="a % 7 = 0")
    # Its value before has to be known, so that it is written no second time.
    broken(project, 2)
    project.run()
    assert_right(project, batches=2)
    assert f"a >= {ROWS - 40}" in scans(project)
    assert f"a <= {ROWS + 39}" in scans(project)


def test_scattered_keys_are_found_too(project: Project) -> None:
    append(project, 3, "a * 7919 % 2003", "range(70) as keys (a)", deletes="a % 5 = 0")
    project.run()
    assert_right(project, batches=3)


@pytest.mark.parametrize("role", ["batch", "state"])
def test_keys_that_came_after_the_look_are_refused(project: Project, role: str) -> None:
    # As if the greatest key had come since: the look sees the least one alone.
    look = project.folder / "dbt_packages" / "trueup" / "macros" / "batch" / "key_range.sql"
    text = look.read_text()
    if role == "state":
        project.run("many_commands", "many_corrections", "many_batch", "many_changelog")
    else:
        append(project, 4, "a + 5", "range(10) as keys (a)")
    before = project.sql("select count(*) from large.many_changelog")
    look.write_text(text.replace("cast(max({{ key }})", "cast(min({{ key }})"))
    project.write("models/unparsed.sql", "select 1 as a")
    project.run(f"many_{role}", fails=True)
    assert "keys moved: more came" in "\n".join(project.messages)
    assert project.sql("select count(*) from large.many_changelog") == before
    assert project.sql("select max(_seq) from large.many_state")[0][0] == 3
    look.write_text(text)
    project.write("models/unparsed.sql", "select 2 as a")
    if role == "state":
        project.run()
        assert_right(project, batches=4)


def test_a_batch_of_a_great_part_of_the_keys_is_shuffled(project: Project) -> None:
    append(project, 5, "a * 3", "range(400) as keys (a)", deletes="a % 9 = 0")
    project.run()
    assert_right(project, batches=5)
    assert "a >= " not in scans(project)


@pytest.mark.parametrize(
    ("type_", "least", "greatest", "outside"),
    [
        ("tinyint", "-128", "7", "8"),
        ("bigint", "-9223372036854775808", "0", "1"),
        ("decimal(38,2)", "-0.01", "123456789012345678901234567890.12", "-0.02"),
        ("date", "date'-0044-03-15'", "date'9999-12-31'", "date'-0044-03-14'"),
        (
            "timestamp",
            "timestamp'1905-01-01 00:00:00.000001'",
            "timestamp'9999-12-31 23:59:59.999999'",
            "timestamp'1905-01-01'",
        ),
    ],
)
def test_a_range_keeps_the_type_and_both_ends(
    spark: SparkSession, type_: str, least: str, greatest: str, outside: str
) -> None:
    rows = [f"select cast({value} as {type_}) as a" for value in (greatest, "null", least)]
    context = in_model("files_batch").context
    looked = Package(
        context
        | {
            "run_query": lambda sql: SimpleNamespace(rows=spark.sql(str(sql)).collect()),
            "fromjson": json.loads,
        }
    )
    column = {"name": "a", "type": type_}
    found = looked.get_key_range(rows, ["a"], [column])
    condition = looked._in_key_range_expr(found, "a")
    selects = " union all ".join([*rows, f"select cast({outside} as {type_}) as a"])
    answers = spark.sql(f"select {condition} from ({selects})").collect()
    assert [row[0] for row in answers] == [True, True, True, False]


@pytest.mark.parametrize("type_", ["string", "binary", "double", "boolean", "struct<b:int>"])
def test_other_keys_have_no_range(type_: str) -> None:
    column = {"name": "a", "type": type_}
    assert in_model("files_batch").get_key_range(["select 1"], ["a"], [column]) is None
