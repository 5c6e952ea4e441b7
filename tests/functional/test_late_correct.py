"""With `late: correct`, late commands are corrected at the frontier, never in the past."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests import strategies
from tests.acceptance import Column, multiset
from tests.between import before, sent, views_kept
from tests.functional.test_random_options import own_keys
from tests.oracle import Collection, Command, check_laws, check_updates
from tests.project import TABLES
from tests.strategies import Kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

EXAMPLES = int(os.environ.get("TRUEUP_EXAMPLES", "1"))
"""Each example runs about forty dbt models. A long run sets more examples."""
FAMILIES = 40
NOTHING_LATE = "nothing to correct: no command came late"
KEY, VALUE = [Column("k", "string")], [Column("v", "string")]


def put(ts: int, order: int, key: str, value: str) -> Command:
    return Command(ts, (order,), (key,), (value,))


def delete(ts: int, order: int, key: str) -> Command:
    return Command(ts, (order,), (key,), None)


FIRST = [put(1, 1, "a", "a1"), put(2, 1, "b", "b2"), put(5, 1, "c", "c5")]
"""The commands that every collection settles first. Then the frontier is 6."""

LATE: dict[str, list[Command]] = {
    "alone": [put(3, 1, "a", "a3"), delete(4, 1, "b"), put(4, 1, "d", "d4"), put(1, 0, "a", "a0")],
    "at_once": [
        put(3, 1, "a", "a3"),
        put(6, 1, "a", "a6"),
        put(3, 1, "b", "b3"),
        delete(7, 1, "b"),
    ],
    "capped": [put(3, 1, "a", "a3"), put(7, 1, "a", "a7")],
    "dry": [put(3, 1, "a", "a3"), put(6, 1, "b", "b6")],
    "unmade": [put(3, 1, "a", "a3")],
    "between": [],
    "coded": [],
    "mended": [],
    "lossy": [put(3, 1, "a", "a3"), put(1, 1, "b", "b1"), put(4, 1, "d", "d4")],
}


OF_SHORT_TESTS = ("alone", "unmade")


@pytest.fixture(scope="module")
def late(new_project: Callable[[str], Project], *, with_long: bool) -> Project:
    """The collections of LATE. They have settled FIRST, and their logs have the late commands."""
    project = new_project("late_correct")
    names = LATE if with_long else OF_SHORT_TESTS
    for name in names:
        options = {"late": "correct"} | ({"log": "partial"} if name == "lossy" else {})
        project.add_collection(name, KEY, VALUE, options)
        project.append(name, FIRST)
    if "mended" in names:
        bad = [put(5, 1, "e", "bad"), put(5, 1, "f", "bad"), put(5, 2, "f", "f5")]
        project.append("mended", bad)
        edit(project, "mended", '"log_error"', "\"case when v = 'bad' then v end\"")
    project.run(*(f"models/{name}" for name in names))
    if "lossy" in names:
        # The log loses all commands of b and c.
        project.sql("delete from {}.lossy_log where k in ('b', 'c')")
    for name in names:
        project.append(name, LATE[name])
    return project


@pytest.fixture
def project(own_project: Callable[[str], Project]) -> Project:
    return own_project("late_correct")


def edit(project: Project, name: str, old: str, new: str) -> None:
    """Replace a part of a commands model."""
    path = f"models/{name}/{name}_commands.sql"
    text = (project.folder / path).read_text()
    assert old in text
    project.write(path, text.replace(old, new))


def run(project: Project, name: str, *flags: str, **variables: Any) -> None:
    project.run(*(f"{name}_{role}" for role in TABLES), *flags, **variables)


def updates(project: Project, name: str, after: int = 1) -> list[tuple[Any, ...]]:
    """Give the updates after a batch, each with its cause."""
    rows = project.sql(
        "select _ts, k, v, _diff, _cause from {}." + f"{name}_changelog"
        f" where _kind = 'update' and _seq > {after} order by _seq, _ts, k, _cause is null, _diff"
    )
    return [tuple(row) for row in rows]


def test_late_commands_are_corrected_at_the_frontier_which_stays_open(late: Project) -> None:
    run(late, "alone")
    assert "alone_corrections: corrections: 3 late_command" in late.messages
    assert "alone_batch: batch 2 [6, 6)" in late.messages
    assert updates(late, "alone") == [
        (6, "a", "a1", -1, "late_command"),
        (6, "a", "a3", 1, "late_command"),
        (6, "b", "b2", -1, "late_command"),
        (6, "d", "d4", 1, "late_command"),
    ]
    run(late, "alone")
    assert f"alone_corrections: {NOTHING_LATE}" in late.messages
    assert "alone_batch: up to date at 6" in late.messages
    # The tick of the corrections is still open, so its commands are not late.
    late.append("alone", [put(6, 1, "a", "a6")])
    run(late, "alone")
    assert updates(late, "alone", after=2) == [(6, "a", "a3", -1, None), (6, "a", "a6", 1, None)]
    check_laws(late.updates("alone"))
    statistics = [row["_statistics"] for row in late.progress("alone")]
    assert [(row["corrections"], row["late_dropped"]) for row in statistics] == [
        (0, 0),
        (3, 4),
        (0, 0),
    ]


@pytest.mark.long
def test_a_late_command_that_misses_one_comparison_is_corrected_by_the_next(
    late: Project,
) -> None:
    late.run("between_corrections")
    late.append("between", [put(3, 1, "a", "a3"), put(6, 1, "b", "b6")])
    late.run("between_batch", "between_changelog", "between_state")
    for _ in range(2):
        # A comparison that no batch has used does not change the next one.
        late.run("between_corrections")
        assert late.messages == ["between_corrections: corrections: 1 late_command"]
    run(late, "between")
    assert updates(late, "between", after=2) == [
        (7, "a", "a1", -1, "late_command"),
        (7, "a", "a3", 1, "late_command"),
    ]
    # The late command is counted once, by the batch whose comparison found it.
    statistics = [row["_statistics"] for row in late.progress("between")]
    assert [row["late_dropped"] for row in statistics] == [0, 0, 1]
    assert statistics[-1]["commands_settled"] == len(FIRST) + 2


@pytest.mark.long
@pytest.mark.parametrize("reads", ["all", "new"])
def test_a_late_command_that_comes_after_the_plan_of_a_comparison_is_left_to_the_next_one(
    late: Project, reads: str
) -> None:
    name = f"after_plan_{reads}"
    options = {"compare": "always"} if reads == "new" else {}
    late.add_collection(name, KEY, VALUE, {"late": "correct", **options})
    late.append(name, FIRST)
    late.run(f"models/{name}")
    if reads == "all":
        late.sql(f"update {{}}.{name}_log set log_order = log_order where k = 'c'")

    def arrive() -> None:
        late.append(name, [put(3, 1, "a", "a3")])

    tables = [f"{name}_{role}" for role in TABLES]
    with before(r"create or replace temporary view `trueup__\w+__persisted`", arrive):
        late.run(*tables)
    late.run(*tables)
    assert [one[4] for one in updates(late, name)] == ["late_command"] * 2


@pytest.mark.long
def test_if_the_option_is_set_later_the_corrections_have_the_cause_code_change(
    late: Project,
) -> None:
    late.add_collection("set_later", KEY, VALUE)
    late.append("set_later", FIRST)
    late.run("models/set_later")
    late.append("set_later", [put(3, 1, "a", "a3"), put(7, 1, "b", "b7")])
    run(late, "set_later")
    late.configure(set_later={**late.config["set_later"], "+meta": {"trueup": {"late": "correct"}}})
    run(late, "set_later")
    assert [(one[0], one[4]) for one in updates(late, "set_later", after=2)] == [
        (8, "code_change"),
        (8, "code_change"),
    ]


@pytest.mark.long
def test_a_correction_comes_before_the_commands_of_the_same_key(late: Project) -> None:
    run(late, "at_once")
    assert "at_once_batch: batch 2 [6, 8)" in late.messages
    assert updates(late, "at_once") == [
        (6, "a", "a1", -1, "late_command"),
        (6, "a", "a3", 1, "late_command"),
        (6, "a", "a3", -1, None),
        (6, "a", "a6", 1, None),
        (6, "b", "b2", -1, "late_command"),
        (6, "b", "b3", 1, "late_command"),
        (7, "b", "b3", -1, None),
    ]
    check_laws(late.updates("at_once"))
    assert multiset(late.rows("at_once")) == multiset([("a", "a6"), ("c", "c5")])


@pytest.mark.long
def test_until_limits_ticks_but_not_corrections(late: Project) -> None:
    run(late, "capped", until=4)
    assert "capped_batch: batch 2 [6, 6)" in late.messages
    assert [one[:4] for one in updates(late, "capped")] == [
        (6, "a", "a1", -1),
        (6, "a", "a3", 1),
    ]
    run(late, "capped")
    assert "capped_batch: batch 3 [6, 8)" in late.messages
    assert updates(late, "capped", after=2) == [
        (7, "a", "a3", -1, None),
        (7, "a", "a7", 1, None),
    ]


@pytest.mark.long
def test_a_dry_run_stages_corrections_and_a_batch_ignores_old_corrections(late: Project) -> None:
    run(late, "dry", until=6, read_only=True)
    assert len(late.progress("dry")) == 1
    staged = late.sql("select _cause from {}.dry_batch where _kind = 'update'")
    assert [row[0] for row in staged] == ["late_command"] * 2
    run(late, "dry", until=6)
    assert [one[:4] for one in updates(late, "dry")] == [(6, "a", "a1", -1), (6, "a", "a3", 1)]
    # The table still has the correction that batch 2 wrote.
    assert [tuple(row) for row in late.sql("select k, _seq from {}.dry_corrections")] == [("a", 2)]
    late.run("dry_batch", "dry_changelog", "dry_state")
    assert updates(late, "dry", after=2) == [(6, "b", "b2", -1, None), (6, "b", "b6", 1, None)]


def test_a_batch_without_its_table_of_corrections_says_what_to_run(late: Project) -> None:
    late.sql("drop table {}.unmade_corrections")
    late.run("unmade_batch", fails=True)
    assert "run after unmade_corrections has made late_correct.unmade_corrections" in str(
        late.messages
    )
    # A rebase has nothing to correct, so it needs no table of corrections.
    flags = ("--full-refresh", "unmade_commands")
    run(late, "unmade", *flags, rebase=True)
    assert [row["_upper"] for row in late.progress("unmade")] == [6]
    assert ("a", "a3") in late.rows("unmade")


@pytest.mark.long
def test_changed_code_of_the_commands_writes_exactly_the_difference(late: Project) -> None:
    edit(late, "coded", '"log_delete"', "\"log_delete or v = 'b2'\"")
    late.run("coded_commands", *(f"coded_{role}" for role in TABLES))
    assert "coded_corrections: corrections: 1 code_change" in late.messages
    assert updates(late, "coded") == [(6, "b", "b2", -1, "code_change")]
    run(late, "coded")
    assert f"coded_corrections: {NOTHING_LATE}" in late.messages
    assert len(late.progress("coded")) == 2


@pytest.mark.long
def test_a_fixed_error_becomes_the_row_of_its_command(late: Project) -> None:
    assert [error.key for error in late.errors("mended")] == [("e",)]
    edit(late, "mended", "case when v = 'bad' then v end", "log_error")
    late.run("mended_commands", *(f"mended_{role}" for role in TABLES))
    assert "mended_corrections: corrections: 1 error_fixed" in late.messages
    assert updates(late, "mended") == [
        (6, "e", None, -1, "error_fixed"),
        (6, "e", "bad", 1, "error_fixed"),
    ]
    assert late.errors("mended") == []
    assert ("e", "bad") in late.rows("mended")


@pytest.mark.long
def test_a_partial_log_never_corrects_a_row_with_an_older_command(late: Project) -> None:
    run(late, "lossy")
    assert "lossy_corrections: corrections: 2 late_command" in late.messages
    assert [one[:4] for one in updates(late, "lossy")] == [
        (6, "a", "a1", -1),
        (6, "a", "a3", 1),
        (6, "d", "d4", 1),
    ]
    rows = [("a", "a3"), ("b", "b2"), ("c", "c5"), ("d", "d4")]
    assert multiset(late.rows("lossy")) == multiset(rows)
    run(late, "lossy")
    assert "lossy_batch: up to date at 6" in late.messages


def part(ts: int, order: int, key: str, *value: object, old_key: str | None = None) -> Command:
    """A command that leaves the columns given as `...` unchanged."""
    unchanged = frozenset(i for i, item in enumerate(value) if item is ...)
    said = tuple(None if item is ... else item for item in value)
    old = None if old_key is None else (old_key,)
    return Command(ts, (order,), (key,), said, unchanged=unchanged, old_key=old)


def test_a_partial_log_takes_missing_values_from_the_persisted_rows(project: Project) -> None:
    extra = ("truncate_when", "unchanged", "old_key")
    options = {"late": "correct", "log": "partial"}
    columns = [*VALUE, Column("w", "string")]
    for name, has in (("remains", extra), ("remains_whole", extra[:1]), ("remains_own", extra[:2])):
        project.add_collection(name, KEY, columns, options, has)
    bases = [part(1, 1, key, "v1", f"{key} big") for key in "abcd"]
    kept = [
        part(2, 1, "a", "v2", ...),
        *(delete(2, 1, "c"), part(3, 1, "c", "v3", ...)),
        part(5, 1, "e", "v5", "e big"),
    ]
    renamed = [delete(3, 1, "b"), part(3, 2, "b2", "v3", ..., old_key="b")]
    for name, log in (("remains", kept + renamed), ("remains_own", kept), ("remains_whole", [])):
        project.append(name, [*bases, part(5, 1, "e", "v5", "e big"), *log])
    names = ("remains", "remains_own", "remains_whole")
    project.run(*(f"models/{name}" for name in names))
    for name in names:
        project.sql(f"delete from {{}}.{name}_log where log_ts = 1")

    late = part(2, 2, "a", "late", ...)
    moved = [delete(4, 1, "d"), part(4, 2, "d2", ..., "d2 big", old_key="d")]
    project.append("remains", [late, *moved])
    project.append("remains_own", [late])
    project.append("remains_whole", [Command(4, (1,), None, None, is_truncate=True)])
    project.run(*(f"{name}_{role}" for name in names for role in TABLES))

    a, c, e = ("a", "late", "a big"), ("c", "v3", None), ("e", "v5", "e big")
    b, d = ("b", "v1", "b big"), ("d", "v1", "d big")
    assert multiset(project.rows("remains")) == multiset(
        [a, ("b2", "v3", "b big"), c, ("d2", "v1", "d2 big"), e]
    )
    assert multiset(project.rows("remains_own")) == multiset([a, b, c, d, e])
    # A truncate counts as a command of every key.
    assert multiset(project.rows("remains_whole")) == multiset([e])


def test_late_correct_is_refused_for_a_log_without_ticks(
    new_project: Callable[[str], Project],
) -> None:
    project = new_project("late_offsets")
    project.sql("create table {}.log (k string, v string, p int, o bigint) using {format}")
    for role in TABLES:
        project.write(f"models/c/c_{role}.sql", f"{{{{ trueup.{role}('c') }}}}")
    call = "relation='late_offsets.log', reclock=['p', 'o'], columns=['v']"
    project.write("models/c/c_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
    project.configure(c={"+unique_key": ["k"], "+meta": {"trueup": {"late": "correct"}}})
    project.run(fails=True)
    said = "\n".join(project.messages)
    assert "must be drop, newest or fail where the log has no ticks (`reclock`)" in said


@pytest.mark.long
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_late_logs_equal_the_oracle_after_every_run(project: Project, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - no secret
    name = f"random_{seed}"
    value = [Column(*column) for column in strategies.VALUE_COLUMNS]
    options = {"late": "correct"}
    project.add_collection(name, KEY, value, options, ["unchanged"])
    drawn = strategies.sample(
        strategies.logs(1, Kinds(partial=True), min_size=5, max_size=20),
        FAMILIES,
        rng.randrange(2**32),
    )
    log = [own_keys(each, number) for number, family in enumerate(drawn) for each in family]
    split = strategies.sample(strategies.late_splits(log), 20, rng.randrange(2**32))
    steps = max(split, key=len)
    oracle, arrived = Collection("correct"), list[Command]()
    for number, step in enumerate(steps):
        arrived += step.commands
        project.append(name, step.commands)
        project.run(
            *([f"{name}_{role}" for role in TABLES] if number else [f"models/{name}"]),
            until=step.until,
        )
        oracle.run(arrived, step.until)
        assert multiset(project.rows(name)) == multiset(oracle.rows)
        assert multiset(project.errors(name)) == multiset(oracle.errors)
    written = project.updates(name)
    check_updates(written, oracle.changelog)
    # A key that was broken is fixed only if it has a value now.
    causes = project.sql(
        "select _cause, count_if(_ts <> _lower) as elsewhere,"
        " bool_or(_diff = -1 and _error is not null) and bool_or(_diff = 1 and _error is null)"
        f" as fixed from {{}}.{name}_changelog where _kind = 'update'"
        " group by _seq, _cause, "
        + ", ".join(["_error_key", *(f"`{column.name}`" for column in KEY)])
    )
    corrections = [row for row in causes if row["_cause"]]
    assert corrections
    assert {row["_cause"] for row in corrections if row["fixed"]} <= {"error_fixed"}
    assert {row["_cause"] for row in corrections if not row["fixed"]} == {"late_command"}
    assert all(row["elsewhere"] == 0 for row in corrections)
    run(project, name)
    assert f"{name}_corrections: {NOTHING_LATE}" in project.messages
    assert f"{name}_batch: up to date at {oracle.upper}" in project.messages


DESIRED = r"create or replace temporary view `trueup__\w+__desired`"
"""The statement that folds the desired rows. A run sends it only if it compares."""


@pytest.mark.long
def test_if_no_command_is_late_nothing_is_compared(project: Project) -> None:
    project.add_collection("calm", KEY, VALUE, {"late": "correct"})
    project.append("calm", FIRST)
    project.run("models/calm")
    project.append("calm", [put(7, 1, "a", "a7")])
    with sent(DESIRED) as found:
        run(project, "calm")
    assert not found
    assert project.progress("calm")[-1]["_statistics"].commands_read == 1
    assert ("a", "a7") in project.rows("calm")


@pytest.mark.long
def test_only_the_keys_of_late_commands_are_folded_again(project: Project) -> None:
    project.add_collection("few", KEY, VALUE, {"late": "correct"}, ["truncate_when"])
    before_truncate = [put(1, 1, "x", "gone"), Command(2, (1,), None, None, is_truncate=True)]
    project.append("few", [*before_truncate, put(3, 1, "a", "a3"), put(4, 1, "b", "b4")])
    project.run("models/few")
    # The truncate is older than the late command of a, and newer than that of d.
    project.append("few", [put(4, 1, "a", "a4"), put(3, 0, "b", "b3"), put(1, 2, "d", "d1")])
    with views_kept() as views:
        run(project, "few")
    assert "few_corrections: corrections: 1 late_command" in project.messages
    assert multiset(project.rows("few")) == multiset([("a", "a4"), ("b", "b4")])
    desired = project.spark.sql(f"select k from {views['few__desired']}")
    assert {row["k"] for row in desired.collect()} <= {"a", "b", "d", None}


@pytest.mark.long
@pytest.mark.parametrize("asks", ["compare", "var"])
def test_all_keys_are_compared_when_the_option_or_the_var_says_so(
    project: Project, asks: str
) -> None:
    # A log with `arrived` does not say that a settled command was deleted.
    name = f"asked_{asks}"
    options = {"late": "correct"} | ({"compare": 2} if asks == "compare" else {})
    project.add_collection(name, KEY, VALUE, options)
    edit(project, name, "sequence_by=", "arrived='log_ts', sequence_by=")
    project.append(name, FIRST)
    project.run(f"models/{name}")
    project.sql(f"delete from {{}}.{name}_log where k = 'a'")
    counts = list[int]()
    for ts in (6, 7):
        project.append(name, [put(ts, 1, "b", f"b{ts}")])
        run(project, name, compare=asks == "var" and ts == 7)
        counts.append(project.rows(name).count(("a", "a1")))
    assert counts == [1, 0]


@pytest.mark.long
def test_a_comparison_whose_corrections_no_batch_took_is_made_again(project: Project) -> None:
    name = "not_taken"
    project.add_collection(name, KEY, VALUE, {"late": "correct", "compare": 2})
    edit(project, name, "sequence_by=", "arrived='log_ts', sequence_by=")
    project.append(name, FIRST)
    project.run(f"models/{name}")
    project.append(name, [put(6, 1, "b", "b6")])
    run(project, name)
    project.sql(f"delete from {{}}.{name}_log where k = 'a'")
    project.run(f"{name}_corrections")
    assert f"{name}_corrections: corrections: 1 unknown" in project.messages
    # Another run has healed the state since, and has replaced the table.
    table = f"{project.name}.{name}_corrections"
    project.sql(f"delete from {table}")
    project.sql(f"alter table {table} set tblproperties ('trueup.after_batch_id' = 'none')")
    # So a batch without the corrections comes first. The next run finds them again.
    project.append(name, [put(7, 1, "b", "b7")])
    project.run(*(f"{name}_{role}" for role in TABLES if role != "corrections"))
    assert multiset(project.rows(name)) == multiset([("a", "a1"), ("b", "b7"), ("c", "c5")])
    run(project, name)
    assert multiset(project.rows(name)) == multiset([("b", "b7"), ("c", "c5")])
    # The next comparison is due after batch 4.
    counts = list[int]()
    for ts in (8, 9):
        project.append(name, [put(ts, 1, "b", f"b{ts}")])
        with sent(DESIRED) as found:
            run(project, name)
        counts.append(len(found))
    assert counts == [1, 0]


@pytest.mark.long
def test_a_missing_table_of_corrections_is_made_again(project: Project) -> None:
    name = "dropped"
    project.add_collection(name, KEY, VALUE, {"late": "correct"})
    project.append(name, FIRST)
    project.run(f"models/{name}")
    project.sql(f"drop table {{}}.{name}_corrections")
    project.append(name, [put(6, 1, "b", "b6")])
    run(project, name)
    assert multiset(project.rows(name)) == multiset([("a", "a1"), ("b", "b6"), ("c", "c5")])


@pytest.mark.long
def test_other_columns_of_the_commands_lead_to_a_comparison_of_all_keys(project: Project) -> None:
    project.add_collection("wider", KEY, VALUE, {"late": "correct"})
    project.append("wider", FIRST)
    project.run("models/wider")
    project.set_column("wider", Column("w", "string"))
    project.append("wider", [Command(7, (1,), ("a",), ("a7", None))])
    with sent(DESIRED) as found:
        project.run("models/wider")
    assert found


@pytest.mark.long
@pytest.mark.parametrize("case", ["overwritten", "hidden", "code"])
def test_what_changes_between_comparison_and_batch_is_found_by_the_next_run(
    project: Project, case: str
) -> None:
    name = f"after_{case}"
    project.add_collection(name, KEY, VALUE, {"late": "correct"})
    project.append(name, FIRST)
    project.run(f"models/{name}")
    project.run(f"{name}_corrections")
    models = [f"{name}_{role}" for role in TABLES if role != "corrections"]
    row, is_right = ("a", "a9"), True
    if case == "overwritten":
        project.sql(f"update {{}}.{name}_log set v = 'a9' where k = 'a'")
    elif case == "hidden":
        # One command is deleted and one comes late: the number of commands is the same.
        project.sql(f"delete from {{}}.{name}_log where k = 'c'")
        project.append(name, [put(2, 1, "a", "a9")])
    else:
        edit(project, name, '"log_delete"', "\"log_delete or v = 'c5'\"")
        models, row, is_right = [f"{name}_commands", *models], ("c", "c5"), False
    project.append(name, [put(7, 1, "b", "b7")])
    project.run(*models)
    assert (row in project.rows(name)) is not is_right
    run(project, name)
    assert (row in project.rows(name)) is is_right


@pytest.mark.long
def test_a_changed_option_counts_as_compared_only_if_the_batch_takes_a_comparison(
    project: Project,
) -> None:
    name, models = "other_ties", [f"other_ties_{role}" for role in TABLES]
    project.add_collection(name, KEY, VALUE, {"late": "correct", "ties": "prefer_upsert"})
    project.append(name, [put(1, 1, "a", "a1"), delete(1, 1, "a"), put(5, 1, "c", "c5")])
    project.run(f"models/{name}")
    options = {"late": "correct", "ties": "prefer_delete"}
    project.configure(**{name: {"+unique_key": ["k"], "+meta": {"trueup": options}}})
    project.append(name, [put(6, 1, "b", "b6")])
    project.run(*models[1:])  # all but the corrections
    assert multiset(project.rows(name)) == multiset([("a", "a1"), ("b", "b6"), ("c", "c5")])
    run(project, name)
    assert multiset(project.rows(name)) == multiset([("b", "b6"), ("c", "c5")])


@pytest.mark.long
def test_a_changed_option_that_is_changed_back_leaves_no_row_of_its_own(project: Project) -> None:
    name, models = "back_again", [f"back_again_{role}" for role in TABLES]
    project.add_collection(name, KEY, VALUE, {"late": "correct", "ties": "prefer_upsert"})
    project.append(name, FIRST)
    project.run(f"models/{name}")
    for ties, selected in (("prefer_delete", models[1:]), ("prefer_upsert", models)):
        options = {"late": "correct", "ties": ties}
        project.configure(**{name: {"+unique_key": ["k"], "+meta": {"trueup": options}}})
        if ties == "prefer_delete":
            project.append(name, [put(6, 1, "b", "b6"), delete(6, 1, "b")])
        project.run(*selected)
        assert (("b", "b6") in project.rows(name)) is (ties == "prefer_upsert")


@pytest.mark.long
def test_a_batch_is_skipped_if_another_run_compared_after_it_was_planned(project: Project) -> None:
    name = "compared_twice"
    project.add_collection(name, KEY, VALUE, {"late": "correct"})
    project.append(name, FIRST)
    project.run(f"models/{name}")
    project.append(name, [put(3, 1, "a", "a3"), put(7, 1, "b", "b7")])

    def compare() -> None:
        table = f"{project.name}.{name}_corrections"
        project.spark.sql(f"alter table {table} set tblproperties ('trueup.compared_by' = 'other')")

    with before(f"create or replace table .*{name}_batch", compare):
        run(project, name)
    assert f"{name}_batch: skipped: another run compared at the same moment" in project.messages
    assert len(project.progress(name)) == 1
    run(project, name)
    assert ("a", "a3") in project.rows(name)


@pytest.mark.long_cases
@pytest.mark.parametrize("option", ["ties", "late"])
def test_corrections_of_code_that_was_changed_back_reach_no_batch(
    project: Project, option: str
) -> None:
    """The corrections of the changed code wait for a batch that a dry run does not append."""
    name = f"reverted_{option}"
    project.add_collection(name, KEY, VALUE, {"late": "correct", "ties": "prefer_upsert"})
    project.append(name, [*FIRST, delete(5, 1, "c")])
    project.run(f"models/{name}")
    rows = multiset(project.rows(name))
    commands = project.folder / f"models/{name}/{name}_commands.sql"
    text = commands.read_text()
    for is_changed in (True, False):
        ties = "prefer_delete" if is_changed and option == "ties" else "prefer_upsert"
        options = {"late": "correct", "ties": ties}
        project.configure(**{name: {"+unique_key": ["k"], "+meta": {"trueup": options}}})
        if option == "late":
            deletes = "\"log_delete or k = 'b'\"" if is_changed else '"log_delete"'
            project.write(f"models/{name}/{commands.name}", text.replace('"log_delete"', deletes))
        project.run(f"models/{name}", read_only=is_changed)
        if is_changed:
            assert f"{name}_corrections: corrections: 1 code_change" in project.messages
    assert multiset(project.rows(name)) == rows
    assert len(project.updates(name)) == len(rows)


@pytest.mark.long
def test_corrections_without_a_new_column_of_the_log_reach_no_batch(project: Project) -> None:
    name = "older_corrections"
    project.add_collection(name, KEY, VALUE, {"late": "correct"})
    project.append(name, FIRST)
    project.run(f"models/{name}")
    project.append(name, [put(2, 2, "a", "late")])
    project.run(f"{name}_corrections")
    assert f"{name}_corrections: corrections: 1 late_command" in project.messages
    project.set_column(name, Column("note", "string"))

    project.run(f"{name}_commands", f"{name}_batch", fails=True)
    said = "\n".join(project.messages)
    assert "rows without note, which the log has got since they were found" in said
    assert f"dbt run -s {name}_corrections+." in said

    project.run(f"models/{name}")
    oracle = Collection("correct")
    oracle.run([*FIRST, put(2, 2, "a", "late")])
    assert multiset(project.rows(name)) == multiset([(*row, None) for row in oracle.rows])


@pytest.mark.long
def test_a_batch_that_takes_corrections_of_other_code_is_compared_again(project: Project) -> None:
    name, models = "left_out", [f"left_out_{role}" for role in TABLES]
    project.add_collection(name, KEY, VALUE, {"late": "correct", "ties": "prefer_upsert"})
    project.append(name, [*FIRST, delete(5, 1, "c")])
    project.run(f"models/{name}")
    rows = multiset(project.rows(name))
    runs: list[tuple[str, list[str], bool]] = [
        ("prefer_delete", models, True),
        ("prefer_upsert", models[1:], False),  # all but the corrections
        ("prefer_upsert", models, False),
    ]
    for ties, selected, is_dry in runs:
        options = {"late": "correct", "ties": ties}
        project.configure(**{name: {"+unique_key": ["k"], "+meta": {"trueup": options}}})
        project.run(*selected, read_only=is_dry)
    assert multiset(project.rows(name)) == rows


def test_only_one_model_with_late_correct_is_refused(project: Project) -> None:
    name = "half"
    project.add_collection(name, KEY, VALUE, {"late": "correct"})
    project.append(name, FIRST)
    project.run(f"models/{name}")
    call = f"{{{{ trueup.corrections('{name}') }}}}"
    meta = "{{ config(meta={'trueup': {'verify': 50}}) }}"
    project.write(f"models/{name}/{name}_corrections.sql", f"{meta} {call}")
    project.append(name, [put(3, 1, "a", "a3"), put(7, 1, "a", "a7")])

    project.run(f"models/{name}", fails=True)

    said = "\n".join(project.messages)
    assert f"Option `late` of {name}_corrections must be that of {name}_batch: correct." in said
