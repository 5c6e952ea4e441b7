"""`trueup explain` and the macro `explain`: each verdict, against the dict model and the tables."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from decimal import Decimal
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from tests.acceptance import Column
from tests.macros.package import in_model
from tests.oracle import Collection, Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.project import Project

KEY, VALUE = [Column("k", "string"), Column("n.o", "int")], [Column("verdict", "string")]
HOSTILE = "}} {% raw %} ' \" \\ ${env:HOME} 😀 = \n"
"""A key that tries to leave its quotes in Jinja, JSON and SQL."""

A, B = ("a", None), (HOSTILE, 1)
A_WORDS = ["k=a", "--null", "n.o"]


def put(ts: int, value: str, order: int = 1, key: tuple[Any, ...] = A) -> Command:
    return Command(ts, (order,), key, (value,))


def delete(ts: int, order: int = 1, key: tuple[Any, ...] = A) -> Command:
    return Command(ts, (order,), key, None)


def truncate(ts: int, order: int = 1) -> Command:
    return Command(ts, (order,), None, None, is_truncate=True)


def broken(ts: int, error_key: str, *, is_delete: bool = False) -> Command:
    return Command(ts, (1,), None, None, None if is_delete else "no key", error_key)


FIRST = [
    delete(0),
    *(put(1, "one"), put(1, "one"), put(2, "one")),
    *(put(3, "low", 1), put(3, "high", 2)),
    *(put(4, "tie"), put(4, "other"), put(5, "last")),
    *(put(1, "good", key=B), Command(5, (9,), B, None, "no number")),
    *(broken(2, "x00ff"), broken(3, "xff"), broken(4, "xff", is_delete=True)),
]
LATE = [put(3, "late", 7), put(5, "late", 7)]
"""They arrive after the first run, for settled ticks. The later one differs from the row."""
AHEAD = [put(9, "ahead"), truncate(9, 0)]


def say_why(project: Project, *words: str, code: int = 0) -> Any:
    """Run `trueup explain --json`. Return the document, or what it prints if it could not run."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        exit_code = main(["explain", *words, "--json", "--project-dir", str(project.folder)])
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return json.loads(out.getvalue()) if code < 2 else err.getvalue()


def verdicts(document: dict[str, Any]) -> dict[tuple[int, str | None], list[str]]:
    """Return the verdicts on the commands by tick and value, in the order of the answer."""
    found: dict[tuple[int, str | None], list[str]] = {}
    for one in document["commands"]:
        value = json.loads(one["content"])["verdict"] if "content" in one else one.get("_error")
        found.setdefault((one["_ts"], value), []).append(one["verdict"])
    return found


def rows(document: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return the verdict and the content of each place."""
    return {
        row["source"]: (row["verdict"], row.get("content", row.get("_error")))
        for row in document["rows"]
    }


PARTIAL = [
    Command(0, (1,), (1,), ("early", 0)),
    Command(1, (1,), (1,), ("x", 1)),
    Command(2, (0,), (1,), ("z", 5)),
    Command(2, (1,), (1,), ("y", None), unchanged=frozenset({1})),
    Command(3, (5,), (1,), None),
    Command(3, (6,), (2,), ("moved", None), unchanged=frozenset({1}), old_key=(1,)),
    Command(4, (1,), (3,), ("gone", 1)),
    truncate(4, 2),
    Command(5, (1,), (5,), ("five", 50)),
    Command(6, (1,), (5,), None),
    Command(6, (2,), (6,), ("moved", None), unchanged=frozenset({1}), old_key=(5,)),
    Command(7, (1,), (6,), None),
    Command(7, (2,), (7,), ("again", None), unchanged=frozenset({1}), old_key=(6,)),
]
"""Commands that leave the second value unchanged, some of which move a row to another key."""
QUEUED = [Command(place, (offset,), (1,), ("p",)) for offset, place in enumerate([10, 11])]
QUEUED_LATER = [Command(9, (2,), (1,), ("q",))]
UNREAD = [Command(30, (3,), (1,), ("q",))]

Documents = dict[str, dict[str, Any]]
"""What `trueup explain --json` prints, by the name of the question."""


@pytest.fixture(scope="module")
def ran(new_project: Callable[[str], Project]) -> tuple[Project, Documents]:
    """Collections of each kind, and questions about them, some of them before the last run.

    The ticks below 7 are settled before the late commands come.
    """
    project = new_project("explained")
    for late in ("drop", "correct", "newest"):
        extra = ["truncate_when"] if late == "drop" else []
        project.add_collection(late, KEY, VALUE, {"late": late, "input_upper": "7"}, extra)
        project.append(late, FIRST)
    key, value = [Column("k", "int")], [Column("v", "string"), Column("w", "int")]
    extra = ["truncate_when", "unchanged", "old_key"]
    project.add_collection("parts", key, value, {"as_of": 1}, extra)
    project.append("parts", PARTIAL)
    project.add_collection("queue", key, value[:1], {"late": "newest"})
    arguments = "reclock=['log_delete', 'log_order'], sequence_by=['log_ts'], columns=['v']"
    commands = f"{{{{ trueup.commands('{project.name}.queue_log', {arguments}) }}}}"
    project.write("models/queue/queue_commands.sql", commands)
    project.append("queue", QUEUED)
    project.sql("create table {}.input as select 1 as k, 'one' as v")
    no_error = "cast(null as string) as _error"
    project.add_select("chosen", f"select k, v, {no_error} from {project.name}.input", ["k"])
    call = "trueup.explain('drop', {'k': 'a', 'n.o': none}, latest=none)"
    project.write("models/why.sql", f"{{{{ {call} }}}}")
    project.run()
    for late in ("drop", "correct", "newest"):
        project.append(late, LATE)
    project.append("drop", AHEAD)
    project.append("queue", QUEUED_LATER)
    asked = {late: say_why(project, late, *A_WORDS, code=1) for late in ("correct", "newest")}
    project.run("path:models/correct", "path:models/newest", "path:models/queue")
    project.append("queue", UNREAD)
    project.sql("insert into {}.input values (1, 'more')")
    asked |= {
        "corrected": say_why(project, "correct", *A_WORDS),
        "won": say_why(project, "newest", *A_WORDS),
        "drop": say_why(project, "drop", *A_WORDS),
        "error": say_why(project, "drop", f"k={HOSTILE}", "N.O=1"),
        "key error": say_why(project, "drop", "--error-key", "x00ff"),
        "parts": say_why(project, "parts", "k=1"),
        "truncated": say_why(project, "parts", "k=3"),
        "queue": say_why(project, "queue", "k=1"),
        "chosen": say_why(project, "chosen", "k=1", code=1),
    }
    return project, asked


@pytest.fixture(scope="module")
def project(ran: tuple[Project, Documents]) -> Project:
    return ran[0]


@pytest.fixture(scope="module")
def asked(ran: tuple[Project, Documents]) -> Documents:
    return ran[1]


def test_the_highest_order_of_the_latest_tick_wins_and_later_ticks_supersede(
    asked: Documents,
) -> None:
    found = verdicts(asked["drop"])
    assert found[5, "last"] == ["wins"]
    assert found[3, "high"] == ["superseded"]


def test_a_command_with_a_lower_order_in_its_tick_loses(asked: Documents) -> None:
    assert verdicts(asked["drop"])[3, "low"] == ["lower_order"]


def test_a_duplicate_changes_nothing(asked: Documents) -> None:
    assert verdicts(asked["drop"])[1, "one"] == ["superseded", "duplicate"]


def test_a_value_equal_to_the_one_before_changes_nothing(asked: Documents) -> None:
    assert verdicts(asked["drop"])[2, "one"] == ["no_change"]


def test_a_delete_of_an_absent_key_changes_nothing(asked: Documents) -> None:
    assert verdicts(asked["drop"])[0, None] == ["absent_delete"]


def test_one_command_of_a_tie_loses_by_the_hash_of_its_content(asked: Documents) -> None:
    found = verdicts(asked["drop"])
    assert sorted(found[4, "tie"] + found[4, "other"]) == ["lost_tie", "superseded"]
    (won,) = (value for value in ("tie", "other") if found[4, value] == ["superseded"])
    assert (4, 1, won) in updates(asked["drop"])


def test_a_command_at_or_past_the_upper_is_not_settled(asked: Documents) -> None:
    found = verdicts(asked["drop"])
    assert found[9, "ahead"] == found[9, None] == ["not_settled"]
    assert [one["_op"] for one in asked["drop"]["commands"][:2]] == ["upsert", "truncate"]


def test_a_late_command_is_dropped_and_the_difference_is_explained(asked: Documents) -> None:
    found = verdicts(asked["drop"])
    assert found[5, "late"] == found[3, "late"] == ["late_dropped"]
    assert rows(asked["drop"]) == {
        "log": ("late", '{"verdict":"late"}'),
        "changelog": ("sound", '{"verdict":"last"}'),
        "state": ("agree", '{"verdict":"last"}'),
    }


@pytest.mark.parametrize(("late", "other"), [("correct", "late_superseded"), ("newest", "older")])
def test_a_late_command_waits_for_the_next_run(asked: Documents, late: str, other: str) -> None:
    found = verdicts(asked[late])
    assert found[5, "late"] == ["late_waiting"]
    assert found[3, "late"] == [other]
    assert rows(asked[late])["log"] == ("waits", '{"verdict":"late"}')


@pytest.mark.parametrize("name", ["corrected", "won"])
def test_a_late_command_that_was_written_wins_with_the_batch_of_its_correction(
    asked: Documents, name: str
) -> None:
    (winner,) = (one for one in asked[name]["commands"] if one["verdict"] == "wins")
    assert (winner["_ts"], winner["batch"]) == (5, 2)
    assert asked[name]["updates"][0]["_cause"] == "late_command"
    assert verdicts(asked[name])[5, "last"] == ["superseded"]
    assert rows(asked[name])["log"] == ("agree", '{"verdict":"late"}')


def test_an_open_error_is_the_row_of_its_key_even_if_that_has_hostile_characters(
    asked: Documents,
) -> None:
    assert rows(asked["error"])["state"] == ("agree", "no number")
    found = verdicts(asked["error"])
    assert found[5, "no number"] == ["wins"]
    assert found[1, "good"] == ["superseded"]


def test_a_key_error_is_explained_by_its_raw_bytes(asked: Documents) -> None:
    assert rows(asked["key error"])["changelog"] == ("sound", "the key cannot be decoded")
    assert [one["verdict"] for one in asked["key error"]["commands"]] == ["not_settled", "wins"]


def test_a_command_below_as_of_does_not_belong_to_the_collection(asked: Documents) -> None:
    assert asked["parts"]["commands"][-1]["verdict"] == "before_as_of"


def test_a_command_below_a_partial_one_gives_the_columns_that_it_leaves_unchanged(
    asked: Documents,
) -> None:
    partial, whole = (one for one in asked["parts"]["commands"] if one["_ts"] == 2)
    assert (partial["verdict"], partial["_unchanged"]) == ("superseded", ["w"])
    assert whole["verdict"] == "merged"
    assert asked["parts"]["updates"][1]["content"] == '{"v":"y","w":5}'


def test_a_late_command_of_an_old_key_explains_a_difference_of_the_new_key(
    project: Project,
) -> None:
    project.append("parts", [Command(5, (2,), (5,), ("five", 55))])

    found = say_why(project, "parts", "k=7")

    assert found["commands"][0]["_old_key"] == '{"k":6}'
    assert rows(found)["log"] == ("late", '{"v":"again","w":55}')
    assert rows(found)["changelog"] == ("sound", '{"v":"again","w":50}')
    assert 'a command came late for the key {"k":5}' in found["rows"][0]["rule"]


def test_a_delete_wins_and_a_truncate_of_an_absent_key_is_left_out(asked: Documents) -> None:
    first = asked["parts"]["commands"][0]
    assert (first["_ts"], first["_op"], first["verdict"]) == (3, "delete", "wins")
    assert rows(asked["parts"])["log"] == ("agree", None)


def test_a_truncate_of_a_greater_order_removes_a_command_of_its_tick(asked: Documents) -> None:
    assert [one["verdict"] for one in asked["truncated"]["commands"]] == ["truncated"]
    assert asked["truncated"]["updates"] == []


def test_a_command_of_a_log_without_ticks_has_the_tick_of_its_batch(asked: Documents) -> None:
    found = [(one.get("_ts"), one["verdict"]) for one in asked["queue"]["commands"]]
    assert found == [(None, "not_settled"), (1, "older"), (0, "wins"), (0, "lower_order")]
    # The newest command has the greatest order, not the latest batch.
    assert rows(asked["queue"])["log"] == ("agree", '{"v":"p"}')


def test_a_collection_by_a_select_is_compared_with_its_select(asked: Documents) -> None:
    assert rows(asked["chosen"]) == {
        "select": ("duplicate_key", '{"v":"more"}\n{"v":"one"}'),
        "changelog": ("sound", '{"v":"one"}'),
        "state": ("agree", '{"v":"one"}'),
    }
    assert asked["chosen"]["commands"] == []


def updates(document: dict[str, Any]) -> set[tuple[int, int, str]]:
    """Return the updates: tick, diff and value."""
    return {
        (one["_ts"], one["_diff"], json.loads(one["content"])["verdict"])
        for one in document["updates"]
    }


@pytest.mark.parametrize(("late", "name"), [("drop", "drop"), ("correct", "corrected")])
def test_the_updates_and_the_row_are_those_of_the_dict_model(
    asked: Documents, late: Any, name: str
) -> None:
    tied = {"tie", "other"} & {value for *_, value in updates(asked[name])}

    def break_tie(rivals: list[Command]) -> Command:
        return next(one for one in rivals if one.value is not None and one.value[0] in tied)

    oracle = Collection(late, break_tie)
    oracle.run(FIRST, 6)
    oracle.upper = 7
    oracle.run(FIRST + LATE, 7)
    expected = {
        (one.ts, one.diff, one.value[0])
        for one in oracle.changelog
        if one.key == A and one.value is not None
    }
    assert updates(asked[name]) == expected
    (value,) = (row[-1] for row in oracle.rows if row[:2] == A)
    assert json.loads(rows(asked[name])["state"][1]) == {"verdict": value}


def test_a_model_can_call_the_macro(project: Project, asked: Documents) -> None:
    found = project.sql("select * from {}.why where fact = 'command' order by row_no")
    assert [row["verdict"] for row in found] == [
        one["verdict"] for one in asked["drop"]["commands"]
    ]
    assert {row["row_count"] for row in found} == {len(found)}


def test_from_a_wrong_row_to_the_answer_with_one_command(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody has changed the state. The answer is bounded, and still shows the winner."""
    project.sql("update {}.drop_state set verdict = 'edited' where k = 'a'")
    words = ["explain", "drop", *A_WORDS, "--latest", "1", "--project-dir", str(project.folder)]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert out.startswith("drop: k = 'a', n.o is null\n")
    assert 'state     {"verdict":"edited"}\n          edited: differs' in out
    assert 'winner    tick 5  order 1  upsert  {"verdict":"last"}' in out
    assert "commands, the newest first; 11 of 13 are left out" in out
    assert out.endswith("do NOT agree: the first lines say where\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope", "k=a"], "COLLECTION must be one of chosen, correct, drop, newest, parts, queue"),
        (["drop", "k=a"], "a value for each of the key columns k, n.o"),
        (["drop", "k=a", "no=1"], "a value for each of the key columns k, n.o"),
        (["drop", "k=a", "n.o=one"], "a value of the type int for the column n.o. Got: one"),
        (["drop", "k=a", "--error-key", "x"], "or else as --error-key"),
        (["drop"], "or else as --error-key"),
        (["drop", "k"], "must be COLUMN=VALUE"),
        (["drop", "k=a", "k=b"], "must be given once"),
        (["drop", "k=a", "--null", "k"], "must have a value or be --null"),
    ],
)
def test_a_key_that_cannot_be_explained_says_why(
    project: Project, words: list[str], message: str
) -> None:
    assert message in say_why(project, *words, code=2)


@pytest.mark.long
def test_a_state_without_the_last_batch_is_behind(project: Project) -> None:
    project.run("queue_corrections", "queue_batch", "queue_changelog")

    found = say_why(project, "queue", "k=1", code=1)

    assert rows(found)["changelog"] == ("sound", '{"v":"q"}')
    assert rows(found)["state"] == ("behind", '{"v":"p"}')


@pytest.mark.long
def test_a_changelog_that_no_command_explains_differs(project: Project) -> None:
    """Somebody has made two additions of another row of the last change."""
    changed = "update {}.drop_changelog set verdict = 'x', _diff = 1 where k = 'a' and _ts = 5"
    project.sql(changed)

    found = say_why(project, "drop", *A_WORDS, code=1)

    assert rows(found)["log"][0] == "differ"
    assert rows(found)["changelog"][0] == "unsound"
    assert [one["verdict"] for one in found["commands"]].count("wins") == 0


@pytest.mark.long
def test_with_late_correct_the_next_run_also_corrects_the_new_key(project: Project) -> None:
    value = [Column("v", "string"), Column("w", "int")]
    extra = ["unchanged", "old_key"]
    project.add_collection("moves", [Column("k", "int")], value, {"late": "correct"}, extra)
    project.append("moves", PARTIAL[-5:])
    project.run("path:models/moves")
    project.append("moves", [Command(5, (2,), (5,), ("five", 55))])

    waits = say_why(project, "moves", "k=7", code=1)
    project.run("path:models/moves")
    agrees = say_why(project, "moves", "k=7")

    assert rows(waits)["log"] == ("waits", '{"v":"again","w":55}')
    assert rows(waits)["state"] == ("agree", '{"v":"again","w":50}')
    assert rows(agrees)["log"] == ("agree", '{"v":"again","w":55}')


@pytest.mark.long
def test_a_late_command_stops_each_run_with_late_fail(project: Project) -> None:
    project.add_collection("fail", KEY, VALUE, {"late": "fail", "input_upper": "7"})
    project.append("fail", FIRST)
    project.run("path:models/fail")
    project.append("fail", LATE)
    project.run("path:models/fail", fails=True)
    assert "Got: 2 commands of earlier ticks, which came late" in "\n".join(project.messages)
    found = verdicts(say_why(project, "fail", *A_WORDS))
    assert found[5, "late"] == found[3, "late"] == ["late_stops"]
    assert found[5, "last"] == ["wins"]


@pytest.mark.long
def test_a_correction_that_was_changed_again_does_not_win_any_more(project: Project) -> None:
    project.append("correct", [put(6, "again")])
    project.run("path:models/correct")
    found = verdicts(say_why(project, "correct", *A_WORDS))
    assert found[5, "late"] == ["late_corrected"]
    assert found[6, "again"] == ["wins"]


def test_a_late_first_command_of_a_key_waits_for_the_next_run(project: Project) -> None:
    first = Command(1, (1,), ("unheard", 1), ("first",))
    project.append("newest", [first])
    document = say_why(project, "newest", "k=unheard", "N.O=1", code=1)
    assert [one["verdict"] for one in document["commands"]] == ["late_waiting"]
    assert rows(document)["log"][0] == "waits"


NESTED = "struct<a:decimal(10,2),b:array<decimal(20,4)>,c:double>"


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (
            '{"a": 1.25, "b": [1.5000, null], "c": 0.1}',
            (Decimal("1.25"), [Decimal("1.5"), None], 0.1),
        ),
        ('{"a": 12345678.90, "b": null, "c": 1}', (Decimal("12345678.9"), None, 1.0)),
        ('{"a": 1.255, "b": [], "c": 0.1}', None),
        ('{"a": 1.25, "b": [1.00005], "c": 0.1}', None),
        ("no JSON", None),
    ],
)
def test_a_decimal_in_a_struct_is_not_rounded_to_another_key(
    spark: SparkSession, key: str, found: tuple[Any, ...] | None
) -> None:
    literal = in_model("files_batch")._typed_literal_expr(key, NESTED)
    ((value,),) = spark.sql(f"select {literal}").collect()
    assert (value and tuple(value)) == found
