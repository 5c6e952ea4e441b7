"""`truncate_scope`: a truncate deletes only the keys of its source, in each place that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.explain.test_explain import say_why, verdicts
from tests.prove.test_prove import prove
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only

CALL = """trueup.commands(
    relation='{schema}.log', sequence_by=['ord'], columns=['a', 'b'], delete_when="op = 'D'",
    truncate_when="op = 'T'"{more}
)"""
AGREES = """models:
  - name: c
    data_tests:
      - trueup.agrees_with_log:
          arguments:
            log: %s.log
            key: [shard, k]
            sequence_by: [ord]
            columns: [a, b]
            delete_when: "op = 'D'"
            truncate_when: "op = 'T'"
"""


class Log:
    """A log of two shards, and the collection `c` over it."""

    def __init__(self, project: Project, more: str = "", **options: Any) -> None:
        """Create the log and write the model."""
        self.project = project
        self.store = Store(project, "c", ["shard", "k"], ["a", "b"])
        project.sql(
            "create table {}.log (shard string, k string, ord bigint, op string, a string,"
            " b string, same array<string>, old struct<shard: string, k: string>, tick bigint)"
            " using {format}"
        )
        self.write(more, **options)

    def write(self, more: str = "", **options: Any) -> None:
        """Write the model, with further arguments of `trueup.commands` and options."""
        call = CALL.format(schema=self.project.name, more=more)
        options = {"truncate_scope": "shard"} | options
        self.project.write_model("c", f"{{{{ {call} }}}}", ["shard", "k"], options)

    def run(self, *commands: tuple[Any, ...], fails: bool | None = False) -> str:
        """Append commands and run. Return what the run says."""
        self.project.insert("log", [(*one, *[None] * (9 - len(one))) for one in commands])
        self.project.run("c", fails=fails)
        return "\n".join(self.project.messages)

    @property
    def rows(self) -> dict[str, Any]:
        """The first value of each key, which is written as `shard/key`."""
        return {f"{shard}/{key}": value[0] for (shard, key), value in self.store.rows().items()}


def put(key: str, order: int, a: str | None, *more: Any, op: str = "U") -> tuple[Any, ...]:
    shard, _, name = key.partition("/")
    return (shard, name or None, order, op, a, *more)


def truncate(shard: str | None, order: int | None, tick: int | None = None) -> tuple[Any, ...]:
    return (shard, None, order, "T", None, None, None, None, tick)


@pytest.mark.long
def test_a_truncate_deletes_the_keys_of_its_scope_alone(own_project: OwnProject) -> None:
    log = Log(own_project("scope"))
    log.run(put("a/x", 10, "x"), put("a/y", 90, "y"), put("b/x", 10, "x"))
    log.run(truncate("a", 50))
    assert log.rows == {"a/y": "y", "b/x": "x"}
    # The bound of each scope is remembered, and the other one has none.
    log.run(put("a/z", 40, "dead"), put("b/z", 40, "lives"), put("a/n", 60, "lives"))
    assert log.rows == {"a/y": "y", "b/x": "x", "b/z": "lives", "a/n": "lives"}
    log.run(truncate("b", 20), put("b/late", 15, "dead"), put("a/late", 45, "dead"))
    assert log.rows == {"a/y": "y", "b/z": "lives", "a/n": "lives"}
    log.store.check_laws()
    # The log says the same, if somebody else folds it.
    path = "models/c.yml"
    log.project.write(path, AGREES % log.project.name + "            truncate_scope: [shard]\n")
    log.project.run("c", command="test")
    log.project.write(path, AGREES % log.project.name)
    log.project.run("c", command="test", fails=True)
    log.project.write("models/c_corrections.sql", "{{ trueup.corrections('c') }}")
    log.project.run("c_corrections")
    assert log.project.sql("select * from {}.c_corrections") == []
    assert prove(log.project, "c")["differences"] == []
    found = verdicts(say_why(log.project, "c", "shard=b", "k=z"))
    assert found == [("40", "wins"), ("20", "truncate")]
    found = verdicts(say_why(log.project, "c", "shard=a", "k=z"))
    assert found == [("50", "truncate"), ("40", "truncated")]


@pytest.mark.long
def test_a_change_of_key_takes_columns_that_the_truncate_of_the_old_scope_spares(
    own_project: OwnProject,
) -> None:
    log = Log(own_project("scope_moves"), ", unchanged='same', old_key='old'")
    log.run(put("a/x", 10, "x", "kept"), put("b/x", 10, "x", "lost"))
    log.run(truncate("b", 15))
    log.run(
        put("b/moved", 20, "moved", None, ["b"], ("a", "x")),
        put("a/moved", 20, "moved", None, ["b"], ("b", "x")),
    )
    assert log.store.rows() == {("b", "moved"): ("moved", "kept")}
    assert log.store.errors() == {(("a", "moved"), None): "order"}
    log.store.check_laws()
    assert prove(log.project, "c")["differences"] == []


@pytest.mark.long
def test_with_ticks_a_truncate_of_a_scope_deletes_at_its_tick(own_project: OwnProject) -> None:
    log = Log(own_project("scope_ticks"), ", ts='tick'")

    def at(tick: int, key: str, a: str) -> tuple[Any, ...]:
        return put(key, 1, a, None, None, None, tick)

    log.run(at(1, "a/x", "x"), at(1, "b/x", "x"), at(5, "a/y", "y"), truncate("a", 1, 3))
    assert log.rows == {"a/y": "y", "b/x": "x"}
    assert log.store.rows_at(2).keys() == {("a", "x"), ("b", "x")}
    assert log.store.rows_at(3).keys() == {("b", "x")}
    log.run(truncate("b", 1, 7), at(8, "a/x", "again"))
    assert log.rows == {"a/y": "y", "a/x": "again"}
    log.store.check_laws()


def test_a_scope_that_cannot_be_known_is_refused(own_project: OwnProject) -> None:
    log = Log(own_project("scope_refused"), truncate_scope=["a"])
    assert "one or more of the key columns shard, k" in log.run(put("a/x", 1, "x"), fails=True)
    log.write()
    log.run()
    said = log.run(truncate(None, 2), fails=True)
    assert "and with a value in shard" in said
    assert log.rows == {"a/x": "x"}
    # Another scope would read the bounds of earlier batches in another sense.
    log.write(truncate_scope=["shard", "k"])
    assert "truncate_scope: shard" in log.run(fails=True)
