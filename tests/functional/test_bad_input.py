"""Bad input stops the run with a clear error, and the tables stay unchanged.

Each kind of error is here once. tests/macros has the other bad values. A test here is long if
tests/macros has the same message. A few of them are not, so that `make test` knows that dbt stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance import Column, multiset
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.project import Project

KEY = [Column("k", "string")]
VALUE = [Column("v", "string")]


@pytest.fixture(scope="module")
def made(new_project: Callable[[str], Project]) -> Project:
    """A collection after one run."""
    project = new_project("bad_input")
    project.add_collection("c", KEY, VALUE)
    project.append("c", [Command(1, (1,), ("a",), ("first",))])
    project.run()
    return project


@pytest.fixture(scope="module")
def first(made: Project) -> list[Any]:
    """The rows and the changelog of the collection after its only run."""
    return contents(made)


def contents(project: Project) -> list[Any]:
    return [multiset(project.rows("c")), multiset(project.sql("select * from {}.c_changelog"))]


@pytest.fixture
def project(made: Project, first: list[Any]) -> Iterator[Project]:
    """The same collection. Its configuration and its commands model are restored after a test."""
    commands = (made.folder / "models/c/c_commands.sql").read_text()
    yield made
    made.configure(c={"+unique_key": ["k"]})
    made.write("models/c/c_commands.sql", commands)
    assert contents(made) == first, "a refused run must change nothing"


def refused(project: Project, *fragments: str, **variables: Any) -> None:
    """Check that a run fails and that its messages contain all fragments."""
    project.run("path:models/c", fails=True, **variables)
    said = "\n".join(project.messages)
    for fragment in fragments:
        assert fragment in said
    assert "\tat org." not in said


def commands(project: Project, relation: str, **arguments: str) -> None:
    """Rewrite the commands model. The arguments are Jinja."""
    given = {"relation": f"'{relation}'", "ts": "'ts'", "sequence_by": "['n']"} | arguments
    call = ", ".join(f"{name}={value}" for name, value in given.items())
    project.write("models/c/c_commands.sql", f"{{{{ trueup.commands({call}) }}}}")


@pytest.mark.long
def test_a_missing_unique_key_is_refused(project: Project) -> None:
    project.configure(c={})
    refused(project, "`unique_key` must be a non-empty list of key columns", "Got: nothing")


@pytest.mark.long
def test_each_key_column_must_be_a_column_of_the_log(project: Project) -> None:
    project.configure(c={"+unique_key": ["kk"]})
    refused(
        project,
        "`trueup.commands` in c_commands: each column of config `unique_key` must be a column of",
        "log_ts",
        "Got: kk",
    )


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        ({"ts": "'nope'"}, "[UNRESOLVED_COLUMN"),
        ({"ts": "'log_ts'", "delete_when": "'nope = 1'"}, "`nope` cannot be resolved"),
        ({"ts": "'log_ts +'"}, "[PARSE_SYNTAX_ERROR]"),
        ({"ts": "'log_ts'", "delete_when": "'sum(log_ts) > 1'"}, "Got: ["),
    ],
)
def test_arguments_that_spark_cannot_read_are_refused_in_three_lines(
    project: Project, arguments: dict[str, str], got: str
) -> None:
    given = {"sequence_by": "['log_order']", "columns": "['v']"} | arguments
    commands(project, "bad_input.c_log", **given)
    refused(project, "The arguments of `trueup.commands` must be SQL that Spark can read", got)
    (said,) = [each for each in project.messages if "must be SQL that Spark can read" in each]
    assert said.splitlines()[-1].endswith("Correct the argument that has it. The view is not made.")
    assert len(said.splitlines()) == 4


@pytest.mark.long_cases
@pytest.mark.parametrize(
    ("argument", "remedy"),
    [
        ("error", "case when <the value is bad> then '<what is wrong>' end"),
        ("error_key", "case when <the key is bad> then concat('x', <its bytes in hex>) end"),
    ],
)
def test_a_condition_is_refused_as_the_text_of_an_error(
    project: Project, argument: str, remedy: str
) -> None:
    given = {"ts": "'log_ts'", "sequence_by": "['log_order']", "columns": "['v']"}
    commands(project, "bad_input.c_log", **given, **{argument: "'v is null'"})
    refused(
        project,
        f"`trueup.commands` argument `{argument}` in c_commands must be a text, null for a good ",
        "Got: the condition v is null, with which every command would be an error",
        remedy,
    )


def test_an_argument_that_the_macro_does_not_have_is_refused(project: Project) -> None:
    commands(project, "bad_input.c_log", sequnce_by="['log_order']")
    refused(project, "Each argument of `trueup.commands` must be one that", "Got: sequnce_by")


def test_a_log_that_is_missing_is_named(project: Project) -> None:
    commands(project, "bad_input.nope")
    refused(project, "Each table that the model of the commands reads must exist", "`nope`")


@pytest.mark.long
def test_the_key_must_equal_the_key_of_the_changelog(
    new_project: Callable[[str], Project],
) -> None:
    project = new_project("rekeyed")
    project.add_collection("c", [*KEY, Column("v", "string")], [Column("w", "string")])
    project.append("c", [Command(1, (1,), ("a", "b"), ("first",))])
    project.run()
    model = project.folder / "models/c/c_commands.sql"
    model.write_text(model.read_text().replace('columns=["w"], ', ""))
    project.append("c", [Command(2, (1,), ("a", "c"), ("second",))])
    for key in (["k"], ["v", "k"], ["k", "v", "w"]):
        project.configure(c={"+unique_key": key})
        refused(project, "the key that", "was made with: `k`, `v`", "trueup_rebase")


def test_an_input_upper_of_type_double_is_refused(project: Project) -> None:
    project.configure(
        c={"+unique_key": ["k"], "+meta": {"trueup": {"input_upper": "log_upper / 2"}}}
    )
    refused(project, "Option `input_upper` must be an integer or a timestamp", "of type double")


@pytest.mark.long
def test_a_column_without_a_type_is_refused_before_the_tables_have_it(made: Project) -> None:
    """Iceberg takes such a column. After that no run could write to the tables."""
    made.add_collection("typed", KEY, VALUE)
    made.append("typed", [Command(1, (1,), ("a",), ("first",))])
    made.run("models/typed")
    made.append("typed", [Command(2, (1,), ("a",), ("second",))])
    model = "models/typed/typed_commands.sql"
    for gift, says in (("null", "Got: gift void"), ("cast(null as string)", None)):
        relation = f"'(select *, {gift} as gift from bad_input.typed_log)'"
        arguments = "ts='log_ts', sequence_by=['log_order'], columns=['v', 'gift']"
        made.write(model, f"{{{{ trueup.commands({relation}, {arguments}) }}}}")
        made.run("models/typed", fails=says is not None)
        assert (says or "") in "\n".join(made.messages)
        columns = {row[0] for row in made.sql("describe {}.typed_changelog")}
        assert ("gift" in columns) is (says is None)
    assert made.sql("select k, v, gift from {}.typed") == [("a", "second", None)]


def test_an_option_beside_meta_is_refused(project: Project) -> None:
    project.configure(c={"+unique_key": ["k"], "+late": "correct"})
    refused(
        project,
        "Option `late` of c_commands must be in `meta.trueup`",
        "Move it: meta: {trueup: {late: ...}}.",
    )


def test_an_unknown_option_is_refused_with_the_list_of_options(project: Project) -> None:
    project.configure(c={"+unique_key": ["k"], "+meta": {"trueup": {"lat": "drop"}}})
    refused(project, "must be one of as_of, compare, eager,", "Got: lat")


@pytest.mark.long
def test_an_unknown_value_of_an_option_is_refused(project: Project) -> None:
    project.configure(c={"+unique_key": ["k"], "+meta": {"trueup": {"late": "never"}}})
    refused(project, "Option `late`", "must be one of drop", "Got: never")


@pytest.mark.long
def test_the_batch_size_must_be_a_positive_integer(project: Project) -> None:
    project.configure(
        c={"+unique_key": ["k"], "+meta": {"trueup": {"max_commands_per_batch": True}}}
    )
    refused(project, "Option `max_commands_per_batch`", "positive integer", "Got: True")


def test_a_column_whose_name_begins_with_a_reserved_prefix_is_refused(project: Project) -> None:
    project.sql("create or replace table {}.own as select 'a' k, 1 n, 2L ts, 'x' _diff_reason")
    commands(project, "bad_input.own")
    refused(project, "begin with _diff", "Got: _diff_reason", "Rename it")


def test_a_column_cannot_change_its_type_from_string_to_int(project: Project) -> None:
    project.sql("create or replace table {}.other as select 'a' k, 1L n, 2L ts, 3 v, 'x' w")
    commands(project, "bad_input.other", columns="['v', 'w']")
    refused(project, "must be of the type that it has in", "v, which was string and is int")


@pytest.mark.long
def test_the_order_of_the_columns_may_change(new_project: Callable[[str], Project]) -> None:
    project = new_project("reordered")
    project.add_collection("c", KEY, [Column("v", "string"), Column("w", "string")])
    project.append("c", [Command(1, (1,), ("a",), ("v1", "w1"))])
    project.run()
    model = project.folder / "models/c/c_commands.sql"
    model.write_text(model.read_text().replace('["v", "w"]', '["w", "v"]'))
    project.configure()
    project.append("c", [Command(2, (1,), ("b",), ("v2", "w2"))])
    project.run()
    assert multiset(project.rows("c")) == multiset([("a", "v1", "w1"), ("b", "v2", "w2")])


@pytest.mark.long
def test_the_var_trueup_until_must_be_an_integer(project: Project) -> None:
    refused(project, "Var `trueup_until` must be an integer", "Got: 1.5", until=1.5)


@pytest.mark.long
def test_the_var_trueup_read_only_must_be_true_or_false(project: Project) -> None:
    project.append("c", [Command(2, (1,), ("b",), ("second",))])
    refused(project, "Var `trueup_read_only` must be true or false", read_only="yes")
    project.sql("delete from {}.c_log where log_ts = 2")
    project.sql("delete from {}.c_batch")


def test_a_null_tick_is_refused(project: Project) -> None:
    project.sql("create or replace table {}.nulls as select 'a' k, 1L n, cast(null as bigint) ts")
    commands(project, "bad_input.nulls")
    refused(project, "The tick (`ts`)", "must be not null for every command", "Got: 1 commands")


@pytest.mark.parametrize("kind", ["'7'", "1.5"])
def test_a_tick_must_be_an_integer_or_a_timestamp(project: Project, kind: str) -> None:
    project.sql(f"create or replace table {{}}.ticks as select 'a' k, 1L n, {kind} ts")
    commands(project, "bad_input.ticks")
    refused(project, "argument `ts` must be an integer or a timestamp", "Got: ts of type")


@pytest.mark.long
def test_a_column_of_type_map_is_refused(project: Project) -> None:
    project.sql("create or replace table {}.maps as select 'a' k, 1 n, 2L ts, map('x', 1) m")
    commands(project, "bad_input.maps")
    refused(project, "of a type that can be compared", "Got: m map<string,int>", "to_json")


@pytest.mark.long
def test_a_collection_without_its_state_model_is_refused(project: Project) -> None:
    state = project.folder / "models/c/c_state.sql"
    text = state.read_text()
    errors, view = project.folder / "models/c/c_errors.sql", project.folder / "models/c/c.sql"
    kept = {path: path.read_text() for path in (errors, view)}
    for path in (state, errors, view):
        path.unlink()
    project.configure()
    refused(
        project, "The collection `c` must be complete: c_corrections needs the model c_state", "Add"
    )
    for path, content in {state: text, **kept}.items():
        path.write_text(content)


@pytest.mark.long
def test_a_macro_in_the_wrong_model_is_refused(project: Project) -> None:
    project.write("models/c/other.sql", "{{ trueup.batch('c') }}")
    refused(project, "`trueup.batch('c')` must be called from the model c_batch", "Got: other")
    (project.folder / "models/c/other.sql").unlink()


@pytest.mark.long
@pytest.mark.iceberg_only
def test_a_table_format_without_merge_is_refused(project: Project) -> None:
    settings = {"+meta": {"trueup": {"verify": "never"}}, "+file_format": "parquet"}
    project.configure(c={"+unique_key": ["k"], **settings})
    project.append("c", [Command(2, (1,), ("b",), ("second",))])
    refused(project, "a table format with MERGE: iceberg, delta", "Got: parquet")
    project.sql("delete from {}.c_log where log_ts = 2")


def test_a_full_refresh_of_the_changelog_is_refused(project: Project) -> None:
    project.run("c_changelog", "--full-refresh", fails=True)
    said = "\n".join(project.messages)
    assert "Var `trueup_rebase` must be true for --full-refresh" in said
    assert "the only copy of its history" in said


@pytest.mark.long
def test_a_rebase_of_the_changelog_alone_is_refused(project: Project) -> None:
    project.run("c_changelog", "--full-refresh", fails=True, rebase=True)
    assert "a selection without c_commands" in "\n".join(project.messages)


@pytest.mark.long
def test_a_read_only_rebase_is_refused(project: Project) -> None:
    project.run("path:models/c", "--full-refresh", fails=True, rebase=True, read_only=True)
    assert "A rebase must be a run that writes" in "\n".join(project.messages)


@pytest.mark.long
def test_the_changelog_cannot_run_before_the_batch(new_project: Callable[[str], Project]) -> None:
    project = new_project("too_early")
    project.add_collection("c", KEY, VALUE)
    project.run("c_changelog", fails=True)
    assert "c_changelog must be run after c_batch has made" in "\n".join(project.messages)


@pytest.mark.long
def test_a_changelog_that_lost_batches_is_refused(project: Project) -> None:
    kept = project.versions("c_changelog")[0]
    project.append("c", [Command(2, (1,), ("b",), ("second",))])
    project.run()
    project.restore({"c_changelog": kept})
    project.run(fails=True)
    said = "\n".join(project.messages)
    assert "The changelog of `c` must be at or past batch 2, which its state has applied" in said
    assert "Got: a changelog that ends with batch 1" in said
    project.sql("delete from {}.c_log where log_ts = 2")
    project.run("c_state", "--full-refresh")
    project.sql("delete from {}.c_batch")
