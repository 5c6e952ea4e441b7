"""The SQL of the models that follow the commands, rendered without a warehouse."""

from __future__ import annotations

import re

import pytest

from tests.macros.package import (
    VALUES,
    Package,
    QueriedError,
    a_collection,
    in_model,
    models,
    one_line,
    refused,
)

HOSTILE_KEY = ["path", "a`b", "two words", "\U0001f98a"]
CALLS = {
    "files_corrections": "corrections",
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
    """Return all quoted names of a text."""
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


def test_the_stand_ins_raise_an_error_for_a_query() -> None:
    trueup = in_model("files_state")
    with pytest.raises(QueriedError):
        trueup._get_tail("lake.files_changelog", "lake.files_state")
    with pytest.raises(QueriedError):
        trueup._ensure_table("lake.files_state", "select 1")


@each_model
def test_the_sql_quotes_only_key_columns_and_names_of_trueup(model: str) -> None:
    found = names(render(model, in_model(model, unique_key=HOSTILE_KEY)))

    ours = {name for name in found if name.startswith(("trueup__files__", "_"))}
    assert found - ours <= {*HOSTILE_KEY, "first_offset", "next_offset"}


@each_model
def test_no_value_column_is_named_in_the_sql(model: str) -> None:
    words = set(re.findall(r"\w+", render(model)))

    assert words.isdisjoint(VALUES)


@pytest.mark.parametrize(
    "model", ["files_corrections", "files_batch", "files_state", "files_errors"]
)
def test_every_column_of_the_key_is_in_the_sql(model: str) -> None:
    assert set(HOSTILE_KEY) <= names(render(model, in_model(model, unique_key=HOSTILE_KEY)))


@each_model
def test_the_sql_does_not_depend_on_as_of_or_trueup_until(model: str) -> None:
    first = render(model)
    later = render(model, in_model(model, options={"as_of": 7}, variables={"trueup_until": 9}))

    assert first == later


@each_model
def test_the_comparisons_of_keys_are_null_safe(model: str) -> None:
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
        ("files_corrections", "trueup_corrections"),
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


def test_the_collection_shows_rows_without_the_columns_of_trueup() -> None:
    sql = render("files")

    assert "where _kind = 'row'" in sql
    state = {"_error", "_error_key", "_ts", "_kind", "_seq", "_upper"}
    assert set(re.findall(r"_\w+", sql.partition("from")[0])) == state


@pytest.mark.parametrize("model", ["files_batch", "files_state", "files_errors"])
def test_a_model_without_a_key_is_refused(model: str) -> None:
    must, got, _ = refused(render, model, in_model(model, unique_key=None))
    assert must == (
        f"`trueup.{CALLS[model]}` in {model}: config `unique_key` must be a non-empty list of key"
        " columns."
    )
    assert got == "Got: nothing"


@each_model
def test_a_model_with_a_bad_option_is_refused(model: str) -> None:
    for options, subject, bad in (
        ({"lat": "drop"}, "Each option in", "lat"),
        ({"late": "never"}, "Option `late` in", "never"),
    ):
        must, got, _ = refused(render, model, in_model(model, options=options))
        assert must.startswith(f"{subject} `meta.trueup` of {model} must be one of ")
        assert got == f"Got: {bad}"


def test_inline_errors_stand_between_the_key_and_the_value_columns() -> None:
    trueup = in_model("files", unique_key=["a", "b"], options={"inline_errors": "what is wrong"})
    sql = one_line(render("files", trueup))

    assert sql.startswith(
        "/* trueup: create */ select `a`, `b`, _error as `what is wrong`,"
        " * except (`a`, `b`, `_error`"
    )
    assert sql.endswith("where _kind <> 'progress' and _error_key is null")


def test_a_batch_puts_the_ctes_of_its_parts_one_after_the_other() -> None:
    trueup = in_model("files_batch")
    identity = ["path", "_error_key"]
    options = trueup._options()
    parts = (
        trueup._folded_ticks_ctes(identity, trueup._sequence_terms(options)),
        trueup._taken_steps_ctes(identity, is_snapshot=False),
        trueup._updates_ctes(identity),
        trueup._progress_ctes(a_collection(trueup)),
    )

    assert ",\n\n".join(str(part) for part in parts) in render("files_batch", trueup)


def test_the_python_aggregate_folds_only_the_open_ticks_of_an_eager_batch() -> None:
    def batch(**options: object) -> str:
        return one_line(render("files_batch", in_model("files_batch", options=options)))

    by_udaf = batch(eager=True)
    open_from = f"_ts >= {in_model('files_batch')._session_name('files', 'plan')}.upper"

    arguments = "_step_key, _value_bytes, _ts, _command_place, _is_emitted"
    assert f"select trueup_provisional( {arguments} )" in by_udaf
    assert f"from ranked where _step = 2 and {open_from}" in by_udaf
    assert by_udaf == batch(eager=True, fold="udaf")
    assert "trueup_provisional" not in batch(eager=True, fold="native")
    assert batch() == batch(fold="native")


TERMS = {
    "hash": ["_order", "_hash", "_value"],
    "fail": ["_order", "_hash", "_value"],
    "prefer_delete": ["_order", "_is_preferred", "_hash", "_value"],
    "prefer_upsert": ["_order", "_is_preferred", "_hash", "_value"],
}


@pytest.mark.parametrize(("ties", "terms"), TERMS.items())
def test_commands_of_a_tick_are_sorted_by_order_preference_and_content(
    ties: str, terms: list[str]
) -> None:
    trueup = in_model("files_batch", options={"ties": ties})
    sql = one_line(render("files_batch", trueup))

    assert trueup._sequence_terms(trueup._options()) == terms
    assert f"order by {' desc, '.join(terms)} desc ) as _command_rank" in sql


STOPS = {
    "ties": (
        "when _step_counts.ties > 0 then raise_error(concat( 'ties: '",
        "array_distinct(array(_step_counts.first_tie, _step_counts.last_tie))",
    ),
    "errors": (
        "when _step_counts.error_inserts > 0 then raise_error(concat( 'errors: '",
        "_step_counts.error_sample",
    ),
}


@pytest.mark.parametrize(("option", "parts"), STOPS.items())
def test_the_option_value_fail_stops_staging_and_shows_samples(
    option: str, parts: tuple[str, str]
) -> None:
    kept = one_line(render("files_batch"))
    sql = one_line(render("files_batch", in_model("files_batch", options={option: "fail"})))

    for part in parts:
        assert part in sql
    assert parts[0] not in kept
    assert "nothing is staged" in sql.partition(parts[0])[2]


def test_pairs_of_ticks_with_inverted_orders_are_counted() -> None:
    sql = one_line(render("files_batch"))

    assert "lag(_order) over key_in_sequence as _previous_order" in sql
    assert "'order_pairs', count(_previous_order)," in sql
    assert "'order_inversions', count_if(_order < _previous_order)," in sql


def test_the_statistics_and_their_types_have_the_same_names() -> None:
    sql = one_line(render("files_batch"))
    struct = sql.partition("else 'progress' end as _kind, named_struct(")[2]
    names = re.findall(r"'(\w+)', ", struct.partition(" as _statistics from counts")[0])

    fields = [field["name"] for field in in_model("files_batch")._statistics_fields()]
    assert fields == [*names, "seal"]


def test_the_model_of_a_state_has_the_select_of_the_net_updates() -> None:
    trueup = in_model("files_state")

    assert render("files_state", trueup) == trueup._net_updates_select(
        changelog="lake.files_changelog",
        applied=trueup._session_name("files", "applied"),
        identity=["path", "_error_key"],
    )


def test_a_batch_depends_on_the_commands_and_reads_the_state_by_name() -> None:
    sql = render("files_batch")

    assert "-- depends_on: lake.files_commands" in sql
    assert "from lake.files_state where _kind = 'progress'" in one_line(sql)


def test_a_batch_without_the_model_of_its_state_is_refused() -> None:
    graph = {name: one for name, one in models().items() if name != "model.shop.files_state"}
    must, _, next_step = refused(render, "files_batch", in_model("files_batch", graph=graph))

    assert "files_batch needs the model files_state" in must
    assert "{{ trueup.state('files') }}" in next_step
