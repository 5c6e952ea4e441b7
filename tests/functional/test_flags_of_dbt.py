"""Collections work with dbt's `retry`, and refuse a run with `--empty` or `--sample`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from dbt.adapters.spark.session import Cursor

from tests.acceptance import Column, multiset
from tests.macros.package import in_model
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]


def put(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), (f"value {ts}",))


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection that corrects late commands, and a select over it, after one run."""
    project = new_project("flags_of_dbt")
    project.add_collection("c", KEY, VALUE, {"late": "correct"})
    project.append("c", [put(1, "a"), put(2, "b")])
    project.add_select("n", "select 1 as one, count(*) as n from {{ ref('c') }}", ["one"])
    project.run()
    return project


def let_another_run_win(
    project: Project, monkeypatch: pytest.MonkeyPatch, before: str
) -> list[str]:
    """Let another run append the same batch right before a statement of this run."""
    project.run("c_commands", "c_corrections", "c_batch")
    project.sql("create or replace table {}.theirs using {format} as select * from {}.c_batch")
    execute, injected = Cursor.execute, list[str]()
    seal = in_model("c_changelog")._committed_seal_expr(
        "_statistics.seal.own", "_statistics.since", "_statistics.minted_at"
    )
    committed = (
        "select * except (_statistics), case when _kind = 'progress' then"
        " struct(_statistics.* except (committed_at, seal), _statistics.minted_at as committed_at,"
        f" struct(_statistics.seal.* except (committed), {seal} as committed) as seal)"
        " end as _statistics from {}.theirs"
    )

    def racing(cursor: Cursor, sql: str, *parameters: Any) -> None:
        if before in sql and "c_changelog" in sql and not injected:
            injected.append(sql)
            project.sql(f"insert into {{}}.c_changelog by name {committed}")
        execute(cursor, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", racing)
    return injected


@pytest.mark.long
@pytest.mark.parametrize("before", ['.c_changelog"', "merge into"], ids=["first", "merge"])
def test_a_retry_after_a_conflict_succeeds_and_the_next_run_settles_the_rest(
    project: Project, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    tick = project.progress("c")[-1]["_upper"]
    project.append("c", [put(tick, "theirs")])
    injected = let_another_run_win(project, monkeypatch, before)
    project.append("c", [put(tick + 1, "ours")])
    project.run("--write-json", "path:models/c", fails=True)
    assert injected
    monkeypatch.undo()
    (lost,) = [line for line in project.messages if "upper mismatch: " in line]
    assert "; run again" in lost

    project.run(command="retry")
    assert "c_changelog: nothing to append" in project.messages
    assert ("theirs", f"value {tick}") in project.rows("c")

    project.run("path:models/c")
    assert ("ours", f"value {tick + 1}") in project.rows("c")


def counts(project: Project) -> Any:
    tables = ("c_commands", "c_state", "c_changelog", "n_state", "n_changelog", "c", "n")
    return {table: project.sql(f"select count(*) from {{}}.{table}")[0][0] for table in tables}


@pytest.mark.long_cases
@pytest.mark.parametrize("flag", [["--empty"], ["--sample=1 day"]])
@pytest.mark.parametrize("command", ["run", "build"])
def test_a_run_with_empty_or_sample_is_refused_and_changes_nothing(
    project: Project, command: str, flag: list[str]
) -> None:
    before, rows = counts(project), multiset(project.rows("c"))
    project.run(*flag, command=command, fails=True)
    said = "\n".join(project.messages)
    assert "A run of c_commands must be one over all rows" in said
    assert f"Got: the flag {flag[0].partition('=')[0]}" in said
    # A run of one model is refused, too, also if the model is a view.
    for model in ("c", "c_errors", "c_state", "n_corrections", "n_batch", "n"):
        path = f"path:models/{model[0]}/{model}.sql"
        project.run(path, *flag, command=command, fails=True)
        assert f"A run of {model} must be one over all rows" in "\n".join(project.messages)
    assert counts(project) == before
    assert multiset(project.rows("c")) == rows


def test_compile_accepts_empty_and_changes_nothing(project: Project) -> None:
    before = counts(project)
    project.run("--empty", command="compile")
    assert counts(project) == before
