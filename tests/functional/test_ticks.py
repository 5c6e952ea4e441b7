"""The ticks that a collection takes, and the messages about other ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Command
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
GREATEST, LEAST = 2**63 - 1, -(2**63)
ENDS_BELOW = "the log ends below the frontier"


def put(ts: int, key: str = "a") -> Command:
    return Command(ts, (1,), (key,), (f"value {ts}",))


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("ticks")


def add(project: Project, name: str, log: list[Command], **options: Any) -> None:
    project.add_collection(name, KEY, VALUE, options)
    project.append(name, log)


def run(project: Project, name: str, *flags: str, fails: bool = False, **variables: Any) -> str:
    """Run a collection. Give the messages about its batch, or all messages if the run fails."""
    project.run_collection(name, *flags, fails=fails, **variables)
    said = project.messages
    return "\n".join(line for line in said if fails or line.startswith(f"{name}_batch: "))


def batches(project: Project, name: str) -> list[tuple[int, int]]:
    return [(row["_lower"], row["_upper"]) for row in project.progress(name)]


def recreate(project: Project, name: str, log: list[Command]) -> None:
    """Replace the commands of the log."""
    project.sql(f"delete from {{}}.{name}_log where true")
    project.append(name, log)


@pytest.mark.long
def test_a_recreated_log_that_ends_below_the_frontier_gives_a_message(project: Project) -> None:
    add(project, "anew", [put(1), put(100, "b")])
    run(project, "anew")
    recreate(project, "anew", [put(1, "new"), put(5, "newer")])
    for _ in range(2):
        said = run(project, "anew")
        assert said.count("\n") == 0
        assert f"{ENDS_BELOW}: its greatest tick is 5, but ticks up to 100 were settled" in said
        assert "the frontier is 101" in said
        assert "give its commands ticks from 101 on" in said
        assert "dbt run --full-refresh -s anew_commands anew_corrections anew_batch" in said
        assert "anew_changelog anew_state --vars '{trueup_rebase: true}'" in said
        assert "up to date" not in said
    run(project, "anew", "--full-refresh", rebase=True)
    assert multiset(project.rows("anew")) == multiset([("new", "value 1"), ("newer", "value 5")])
    assert run(project, "anew") == "anew_batch: up to date at 6"


def test_late_fail_stops_a_run_if_the_log_ends_below_the_frontier(
    project: Project,
) -> None:
    add(project, "strict", [put(1), put(100, "b"), put(100, "c")], late="fail")
    run(project, "strict")
    recreate(project, "strict", [put(5, "new")])
    said = run(project, "strict", fails=True)
    assert "must be one that still has the ticks that were settled, up to 100." in said
    assert (
        "Got: a log that ends below the frontier: its greatest tick is 5, the frontier is 101"
        in said
    )
    assert "dbt run --full-refresh -s strict_commands strict_corrections" in said
    project.append("strict", [put(101, "past")])
    assert run(project, "strict") == "strict_batch: batch 2 [101, 102)"


QUIET: dict[str, tuple[dict[str, Any], list[Command]]] = {
    "settled_ahead": ({"input_upper": "200"}, [put(1), put(100, "b")]),
    "kept_from_50": ({"input_upper": "200"}, [put(100, "b")]),
    "emptied": ({}, []),
    "compacted": ({"log": "partial"}, [put(1)]),
    "corrected": ({"late": "correct"}, [put(1)]),
}
"""Collections whose logs may end below the frontier: the options, and the log of the second run."""


@pytest.mark.long
def test_a_log_that_may_end_below_the_frontier_gives_no_message(project: Project) -> None:
    for name, (options, _) in QUIET.items():
        project.add_collection(name, KEY, VALUE, options)
        project.append(name, [put(1), put(100, "b")])
    project.run(*(f"models/{name}" for name in QUIET))
    for name, (_, later) in QUIET.items():
        recreate(project, name, later)
    for _ in range(2):
        project.run(*(f"{name}_{role}" for name in QUIET for role in TABLES))
        said = [line for line in project.messages if "_batch: " in line]
        assert not [line for line in said if ENDS_BELOW in line]
    assert sorted(said) == sorted(
        f"{name}_batch: up to date at {200 if 'input_upper' in options else 101}"
        for name, (options, _) in QUIET.items()
    )


def test_a_collection_begins_at_0_or_at_a_smaller_tick_of_its_log(project: Project) -> None:
    log = [put(-7, "old"), put(-7, "older"), put(-2), put(3)]
    add(project, "before", log, max_commands_per_batch=2)
    add(project, "after", [put(5), put(6)])
    project.run("models/before", "models/after")
    project.run(*(f"before_{role}" for role in TABLES))
    assert batches(project, "before") == [(-7, -6), (-6, 4)]
    assert batches(project, "after") == [(0, 7)]
    assert multiset(project.rows("before")) == multiset(
        [("old", "value -7"), ("older", "value -7"), ("a", "value 3")]
    )
    late = [row["_statistics"]["late_dropped"] for row in project.progress("before")]
    assert late == [0, 0]


@pytest.mark.long
def test_an_empty_log_settles_nothing_and_its_first_tick_is_not_late(project: Project) -> None:
    add(project, "none_yet", [], late="fail")
    assert run(project, "none_yet") == "none_yet_batch: up to date at 0"
    project.append("none_yet", [put(-5)])
    assert run(project, "none_yet") == "none_yet_batch: batch 1 [-5, -4)"
    assert project.rows("none_yet") == [("a", "value -5")]


@pytest.mark.long
def test_late_commands_below_zero_are_corrected_too(project: Project) -> None:
    add(project, "mended", [put(-5), put(2, "b")], late="correct")
    run(project, "mended")
    project.append("mended", [put(-9, "c"), put(-3)])
    run(project, "mended")
    assert multiset(project.rows("mended")) == multiset(
        [("a", "value -3"), ("b", "value 2"), ("c", "value -9")]
    )


@pytest.mark.long
def test_the_message_of_a_batch_counts_the_commands_below_as_of(project: Project) -> None:
    add(project, "since", [put(-3), put(1, "b"), put(9, "c")], as_of=5)
    note = "2 commands below the option `as_of` (5) are left out"
    assert run(project, "since") == f"since_batch: batch 1 [5, 10); {note}"
    assert run(project, "since") == "since_batch: up to date at 10"
    (progress,) = project.progress("since")
    counts = progress["_statistics"]
    assert (counts["commands_settled"], counts["messages_received"]) == (3, 1)
    add(project, "not_yet", [put(1)], as_of=5)
    note = "1 commands below the option `as_of` (5) are left out"
    assert run(project, "not_yet") == f"not_yet_batch: up to date at 5; {note}"


@pytest.mark.long
def test_a_select_over_ticks_below_zero_is_written_at_the_last_tick(project: Project) -> None:
    add(project, "items", [put(-9), put(-8, "b")])
    project.add_select(
        "counted", "select count(*) as n, 1 as one from {{ ref('items') }}", ["one"], of=["items"]
    )
    project.run("models/items", "models/counted")
    assert batches(project, "counted") == [(-8, -7)]
    project.append("items", [put(-4, "c")])
    project.run("models/items", "models/counted")
    assert batches(project, "counted") == [(-8, -7), (-7, -3)]
    assert project.rows("counted") == [(1, 3)]


@pytest.mark.long
def test_the_greatest_bigint_is_not_a_valid_tick(project: Project) -> None:
    add(project, "endless", [put(1), put(2, "b")])
    run(project, "endless")
    project.append("endless", [put(GREATEST, "c")])
    for flags, variables in (((), {}), (("--full-refresh",), {"rebase": True})):
        said = run(project, "endless", *flags, fails=True, **variables)
        assert f"must be below {GREATEST}, the greatest bigint" in said
        assert f"Got: a command with the tick {GREATEST}" in said
    assert batches(project, "endless") == [(0, 3)]
    recreate(project, "endless", [put(1), put(2, "b"), put(GREATEST - 1, "c")])
    run(project, "endless")
    assert batches(project, "endless") == [(0, 3), (3, GREATEST)]


def test_the_smallest_bigint_is_a_valid_tick(project: Project) -> None:
    add(project, "first", [put(LEAST), put(0, "b")])
    run(project, "first")
    assert batches(project, "first") == [(LEAST, 1)]
    assert len(project.rows("first")) == 2


def test_the_greatest_bigint_is_not_a_valid_offset(project: Project) -> None:
    project.sql("create table {}.topic (p int, o bigint, k string, v string) using {format}")
    project.add_collection("offsets", KEY, VALUE)
    call = f"'{project.name}.topic', reclock=['p', 'o'], columns=['v']"
    project.write("models/offsets/offsets_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
    project.sql("insert into {}.topic values (0, 7, 'a', 'x')")
    run(project, "offsets")
    project.sql(f"insert into {{}}.topic values (1, {GREATEST}, 'b', 'y')")
    said = run(project, "offsets", fails=True)
    assert f"must be below {GREATEST}, the greatest bigint" in said
    assert f"Got: {GREATEST} in the partition 1" in said
    assert "\tat org." not in said
    said = run(project, "offsets", "--full-refresh", fails=True, rebase=True)
    assert f"must be below {GREATEST}, the greatest bigint" in said
    assert f"Got: a command with the offset {GREATEST}" in said
    assert project.rows("offsets") == [("a", "x")]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["tinyint", "int"])
def test_until_and_as_of_may_exceed_the_integer_type_of_the_ticks(
    project: Project, kind: str
) -> None:
    name = f"of_{kind}"
    project.sql(f"create table {{}}.{kind}s (t {kind}, o int, k string, v string) using {{format}}")
    project.add_collection(name, KEY, VALUE)
    arguments = "ts='t', sequence_by=['o'], truncate_when='k is null', columns=['v']"
    call = f"'{project.name}.{kind}s', {arguments}"
    project.write(f"models/{name}/{name}_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
    project.sql(f"insert into {{}}.{kind}s values (-1, 1, 'a', 'x'), (1, 1, 'b', 'y')")
    assert run(project, name, until=10**12) == f"{name}_batch: batch 1 [-1, 2)"
    assert multiset(project.rows(name)) == multiset([("a", "x"), ("b", "y")])
    project.sql(f"insert into {{}}.{kind}s values (2, 1, null, null), (2, 2, 'c', 'z')")
    run(project, name, until=10**12)
    assert project.rows(name) == [("c", "z")]
    project.configure(**{name: {"+unique_key": ["k"], "+meta": {"trueup": {"as_of": 10**12}}}})
    run(project, name, "--full-refresh", rebase=True)
    assert project.rows(name) == []
