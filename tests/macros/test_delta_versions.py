"""What the commits of a Delta table mean. Only a commit that is surely an append counts as one."""

from __future__ import annotations

import datetime as dt
import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros.package import in_model

WEEK = 7 * 24 * 3600
NOW = dt.datetime(2026, 1, 31, tzinfo=dt.timezone.utc).timestamp()
"""When the run of `in_model` started."""
FEED = {"delta.minReaderVersion": "1", "delta.enableChangeDataFeed": "true"}
COLUMNS = [("k", "int"), ("v", "string")]


TODAY = dt.datetime(2026, 1, 31, 12)  # noqa: DTZ001
"""The time of the connection now. The connection gives a time without its zone."""


def snapshot(version: int, table: str = "t", time: dt.datetime = TODAY) -> str:
    """A snapshot of a table, as a progress row keeps it."""
    return f"{version}@{table}@{round(time.timestamp() * 1000)}"


def commit(version: int, operation: str, metrics: Any = None, **parameters: str) -> dict[str, Any]:
    """A row of `describe history`. The session gives a map as JSON, and a time without its zone."""
    return {
        "version": version,
        "timestamp": TODAY,
        "operation": operation,
        "operationParameters": json.dumps(parameters),
        "operationMetrics": json.dumps(metrics),
    }


def merge(updated: int = 0, deleted: int = 0, files: int = 0, changes: int = 0) -> dict[str, Any]:
    names = (
        *("numTargetRowsUpdated", "numTargetRowsDeleted", "numTargetFilesRemoved"),
        "numTargetChangeFilesAdded",
    )
    counts = dict(zip(names, map(str, (updated, deleted, files, changes)), strict=True))
    return commit(1, "MERGE", counts | {"numTargetRowsInserted": "1"})


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (commit(1, "WRITE", mode="Append"), "append"),
        (commit(1, "WRITE", mode="Overwrite"), "overwrite"),
        (commit(1, "STREAMING UPDATE", outputMode="Append"), "append"),
        (commit(1, "STREAMING UPDATE", outputMode="Complete"), "overwrite"),
        (merge(), "append"),
        (merge(updated=1), "overwrite"),
        (merge(deleted=1), "overwrite"),
        (merge(files=1), "overwrite"),
        (commit(1, "MERGE"), "overwrite"),
        (merge(changes=1), "overwrite"),
        (commit(1, "DELETE"), "delete"),
        (commit(1, "UPDATE"), "overwrite"),
        (commit(1, "TRUNCATE"), "overwrite"),
        (commit(1, "RESTORE"), "overwrite"),
        (commit(1, "CREATE OR REPLACE TABLE AS SELECT"), "overwrite"),
        (commit(1, "RENAME COLUMN"), "overwrite"),
        (commit(1, "an operation of the future", mode="Append"), "overwrite"),
        (commit(1, "OPTIMIZE"), "replace"),
        (commit(1, "REORG"), "replace"),
        (commit(1, "VACUUM START", defaultRetentionMillis=str(WEEK * 1000)), "other"),
        (
            commit(
                1,
                "VACUUM START",
                defaultRetentionMillis=str(WEEK * 1000),
                specifiedRetentionMillis="0",
            ),
            "vacuum",
        ),
        (commit(1, "VACUUM START"), "vacuum"),
        (commit(1, "VACUUM END"), "other"),
        (commit(1, "SET TBLPROPERTIES", properties='{"trueup.scanned_seq":"1"}'), "other"),
        (
            commit(1, "SET TBLPROPERTIES", properties='{"delta.enableChangeDataFeed":"true"}'),
            "feed",
        ),
        (commit(1, "UNSET TBLPROPERTIES", properties='["delta.enableChangeDataFeed"]'), "feed"),
        (commit(1, "ADD COLUMNS"), "other"),
        # One `alter column` of several columns, such as of their comments.
        (commit(1, "CHANGE COLUMN"), "other"),
        (commit(1, "CHANGE COLUMNS"), "other"),
    ],
)
def test_a_commit_of_a_delta_table_is_an_append_only_if_that_is_sure(
    row: dict[str, Any], expected: str
) -> None:
    trueup = in_model("files_batch")
    assert trueup._delta_commit_operation(row) == expected
    for name in ("operationParameters", "operationMetrics"):
        row[name] = json.loads(row[name])
    assert trueup._delta_commit_operation(row) == expected


THRIFT = '{{"mode":"{}","partitionBy":"["day"]"{}}}'
"""A map as a Thrift server gives it: quotes within a value are not escaped."""


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (THRIFT.format("Append", ""), "append"),
        (THRIFT.format("Overwrite", ""), "overwrite"),
        (THRIFT.format("Overwrite", ',"predicate":"["(v = \'","mode":"Append"\')"]"'), "overwrite"),
        (THRIFT.format("Overwrite", ',"replaceOnCond":"x","mode":"Append"'), "overwrite"),
        ("no map", "overwrite"),
    ],
)
def test_a_map_that_is_no_json_is_an_append_only_if_that_is_sure(
    parameters: str, expected: str
) -> None:
    row = commit(1, "WRITE") | {"operationParameters": parameters}
    assert in_model("files_batch")._delta_commit_operation(row) == expected


def history(*rows: dict[str, Any]) -> Any:
    """The package over a table with this history. The newest commit is the first."""

    def answer(query: str) -> SimpleNamespace:
        return SimpleNamespace(rows=[[TODAY]] if "current_timestamp" in query else list(rows))

    return in_model("files_batch", queries=answer)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (snapshot(4), snapshot(6), ["delete", "append"]),
        (snapshot(6), snapshot(6), []),
        (snapshot(4), snapshot(7), ["append", "delete", "append"]),
        (snapshot(4, "other"), snapshot(6), None),
        (snapshot(6), snapshot(4), None),
        (snapshot(3), snapshot(6), None),
        (snapshot(4), snapshot(8), None),
        ("8273645182736451827", snapshot(6), None),
        # Delta lists the commits before the first one, too, and has changed its time.
        (snapshot(4, time=TODAY - dt.timedelta(milliseconds=1)), snapshot(6), ["delete", "append"]),
        # Somebody has put an older copy of the folder back, and other commits came since.
        (snapshot(4, time=TODAY - dt.timedelta(seconds=1)), snapshot(6), None),
        (snapshot(6, time=TODAY - dt.timedelta(seconds=1)), snapshot(6), None),
        # A version of trueup before these times.
        ("4@t", snapshot(6), None),
        ("6@t", snapshot(6), None),
    ],
)
def test_the_operations_between_two_versions_of_one_table(
    first: str, last: str, expected: list[str] | None
) -> None:
    """The history begins with a commit that came after `last`, and it has forgotten version 3."""
    names = {7: "WRITE", 6: "DELETE", 5: "WRITE", 4: "CREATE TABLE"}
    trueup = history(*(commit(version, name, mode="Append") for version, name in names.items()))

    found = trueup._get_commit_operations("lake.log", FEED, first, last, 0)
    assert found == expected


@pytest.mark.parametrize(
    ("through", "is_known"),
    [
        (snapshot(4), True),
        (snapshot(6), True),
        (snapshot(7), False),
        (snapshot(5, "other"), False),
        (snapshot(5, time=TODAY - dt.timedelta(days=1)), False),
    ],
)
def test_the_operations_may_have_to_come_through_a_version(through: str, *, is_known: bool) -> None:
    trueup = history(*(commit(version, "WRITE", mode="Append") for version in (7, 6, 5, 4)))
    first, last = snapshot(4), snapshot(6)

    found = trueup._get_commit_operations("lake.log", FEED, first, last, 0, through)
    assert (found == ["append", "append"]) is is_known
    assert (found is None) is not is_known
    assert trueup._get_commit_operations("lake.log", FEED, first, first, 0, last) is None


@pytest.mark.parametrize(
    ("age", "properties", "is_expired"),
    [
        (60, {}, False),
        (WEEK - 7200, {}, False),
        (WEEK - 1800, {}, True),
        (WEEK, {"delta.deletedFileRetentionDuration": "interval 30 days"}, False),
        (7200, {"delta.deletedFileRetentionDuration": "interval 1 hour"}, True),
        (WEEK, {"delta.deletedFileRetentionDuration": "interval 1 week 12 hours"}, False),
        (WEEK, {"delta.deletedFileRetentionDuration": "interval 1 week -1 days"}, True),
        (600, {"delta.deletedFileRetentionDuration": "interval 1 hour"}, False),
        (600, {"delta.deletedFileRetentionDuration": "interval 600000 milliseconds"}, True),
    ],
)
@pytest.mark.parametrize("is_text", [False, True])
def test_a_version_that_delta_refuses_to_read_is_recognised(
    age: int, properties: dict[str, str], *, is_expired: bool, is_text: bool
) -> None:
    rows = [commit(version, "WRITE", mode="Append") for version in (6, 5, 4)]
    time = TODAY - dt.timedelta(seconds=age)
    if is_text:
        rows = [row | {"timestamp": f"{row['timestamp']}.12"} for row in rows]
    rows[2]["timestamp"] = f"{time}.12" if is_text else time
    first = snapshot(4, time=time)

    found = history(*rows)._get_commit_operations(
        "lake.log", FEED | properties, first, snapshot(6), 0
    )
    assert found == [*(["expired"] if is_expired else []), "append", "append"]
    assert in_model("files_batch")._row_changes(found) == ["append", "append"]


@pytest.mark.parametrize(
    ("operations", "age", "before", "reason"),
    [
        (["append"], 60, COLUMNS, None),
        (["append", "replace", "other"], 60, COLUMNS, None),
        (["append", "feed"], 60, COLUMNS, "switched on or off"),
        (["expired", "append"], 60, COLUMNS, "keeps its old versions for too short a time"),
        (["vacuum", "replace", "append"], 60, COLUMNS, "a vacuum may have removed files"),
        (["vacuum", "delete", "append"], 60, COLUMNS, "a vacuum may have removed files"),
        (["append", "replace"], WEEK + 60, COLUMNS, "a vacuum may have removed files"),
        (["vacuum", "append"], WEEK + 60, COLUMNS, None),
        (["append"], 60, [COLUMNS[0]], None),
        (["append"], 60, [*COLUMNS, ("gone", "int")], "the columns of the log changed"),
        (["append"], 60, [("k", "smallint"), COLUMNS[1]], "the columns of the log changed"),
    ],
)
def test_the_change_feed_is_read_only_if_it_has_all_rows(
    operations: list[str], age: int, before: list[tuple[str, str]], reason: str | None
) -> None:
    def answer(query: str) -> list[tuple[str, str]]:
        return before if "version as of 4" in query else COLUMNS

    trueup = in_model("files_batch", queries=answer)
    since = NOW - age
    found = trueup._get_part_obstacle("lake.log", FEED, "4@t", "6@t", since, operations)

    assert found is None if reason is None else reason in found


def test_a_delta_log_without_its_change_feed_is_read_as_a_whole() -> None:
    trueup = in_model("files_batch")

    assert trueup._appended_rows_obstacle(FEED) is None
    assert "change feed is off" in trueup._appended_rows_obstacle({"delta.minReaderVersion": "1"})
    assert "change feed is off" in trueup._appended_rows_obstacle(
        FEED | {"delta.enableChangeDataFeed": "false"}
    )
    assert trueup._appended_rows_obstacle({"format": "iceberg/parquet"}) is None


def test_the_id_of_a_delta_table_is_read_before_its_version() -> None:
    asked = []

    def answer(query: str) -> SimpleNamespace:
        asked.append(query)
        return SimpleNamespace(rows=[{"id": "0a-1b", "version": 12, "timestamp": TODAY}])

    trueup = in_model("files_batch", queries=answer)
    assert trueup._get_snapshot("lake.log", FEED) == snapshot(12, "0a-1b")
    assert asked == ["describe detail `lake`.`log`", "describe history `lake`.`log` limit 1"]


@pytest.mark.parametrize(
    ("table", "quoted"),
    [
        ("history.log", "`history`.`log`"),
        ("lake.history.log", "`lake`.`history`.`log`"),
        ("`a.b`.c", "`a.b`.`c`"),
        ("history.`my``log`", "`history`.`my``log`"),
    ],
)
def test_a_command_of_delta_has_the_table_in_backquotes(table: str, quoted: str) -> None:
    assert in_model("files_batch")._in_backquotes(table) == quoted


def test_the_rows_of_appends_come_from_the_change_feed() -> None:
    trueup = in_model("files_batch")

    assert trueup._rows_at("lake.log", FEED, "6@t") == "lake.log version as of 6"
    rows = trueup._appended_rows("lake.`a log`", FEED, "4@t", "6@t")
    assert "from table_changes( 'lake.`a log`', 5, 6 )" in " ".join(rows.split())
    assert "where _change_type = 'insert'" in rows
