"""Columns that come, go and change their type; hostile names, values and expressions."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column
from tests.between import sent_through
from tests.macros.package import ROOT
from tests.newest_oracle import Command
from tests.stores import Store, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only

K, V = [Column("k", "string")], [Column("v", "string")]


def put(order: int, key: str, *value: object) -> Command:
    return Command((order, 1), (key,), value)


def said(project: Project) -> str:
    return "\n".join(project.messages)


# ---------------------------------------------------------------------------------- changes


@pytest.mark.long
def test_a_run_that_is_killed_before_it_makes_the_view_leaves_that_to_the_next_one(
    own_project: OwnProject,
) -> None:
    project = own_project("viewless")
    project.sql("create table {}.log (k string, o bigint, v string) using {format}")
    project.sql("insert into {}.log values ('a', 1, 'x')")
    call = (
        f"trueup.commands(relation='{project.name}.log', sequence_by=['o'], except_columns=['o'])"
    )
    project.write_model("c", f"{{{{ {call} }}}}", ["k"], {})
    project.run("c")
    project.sql("alter table {}.log add column e string")
    project.sql("insert into {}.log values ('a', 2, 'x', 'new')")

    def kill(execute: Callable[[str], None], sql: str) -> None:
        if "create or replace view" in sql:
            message = "killed"
            raise RuntimeError(message)
        execute(sql)

    with sent_through(kill):
        project.run("c", fails=True)
    project.run("c")
    assert "up to date at batch 2" in said(project)
    assert [tuple(row) for row in project.sql("select * from {}.c")] == [("a", "x", "new")]


def test_columns_are_added_widened_dropped_and_come_back(own_project: OwnProject) -> None:
    project = own_project("changing")
    types = ["int", "float", "decimal(5,2)"]
    value = [*V, *(Column(f"n{i}", kind) for i, kind in enumerate(types))]
    project.add_collection("c", K, value, {"verify": "always"})
    numbers: list[Any] = [7, 0.1, None]
    project.append("c", [put(1, "a", "x", *numbers), put(1, "b", "x", *numbers)])
    project.run("c")
    ticks = [batch["ts"] for batch in project.progress("c")]
    before = project.sql("select * from {}.c order by k")
    # Wider types. The values stay, so nothing is an update.
    wider = {"n0": "bigint", "n1": "double", "n2": "decimal(9,2)"}
    select = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in wider.items())
    log = f"(select * except (n0, n1, n2), {select} from {project.name}.c_log)"
    project.set_arguments("c", relation=log)
    project.run("c")
    assert project.updates("c", after=1) == []
    assert {row["col_name"]: row["data_type"] for row in project.sql("describe {}.c")} == {
        "k": "string",
        "v": "string",
        **wider,
    }
    (row,) = project.sql("select * from {}.c where k = 'a'")
    assert row["n1"] == pytest.approx(0.1)
    # A new column, and one that is gone.
    project.sql("alter table {}.c_log add column e string")
    project.set_arguments("c", columns=["v", "e", "n1", "n2"])
    project.sql(
        "insert into {}.c_log (log_ts, log_order, log_delete, k, v, e)"
        " values (2, 1, false, 'a', 'y', 'new')"
    )
    project.run("c")
    newest = project.sql("select k, v, n0, e from {}.c order by k")
    assert [tuple(row) for row in newest] == [("a", "y", None, "new"), ("b", "x", None, None)]
    assert project.store("c").stored("_seq > 2 and k = 'b' and _diff = -1")[0]["n0"] == 7
    # It comes back. A past tick has the rows of that time.
    project.set_arguments("c", columns=["v", "e", "n0", "n1", "n2"])
    project.run("c")
    assert "rebuilt" not in said(project)
    assert project.sql("select n0 from {}.c where k = 'b'")[0]["n0"] == 7
    project.write("models/then.sql", f"{{{{ trueup.as_of('c', {ticks[-1]}) }}}}")
    project.run("then")
    then = project.sql("select k, v, n0 from {}.then order by k")
    assert [tuple(row) for row in then] == [tuple(row)[:3] for row in before]
    project.store("c").check_laws()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("int", "v, which was string and is int"),
        ("map<string, int>", "v, which was string and is map<string,int>"),
        (
            "map<int, int>",
            "a value, if it has a map or a variant; the keys of a map must be strings",
        ),
    ],
)
def test_another_type_is_refused_and_nothing_is_written(
    own_project: OwnProject, kind: str, why: str
) -> None:
    project = own_project("retyped")
    project.add_collection("c", K, V)
    project.append("c", [put(1, "a", "1")])
    project.run("c")
    before = project.version("c__trueup")
    project.set_column("c", Column("v", kind))
    project.run("c", fails=True)
    assert why in said(project)
    assert project.version("c__trueup") == before


@pytest.mark.parametrize("mode", ["ignore", "fail"])
def test_an_option_leaves_out_or_refuses_a_new_column(own_project: OwnProject, mode: str) -> None:
    project = own_project(f"new_column_{mode}")
    project.add_collection("c", K, V, {"on_schema_change": mode})
    project.append("c", [put(1, "a", "1")])
    project.run("c")
    project.set_column("c", Column("w", "int"))
    project.append("c", [put(2, "a", "2", 5)])
    project.run("c", fails=mode == "fail")
    assert project.spark.table(f"{project.name}.c").columns == ["k", "v"]
    assert project.rows("c") == [("a", "1" if mode == "fail" else "2")]
    assert ("w, which is new" in said(project)) == (mode == "fail")


# ---------------------------------------------------------------------------------- texts

V3 = " tblproperties ('format-version' = '3')"
JSON_TYPES = "m map<string, int>, v variant, s struct<a: array<map<string, timestamp>>, x: double>"


@pytest.mark.long
@pytest.mark.parametrize("is_partial", [False, True])
def test_maps_and_variants_are_values_and_have_one_form(
    own_project: OwnProject, *, is_partial: bool
) -> None:
    project = own_project("texts")
    log, moment = f"{project.name}.log", "2026-01-05 10:00:00.123456"
    project.sql(f"create table {{}}.log (k string, n int, {JSON_TYPES}) using {{format}}{V3}")
    given = {"sequence_by": ["n"], "columns": ["m", "v", "s"]}
    given |= {"ignore_null_updates": ["v"]} if is_partial else {}

    def write(relation: str) -> None:
        call = ", ".join(f"{name}={item!r}" for name, item in given.items())
        select = f"{{{{ trueup.commands(relation={relation!r}, {call}) }}}}"
        project.write_model("c", select, ["k"], {})

    write(log)
    test = {"trueup.agrees_with_log": {"arguments": {"log": log, "key": ["k"], **given}}}
    document = {"version": 2, "models": [{"name": "c", "data_tests": [test]}]}
    project.write("models/c.yml", json.dumps(document))

    def say(number: int, key: str, pairs: str, text: str | None) -> None:
        variant = "null" if text is None else f"parse_json('{text}')"
        project.sql(
            f"insert into {{}}.log select '{key}', {number}, map({pairs}), {variant}, named_struct("
            f"'a', array(map('z', timestamp'{moment}', 'b', null)), 'x', double('NaN'))"
        )

    def build() -> str:
        project.run("c", command="build")
        return said(project)

    def shown() -> list[tuple[Any, ...]]:
        texts = "select k, m, to_json(v), to_json(s.a) from {}.c order by k"
        return [tuple(row) for row in project.sql(texts)]

    say(1, "a", "'y', 1, 'x', 2", '{"b": 1.50, "a": [1, {"d": 1, "c": "u"}]}')
    say(1, "b", "'y', null", "null")
    build()
    # The same values in another sequence, with other blanks and zeros: no tie, and no update.
    say(1, "a", "'x', 2, 'y', 1", '{"a":[1,{"c":"u","d":1}],"b":1.5}')
    say(2, "a", "'x', 2, 'y', 1", '{"a":[1,{"c":"u","d":1}],"b":1.5}')
    assert "tie" not in build()
    store = Store(project, "c", ["k"], ["m", "v", "s"])
    assert [row["_seq"] for row in store.stored("_kind = 'update'")] == [1, 1]
    text, moments = (
        '{"a":[1,{"c":"u","d":1}],"b":1.5}',
        '[{"b":null,"z":"2026-01-05T10:00:00.123Z"}]',
    )
    # The null of JSON is a value of a variant, but means unchanged where a null does.
    null = None if is_partial else "null"
    assert shown() == [("a", {"x": 2, "y": 1}, text, moments), ("b", {"y": None}, null, moments)]
    (row,) = project.sql("select v:a[1].d::int as d, s.x, s.a[0]['z'] as z from {}.c where k = 'a'")
    assert (row["d"], str(row["x"]), str(row["z"])) == (1, "nan", moment)
    say(3, "a", "'x', 3", None)
    say(3, "b", "'y', 0", "null")
    build()
    right = [
        ("a", {"x": 3}, text if is_partial else None, moments),
        ("b", {"y": 0}, null, moments),
    ]
    assert shown() == right
    # The changelog shows the texts. The test finds an edit, and the next run repairs it from them.
    added = [row["m"] for row in store.stored("_kind = 'update' and k = 'b' and _diff = 1")]
    assert added == ['{"y":null}', '{"y":0}']
    project.sql("""update {}.c__trueup set m = '{"x": 8}', v = '1' where _kind = 'row'""")
    project.run("c", command="test", fails=True)
    assert "rebuilt from the history" in build()
    assert shown() == right
    store.check_laws()
    # Another type is refused, also one that would fit the store.
    write(f"(select k, n, s, v, cast(m as map<string, bigint>) as m from {log})")
    project.run("c", fails=True)
    assert "m, which was map<string,int> and is map<string,bigint>" in said(project)


# ---------------------------------------------------------------------------------- hostile

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
]
NAMES = [text for text in TEXTS if "\x00" not in text and "${" not in text]
LOGGED = ("--log-level-file=debug", "--write-json")
"""Flags of dbt: it writes all that it can."""


def places_of(text: str, project: Project, home: Path) -> list[str]:
    """The logs and artifacts with a text. All of them must be there."""
    target = [path for path in (project.folder / "target").rglob("*") if path.is_file()]
    written = [home / "spark.log", *project.folder.rglob("*.log"), *target]
    assert {"spark.log", "dbt.log", "run_results.json"} <= {path.name for path in written}
    return [str(path) for path in written if text.encode() in path.read_bytes()]


def test_hostile_values_are_stored_unchanged_and_reach_no_log_file(
    own_project: OwnProject, home: Path
) -> None:
    project = own_project("values")
    marker = "'; drop table victim; -- {{ x }} \U0001f98a ${env:HOME}"
    value = [*V, Column("b", "binary")]
    project.add_collection("c", K, value, {}, ("unchanged", "old_key"), unchanged_value=marker)
    secrets = [text.replace("hostile", "secret") for text in TEXTS]
    known, changed, rows = [], [], {}
    for text in secrets:
        known += [
            put(1, text, text, text.encode()),
            Command((1, 1), (f"{text} bad",), None, text),
            Command((1, 1), None, (text, b""), text, "x" + text.encode().hex()),
        ]
        kept = frozenset([0])
        changed += [
            Command((2, 1), (text,), ("", b"new"), unchanged=kept),
            Command((3, 1), (f"{text} moved",), ("", b"moved"), unchanged=kept, old_key=(text,)),
            put(4, text, marker, b"newest"),
        ]
        rows[(f"{text} moved",)] = (text, b"moved")
    project.append("c", known)
    project.run("c", *LOGGED)
    printed = project.messages
    project.sql("update {}.c__trueup set v = 'a secret edit' where _kind = 'row'")
    project.append("c", changed)
    project.run("c", *LOGGED)
    printed += project.messages
    assert "rebuilt from the history" in said(project)
    shown = {row[:1]: row[1:] for row in project.rows("c")}
    assert {key: shown[key] for key in rows} == rows
    assert len(project.errors("c")) >= 2 * len(secrets)
    assert not places_of("secret", project, home)
    assert not [line for line in printed if "secret" in line]


@pytest.mark.long
def test_columns_may_have_hostile_names(own_project: OwnProject) -> None:
    project = own_project("names")
    key, value = NAMES[8:11], [*NAMES[:8], *NAMES[11:]]
    keys, values = ([Column(name, "string") for name in names] for names in (key, value))
    project.add_collection("c", keys, values, {}, ("unchanged", "old_key"), keys=key)
    old, new = ("a", "b", "c"), ("a", None, "c")
    project.append(
        "c",
        [
            Command((1, 1), old, tuple(TEXTS[: len(value)])),
            Command((2, 1), new, ("",) * len(value), unchanged=frozenset([0, 5]), old_key=old),
            Command((2, 1), ("d", "e", "f"), None, "bad"),
        ],
    )
    project.run("c")
    row = [TEXTS[place] if place in (0, 5) else "" for place in range(len(value))]
    assert project.rows("c") == [(*new, *row)]
    assert project.spark.table(f"{project.name}.c").columns == [*key, *value]
    project.sql(f"update {{}}.c__trueup set {quote(NAMES[0])} = 'edited' where _kind = 'row'")
    project.run("c")
    assert "rebuilt from the history" in said(project)
    assert project.rows("c") == [(*new, *row)]
    project.store("c").check_laws()


@pytest.mark.long
def test_columns_may_have_the_names_of_our_tables(own_project: OwnProject) -> None:
    """Spark takes `a.v` for the column `v` of a table `a`, if there is one, not for a field."""
    text = "".join(
        file.read_text()
        for folder in ("collection", "fold", "trust")
        for file in (ROOT / "macros" / folder).glob("*.sql")
    )
    names = set(re.findall(r"^(\w+) as \(", text, re.MULTILINE))
    names |= set(re.findall(r"\bas (\w+)$", text, re.MULTILINE))
    names = {name for name in names if not name.startswith("_")} - {"key", "v"}
    assert {"commands", "newest", "decided"} <= names
    assert len(names) > 15
    value = [*V, *(Column(name, "struct<v: array<string>>") for name in sorted(names))]
    project = own_project("tables")
    project.add_collection("c", [Column("key", "int")], value, {"verify": "always"})
    rows = [(i, f"v{i}", *(([f"{column.name} {i}"],) for column in value[1:])) for i in range(3)]
    project.append("c", [Command((1, 1), row[:1], row[1:]) for row in rows[:2]])
    project.run("c")
    project.append("c", [Command((2, 1), (1,), rows[2][1:]), Command((2, 1), (0,), None)])
    project.run("c")
    project.run("c", "--full-refresh")
    assert project.rows("c") == [(1, *rows[2][1:])]
    assert "buckets of keys" in said(project)


EXPRESSIONS = {
    "relation": "{log}",
    "sequence_by": "log_ts",
    "delete_when": "false",
    "truncate_when": "false",
    "error": "null",
    "error_key": "null",
    "unchanged": "array()",
    "old_key": "struct(k)",
    "skip_when": "false",
}
"""The arguments of `trueup.commands` that are SQL."""


def test_an_expression_cannot_end_its_statement(own_project: OwnProject) -> None:
    project = own_project("hostile")
    project.sql("create table {}.victim as select 'a' as k, 1 as log_ts, 2 as v")
    victim = f"{project.name}.victim"
    for argument, good in EXPRESSIONS.items():
        given = {"relation": victim, "sequence_by": "log_ts"}
        given[argument] = good.format(log=victim) + f"; drop table {victim}; --"
        call = ", ".join(f"{name}={json.dumps(item)}" for name, item in given.items())
        project.write_model(f"c_{argument}", f"{{{{ trueup.commands({call}) }}}}", ["k"], {})
    project.run(fails=True)
    assert len(project.messages) == len(EXPRESSIONS)
    assert [line for line in project.messages if "PARSE_SYNTAX_ERROR" not in line] == []
    assert project.sql("select * from {}.victim")


# ---------------------------------------------------------------------------------- refusals


def bad_models(log: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], str]]:
    """Each is a name, arguments, configs and words of the message."""
    order = {"sequence_by": ["log_ts"]}
    yield "no_key", order, {"unique_key": None}, "a non-empty list of key columns"
    yield "no_such_key", order, {"unique_key": ["q"]}, "`q`"
    yield "no_order", {}, {}, "`sequence_by`"
    yield "no_such_argument", {**order, "nope": 1}, {}, "Got: nope"
    yield "no_such_column", {"sequence_by": ["nope"]}, {}, "nope"
    yield "no_such_log", {**order, "relation": f"{log}_nope"}, {}, "_nope"
    yield "no_such_option", order, {"meta": {"trueup": {"nope": 1}}}, "max_retractions"
    yield "no_such_value", order, {"meta": {"trueup": {"ties": "any"}}}, "prefer_upsert"
    yield "no_format", order, {"file_format": "parquet"}, "iceberg"
    yield "own_name", {**order, "relation": f"(select *, 1 as _seq_x from {log})"}, {}, "_seq_x"
    yield "no_type", {**order, "relation": f"(select *, null as x from {log})"}, {}, "void"
    yield "variable", {**order, "relation": f"{log}_odd"}, {}, "must be named without `${`"


def test_what_a_user_gets_wrong_is_refused_before_anything_is_written(
    own_project: OwnProject,
) -> None:
    project = own_project("bad")
    project.sql("create table {}.log using {format} as select 'a' as k, 1 as log_ts, 'x' as v")
    # Spark replaces `${b}` in SQL text.
    odd = project.spark.table(f"{project.name}.log").withColumnRenamed("v", "a ${b}")
    odd.writeTo(f"{project.name}.log_odd").using("iceberg").create()
    words = {}
    for name, given, configs, word in bad_models(f"{project.name}.log"):
        config = {"materialized": "trueup", "unique_key": ["k"], **configs}
        arguments = {"relation": f"{project.name}.log", **given}
        call = ", ".join(f"{each}={json.dumps(item)}" for each, item in arguments.items())
        line = ", ".join(f"{each}={item!r}" for each, item in config.items() if item is not None)
        text = f"{{{{ config({line}) }}}}\n{{{{ trueup.commands({call}) }}}}"
        project.write(f"models/{name}.sql", text)
        words[name] = word
        project.run(name, fails=True)
        assert word in said(project), (name, said(project))
        if name in ("no_order", "no_such_argument"):
            # It is refused while dbt parses, which stops all models.
            (project.folder / f"models/{name}.sql").unlink()
    assert [row["tableName"] for row in project.sql("show tables in {}")] == ["log", "log_odd"]
    assert len(words) > 10
