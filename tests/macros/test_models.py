"""The SQL of the models after the commands, rendered without a warehouse."""

from __future__ import annotations

import re

import pytest

from tests.macros.package import VALUES, Package, QueriedError, in_model, refused

HOSTILE_KEY = ["path", "a`b", "two words", "\U0001f98a"]
CALLS = {
    "files_batch": "batch",
    "files_changelog": "changelog",
    "files_state": "state",
    "files": "collection",
    "files_errors": "errors",
}
each_model = pytest.mark.parametrize("model", CALLS)


def render(model: str, trueup: Package | None = None) -> str:
    return str(getattr(trueup or in_model(model), CALLS[model])("files"))


def names(sql: str) -> set[str]:
    """Give all quoted names of a text."""
    return {name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)+)`", sql)}


@each_model
@pytest.mark.parametrize("execute", [True, False])
def test_no_model_queries_while_dbt_compiles(
    model: str,
    execute: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    assert render(model, in_model(model, execute=execute))


def test_the_commands_query_nothing_while_dbt_compiles() -> None:
    for execute in (True, False):
        trueup = in_model("files_commands", execute=execute)
        assert trueup.commands(relation="log", ts="tick", sequence_by=["line"])


def test_the_stand_ins_do_notice_a_query() -> None:
    trueup = in_model("files_state")
    with pytest.raises(QueriedError):
        trueup.get_position("lake.files_changelog", "lake.files_state")
    with pytest.raises(QueriedError):
        trueup._create_sibling("lake.files_state", "select 1")


@each_model
def test_only_the_key_and_our_own_names_are_quoted_in_the_sql(model: str) -> None:
    found = names(render(model, in_model(model, unique_key=HOSTILE_KEY)))

    ours = {name for name in found if name.startswith("trueup__files__")}
    assert found - ours <= {*HOSTILE_KEY, "_error_key"}


@each_model
def test_no_value_column_is_named_in_the_sql(model: str) -> None:
    words = set(re.findall(r"\w+", render(model)))

    assert words.isdisjoint(VALUES)


@pytest.mark.parametrize("model", ["files_batch", "files_state", "files_errors"])
def test_every_column_of_the_key_is_in_the_sql(model: str) -> None:
    assert set(HOSTILE_KEY) <= names(render(model, in_model(model, unique_key=HOSTILE_KEY)))


@each_model
def test_no_frontier_is_written_into_the_sql(model: str) -> None:
    first = render(model)
    later = render(model, in_model(model, options={"as_of": 7}, variables={"trueup_until": 9}))

    assert first == later


@each_model
def test_no_comparison_of_keys_loses_nulls(model: str) -> None:
    sql = render(model, in_model(model, unique_key=["key_column"]))

    assert not re.search(r"`key_column`\s*(=|<>|!=)|[^<>]=\s*\w+\.`key_column`", sql)


@each_model
def test_brackets_and_quotes_are_closed(model: str) -> None:
    sql = re.sub(r"--.*|'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`", "", render(model))

    assert sql.count("(") == sql.count(")")
    assert not set("'`{}") & set(sql)


@pytest.mark.parametrize(
    ("model", "materialized"),
    [
        ("files_batch", "trueup_batch"),
        ("files_changelog", "trueup_changelog"),
        ("files_state", "trueup_state"),
        ("files", "view"),
        ("files_errors", "view"),
    ],
)
def test_a_macro_sets_the_materialization_of_its_model(model: str, materialized: str) -> None:
    trueup = in_model(model)
    render(model, trueup)

    assert trueup.context["config"].set_by_model == {"materialized": materialized}


def test_the_collection_shows_rows_without_our_columns() -> None:
    sql = render("files")

    assert "where _kind = 'row'" in sql
    state = {"_error", "_error_key", "_ts", "_kind", "_seq", "_upper"}
    assert set(re.findall(r"_\w+", sql.partition("from")[0])) == state


@pytest.mark.parametrize("model", ["files_batch", "files_state", "files_errors"])
def test_a_model_without_a_key_is_refused(model: str) -> None:
    refused(render, model, in_model(model, unique_key=None))


@each_model
def test_a_model_with_a_bad_option_is_refused(model: str) -> None:
    for options in ({"lat": "drop"}, {"late": "never"}):
        refused(render, model, in_model(model, options=options))


def test_a_batch_collects_folds_emits_and_summarizes_in_this_sequence() -> None:
    trueup = in_model("files_batch")
    identity = ["path", "_error_key"]
    parts = (
        trueup.collect_steps(trueup._session_name("files", "input"), "lake.files_state", identity),
        trueup.fold_ticks(identity),
        trueup.emit_updates(identity),
        trueup.summarize_batch(
            trueup._session_name("files", "frontier"), "lake.files_state", identity
        ),
    )

    assert ",\n\n".join(str(part) for part in parts) in render("files_batch", trueup)


def test_a_state_is_the_consolidated_tail_of_its_changelog() -> None:
    trueup = in_model("files_state")

    assert render("files_state", trueup) == trueup.consolidate_tail(
        changelog="lake.files_changelog",
        applied=trueup._session_name("files", "applied"),
        identity=["path", "_error_key"],
    )


def test_a_batch_depends_on_the_commands_and_reads_the_state_by_name() -> None:
    sql = render("files_batch")

    assert "-- depends_on: lake.files_commands" in sql
    assert "from lake.files_state as persisted" in sql


def test_a_batch_without_its_state_is_refused() -> None:
    must, _, next_step = refused(render, "files_batch", in_model("files_batch", graph={}))

    assert "files_batch needs the model files_state" in must
    assert "{{ trueup.state('files') }}" in next_step
