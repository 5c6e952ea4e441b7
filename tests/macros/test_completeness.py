"""Logs without ticks, and the tests `no_open_errors` and `is_complete`, without Spark."""

from __future__ import annotations

import re

import pytest

from tests.macros.package import RELATIONS, in_model, one_line, refused

SETTLED = (7, "settled")
"""The lower, and the SQL expression of the offsets that the last batch settled."""


def test_a_new_command_of_a_log_without_ticks_gets_the_lower_as_tick() -> None:
    sql = one_line(in_model("files_batch")._reclocked_commands_select(RELATIONS[0], *SETTLED))

    assert "select cast(7 as bigint) as _lower" in sql
    assert "else _lower end as _ts" in sql


def test_settled_offsets_are_below_the_lower_and_null_offsets_have_no_tick() -> None:
    sql = one_line(in_model("files_batch")._reclocked_commands_select(RELATIONS[0], *SETTLED))

    assert (
        "case when _partition is null or _offset is null then null"
        " when _offset < try_element_at(_next_offsets, _partition) then _lower - 1"
    ) in sql


def test_the_next_offset_of_a_partition_never_decreases() -> None:
    sql = one_line(in_model("files_batch")._partitions_ctes(RELATIONS[0], *SETTLED))

    assert "union all select _partition, null as first_offset, next_offset" in sql
    assert "min(first_offset) as first_offset, max(next_offset) as next_offset" in sql


def test_the_written_partitions_have_the_type_of_the_statistics() -> None:
    trueup = in_model("files_batch")
    fields = re.findall(r"(\w+): \w+", trueup._partitions_type())

    assert f"struct({', '.join(fields)})" in trueup._partitions_ctes(RELATIONS[0], *SETTLED)
    assert trueup._partitions_type() in trueup._statistics_type()


def test_completeness_compares_the_log_with_the_changelog() -> None:
    sql = in_model("files_completeness").completeness("files")

    assert "from lake.files_commands" in sql
    assert "from lake.files_changelog" in sql
    assert "'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS" in sql
    must, got, _ = refused(in_model("files_gaps").completeness, "files")
    assert must.endswith("must be called from the model files_completeness.")
    assert got == "Got: files_gaps"


@pytest.mark.parametrize(
    ("test", "argument", "column", "kinds"),
    [
        ("no_open_errors", "kinds", "_error_kind", ["value", "key", "null_key"]),
        ("is_complete", "findings", "_finding", ["gap", "regression", "recreated"]),
    ],
)
def test_a_data_test_looks_for_all_kinds_or_only_the_given_ones(
    test: str, argument: str, column: str, kinds: list[str]
) -> None:
    call = getattr(in_model("t"), f"test_{test}")

    every = ", ".join(f"'{kind}'" for kind in kinds)
    assert one_line(call("m")) == f"select * from m where {column} in ({every})"
    assert one_line(call("m", **{argument: kinds[:1]})).endswith(f"{column} in ('{kinds[0]}')")
    must, got, _ = refused(call, "m", **{argument: [kinds[0], "other"]})
    assert must == f"`trueup.{test}` argument `{argument}` must be a list of {', '.join(kinds)}."
    assert got == "Got: other"
