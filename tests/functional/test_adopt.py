"""`trueup adopt` leads from a drifted table to a healed collection, as a new user would do it."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.adopt import steps
from dbt_trueup.command_line.program import main
from tests.acceptance import Column, multiset
from tests.between import KilledError, sent_through
from tests.oracle import Collection, Command, canonical, check_laws
from tests.project import TICK, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

KEY = [Column("k", "string"), Column("select", "int")]
V = f"v{TICK}'"
VALUE = [Column(V, "string"), Column("n", "double"), Column("cause", "string")]
"""Names that need quotes, and one that the report uses itself."""

NAN = float("nan")
OPTIONS = {"late": "correct", "verify": "always", "max_commands_per_batch": 3}


def put(ts: int, k: str | None, v: str | None, n: float | None = 0.0, order: int = 1) -> Command:
    return Command(ts, (order,), (k, 1), (v, n, "c"))


def delete(ts: int, k: str) -> Command:
    return Command(ts, (9,), (k, 1), None)


LOG = [
    *(put(1, k, f"{k}1") for k in ("same", "late", "gone", "back", "twice", "other", "lost")),
    *(put(2, "late", "late2"), delete(2, "gone"), delete(2, "back"), put(3, "back", "back3")),
    *(put(3, "nulls", None, None), put(3, "nan", "x", NAN), put(4, "zero", "x", 0.0)),
    *(put(4, "late", "late4"), put(4, "late", "late4"), delete(5, "never_kept")),
    Command(5, (1,), ("broken", 1), None, "no number"),
]
"""The log. Its frontier is 6."""

DRIFTED = [
    ("same", 1, "same1", 0.0, "c"),
    ("late", 1, "late2", 0.0, "c"),  # an older value
    ("gone", 1, "gone1", 0.0, "c"),  # the delete was missed
    ("back", 1, "back1", 0.0, "c"),  # older than a delete
    *[("twice", 1, "twice1", 0.0, "c")] * 2,
    ("twice", 1, "twice0", 0.0, "c"),
    ("other", 1, "by hand", 0.0, "c"),
    ("stranger", 1, "s", 0.0, "c"),
    ("same", None, "s", 0.0, "c"),
    (None, 1, "s", 0.0, "c"),
    ("nulls", 1, None, None, "c"),
    ("nan", 1, "x", NAN, "c"),
    ("zero", 1, "x", -0.0, "c"),
    ("broken", 1, "good", 0.0, "c"),
]
"""The table `orders`. It has no row of the key `lost`."""

COUNTS = {
    "equal": 5,
    "missed_delete": 2,  # also the key whose last command is an error
    "late_update": 2,
    "missing_row": 1,
    "unknown_key": 3,  # also the two keys with a null, which is an ordinary value there
    "other": 1,
    "duplicate": 2,
    "null_key": 0,  # the key has two columns
}
"""What each cause has, counted by hand."""


CAUSES = {
    (1, "adopted", 1): 13,
    # Removed: gone, stranger, and the two keys with a null. Changed: late, back, other, and broken,
    # which becomes an error.
    # Added: lost. The greatest row of `twice` is the right one.
    (2, "drift", -1): 8,
    (2, "drift", 1): 5,
}
"""The updates of the changelog by batch, cause and sign, counted by hand."""


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A project with collections that have never run, and tables of their names that drifted."""
    project = new_project("adopt")
    for name in ("orders", "killed"):
        project.add_collection(name, KEY, VALUE, OPTIONS)
        project.append(name, LOG)
        make_table(project, name)
    return project


def make_table(project: Project, name: str) -> None:
    """Make the table that has drifted from its log."""
    columns = ", ".join(f"{quote(column.name)} {column.type}" for column in (*KEY, *VALUE))
    frame = project.spark.createDataFrame(DRIFTED, columns)
    frame.selectExpr("*", "1 as loaded").coalesce(1).writeTo(f"{project.name}.{name}").create()


@pytest.fixture
def adopt(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """A function that runs `trueup adopt`. It returns the exit code, the output and the errors."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["adopt", *words, "--project-dir", str(project.folder)])
        return code, *capsys.readouterr()

    return run


def expected(*runs: list[Command]) -> Collection:
    """What the oracle makes of the log."""
    collection = Collection(late="correct")
    for number in range(len(runs)):
        collection.run([command for commands in runs[: number + 1] for command in commands])
    return collection


def causes(project: Project, name: str) -> dict[tuple[int, str | None, int], int]:
    """The number of updates by batch, cause and sign."""
    rows = project.sql(
        f"select _seq, _cause, _diff, count(*) from {{}}.{name}_changelog where _kind = 'update'"
        " group by all"
    )
    return {(row[0], row[1], row[2]): row[3] for row in rows}


def check_healed(project: Project, name: str, oracle: Collection) -> None:
    """The collection is what the oracle says, and its changelog adds up to it."""
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    assert multiset(project.errors(name)) == multiset(oracle.errors)
    check_laws(project.updates(name))
    left = Counter[Any]()
    for each in project.updates(name):
        left[canonical((each.key, each.value, each.error))] += each.diff
    assert {number for number in left.values() if number} == {1}
    assert sum(left.values()) == len(oracle.rows) + len(oracle.errors)


def test_a_drifted_table_becomes_a_healed_collection(
    project: Project, adopt: Callable[..., tuple[int, str, str]]
) -> None:
    # A run without an adoption would replace the table by the view.
    project.run("models/orders", fails=True)
    assert any("free: dbt would drop the table to make the view" in one for one in project.messages)

    code, printed, errors = adopt("adopt.orders", "--json", "--show-values")
    assert code == 1, errors
    report = json.loads(printed)
    assert report["counts"] == COUNTS
    assert (report["only_in_log"], report["only_in_table"]) == ([], ["loaded"])
    samples = sorted(report["samples"]["late_update"], key=itemgetter("key"))
    assert samples == [
        {"key": ["back", "1"], "differing": {V: ["back1", "back3"]}},
        {"key": ["late", "1"], "differing": {V: ["late2", "late4"]}},
    ]
    assert sorted(report["samples"]["unknown_key"], key=str) == [
        {"key": key, "differing": {}} for key in (["same", None], ["stranger", "1"], [None, "1"])
    ]
    assert project.sql("select count(*) from {}.orders")[0][0] == len(DRIFTED)

    code, printed, errors = adopt("adopt.orders", "--apply")
    assert code == 0, errors
    assert "adopt.orders: 11 differences from the log, 5 equal rows" in printed
    assert "key s… (8 characters), … (1 character)" in printed
    assert "stranger" not in printed
    assert "adopted 13 rows in batch 1; corrections since then remove 8 and add 5 rows" in printed
    oracle = expected(LOG)
    check_healed(project, "orders", oracle)
    first, second = project.progress("orders")
    assert (first["_upper"], second["_upper"]) == (6, 6)
    assert first["_statistics"]["since"] == 5
    assert project.sql("select count(*) from {}.orders_before_trueup")[0][0] == len(DRIFTED)
    keys = {row[:2] for row in DRIFTED}
    assert causes(project, "orders") == CAUSES
    adopted = project.sql("select * from {}.orders_changelog where _seq = 1 and _kind = 'update'")
    assert {(row["k"], row["select"]) for row in adopted} == keys
    assert {row["_ts"] for row in adopted} == {5}


@pytest.mark.long
def test_an_adoption_counts_only_the_commands_that_it_settles(project: Project) -> None:
    name = "open_end"
    project.add_collection(name, KEY, VALUE, {**OPTIONS, "input_upper": "log_upper - 1"})
    last = max(command.ts for command in LOG)
    project.append(name, [*LOG, put(last + 1, "open", "o")])
    make_table(project, f"{name}_before")
    project.run(f"models/{name}", adopt=f"{project.name}.{name}_before")
    project.append(name, [put(last + 2, "open", "p"), put(1, "new", "late")])
    project.run(f"models/{name}")
    first, second = project.progress(name)
    assert first["_statistics"].commands_settled == len(LOG)
    assert (second["_upper"], second["_statistics"].late_dropped) == (last + 2, 1)


def test_a_second_adoption_changes_nothing(
    project: Project, adopt: Callable[..., tuple[int, str, str]]
) -> None:
    before = str(project.updates("orders")), len(project.progress("orders"))
    code, printed, errors = adopt("adopt.orders", "--apply", "--json")
    assert code == 0, errors
    assert json.loads(printed)["corrected"] == {"adopted": 13, "added": 5, "removed": 8}
    assert (str(project.updates("orders")), len(project.progress("orders"))) == before
    code, printed, errors = adopt("adopt.orders")
    assert code == 1, errors
    assert printed.endswith(
        "orders has adopted these rows already; its changelog has the corrections\n"
    )
    later = [put(3, "same", "late"), put(7, "new", "new7"), put(8, "new", "new8")]
    project.append("orders", later)
    project.run("models/orders")
    check_healed(project, "orders", expected(LOG, later))
    assert (3, "late_command", 1) in causes(project, "orders")


@contextmanager
def killed_after(written: str) -> Iterator[None]:
    """Stop each statement after the first one that has this text."""
    is_killed: list[bool] = []

    def counting(execute: Callable[[str], None], sql: str) -> None:
        if is_killed:
            message = f"killed after: {written}"
            raise KilledError(message)
        execute(sql)
        if written in sql:
            is_killed.append(True)

    with sent_through(counting):
        yield
    assert is_killed, f"no statement has: {written}"


KILLS = [
    ("rename to", 0, 0),
    ("create or replace table adopt.killed_corrections", 0, 0),
    ("/* trueup: append", 1, 0),
    ("/* trueup: append", 2, 1),
]
"""After which statement a run is killed, and how many batches the tables have then."""


@pytest.mark.long
def test_a_killed_adoption_is_continued(
    project: Project,
    adopt: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time it is killed some steps later. A table is never lost."""
    run = steps.adopt
    for written, appended, applied in KILLS:

        def killed(*arguments: Any, written: str = written) -> None:
            with killed_after(written):
                run(*arguments)

        monkeypatch.setattr(steps, "adopt", killed)
        code, _, errors = adopt("adopt.killed", "--apply")
        assert code == 2, errors
        assert project.sql("select count(*) from {}.killed_before_trueup")[0][0] == len(DRIFTED)
        if written == "rename to":
            # A run of a schedule would begin with the log, and the adoption could not go on.
            project.run("models/killed", fails=True)
            (said,) = (each for each in project.messages if "an adoption has renamed" in each)
            assert "trueup adopt adopt.killed --apply" in said
        else:
            assert len(project.progress("killed")) == appended
            state = project.sql("select max(_seq) from {}.killed_state where _kind = 'progress'")
            assert state[0][0] == applied
    monkeypatch.setattr(steps, "adopt", run)
    assert adopt("adopt.killed", "--apply")[0] == 0
    check_healed(project, "killed", expected(LOG))
    assert causes(project, "killed") == CAUSES


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("bare", None, "must be one with commands to settle"),
        ("queue", f"reclock=['k', 'log_order'], columns=['v{TICK}\\'']", "must be one with ticks"),
        (
            "late",
            f"ts='nullif(log_ts, 1)', sequence_by=['log_order'], columns=['v{TICK}\\'']",
            "must be not null for every command",
        ),
    ],
)
def test_a_log_that_cannot_make_the_rows_is_refused_before_the_table_is_renamed(
    project: Project,
    adopt: Callable[..., tuple[int, str, str]],
    name: str,
    arguments: str,
    says: str,
) -> None:
    project.add_collection(name, KEY, VALUE, OPTIONS)
    if arguments:
        project.append(name, LOG)
        commands = f"{{{{ trueup.commands('adopt.{name}_log', {arguments}) }}}}"
        project.write(f"models/{name}/{name}_commands.sql", commands)
    make_table(project, name)
    code, _, errors = adopt(f"adopt.{name}", "--apply")
    assert code == 2, errors
    assert says in errors
    tables = {row["tableName"] for row in project.sql("show tables in {}")}
    assert name in tables
    assert f"{name}_before_trueup" not in tables
    assert f"{name}_changelog" not in tables


def test_the_var_refuses_a_log_with_changes_of_key_before_it_makes_a_table(
    project: Project,
) -> None:
    project.add_collection("moved", KEY, VALUE, OPTIONS, extra=["unchanged", "old_key"])
    project.append("moved", LOG)
    project.sql("create table {}.moved_rows using {format} as select 1 as k")
    project.run("models/moved", adopt="adopt.moved_rows", fails=True)
    assert "must be one without changes of key that leave columns unchanged" in "\n".join(
        project.messages
    )
    tables = {row["tableName"] for row in project.sql("show tables in {}")}
    assert "moved_changelog" not in tables


@pytest.mark.long
def test_a_rebase_forgets_the_adoption_but_not_if_a_table_took_the_name_of_the_view(
    project: Project,
) -> None:
    project.sql("drop view {}.killed")
    make_table(project, "killed")
    before = causes(project, "killed")
    assert any(cause == "adopted" for _, cause, _ in before)
    project.run("models/killed", "--full-refresh", rebase=True, fails=True)
    assert any("free: dbt would drop the table to make the view" in one for one in project.messages)
    assert causes(project, "killed") == before, "the history was dropped"
    assert project.sql("select count(*) from {}.killed")[0][0] == len(DRIFTED)

    project.sql("drop table {}.killed")
    # One batch for all commands.
    meta = {"trueup": {**OPTIONS, "max_commands_per_batch": 100}}
    project.configure(killed={**project.config["killed"], "+meta": meta})
    project.run("models/killed", "--full-refresh", rebase=True)
    project.run("models/killed")
    check_healed(project, "killed", expected(LOG))
    assert {cause for _, cause, _ in causes(project, "killed")} == {None}
    assert project.sql("select count(*) from {}.killed_before_trueup")[0][0] == len(DRIFTED)
