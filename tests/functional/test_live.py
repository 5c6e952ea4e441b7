"""The view `<collection>_live`: the collection as if every command of the log were settled now."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests import strategies
from tests.acceptance import Column, multiset
from tests.functional.test_random_options import own_keys
from tests.oracle import Collection, Command, canonical
from tests.strategies import Kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY = [Column(*column) for column in strategies.KEY_COLUMNS[1]]
VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]
SETTINGS = {
    "waits": Kinds(partial=True, truncates=True),
    "eager": Kinds(partial=True, truncates=True),
    "key_changes": Kinds(partial=True, key_changes=True),
}
UPPERS = (0, 3, 5)
"""What is settled after each run; the log goes on beyond the last."""


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    project = new_project("live")
    project.sql("create table {}.uppers as select cast(0 as bigint) as upper")
    for name, kinds in SETTINGS.items():
        extra = {
            "truncate_when": kinds.truncates,
            "unchanged": kinds.partial,
            "old_key": kinds.key_changes,
        }
        options = {
            "eager": name == "eager",
            "input_upper": "least(log_upper, (select max(upper) from live.uppers))",
        }
        project.add_collection(name, KEY, VALUE, options, [each for each in extra if extra[each]])
        project.write(f"models/{name}/{name}_live.sql", f"{{{{ trueup.live('{name}') }}}}")
    return project


def arrivals_of(kinds: Kinds, rng: Random) -> list[list[Command]]:
    """A log in three parts; nothing arrives below what is settled by then."""
    strategy = strategies.logs(1, kinds._replace(truncates=False), min_size=5, max_size=20)
    drawn = strategies.sample(strategy, 20, rng.randrange(2**32))
    log = [own_keys(each, number) for number, family in enumerate(drawn) for each in family]
    if kinds.truncates:
        log += [Command(ts, (1, 1), None, None, is_truncate=True) for ts in (2, 4)]
    arrivals: list[list[Command]] = [[] for _ in UPPERS]
    for command in log:
        settled = sum(command.ts < upper for upper in UPPERS[:-1])
        arrivals[rng.randint(0, 2 - settled)].append(command)
    return arrivals


def check(project: Project, name: str, arrived: list[Command], upper: int) -> None:
    """The view has the rows of the whole log, final where nothing of their key is ahead."""
    oracle = Collection()
    oracle.run(arrived)
    ahead = {command.identity for command in arrived if command.ts >= upper}
    expected = [(*row, ((row[0],), None) not in ahead) for row in oracle.rows]
    assert multiset(project.rows(f"{name}_live")) == multiset(expected)


def test_it_has_the_rows_of_the_whole_log_final_where_nothing_is_ahead(project: Project) -> None:
    rng = Random(3)  # noqa: S311 - no secret
    arrivals = {name: arrivals_of(kinds, rng) for name, kinds in SETTINGS.items()}
    arrived: dict[str, list[Command]] = {name: [] for name in SETTINGS}
    for run, upper in enumerate(UPPERS):
        project.sql(f"insert overwrite {{}}.uppers values ({upper})")
        for name in SETTINGS:
            project.append(name, arrivals[name][run])
            arrived[name] += arrivals[name][run]
        if run == 0:
            project.run()
        else:
            # What has just come shows before it is read by a run.
            check(project, "waits", arrived["waits"], UPPERS[run - 1])
            roles = ("batch", "changelog")
            project.run(*(f"{name}_{role}" for name in SETTINGS for role in roles))
            # The changelog is ahead of the state, which the view goes by.
            check(project, "eager", arrived["eager"], UPPERS[run - 1])
            project.run(*(f"{name}_state" for name in SETTINGS))
        for name in SETTINGS:
            check(project, name, arrived[name], upper)
    assert {row[-1] for row in project.rows("waits_live")} == {True, False}


def test_it_leaves_errors_out_and_has_the_columns_of_the_collection(project: Project) -> None:
    assert project.spark.table("live.waits_live").columns == ["k", "v1", "v2", "_is_final"]
    bad = {canonical(error.key) for error in project.errors("waits") if error.key}
    assert bad
    assert not bad & {canonical(row[:1]) for row in project.rows("waits_live") if row[-1]}


def test_a_log_without_ticks_has_nothing_ahead(new_project: Callable[[str], Project]) -> None:
    project = new_project("live_offsets")
    project.sql("create table {}.log (k string, v string, p int, o bigint) using iceberg")
    for role in ("corrections", "batch", "changelog", "state", "live"):
        project.write(f"models/c/c_{role}.sql", f"{{{{ trueup.{role}('c') }}}}")
    call = "relation='live_offsets.log', reclock=['p', 'o'], columns=['v']"
    project.write("models/c/c_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
    project.configure(c={"+unique_key": ["k"]})
    project.run("c_commands")
    project.run("c_live", fails=True)
    assert "c_live must be run after c_batch has made" in "\n".join(project.messages)
    project.run(fails=True)
    assert "c_live must be of a collection whose log has ticks." in "\n".join(project.messages)
