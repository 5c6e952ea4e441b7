"""Somebody deletes whole keys from a store. Nobody but a person knows whether it was a mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

MODEL = """{{{{ config(materialized='trueup', unique_key='k') }}}}
{{{{ trueup.commands(relation='{schema}.log', sequence_by=['ord'], columns=['a']) }}}}"""


@pytest.fixture
def kept(own_project: Callable[[str], Project]) -> Project:
    """A collection with two batches, from which somebody has deleted the key `x`."""
    project = own_project("forgotten")
    project.sql("create table {}.log (k string, ord int, a string) using {format}")
    project.write("models/c.sql", MODEL.format(schema=project.name))
    run(project, ("x", 1, "x1"), ("y", 1, "y1"))
    run(project, ("x", 2, "x2"), ("z", 1, "z1"))
    refused = project.operate("accept", fails=True, collection="c")
    assert "a store without such a change" in "".join(refused)
    project.sql("delete from {}.c__trueup where k = 'x'")
    return project


def run(project: Project, *commands: tuple[Any, ...], fails: bool = False) -> str:
    """Append commands and run. Return what dbt says of the model."""
    project.insert("log", list(commands))
    project.run("c", fails=fails)
    (message,) = project.messages
    return message.removeprefix("c: ")


def stopped(project: Project) -> bool:
    """Whether a run stops, names both ways on, and writes nothing."""
    version = project.version("c__trueup")
    message = run(project, fails=True)
    ways = ("no row any more of 1 key", "trueup.accept", "trueup.restore")
    return all(way in message for way in ways) and project.version("c__trueup") == version


def test_a_restore_brings_the_keys_back(kept: Project) -> None:
    store = Store(kept, "c", ["k"], ["a"])
    assert stopped(kept)
    kept.operate("restore", collection="c")
    assert store.rows() == {("x",): ("x2",), ("y",): ("y1",), ("z",): ("z1",)}
    assert run(kept) == "up to date at batch 3"
    store.check_laws()
    refused = kept.operate("restore", fails=True, collection="c")
    assert "a store without such a change" in "".join(refused)


def test_an_accepted_erasure_is_never_undone(kept: Project) -> None:
    store = Store(kept, "c", ["k"], ["a"])
    assert stopped(kept)
    kept.operate("accept", collection="c")
    assert len(store.batches()[-1]["erased"]) == 1
    assert run(kept) == "up to date at batch 3"
    store.check_laws()
    # Other damage is repaired as ever, and the key does not come back.
    kept.sql("update {}.c__trueup set a = 'bad' where k = 'y'")
    assert "restored from the snapshot" in run(kept)
    assert store.rows() == {("y",): ("y1",), ("z",): ("z1",)}
    # A deletion and an edit together are damage.
    kept.sql("delete from {}.c__trueup where k = 'y'")
    kept.sql("update {}.c__trueup set a = 'bad' where k = 'z'")
    assert "restored from the snapshot" in run(kept)
    assert store.rows() == {("y",): ("y1",), ("z",): ("z1",)}
    run(kept, ("x", 3, "new"))
    assert store.rows() == {("x",): ("new",), ("y",): ("y1",), ("z",): ("z1",)}
    store.check_laws()
