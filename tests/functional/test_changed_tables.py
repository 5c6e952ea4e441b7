"""Somebody drops, restores or changes the tables of a collection as a whole between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, check_laws
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
DELETED = [
    *(Command(1, (1,), (key,), ("old",)) for key in ("a", "gone")),
    Command(2, (1,), ("gone",), None),
]
OPTIONS: dict[str, dict[str, object]] = {
    "rolled": {"verify": "always"},
    "trusted": {},
    "renewed": {"late": "correct"},
    "retyped": {"late": "newest"},
    "dropped": {"verify": "always"},
    "widened": {"verify": "always"},
    "restored": {},
    "turned_back": {"verify": "always"},
}


OF_LONG_TESTS = ("rolled", "renewed", "widened", "restored", "turned_back")


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project], *, with_long: bool) -> Project:
    """Collections after two batches: `a` is there, `gone` was deleted."""
    project = new_project("changed_tables")
    names = [name for name in OPTIONS if with_long or name not in OF_LONG_TESTS]
    for name in names:
        project.add_collection(name, KEY, VALUE, OPTIONS[name])
        project.append(name, DELETED[:2])
    project.run()
    for name in names:
        project.append(name, DELETED[2:])
    project.run(*(f"{name}_{role}" for name in names for role in TABLES))
    return project


def run(project: Project, name: str, *, fails: bool = False) -> str:
    """Run a collection. Give what dbt says of its models."""
    project.run(*(f"{name}_{role}" for role in TABLES), fails=fails)
    return "\n".join(project.messages)


def check(project: Project, name: str, *more: Command) -> None:
    oracle = Collection()
    oracle.run([*DELETED, *more])
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    check_laws(project.updates(name))


@pytest.mark.long
def test_a_state_that_is_rolled_back_behind_a_compaction_is_rebuilt(project: Project) -> None:
    project.operate("compact", collection="rolled", since=3)
    project.restore({"rolled_state": project.versions("rolled_state")[1]})

    assert "rebuilt" in run(project, "rolled")

    check(project, "rolled")


def test_without_verification_a_state_behind_a_compaction_stops_the_run(project: Project) -> None:
    project.operate("compact", collection="trusted", since=3)
    project.restore({"trusted_state": project.versions("trusted_state")[1]})

    said = run(project, "trusted", fails=True)

    assert "must be at the last batch, 2, because the changelog was compacted since" in said
    printed = "\n".join(project.operate("doctor", collection="trusted"))
    assert "somebody has rolled the state back to batch 1" in printed
    project.run("trusted_state", "--full-refresh")
    assert "nothing to append" in run(project, "trusted")
    check(project, "trusted")


@pytest.mark.long
def test_after_a_rebase_with_another_key_the_next_run_with_commands_works(project: Project) -> None:
    late = Command(1, (1,), ("late",), ("late",))
    project.append("renewed", [late])
    assert "1 late_command" in run(project, "renewed")
    columns = {"columns": '["v"]', "v": '["k"]'}
    file = project.folder / "models/renewed/renewed_commands.sql"
    project.write(
        "models/renewed/renewed_commands.sql",
        file.read_text().replace(columns["columns"], columns["v"]),
    )
    meta = project.config["renewed"]["+meta"]
    project.configure(renewed={"+unique_key": ["v"], "+meta": meta})
    project.run("path:models/renewed", "--full-refresh", rebase=True)
    project.append("renewed", [Command(9, (1,), ("new",), ("new",))])

    assert "batch 2" in run(project, "renewed")

    rows = project.sql("select v, k from {}.renewed order by v")
    assert [tuple(row) for row in rows] == [("late", "late"), ("new", "new"), ("old", "a")]


def test_an_order_of_another_type_does_not_let_older_commands_win(project: Project) -> None:
    project.sql("alter table {}.retyped_log drop column log_order")
    project.sql("alter table {}.retyped_log add column log_order int")
    project.append("retyped", [Command(0, (1,), (key,), ("older",)) for key in ("a", "gone")])
    project.run("retyped_commands")
    said = run(project, "retyped", fails=True)
    (command,) = [line for line in said.splitlines() if "set tblproperties" in line]
    project.sql(command[command.index("alter table") :].rstrip("."))

    run(project, "retyped")
    check(project, "retyped")
    newer = Command(5, (1,), ("a",), ("newer",))
    project.append("retyped", [newer])
    run(project, "retyped")
    check(project, "retyped", newer)


def test_no_run_makes_an_empty_changelog_beside_a_state_with_batches(project: Project) -> None:
    project.sql("alter table {}.dropped_changelog rename to {}.kept")

    for _ in range(2):
        said = run(project, "dropped", fails=True)
        assert "a table: its state has applied 2 batches" in said
        assert "Restore the table from a snapshot or a backup." in said
    printed = "\n".join(project.operate("doctor", collection="dropped"))
    assert "somebody has dropped dropped_changelog" in printed

    project.sql("alter table {}.kept rename to {}.dropped_changelog")
    assert "nothing to append" in run(project, "dropped")
    check(project, "dropped")


@pytest.mark.long
def test_a_foreign_column_of_a_state_is_named_with_what_to_do(project: Project) -> None:
    for change in ("add column note string", "rename column v to w"):
        project.sql(f"alter table {{}}.widened_state {change}")
        said = run(project, "widened", fails=True)
        assert f"Got: also {change.split()[-1] if 'to w' in change else 'note'}" in said
        (line,) = {line for line in said.splitlines() if "--full-refresh" in line}
        assert line.endswith("dbt run --full-refresh -s widened_state.")
        project.run("widened_state", "--full-refresh")
        assert "nothing to append" in run(project, "widened")
        check(project, "widened")


@pytest.mark.long
@pytest.mark.iceberg_only
def test_another_type_of_a_column_of_the_state_is_named_with_what_to_do(project: Project) -> None:
    project.sql("alter table {}.widened_state drop column v")
    project.sql("alter table {}.widened_state add column v int")
    said = run(project, "widened", fails=True)
    assert "Got: v, which is int and not string" in said
    project.run("widened_state", "--full-refresh")
    assert "nothing to append" in run(project, "widened")
    check(project, "widened")


@pytest.mark.long
def test_a_copy_of_a_changelog_is_taken_after_its_properties_are_set(project: Project) -> None:
    project.sql("alter table {}.restored_changelog rename to {}.backup")
    project.sql("create table {}.restored_changelog using {format} as select * from {}.backup")

    more = Command(5, (1,), ("b",), ("new",))
    project.append("restored", [more])
    for name in ("trueup.unique_key", "trueup.order"):
        said = run(project, "restored", fails=True)
        assert f"must be one with the property `{name}`" in said
        (command,) = {line for line in said.splitlines() if "set tblproperties" in line}
        project.sql(command[command.index("alter table") :].rstrip("."))

    assert "batch 3" in run(project, "restored")
    check(project, "restored", more)


@pytest.mark.long_cases
@pytest.mark.parametrize("late", ["drop", "correct"])
def test_rows_that_somebody_writes_into_the_empty_state_are_not_the_prior_values(
    project: Project, late: str
) -> None:
    name = f"empty_{late}"
    project.add_collection(name, KEY, VALUE, {"late": late, "verify": "always"})
    project.run(f"path:models/{name}")
    project.sql(
        f"insert into {{}}.{name}_state (k, v, _kind, _seq, _ts)"
        " values ('a', 'x', 'row', 0, 0), ('b', 'x', 'row', 0, 0)"
    )
    log = [Command(1, (1,), ("a",), ("x",)), Command(1, (1,), ("b",), ("y",))]
    project.append(name, log)
    for _ in range(2):
        run(project, name)
        assert multiset(project.rows(name)) == multiset([("a", "x"), ("b", "y")])
        assert [(one.diff, one.value) for one in project.updates(name)] == [
            (1, ("x",)),
            (1, ("y",)),
        ]


@pytest.mark.long
def test_the_batches_after_a_restored_snapshot_are_made_again_from_the_log(
    project: Project,
) -> None:
    """The steps of docs/when-something-is-wrong.md."""
    name = "turned_back"
    before = project.versions(f"{name}_changelog")[0]
    later = [Command(3, (1,), ("b",), ("new",)), Command(4, (1,), ("a",), ("changed",))]
    for command in later:
        project.append(name, [command])
        run(project, name)
    project.sql(f"update {{}}.{name}_changelog set v = 'edited' where k = 'gone'")
    project.restore({f"{name}_changelog": before})
    assert "must be at or past batch 4" in run(project, name, fails=True)
    project.run(f"{name}_state", "--full-refresh")
    assert [row["_seq"] for row in project.progress(name)] == [1, 2]

    run(project, name)

    check(project, name, *later)
    assert not [line for line in project.operate("doctor", collection=name) if "fails" in line]


@pytest.mark.long
def test_a_killed_batch_is_not_applied_with_another_key(project: Project) -> None:
    name = "other_key"
    project.add_collection(name, [*KEY, Column("part", "string")], VALUE, {"verify": "always"})
    log = [Command(1, (1,), ("a", part), ("old",)) for part in ("x", "y")]
    project.append(name, log)
    project.run(f"models/{name}")
    log.append(Command(2, (1,), ("a", "x"), ("new",)))
    project.append(name, log[2:])
    project.run(f"{name}_corrections", f"{name}_batch", f"{name}_changelog")
    meta = {"+meta": {"trueup": {"verify": "always"}}}
    project.configure(**{name: {"+unique_key": ["k"], **meta}})
    project.run(f"{name}_corrections", fails=True)
    assert "Another key makes another collection" in "\n".join(project.messages)
    project.configure(**{name: {"+unique_key": ["k", "part"], **meta}})

    run(project, name)

    assert multiset(project.rows(name)) == multiset([("a", "x", "new"), ("a", "y", "old")])


def test_a_column_that_somebody_dropped_from_the_changelog_is_not_added_again(
    project: Project,
) -> None:
    name = "shortened"
    project.add_collection(name, KEY, [*VALUE, Column("w", "int")], {"late": "correct"})
    project.append(name, [Command(1, (1,), ("a",), ("one", 5))])
    project.run(f"models/{name}")
    before = project.versions(f"{name}_changelog")
    project.sql(f"alter table {{}}.{name}_changelog drop column w")
    project.append(name, [Command(2, (1,), ("a",), ("two", 6))])

    said = run(project, name, fails=True)

    assert f"The columns of changed_tables.{name}_changelog must be those of its state." in said
    assert "Got: a table without w" in said
    assert "w" not in project.spark.table(f"{project.name}.{name}_changelog").columns
    assert project.versions(f"{name}_changelog") == before
