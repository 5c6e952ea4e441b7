"""A SELECT may mark rows as bad: they become errors, and the good rows are left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle import Error
from tests.project import EVOLVING, TICK, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

Marks = dict[tuple[str | None, int], tuple[float | None, str | None]]
"""The dict model: the value and the error of each key."""

KEY = ["two words", f"n{TICK}1"]
SELECT = (
    f"select `two words`, {quote(KEY[1])}, `value of`,"
    " case when is_bad then `what is wrong` end as _ERROR from {schema}.source"
)
DAYS: list[Marks] = [
    {
        ("good", 1): (1.0, None),
        ("becomes bad", 1): (2.0, None),
        ("bad", 1): (3.0, "no number"),
        ("becomes good", 1): (None, "it's ${env:HOME} \\ {{ '"),
        ("leaves", 1): (4.0, "no number"),
        ("other text", 1): (5.0, "first"),
        (None, 1): (6.0, "no name"),
        ("empty text", 1): (7.0, ""),
    },
    {
        ("good", 1): (1.0, None),
        ("becomes bad", 1): (2.0, "late"),
        ("bad", 1): (99.0, "no number"),
        ("becomes good", 1): (None, None),
        ("other text", 1): (5.0, "second"),
        (None, 1): (6.0, None),
        ("empty text", 1): (7.0, ""),
        ("new", 2): (8.0, "no number"),
    },
    {},
]
"""What the SELECT returns in each run. The value of a bad row does not count."""


def held(marks: Marks) -> dict[tuple[str | None, int], tuple[float | None, str | None]]:
    """Return what is stored of each key: a row or an error."""
    return {
        key: (None if error is not None else value, error) for key, (value, error) in marks.items()
    }


def show(project: Project, marks: Marks) -> None:
    """Make the SELECT return these rows."""
    rows = [(*key, value, error is not None, error) for key, (value, error) in marks.items()]
    schema = (
        f"`two words` string, {quote(KEY[1])} int, `value of` double, is_bad boolean,"
        " `what is wrong` string"
    )
    frame = project.spark.createDataFrame(rows, schema).coalesce(1)
    table = frame.writeTo(f"{project.name}.source").using(project.table_format)
    for name, value in EVOLVING.items():
        table = table.tableProperty(name, value)
    table.createOrReplace()


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    project = new_project("marked")
    project.add_select("marks", SELECT.replace("{schema}", project.name), KEY)
    project.write("models/marks/marks_errors.sql", "{{ trueup.errors('marks') }}")
    return project


@pytest.mark.long
def test_bad_rows_become_errors_and_good_rows_stay_as_in_a_dict(project: Project) -> None:
    before: Marks = {}
    for batch, marks in enumerate(DAYS):
        show(project, marks)
        project.run()

        stored = held(marks)
        rows = {(*key, value) for key, (value, error) in stored.items() if error is None}
        errors = {
            Error(key, None, error) for key, (_, error) in stored.items() if error is not None
        }
        assert set(project.rows("marks")) == rows
        assert set(project.errors("marks")) == errors
        updates = {
            (one.diff, one.key, one.value, one.error) for one in project.updates("marks", batch)
        }
        assert updates == {
            (diff, key, None if error is not None else (value,), error)
            for diff, now, then in ((1, stored, before), (-1, before, stored))
            for key, (value, error) in now.items()
            if then.get(key, "absent") != (value, error)
        }
        (counts,) = [row["_statistics"] for row in project.progress("marks")[batch:]]
        assert counts["error_inserts"] == sum(
            error is not None and before.get(key) != (None, error)
            for key, (_, error) in stored.items()
        )
        before = stored
    # A key that was broken and is gone now was not fixed.
    fixed = project.sql(
        "select distinct `two words`, _seq from {}.marks_changelog where _cause = 'error_fixed'"
    )
    assert {tuple(row) for row in fixed} == {("becomes good", 2), (None, 2)}


REFUSED = {
    "a flag": ("select 'a' as v, 1 as n, false as _error", "must be a string, null for a good row"),
    "a key error": ("select 'a' as v, 1 as n, 'x' as _error_key", "without `_error_key`"),
    "no value": ("select 'a' as v, 'x' as _error", "at least one column beside the key"),
    "two rows": (
        "select 'a' as v, 1 as n, null as _error union all select 'a', 2, 'bad'",
        "has 2 rows of the key",
    ),
}


def test_marks_that_cannot_be_errors_are_refused(project: Project) -> None:
    for number, (select, _) in enumerate(REFUSED.values()):
        project.add_select(f"bad{number}", select, ["v"])
    project.run(*(f"models/bad{number}" for number in range(len(REFUSED))), fails=True)

    said = "\n".join(project.messages)
    for _, message in REFUSED.values():
        assert message in said
