"""Two runs of one collection overlap: one run writes between two statements of the other.

Most tests only imitate the other run: they send one of its statements in the middle of this run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column, multiset
from tests.between import before, sent_through
from tests.oracle import Command, check_laws

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
COMPARE = r"(insert into|create or replace table) \S*_corrections[\s\S]*desired_in_doubt"
LOOK = r'{name}_state"}} \*/\s*/\* trueup: look \*/\s*show tblproperties \S*_state'
"""How the model of the state asks for the properties of the state."""


def put(ts: int, key: str = "a", value: str | None = None) -> Command:
    return Command(ts, (1,), (key,), (value or f"value {ts}",))


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("overlaps")


def add(project: Project, name: str, log: list[Command], **options: object) -> None:
    """Add a collection and settle its log."""
    project.add_collection(name, KEY, VALUE, options)
    project.append(name, log)
    project.run_collection(name)


def staged(project: Project, name: str) -> set[str]:
    return {row[0] for row in project.sql(f"select distinct _batch_id from {{}}.{name}_batch")}


@pytest.mark.long
def test_a_run_with_nothing_to_do_keeps_the_staged_batch_of_another_run(
    project: Project,
) -> None:
    add(project, "idle", [put(1)])
    project.append("idle", [put(2)])
    project.run("idle_corrections", "idle_batch")

    project.run_collection("idle", until=2)

    assert len(project.progress("idle")) == 1
    project.run("idle_changelog", "idle_state")
    assert project.rows("idle") == [("a", "value 2")]


@pytest.mark.long
def test_a_run_removes_only_the_staged_batch_that_it_saw(project: Project) -> None:
    add(project, "plan", [put(1)])
    project.append("plan", [put(2)])
    project.run_collection("plan", read_only=True)

    def stage() -> None:
        project.sql("update {}.plan_batch set _batch_id = 'of another run' where true")

    with before(r"delete from \S*_batch", stage):
        project.run_collection("plan", until=2)

    assert staged(project, "plan") == {"of another run"}
    assert len(project.progress("plan")) == 1


@pytest.mark.long
def test_a_run_fails_if_another_run_replaced_its_staged_batch(project: Project) -> None:
    add(project, "replaced", [put(1)])
    project.append("replaced", [put(2)])

    def stage() -> None:
        project.sql("update {}.replaced_batch set _batch_id = 'of another run' where true")

    with before("trueup: append", stage):
        project.run_collection("replaced", fails=True)

    assert any(
        "batch moved: another run staged batch 2 after this run began; nothing is appended" in said
        for said in project.messages
    )
    assert len(project.progress("replaced")) == 1
    project.run_collection("replaced")
    assert project.rows("replaced") == [("a", "value 2")]


@pytest.mark.long
def test_a_batch_that_was_planned_before_this_run_began_is_a_conflict_too(
    project: Project,
) -> None:
    add(project, "slow", [put(1)])
    project.append("slow", [put(2)])

    def stage() -> None:
        project.sql(
            "update {}.slow_batch set _batch_id = 'of another run',"
            " _statistics.minted_at = timestamp'2020-01-01' where true"
        )

    with before("trueup: append", stage):
        project.run_collection("slow", fails=True)

    assert "batch moved: another run staged batch 2" in "\n".join(project.messages)
    assert len(project.progress("slow")) == 1


def test_max_retractions_does_not_count_the_rows_of_another_batch(project: Project) -> None:
    add(project, "counted", [put(1), put(1, "b")], max_retractions=0)
    project.append("counted", [put(2, "c")])

    def stage() -> None:
        project.sql("create table {}.counted_kept using {format} as select * from {}.counted_batch")
        project.sql(
            "insert overwrite {}.counted_batch by name select * except (_batch_id, _diff),"
            " 'of another run' as _batch_id, if(_kind = 'update', -1, _diff) as _diff"
            " from {}.counted_kept"
        )

    with before("array_distinct.*as samples", stage):
        project.run_collection("counted", fails=True)

    said = "\n".join(project.messages)
    assert "batch moved: another run staged batch 2" in said
    assert "max_retractions" not in said


@pytest.mark.long
def test_a_run_says_that_its_batch_continues_another_one_if_the_last_batch_has_changed(
    project: Project,
) -> None:
    add(project, "continued", [put(1)])
    project.append("continued", [put(2)])

    def replace_the_last_batch() -> None:
        project.sql(
            "update {}.continued_changelog set _statistics.seal.own = 1 where _kind = 'progress'"
        )

    with before("trueup: append", replace_the_last_batch):
        project.run_collection("continued", fails=True)

    said = "\n".join(project.messages)
    assert "batch moved: batch 1 of the changelog is not the one that batch 2 continues" in said
    assert len(project.progress("continued")) == 1


@pytest.mark.long
def test_a_rebase_drops_the_state_that_another_run_has_rebuilt_meanwhile(project: Project) -> None:
    add(project, "again", [put(1)])
    project.sql("create table {}.again_kept using {format} as select * from {}.again_state")

    def rebuild() -> None:
        project.sql("create table {}.again_state using {format} as select * from {}.again_kept")

    with before(r"drop table.*again_changelog", rebuild):
        project.run_collection("again", "--full-refresh", rebase=True)

    assert project.rows("again") == [("a", "value 1")]
    assert [row["_seq"] for row in project.progress("again")] == [1]


REMOVED = (
    "batch moved: another run removed batch 2 after this run staged it; nothing of it is written"
)


@pytest.mark.long
@pytest.mark.parametrize(("on_conflict", "rows"), [("fail", 2), ("skip", 2), ("retry", 3)])
def test_a_batch_that_another_run_has_replaced_and_appended_is_a_conflict(
    project: Project, on_conflict: str, rows: int
) -> None:
    name = f"overtaken_{on_conflict}"
    _, second = overtaken(project, name, 1, on_conflict=on_conflict)
    changelog, batch = (f"{name}_{role}" for role in ("changelog", "batch"))
    of_other_run = {changelog: second[changelog], batch: project.versions(batch)[0]}

    def append_other() -> None:
        project.append(name, [put(3)])
        project.restore(of_other_run)

    with before("trueup: append", append_other):
        project.run_collection(name, fails=on_conflict == "fail")

    said = "\n".join(project.messages)
    assert (REMOVED in said) == (on_conflict != "retry")
    assert len(project.progress(name)) == rows
    project.run_collection(name)
    assert project.rows(name) == [("a", "value 3")]


@pytest.mark.long_cases
@pytest.mark.iceberg_only
@pytest.mark.parametrize(("on_conflict", "rows"), [("retry", 3), ("skip", 2)])
def test_a_batch_that_another_run_applies_while_this_run_stages_is_a_conflict(
    project: Project, on_conflict: str, rows: int
) -> None:
    """The state then has a commit that this run has not verified. It is one of trueup's own.

    The other run is played by putting its tables back. On Delta that is one more commit, an edit.
    """
    name = f"outrun_{on_conflict}"
    _, second = overtaken(project, name, 1, on_conflict=on_conflict, verify="always")
    stagings: list[str] = []

    def stage_then_lose(execute: Callable[[str], None], sql: str) -> None:
        execute(sql)
        if not stagings and re.search(r"create or replace table \S*_batch", sql):
            stagings.append(sql)
            project.append(name, [put(3)])
            project.restore(second)

    with sent_through(stage_then_lose):
        project.run_collection(name)

    assert stagings
    assert len(project.progress(name)) == rows
    project.run_collection(name)
    assert project.rows(name) == [("a", "value 3")]


@pytest.mark.long_cases
@pytest.mark.parametrize(
    ("edit", "left"),
    [
        ("delete from {}.edited_batch where true", REMOVED),
        ("delete from {}.edited_batch where _kind = 'progress'", REMOVED),
        ("delete from {}.edited_batch where _kind = 'update'", "damaged batch"),
    ],
)
def test_a_batch_that_is_edited_after_this_run_staged_it_is_not_appended(
    project: Project, edit: str, left: str
) -> None:
    """The append does not ask for the batch of its own run. Its statement alone sees the edit."""
    name = f"edited_{len(edit)}"
    add(project, name, [put(1)])
    project.append(name, [put(2)])
    updates = project.updates(name)

    with before("trueup: append", lambda: project.sql(edit.replace("edited", name))):
        project.run_collection(name, fails=True)

    assert left in "\n".join(project.messages)
    assert len(project.progress(name)) == 1
    assert project.updates(name) == updates
    project.run_collection(name)
    assert project.rows(name) == [("a", "value 2")]


@pytest.mark.long
def test_a_state_that_another_run_has_caught_up_is_left_alone(project: Project) -> None:
    """The apply expects what the append has left, but looks where the state stands."""
    _, second = overtaken(project, "caught", 1)
    state = "caught_state"

    with before(LOOK.format(name="caught"), lambda: project.restore({state: second[state]})):
        project.run_collection("caught")

    assert "caught_state: up to date at batch 2" in project.messages
    assert project.rows("caught") == [("a", "value 2")]


@pytest.mark.long
def test_a_state_that_another_run_catches_up_during_the_apply_has_moved(project: Project) -> None:
    _, second = overtaken(project, "late_caught", 1)
    state = "late_caught_state"

    with before("/\\* trueup: apply", lambda: project.restore({state: second[state]})):
        project.run_collection("late_caught", fails=True)

    assert (
        "state moved: the tail was read after batch 1 up to batch 2, and since then"
        in "\n".join(project.messages)
    )
    project.run_collection("late_caught")
    assert project.rows("late_caught") == [("a", "value 2")]


@pytest.mark.long
def test_a_rewrite_of_the_state_between_append_and_apply_changes_nothing(project: Project) -> None:
    """The snapshot is another one, but both tables stand where the append has left them."""
    add(project, "rewritten", [put(1)])
    project.append("rewritten", [put(2)])

    with before(LOOK.format(name="rewritten"), lambda: project.rewrite_files("rewritten_state")):
        project.run_collection("rewritten")

    assert "rewritten_state: applied batch 2" in project.messages
    assert project.rows("rewritten") == [("a", "value 2")]


@pytest.mark.long
@pytest.mark.iceberg_only
def test_a_changelog_that_was_restored_before_the_apply_is_not_applied(project: Project) -> None:
    """The state has the snapshot on which the batch was staged, but the batch is gone."""
    add(project, "restored", [put(1)])
    first = {"restored_changelog": project.versions("restored_changelog")[0]}
    project.append("restored", [put(2)])

    with before("/\\* trueup: apply", lambda: project.restore(first)):
        project.run_collection("restored", fails=True)

    assert "and since then a table has moved; nothing is applied" in "\n".join(project.messages)
    project.run_collection("restored")
    assert project.rows("restored") == [("a", "value 2")]


@pytest.mark.long
def test_a_run_plans_anew_if_another_run_appended_since_its_corrections(project: Project) -> None:
    add(project, "planned", [put(1)], verify="always")
    tables = [f"planned_{role}" for role in ("changelog", "state")]
    first = {table: project.versions(table)[0] for table in tables}
    project.append("planned", [put(2)])
    project.run_collection("planned")
    second = {table: project.versions(table)[0] for table in tables}
    project.restore(first)

    # Between corrections and batch the tables become those that the other run has left.
    with before("as last_seq_now", lambda: project.restore(second)):
        project.run_collection("planned")

    assert "planned_batch: up to date at 3" in project.messages
    assert len(project.progress("planned")) == 2
    assert project.rows("planned") == [("a", "value 2")]


def overtaken(project: Project, name: str, times: int, **options: object) -> list[dict[str, int]]:
    """Create a collection and let another run append batches to it. Return its snapshots.

    The first one has one batch. The collection is put back to it, with all commands in its log.
    """
    add(project, name, [put(1)], **options)
    tables = [f"{name}_{role}" for role in ("changelog", "state")]
    found = [{table: project.versions(table)[0] for table in tables}]
    for ts in range(2, times + 2):
        project.append(name, [put(ts)])
        project.run_collection(name)
        found.append({table: project.versions(table)[0] for table in tables})
    project.restore(found[0])
    return found


@pytest.mark.long
def test_a_run_that_loses_its_append_stages_again(project: Project) -> None:
    _, second = overtaken(project, "retried", 1, on_conflict="retry", late="newest")
    project.append("retried", [put(9, "b", "new"), put(3)])

    with before("trueup: append", lambda: project.restore(second)):
        project.run_collection("retried")

    again = "; staged again, because another run was first"
    assert f"retried_changelog: batch 3: 3 updates, upper 10{again}" in project.messages
    assert "retried_state: applied batch 3" in project.messages
    assert [row["_seq"] for row in project.progress("retried")] == [1, 2, 3]
    assert multiset(project.rows("retried")) == multiset([("a", "value 3"), ("b", "new")])
    project.run_collection("retried")
    assert "retried_batch: up to date at 10" in project.messages


@pytest.mark.long
def test_a_batch_is_staged_again_with_the_options_of_its_own_model(project: Project) -> None:
    _, second = overtaken(project, "own", 1, on_conflict="retry")
    options = "{{ config(meta={'trueup': {'input_upper': '4'}}) }}"
    project.write("models/own/own_batch.sql", f"{options}{{{{ trueup.batch('own') }}}}")
    project.append("own", [put(9, "b", "new"), put(3)])

    with before("trueup: append", lambda: project.restore(second)):
        project.run_collection("own")

    assert [row["_upper"] for row in project.progress("own")] == [2, 3, 4]
    assert project.rows("own") == [("a", "value 3")]


def test_a_run_that_loses_its_append_to_one_with_a_new_column_stages_again(
    project: Project,
) -> None:
    _, second = overtaken(project, "grown", 1, on_conflict="retry")
    project.append("grown", [put(9)])

    def win() -> None:
        project.restore(second)
        project.sql("alter table {}.grown_changelog add column w string")

    with before(r'grown_changelog"[^*]*[*]/\s*describe query', win):
        project.run("models/grown")

    assert [row["_seq"] for row in project.progress("grown")] == [1, 2, 3]
    assert project.sql("select k, v, w from {}.grown") == [("a", "value 9", None)]


@pytest.mark.long
def test_a_run_that_loses_its_append_to_all_that_it_has_is_done(project: Project) -> None:
    _, second = overtaken(project, "beaten", 1, on_conflict="retry")

    with before("trueup: append", lambda: project.restore(second)):
        project.run_collection("beaten")

    lost = "nothing to append: another run was first, and up to date at 3"
    assert f"beaten_changelog: {lost}" in project.messages
    assert len(project.progress("beaten")) == 2
    assert project.rows("beaten") == [("a", "value 2")]


@pytest.mark.long
def test_a_run_that_loses_four_times_ends_with_the_error(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, *others = overtaken(project, "unlucky", 4, on_conflict="retry")
    project.append("unlucky", [put(9)])
    execute, left = Cursor.execute, list(others)

    def overtake(cursor: Cursor, sql: str, *parameters: object) -> None:
        if "trueup: append" in sql and left:
            project.restore(left.pop(0))
        execute(cursor, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", overtake)
    project.run_collection("unlucky", fails=True)
    monkeypatch.undo()

    lost = "upper mismatch: batch 5 expected lower 5, the changelog's upper is 6"
    assert f"{lost}; run again" in "\n".join(project.messages)
    assert staged(project, "unlucky") == set()
    project.run_collection("unlucky")
    assert project.rows("unlucky") == [("a", "value 9")]


@pytest.mark.long
def test_a_rebase_removes_the_staged_batch(project: Project) -> None:
    add(project, "rebased", [put(1)])
    project.sql("delete from {}.rebased_log where true")

    project.run_collection("rebased", "--full-refresh", rebase=True)

    assert staged(project, "rebased") == set()
    assert project.progress("rebased") == []


@pytest.mark.long
def test_a_compaction_keeps_updates_that_the_state_has_not_applied(project: Project) -> None:
    add(project, "compacted", [put(1), put(1, "b")])
    project.append("compacted", [Command(3, (1,), ("b",), None)])
    project.run("compacted_corrections", "compacted_batch", "compacted_changelog")
    table = "compacted_changelog"
    appended, empty, *_ = project.versions(table)

    project.restore({table: empty})
    with before(r"max\(_upper\) as upper", lambda: project.restore({table: appended})):
        printed = project.operate("compact", fails=True, collection="compacted", since=4)
    assert "The state of `compacted` must be at batch 2" in "\n".join(printed)

    project.run_collection("compacted")
    assert project.rows("compacted") == [("a", "value 1")]


def run_elsewhere(project: Project, *select: str) -> None:
    """Run models in another process, which has its own Spark."""
    dbt = [sys.executable, "-m", "dbt.cli.main", "run", "--project-dir", str(project.folder)]
    paths = ["--target-path", "target_elsewhere", "--log-path", str(project.folder / "elsewhere")]
    done = subprocess.run(
        [*dbt, *paths, "--quiet", "--select", *select],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stdout


# On Delta, the tests of another process would have another catalog.
@pytest.mark.long
@pytest.mark.iceberg_only
def test_a_run_that_overlaps_the_first_run_does_not_rebuild_the_state(
    project: Project,
) -> None:
    project.add_collection("young", KEY, VALUE, {"verify": "always"})
    project.append("young", [put(1), put(1, "b")])
    project.run("young_commands")

    with before(
        r"create table if not exists \S*young_changelog",
        lambda: run_elsewhere(
            project, "young_corrections", "young_batch", "young_changelog", "young_state"
        ),
    ):
        project.run("models/young")

    assert not any("was rebuilt" in said for said in project.messages), project.messages
    assert multiset(project.rows("young")) == multiset([("a", "value 1"), ("b", "value 1")])


@pytest.mark.long
def test_a_run_publishes_the_result_of_a_select_at_one_moment(project: Project) -> None:
    table = f"{project.name}.numbers"
    project.sql(f"create table {table} using {{format}} as select id as k, 0 as n from range(9)")
    project.add_select("numbered", f"select * from {table}", ["k"])
    project.run_collection("numbered")
    project.sql(f"update {table} set n = 1 where k = 1")

    with before(COMPARE, lambda: project.sql(f"update {table} set n = 2 where k < 5")):
        project.run_collection("numbered")

    assert multiset(project.rows("numbered")) == multiset([(k, 2 * (k < 5)) for k in range(9)])


@pytest.mark.long
def test_the_newer_of_two_corrections_of_a_key_wins(project: Project) -> None:
    log = [put(1), put(1, "b"), put(2)]
    add(project, "newer", log, late="correct", verify="always")
    late = Command(1, (2,), ("b",), ("late",))
    project.append("newer", [late])
    project.sql("update {}.newer_state set v = 'edited' where k = 'a'")

    def compare() -> None:
        """Write the corrections of another run, which has not seen the late command."""
        project.sql(
            "create or replace table {}.newer_corrections using {format} as"
            " select 'b' as k, _error_key, _persisted, named_struct('v', '~ older', '_error',"
            " cast(null as string)) as _desired, 'late_command' as _cause, _seq, _ts,"
            " _after_batch_id from {}.newer_corrections"
        )

    with before(COMPARE, compare):
        project.run_collection("newer")

    assert multiset(project.rows("newer")) == multiset([("a", "value 2"), ("b", "late")])
    check_laws(project.updates("newer"))
