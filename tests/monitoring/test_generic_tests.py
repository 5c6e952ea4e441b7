"""Each generic test passes over a good collection, and finds what is wrong with a damaged one."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.monitoring.shop import add_collection, append

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only
LAWS = ("matches_certificate", "consolidates_to_state", "one_live_row_per_key")
PARTIAL = {"unchanged": "same"}


def add_tests(project: Project, *names: str, model: str = "c", **arguments: Any) -> None:
    """Put generic tests of trueup on the collection. The rows that one finds go to a table."""
    config = {"alias": "found", "store_failures": True} if len(names) == 1 else {}
    tests = [{f"trueup.{name}": {"arguments": arguments, "config": config}} for name in names]
    models = [{"name": model, "data_tests": tests}]
    project.settings["data_tests"] = {"+schema": f"{project.name}_found"}
    project.configure()
    project.write("models/tests.yml", json.dumps({"version": 2, "models": models}))


def found(project: Project) -> list[dict[str, Any]]:
    """Run the one test of the project. Return the rows that it finds."""
    project.run(command="test", fails=None)
    (message,) = project.messages
    assert "Error" not in message, message
    return [row.asDict(recursive=True) for row in project.sql("select * from {}_found.found")]


def outcomes(project: Project) -> dict[str, str]:
    """Run the tests of the project. Return the message of each, by the name of the test."""
    project.run(command="test", fails=None)
    pairs = [message.split(": ", 1) for message in project.messages]
    return {next(name for name in LAWS if name in test): message for test, message in pairs}


def test_the_laws_of_a_store_hold_and_are_broken_by_edits(own_project: OwnProject) -> None:
    project = own_project("lawful")
    add_collection(project)
    add_tests(project, *LAWS)
    append(project, ("p", 1, "U", "a", 1), ("q", 1, "U", "a", 1), ("r", 1, "U", "a", 1))
    append(project, ("s", None, "U"), ("t", 1, "U", "a", 1, "bad"), ("u", 1, "U", "a"))
    append(project, ("u", 1, "U", "b"))
    project.run("c")
    append(project, ("p", 2, "U", "b", 1), ("q", 2, "D"), ("t", 2, "U", "a", 1), ("u", 2, "D"))
    project.run("c")
    good = dict.fromkeys(LAWS, "None")
    assert outcomes(project) == good
    versions = {"c__trueup": project.version("c__trueup") or 0}
    damages = {
        # The digest of the row is no longer that of its values.
        "update {}.c__trueup set b = 7 where _kind = 'row' and k = 'r'": LAWS[:2],
        "delete from {}.c__trueup where _kind = 'tombstone'": LAWS[:1],
        "update {}.c__trueup set _kind = 'error' where _kind = 'row' and k = 'r'": LAWS[:2],
        "insert into {}.c__trueup select * from {}.c__trueup where _kind = 'row' and k = 'r'": LAWS[
            :2
        ],
        "update {}.c__trueup set _diff = 2 where _kind = 'update' and k = 'r'": LAWS,
        "delete from {}.c__trueup where _kind = 'update' and _seq = 1 and k = 'q'": LAWS,
        "update {}.c__trueup set _ts = _ts + 1 where _kind = 'update' and k = 'r'": LAWS[:1],
        "delete from {}.c__trueup where _kind = 'batch' and _seq = 1": LAWS[:1],
    }
    for damage, broken in damages.items():
        project.sql(damage)
        failed = {name for name, message in outcomes(project).items() if message != "None"}
        assert failed == set(broken), damage
        project.restore(versions)
    assert outcomes(project) == good


def test_a_certificate_names_the_bucket(own_project: OwnProject) -> None:
    project = own_project("certified")
    add_collection(project)
    add_tests(project, "matches_certificate")
    # A store without a batch has no rows, and is right.
    project.run("c")
    assert found(project) == []
    append(project, ("p", 1, "U", "a", 1), ("q", 1, "U", "a", 1))
    project.run("c")
    project.sql("update {}.c__trueup set _diff = -1 where _kind = 'update' and k = 'q'")
    assert found(project) == [{"part": "history", "bucket": None}]
    project.sql("update {}.c__trueup set a = 'z' where _kind = 'row' and k = 'q'")
    (one, two) = found(project)
    assert {one["part"], two["part"]} == {"history", "current rows"}
    assert sorted((one["bucket"] is None, two["bucket"] is None)) == [False, True]


def test_open_errors_are_found_in_the_collection_and_in_its_companion(
    own_project: OwnProject,
) -> None:
    project = own_project("erring")
    add_collection(project)
    project.write("models/c_errors.sql", "{{ trueup.errors('c') }}")
    append(project, ("p", 1, "U", "a", 1))
    project.run()
    add_tests(project, "no_open_errors")
    assert found(project) == []
    append(project, ("p", 2, "U", "a"), ("p", 2, "U", "b"), ("q", None, "U", "a"))
    append(project, ("r", 1, "U", "a", 1, "bad"), (None, 1, "U", "a"))
    project.run("c")
    assert sorted(row["_error_kind"] for row in found(project)) == [
        "null_key",
        "order",
        "tie",
        "value",
    ]
    add_tests(project, "no_open_errors", kinds=["tie", "value"])
    assert {row["k"]: row["_error_kind"] for row in found(project)} == {"p": "tie", "r": "value"}
    add_tests(project, "no_open_errors", kinds=["ties"])
    project.run(command="test", fails=True)
    assert "a list of value, key, null_key, tie, order" in project.messages[0]
    add_tests(project, "no_open_errors", model="c_errors", kinds=["order"])
    assert [row["k"] for row in found(project)] == ["q"]


def agree(project: Project, **more: Any) -> list[tuple[Any, ...]]:
    """Run the test `agrees_with_log`. Return its side, key and values."""
    add_tests(
        project,
        "agrees_with_log",
        **{
            "log": f"{project.name}.c_log",
            "key": ["k"],
            "sequence_by": ["ord"],
            "columns": ["a", "b"],
            "delete_when": "op = 'D'",
            "truncate_when": "op = 'T'",
            "error": "err",
            **more,
        },
    )
    rows = found(project)
    return sorted((row["side"], row["k"], row["a"], row["b"]) for row in rows)


@pytest.mark.long_cases
@pytest.mark.parametrize("is_partial", [False, True], ids=["whole", "partial"])
def test_a_collection_agrees_with_its_log(own_project: OwnProject, *, is_partial: bool) -> None:
    project = own_project("agreeing")
    more = ", truncate_when=\"op = 'T'\"" + (", unchanged='same'" if is_partial else "")
    given = PARTIAL if is_partial else {}
    add_collection(project, more=more)
    append(project, ("gone", 1, "U", "a", 1), (None, 3, "T"), ("gone", 2, "U", "b", 2))
    append(project, ("equal", 3, "U", "a", 1), ("p", 4, "U", "a", 1), ("q", 4, "U", "a", 1))
    append(project, ("p", 5, "U", "b", None, None, ["b"]), ("p", 6, "U", None, 3, None, ["a"]))
    append(project, ("q", 6, "D"), ("q", 5, "U", "z", 1), ("q", 7, "U", None, 4, None, ["a"]))
    append(project, ("r", 9, "D"), ("r", 8, "U", "a", 1), ("s", 4, "U", "a", 1, "bad"))
    append(project, ("tied", 4, "U", "a", 1), ("tied", 4, "U", "b", 1), ("t", None, "U", "a"))
    append(project, ("t", 4, "U", "a", 5), ("dead", 5, "U", "a", 1), ("dead", 5, "D"))
    project.run("c")
    assert agree(project, **given) == []
    rows = {row["k"]: (row["a"], row["b"]) for row in project.sql("select * from {}.c")}
    assert rows == {
        "equal": ("a", 1),
        "p": ("b", 3) if is_partial else (None, 3),
        "q": (None, 4),
        "t": ("a", 5),
    }
    # It reads the log up to the newest batch.
    append(project, ("p", 20, "U", "new", 1), ("fresh", 1, "U", "a", 1))
    assert agree(project, **given) == []
    # Keys in error and ties count as left out: s, tied and dead of seven.
    assert agree(project, max_left_out=0.4, **given) == [
        ("left out: 3 of 7 keys", None, None, None)
    ]
    # Each difference is found: another value, a row too much, a row too few.
    versions = {"c__trueup": project.version("c__trueup") or 0}
    project.sql("update {}.c__trueup set b = 7 where _kind = 'row' and k = 'p'")
    project.sql("update {}.c__trueup set _kind = 'row' where _kind = 'tombstone' and k = 'r'")
    project.sql("delete from {}.c__trueup where _kind = 'row' and k = 'equal'")
    a = rows["p"][0]
    differences = agree(project, **given)
    assert differences == [
        ("only in the log", "equal", "a", 1),
        ("only in the log", "p", a, 3),
        ("only in the table", "p", a, 7),
        ("only in the table", "r", None, None),
    ]
    # A sample has some of these keys, the same in each run.
    part = agree(project, sample=3, **given)
    assert {*part} < {*differences}
    assert agree(project, sample=3, **given) == part
    assert agree(project, sample=100, **given) == differences
    project.restore(versions)
    assert agree(project, **given) == []


@pytest.mark.long
def test_keys_that_the_log_has_lost_are_left_out(own_project: OwnProject) -> None:
    project = own_project("forgetful")
    add_collection(project, more=", unchanged='same'")
    append(project, ("p", 1, "U", "a", 1), ("p", 2, "U", "b", None, None, ["b"]))
    append(project, ("q", 1, "U", "a", 1), ("r", 1, "U", "a", 1), ("r", 2, "D"))
    project.run("c")
    assert agree(project, **PARTIAL) == []
    # The newest command of q, of the column b of p, and the delete of r are lost.
    project.sql("delete from {}.c_log where k = 'q' or k = 'p' and ord = 1 or op = 'D'")
    append(project, ("s", 1, "U", "a", 1))
    project.run("c")
    assert agree(project, **PARTIAL) == []
    left_out = ("left out: 3 of 4 keys", None, None, None)
    assert agree(project, max_left_out=0.5, **PARTIAL) == [left_out]
    # If nothing can be compared, the test says so.
    project.sql("delete from {}.c_log where true")
    append(project, ("s", 2, "D"))
    project.run("c")
    assert agree(project, **PARTIAL) == [("left out: 2 of 2 keys", None, None, None)]
    assert agree(project, max_left_out=1, **PARTIAL) == []


def test_changes_of_key_are_followed(own_project: OwnProject) -> None:
    project = own_project("moving")
    old = "if(err like 'from %', named_struct('k', substr(err, 6)), null)"
    add_collection(project, more=f', old_key="{old}"')
    model = project.folder / "models" / "c.sql"
    project.write("models/c.sql", model.read_text().replace("error='err',", ""))
    append(project, ("p", 1, "U", "a", 1), ("q", 2, "U", "a", 1, "from p"), ("r", 1, "U", "a", 1))
    project.run("c")
    assert {row["k"] for row in project.sql("select * from {}.c")} == {"q", "r"}
    given = {"old_key": old, "error": "null"}
    assert agree(project, **given) == []
    # Without the old key, the log does not say what has deleted p.
    left_out = ("left out: 1 of 3 keys", None, None, None)
    assert agree(project, error="null", max_left_out=0) == [left_out]
    project.sql("update {}.c__trueup set _kind = 'row', a = 'a' where _kind = 'tombstone'")
    assert agree(project, **given) == [("only in the table", "p", "a", None)]


@pytest.mark.long
def test_a_log_with_ticks_agrees_up_to_the_frontier(own_project: OwnProject) -> None:
    project = own_project("ticking")
    add_collection(project, order="timestamp", more=", ts='ord'")
    model = project.folder / "models" / "c.sql"
    project.write("models/c.sql", model.read_text().replace("['ord']", "['b']"))
    early, late, last = (datetime(2026, 1, day) for day in (1, 2, 3))  # noqa: DTZ001
    append(project, ("p", early, "U", "a", 2), ("p", late, "U", "b", 1), ("q", early, "D", None, 1))
    append(project, ("r", early, "U", "a", 1), ("r", early, "U", "b", 2), ("q", late, "U", "a", 1))
    project.run("c")
    assert agree(project, ts="ord", sequence_by=["b"]) == []
    append(project, ("p", last, "U", "z", 1))
    assert agree(project, ts="ord", sequence_by=["b"]) == []
    project.run("c")
    assert agree(project, ts="ord", sequence_by=["b"]) == []
    project.sql("update {}.c__trueup set a = 'edited' where _kind = 'row' and k = 'r'")
    assert agree(project, ts="ord", sequence_by=["b"]) == [
        ("only in the log", "r", "b", 2),
        ("only in the table", "r", "edited", 2),
    ]
