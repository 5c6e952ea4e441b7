"""A large state: stage and apply skip the rows that a batch does not touch.

These tests use a copy of the package with lower limits: a thousand rows are large.
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column
from tests.between import views_kept
from tests.generated_sql import mistakes
from tests.macros.package import Package, in_model
from tests.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = 2_000
LIMITS = {
    "rows >= 1000000": "rows >= 1000",
    "changes <= 200000": "changes <= 300",
    "updates <= 200000": "updates <= 300",
}
"""The limits of the package, and the limits in these tests."""
KEYS = {
    "many": [Column("a", "bigint"), Column("b", "string")],
    # The statistics of texts are truncated, so there is a filter but no range.
    "named": [Column("name", "string")],
    # Its last tick stays open and may get more commands, so its stage has no range. A batch
    # retracts provisional rows of the batch before, so its apply reads other updates, too.
    "eager": [Column("a", "bigint")],
    # A command may take values from another key.
    "moved": [Column("a", "bigint")],
    # Its batches are limited.
    "capped": [Column("a", "bigint")],
    # Late commands are corrected.
    "late": [Column("a", "bigint")],
}
"""The key columns of each collection. Every collection has an error, too."""
HAS_RANGE = {"many": True, "named": False, "eager": False}
"""The collections whose stage can be explained after the run. True: the stage has a range."""
OPTIONS: dict[str, dict[str, Any]] = {
    "eager": {"eager": True, "input_upper": "log_upper - 1"},
    "capped": {"max_commands_per_batch": 100},
    "late": {"late": "correct"},
}
EXTRA = {"moved": ["unchanged", "old_key", "truncate_when"], "capped": ["truncate_when"]}
ALL_KEYS = f"range({ROWS}) as given (a)"
OF_LONG_TESTS = ("eager", "capped")
STEPS = ("batch", "changelog", "state")
"""The roles of a run. These collections are not verified, so no run needs corrections."""


@pytest.fixture(scope="module")
def project(
    spark: SparkSession,
    package: Path,
    tmp_path_factory: pytest.TempPathFactory,
    *,
    with_long: bool,
) -> Project:
    """The collections. Each has many rows and an error."""
    names = [name for name in KEYS if with_long or name not in OF_LONG_TESTS]
    copied = tmp_path_factory.mktemp("copied") / "package"
    shutil.copytree(package, copied)
    for limit, lower in LIMITS.items():
        replace(copied / "macros" / "tables" / "key_limits.sql", limit, lower)
    project = Project(tmp_path_factory.mktemp("large"), "large", spark, copied)
    for collection in names:
        extra, key = EXTRA.get(collection, []), KEYS[collection]
        project.add_collection(
            collection, key, [Column("v", "bigint")], OPTIONS.get(collection), extra
        )
        append(project, collection, "a", ALL_KEYS)
        broken(project, collection)
    # As a text, this key has the same hash as the error.
    project.sql(
        "insert into large.named_log (log_ts, log_delete, name) values (1, false, 'broken')"
    )
    project.run()
    for collection in names:
        assert_right(project, collection)
    return project


def run(project: Project, collection: str) -> None:
    project.run(*(f"{collection}_{role}" for role in STEPS))


def replace(path: Path, old: str, new: str) -> None:
    """Replace a part of a file. The file must contain the part."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@contextmanager
def edit(project: Project, file: str, old: str, new: str) -> Iterator[None]:
    """Replace a part of a macro for a while. A model changes, too, so that dbt sees it."""
    path = project.folder / "dbt_packages" / "trueup" / "macros" / file
    text = path.read_text()
    replace(path, old, new)
    project.write("models/unparsed.sql", "select 1 as a")
    try:
        yield
    finally:
        path.write_text(text)
        project.write("models/unparsed.sql", "select 2 as a")


def append(
    project: Project, collection: str, key: str, source: str, deletes: str = "false"
) -> None:
    """Append two commands for each key: the first sets -1, the second sets the tick or deletes."""
    names = [column.name for column in KEYS[collection]]
    keys = ", ".join({"a": key, "b": "'b'", "name": f"concat('name ', {key})"}[n] for n in names)
    tick = next_tick(project, collection)
    project.sql(
        f"insert into large.{collection}_log"
        f" (log_ts, log_order, log_delete, {', '.join(names)}, v)"
        f" select {tick}, 1, false, {keys}, -1 from {source}"
        f" union all select {tick}, 2, {deletes}, {keys}, {tick} from {source}"
    )


def broken(project: Project, collection: str) -> None:
    """Append a command at the last tick, always with the same key that cannot be decoded."""
    tick = next_tick(project, collection) - 1
    project.sql(
        f"insert into large.{collection}_log (log_ts, log_order, log_delete, log_error_key)"
        f" values ({tick}, 1, false, 'broken')"
    )


def next_tick(project: Project, collection: str) -> int:
    """Give the tick after the last one of a log."""
    query = f"select coalesce(max(log_ts), 0) + 1 from large.{collection}_log"
    return int(project.sql(query)[0][0])


def assert_right(project: Project, collection: str) -> None:
    """Check that the state equals the result of the log, and that diffs sum to 0 or 1."""
    keys = ", ".join(column.name for column in KEYS[collection])
    # This query uses another algorithm than the fold.
    latest = f"""
select {keys}, v
from (
    select
        *, row_number() over (partition by {keys} order by log_ts desc, log_order desc) as place
    from large.{collection}_log
    where log_error_key is null
)
where place = 1 and not log_delete"""
    state = f"select {keys}, v from large.{collection}_state where _kind = 'row'"
    both = f"({state} except all {latest}) union all ({latest} except all {state})"
    assert project.sql(f"select count(*) from ({both})")[0][0] == 0
    # Later batches do not write the error again, so it keeps the number of the first batch.
    first, *_ = KEYS[collection]
    keyless = (
        f"select _kind, _seq from large.{collection}_state where {first.name} is null"
        " order by _kind"
    )
    batches = len(project.progress(collection))
    assert project.sql(keyless) == [("error", 1), ("progress", batches)]
    # Each tick had a run of its own.
    assert batches == next_tick(project, collection) - 1
    left = project.sql(
        f"select count(*) from (select sum(_diff) as n from large.{collection}_changelog"
        f" where _kind = 'update' group by {keys}, v, _error_key having n not in (0, 1))"
    )
    assert left[0][0] == 0


@pytest.fixture(autouse=True)
def views() -> Iterator[dict[str, str]]:
    """The session views of the runs in a test."""
    with views_kept() as names:
        yield names


def scans(project: Project, views: dict[str, str], collection: str) -> str:
    """Give the filters with which the last stage read the files of the state."""
    steps = views[f"{collection}__steps"]
    if project.table_format == "delta":
        project.sql("set spark.sql.maxMetadataStringLength = 10000")
    plan = project.sql(f"explain select * from {steps}")[0][0]
    scan = (
        rf"BatchScan \S+\.{collection}_state\[.*?filters=(.*?), runtimeFilters"
        if project.table_format == "iceberg"
        else rf"FileScan parquet .*?DataFilters: \[(.*?)\], Format.*?/{collection}_state\b"
    )
    found = re.search(scan, plan)
    assert found
    # Delta's plan has columns with numbers, and no quotes around texts.
    return re.sub(r"#\d+L?", "", found[1])


@pytest.mark.long_cases
@pytest.mark.parametrize(("collection", "has_range"), HAS_RANGE.items())
def test_a_stage_of_neighbouring_keys_reads_only_their_range_if_it_can(
    project: Project, views: dict[str, str], collection: str, *, has_range: bool
) -> None:
    keys = f"range({ROWS - 40}, {ROWS + 40}) as given (a)"
    append(project, collection, "a", keys, deletes="a % 7 = 0")
    # The stage must find the old error. Otherwise the batch writes it a second time.
    broken(project, collection)
    run(project, collection)
    assert_right(project, collection)
    scanned = scans(project, views, collection)
    first, *_ = KEYS[collection]
    assert (f"{first.name} >= " in scanned) == has_range
    assert (f"{first.name} <= " in scanned) == has_range
    if has_range:
        assert f"a >= {ROWS - 40}" in scanned
        assert f"a <= {ROWS + 39}" in scanned


@pytest.mark.long
def test_a_key_in_a_statement_reaches_the_log_file_of_dbt_only_at_its_debug_level(
    project: Project,
) -> None:
    for level, key in (("debug", "777001"), ("info", "777002")):
        append(project, "many", key, "range(1) as given (a)")
        models = [f"many_{role}" for role in STEPS]
        folder = project.folder / level
        project.run(*models, f"--log-level-file={level}", f"--log-path={folder}")
        assert_right(project, "many")
        logged = (folder / "dbt.log").read_text()
        assert "many_state" in logged
        assert (key in logged) == (level == "debug")


@pytest.mark.long_cases
@pytest.mark.parametrize("collection", KEYS)
def test_a_batch_of_scattered_keys_gives_the_right_state(project: Project, collection: str) -> None:
    append(project, collection, "a * 7919 % 2003", "range(70) as given (a)", deletes="a % 5 = 0")
    run(project, collection)
    assert_right(project, collection)


@pytest.mark.parametrize(
    ("model", "file", "looked_at", "missing"),
    [
        ("many_batch", "tables/key_range.sql", "max(_number) as _last", "min(_number) as _last"),
        ("many_state", "tables/key_range.sql", "max(_number) as _last", "min(_number) as _last"),
        # Only Iceberg merges with a filter of the keys.
        pytest.param(
            *("many_state", "tables/key_filter.sql", "where ", "where (a < 10 or a is null) and "),
            marks=pytest.mark.iceberg_only,
        ),
        pytest.param(
            *("named_state", "tables/key_filter.sql", "where ", "where name is null and "),
            marks=pytest.mark.iceberg_only,
        ),
    ],
)
def test_keys_that_arrive_after_planning_stop_the_run(
    project: Project, model: str, file: str, looked_at: str, missing: str
) -> None:
    # The edited macro misses some keys, as if they had arrived after planning.
    collection, role = model.split("_")
    append(project, collection, "a + 5", "range(100) as given (a)")
    if role == "state":
        earlier = ("batch", "changelog")
        project.run(*(f"{collection}_{each}" for each in earlier))
    before = project.sql(f"select count(*) from large.{collection}_changelog")
    applied = project.sql(f"select max(_seq) from large.{collection}_state")
    with edit(project, file, looked_at, missing):
        project.run(model, fails=True)
    assert "keys moved: new keys arrived" in "\n".join(project.messages)
    assert project.sql(f"select count(*) from large.{collection}_changelog") == before
    assert project.sql(f"select max(_seq) from large.{collection}_state") == applied
    run(project, collection)
    assert_right(project, collection)


@pytest.mark.long
@pytest.mark.parametrize("collection", HAS_RANGE)
def test_a_batch_with_many_of_the_keys_reads_the_state_without_a_range(
    project: Project, views: dict[str, str], collection: str
) -> None:
    append(project, collection, "a * 3", "range(400) as given (a)", deletes="a % 9 = 0")
    run(project, collection)
    assert_right(project, collection)
    assert " >= " not in scans(project, views, collection)


@pytest.mark.long
def test_a_limited_batch_uses_a_range_even_if_many_commands_wait(
    project: Project, views: dict[str, str]
) -> None:
    for _ in range(3):
        append(project, "capped", "a", "range(500, 560) as given (a)")
    run(project, "capped")
    assert "a >= 500" in scans(project, views, "capped")
    run(project, "capped")
    run(project, "capped")
    assert_right(project, "capped")


@pytest.mark.long
def test_a_changed_key_takes_the_value_of_a_distant_old_key(project: Project) -> None:
    append(project, "moved", "a", "range(3, 4) as given (a)")
    run(project, "moved")
    tick = next_tick(project, "moved")
    project.sql(
        "insert into large.moved_log"
        " (log_ts, log_order, log_delete, log_unchanged, log_old_key, a)"
        f" values ({tick}, 1, false, array('v'), named_struct('a', 3L), 9000000)"
    )
    run(project, "moved")
    rows = project.sql("select v from large.moved_state where a = 9000000")
    assert rows == [(tick - 1,)]


@pytest.mark.long_cases
@pytest.mark.parametrize("collection", EXTRA)
def test_a_truncate_that_arrives_after_planning_stops_the_run(
    project: Project, collection: str
) -> None:
    tick = next_tick(project, collection)
    project.sql(
        f"insert into large.{collection}_log (log_ts, log_order, log_delete, log_truncate)"
        f" values ({tick}, 1, false, true)"
    )
    edited = edit(
        project,
        "plan/measured_log_select.sql",
        "coalesce(next_truncate < {{ open_upper }}, false)",
        "false",
    )
    with edited:
        project.run(f"{collection}_batch", fails=True)
    assert "truncate moved: a truncate arrived" in "\n".join(project.messages)
    assert len(project.progress(collection)) == tick - 1
    run(project, collection)
    assert project.sql(f"select * from large.{collection}_state where _kind = 'row'") == []


def looking(spark: SparkSession) -> Package:
    """Give the macros. Spark answers their queries."""
    answers = {
        "run_query": lambda sql: SimpleNamespace(rows=spark.sql(str(sql)).collect()),
        "fromjson": json.loads,
    }
    return Package(in_model("files_state").context | answers)


@pytest.mark.parametrize("updates", [0, 1, 3, 3_000, 10**9])
def test_a_key_filter_passes_all_its_keys_and_few_others(spark: SparkSession, updates: int) -> None:
    columns = "id as k, if(id % 2 = 0, 'x', null) as _error_key, 2 as _seq"
    keys = f"(select {columns} from range({min(updates, 3_000)}) union all select null, null, 2)"
    settled = "select id, null, 1 from range(10000, 20000)"
    changelog = f"(select * from {keys} union all {settled})"
    looked = looking(spark)
    looked._ensure_session_variable(looked._session_name("files", "applied"), "bigint default 1")
    found = looked._get_key_filter("files", changelog, ["k", "_error_key"], updates)
    assert len(found["bits"]) == found["length"] <= 131_072
    condition = looked._in_key_filter_expr(found, ["k", "_error_key"], "given")
    missed, passed = (
        spark.sql(f"select count(*) from {changelog} as given where {rows}").collect()[0][0]
        for rows in (f"_seq = 2 and not {condition}", f"_seq = 1 and {condition}")
    )
    assert missed == 0
    set_bits = min(updates, 3_000) + 1
    assert passed <= 1.5 * 10_000 * set_bits / (5 * found["length"])


@pytest.mark.parametrize(
    ("type_", "least", "greatest", "outside"),
    [
        ("tinyint", "-128", "7", "16"),
        ("tinyint", "100", "127", "95"),
        ("bigint", "-9223372036854775808", "9223372036854775807", None),
        ("bigint", "-9223372036854775808", "0", "4611686018427387904"),
        ("decimal(38,2)", "-0.01", "123456789012345678901234567890.12", "-0.02"),
        ("date", "date'-0044-03-15'", "date'9999-12-31'", "date'-2000-01-01'"),
        ("date", "date'2026-11-22'", "date'2026-11-22'", "date'2026-11-23'"),
        (
            "timestamp",
            "timestamp'1905-01-01 00:00:00.000001'",
            "timestamp'9999-12-31 23:59:59.999999'",
            "timestamp'0905-01-01'",
        ),
    ],
)
def test_a_key_range_contains_both_ends_but_no_distant_value(
    spark: SparkSession, type_: str, least: str, greatest: str, outside: str | None
) -> None:
    looked = looking(spark)
    rows = [f"select cast({value} as {type_}) as a" for value in (greatest, "null", least)]
    found = looked._get_key_range(rows, ["a"], [{"name": "a", "type": type_}])
    condition = looked._in_key_range_expr(found, "a")
    selects = [*rows, *([f"select cast({outside} as {type_}) as a"] if outside else [])]
    answers = spark.sql(f"select {condition} from ({' union all '.join(selects)})").collect()
    assert [row[0] for row in answers] == [True, True, True, False][: len(selects)]


def test_batches_with_similar_scattered_keys_have_the_same_range(spark: SparkSession) -> None:
    looked = looking(spark)
    found = [
        looked._get_key_range(
            [f"select explode(array({ends})) as a"], ["a"], [{"name": "a", "type": "bigint"}]
        )
        for ends in ("103L, 4999948L", "240L, 4999942L", "4500000L, 4999942L")
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("type_", ["string", "binary", "double", "boolean", "struct<b:int>"])
def test_keys_of_other_types_have_no_range(type_: str) -> None:
    column = {"name": "a", "type": type_}
    assert in_model("files_batch")._get_key_range(["select 1"], ["a"], [column]) is None


@pytest.mark.long_cases
@pytest.mark.parametrize("collection", ["late", "many", "moved"])
def test_both_selects_stage_the_same_batch(
    project: Project, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small batch has a select of its own. The large one stages its first batch."""
    execute, sent = Cursor.execute, []

    def kept(cursor: Cursor, sql: str, *parameters: Any) -> None:
        sent.append(sql)
        execute(cursor, sql, *parameters)

    def staged() -> tuple[list[str], dict[str, Any]]:
        sent.clear()
        project.run(f"{collection}_corrections", f"{collection}_batch")
        rows = project.sql(
            "select to_json(struct(* except (_batch_id, _statistics)),"
            " map('ignoreNullFields', 'false')), to_json(_statistics)"
            f" from large.{collection}_batch"
        )
        (statistics,) = (json.loads(text) for _, text in rows if text)
        # These differ from run to run: times, and the hash of them.
        del statistics["minted_at"], statistics["seal"]["own"], statistics["position"]["read"]["at"]
        return sorted(row for row, _ in rows), statistics

    project.run(*(f"{collection}_{role}" for role in ("corrections", *STEPS)))
    append(project, collection, "a", "range(10, 40) as given (a)", deletes="a % 3 = 0")
    append(project, collection, "a", "range(20, 50) as given (a)", deletes="a % 7 = 0")
    tick, key = next_tick(project, collection) - 1, KEYS[collection][0].name
    project.sql(
        f"insert into large.{collection}_log (log_ts, log_order, log_delete, log_error, {key}, v)"
        f" values (1, 5, false, null, 60, 60), ({tick}, 1, false, 'bad', 61, 61),"
        f" ({tick}, 1, false, null, null, 62)"
    )
    monkeypatch.setattr(Cursor, "execute", kept)
    small = staged()
    (statement,) = (sql for sql in sent if "_step_plan" in sql)
    assert mistakes(statement[statement.index("with\n") :]) == set()
    with edit(project, "stage/select_of_batch.sql", "changes <= 10000", "changes < 0"):
        large = staged()
    assert not any("_step_plan" in sql for sql in sent)

    assert small[0] == large[0]
    assert {n: v for n, v in small[1].items() if v != large[1].get(n)} == {}
    assert len(small[0]) > 50
