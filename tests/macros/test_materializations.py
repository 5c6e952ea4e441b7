"""The errors and the results of the materializations, without a warehouse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import Package, QueriedError, in_model, models, refused

OURS = dict.fromkeys(("_ts", "_order", "_op", "_error", "_error_key"), "string")
LOG = {"path": "string", "mode": "string"}
REBASE: dict[str, Any] = {"variables": {"trueup_rebase": True}, "full_refresh": True}
WHOLE = ("files_commands", "files_batch", "files_changelog", "files_state")
COMMAND = (
    "dbt run --full-refresh -s files_commands files_corrections files_batch files_changelog"
    " files_state --vars '{trueup_rebase: true}'."
)
STAGED = {
    "seq": 3,
    "last_seq": 2,
    "upper": 9,
    "batch_id": "1b5f",
    "updates_staged": 4,
    "is_appended": False,
    "mismatch": None,
}


def run(trueup: Package) -> list[tuple[str, str]]:
    """Run the materialization of a model. Return its messages to dbt, without grants and docs."""
    role = trueup.context["model"].name.rpartition("_")[2]
    result = getattr(trueup, f"materialization_trueup_{role}_spark")()
    assert [str(relation) for relation in result["relations"]] == [str(trueup.context["this"])]
    told: list[tuple[str, str]] = trueup.context["told"]
    relation = str(trueup.context["this"])
    assert told[-2:] == [("grants", relation), ("docs", relation)]
    return told[:-2]


def queries(trueup: Package) -> None:
    with pytest.raises(QueriedError):
        run(trueup)


def changelog(**given: Any) -> Package:
    """Return the macros of a changelog whose tables exist and whose batch 3 is staged."""
    row = {**STAGED, **given.pop("row", {})}
    tables = ["lake.files_batch", "lake.files_changelog"]
    return in_model("files_changelog", tables=tables, row=row, **given)


def state(applied_seq: int | None, last_seq: int) -> Package:
    tables = ["lake.files_changelog", "lake.files_state"]
    row = {"applied_seq": applied_seq, "last_seq": last_seq}
    return in_model("files_state", tables=tables, row=row)


@pytest.mark.parametrize("bad", [{"_TS2": "int"}, {"blob": "variant"}, {"_prior": "int"}])
def test_the_view_of_the_commands_refuses_a_bad_column_of_the_log(
    bad: dict[str, str],
) -> None:
    must, got, _ = refused(run, in_model("files_commands", columns=LOG | bad | OURS))

    assert must.startswith("`trueup.commands` in files_commands: a key or value column must be ")
    assert next(iter(bad)) in got


def test_the_view_of_the_commands_accepts_good_columns_of_the_log() -> None:
    queries(in_model("files_commands", columns=LOG | OURS))


def test_a_full_refresh_of_the_changelog_without_trueup_rebase_is_refused() -> None:
    must, got, next_step = refused(run, in_model("files_changelog", full_refresh=True))

    assert must == (
        "Var `trueup_rebase` must be true for --full-refresh of lake.files_changelog,"
        " the only copy of its history."
    )
    assert got == "Got: false"
    assert "dbt run --full-refresh -s files_state." in next_step
    assert next_step.endswith(COMMAND)


@pytest.mark.parametrize("role", ["batch", "changelog"])
def test_a_rebase_of_all_four_models_is_accepted(role: str) -> None:
    queries(in_model(f"files_{role}", selected=WHOLE, **REBASE))


@pytest.mark.parametrize("role", ["batch", "changelog"])
@pytest.mark.parametrize("missing", WHOLE)
def test_a_rebase_that_leaves_out_one_of_the_four_models_is_refused(
    role: str, missing: str
) -> None:
    selected = [name for name in WHOLE if name != missing]
    trueup = in_model(f"files_{role}", selected=selected, **REBASE)

    assert refused(run, trueup) == (
        "A rebase must be a run of commands, batch, changelog and state.",
        f"Got: a selection without {missing}",
        f"Run: {COMMAND}",
    )


@pytest.mark.parametrize("role", ["batch", "changelog", "state"])
def test_a_rebase_of_a_model_that_is_never_refreshed_is_refused(role: str) -> None:
    """Not taken for an ordinary run, if it is the model itself that is never refreshed."""
    graph: dict[str, Any] = {**models()}
    graph[f"model.shop.files_{role}"] = {"config": {"full_refresh": False, "meta": None}}
    trueup = in_model("files_batch", graph=graph, selected=WHOLE, **REBASE)
    trueup.context["should_full_refresh"] = lambda: role != "batch"

    must, got, next_step = refused(run, trueup)
    assert must.startswith(f"The config `full_refresh` of files_{role} must be true or left out")
    assert got == "Got: false"
    assert next_step.startswith("Nothing is dropped.")


@pytest.mark.parametrize("role", ["batch", "changelog"])
def test_a_rebase_that_is_read_only_is_refused(role: str) -> None:
    variables = {"trueup_rebase": True, "trueup_read_only": True}
    trueup = in_model(f"files_{role}", variables=variables, full_refresh=True)

    must, got, _ = refused(run, trueup)

    assert must == "A rebase must be a run that writes."
    assert got == "Got: var trueup_read_only: true"


@pytest.mark.parametrize("variables", [{}, {"trueup_rebase": False}])
def test_without_trueup_rebase_a_full_refresh_of_the_batch_is_not_a_rebase(
    variables: dict[str, object],
) -> None:
    queries(in_model("files_batch", variables=variables, full_refresh=True, selected=()))


def test_trueup_rebase_without_a_full_refresh_is_not_a_rebase() -> None:
    variables = {"trueup_rebase": True}
    queries(in_model("files_batch", variables=variables, selected=()))
    queries(in_model("files_changelog", variables=variables, selected=()))


def test_a_full_refresh_of_the_state_needs_no_var() -> None:
    queries(in_model("files_state", tables=["lake.files_changelog"], full_refresh=True))


@pytest.mark.parametrize(
    ("variable", "model"),
    [("trueup_rebase", "files_batch"), ("trueup_rebase", "files_changelog")],
)
def test_in_a_full_refresh_trueup_rebase_must_be_true_or_false(variable: str, model: str) -> None:
    trueup = in_model(model, variables={variable: "yes"}, full_refresh=True)

    assert refused(run, trueup)[0] == f"Var `{variable}` must be true or false."


def test_in_an_append_trueup_read_only_must_be_true_or_false() -> None:
    trueup = changelog(variables={"trueup_read_only": "yes"})

    assert refused(run, trueup)[0] == "Var `trueup_read_only` must be true or false."


@pytest.mark.parametrize(("model", "missing"), [("changelog", "batch"), ("state", "changelog")])
def test_the_error_for_a_missing_source_table_says_what_to_run(model: str, missing: str) -> None:
    assert refused(run, in_model(f"files_{model}", tables=())) == (
        f"files_{model} must be run after files_batch has made lake.files_{missing}.",
        "Got: no such table",
        "Run: dbt run -s files_batch+",
    )


@pytest.mark.parametrize("row", [{"seq": None}, {"is_appended": True}])
def test_a_changelog_reports_that_there_is_nothing_to_append(row: dict[str, object]) -> None:
    assert run(changelog(row=row)) == [("no-op", "nothing to append")]


def test_a_read_only_changelog_reports_the_batch_that_stays_staged() -> None:
    told = run(changelog(variables={"trueup_read_only": True}))

    assert told == [("no-op", "read only: batch 3 is staged, not appended")]


def test_a_changelog_with_a_staged_batch_goes_on_to_append() -> None:
    queries(changelog())


def test_a_state_reports_that_it_has_applied_every_batch() -> None:
    assert run(state(applied_seq=3, last_seq=3)) == [
        ("no-op", "up to date at batch 3"),
    ]


def test_a_state_ahead_of_its_changelog_is_refused() -> None:
    must, got, _ = refused(run, state(applied_seq=3, last_seq=2))

    assert must == (
        "The changelog of `files` must be at or past batch 3, which its state has applied."
    )
    assert got == "Got: a changelog that ends with batch 2"


def test_a_state_with_another_key_than_its_changelog_is_refused() -> None:
    trueup = in_model(
        "files_state",
        unique_key=["mode"],
        row={"applied_seq": 3, "last_seq": 3},
        tables=["lake.files_changelog", "lake.files_state"],
    )
    must, got, _ = refused(run, trueup)

    assert must.endswith("must be the key that lake.files_changelog was made with: `path`.")
    assert got == "Got: `mode`"


def test_a_state_without_its_progress_row_is_refused() -> None:
    assert refused(run, state(applied_seq=None, last_seq=2))[1] == "Got: none"


def test_a_result_message_is_stored_as_the_result_of_the_model() -> None:
    trueup = in_model("files_state")
    trueup._report_result("applied batch 3")

    assert trueup.context["told"] == [("report", "applied batch 3")]
