"""`trueup.doctor` says what is wrong with a collection, and names the step that repairs it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column, multiset
from tests.functional.test_configurations import configured
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
WELL = [
    "  ok     the tables and the session isolate two runs from each other",
    "  ok     the changelog has 2 batches with ticks below 3; each is what its certificate says",
    "  ok     the state has applied batch 2, and is what the changelog made of it",
    "  ok     no batch waits to be appended",
    "  ok     the log still reaches the ticks that were settled",
    "orders is well.",
]


def put(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), (f"v{ts}",))


REBASE = (
    "dbt run --full-refresh -s orders_commands orders_corrections orders_batch orders_changelog"
    " orders_state --vars '{trueup_rebase: true}'."
)


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """The collection `orders` after two batches. Each test leaves it as it was."""
    project = new_project("doctor")
    project.add_collection("orders", KEY, VALUE)
    return project


@pytest.fixture
def begun(project: Project) -> Project:
    """The project after two batches, also if no test before has run them."""
    if not project.spark.catalog.tableExists("doctor.orders_changelog"):
        settle_two_batches(project)
    return project


def settle_two_batches(project: Project) -> None:
    for ts in (1, 2):
        project.append("orders", [put(ts, "a"), put(ts, f"b{ts}")])
        project.run()


def examine(project: Project) -> list[str]:
    """Give the lines of the doctor, without those of dbt itself."""
    lines = project.operate("doctor", collection="orders")
    return [line for line in lines if line.startswith(("orders ", "  "))]


def sound(lines: list[str]) -> list[str]:
    """Give what is sound among printed lines."""
    return [line.removeprefix("  ok     ") for line in lines if line.startswith("  ok     ")]


def wrong(project: Project) -> list[tuple[str, str]]:
    """Give what is wrong, and the next step for it.

    Each test expects all that is wrong. So it also shows that the test before it left nothing.
    """
    lines = examine(project)
    return [
        (line.removeprefix("  WRONG  "), after.removeprefix("         Next: "))
        for line, after in pairwise(lines)
        if line.startswith("  WRONG  ")
    ]


def test_a_collection_that_has_not_run_is_told_to_run(project: Project) -> None:
    ((text, next_step),) = wrong(project)
    assert text == ("it has not run yet, or somebody has dropped orders_changelog and orders_batch")
    assert next_step.startswith("dbt run -s orders_commands+.")
    settle_two_batches(project)


def test_a_dropped_changelog_is_found_and_a_rebase_begins_again(project: Project) -> None:
    project.sql("alter table {}.orders_changelog rename to {}.orders_kept")
    ((text, next_step),) = wrong(project)
    assert text.endswith("somebody has dropped orders_changelog")
    assert next_step.endswith(REBASE)
    project.run("orders_commands+", "--full-refresh", rebase=True)
    assert [row["_upper"] for row in project.progress("orders")] == [3]
    for role in ("changelog", "state"):
        project.sql(f"drop table {{}}.orders_{role}")
    project.sql("alter table {}.orders_kept rename to {}.orders_changelog")
    project.sql("delete from {}.orders_batch where true")
    project.run("orders_state", "--full-refresh")
    assert examine(project) == WELL


def test_a_sound_collection_is_well_and_the_doctor_changes_nothing(project: Project) -> None:
    tables = [f"orders_{role}" for role in ("batch", "changelog", "state")]
    before = [project.version(table) for table in tables]
    assert examine(project) == WELL
    assert [project.version(table) for table in tables] == before


@pytest.mark.long_cases
@pytest.mark.parametrize(
    "edit",
    [
        pytest.param("set k = 'b' where _kind = 'progress'", id="the key of the progress row"),
        pytest.param("set v = 'edited' where k = 'a'", id="a row"),
    ],
)
def test_an_edited_state_is_found_and_the_rebuild_repairs_it(begun: Project, edit: str) -> None:
    rows = multiset(begun.rows("orders"))
    begun.sql(f"update {{}}.orders_state {edit}")
    ((text, next_step),) = wrong(begun)
    assert text == (
        "somebody has edited the state: it differs from its certificate in 1 bucket of keys"
    )
    assert next_step.endswith(
        "dbt run --full-refresh -s orders_state rebuilds it from the changelog."
    )
    begun.run("orders_state", "--full-refresh")
    assert multiset(begun.rows("orders")) == rows


def test_a_state_that_is_behind_is_found_and_applied(project: Project) -> None:
    snapshot = project.versions("orders_state")[0]
    project.append("orders", [put(3, "c")])
    project.run("orders_batch", "orders_changelog")
    ((text, next_step),) = wrong(project)
    assert text.startswith("the state is at batch 2, behind batch 3 of the changelog")
    assert next_step == "if no other run is active, dbt run -s orders_state applies the rest."
    behind = project.versions("orders_state")[0]
    project.sql(
        "insert into {}.orders_state select * from {}.orders_state where _kind = 'progress'"
    )
    ((text, next_step),) = wrong(project)
    assert text == "the state has more than one progress row, or one with a key"
    assert next_step == "dbt run --full-refresh -s orders_state rebuilds it from the changelog."
    project.restore({"orders_state": behind})
    project.run("orders_state")
    assert examine(project)[-1] == "orders is well."
    # A state that was rolled back further has lost what it cannot get back by one batch.
    project.restore({"orders_state": snapshot})
    project.run("orders_state")


def test_a_staged_batch_that_was_not_appended_is_found(project: Project) -> None:
    staged = f"batch {len(project.progress('orders')) + 1}"
    project.append("orders", [put(4, "d")])
    project.run("orders_batch", read_only=True)
    ((text, next_step),) = wrong(project)
    assert text.startswith(f"{staged} is staged but not appended")
    assert "dbt run -s orders_changelog+ appends it" in next_step
    project.sql("create table {}.held using {format} as select * from {}.orders_batch")
    project.run("orders_changelog", "orders_state")
    # The batch of a run that lost its append.
    project.sql(
        "insert overwrite {}.orders_batch by name select * except (_batch_id), 'other' as _batch_id"
        " from {}.held"
    )
    # A run without new commands would leave it there, so it must not count as wrong.
    assert examine(project)[-1] == "orders is well."
    left = f"a staged batch is left over, and the next batch replaces it: upper mismatch: {staged}"
    assert [text for text in sound(examine(project)) if text.startswith(left)]
    project.append("orders", [put(5, "e")])
    project.run()
    assert "no batch waits to be appended" in sound(examine(project))


def test_a_damaged_changelog_is_found_with_its_first_damaged_batch(project: Project) -> None:
    snapshot = project.versions("orders_changelog")[0]
    project.sql("delete from {}.orders_changelog where _kind = 'update' and _seq = 3")
    ((text, next_step),) = wrong(project)
    assert text == (
        "the changelog is damaged since batch 3: rows of it were lost, doubled or changed"
    )
    assert next_step.endswith(REBASE)
    project.restore({"orders_changelog": snapshot})


def test_a_state_that_is_missing_or_has_no_progress_row_is_found_and_rebuilt(
    project: Project,
) -> None:
    rebuilt = "dbt run --full-refresh -s orders_state rebuilds it from the changelog."
    project.sql("delete from {}.orders_state where _kind = 'progress'")
    assert wrong(project) == [("the state has no progress row", rebuilt)]
    project.run("orders_state", "--full-refresh")
    project.sql("drop table {}.orders_state")
    assert wrong(project) == [("the state is missing", rebuilt)]
    project.run("orders_state", "--full-refresh")


@pytest.mark.parametrize(
    ("setting", "value", "then"),
    [
        ("spark.sql.legacy.inlineCTEInCommands", "true", "a batch would be read twice"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ", "no run writes"),
    ],
)
def test_a_setting_that_a_run_refuses_is_found(
    project: Project, setting: str, value: str, then: str
) -> None:
    project.spark.conf.set(setting, value)
    try:
        ((text, next_step),) = wrong(project)
    finally:
        project.spark.conf.unset(setting)
    assert text == f"the Spark setting {setting} is {value}, so {then}"
    assert next_step.startswith("leave the setting out of the profile")


@pytest.mark.iceberg_only
def test_a_catalog_that_caches_its_tables_is_found(project: Project) -> None:
    setting = "spark.sql.catalog.lake.cache-enabled"
    with configured({setting: "true"}):
        ((text, next_step),) = wrong(project)
    assert text.startswith("the catalog lake caches its tables, so ")
    assert next_step.startswith(f"set {setting} to false in the profile")


@pytest.mark.parametrize("role", ["changelog", "state"])
def test_a_table_that_isolates_too_little_is_found(project: Project, role: str) -> None:
    name = "write.merge.isolation-level"
    project.sql(f"alter table {{}}.orders_{role} set tblproperties ('{name}' = 'snapshot')")
    ((text, next_step),) = wrong(project)
    assert text.startswith(f"the property {name} of ")
    assert text.endswith(f".orders_{role} lets two runs write at once")
    project.spark.sql(next_step.removesuffix("."))
    assert examine(project)[-1] == "orders is well."


@pytest.mark.long_cases
@pytest.mark.iceberg_only
@pytest.mark.parametrize(
    ("table", "change", "back", "text"),
    [
        ("state", "rename column v to w", "rename column w to v", "somebody has renamed a column"),
        ("changelog", "rename column v to w", "rename column w to v", "somebody has renamed"),
        ("state", "add column x int", "drop column x", "has added or changed a column of"),
    ],
    ids=["renamed in the state", "renamed in the changelog", "added to the state"],
)
def test_columns_that_changelog_and_state_do_not_share_are_found(
    begun: Project, table: str, change: str, back: str, text: str
) -> None:
    begun.sql(f"alter table {{}}.orders_{table} {change}")
    ((found, _),) = wrong(begun)
    assert text in found
    begun.sql(f"alter table {{}}.orders_{table} {back}")
    assert "orders is well." in examine(begun)


@pytest.mark.long
def test_a_column_that_the_state_has_lost_is_found_and_comes_back(begun: Project) -> None:
    rows = multiset(begun.rows("orders"))
    begun.sql("alter table {}.orders_state drop column v")
    ((found, _),) = wrong(begun)
    assert "does not have the columns of its changelog: v" in found
    begun.run("orders_state", "--full-refresh")
    assert "orders is well." in examine(begun)
    assert multiset(begun.rows("orders")) == rows


def test_a_change_of_type_that_was_not_finished_is_found(project: Project) -> None:
    project.sql("alter table {}.orders_state add column `_widening_to_12345678_v` string")
    ((text, next_step),) = wrong(project)
    assert text.startswith("a run has begun to change the type of v in ")
    assert next_step.startswith("if no other run is active, dbt run -s +orders finishes it.")
    project.sql("alter table {}.orders_state drop column `_widening_to_12345678_v`")


def test_steps_that_a_killed_run_has_left_are_found(project: Project) -> None:
    name = "orders_batch__kept_20200101000000_12345678"
    project.sql(f"create table {{}}.{name} (k string) using {{format}}")
    ((text, next_step),) = wrong(project)
    assert text == f"a killed run has left the table {name} with its steps, or a run is active"
    assert next_step == "nothing now: a day later trueup.maintain drops it, or a run of the model."
    project.sql(f"drop table {{}}.{name}")


def test_a_recreated_log_is_found(project: Project) -> None:
    project.sql("delete from {}.orders_log where log_ts > 1")
    ((text, next_step),) = wrong(project)
    assert text == (
        "the log was recreated or has lost commands: it ends at tick 1,"
        " but ticks up to 5 were settled"
    )
    assert next_step.startswith("give its commands ticks from 6 on")
    project.sql("create table {}.orders_kept_log using {format} as select * from {}.orders_log")
    project.sql("delete from {}.orders_log where true")
    ((text, next_step),) = wrong(project)
    assert text == "the log is empty, but ticks up to 5 were settled"
    # To start again from an empty log would leave no row.
    assert "full-refresh" not in next_step
    project.sql("insert into {}.orders_log select * from {}.orders_kept_log")


def test_tables_of_another_version_are_found(project: Project) -> None:
    project.sql("alter table {}.orders_changelog add column _statistics.of_tomorrow bigint")
    ((text, next_step),) = wrong(project)
    assert text.startswith("a later version of trueup has written ")
    assert next_step == "install the version of trueup that has written the table."
    project.sql("alter table {}.orders_changelog drop column _statistics.of_tomorrow")
    project.sql("alter table {}.orders_changelog drop column _statistics.state_verified_by")
    ((text, next_step),) = wrong(project)
    assert text.startswith("an earlier version of trueup has written ")
    assert next_step.startswith("dbt run -s +orders upgrades the tables.")


def test_a_log_that_cannot_be_read_hides_no_other_check(project: Project) -> None:
    project.add_collection("lost", KEY, VALUE)
    project.append("lost", [put(1, "a")])
    project.run("models/lost")
    project.sql("alter table {}.lost_log rename to {}.lost_log_away")
    printed = project.operate("doctor", fails=True, collection="lost")
    assert len(sound(printed)) == 4, printed
    assert "TABLE_OR_VIEW_NOT_FOUND" in "\n".join(printed)
    project.sql("alter table {}.lost_log_away rename to {}.lost_log")
    assert len(sound(project.operate("doctor", collection="lost"))) == 5


@pytest.mark.long_cases
@pytest.mark.parametrize("reads_state", [True, False], ids=["the state", "the changelog"])
def test_a_batch_that_another_run_wrote_meanwhile_is_not_called_an_edit(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    reads_state: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    name = f"busy_{reads_state}".lower()
    project.add_collection(name, KEY, VALUE)
    project.append(name, [put(1, "a")])
    project.run(f"models/{name}")
    project.append(name, [put(2, "b")])
    tables = (f"{name}_changelog", f"{name}_state")
    before = {table: project.versions(table)[0] for table in tables}
    project.run(f"{name}_batch", f"{name}_changelog", f"{name}_state")
    after = {table: project.versions(table)[0] for table in tables}
    project.restore(before)
    execute = Cursor.execute
    written: list[str] = []

    def execute_after_another_run(cursor: Cursor, sql: str, *parameters: object) -> None:
        """Let both tables have the next batch when the doctor compares one of them."""
        if not written and (f"{name}_state" in sql) == reads_state and "bucket" in sql:
            written.append(sql)
            project.restore(after)
        execute(cursor, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", execute_after_another_run)
    printed = project.operate("doctor", collection=name)
    assert written
    assert "  WRONG  another run wrote a batch while the doctor read the state" in printed
    assert "         Next: call the doctor again." in printed
    assert not [line for line in printed if "somebody has edited" in line]
    assert f"{name} is well." in project.operate("doctor", collection=name)


def test_a_changelog_that_has_lost_batches_is_found(project: Project) -> None:
    project.add_collection("shorter", KEY, VALUE)
    ends = []
    for ts in (1, 2):
        project.append("shorter", [put(ts, "a")])
        project.run("models/shorter")
        ends.append({"shorter_changelog": project.versions("shorter_changelog")[0]})
    project.restore(ends[0])
    printed = project.operate("doctor", collection="shorter")
    (place,) = [n for n, line in enumerate(printed) if "the changelog has lost batches" in line]
    assert printed[place].startswith("  WRONG  the state is at batch 2, the changelog at batch 1")
    rebuild = "dbt run --full-refresh -s shorter_state rebuilds it from the changelog."
    assert printed[place + 1].endswith(f"Or accept the loss: {rebuild}")
    project.restore(ends[1])
    assert "shorter is well." in project.operate("doctor", collection="shorter")


def test_an_unknown_collection_is_refused(project: Project) -> None:
    printed = project.operate("doctor", fails=True, collection="nobody")
    assert any("`trueup.doctor` argument `collection`" in line for line in printed), printed
