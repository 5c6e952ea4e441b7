"""Real logs: collections over the histories of git repositories equal the trees that git stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from demo.git_log import first_parents, read_changes, read_tree
from tests import git_history
from tests.acceptance import Column, multiset
from tests.git_repository import make_story
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

KEY = [Column("path", "string")]
VALUE = [Column("mode", "string"), Column("blob", "string")]


@pytest.fixture
def history(new_project: Callable[[str], Project], request: pytest.FixtureRequest) -> Project:
    """A project with the collection `files` over the whole log of a repository."""
    if request.param not in git_history.available():
        pytest.skip("../shared/data/git_history is not there")
    project = new_project("history_" + request.param.replace("-", "_"))
    project.add_collection("files", KEY, VALUE)
    log = git_history.load(request.param).changes
    project.append("files", [change.command() for change in log])
    return project


@pytest.mark.long
def test_every_tree_of_a_history_with_all_kinds_of_changes_is_exact(
    new_project: Callable[[str], Project], tmp_path: Path
) -> None:
    story = make_story(tmp_path / "story.git")
    project = new_project("history_story")
    project.add_collection("files", KEY, VALUE)
    project.append(
        "files",
        [
            Command(commit_no, (change_no,), (path,), None if op == "D" else (mode, blob))
            for commit_no, change_no, _, _, path, mode, blob, op in read_changes(story)
        ],
    )
    commits = first_parents(story)
    for commit_no in range(1, len(commits) + 1):
        project.write(
            f"models/files_at_{commit_no}.sql", f"{{{{ trueup.as_of('files', {commit_no}) }}}}"
        )
    project.run("models/files", until=len(commits) // 2)
    project.run()
    for commit_no, commit in enumerate(commits, start=1):
        assert multiset(project.rows(f"files_at_{commit_no}")) == multiset(read_tree(story, commit))


@pytest.mark.parametrize("history", ["dbt-utils"], indirect=True)
def test_every_tree_of_dbt_utils_is_exact_at_its_commit(history: Project) -> None:
    for commit_no, tree in git_history.load("dbt-utils").trees.items():
        history.run_collection("files", until=commit_no + 1)
        assert multiset(history.rows("files")) == multiset(tree)


@pytest.mark.parametrize("history", ["dbt-core"], indirect=True)
def test_as_of_gives_every_tree_of_dbt_core_after_one_run(history: Project) -> None:
    trees = git_history.load("dbt-core").trees
    for commit_no in trees:
        history.write(
            f"models/files_at_{commit_no}.sql", f"{{{{ trueup.as_of('files', {commit_no}) }}}}"
        )
    first, *_, last = trees
    history.write(
        "models/files_since.sql", f"{{{{ trueup.changes_between('files', {first}, {last}) }}}}"
    )
    history.run()
    assert multiset(history.rows("files")) == multiset(trees[last])
    assert history.progress("files")[0]["_statistics"]["messages_received"] == 70_740
    for commit_no, tree in trees.items():
        assert multiset(history.rows(f"files_at_{commit_no}")) == multiset(tree), commit_no
    changed = {row[:-1]: row[-1] for row in history.rows("files_since")}
    assert multiset(row for row, diff in changed.items() if diff == 1) == multiset(
        set(trees[last]) - set(trees[first])
    )
    assert multiset(row for row, diff in changed.items() if diff == -1) == multiset(
        set(trees[first]) - set(trees[last])
    )


def test_a_null_or_a_text_is_no_tick(new_project: Callable[[str], Project]) -> None:
    """Spark leaves out a condition that is never true, and a check with it."""
    project = new_project("null_ticks")
    project.add_collection("files", KEY, VALUE)
    project.append("files", [Command(5, (1,), ("a",), ("100644", "b"))])
    calls = {
        "at_nothing": "as_of('files', 'try_cast(\"x\" as bigint)')",
        "from_nothing": "changes_between('files', '(select max(_ts) from null_ticks.empty)', 5)",
        "to_nothing": "changes_between('files', 1, 'null')",
    }
    text = "as_of('files', \"'2026-01-01'\")"
    project.write("models/at_a_text.sql", f"{{{{ trueup.{text} }}}}")
    project.sql("create table {}.empty (_ts bigint) using {format}")
    for name, call in calls.items():
        project.write(f"models/{name}.sql", f"{{{{ trueup.{call} }}}}")
    project.run()
    for name in calls:
        with pytest.raises(
            Py4JJavaError, match="a tick of files must not be null: give an integer"
        ):
            project.rows(name)
    with pytest.raises(Py4JJavaError, match="A tick of files must be an integer or a timestamp"):
        project.rows("at_a_text")


@pytest.mark.long
def test_an_open_tick_cannot_be_read(new_project: Callable[[str], Project]) -> None:
    project = new_project("not_settled")
    project.add_collection("files", KEY, VALUE)
    project.append("files", [Command(5, (1,), ("a",), ("100644", "b"))])
    project.write("models/at_5.sql", "{{ trueup.as_of('files', 5) }}")
    project.write("models/at_6.sql", "{{ trueup.as_of('files', 6) }}")
    project.write("models/from_5.sql", "{{ trueup.changes_between('files', 5, 400) }}")
    project.run()
    assert project.rows("at_5") == [("a", "100644", "b")]
    for condition in ("true", "path = 'a'", "path = 'none'"):
        with pytest.raises(
            Py4JJavaError, match="tick 6 is not settled yet: the upper of files is 6"
        ):
            project.sql(f"select * from {{}}.at_6 where {condition}")
    with pytest.raises(Py4JJavaError, match="tick 400 is not settled yet"):
        project.rows("from_5")
