"""`trueup explain` on real tables: why each command of a key won or lost."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from dbt_trueup.errors import UsageError
from dbt_trueup.explain.facts import CommandFact, Explanation, read_key
from dbt_trueup.explain.screen import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

HOSTILE = "}} {% raw %} ' \" \\ ${env:HOME} 😀 = \n"
"""A key that tries to leave its quotes in Jinja, JSON and SQL."""
MODEL = """
{{{{ config(materialized='trueup', unique_key=['k', 'n.o']) }}}}

{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], delete_when="op = 'D'", truncate_when="op = 'T'",
    columns=['a', 'b'], error='err', error_key='err_key' {more}
) }}}}
"""
LOG = """create table {}.%s (
    k string, `n.o` int, ord bigint, op string, a string, b int, err string, err_key string,
    old struct<k: string, `n.o`: int>
) using {format}"""


def say_why(project: Project, *words: str, code: int = 0, as_json: bool = True) -> Any:
    """Run `trueup explain`. Return the document or the text, or the error."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        flags = ["--json"] if as_json else []
        exit_code = main(["explain", *words, *flags, "--project-dir", str(project.folder)])
    assert exit_code == code, (out.getvalue(), err.getvalue())
    if code == 2:
        return err.getvalue()
    return json.loads(out.getvalue()) if as_json else out.getvalue()


def append(project: Project, *commands: tuple[Any, ...], log: str = "log") -> None:
    """Append commands: key, order, operation, and perhaps values, errors and the old key."""
    rows = [("x" if one[0] is None else one[0], None, *one[1:]) for one in commands]
    project.insert(log, [(*row, *[None] * (9 - len(row))) for row in rows])


def verdicts(document: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(one["order"], one["verdict"]) for one in document["commands"]]


@pytest.fixture(scope="module")
def asked(new_project: Callable[[str], Project]) -> Project:
    """A collection of whole commands that has read its log in three runs."""
    project = new_project("explained")
    project.sql(LOG % "log")
    project.write("models/items.sql", MODEL.format(schema=project.name, more=""))
    append(
        project,
        *[("a", 1, "U", "first", 1), ("a", 1, "U", "first", 1), ("a", 5, "U", "last", 1)],
        *[("tied", 3, "U", "one", 1), ("tied", 3, "U", "two", 1)],
        *[("gone", 3, "U", "one", 1), ("gone", 4, "D")],
        *[(HOSTILE, 2, "U", "x", 1), ("bad", 3, "U", None, None, "no number")],
        *[("b", 3, "U", None, None, None, "x00ff"), ("never", None, "U", "x", 1)],
    )
    project.run("items")
    append(project, ("a", 3, "U", "late", 1), ("gone", 2, "U", "late", 1))
    project.run("items")
    append(project, (None, 2, "T"), ("a", 6, "U", "newest", 2))
    project.run("items")
    append(project, ("a", 7, "U", "unread", 2))
    return project


@pytest.mark.long
@pytest.mark.iceberg_only
def test_each_command_of_a_key_has_its_verdict(asked: Project) -> None:
    found = say_why(asked, "items", "k=a", "--null", "n.o")
    assert found["status"] == "agree"
    assert verdicts(found) == [
        *[("7", "unread"), ("6", "wins"), ("5", "superseded"), ("3", "superseded")],
        *[("2", "truncate"), ("1", "truncated")],
    ]
    assert found["commands"][-1]["count"] == 2
    assert found["log"] == found["store"] == '{"a":"newest","b":2} at order 6'
    assert found["read_by"] == found["batch"] == 3
    assert [(one["batch"], one["diff"]) for one in found["updates"]] == [(3, 1), (3, -1), (1, 1)]
    shown = say_why(asked, "items", "k=a", "--null", "n.o", "--latest", "2", as_json=False)
    assert "items: k = 'a', n.o is null" in shown
    assert "commands, the newest first; 4 of 6 are left out" in shown
    assert shown.rstrip().endswith("the log and the store agree")
    tied = say_why(asked, "items", "k=tied", "--null", "n.o")
    assert verdicts(tied) == [("3", "tie"), ("3", "tie"), ("2", "truncate")]
    assert tied["log"] == "error of the kind tie at order 3"
    gone = say_why(asked, "items", "k=gone", "--null", "n.o")
    assert verdicts(gone)[:2] == [("4", "wins"), ("3", "deleted")]
    assert gone["store"] == "(deleted) at order 4"
    assert verdicts(say_why(asked, "items", "k=bad", "--null", "n.o"))[0] == ("3", "error")
    never = say_why(asked, "items", "k=never", "--null", "n.o")
    assert (None, "no_order") in verdicts(never)
    assert never["store"] == "(no row)"
    broken = say_why(asked, "items", "--error-key", "x00ff")
    assert verdicts(broken)[0] == ("3", "error")
    assert broken["store"] == "error: the key cannot be decoded at order 3"
    hostile = say_why(asked, "items", f"k={HOSTILE}", "--null", "n.o")
    assert verdicts(hostile) == [("2", "truncate"), ("2", "wins")]
    assert hostile["status"] == "agree"
    nobody = say_why(asked, "items", "k=nobody", "n.o=7", as_json=False)
    assert "updates  none" in nobody


@pytest.mark.iceberg_only
def test_a_key_that_cannot_be_asked_is_refused(asked: Project) -> None:
    refused = (
        "trueup explain: The key must be one value for k and one for n.o.\nGot: {}\n"
        "Write: trueup explain items k=VALUE n.o=VALUE. If a column is null, give --null COLUMN."
        " For a broken key give --error-key.\n"
    )
    for words in (["k=a"], ["a"], ["a", "7"], ["k=a", "k=a"], ["k=a", "o=7"], []):
        given = " ".join(words) or "nothing"
        assert say_why(asked, "items", *words, code=2) == refused.format(given)
    wrong = say_why(asked, "items", "k=a", "n.o=seven", code=2)
    assert "Got: n.o = seven (int)" in wrong
    both = say_why(asked, "items", "k=a", "--error-key", "x00ff", code=2)
    assert "A key must be given, or else --error-key.\nGot: both" in both
    assert "must be one of items" in say_why(asked, "others", "k=a", code=2)


def test_a_key_of_one_column_may_be_its_value_alone() -> None:
    assert read_key("orders", ["order_id"], ["6"], []) == {"order_id": "6"}
    assert read_key("orders", ["order_id"], ["order_id=6"], []) == {"order_id": "6"}
    assert read_key("orders", ["order_id"], [], ["order_id"]) == {"order_id": None}
    with pytest.raises(
        UsageError, match=r"Got: id=6\nWrite: trueup explain orders order_id=VALUE\."
    ):
        read_key("orders", ["order_id"], ["id=6"], [])
    with pytest.raises(UsageError, match="Got: 6 7\n"):
        read_key("orders", ["order_id"], ["6", "7"], [])


@pytest.mark.long
@pytest.mark.iceberg_only
def test_partial_commands_win_by_column_and_a_changed_key_names_the_other(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("explained_parts")
    project.sql(LOG % "log")
    more = ", ignore_null_updates=true, old_key='old'"
    project.write("models/items.sql", MODEL.format(schema=project.name, more=more))
    moved = ("new", 5, "U", None, 9, None, None, ("old", None))
    append(project, ("old", 1, "U", "kept", 1), ("old", 2, "U", None, 2), moved)
    project.run("items")
    old = say_why(project, "items", "k=old", "--null", "n.o")
    assert [one["op"] for one in old["commands"]] == ["move", "upsert", "upsert"]
    assert old["commands"][0]["other_key"] == '{"k":"new","n.o":null,"_error_key":null}'
    assert [one["verdict"] for one in old["commands"]] == ["wins", "deleted", "deleted"]
    new = say_why(project, "items", "k=new", "--null", "n.o")
    assert (new["status"], new["store"]) == ("agree", '{"a":"kept","b":9} at order 5')
    assert new["commands"][0]["other_key"] == '{"k":"old","n.o":null,"_error_key":null}'
    assert new["commands"][0]["unchanged"] == ["a"]
    # A later run gives one column, a late command the other.
    append(project, ("new", 7, "U", "mine"), ("new", 6, "U", "late", 3), ("new", 6, "D"))
    project.run("items")
    append(project, ("new", 8, "U", None, 4))
    project.run("items")
    found = say_why(project, "items", "k=new", "--null", "n.o")
    assert found["status"] == "agree"
    rules = {one["order"]: one["rule"] for one in found["commands"] if one["verdict"] == "wins"}
    assert rules == {
        "8": "its order is the greatest for b",
        "7": "its order is the greatest for a",
    }
    # A command of the old key that arrives later does not change the new key.
    version = project.version("items__trueup")
    append(project, ("third", 9, "U", None, 1, None, None, ("new", None)))
    project.run("items")
    append(project, ("new", 8, "U", "later", None))
    project.run("items")
    third = say_why(project, "items", "k=third", "--null", "n.o")
    assert third["status"] == "inherited"
    assert version != project.version("items__trueup")


@pytest.mark.iceberg_only
def test_a_store_that_differs_from_its_log_is_said_to_differ(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("explained_damage")
    project.sql(LOG % "log")
    project.write("models/items.sql", MODEL.format(schema=project.name, more=""))
    append(project, ("a", 1, "U", "first", 1), ("a", 2, "U", "last", 1))
    project.run("items")
    version = project.version("items__trueup")
    assert version is not None
    project.sql("update {}.items__trueup set a = 'wrong' where _kind = 'row'")
    assert say_why(project, "items", "k=a", "--null", "n.o", code=1)["status"] == "unsound"
    project.sql("update {}.items__trueup set a = 'wrong' where _kind = 'update'")
    assert say_why(project, "items", "k=a", "--null", "n.o", code=1)["status"] == "differ"
    project.restore({"items__trueup": version})
    project.sql("delete from {}.log where ord = 2")
    project.run("items")
    lost = say_why(project, "items", "k=a", "--null", "n.o")
    assert (lost["status"], lost["store"]) == ("lost", '{"a":"last","b":1} at order 2')


def test_the_screen_shows_what_a_terminal_may_show() -> None:
    command = CommandFact("7", "move", "x", [], '{"k":"\x1b[2J"}', "wins", "because", 3)
    explanation = Explanation(
        "orders",
        {"k": "\x1b[2Jx"},
        None,
        4,
        has_ticks=False,
        log="(no row)",
        store="\x1b[2J",
        read_by=3,
        order_error=True,
        status="differ",
        commands=[command],
        command_count=1,
    )
    shown = describe(explanation)
    assert all(line.isprintable() for line in shown.splitlines())
    assert shown == (
        "orders: k = '\\x1b[2Jx'\n\n"
        "log    (no row)\n"
        "store   [2J, read by batch 3\n"
        "       and an error beside it: a command of this key has no order\n\n"
        "commands, the newest first\n"
        '  order 7  move to {"k":" [2J"}  (3 times)\n'
        "    wins: because\n\n"
        "updates  none\n\n"
        "the log and the store do NOT agree"
    )


def test_a_key_without_anything_has_a_hint() -> None:
    explanation = Explanation(
        "orders",
        {"k": None},
        None,
        4,
        has_ticks=False,
        log="(no row)",
        store="(no row)",
        read_by=None,
        order_error=False,
        status="agree",
    )
    assert "neither the log nor the store has this key; if null keys are errors" in describe(
        explanation
    )
