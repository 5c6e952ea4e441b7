"""Corrections are what a run would change. `newest` lets a unit test expect rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

LOG = """{{{{ config(materialized='trueup', unique_key='k') }}}}
{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], delete_when="op = 'D'", truncate_when="op = 'T'",
    columns=['a', 'b'], unchanged_value={unchanged}
) }}}}"""
SELECT = """{{{{ config(materialized='trueup', unique_key='k') }}}}
select k, max(a) as a, max(b) as b from {schema}.log group by k"""
COLUMNS = "k string, ord int, op string, a string, b double"


def make(own_project: Callable[[str], Project], model: str, **given: str) -> Project:
    """Make a collection with the rows `x` and `y`, and its corrections."""
    project = own_project("corrected")
    project.sql(f"create table {{}}.log ({COLUMNS}) using {{format}}")
    project.write("models/c.sql", model.format(schema=project.name, **given))
    project.write("models/c_corrections.sql", "{{ trueup.corrections('c') }}")
    project.insert(
        "log", [("x", 5, "U", "x5", 0.0), ("y", 5, "U", "y5", None), ("n", 5, "U", None, 1.0)]
    )
    project.insert(
        "log", [("gone", 5, "U", "g5", 2.0), ("gone", 6, "D", None, None), (None, 5, "U", "z", 1.0)]
    )
    project.run()
    return project


def corrections(project: Project) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row) for row in project.sql("select k, a, _diff, _cause from {}.c_corrections")
    )


@pytest.mark.long
@pytest.mark.long_cases
@pytest.mark.parametrize("unchanged", ["none", "'__same__'"])
def test_corrections_of_a_log_are_what_a_run_would_change(
    own_project: Callable[[str], Project], unchanged: str
) -> None:
    project = make(own_project, LOG, unchanged=unchanged)
    assert not corrections(project)
    # Newer commands that no batch has taken, an older one, and a truncate below all rows.
    rows = [("x", 6, "U", "x6", 1.0), ("y", 6, "D", None, None), ("y", 4, "U", "old", 1.0)]
    project.insert("log", [*rows, ("new", 1, "U", "n1", 1.0), (None, 2, "T", None, None)])
    late = "late_command"
    expected = Counter([("x", "x5", -1, late), ("x", "x6", 1, late), ("y", "y5", -1, late)])
    assert corrections(project) == expected
    # The view sees each state of the store.
    project.run("c")
    assert not corrections(project)
    # Edits: a value, a row that went and a row that came.
    before = Counter(tuple(row) for row in project.sql("select k, a from {}.c"))
    project.sql("update {}.c__trueup set a = 'bad' where _kind = 'row' and k = 'x'")
    project.sql("delete from {}.c__trueup where _kind = 'row' and k = 'n'")
    edit = "external_edit"
    edits = Counter([("x", "bad", -1, edit), ("x", "x6", 1, edit), ("n", None, 1, edit)])
    assert corrections(project) == edits
    # A key that the log has lost stays; its edit is seen, too.
    project.sql("delete from {}.log where k = 'x'")
    assert corrections(project) == edits
    project.run("c")
    assert not corrections(project)
    assert Counter(tuple(row) for row in project.sql("select k, a from {}.c")) == before


@pytest.mark.long
def test_corrections_of_a_select_are_its_drift(own_project: Callable[[str], Project]) -> None:
    project = make(own_project, SELECT)
    assert not corrections(project)
    project.sql("delete from {}.log where k = 'y'")
    project.insert("log", [("x", 7, "U", "x7", 1.0)])
    drift = Counter([("y", "y5", -1, "drift"), ("x", "x5", -1, "drift"), ("x", "x7", 1, "drift")])
    assert corrections(project) == drift
    project.sql("update {}.c__trueup set a = 'bad' where _kind = 'row' and k = 'n'")
    edit = Counter([("n", "bad", -1, "external_edit"), ("n", None, 1, "external_edit")])
    assert corrections(project) == drift + edit
    project.run("c")
    assert not corrections(project)


UNIT_TEST = """
unit_tests:
  - name: the_newest_command_of_a_key_wins
    model: c
    given:
      - input: ref('log_view')
        rows:
          - {k: x, ord: 1, op: U, a: old}
          - {k: x, ord: 2, op: U, a: new}
          - {k: gone, ord: 1, op: U, a: x}
          - {k: gone, ord: 2, op: D}
          - {k: tied, ord: 1, op: U, a: x}
          - {k: tied, ord: 1, op: U, a: y}
          - {k: twice, ord: 1, op: U, a: x}
          - {k: twice, ord: 1, op: U, a: x}
          - {k: below, ord: -2, op: U, a: x}
          - {ord: -1, op: T}
          - {k: lost, op: U, a: x}
          - {k: broken, ord: 3, op: U, a: bad}
          - {ord: 3, op: U, a: no key}
    expect:
      rows:
        - {k: x, a: RIGHT}
        - {k: twice, a: x}
"""
NEWEST = """{{ config(materialized='trueup', unique_key='k') }}
{{ trueup.newest(trueup.commands(
    relation=ref('log_view'), sequence_by=['ord'], delete_when="op = 'D'", truncate_when="op = 'T'",
    columns=['a'], keys=['k'], error="if(a = 'bad', 'bad', null)"
), keys=['k']) }}"""


def test_a_unit_test_can_expect_rows(own_project: Callable[[str], Project]) -> None:
    project = own_project("expected")
    project.sql(f"create table {{}}.log ({COLUMNS}) using {{format}}")
    project.insert("log", [("x", 1, "U", "x1", 0.0), ("x", 2, "U", "x2", 0.0)])
    project.write("models/log_view.sql", f"select * from {project.name}.log")
    project.write("models/c.sql", NEWEST)
    project.write("models/c.yml", UNIT_TEST.replace("RIGHT", "new"))
    project.run()
    # The table has read commands.
    (message,) = [message for message in project.messages if message.startswith("c: ")]
    assert message == "c: batch 1: 2 commands, 1 inserted, 1 superseded"
    project.run(command="test")
    project.write("models/c.yml", UNIT_TEST.replace("RIGHT", "wrong"))
    project.run(command="test", fails=True)
