"""Compare the package with the oracle over random logs, also cut, shuffled and repeated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, check_laws, consolidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]


def add(project: Project, name: str, width: int) -> str:
    key = [Column(*column) for column in strategies.KEY_COLUMNS[width]]
    project.add_collection(name, key, VALUE)
    return name


@strategies.few
@given(data=st.data())
def test_every_run_over_a_random_log_equals_the_oracle(
    own_project: Callable[[str], Project], data: st.DataObject
) -> None:
    width = data.draw(st.sampled_from([1, 2]))
    log = data.draw(strategies.logs(width, min_size=strategies.LEAST, max_size=60))
    project, oracle = own_project("random_logs"), Collection()
    name = add(project, "c", width)
    arrived: list[Command] = []
    key = [column for column, _ in strategies.KEY_COLUMNS[width]]
    before = None
    for step in data.draw(strategies.late_splits(log)):
        arrived += step.commands
        project.append(name, step.commands)
        options = {"max_commands_per_batch": step.max_commands} if step.max_commands else {}
        if options != before:
            project.configure(**{name: {"+unique_key": key, "+meta": {"trueup": options}}})
            before = options
        project.run_collection(name, until=step.until)
        oracle.run(arrived, step.until, step.max_commands)
        assert multiset(project.rows(name)) == multiset(oracle.rows)
        assert multiset(project.errors(name)) == multiset(oracle.errors)
    updates = project.updates(name)
    assert consolidate(updates) == consolidate(oracle.changelog)
    assert len(updates) == len(oracle.changelog)
    check_laws(updates)


@strategies.few
@given(data=st.data())
def test_splitting_shuffling_or_repeating_a_log_changes_nothing(
    own_project: Callable[[str], Project], data: st.DataObject
) -> None:
    width = data.draw(st.sampled_from([1, 2]))
    log = data.draw(strategies.logs(width, min_size=strategies.LEAST, max_size=60))
    project = own_project("random_logs")
    whole, shuffled, split = (add(project, name, width) for name in ("whole", "shuffled", "split"))
    project.append(whole, log)
    project.append(shuffled, data.draw(strategies.duplicates(data.draw(strategies.shuffles(log)))))
    project.run(f"models/{whole}", f"models/{shuffled}")
    for step in data.draw(strategies.tick_splits(log)):
        project.append(split, step.commands)
        project.run(f"models/{split}", until=step.until)
    for table, columns in {
        "state": "* except (_seq, _upper)",
        "changelog": "* except (_seq, _lower, _upper, _batch_id, _statistics)",
    }.items():
        ordered = (
            f"select to_json(struct({columns})) from {{}}.%s_{table} where _kind <> 'progress'"
        )
        expected = sorted(row[0] for row in project.sql(ordered % whole))
        assert sorted(row[0] for row in project.sql(ordered % shuffled)) == expected
        assert sorted(row[0] for row in project.sql(ordered % split)) == expected
