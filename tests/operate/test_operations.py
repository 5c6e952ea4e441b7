"""Maintenance, renaming and dropping of a store, and the doctor."""

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
    """A collection with three batches."""
    project = own_project("operated")
    project.sql("create table {}.log (k string, ord int, a string) using {format}")
    project.write("models/c.sql", MODEL.format(schema=project.name))
    for order in range(1, 4):
        run(project, ("x", order, f"v{order}"), (f"y{order}", 1, "y"))
    return project


def run(project: Project, *commands: tuple[Any, ...], model: str = "c") -> str:
    """Append commands and run. Return what dbt says of the model."""
    project.insert("log", list(commands))
    project.run(model)
    (message,) = project.messages
    return message.removeprefix(f"{model}: ")


def store_of(project: Project, name: str = "c") -> Store:
    return Store(project, name, ["k"], ["a"])


def test_maintenance_keeps_rows_and_the_snapshot_of_the_newest_batch(
    kept: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(kept)
    rows = store.rows()
    for name, value in {"retain_hours": -1, "retain_last": 0}.items():
        lines = kept.operate("maintain", fails=True, collection="c", **{name: value})
        assert f"argument `{name}`" in "".join(lines)
    # Somebody damages the history after the newest batch.
    kept.sql("delete from {}.c__trueup where _kind = 'update' and k = 'x' and _diff = -1")
    lines = kept.operate("maintain", collection="c", retain_hours=0, retain_last=1)
    assert "Maintained" in "".join(lines)
    found = kept.sql("select count(*) from {}.c__trueup.snapshots")[0][0]
    assert 2 <= found <= 4
    assert "restored from the snapshot" in run(kept)
    assert store.rows() == rows
    store.check_laws()
    # A call that is killed leaves nothing to repair.
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        kept.operate("maintain", fails=True, collection="c")
    assert run(kept).startswith("up to date at batch")
    # Small files become one a kind, and the next run does not take that for an edit.
    kept.operate("maintain", collection="c", retain_hours=0, retain_last=1)
    seq = store.batches()[-1]["seq"]
    assert run(kept) == f"up to date at batch {seq}"
    run(kept, ("z", 1, "z"))
    assert store.rows() == {**rows, ("z",): ("z",)}
    store.check_laws()


def test_a_store_is_handed_over_to_a_renamed_model(
    kept: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = store_of(kept).rows()
    model = (kept.folder / "models" / "c.sql").read_text()
    (kept.folder / "models" / "c.sql").unlink()
    kept.write("models/d.sql", model)
    refused = kept.operate("rename", fails=True, collection="d", old_name="log")
    assert "without the table" in "".join(refused)
    # A call that is killed goes on with the next one: owner, table, view, and the old view.
    for _ in range(3):
        with monkeypatch.context() as patched:
            stop_after(patched, 1)
            kept.operate("rename", fails=True, collection="d", old_name="c")
    kept.operate("rename", collection="d", old_name="c")
    store = store_of(kept, "d")
    assert store.rows() == rows
    assert run(kept, ("x", 9, "new"), model="d") == "batch 4: 1 command, 1 updated"
    store.check_laws()
    names = {row[1] for row in kept.sql("show tables in {}")}
    assert "c__trueup" not in names
    assert "c" not in {row[1] for row in kept.sql("show views in {}")}


def stop_after(patched: pytest.MonkeyPatch, count: int) -> None:
    """Let the session die before it sends another statement that changes something."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the fast tests need none

    send = SparkSession.sql
    sent: list[str] = []

    def send_or_die(session: SparkSession, text: str, *given: Any, **named: Any) -> Any:
        if any(word in text for word in ("alter table", "drop ", "create ", "call ")):
            if len(sent) == count:
                message = "killed"
                raise RuntimeError(message)
            sent.append(text)
        return send(session, text, *given, **named)

    patched.setattr(SparkSession, "sql", send_or_die)


def test_a_store_is_dropped_only_without_its_model_and_with_confirm(
    kept: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{kept.name}.c"
    refused = kept.operate("drop", fails=True, name=name, confirm=True)
    assert "which is still in the project" in "".join(refused)
    (kept.folder / "models" / "c.sql").unlink()
    kept.write("models/other.sql", "select 1 as one")
    refused = kept.operate("drop", fails=True, name=name)
    assert "must be true to drop" in "".join(refused)
    assert "the history of 3 batches" in "".join(refused)
    refused = kept.operate("drop", fails=True, name=f"{kept.name}.log", confirm=True)
    assert "without the table" in "".join(refused)
    assert len(store_of(kept).rows()) == 4
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        kept.operate("drop", fails=True, name=name, confirm=True)
    kept.operate("drop", name=name, confirm=True)
    assert {row[1] for row in kept.sql("show tables in {}")} == {"log"}


def wrong(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines if line.startswith("  WRONG")]


def test_the_doctor_says_what_is_wrong_and_changes_nothing(kept: Project) -> None:
    lines = kept.operate("doctor", collection="c")
    assert wrong(lines) == []
    assert "c is well." in "".join(lines)
    assert "the next run reads what is new in" in "".join(lines)
    kept.sql("update {}.c__trueup set a = 'bad' where _kind = 'row' and k = 'x'")
    kept.run("c", read_only=True)
    version = kept.version("c__trueup")
    found = wrong(kept.operate("doctor", collection="c"))
    assert len(found) == 3
    assert "somebody else has written to it since batch 3" in found[0]
    assert "its current rows are wrong in 1 of 256 buckets" in found[1]
    assert "1 plan tables of dry runs are left" in found[2]
    assert kept.version("c__trueup") == version
    run(kept)
    level = "'write.merge.isolation-level' = 'snapshot'"
    kept.sql(f"alter table {{}}.c__trueup set tblproperties ({level})")
    found = wrong(kept.operate("doctor", collection="c"))
    assert found == ["WRONG  it does not keep two runs at once apart: write.merge.isolation-level"]
    kept.sql("alter table {}.c__trueup set tblproperties ('trueup.owner' = 'model.x.y')")
    assert "is the store of model.x.y" in wrong(kept.operate("doctor", collection="c"))[0]
    kept.sql("drop table {}.c__trueup")
    assert "there is no table" in wrong(kept.operate("doctor", collection="c"))[0]
