"""Hostile names and values are stored unchanged or refused. They never run or reach a log file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from tests import torture
from tests.acceptance import Column, multiset
from tests.functional.test_reclock import Message, Topic
from tests.oracle import Collection, Command
from tests.project import quote

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

PROBLEM = "problem `' -- \U0001f98a"
TEXTS = [
    "it's hostile",
    'say "hostile"',
    "hostile`tick``ticks",
    "hostile\\back\\",
    "\\'hostile",
    "hostile -- comment",
    "/* hostile */",
    "hostile'; drop table victim; --",
    "`; drop table victim; -- hostile",
    "{{ hostile }}",
    "{% do hostile() %}",
    "{# hostile #}",
    "hostile\nlines\r\n\ttabs",
    "hostile \U0001f98a e\u0301 \u202e",
    "hostile $1 %s {0} $name",
    "hostile.dot, comma: colon<string>",
    "hostile\x00nul",
    # Spark replaces these in the text of a statement, even inside quotes.
    "hostile ${env:HOME}",
    "${system:user.home} hostile",
    "$${spark.app.name}${hostile}",
]
NAMES = [text for text in TEXTS if "\x00" not in text and "${" not in text]
SECRETS = [text.replace("hostile", "secret") for text in TEXTS] + ["secret" + "x" * 10_000_000]


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    project = new_project("hostile")
    project.sql("create table {}.victim as select 1 as one")
    return project


def test_hostile_values_are_stored_unchanged_and_reach_no_log_file(
    project: Project, home: Path
) -> None:
    options = {"unchanged_value": "'; drop table victim; -- {{ x }} \U0001f98a ${env:HOME}"}
    project.add_collection(
        "texts",
        [Column("k", "string")],
        [Column("v", "string"), Column("b", "binary")],
        {"inline_errors": "problem"},
        extra=("truncate_when", "unchanged", "old_key"),
        ignore_null_updates=["v"],
        **options,
    )
    known: list[Command] = []
    changed: list[Command] = []
    for text in SECRETS:
        keep = frozenset([0])
        known += [
            Command(1, (1,), (text,), (text, text.encode())),
            Command(1, (1,), (f"{text} bad",), None, text),
            Command(1, (1,), None, (text, b""), text, "x" + text[:99].encode().hex()),
        ]
        changed += [
            Command(2, (1,), (text,), ("", b"new"), unchanged=keep),
            Command(2, (1,), (f"{text} moved",), ("", b"new"), unchanged=keep, old_key=(text,)),
            Command(2, (2,), (text,), (options["unchanged_value"], b"newest")),
        ]
    oracle = Collection()
    for commands in (known, changed):
        project.append("texts", commands)
        project.run("models/texts", "--log-level-file=debug")
    oracle.run(torture.read([*known, *changed], options))
    assert multiset(project.rows("texts")) == multiset(oracle.inlined(1, 2))
    assert multiset(project.errors("texts")) == multiset(oracle.errors)
    logs = [home / "spark.log", *project.folder.rglob("*.log")]
    assert len(logs) > 1, "dbt writes a log, too"
    assert not [log for log in logs if b"secret" in log.read_bytes()]


def test_hostile_partitions_and_orders_are_stored_unchanged_and_reach_no_log_file(
    project: Project, home: Path
) -> None:
    partitions = SECRETS[:-1]
    topic = Topic(project, "topics", sequence_by="concat(`partition`, `offset`)")
    for offset in range(2):
        topic.land(*(Message(name, offset, name, f"{name} {offset}") for name in partitions))
        project.run("models/topics", "--log-level-file=debug")
        topic.settle()
        topic.check()
        assert topic.partitions() == dict.fromkeys(partitions, (offset, offset + 1))
        assert topic.statistics()["late_dropped"] == 0
    logs = [home / "spark.log", *project.folder.rglob("*.log")]
    assert not [log for log in logs if b"secret" in log.read_bytes()]


@pytest.mark.parametrize("place", ["key", "value", "field"])
def test_a_column_name_with_a_variable_of_spark_is_refused(project: Project, place: str) -> None:
    odd = "hostile ${env:HOME}"
    columns = {"key": "k", "value": "v"} | {place: odd}
    name = f"odd_{place}"
    log = project.spark.range(1).selectExpr("1 as one", "id as a", "named_struct('x', 1) as b")
    log = log.withColumnRenamed("a", columns["key"])
    field = "x" if place != "field" else odd
    log = log.withColumn("b", log["b"].cast(StructType([StructField(field, IntegerType())])))
    log.withColumnRenamed("b", columns["value"]).writeTo(f"hostile.{name}").using(
        "iceberg"
    ).create()
    project.write(
        f"models/{name}/{name}_commands.sql",
        f"{{{{ trueup.commands('hostile.{name}', ts='one', sequence_by=['one']) }}}}",
    )
    project.configure(**{name: {"+unique_key": [columns["key"]]}})
    project.run(f"{name}_commands", fails=True)
    said = "\n".join(project.messages)
    assert "must be named without `${`" in said
    assert odd in said


def test_columns_may_have_hostile_names(project: Project) -> None:
    key, value = NAMES[7:10], [*NAMES[:7], *NAMES[10:]]
    project.add_collection(
        "names",
        [Column(name, "string") for name in key],
        [Column(name, "string") for name in value],
        {},
        extra=("truncate_when", "unchanged", "old_key"),
        keys=key,
        ignore_null_updates={"except": value[5:]},
    )
    # dbt renders dbt_project.yml, so only the commands model gets a key with braces.
    options = {"inline_errors": PROBLEM, "verify": "always"}
    project.configure(names={"+meta": {"trueup": options}})
    old, new = ("a", "b", "c"), ("a", None, "c")
    commands = [
        Command(1, (1,), old, tuple(TEXTS[: len(value)])),
        Command(2, (1,), old, None),
        Command(2, (1,), new, (None,) * len(value), unchanged=frozenset(range(5, 9)), old_key=old),
        Command(2, (1,), ("d", "e", "f"), None, "bad"),
    ]
    project.append("names", commands)
    project.run("models/names")
    live = (*new, None, *TEXTS[:9], *[None] * (len(value) - 9))
    assert multiset(project.rows("names")) == multiset(
        [live, ("d", "e", "f", "bad", *[None] * len(value))]
    )
    (view,) = project.sql("select * from {}.names limit 1")
    assert view.__fields__ == [*key, PROBLEM, *value]


def test_a_column_with_a_hostile_name_is_healed_and_can_be_read_live(project: Project) -> None:
    """Use the collection of the test before."""
    before = multiset(project.rows("names"))
    project.write("models/names/names_live.sql", "{{ trueup.live('names') }}")
    project.sql(f"update {{}}.names_state set {quote(NAMES[0])} = 'edited' where _kind = 'row'")
    project.run("models/names")
    assert any("healed" in said for said in project.messages), project.messages
    assert multiset(project.rows("names")) == before
    assert len(project.rows("names_live")) == 1


@pytest.mark.parametrize(
    "argument",
    [
        *("relation", "ts", "sequence_by", "delete_when", "truncate_when", "error", "error_key"),
        *("unchanged", "old_key"),
    ],
)
def test_an_expression_cannot_end_its_statement(project: Project, argument: str) -> None:
    plain = {"relation": "hostile.victim", "ts": "one", "sequence_by": "one"}
    given = plain | {argument: plain.get(argument, "null") + "; drop table hostile.victim; --"}
    call = ", ".join(f"{name}={json.dumps(item)}" for name, item in given.items())
    project.write("models/attack/attack_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
    project.configure(attack={"+unique_key": ["one"]})
    project.run("attack_commands", fails=True)
    assert "PARSE_SYNTAX_ERROR" in "\n".join(project.messages)
    assert project.sql("select * from {}.victim")
