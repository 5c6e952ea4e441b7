"""Real logs: the histories of two git repositories, against the trees that git itself stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import git_history
from tests.acceptance import Column, multiset

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.mark.parametrize("history", ["dbt-utils"], indirect=True)
def test_every_tree_of_dbt_utils_is_exact_at_its_commit(history: Project) -> None:
    for commit_no, tree in git_history.load("dbt-utils").trees.items():
        history.run(until=commit_no + 1)
        assert multiset(history.rows("files")) == multiset(tree)


@pytest.mark.parametrize("history", ["dbt-core"], indirect=True)
def test_the_last_tree_of_dbt_core_is_exact_after_one_run(history: Project) -> None:
    trees = git_history.load("dbt-core").trees
    history.run()
    assert multiset(history.rows("files")) == multiset(trees[max(trees)])
    assert history.progress("files")[0]["_statistics"]["messages_received"] == 70_740
