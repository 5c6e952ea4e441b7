"""Collections by a select compare desired with persisted rows and write the difference."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.between import views_kept
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

ROLES = ("corrections", "batch", "changelog", "state")
COUNTED = "select v, count(*) as n from {{ ref('items') }} group by v"


def put(ts: int, key: str, value: str) -> Command:
    return Command(ts, (1,), (key,), (value,))


def delete(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), None)


def query_of(project: Project, name: str, select: str) -> None:
    """Give a collection another select."""
    project.write(f"models/{name}/{name}_desired.sql", select)


@contextmanager
def another_query(project: Project, name: str, select: str) -> Iterator[None]:
    """Give a collection that counts items another select, and at the end its own one again."""
    query_of(project, name, select)
    try:
        yield
    finally:
        query_of(project, name, COUNTED)


def models_of(name: str) -> list[str]:
    return [f"{name}_{role}" for role in ("desired", *ROLES)]


def updates(project: Project, name: str, after: int = 0) -> list[tuple[Any, ...]]:
    """Give all updates after a batch: tick, row, diff and cause."""
    return [
        tuple(row)
        for row in project.sql(
            "select _ts, * except (_error, _error_key, _ts, _diff, _cause, _kind, _seq, _lower,"
            f" _upper, _batch_id, _statistics, _certificate), _diff, _cause"
            f" from {{}}.{name}_changelog"
            f" where _kind = 'update' and _seq > {after} order by all"
        )
    ]


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """The collection `items`, and `counts`, which counts items by value, after one run."""
    project = new_project("desired")
    project.add_collection("items", [Column("k", "string")], [Column("v", "string")])
    project.append("items", [put(1, "a", "x"), put(2, "b", "x"), put(4, "c", "y")])
    project.add_select("counts", COUNTED, ["v"], of=["items"])
    project.run()
    return project


def test_the_first_run_writes_all_rows_at_the_last_tick_below_the_upper(project: Project) -> None:
    assert multiset(project.rows("counts")) == multiset([("x", 2), ("y", 1)])
    assert updates(project, "counts") == [(4, "x", 2, 1, None), (4, "y", 1, 1, None)]
    (progress,) = project.progress("counts")
    assert (progress["_lower"], progress["_upper"]) == (0, 5)


@pytest.fixture(autouse=True)
def views() -> Iterator[dict[str, str]]:
    """The session views of the runs in a test."""
    with views_kept() as names:
        yield names


def in_doubt(project: Project, views: dict[str, str], name: str = "counts") -> set[Any]:
    """Give the keys that the last run joined with the persisted rows."""
    view = views[f"{name}__desired_in_doubt"]
    return {row[0] for row in project.spark.sql(f"select v from {view}").collect()}


def test_a_run_without_changes_joins_no_rows_and_writes_no_batch(
    project: Project, views: dict[str, str]
) -> None:
    project.run()
    assert in_doubt(project, views) == set()
    assert "counts_corrections: corrections: none" in project.messages
    assert "counts_batch: up to date at 5" in project.messages
    assert len(project.progress("counts")) == 1


@pytest.fixture(scope="module")
def joined_by_second_run(project: Project) -> set[Any]:
    """The inputs change, and a second run counts again. Gives the keys that this run has joined."""
    project.append("items", [put(5, "d", "x"), delete(6, "c"), put(7, "e", "z")])
    with views_kept() as views:
        project.run()
        return in_doubt(project, views)


def test_a_change_of_the_inputs_writes_only_the_difference(
    project: Project, joined_by_second_run: set[Any]
) -> None:
    assert updates(project, "counts", after=1) == [
        (7, "x", 2, -1, None),
        (7, "x", 3, 1, None),
        (7, "y", 1, -1, None),
        (7, "z", 1, 1, None),
    ]
    assert multiset(project.rows("counts")) == multiset([("x", 3), ("z", 1)])
    assert joined_by_second_run == {"x", "z"}


@pytest.mark.long
def test_a_table_of_desired_rows_that_an_earlier_run_made_settles_nothing(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("desired")
    project.add_collection("goods", [Column("k", "string")], [Column("v", "string")])
    project.append("goods", [put(1, "a", "x")])
    counted = "{{ config(materialized='table') }}" + COUNTED.replace("items", "goods")
    project.add_select("stored", counted, ["v"], of=["goods"])
    project.run("goods_commands+")
    project.append("goods", [put(2, "b", "x")])
    project.run("models/goods")
    project.run("stored_corrections+")
    assert "stored_batch: up to date at 2" in project.messages
    project.append("goods", [put(3, "c", "x")])
    project.run("goods_commands+")
    assert updates(project, "stored") == [
        (1, "x", 1, 1, None),
        (3, "x", 1, -1, None),
        (3, "x", 3, 1, None),
    ]


@pytest.mark.long
def test_the_comparison_after_many_differences_joins_all_rows(
    own_project: Callable[[str], Project], views: dict[str, str]
) -> None:
    project = own_project("desired")
    table = f"{project.name}.numbers"
    project.sql(f"create table {table} using {{format}} as select id as v, 0 as n from range(300)")
    project.add_select("moving", f"select * from {table}", ["v"])
    joined = []
    for condition in ("false", "v = 7", "true", "v = 7", "v = 7"):
        project.sql(f"update {table} set n = n + 1 where {condition}")
        project.run(*models_of("moving"))
        joined.append(len(in_doubt(project, views, "moving")))
    project.run("moving")
    # A run with many differences, and the run after it, join all rows.
    # The last run joins only the rows in the bucket of the changed row.
    assert joined[:-1] == [300, 300, 300, 300]
    assert 1 <= joined[-1] < 10
    assert multiset(project.rows("moving")) == multiset(
        [(v, 4 if v == 7 else 1) for v in range(300)]
    )


@pytest.mark.long
@pytest.mark.usefixtures("joined_by_second_run")
def test_an_empty_difference_still_advances_the_upper(project: Project) -> None:
    last = project.progress("counts")[-1]
    assert last["_upper"] < 10
    project.append("items", [put(9, "d", "x")])
    project.run()
    assert updates(project, "counts", after=last["_seq"]) == []
    progress = project.progress("counts")[-1]
    assert (progress["_seq"], progress["_upper"]) == (last["_seq"] + 1, 10)


@pytest.mark.long
@pytest.mark.usefixtures("joined_by_second_run")
def test_a_changed_select_writes_the_difference_with_cause_code_change(project: Project) -> None:
    last = project.progress("counts")[-1]
    with another_query(project, "counts", COUNTED.replace("count(*)", "count(*) + 10")):
        project.run(*models_of("counts"))
    assert "counts_corrections: corrections: 4 code_change" not in project.messages
    assert "counts_corrections: corrections: 2 code_change" in project.messages
    found = updates(project, "counts", after=last["_seq"])
    # No tick was settled since, so the difference is at the tick that is still open.
    upper = last["_upper"]
    assert found == [
        (upper, "x", 3, -1, "code_change"),
        (upper, "x", 13, 1, "code_change"),
        (upper, "z", 1, -1, "code_change"),
        (upper, "z", 11, 1, "code_change"),
    ]
    project.run(*models_of("counts"))
    assert multiset(project.rows("counts")) == multiset([("x", 3), ("z", 1)])
    project.run()
    assert f"counts_batch: up to date at {upper}" in project.messages


def test_an_edited_state_is_healed_and_then_compared(project: Project) -> None:
    project.sql("update {}.counts_state set n = 99 where v = 'x'")
    project.sql("insert into {}.counts_state select * from {}.counts_state where v = 'z'")
    project.append("items", [put(10, "f", "z")])
    project.run()
    assert any(
        message.startswith("counts_corrections: corrections: 1 changed, ")
        and "external_edit" in message
        for message in project.messages
    ), project.messages
    assert multiset(project.rows("counts")) == multiset([("x", 3), ("z", 2)])
    project.run()
    assert "counts_batch: up to date at 11" in project.messages


@pytest.mark.long
def test_a_dropped_state_is_rebuilt(project: Project) -> None:
    before = multiset(project.rows("counts"))
    assert len(before) == 2
    project.sql("drop table {}.counts_state")
    project.run(*models_of("counts"))
    assert multiset(project.rows("counts")) == before


@pytest.mark.long
def test_a_dry_run_stages_the_batch_but_does_not_append_it(project: Project) -> None:
    project.append("items", [put(11, "g", "new")])
    project.run("models/items")
    project.run(*models_of("counts"), read_only=True)
    rows = project.sql("select v, _persisted, _desired.n from {}.counts_corrections")
    assert [tuple(row) for row in rows] == [("new", None, 1)]
    planned = project.sql("select v, n, _diff from {}.counts_batch where _kind = 'update'")
    assert [tuple(row) for row in planned] == [("new", 1, 1)]
    assert ("new", 1) not in project.rows("counts")
    # A later run of the batch uses the corrections of the dry run.
    project.run("counts_batch", "counts_changelog", "counts_state")
    assert ("new", 1) in project.rows("counts")
    assert project.progress("counts")[-1]["_upper"] == 12


def test_corrections_older_than_the_last_batch_are_ignored(project: Project) -> None:
    project.append("items", [put(12, "corrected", "corrected")])
    project.run("models/items", *models_of("counts"))
    # The corrections of this run are still there, and its batch is appended.
    assert [row["v"] for row in project.sql("select v from {}.counts_corrections")] == ["corrected"]
    last = project.progress("counts")[-1]["_seq"]
    assert [update[1] for update in updates(project, "counts", after=last - 1)] == ["corrected"]
    project.run("counts_batch", "counts_changelog")
    assert project.progress("counts")[-1]["_seq"] == last


@pytest.mark.long
def test_a_duplicate_key_stops_the_run_and_the_error_names_it(project: Project) -> None:
    before = len(project.progress("counts"))
    with another_query(project, "counts", COUNTED + " union all select 'x', 7"):
        project.run(*models_of("counts"), fails=True)
    said = "\n".join(project.messages)
    assert 'duplicate key: counts_desired has 2 rows of the key {"v":"x"}' in said
    assert len(project.progress("counts")) == before
    project.run(*models_of("counts"))
    assert len(project.progress("counts")) == before


TWICE = {
    "same": ("('a', 1)", "a", False),
    "same_of_new_code": ("('a', 1)", "a", True),
    "changed": ("('a', 7)", "a", False),
    "new": ("('c', 3), ('c', 3)", "c", False),
    "new_of_new_code": ("('c', 3), ('c', 4)", "c", True),
}
"""New rows of an input, the key that they duplicate, and whether the code changes."""


@pytest.mark.long
def test_a_duplicate_key_is_found_with_any_persisted_rows(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("desired")
    select = f"select v, n from {project.name}.%s_input"
    for name in TWICE:
        project.sql(f"create table {{}}.{name}_input as select 'a' as v, 1 as n")
        project.add_select(name, select % name, ["v"])
    models = [f"models/{name}" for name in TWICE]
    project.run(*models)
    for name, (rows, _, has_new_code) in TWICE.items():
        assert multiset(project.rows(name)) == multiset([("a", 1)])
        project.sql(f"insert into {{}}.{name}_input values {rows}")
        if has_new_code:
            query_of(project, name, select % name + " -- once more")
    before = {name: len(project.progress(name)) for name in TWICE}
    project.run(*models, fails=True)
    said = "\n".join(project.messages)
    for name, (_, key, _) in TWICE.items():
        assert f'duplicate key: {name}_desired has 2 rows of the key {{"v":"{key}"}}' in said
        assert project.sql(f"select * from {{}}.{name}_corrections") == []
    # No corrections are left for a batch.
    project.run(*(f"{name}_{role}" for name in TWICE for role in ROLES[1:]))
    assert {name: len(project.progress(name)) for name in TWICE} == before


def test_a_conflict_does_not_fail_the_run(project: Project) -> None:
    project.append("items", [put(13, "h", "late")])
    project.run("models/items")
    project.run("counts_desired", "counts_corrections", "counts_batch")
    # Another run appends its own batch first.
    project.sql("create table {}.held using {format} as select * from {}.counts_batch")
    project.run("counts_changelog", "counts_state")
    project.sql(
        "insert overwrite {}.counts_batch by name select * except (_batch_id), 'other' as"
        " _batch_id from {}.held"
    )
    project.run("counts_changelog")
    assert any("skipped: upper mismatch: batch" in each for each in project.messages)
    project.run(*models_of("counts"))
    assert ("late", 1) in project.rows("counts")


def test_a_rebase_begins_again_with_the_rows_of_the_select(project: Project) -> None:
    project.run(*models_of("counts"), "--full-refresh", rebase=True)
    (progress,) = project.progress("counts")
    assert (progress["_seq"], progress["_upper"]) == (1, 14)
    assert multiset(project.rows("counts")) == multiset(
        [tuple(row) for row in project.sql("select v, count(*) from {}.items group by v")]
    )


@pytest.mark.long
def test_a_tick_is_a_millisecond_without_option_of(project: Project) -> None:
    project.add_select("clock", "select v, count(*) as n from {{ ref('items') }} group by v", ["v"])
    began = int(time.time() * 1000)
    project.run(*models_of("clock"), "clock")
    upper = project.progress("clock")[-1]["_upper"]
    assert began - 60_000 < upper <= int(time.time() * 1000)
    assert {update[0] for update in updates(project, "clock")} == {upper - 1}
    project.run(*models_of("clock"))
    later = project.progress("clock")[-1]
    assert later["_seq"] == 2
    assert later["_lower"] == upper < later["_upper"]
    assert updates(project, "clock", after=1) == []


def test_a_view_with_a_schedule_changes_only_at_its_refreshes(project: Project) -> None:
    project.add_select(
        "hourly",
        COUNTED,
        ["v"],
        of=["items"],
        refresh={"every": 100, "aligned_to": 500, "at": [150]},
    )
    for ts, upper, tick in ((120, 150, 100), (151, 200, 150), (180, 200, None), (301, 400, 300)):
        before = len(project.progress("hourly")) if ts > 120 else 0
        project.append("items", [put(ts, f"t{ts}", "scheduled")])
        view = ["hourly"] if ts == 120 else []
        project.run(*models_of("items")[1:], *models_of("hourly"), *view)
        if tick is None:
            waits = "hourly_corrections: corrections: none; the next refresh is at 200"
            assert waits in project.messages
            assert len(project.progress("hourly")) == before
            continue
        last = project.progress("hourly")[-1]
        assert last["_upper"] == upper
        assert {update[0] for update in updates(project, "hourly", after=before)} == {tick}
    assert ("scheduled", 4) in project.rows("hourly")


@pytest.mark.long
def test_a_view_is_final_after_its_last_refresh(project: Project) -> None:
    project.add_select("once", COUNTED, ["v"], of=["items"], refresh={"at": [10]})
    project.run(*models_of("once"), "once")
    rows = multiset(project.rows("once"))
    assert [row["_upper"] for row in project.progress("once")] == [11]
    project.append("items", [put(400, "more", "more")])
    project.run("models/items", *models_of("once"))
    assert "once_corrections: corrections: none; final since 10" in project.messages
    assert multiset(project.rows("once")) == rows


@pytest.mark.long
def test_a_batch_with_too_many_retractions_waits_for_approval(project: Project) -> None:
    project.add_select("guarded", COUNTED, ["v"], of=["items"], max_retractions=0.5)
    project.run(*models_of("guarded"), "guarded")
    before = multiset(project.rows("guarded"))
    project.append("items", [put(500, key, "all the same") for key in "abcdefg"])
    project.append("items", [put(500, f"t{ts}", "all the same") for ts in (120, 151, 180, 301)])
    project.run("models/items", *models_of("guarded"), fails=True)
    said = "\n".join(project.messages)
    assert "must be at most 0.5 of all rows (option `max_retractions`)." in said
    assert 'such as {"v":"' in said
    assert multiset(project.rows("guarded")) == before
    plan, batch_id = project.printed_plan, staged_batch(project)
    assert f"-s guarded_changelog+ --vars '{{trueup_approve: {plan}}}'" in said
    # Another run that stages the same changes gets the same plan.
    project.run(*models_of("guarded"), fails=True)
    again = staged_batch(project)
    assert again != batch_id
    assert project.printed_plan == plan
    # A run of the whole collection keeps the approved batch.
    project.run(*models_of("guarded"), approve=plan)
    assert ("all the same", 11) in project.rows("guarded")
    assert project.progress("guarded")[-1]["_batch_id"] == again


def staged_batch(project: Project) -> str:
    (batch_id,) = {row[0] for row in project.sql("select _batch_id from {}.guarded_batch")}
    return str(batch_id)


@pytest.mark.long
def test_an_approval_does_not_apply_to_a_changed_plan(project: Project) -> None:
    before = multiset(project.rows("guarded"))
    for ts, keys in ((510, "abcdefgh"), (520, "ijk")):
        project.append("items", [put(ts, key, f"moved {key}") for key in keys])
        project.append("items", [delete(ts, f"t{each}") for each in (120, 151, 180, 301)])
    query_of(project, "guarded", COUNTED + " having count(*) > 5")
    project.run("models/items", *models_of("guarded"), fails=True)
    plan = project.printed_plan
    query_of(project, "guarded", COUNTED + " having v = 'moved a'")
    project.run(*models_of("guarded"), fails=True)
    other = project.printed_plan
    assert other != plan
    project.run("guarded_changelog+", approve=plan, fails=True)
    assert project.printed_plan == other
    assert multiset(project.rows("guarded")) == before
    # The approval of the new plan appends the batch.
    project.run("guarded_changelog+", approve=other)
    assert project.rows("guarded") == [("moved a", 1)]


@pytest.mark.long
def test_until_limits_the_inputs_of_a_select_but_not_the_select(project: Project) -> None:
    project.append("items", [put(600, "capped", "capped"), put(700, "ahead", "ahead")])
    project.run("models/items", *models_of("counts"), until=601)
    assert project.progress("counts")[-1]["_upper"] == 601
    assert ("capped", 1) in project.rows("counts")
    project.run("models/items")
    # The select now reads the items at tick 700.
    project.run(*models_of("counts"), until=601)
    assert project.progress("counts")[-1]["_upper"] == 701
    assert (700, "ahead", 1, 1, None) in updates(project, "counts")


@pytest.mark.long
def test_a_key_may_be_null_and_columns_follow_the_select(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("desired")
    rows = "select cast(null as string) as V, 1 as W, 'a' as x union all select 'b', null, 'b'"
    # A select ignores the options of logs, which may be set for the whole folder.
    ignored = {"eager": True, "errors": "fail", "inline_errors": "problem", "null_keys": "error"}
    project.add_select("wide", rows, ["v", "w"], max_retractions=0, on_conflict="fail", **ignored)
    project.run(*models_of("wide"), "wide")
    assert multiset(project.rows("wide")) == multiset([(None, 1, "a"), ("b", None, "b")])
    query_of(project, "wide", f"select *, 1.5D as y from ({rows}) union all select 'c', 3, 'c', 2")
    project.run(*models_of("wide"), fails=True)
    said = "\n".join(project.messages)
    assert "Got: 0 of" not in said
    assert "must be at most 0 rows" in said
    project.run("wide_changelog+", approve=project.sql("select _batch_id from {}.wide_batch")[0][0])
    assert multiset(project.rows("wide")) == multiset(
        [(None, 1, "a", 1.5), ("b", None, "b", 1.5), ("c", 3, "c", 2.0)]
    )
    query_of(project, "wide", f"select *, 'd' as z, 1.5D as y from ({rows})")
    project.configure(wide={"+unique_key": ["v", "w"]})
    project.run(*models_of("wide"), "wide")
    assert multiset(project.rows("wide")) == multiset(
        [(None, 1, "a", 1.5, "d"), ("b", None, "b", 1.5, "d")]
    )
    # Another run appended meanwhile. With `on_conflict: fail` this is an error.
    project.configure(
        wide={"+unique_key": ["v", "w"], "+meta": {"trueup": {"on_conflict": "fail"}}}
    )
    query_of(project, "wide", rows)
    project.run("wide_desired", "wide_corrections", "wide_batch")
    project.sql("create table {}.kept using {format} as select * from {}.wide_batch")
    project.run("wide_changelog", "wide_state")
    project.sql(
        "insert overwrite {}.wide_batch by name select * except (_batch_id), 'other' as _batch_id"
        " from {}.kept"
    )
    project.run("wide_changelog", fails=True)
    assert "upper mismatch: batch" in "\n".join(project.messages)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no key": ("select 1 as n, 2 as m", {}, "a column of the select (n, m)"),
    "no value": ("select 'a' as v", {}, "a select with at least one column beside the key"),
    "ours": ("select 'a' as v, 1 as _ts", {}, "named other than trueup's own columns"),
    "a map": ("select 'a' as v, map(1, 2) as m", {}, "of a type that can be compared"),
    "twice": ("select 'a' as v, 1 as n", {}, "made by commands or by a select"),
    "nothing there": (
        "select 'a' as v, 1 as n",
        {"of": ["nobody"]},
        "needs the model nobody_state",
    ),
}


def test_a_select_that_cannot_be_a_collection_is_refused(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("desired")
    project.add_collection("items", [Column("k", "string")], [Column("v", "string")])
    for number, (select, options, _) in enumerate(REFUSED.values()):
        project.add_select(f"bad{number}", select, ["v"], **options)
    twice = [*REFUSED].index("twice")
    call = f"trueup.commands('{project.name}.items_log', ts='log_ts', sequence_by=['log_order'])"
    project.write(f"models/bad{twice}/bad{twice}_commands.sql", f"{{{{ {call} }}}}")
    project.run(*(f"models/bad{number}" for number in range(len(REFUSED))), fails=True)
    said = "\n".join(project.messages)
    for _, _, message in REFUSED.values():
        assert message in said
    project.configure(items={"+unique_key": ["k"], "+meta": {"trueup": {"of": ["items"]}}})
    project.run("models/items", fails=True)
    said = "\n".join(project.messages)
    assert "Option `of` in `meta.trueup` of items_corrections must be left out" in said
