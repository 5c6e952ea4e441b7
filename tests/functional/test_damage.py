"""A run finds every change that somebody else made to the state or the changelog.

One run follows each damage. Then the state equals the state before the damage, row by row, and
`<name>_corrections` names every row that was wrong. Or the run fails and says why.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from dbt.cli.main import dbtRunner
from pyspark.errors import SparkRuntimeException

from tests.acceptance import Column, multiset
from tests.macros.package import a_collection, in_model, models
from tests.oracle import Collection, Command, check_laws
from tests.project import messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row

    from tests.project import Project

KEY = [Column("k", "string"), Column("d", "double")]
VALUE = [
    Column("v", "string"),
    Column("x", "double"),
    Column("n", "struct<s: string, m: array<int>>"),
]
NAN = float("nan")
A, B, C, D, E = ("a", 1.0), ("b", NAN), ("c", -0.0), (None, 2.0), ("e", None)
GONE, NEW = ("gone", 1.0), ("new", 1.0)


def put(ts: int, key: tuple[Any, ...], v: str | None, x: float | None = None) -> Command:
    return Command(ts, (1,), key, (v, x, (v, [1, None]) if v else None))


TICKS = [
    [put(1, A, "a1"), put(1, B, "b1", NAN), put(1, C, "c1", -0.0), put(1, GONE, "g1")],
    [
        put(2, A, "a2"),
        put(2, D, None),
        Command(2, (1,), GONE, None),
        Command(2, (1,), E, None, "no number"),
        Command(2, (1,), None, None, "no key", "xff"),
    ],
    [put(3, A, "a3"), put(3, B, "", NAN)],
]
COLLECTIONS = ["plain", "eager", "grown"]
BEFORE: dict[str, dict[str, str]] = {name: {} for name in COLLECTIONS}
"""Statements that restore the state of each collection: by one batch, and by two."""


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project], *, with_long: bool) -> Project:
    """Three collections after three batches. `grown` got a new column and was compacted.

    Without long tests there is only `plain`.
    """
    project = new_project("damage")
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "eager": {"eager": True, "input_upper": "log_upper - 1"},
        "grown": {"late": "correct"},
    }
    names = COLLECTIONS if with_long else COLLECTIONS[:1]
    for name in names:
        project.add_collection(name, KEY, VALUE, {"verify": "always", **options[name]})
        tests = {"arguments": {"unique_key": ["k", "d"], "changelog": f"ref('{name}_changelog')"}}
        models = [
            {"name": model, "data_tests": [{"trueup.matches_certificate": tests}]}
            for model in (name, f"{name}_state", f"{name}_changelog")
        ]
        project.write(f"models/{name}/{name}.yml", json.dumps({"version": 2, "models": models}))
    for commands, back in zip(TICKS[:2], ("two_back", "one_back"), strict=True):
        for name in names:
            project.append(name, commands)
        project.run()
        for name in names:
            version = project.versions(f"{name}_state")[0]
            BEFORE[name][back] = project.restore_sql(f"{name}_state", version)
    for name in names[:2]:
        project.append(name, TICKS[2])
    if "grown" in names:
        grow(project)
    project.run()
    if "grown" in names:
        project.operate("compact", collection="grown", since=2)
    return project


def grow(project: Project) -> None:
    """Add a column to the log of `grown`, and append the commands of the third tick."""
    project.sql("alter table {}.grown_log add column w int")
    model = project.folder / "models/grown/grown_commands.sql"
    project.write("models/grown/grown_commands.sql", model.read_text().replace('"n"]', '"n", "w"]'))
    project._columns["grown"][1].append(Column("w", "int"))
    project.append("grown", [wider(command, 7) for command in TICKS[2]])


def wider(command: Command, w: int | None) -> Command:
    value = None if command.value is None else (*command.value, w)
    return replace(command, value=value)


def invoke(project: Project, *command: str) -> tuple[bool, list[str]]:
    quiet = ["--project-dir", str(project.folder), "--quiet", "--no-use-colors"]
    invoked = dbtRunner().invoke([*command, *quiet])
    return invoked.success, messages(invoked)


def certificate_tests(project: Project, model: str) -> bool:
    """Tell whether the model passes its tests."""
    return invoke(project, "test", "--select", model)[0]


def state(project: Project, name: str) -> Any:
    """Give every row of the state, with its columns sorted by name."""
    columns = sorted(project.spark.table(f"{project.name}.{name}_state").columns)
    return multiset(project.sql(f"select {', '.join(columns)} from {{}}.{name}_state"))


def rows(project: Project, name: str) -> list[Row]:
    """Give the rows of the collection. The query names the columns: one damage reorders them."""
    return project.sql(f"select k, d, v, x, n from {{}}.{name}")


def edits(project: Project, name: str) -> list[Row]:
    return project.sql(
        "select k, d, _error_key, _persisted.v as is_v, _desired.v as should_v, _cause"
        f" from {{}}.{name}_corrections order by k, is_v"
    )


@dataclass(frozen=True)
class Damage:
    """Statements that damage the state `{s}`, and the rows that the report must name.

    A row of the report has the first key column, the `v` that was found and the right `v`. The
    message of the run matches the pattern `says`.
    """

    name: str
    statements: tuple[str, ...]
    report: list[tuple[str | None, str | None, str | None]] | None
    says: str = r"buckets? of the state (was|were) healed"


WAS_RESTORED = "the state was rebuilt"
EVERYTHING: list[tuple[str | None, str | None, str | None]] = [
    (None, None, None),
    (None, None, None),
    ("a", None, "a3"),
    ("b", None, ""),
    ("c", None, "c1"),
    ("e", None, None),
]

DAMAGES = [
    Damage("update", ("update {s} set v = 'x' where k = 'a'",), [("a", "x", "a3")]),
    Damage(
        "nested_update", ("update {s} set n.m = array(1, 2) where k = 'a'",), [("a", "a3", "a3")]
    ),
    Damage("empty_for_null", ("update {s} set v = '' where d = 2",), [(None, "", None)]),
    Damage("null_for_nan", ("update {s} set x = null where k = 'b'",), [("b", "", "")]),
    Damage(
        "delete", ("delete from {s} where k in ('a', 'c')",), [("a", None, "a3"), ("c", None, "c1")]
    ),
    Damage("delete_of_a_null_key", ("delete from {s} where d = 2",), [(None, None, None)]),
    Damage(
        "insert",
        ("insert into {s} (k, d, v, _kind) values ('z', 1, 'z1', 'row')",),
        [("z", "z1", None)],
    ),
    Damage(
        "swap",
        ("update {s} set v = if(k = 'a', 'c1', 'a3') where k in ('a', 'c')",),
        [("a", "c1", "a3"), ("c", "a3", "c1")],
    ),
    Damage(
        "two_columns_swapped_into_one_another",
        ("update {s} set k = 'b', d = 1, v = 'a3' where k = 'a'",),
        [("a", None, "a3"), ("b", "a3", None)],
    ),
    Damage(
        "duplicate_key",
        ("insert into {s} select * from {s} where k = 'a'",),
        [("a", "a3", "a3"), ("a", "a3", "a3")],
    ),
    Damage("half_a_batch", ("update {s} set v = 'b1' where k = 'b'",), [("b", "b1", "")]),
    Damage(
        "row_called_an_error",
        ("update {s} set _kind = 'error' where k = 'a'",),
        [("a", "a3", "a3")],
    ),
    Damage(
        "row_without_a_kind", ("update {s} set _kind = null where k = 'a'",), [("a", "a3", "a3")]
    ),
    Damage(
        "row_called_progress",
        ("update {s} set _kind = 'progress', _seq = 1 where k = 'a'",),
        [("a", None, "a3")],
        WAS_RESTORED,
    ),
    Damage("other_error", ("update {s} set _error = 'ok' where k = 'e'",), [("e", None, None)]),
    Damage("error_lost", ("delete from {s} where _error_key = 'xff'",), [(None, None, None)]),
    Damage("emptied", ("delete from {s} where true",), EVERYTHING, WAS_RESTORED),
    Damage(
        "progress_two_low", ("update {s} set _seq = 1 where _kind = 'progress'",), [], WAS_RESTORED
    ),
    Damage("progress_lost", ("delete from {s} where _kind = 'progress'",), [], WAS_RESTORED),
    Damage(
        "progress_twice",
        ("insert into {s} select * from {s} where _kind = 'progress'",),
        [],
        WAS_RESTORED,
    ),
    Damage(
        "other_upper", ("update {s} set _upper = 9 where _kind = 'progress'",), [], WAS_RESTORED
    ),
    Damage(
        "empty_rows",
        ("insert into {s} (v) values ('x'), ('y')",),
        [(None, "x", None), (None, "y", None)],
        WAS_RESTORED,
    ),
    Damage(
        "equal_rows_with_a_wrong_kind",
        ("insert into {s} (k, d, v, _kind) values ('z', 1, 'z1', 'error')",) * 2,
        [("z", "z1", None), ("z", "z1", None)],
    ),
    Damage(
        "progress_without_a_kind",
        ("update {s} set _kind = null where _kind = 'progress'",),
        [(None, None, None)],
        WAS_RESTORED,
    ),
    Damage(
        "two_batches_back",
        ("{two_back}",),
        [
            (None, None, None),
            (None, None, None),
            ("a", "a1", "a3"),
            ("b", "b1", ""),
            ("e", None, None),
            ("gone", "g1", None),
        ],
        WAS_RESTORED,
    ),
    # A kill between append and apply leaves the same state.
    Damage(
        "one_batch_back",
        ("{one_back}",),
        None,
        "correct",
    ),
    Damage(
        "progress_one_low", ("update {s} set _seq = 2 where _kind = 'progress'",), None, "correct"
    ),
    # This comes late, because the snapshots are lost with the table.
    Damage("dropped", ("drop table {s}",), EVERYTHING, WAS_RESTORED),
    Damage(
        "other_column_order",
        (
            "alter table {s} alter column x first",
            "alter table {s} alter column _kind after k",
            "update {s} set x = 8 where k = 'a'",
        ),
        [("a", "a3", "a3")],
    ),
]


DAMAGED = [("plain", damage) for damage in DAMAGES] + [
    (name, damage)
    for name in COLLECTIONS[1:]
    for damage in DAMAGES
    if damage.name in ("swap", "dropped", "two_batches_back", "other_column_order")
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "damage"), DAMAGED, ids=[f"{name}-{damage.name}" for name, damage in DAMAGED]
)
def test_one_run_heals_a_damaged_state_and_reports_every_wrong_row(
    project: Project, name: str, damage: Damage
) -> None:
    before = state(project, name)
    for statement in damage.statements:
        project.sql(statement.format(s=f"{{}}.{name}_state", **BEFORE[name]))

    project.run(f"{name}_corrections")

    assert re.search(damage.says, project.messages[0])
    assert state(project, name) == before
    if damage.report is not None:
        found = edits(project, name)
        assert [(row["k"], row["is_v"], row["should_v"]) for row in found] == damage.report
        assert {row["_cause"] for row in found} <= {"external_edit"}


@pytest.mark.long
def test_healed_states_equal_the_oracle_and_pass_their_tests(project: Project) -> None:
    project.run()

    assert not [said for said in project.messages if "external_edit" in said or "healed" in said]
    for name in COLLECTIONS:
        log = [command for commands in TICKS for command in commands]
        oracle = Collection()
        oracle.run(log)
        assert multiset(rows(project, name)) == multiset(oracle.rows)
        assert multiset(project.errors(name)) == multiset(oracle.errors)
    assert certificate_tests(project, "test_name:matches_certificate")


@pytest.mark.long
def test_a_state_is_healed_before_the_next_batch_reads_it(project: Project) -> None:
    project.sql("update {}.plain_state set v = 'x' where k = 'a'")
    project.sql("delete from {}.eager_state where k = 'a'")
    project.sql("insert into {}.grown_state select * from {}.grown_state where k = 'a'")
    ticks = [*TICKS, [put(4, A, "a4"), Command(4, (1,), B, None), put(4, NEW, "n4")]]
    for name in COLLECTIONS:
        last = [wider(command, None) for command in ticks[3]] if name == "grown" else ticks[3]
        project.append(name, last)

    project.run()

    oracle = Collection()
    oracle.run([command for commands in ticks for command in commands])
    for name in COLLECTIONS:
        assert multiset(rows(project, name)) == multiset(oracle.rows)
        check_laws(project.updates(name))
        assert project.progress(name)[-1]["_statistics"]["state_verified_by"] == "heal"


def test_a_progress_row_of_a_missing_batch_stops_the_run(project: Project) -> None:
    kept = {"plain_state": project.versions("plain_state")[0]}
    project.sql("update {}.plain_state set _seq = 9 where _kind = 'progress'")

    project.run("plain_corrections", fails=True)

    assert "must be at or past batch 9, which its state has applied" in project.messages[0]
    project.restore(kept)


UPDATE = "_kind = 'update' and _seq = 2"
CHANGELOG_DAMAGES = {
    "updates_lost": f"delete from {{}} where {UPDATE} and k = 'a'",
    "half_a_batch_lost": f"delete from {{}} where {UPDATE} and k is null",
    "updates_doubled": f"insert into {{}} select * from {{}} where {UPDATE} and k = 'a'",
    "value_changed": f"update {{}} set v = 'x' where {UPDATE} and k = 'a' and _diff = 1",
    "kind_changed": f"update {{}} set _kind = 'order' where {UPDATE} and k = 'a' and _diff = 1",
    "sign_changed": f"update {{}} set _diff = -_diff where {UPDATE} and k = 'a'",
    "certificate_changed": (
        "update {} set _certificate = slice(_certificate, 2, 9)"
        " where _kind = 'progress' and _seq = 2"
    ),
    "progress_lost": "delete from {} where _kind = 'progress' and _seq = 2",
    "progress_doubled": "insert into {} select * from {} where _kind = 'progress' and _seq = 2",
}


def key_and_values(project: Project) -> list[dict[str, str]]:
    """Give the key and value columns of `plain`, as macros know them."""
    columns = project.spark.table(f"{project.name}.plain_log").dtypes
    return [{"name": name, "type": type_} for name, type_ in columns if not name.startswith("log_")]


def test_a_state_that_moved_after_its_verification_is_not_healed(project: Project) -> None:
    before = state(project, "plain")
    trueup = in_model("plain_corrections", unique_key=("k", "d"), graph=models("plain"))
    sql = trueup._heal_sql(
        a_collection(trueup, state="{}.plain_state", changelog="{}.plain_changelog"),
        key_and_values(project),
        len(project.progress("plain")) - 1,
        list(range(256)),
    )

    with pytest.raises(SparkRuntimeException, match="state moved: it was verified at batch"):
        project.sql(str(sql))

    assert state(project, "plain") == before


@pytest.mark.long
@pytest.mark.parametrize("damage", CHANGELOG_DAMAGES)
def test_a_run_that_needs_a_damaged_changelog_stops_and_names_the_batch(
    project: Project, damage: str
) -> None:
    kept = {table: project.versions(table)[0] for table in ("plain_changelog", "plain_state")}
    before = state(project, "plain")
    project.sql(CHANGELOG_DAMAGES[damage].replace("{}", "{}.plain_changelog"))
    if not damage.startswith("progress"):
        project.run("plain_corrections")
        assert state(project, "plain") == before
        project.sql("delete from {}.plain_state where k = 'a'")
    edited = state(project, "plain")

    project.run("plain_corrections", fails=True)

    assert (
        "Batch 2 of damage.plain_changelog must be what its certificate says"
        in (project.messages[0])
    )
    assert state(project, "plain") == edited
    project.restore(kept)


@pytest.mark.long
def test_matches_certificate_fails_only_on_damaged_tables(project: Project) -> None:
    kept = {table: project.versions(table)[0] for table in ("plain_changelog", "eager_state")}
    project.sql(CHANGELOG_DAMAGES["value_changed"].replace("{}", "{}.plain_changelog"))
    project.sql("update {}.eager_state set v = 'x' where k = 'a'")

    succeeded, said = invoke(project, "test", "--select", "test_name:matches_certificate")

    assert not succeeded
    failed = sorted(one.split(":")[0] for one in said if "fail" in one)
    assert len(failed) == 3, said
    assert [one.split("_certificate_")[1].split("_")[0] for one in failed] == [
        "eager",
        "eager",
        "plain",
    ]
    project.restore(kept)


@pytest.mark.long
def test_a_state_is_healed_unless_option_verify_is_never(project: Project) -> None:
    kept = {"plain_state": project.versions("plain_state")[0]}
    healthy = state(project, "plain")
    project.sql("update {}.plain_state set v = 'x' where k = 'a'")
    edited = state(project, "plain")
    rules: list[tuple[str | int, Any]] = [("never", edited), (3, healthy)]
    for verify, expected in rules:
        set_verify(project, verify)
        project.run("plain_corrections")
        assert state(project, "plain") == expected, f"verify: {verify} after batch 4"
    project.restore(kept)


@pytest.mark.long_cases
@pytest.mark.parametrize("verify", ["never", 3])
def test_a_dropped_state_is_rebuilt_even_if_no_verification_is_due(
    project: Project, verify: str | int
) -> None:
    healthy = state(project, "plain")
    project.sql("drop table {}.plain_state")
    set_verify(project, verify)

    project.run("plain_batch" if verify == "never" else "plain_corrections")

    assert state(project, "plain") == healthy


def set_verify(project: Project, verify: str | int) -> None:
    key = [column.name for column in KEY]
    project.configure(plain={"+unique_key": key, "+meta": {"trueup": {"verify": verify}}})


def test_a_bucket_that_has_lost_its_only_row_is_healed(project: Project) -> None:
    """Nulls have a bucket. On Delta, a MERGE takes a row that does not exist for one of nulls."""
    bucket = in_model("plain_corrections")._bucket_expr(["k", "d"], key_and_values(project))
    nulls = (
        "cast(null as string) as k, cast(null as double) as d, cast(null as string) as _error_key"
    )
    keys = "concat('key ', id) as k, cast(1 as double) as d, cast(null as string) as _error_key"
    ((key,),) = project.sql(
        f"select k from (select {keys} from range(9999))"
        f" where {bucket} = (select {bucket} from (select {nulls})) limit 1"
    )
    set_verify(project, "content")
    project.append("plain", [put(9, (key, 1.0), "lost")])
    project.run("path:models/plain")
    before = state(project, "plain")
    project.sql(f"delete from {{}}.plain_state where k = '{key}'")

    project.run("plain_corrections")

    assert "1 bucket of the state was healed" in project.messages[0]
    assert state(project, "plain") == before
    assert [(row["k"], row["is_v"], row["should_v"]) for row in edits(project, "plain")] == [
        (key, None, "lost")
    ]


def test_a_state_that_is_behind_with_two_progress_rows_is_lost_and_made_again(
    project: Project,
) -> None:
    set_verify(project, "content")
    project.append("plain", [put(10, ("behind", 1.0), "applied")])
    project.run("plain_commands", "plain_corrections", "plain_batch", "plain_changelog")
    project.sql(
        "insert into {}.plain_state by name select * except (_seq), _seq - 1 as _seq"
        " from {}.plain_state where _kind = 'progress'"
    )
    for model in ("plain_batch", "plain_state"):
        project.run(model, fails=True)
        assert re.search(r"one progress row\.\s+Got: more than one", project.messages[0])

    project.run("path:models/plain")

    assert "applied" in [row["v"] for row in rows(project, "plain")]
    assert project.sql("select count(*) from {}.plain_state where _kind = 'progress'") == [(1,)]
