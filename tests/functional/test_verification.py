"""A run finds edits of the state by its snapshots, without a scan of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.between import before, sent
from tests.functional.edits import delete, insert, merge, update
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

KEY, VALUE = [Column("k", "int")], [Column("v", "string")]
SCAN = "select buckets from wrong_buckets"
"""The statement that scans the rows of the state to verify them."""
RUN = ("orders_corrections", "orders_batch", "orders_changelog", "orders_state")


def use(project: Project, verify: str | int) -> None:
    orders = {"+unique_key": ["k"], "+meta": {"trueup": {"verify": verify}}}
    if project.config["orders"] != orders:
        # Otherwise dbt would parse the project again in each test.
        project.configure(orders=orders)


def settle(project: Project, ts: int) -> None:
    project.append("orders", [Command(ts, (ts,), (key,), (f"v{ts}",)) for key in (1, 2, ts)])
    project.run(*RUN)


def latest_tick(project: Project) -> int:
    return int(project.progress("orders")[-1]["_upper"])


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """The collection `orders` after four batches. The second run has scanned its state."""
    project = new_project("verification")
    project.add_collection("orders", KEY, VALUE, {"verify": "always"})
    project.run()
    for ts in range(1, 5):
        settle(project, ts)
    return project


@pytest.fixture(autouse=True)
def healthy(project: Project) -> Iterator[Any]:
    """The rows of the state. Before and after the test they are those of the changelog."""
    use(project, "always")
    found = state(project)
    yield found
    sums = project.sql(
        "select k, v from {}.orders_changelog where _kind = 'update' group by k, v"
        " having sum(_diff) = 1"
    )
    left = multiset(project.rows("orders"))
    if left != multiset([tuple(row) for row in sums]):
        # The next test begins with a healed state. This one has failed: none may leave damage.
        use(project, "content")
        project.run("orders_corrections")
        pytest.fail(f"the state that the test left is not that of the changelog: {left}")


def verified_by(project: Project) -> str | None:
    """Give how the run of the last batch verified the state, as its statistics say."""
    found: str | None = project.progress("orders")[-1]["_statistics"]["state_verified_by"]
    return found


def state(project: Project) -> Any:
    return multiset(project.sql("select * from {}.orders_state"))


@pytest.mark.long
def test_runs_do_not_scan_a_state_that_only_trueup_has_written(project: Project) -> None:
    with sent(SCAN) as found:
        for _ in range(3):
            settle(project, latest_tick(project))
            project.run(*RUN)
    assert not found
    assert verified_by(project) == "snapshots"


@pytest.mark.iceberg_only
def test_a_rewrite_of_the_files_leads_to_no_scan(project: Project) -> None:
    project.rewrite_files("orders_state")
    with sent(SCAN) as found:
        project.run(*RUN)
    assert not found


@pytest.mark.long
def test_a_batch_that_a_killed_run_left_behind_leads_to_no_scan(project: Project) -> None:
    ts = latest_tick(project)
    project.append("orders", [Command(ts, (ts,), (1,), ("killed",))])
    project.run(*RUN[:3])
    with sent(SCAN) as found:
        project.run(*RUN)
    assert not found
    assert (1, "killed") in project.rows("orders")


@pytest.mark.long
@pytest.mark.parametrize(
    ("verify", "expected"), [("content", 3), (2, 1), ("always", 0), ("never", 0)]
)
def test_option_verify_says_how_often_the_content_is_scanned(
    project: Project, verify: str | int, expected: int
) -> None:
    if len(project.progress("orders")) % 2:
        settle(project, latest_tick(project))
    use(project, 1 if verify == 2 else "always")
    project.run("orders_corrections")
    use(project, verify)
    counts: list[int] = []
    for _ in range(3):
        project.append("orders", [Command(latest_tick(project), (1,), (1,), (f"{len(counts)}",))])
        with sent(SCAN) as found:
            project.run(*RUN)
        counts.append(len(found))
    # A scan after every second batch: of three batches that were not scanned, one is a second one.
    assert sum(counts) == expected
    if verify == "never":
        assert verified_by(project) is None
    else:
        assert verified_by(project) == ("scan" if counts[-1] else "snapshots")


def roll_back(project: Project) -> None:
    """Go back to the snapshot before the last two batches."""
    table = f"{project.name}.orders_state"
    if project.table_format == "delta":
        now = project.version("orders_state") or 0
        project.sql(f"restore table {table} to version as of {now - 2}")
        return
    older = project.sql(
        f"select snapshot_id from {table}.history where is_current_ancestor"
        " order by made_current_at desc limit 3"
    )
    project.sql(f"call system.rollback_to_snapshot('{table}', {older[-1][0]})")


def replace(project: Project) -> None:
    project.sql(
        "create or replace table {}.orders_state using {format}"
        " tblproperties ('delta.columnMapping.mode' = 'name') as"
        " select k, if(k = 1, 'replaced', v) as v, * except (k, v) from {}.orders_state"
    )


EDITS = [update, delete, insert, merge, roll_back, replace]


@pytest.mark.long_cases
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_an_edit_of_the_state_is_found_by_its_snapshots(
    project: Project, edit: Callable[[Project], None], healthy: Any
) -> None:
    for _ in range(2):
        settle(project, latest_tick(project))
    project.run("orders_corrections")
    with sent(SCAN) as found:
        project.run("orders_corrections")
    assert not found
    healthy = state(project)

    edit(project)
    assert state(project) != healthy
    project.run("orders_corrections")

    assert state(project) == healthy
    assert "healed" in project.messages[0] or "rebuilt" in project.messages[0]


@pytest.mark.long
@pytest.mark.iceberg_only
def test_an_edit_after_a_rebuild_is_found(project: Project) -> None:
    """A rebuild applies several batches by one commit, which breaks the count of commits."""
    for _ in range(2):
        settle(project, latest_tick(project))
    roll_back(project)
    project.run("orders_corrections")
    assert "rebuilt" in project.messages[0]
    update(project)
    project.run("orders_corrections")

    assert (1, "edited") not in project.rows("orders")


def test_a_column_that_somebody_dropped_is_healed(project: Project) -> None:
    expected = project.rows("orders")
    project.run("orders_corrections")
    project.sql("alter table {}.orders_state drop column v")
    project.run("orders_corrections")

    assert "healed" in project.messages[0]
    assert multiset(project.rows("orders")) == multiset(expected)


def test_a_batch_does_not_read_a_state_that_was_edited_after_it_was_verified(
    project: Project,
) -> None:
    """The edit writes what a new command says, so the batch would find nothing to change."""
    project.run("orders_corrections")
    ts = latest_tick(project)
    before_the_run = len(project.progress("orders"))
    project.append("orders", [Command(ts, (ts,), (1,), ("edited",))])
    with before(r"create or replace table \S*_batch", lambda: update(project)):
        project.run(*RUN, fails=True)
    assert "state moved: somebody wrote to" in "\n".join(project.messages)
    assert len(project.progress("orders")) == before_the_run

    project.run(*RUN)

    assert (1, "edited") in project.rows("orders")
    assert project.progress("orders")[-1]["_statistics"]["updates"] == 1


def forget(project: Project, note: str = "'trueup.forgotten' = 'by another run'") -> None:
    project.sql(f"alter table {{}}.orders_state set tblproperties ({note})")


@pytest.mark.long_cases
@pytest.mark.parametrize(
    ("note", "doubt"),
    [
        ("'trueup.forgotten' = 'by another run'", "nobody has verified"),
        ("'trueup.scanned_snapshot' = 'trusted'", "somebody wrote to"),
    ],
)
@pytest.mark.parametrize("is_healed", [False, True])
def test_an_edit_that_loses_the_note_of_the_last_scan_is_no_prior_value(
    project: Project, note: str, doubt: str, *, is_healed: bool
) -> None:
    """As if another run had found the edit, and had forgotten the scan before it healed.

    This run has verified the state by its snapshots, or has healed it.
    """
    ts = latest_tick(project)
    project.append("orders", [Command(ts, (ts,), (1,), ("new",))])
    if is_healed:
        delete(project)

    def edit() -> None:
        update(project)
        forget(project, note)

    with before(r"create or replace table \S*_batch", edit):
        project.run(*RUN, fails=True)
    assert f"state moved: {doubt}" in "\n".join(project.messages)

    project.run(*RUN)

    assert (1, "new") in project.rows("orders")


@pytest.mark.long
def test_a_batch_refuses_a_state_to_which_one_commit_has_applied_several_batches(
    project: Project,
) -> None:
    for _ in range(2):
        settle(project, latest_tick(project))
    roll_back(project)
    project.run("orders_state")
    ts = latest_tick(project)
    project.append("orders", [Command(ts, (ts,), (1,), ("new",))])

    project.run("orders_batch", fails=True)
    assert "state moved: nobody has verified" in "\n".join(project.messages)
    project.run(*RUN)

    assert (1, "new") in project.rows("orders")


@pytest.mark.long
def test_a_scan_of_the_content_verifies_a_state_whose_scan_was_forgotten(project: Project) -> None:
    ts = latest_tick(project)
    project.append("orders", [Command(ts, (ts,), (1,), ("new",))])
    forget(project)
    project.run("orders_batch", fails=True)
    assert "state moved: nobody has verified" in "\n".join(project.messages)

    use(project, "content")
    project.run("orders_corrections")
    use(project, "always")

    project.run(*RUN[1:])
    assert (1, "new") in project.rows("orders")


def test_a_progress_row_with_a_key_is_repaired(project: Project) -> None:
    """The apply finds the progress row by its empty key."""
    project.sql("update {}.orders_state set k = 7")
    settle(project, latest_tick(project))
    assert (7, "edited") not in project.rows("orders")


def test_a_progress_row_with_a_key_is_repaired_before_a_batch_that_a_killed_run_left(
    project: Project,
) -> None:
    ts = latest_tick(project)
    project.append("orders", [Command(ts, (ts,), (1,), ("killed",))])
    project.run(*RUN[:3])
    project.sql("update {}.orders_state set k = 7 where _kind = 'progress'")

    project.run("orders_state", fails=True)
    assert "one progress row" in project.messages[0]
    project.run(*RUN)

    assert (1, "killed") in project.rows("orders")


def test_a_heal_never_writes_two_rows_of_a_key(project: Project) -> None:
    """The certificates of such a changelog add up, but its updates leave two values."""
    versions = {name: project.versions(name)[0] for name in ("orders_changelog", "orders_state")}
    ts = latest_tick(project)
    use(project, "never")
    project.sql("update {}.orders_state set v = 'edited' where k = 1")
    project.append("orders", [Command(ts, (ts,), (1,), ("new",))])
    project.run(*RUN)
    rows = state(project)
    use(project, "always")
    project.sql("delete from {}.orders_state where k = 2")

    project.run("orders_corrections", fails=True)

    assert "do not add up: key" in project.messages[0]
    assert len(project.rows("orders")) == len(rows) - 2
    project.restore(versions)
    # The log has a command that is settled no more.
    project.run(*RUN)


def test_an_edit_between_two_statements_is_found_by_the_next_run(project: Project) -> None:
    """The edit comes after the run has verified the state, and before the run applies its batch."""
    ts = latest_tick(project)
    project.append("orders", [Command(ts, (ts,), (77,), ("new",))])
    edit = (
        "insert into {}.orders_state by name"
        " select * except (k), 98 as k from {}.orders_state where k = 1"
    )
    with before(r"merge into \S*_state", lambda: project.sql(edit)):
        project.run(*RUN)
    assert 98 in [row[0] for row in project.rows("orders")]

    project.run(*RUN)

    assert 98 not in [row[0] for row in project.rows("orders")]


@pytest.mark.long
def test_an_edit_during_a_scan_is_found_by_the_next_run(project: Project) -> None:
    use(project, 1)
    settle(project, latest_tick(project))
    edit = "update {}.orders_state set v = 'during' where k = 2"
    with before(r"alter table \S*orders_state", lambda: project.sql(edit)):
        project.run(*RUN)
    use(project, "always")

    project.run(*RUN)

    assert (2, "during") not in project.rows("orders")


@pytest.mark.iceberg_only
def test_a_damaged_data_file_is_found_by_a_scan_of_the_content(project: Project) -> None:
    """Damage below the table format makes no snapshot, so only a scan can find it."""
    project.sql(
        "alter table {}.orders_state set tblproperties"
        " ('write.parquet.compression-codec' = 'uncompressed')"
    )
    project.rewrite_files("orders_state")
    project.run("orders_corrections")
    value = project.sql("select v from {}.orders_state where k = 1")[0][0].encode()
    for (name,) in project.sql("select file_path from {}.orders_state.files where content = 0"):
        path = Path(name.removeprefix("file:"))
        path.write_bytes(path.read_bytes().replace(value, b"?" * len(value)))
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    damaged = "?" * len(value)
    assert (1, damaged) in project.rows("orders")

    project.run("orders_corrections")
    assert (1, damaged) in project.rows("orders")
    use(project, "content")
    project.run("orders_corrections")

    assert (1, value.decode()) in project.rows("orders")
    assert "healed" in project.messages[0]


def test_a_batch_after_a_rebuild_is_staged_without_the_corrections(project: Project) -> None:
    project.run("orders_state", "--full-refresh")
    ts = latest_tick(project)
    project.append("orders", [Command(ts, (ts,), (1,), ("rebuilt",))])
    project.run("orders_batch", "orders_changelog", "orders_state")
    assert (1, "rebuilt") in project.rows("orders")


def forget_snapshots(project: Project) -> None:
    """Expire all snapshots of the state but the newest one."""
    newest = project.versions("orders_state")[0]
    project.sql(
        f"call lake.system.expire_snapshots(table => '{project.name}.orders_state',"
        " retain_last => 1, older_than => timestamp '2100-01-01 00:00:00')"
    )
    assert project.versions("orders_state") == [newest]


@pytest.mark.iceberg_only
def test_maintenance_between_verification_and_batch_is_no_edit(project: Project) -> None:
    """It rewrites the files, and the snapshot of the last scan expires."""
    ts = latest_tick(project)
    project.run("orders_corrections")
    settle(project, ts)
    project.append("orders", [Command(ts + 1, (ts + 1,), (1,), ("maintained",))])

    def maintain() -> None:
        project.rewrite_files("orders_state")
        forget_snapshots(project)

    with before(r"create or replace table \S*_batch", maintain):
        project.run(*RUN)
    assert (1, "maintained") in project.rows("orders")


@pytest.mark.long
@pytest.mark.iceberg_only
def test_a_batch_says_if_the_snapshots_do_not_tell_who_wrote(project: Project) -> None:
    ts = latest_tick(project)
    project.run("orders_corrections")
    for tick in (ts, ts + 1):
        settle(project, tick)
    table = f"{project.name}.orders_state"
    forget_snapshots(project)
    project.append("orders", [Command(ts + 2, (ts + 2,), (1,), ("later",))])
    project.run("orders_batch", fails=True)
    said = "\n".join(project.messages)
    assert f"state moved: the snapshots do not tell who wrote to {table} after" in said
    project.run(*RUN)
    assert (1, "later") in project.rows("orders")
