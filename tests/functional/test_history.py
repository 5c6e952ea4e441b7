"""The versions of `trueup.history` agree with `as_of`, `changes_between` and the dict model."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import pytest

from tests import strategies
from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, canonical
from tests.project import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string"), Column("n", "int")]
LAST = 7
RUNS = 3


def put(ts: int, key: str | None, v: str | None, n: int | None = 0, order: int = 1) -> Command:
    return Command(ts, (order,), (key,), (v, n))


def delete(ts: int, key: str) -> Command:
    return Command(ts, (2,), (key,), None)


ARRIVALS = [
    [
        *(put(ts, "often", f"v{ts // 2}", ts) for ts in range(4)),
        put(0, "gone", "a"),
        delete(2, "gone"),
        put(0, "back", "same"),
        delete(1, "back"),
        put(3, "back", "same"),
        put(1, "nulls", None, None),
        put(2, "nulls", None, 5),
        put(0, "broken", "good"),
        Command(1, (1,), ("broken",), None, "no number"),
        put(3, "broken", "good"),
        put(4, "open", "v4"),
    ],
    # The commands of the ticks 1 and 2 are late: they correct the rows at the frontier.
    [
        put(1, "late", "x"),
        put(2, "often", "late", 9, order=2),
        delete(4, "open"),
        put(5, "often", "v2", 7),
    ],
    # In one batch `nulls` changes and changes back: by commit time it has one version.
    [
        *(put(6, "often", "v2", 8), put(6, "gone", "b"), delete(5, "late")),
        *(put(5, "nulls", "x", 1), put(6, "nulls", None, 5)),
        *(put(LAST, "last", "open"), put(LAST, "gone", "open")),
    ],
]
"""What arrives before each run. The last tick of each run stays open."""


WIDTHS = {"r": 1, "s": 2}
"""The collections with random logs, and their number of key columns."""
CAPS = (2, 5, None)
"""The first tick that each run over a random log leaves open; None if it settles all."""

Shown = dict[tuple[str, int], Counter[Any]]
"""The rows of the view of a collection after each batch."""


@pytest.fixture(scope="module")
def ran(new_project: Callable[[str], Project]) -> tuple[Project, Shown]:
    """Two collections after three runs. `e` writes open ticks, too (`eager`)."""
    project = new_project("history")
    shown: Shown = {}
    for name, eager in {"c": False, "e": True}.items():
        options = {"late": "correct", "eager": eager, "input_upper": "log_upper - 1"}
        project.add_collection(name, KEY, VALUE, options)
        for view, call in {
            "history": f"history('{name}')",
            "tracked": f"history('{name}', track=['v'])",
            "commits": f"history('{name}', by='commit_time')",
            **{f"at_{ts}": f"as_of('{name}', {ts})" for ts in range(LAST)},
            "from_1_to_5": f"changes_between('{name}', 1, 5)",
        }.items():
            project.write(f"models/{name}/{name}_{view}.sql", f"{{{{ trueup.{call} }}}}")
    for number, arrived in enumerate(ARRIVALS):
        for name in "ce":
            project.append(name, arrived)
        tables = [f"{name}_{role}" for name in "ce" for role in TABLES]
        project.run(*(tables if number else []))
        for name in "ce":
            shown[name, number + 1] = multiset(project.rows(name))
    return project, shown


@pytest.fixture(scope="module")
def project(ran: tuple[Project, Shown]) -> Project:
    return ran[0]


def valid(project: Project, view: str, place: Any) -> Counter[Any]:
    """Give the rows of a history that are valid at a place, without their bounds."""
    return multiset(
        [
            tuple(row)[:-3]
            for row in project.sql(f"select * from {{}}.{view}")
            if row["valid_from"] <= place and (row["is_current"] or place < row["valid_to"])
        ]
    )


@pytest.mark.parametrize("name", ["c", "e"])
def test_the_versions_of_a_tick_are_the_rows_of_as_of_and_of_the_dict_model(
    project: Project, name: str
) -> None:
    oracle, log = Collection("correct"), list[Command]()
    upper = 0
    for arrived in ARRIVALS:
        log += arrived
        upper = max(command.ts for command in log)
        oracle.run(log, upper)
    assert upper == LAST
    for ts in range(LAST):
        sums: Counter[Any] = Counter()
        for update in oracle.changelog:
            if update.ts <= ts and update.error is None:
                sums[(update.key or ()) + (update.value or ())] += update.diff
        expected = multiset([row for row, diff in sums.items() for _ in range(diff)])
        assert multiset(project.rows(f"{name}_at_{ts}")) == expected
        assert valid(project, f"{name}_history", ts) == expected


@pytest.mark.parametrize("name", ["c", "e"])
def test_the_current_versions_are_those_of_the_last_settled_tick(
    project: Project, name: str
) -> None:
    current = project.sql(f"select * except (is_current) from {{}}.{name}_history where is_current")
    assert multiset([tuple(row)[:-2] for row in current]) == valid(
        project, f"{name}_history", LAST - 1
    )
    assert all(row["valid_from"] < LAST for row in current)


@pytest.mark.parametrize("name", ["c", "e"])
def test_versions_that_begin_and_end_between_two_ticks_are_the_changes_between_them(
    project: Project, name: str
) -> None:
    before, after = (valid(project, f"{name}_history", ts) for ts in (1, 5))
    changes = {(*row, 1): count for row, count in (after - before).items()}
    changes |= {(*row, -1): count for row, count in (before - after).items()}
    assert multiset(project.rows(f"{name}_from_1_to_5")) == Counter(changes)


@pytest.mark.parametrize("name", ["c", "e"])
def test_by_commit_time_the_versions_are_what_the_view_showed_after_each_batch(
    ran: tuple[Project, Shown], name: str
) -> None:
    project, shown = ran
    committed = [row["_statistics"]["committed_at"] for row in project.progress(name)]
    assert len(committed) == RUNS
    for number, moment in enumerate(committed, 1):
        assert valid(project, f"{name}_commits", moment) == shown[name, number]
    assert len(project.sql(f"select * from {{}}.{name}_commits where k = 'nulls'")) == 1


@pytest.mark.parametrize("name", ["c", "e"])
@pytest.mark.parametrize("view", ["history", "tracked", "commits"])
def test_the_versions_of_a_key_do_not_overlap_and_at_most_one_is_current(
    project: Project, name: str, view: str
) -> None:
    ends: dict[str, Any] = {}
    for row in project.sql(f"select * from {{}}.{name}_{view} order by k, valid_from"):
        assert row["is_current"] == (row["valid_to"] is None)
        assert row["is_current"] or row["valid_from"] < row["valid_to"]
        if row["k"] in ends:
            assert ends[row["k"]] is not None
            assert ends[row["k"]] <= row["valid_from"]
        ends[row["k"]] = row["valid_to"]
    assert "often" in ends


def test_a_deleted_row_that_comes_back_has_two_versions_with_a_gap(project: Project) -> None:
    found = project.sql("select * from {}.c_history where k = 'back' order by valid_from")
    assert [(row["valid_from"], row["valid_to"]) for row in found] == [(0, 1), (3, None)]


def test_a_version_ends_with_an_error_and_another_begins_with_a_good_value(
    project: Project,
) -> None:
    found = project.sql("select * from {}.c_history where k = 'broken' order by valid_from")
    assert [(row["valid_from"], row["valid_to"]) for row in found] == [(0, 1), (3, None)]


def test_with_track_only_the_tracked_columns_begin_a_version(project: Project) -> None:
    every = project.sql("select * from {}.c_history order by k, valid_from")
    expected: list[list[Any]] = []
    for row in every:
        last = expected[-1] if expected else [None] * 5
        if (last[0], last[1], last[4]) == (row["k"], row["v"], row["valid_from"]):
            last[2], last[4] = row["n"], row["valid_to"]
        else:
            expected.append([row["k"], row["v"], row["n"], row["valid_from"], row["valid_to"]])
    found = project.sql("select * from {}.c_tracked order by k, valid_from")
    assert [list(row)[:-1] for row in found] == expected
    assert len(found) < len(every)


def test_a_compaction_keeps_the_versions_that_are_still_valid(project: Project) -> None:
    kept = valid(project, "c_history", 4)
    bounds = (
        "select k, valid_from, valid_to from {}.c_history where valid_to is null or valid_to > 4"
    )
    before = multiset(project.sql(bounds))
    project.operate("compact", collection="c", since=4)
    assert multiset(project.sql("select k, valid_from, valid_to from {}.c_history")) == before
    assert valid(project, "c_history", 4) == kept


def test_by_commit_time_the_current_row_of_an_eager_collection_outlives_a_compaction(
    new_project: Callable[[str], Project],
) -> None:
    """The compaction keeps an addition of batch 2 whose retraction is older: one of batch 1."""
    project = new_project("history_of_open_ticks")
    options = {"verify": "never", "eager": True, "input_upper": "least(log_upper, 3)"}
    project.add_collection("c", KEY, VALUE, options)
    project.write("models/commits.sql", "{{ trueup.history('c', by='commit_time') }}")
    project.append("c", [put(2, "k", "first"), put(6, "k", "last")])
    project.run()
    options["input_upper"] = "least(log_upper, 6)"
    project.configure(c={"+unique_key": ["k"], "+meta": {"trueup": options}})
    project.append("c", [put(5, "k", "between")])
    project.run()
    project.operate("compact", collection="c", since=6)

    assert project.rows("c") == [("k", "last", 0)]
    current = project.sql("select k, v, n from {}.commits where is_current")
    assert [tuple(row) for row in current] == [("k", "last", 0)]


@pytest.mark.iceberg_only
def test_iceberg_has_no_changes_of_a_state_that_it_merges_on_read(project: Project) -> None:
    view = "lake.system.create_changelog_view(table => 'history.c_state', changelog_view => 'seen')"
    with pytest.raises(Exception, match="Delete files are currently not supported in changelog"):
        project.sql(f"call {view}").append(project.sql("select * from seen")[0])


@pytest.fixture(scope="module")
def random_histories(
    new_project: Callable[[str], Project],
) -> tuple[Project, dict[str, Collection]]:
    """Two collections after three runs over random logs in which commands come late."""
    project = new_project("random_histories")
    value = [Column(*column) for column in strategies.VALUE_COLUMNS]
    arrivals: dict[str, list[list[Command]]] = {}
    for name, width in WIDTHS.items():
        key = [Column(*column) for column in strategies.KEY_COLUMNS[width]]
        project.add_collection(name, key, value, {"late": "correct"})
        log = strategies.sample(strategies.logs(width, min_size=60, max_size=60), 5, seed=width)[-1]
        random.Random(width).shuffle(log)  # noqa: S311 - a log, not a secret
        arrivals[name] = [log[:20], log[20:40], log[40:]]
        for view, call in {
            "history": f"history('{name}')",
            "at": f"as_of('{name}', 'TO_TICK')",
            "between": f"changes_between('{name}', 'FROM_TICK', 'TO_TICK')",
        }.items():
            project.write(f"models/{name}/{name}_{view}.sql", f"{{{{ trueup.{call} }}}}")
    oracles = {name: Collection("correct") for name in WIDTHS}
    for number, until in enumerate(CAPS):
        for name, arrived in arrivals.items():
            project.append(name, arrived[number])
            oracles[name].run([*chain(*arrived[: number + 1])], until)
        tables = [f"{name}_{role}" for name in WIDTHS for role in ("commands", *TABLES)]
        project.run(*tables, until=until)
    project.run(command="compile")
    return project, oracles


@pytest.mark.parametrize("name", WIDTHS)
def test_history_as_of_and_changes_between_agree_pairwise_on_a_random_history(
    random_histories: tuple[Project, dict[str, Collection]], name: str
) -> None:
    project, oracles = random_histories
    compiled = project.folder / "target/compiled/random_histories/models" / name

    def rows(view: str, **ticks: int) -> list[tuple[Any, ...]]:
        text = (compiled / f"{name}_{view}.sql").read_text()
        for place, tick in ticks.items():
            text = text.replace(place, str(tick))
        return [canonical(tuple(row)) for row in project.spark.sql(text).collect()]

    assert oracles[name].upper == strategies.MAX_TS + 1
    ticks = range(oracles[name].upper)
    versions = rows("history")
    by_version = {
        ts: Counter(row[:-3] for row in versions if row[-3] <= ts and (row[-1] or ts < row[-2]))
        for ts in ticks
    }
    by_as_of = {ts: Counter(rows("at", TO_TICK=ts)) for ts in ticks}
    assert by_version == by_as_of
    assert by_as_of == {ts: multiset(oracles[name].as_of(ts)[0]) for ts in ticks}
    for first, last in combinations(ticks, 2):
        changes = rows("between", FROM_TICK=first, TO_TICK=last)
        for at in (by_as_of, by_version):
            changed = Counter(at[last])
            changed.subtract(at[first])
            expected = Counter((*row, diff) for row, diff in changed.items() if diff)
            assert Counter(changes) == expected
