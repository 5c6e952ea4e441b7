"""Open errors show in a column of the collection, and the test `no_open_errors` counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.acceptance import Column, multiset
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY = [Column("k", "string")]
VALUE = [Column("v", "string"), Column("n", "int")]
INLINE = "what's `wrong`"

TESTS: dict[str, dict[str, Any]] = {
    "all": {},
    "values": {"kinds": ["value"]},
    "keys": {"kinds": ["key", "null_key"]},
    "tolerated": {"config": {"warn_if": "> 4", "error_if": "> 4"}},
    "warned": {"config": {"severity": "warn"}},
}


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection with errors of every kind, and two whose error column has a name in use."""
    project = new_project("open_errors")
    project.add_collection("c", KEY, VALUE, {"inline_errors": INLINE})
    for name, inline in {"of_a_value": "N", "of_the_key": "K"}.items():
        project.add_collection(name, KEY, VALUE, {"inline_errors": inline})
    tests = [{"trueup.no_open_errors": {"name": name, **given}} for name, given in TESTS.items()]
    page = {"version": 2, "models": [{"name": "c_errors", "data_tests": tests}]}
    project.write("models/c/_c.yml", yaml.safe_dump(page))
    project.append(
        "c",
        [
            Command(1, (1,), ("good",), ("kept", 1)),
            Command(1, (1,), ("broken",), ("replaced", 2)),
            Command(2, (1,), ("broken",), None, "no number"),
            Command(2, (1,), ("born broken",), None, ""),
            Command(2, (1,), None, None, "not utf-8", "x00ff"),
            Command(2, (1,), None, None, "no key", "null"),
        ],
    )
    project.add_collection("d", KEY, VALUE, {"inline_errors": "_error"})
    given = {"unique_key": ["k"], "changelog": "ref('d_changelog')", "inline_errors": "_error"}
    less = {"unique_key": ["k"], "changelog": "ref('d_changelog')"}
    tests = [
        {"trueup.matches_certificate": {"name": name, "arguments": arguments}}
        for name, arguments in (("certified", given), ("without_errors", less))
    ]
    page = {"version": 2, "models": [{"name": "d", "data_tests": tests}]}
    project.write("models/d/_d.yml", yaml.safe_dump(page))
    project.append(
        "d",
        [
            Command(1, (1,), ("good",), ("kept", 1)),
            Command(1, (1,), ("broken",), None, "no number"),
            Command(1, (1,), None, None, "not utf-8", "x00ff"),
        ],
    )
    project.run("c_commands+", "d_commands+")
    return project


def outcomes(project: Project, *, fails: bool) -> dict[str, str]:
    project.run("c_errors", command="test", fails=fails)
    return dict(message.split(": ", 1) for message in project.messages)


@pytest.mark.long
def test_an_error_with_a_known_key_shows_in_a_row_of_nulls(project: Project) -> None:
    assert project.spark.table("open_errors.c").columns == ["k", INLINE, "v", "n"]
    assert multiset(project.rows("c")) == multiset(
        [
            ("good", None, "kept", 1),
            ("broken", "no number", None, None),
            ("born broken", "", None, None),
        ]
    )


def test_no_open_errors_counts_the_given_kinds_and_obeys_the_limits(project: Project) -> None:
    said = outcomes(project, fails=True)
    assert said["all"].startswith("Got 4 results")
    assert said["values"].startswith("Got 2 results")
    assert said["keys"].startswith("Got 2 results")
    assert not said["tolerated"].startswith("Got")
    assert said["warned"].startswith("Got 4 results, configured to warn")


def test_the_error_column_may_have_the_name_of_a_column_of_the_certificate(
    project: Project,
) -> None:
    project.run("certified", command="test")
    project.sql("update {}.d_state set _error = 'edited' where _kind = 'error'")
    project.run("certified", command="test", fails=True)


def test_the_certificate_of_a_view_with_errors_needs_the_name_of_their_column(
    project: Project,
) -> None:
    project.run("without_errors", command="test", fails=True)
    said = "\n".join(project.messages)
    assert "argument `inline_errors` must be the column of the option `inline_errors`" in said
    assert "Got: no argument, and the column _error" in said


def test_a_cleared_error_leaves_the_column_and_the_count(project: Project) -> None:
    project.append(
        "c",
        [
            Command(3, (1,), ("broken",), ("mended", 3)),
            Command(3, (1,), ("born broken",), None),
            Command(3, (1,), None, None, None, "x00ff"),
            Command(3, (1,), None, None, None, "null"),
        ],
    )
    project.run("c_commands+")
    assert multiset(project.rows("c")) == multiset(
        [("good", None, "kept", 1), ("broken", None, "mended", 3)]
    )
    outcomes(project, fails=False)


def test_the_error_column_must_not_have_the_name_of_another_column(project: Project) -> None:
    inlines = {"of_a_value": "N", "of_the_key": "K"}
    project.run(
        *(f"{name}_{role}" for name in inlines for role in ("commands", "batch")), fails=True
    )
    for name, inline in inlines.items():
        (said,) = [each for each in project.messages if each.startswith(f"{name}_batch: ")]
        assert "Option `inline_errors` in `meta.trueup`" in said
        assert "must be a name that no key or value column has (k, v, n)." in said
        assert f"Got: {inline}" in said


@pytest.mark.long
def test_the_error_column_must_not_have_the_name_of_a_column_that_the_log_has_lost(
    project: Project,
) -> None:
    project.add_collection("shrunk", KEY, [*VALUE, Column("problem", "string")])
    project.append("shrunk", [Command(1, (1,), ("a",), ("v", 1, "old"))])
    project.run("shrunk_commands+")
    path = "models/shrunk/shrunk_commands.sql"
    text = (project.folder / path).read_text()
    assert ', "problem"' in text
    project.write(path, text.replace(', "problem"', ""))
    meta = {"trueup": {"inline_errors": "problem"}}
    project.configure(shrunk={**project.config["shrunk"], "+meta": meta})
    project.append("shrunk", [Command(2, (1,), ("a",), ("w", 2, "new"))])
    project.run("shrunk_commands+", fails=True)
    assert "must be a name that no key or value column has" in "\n".join(project.messages)
    assert len(project.progress("shrunk")) == 1


@pytest.mark.long
def test_a_command_that_says_all_stored_columns_ends_an_error(
    own_project: Callable[[str], Project],
) -> None:
    """The column that it leaves unchanged is not in the tables (`on_schema_change: ignore`)."""
    project = own_project("ignoring")
    project.add_collection("c", KEY, VALUE, extra=("unchanged",))
    project.configure(c={"+unique_key": ["k"], "+meta": {"trueup": {"on_schema_change": "ignore"}}})
    project.append("c", [Command(1, (1,), ("a",), None, "no number")])
    project.run()
    project.set_column("c", Column("note", "string"))
    said = Command(2, (1,), ("a",), ("v", 1, None), unchanged=frozenset([2]))
    project.append("c", [said])
    project.run()

    assert project.rows("c") == [("a", "v", 1)]
    assert project.errors("c") == []
