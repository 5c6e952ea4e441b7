"""How a collection and another table differ: on real tables, and on the screen."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.adopt import drift
from dbt_trueup.adopt.screen import describe_drift
from dbt_trueup.command_line.program import main
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

MODEL = """
{{{{ config(materialized='trueup', unique_key='k') }}}}

{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], delete_when="op = 'D'", columns=['a', 'b', 'c'],
    error='err'
) }}}}
"""
LOG = """
    ('equal', 1, 'U', 'x', -0D, 1, null), ('late', 1, 'U', 'old', 1D, 1, null),
    ('late', 2, 'U', 'new', 1D, 1, null), ('other', 1, 'U', 'x', 1D, 1, null),
    ('missing', 1, 'U', 'x', 1D, 1, null), ('deleted', 1, 'U', 'x', 1D, 1, null),
    ('deleted', 2, 'D', null, null, null, null), ('broken', 1, 'U', 'x', 1D, 1, 'bad'),
    ('null', 1, 'U', null, null, null, null)
"""
TABLE = """
    ('equal', 'x', '0'), ('late', 'old', '1'), ('other', 'X', '2'), ('deleted', 'x', '1'),
    ('unknown', 'x', '1'), ('broken', 'x', '1'), ('null', null, null), ('null', null, null),
    (null, 'x', '1')
"""
"""The numbers are texts, as in an extract that was loaded from a file."""
COUNTS = {
    "equal": 2,
    **dict.fromkeys(drift.CAUSES, 1),
}


def ask(project: Project, *words: str, code: int) -> Any:
    """Run a command with `--json`. Return the document, or the error."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        exit_code = main([*words, "--json", "--project-dir", str(project.folder)])
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return json.loads(out.getvalue()) if code < 2 else err.getvalue()


@pytest.fixture
def items(own_project: Callable[[str], Project]) -> Project:
    """A project with a log and a model that has not run."""
    project = own_project("drifted")
    columns = "k string, ord int, op string, a string, b double, c int, err string"
    project.sql(f"create table {{}}.log ({columns}) using {{format}}")
    project.sql(f"insert into {{}}.log values {LOG}")
    project.write("models/items.sql", MODEL.format(schema=project.name))
    return project


@pytest.mark.long
@pytest.mark.iceberg_only
def test_a_running_collection_against_an_extract(items: Project) -> None:
    items.sql("create table {}.extract (K string, a string, B string) using {format}")
    items.sql(f"insert into {{}}.extract values {TABLE}")
    extract = f"{items.name}.extract"
    assert "must be one that has run" in ask(items, "check", "items", "--against", extract, code=2)
    items.run("items")
    tick = items.sql("select max(_ts) from {}.items__trueup")[0][0]
    found = ask(items, "check", "items", "--against", extract, code=1)
    # In one batch the history has never seen the older value of `late`.
    assert found["counts"] == COUNTS | {"late_update": 0, "other": 2}
    assert (found["only_here"], found["only_there"]) == (["c"], [])
    assert found["samples"]["unknown_key"] == [{"key": ["u… (7 characters)"], "differing": {}}]
    # The commands of later runs.
    items.sql(
        "insert into {}.log values ('other', 5, 'U', 'X', 2D, 1, null),"
        " ('late', 5, 'U', 'newest', 1D, 1, null), ('deleted', 5, 'U', 'x', 1D, 1, null)"
    )
    items.run("items")
    shown = ask(items, "check", "items", "--against", extract, "--show-values", code=1)
    assert shown["counts"] == COUNTS | {
        "equal": 4,
        "late_update": 0,
        "missed_delete": 0,
        "other": 1,
    }
    assert shown["samples"]["other"] == [{"key": ["late"], "differing": {"a": ["newest", "old"]}}]
    select = "(select k, 'new' as a from values ('late') as one(k))"
    now = ask(items, "check", "items", "--against", select, code=1)
    assert now["counts"]["late_update"] == 1
    # At the end of the first tick it is as it was before.
    then = ask(items, "check", "items", "--against", extract, "--as-of", str(tick), code=1)
    # But the history does not know a key that came and went in one batch.
    assert then["counts"] == found["counts"] | {"missed_delete": 0, "unknown_key": 2}
    assert ask(items, "check", "items", "--against", select, "--as-of", str(tick), code=1)[
        "counts"
    ] == dict.fromkeys(COUNTS, 0) | {"equal": 1, "missing_row": 4}
    # At a time: it is that of the newest batch before it.
    at = ask(items, "check", "items", "--against", select, "--as-of", "2999-01-01T10:00", code=1)
    assert at["counts"] == now["counts"]
    early = ask(items, "check", "items", "--against", select, "--as-of", "2020-01-01", code=2)
    assert "must be one after the first batch of items" in early
    # A table that has the same rows.
    assert ask(items, "check", "items", "--against", f"{items.name}.items", code=0)["counts"] == (
        dict.fromkeys(COUNTS, 0) | {"equal": 6}
    )
    wrong = "(select 'equal' as k, 'much' as b)"
    assert "Got: much" in ask(items, "check", "items", "--against", wrong, code=2)
    assert "must be one with each key column of items: k" in ask(
        items, "check", "items", "--against", "(select 1 as a)", code=2
    )


@pytest.mark.long
@pytest.mark.iceberg_only
def test_an_extract_of_a_place(own_project: Callable[[str], Project]) -> None:
    project = own_project("placed")
    project.sql("create table {}.log (k int, a string, t string, p int, o bigint) using {format}")
    project.write(
        "models/c.sql",
        "{{ config(materialized='trueup', unique_key='k') }}"
        f"{{{{ trueup.commands(relation='{project.name}.log', sequence_by=['o'],"
        " reclock=['t', 'p', 'o'], columns=['a']) }}",
    )
    for rows in ("(1, 'old', 'x', 0, 4), (2, 'b', 'y', 1, 9)", "(1, 'new', 'x', 0, 7)"):
        project.sql(f"insert into {{}}.log values {rows}")
        project.run("c")
    project.sql("insert into {}.log values (3, 'c', 'y', 0, 1)")

    def check(place: str, value: str, code: int) -> Any:
        against = f"(select 1 as k, '{value}' as a union all select 2, 'b')"
        return ask(project, "check", "c", "--against", against, "--as-of", place, code=code)

    # The first batch has read up to offset 4. The second one has read offset 7.
    assert check("x:0:4", "old", 0)["as_of"] == {"topic": "x", "partition": "0", "offset": 4}
    assert check("0:6", "old", 0)["counts"]["equal"] == 2
    assert check("0:7", "new", 0)["counts"]["equal"] == 2
    assert check("0:7", "old", 1)["counts"]["late_update"] == 1
    assert check("1:9", "new", 0)["counts"]["equal"] == 2
    assert "must be at or after 4, the first offset of partition 0" in check("0:3", "old", 2)
    assert "must be in a partition that c has read" in check("x:5:7", "new", 2)
    project.run("c")
    assert "which is in 2 topics" in check("0:7", "new", 2)


@pytest.mark.iceberg_only
def test_a_table_is_compared_with_its_log_before_its_adoption(items: Project) -> None:
    words = ("adopt", "items")
    assert f"A table {items.name}.items must exist" in ask(items, *words, code=2)
    items.sql("create table {}.items (k string, a string, b double, note string) using {format}")
    items.sql(
        "insert into {}.items select k, a, cast(b as double), 'n'"
        f" from values {TABLE} as one(k, a, b)"
    )
    found = ask(items, *words, code=1)
    assert found["counts"] == COUNTS
    assert (found["only_here"], found["only_there"]) == (["c"], ["note"])
    tables = {row["tableName"] for row in items.sql("show tables in {}")}
    assert {name for name in tables if "plan" not in name} == {"log", "items"}
    # The adoption itself, and what it has changed.
    items.sql("delete from {}.items where k is null or k = 'null'")
    items.run("items")
    assert items.sql("select count(*) from {}.items__before")[0][0] == 6
    rows = {row["k"]: row["a"] for row in items.sql("select k, a from {}.items")}
    assert rows == {
        "equal": "x",
        "late": "new",
        "other": "x",
        "missing": "x",
        "null": None,
        "unknown": "x",
    }
    assert "must be a collection that has not run" in ask(items, *words, code=2)


ROWS: list[dict[str, Any]] = [
    {"cause": "equal", "cause_rows": 1200, "key": None, "differing": None}
    | {"one_sided": '{"only_here": ["updated_at"], "only_there": ["a", "b\\u001b"]}'},
    {
        "cause": "late_update",
        "cause_rows": 3000,
        "key": ["anna@example.org", None],
        "differing": [{"column": "status", "here": None, "there": "placed\nby phone"}],
    },
    {"cause": "unknown_key", "cause_rows": 1, "key": ["17"], "differing": None},
]


def test_the_report_masks_keys_and_values_unless_they_are_asked_for() -> None:
    masked = describe_drift("orders", "raw.orders", drift.parse(ROWS, show_values=False))
    assert masked == (
        "raw.orders and orders: 3,001 differences, 1,200 equal rows\n"
        "      3,000  late_update    raw.orders has a value that orders had before\n"
        "               key a… (16 characters), null: status null, there p… (15 characters)\n"
        "          1  unknown_key    raw.orders has the key, orders never had it\n"
        "               key … (2 characters)\n"
        "only orders has updated_at: not compared\n"
        "only raw.orders has a, b : not compared"
    ).replace("b :", "b:")
    shown = describe_drift("orders", "raw.orders", drift.parse(ROWS, show_values=True))
    assert "key anna@example.org, null: status null, there placed by phone" in shown


@pytest.mark.parametrize("show_values", [False, True])
def test_a_value_does_not_reach_the_terminal_as_a_command(*, show_values: bool) -> None:
    pair = {"column": "status", "here": "\x1b[2Jpaid", "there": "a\x9b31mb\x7f"}
    row = {"cause": "other", "cause_rows": 1, "key": ["\x1b]0;title\x07"], "differing": [pair]}
    row |= {"one_sided": ROWS[0]["one_sided"]}
    shown = describe_drift("orders", "raw", drift.parse([row], show_values=show_values))
    assert all(line.isprintable() for line in shown.splitlines())
    assert ("paid" in shown) == show_values


def test_every_cause_of_the_macro_is_known() -> None:
    text = (ROOT / "macros/operate/drift.sql").read_text().partition("caused as (")[2]
    found = set(re.findall(r"(?:then|else|select|if\([^']*|,) '([a-z_]+)'", text))
    assert found - {"broken", "known", "paired"} == {"equal", *drift.CAUSES}
    with pytest.raises(KeyError):
        drift.parse([{**ROWS[2], "cause": "invented"}], show_values=False)


def test_options_of_the_comparison_need_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "orders", "--as-of", "3"]) == 2
    assert "must be given with --against" in capsys.readouterr().err
    assert main(["check", "orders", "--against", "a.b", "--as-of", "yesterday"]) == 2
    assert "or a place such as orders:0:17; got yesterday" in capsys.readouterr().err
