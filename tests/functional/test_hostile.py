"""Hostile names and values are stored unchanged or refused. They never run or reach a log file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from dbt_trueup.dbt import query
from tests import torture
from tests.acceptance import Column, multiset
from tests.conftest import ROOT
from tests.functional.test_reclock import Message, Topic
from tests.oracle import Collection, Command
from tests.project import EVOLVING, TABLES, TICK, quote

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
NAMES = [text.replace("`", TICK) for text in TEXTS if "\x00" not in text and "${" not in text]
LOGGED = ("--log-level-file=debug", "--write-json")
"""Flags of dbt: it writes all that it can."""
OPTIONS = {"inline_errors": "problem", "verify": "always"}
SECRETS = [text.replace("hostile", "secret") for text in TEXTS] + ["secret" + "x" * 1_000_000]
STEPS = ("commands", "correct", "fold", "stage", "append", "apply", "certify", "generic_tests")
"""The folders of macros whose subqueries `dbt run` and `dbt test` send."""


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
    project.append("texts", known)
    project.run("models/texts", *LOGGED)
    printed = project.messages
    # The heal of the second run reads all rows.
    project.sql("update {}.texts_state set v = 'a secret edit' where _kind = 'row'")
    project.configure(texts={**project.config["texts"], "+meta": {"trueup": OPTIONS}})
    project.append("texts", changed)
    project.run("models/texts", *LOGGED)
    printed += project.messages
    oracle.run(torture.read([*known, *changed], options))
    assert multiset(project.rows("texts")) == multiset(oracle.inlined(1, 2))
    assert multiset(project.errors("texts")) == multiset(oracle.errors)
    assert any("healed" in said for said in printed), printed
    assert not places_of("secret", project, home, printed)


def places_of(text: str, project: Project, home: Path, printed: list[str]) -> list[str]:
    """Return the logs, artifacts and printed lines with a text. All of them must be there."""
    written = [
        *(home / "spark.log", *project.folder.rglob("*.log")),
        *(path for path in (project.folder / "target").rglob("*") if path.is_file()),
    ]
    names = {path.name for path in written}
    assert {"spark.log", "dbt.log", "manifest.json", "run_results.json"} <= names, names
    assert b"_state" in (project.folder / "logs" / "dbt.log").read_bytes()
    found = [str(path) for path in written if text.encode() in path.read_bytes()]
    if project.table_format == "delta":
        # Delta itself writes the ranges of values in a file to this log: see docs/security.md.
        found = [path for path in found if not path.endswith("spark.log")]
    return found + [line for line in printed if text in line]


@pytest.mark.long
def test_options_that_stop_a_run_show_keys_and_no_values(project: Project, home: Path) -> None:
    project.add_collection("stops", [Column("k", "string")], [Column("v", "string")])
    first, second = "a shown key", "another shown key"
    project.append("stops", [Command(1, (1,), (first,), ("hidden value",))])
    project.run("models/stops", *LOGGED)
    project.append(
        "stops",
        [
            *(Command(2, (1,), (first,), (f"hidden value {place}",)) for place in (1, 2)),
            Command(2, (1,), (second,), None, "hidden value: an error"),
        ],
    )
    stops = {
        "ties: 1 times commands": ("ties", "fail", first),
        "errors: 1 commands of the batch are errors": ("errors", "fail", second),
        "must be at most 0 rows": ("max_retractions", 0, first),
    }
    for failing, (option, value, key) in stops.items():
        meta = {"trueup": {"verify": "never", option: value}}
        project.configure(stops={"+unique_key": ["k"], "+meta": meta})
        project.run("models/stops", *LOGGED, fails=True)
        said = "\n".join(project.messages)
        assert failing in said
        assert key in said
        assert not places_of("hidden value", project, home, project.messages)
    # dbt's log and its results have the keys, and so may Spark's log. No other file has them.
    files = {place.rpartition("/")[2] for place in places_of("shown key", project, home, [])}
    assert "dbt.log" in files
    assert files <= {"dbt.log", "spark.log", "run_results.json"}
    printed = project.operate("compact", collection="stops", since=1)
    printed += project.operate("maintain", collection="stops")
    printed += project.operate("doctor", collection="stops")
    assert not places_of("hidden value", project, home, printed)
    assert not [line for line in printed if "shown key" in line]


def test_a_query_of_the_program_reaches_no_log_file(
    project: Project, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    folder = project.folder / "of_the_program"
    options = ["--project-dir", str(project.folder), "--log-path", str(folder)]
    before = places_of("hidden answer", project, home, [])
    (row,) = query(options, "select concat('hidden', ' answer') as v, 'hidden question' as q")
    assert row == {"v": "hidden answer", "q": "hidden question"}
    assert places_of("hidden answer", project, home, []) == before == []
    assert not list(folder.rglob("*.log"))


@pytest.mark.long
def test_a_long_name_is_stored_or_refused_by_the_file_system(project: Project) -> None:
    """255 characters: a column takes them, a table only if its folder and files do."""
    long = "hostile" * 36 + f"'{TICK}}}"
    assert len(long) == 255
    project.add_collection("wide", [Column("k", "string")], [Column(long, "string")])
    project.append("wide", [Command(1, (1,), ("a",), (TEXTS[7],))])
    project.run("models/wide")
    assert project.rows("wide") == [("a", TEXTS[7])]
    (row,) = project.sql("select * from {}.wide limit 1")
    assert row.__fields__ == ["k", long]


@pytest.mark.long
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
    logs = [*project.folder.rglob("*.log")]
    if project.table_format == "iceberg":
        logs.append(home / "spark.log")
    assert not [log for log in logs if b"secret" in log.read_bytes()]


ODD = "hostile ${env:HOME}"


def test_a_column_name_with_a_variable_of_spark_is_refused(project: Project) -> None:
    names = [add_odd(project, place) for place in ("key", "value", "field")]
    project.run(*(f"{name}_commands" for name in names), fails=True)
    for name in names:
        (said,) = [each for each in project.messages if each.startswith(f"{name}_commands: ")]
        assert "must be named without `${`" in said
        assert ODD in said


def add_odd(project: Project, place: str) -> str:
    """Add the commands of a log with an odd name: of its key, of a column or of a field."""
    columns = {"key": "k", "value": "v"} | {place: ODD}
    name = f"odd_{place}"
    log = project.spark.range(1).selectExpr("1 as one", "id as a", "named_struct('x', 1) as b")
    log = log.withColumnRenamed("a", columns["key"])
    field = "x" if place != "field" else ODD
    log = log.withColumn("b", log["b"].cast(StructType([StructField(field, IntegerType())])))
    table = log.withColumnRenamed("b", columns["value"]).writeTo(f"hostile.{name}")
    for one, value in EVOLVING.items():
        table = table.tableProperty(one, value)
    table.using(project.table_format).create()
    project.write(
        f"models/{name}/{name}_commands.sql",
        f"{{{{ trueup.commands('hostile.{name}', ts='one', sequence_by=['one']) }}}}",
    )
    project.configure(**{name: {"+unique_key": [columns["key"]]}})
    return name


def test_columns_may_have_hostile_names(project: Project) -> None:
    # One name of the key has braces, one has line breaks.
    key, value = [*NAMES[8:10], NAMES[12]], [*NAMES[:8], *NAMES[10:12], *NAMES[13:]]
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


@pytest.mark.long
def test_a_struct_may_have_the_name_of_a_table_in_our_statements(project: Project) -> None:
    """Spark takes `a.v` for the column `v` of a table `a`, if there is one, not for a field."""
    files = [file for step in STEPS for file in (ROOT / "macros" / step).rglob("*.sql")]
    text = "".join(file.read_text() for file in files)
    roles = [f"tables_{role}" for role in (*TABLES, "commands")]
    tables = {"tables", *roles, *re.findall(r"^(\w+) as \($", text, re.MULTILINE)}
    tables |= set(re.findall(r"^ *(?:from|join) .* as (\w+)$", text, re.MULTILINE))
    assert {"plain_rows", "contents", "held_rows", "compared", "persisted"} <= tables
    names = sorted(tables - {"key", "v"})
    # Spark refuses to read a string as a list.
    value = [Column("v", "string"), *(Column(name, "struct<v: array<string>>") for name in names)]
    options = {"late": "correct", "verify": "content", "rehydrate": "udaf"}
    project.add_collection("tables", [Column("key", "int")], value, options)
    tests = {"arguments": {"unique_key": ["key"], "changelog": "ref('tables_changelog')"}}
    models = [
        {"name": model, "data_tests": [{"trueup.matches_certificate": tests}]}
        for model in ("tables", "tables_state", "tables_changelog")
    ]
    project.write("models/tables/tables.yml", json.dumps({"version": 2, "models": models}))
    rows = [(i, f"v{i}", *(([f"{name} {i}"],) for name in names)) for i in range(3)]
    log = [Command(1, (1,), row[:1], row[1:]) for row in rows[:2]]
    project.append("tables", log)
    project.run("models/tables")
    # The second batch is a small one, which has a select of its own.
    changed = [Command(3, (1,), rows[1][:1], rows[2][1:]), Command(3, (1,), rows[0][:1], None)]
    # They differ only in the struct with the name of the table whose rows are hashed.
    ties = [
        rows[1][1:],
        tuple(
            (["other"],) if column.name == "contents" else item
            for column, item in zip(value, rows[1][1:], strict=True)
        ),
    ]
    project.append("tables", [*(Command(2, (1,), rows[1][:1], tie) for tie in ties), *changed])
    project.run("models/tables")
    assert project.progress("tables")[-1]["_statistics"]["ties"] == 1
    assert multiset(project.rows("tables")) == multiset([(1, *rows[2][1:])])
    for flags in ((), ("--full-refresh",)):
        project.run("tables_corrections", "tables_state", *flags)
        assert not any("heal" in said for said in project.messages)
        project.run("test_name:matches_certificate", command="test")
        assert multiset(project.rows("tables")) == multiset([(1, *rows[2][1:])])


EXPRESSIONS = (
    *("relation", "ts", "sequence_by", "delete_when", "truncate_when", "error", "error_key"),
    *("unchanged", "old_key"),
)
"""The arguments of `trueup.commands` that are SQL."""


def test_an_expression_cannot_end_its_statement(own_project: Callable[[str], Project]) -> None:
    project = own_project("hostile")
    project.sql("create table {}.victim as select 1 as one")
    victim = f"{project.name}.victim"
    for argument in EXPRESSIONS:
        plain = {"relation": victim, "ts": "one", "sequence_by": "one"}
        given = plain | {argument: plain.get(argument, "null") + f"; drop table {victim}; --"}
        call = ", ".join(f"{name}={json.dumps(item)}" for name, item in given.items())
        path = f"models/{argument}/{argument}_commands.sql"
        project.write(path, f"{{{{ trueup.commands({call}) }}}}")
        project.configure(**{argument: {"+unique_key": ["one"]}})
    project.run(fails=True)
    assert len(project.messages) == len(EXPRESSIONS)
    for said in project.messages:
        assert "PARSE_SYNTAX_ERROR" in said
    assert project.sql("select * from {}.victim")
