"""Operations that rewrite a store in one commit of ours: compact and erase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only

MODEL = """{{{{ config(
    materialized='trueup', unique_key='k', meta={{'trueup': {{'verify': '{verify}'}}}}
) }}}}
{{{{ trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], delete_when="op = 'D'", columns=['a'],
    error_key="if(k = 'raw', 'xFF', null)"
) }}}}"""
Rows = list[tuple[Any, ...]]


@pytest.fixture
def kept(own_project: Callable[[str], Project]) -> Project:
    """A collection with rows, an error, a tombstone and an error of a command without an order."""
    project = own_project("kept")
    project.sql("create table {}.log (k string, ord int, op string, a string) using {format}")
    write_model(project)
    run(
        project,
        [("a", 1, "U", "x"), ("b", 1, "U", "x"), ("gone", 1, "U", "x"), ("raw", 1, "U", "r")],
    )
    run(project, [("a", 2, "U", "y"), ("gone", 2, "D", None)])
    unordered, tie = ("b", None, "U", "z"), [("c", 1, "U", "x"), ("c", 1, "U", "y")]
    run(project, [("a", 3, "U", "x"), ("b", 2, "D", None), unordered, *tie])
    return project


def write_model(project: Project, verify: str = "ancestry") -> None:
    project.write("models/c.sql", MODEL.format(schema=project.name, verify=verify))


def run(project: Project, commands: Rows, **given: Any) -> str:
    """Append commands and run. Return what dbt says of the model."""
    project.insert("log", commands)
    project.run("c", **given)
    (message,) = project.messages
    return message.removeprefix("c: ")


def store_of(project: Project) -> Store:
    return Store(project, "c", ["k"], ["a"])


def is_sound(project: Project) -> bool:
    """Compare the whole store with its certificate, as a run does if somebody has edited it."""
    write_model(project, verify="always")
    message = run(project, [])
    write_model(project)
    return message.startswith("up to date")


def holds(project: Project, key: str) -> list[str]:
    return [
        row["_kind"] for row in project.sql(f"select _kind from {{}}.c__trueup where k = '{key}'")
    ]


@pytest.mark.long
def test_a_compaction_keeps_rows_and_certificates(kept: Project) -> None:
    store = store_of(kept)
    rows, errors, before = store.rows(), store.errors(), store.batches()
    count = len(store.stored("_kind = 'update'"))

    for since, words in {before[-1]["ts"] + 2: "at most", "x": "a tick"}.items():
        assert words in "".join(kept.operate("compact", fails=True, collection="c", since=since))
    kept.operate("compact", collection="c", since=before[2]["ts"] + 1)
    again = kept.operate("compact", fails=True, collection="c", since=before[2]["ts"])
    assert "is compacted already" in "".join(again)

    newest = store.batches()[-1]
    assert (newest["seq"], newest["repair"]) == (before[-1]["seq"] + 1, "compacted")
    assert len(store.stored("_kind = 'update'")) < count
    assert (store.rows(), store.errors()) == (rows, errors)
    assert run(kept, []) == f"up to date at batch {newest['seq']}"
    assert is_sound(kept)
    store.check_laws()
    # Commands of before are still superseded, and new ones go on.
    assert "1 inserted, 1 updated, 1 superseded" in run(
        kept, [("a", 4, "U", "z"), ("b", 1, "U", "late"), ("d", 1, "U", "x")]
    )
    assert is_sound(kept)
    # Damage is repaired from the compacted history.
    kept.sql("update {}.c__trueup set a = 'bad' where _kind = 'row' and k = 'a'")
    assert "rebuilt from the history" in run(kept, [])
    assert store.rows() == {**rows, ("a",): ("z",), ("d",): ("x",)}
    store.check_laws()


def test_erase_removes_all_that_is_stored_of_a_key(kept: Project) -> None:
    store = store_of(kept)
    for keys, words in {"a": "a non-empty list", "": "a non-empty list"}.items():
        assert words in "".join(kept.operate("erase", fails=True, collection="c", keys=keys))
    wrong = kept.operate("erase", fails=True, collection="c", keys=[{"other": 1}])
    assert "a mapping of k, or of _error_key" in "".join(wrong)
    assert {"row", "update"} <= {*holds(kept, "a")}
    assert {"tombstone", "error", "update"} <= {*holds(kept, "b")}

    kept.operate("erase", collection="c", keys=["a", {"k": "b"}, {"_error_key": "xFF"}])
    assert holds(kept, "a") == holds(kept, "b") == []
    assert store.rows() == {}
    assert store.errors() == {(("c",), None): "tie"}
    newest = store.batches()[-1]
    assert newest["order_errors"] == 0
    assert len(newest["erased"]) == 3
    assert "xFF" not in str(newest)
    assert "holds nothing" in "".join(kept.operate("erase", collection="c", keys=["a"]))
    assert store.batches()[-1]["seq"] == newest["seq"]
    assert is_sound(kept)
    store.check_laws()
    # The log still has their commands, but no run would read them again.
    kept.write("models/c_corrections.sql", "{{ trueup.corrections('c') }}")
    kept.run("c_corrections")
    assert not kept.sql("select * from {}.c_corrections")
    # A repair does not bring them back: neither of a current row nor of the history.
    run(kept, [("d", 1, "U", "x")])
    kept.sql("update {}.c__trueup set a = 'bad' where _kind = 'row'")
    assert "rebuilt from the history" in run(kept, [])
    kept.sql("update {}.c__trueup set a = 'bad' where _kind = 'update' and k = 'd'")
    assert "restored from the snapshot" in run(kept, [])
    assert store.rows() == {("d",): ("x",)}
    # A later command of the key makes a new row.
    run(kept, [("a", 5, "U", "again")])
    assert store.rows() == {("a",): ("again",), ("d",): ("x",)}
    store.check_laws()
    # Then the key has corrections again.
    kept.sql("delete from {}.c__trueup where _kind = 'row' and k = 'a'")
    assert [row["a"] for row in kept.sql("select a from {}.c_corrections")] == ["again"]
    assert "rebuilt from the history" in run(kept, [])
    assert is_sound(kept)


@pytest.mark.long
def test_a_damaged_store_and_the_store_of_another_model_are_refused(kept: Project) -> None:
    kept.sql("update {}.c__trueup set a = 'bad' where _kind = 'row' and k = 'a'")
    rewrites: dict[str, dict[str, Any]] = {"compact": {"since": 1}, "erase": {"keys": ["a"]}}
    for operation, arguments in rewrites.items():
        lines = kept.operate(operation, fails=True, collection="c", **arguments)
        assert "Let a run repair it first: dbt run -s c" in "".join(lines)
    run(kept, [])
    kept.sql("alter table {}.c__trueup set tblproperties ('trueup.owner' = 'model.other.c')")
    version = kept.version("c__trueup")
    for operation, arguments in {**rewrites, "maintain": {}}.items():
        lines = kept.operate(operation, fails=True, collection="c", **arguments)
        assert "must be the one of model." in "".join(lines)
        assert "Got: the one of model.other.c" in "".join(lines)
    assert kept.version("c__trueup") == version
    for name in ("log", "nothing"):
        lines = kept.operate("erase", fails=True, collection=name, keys=["a"])
        assert "the name of one model with the materialization `trueup`" in "".join(lines)
