"""How the models of a collection find each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import ROLES, in_model, models, node, refused


@pytest.mark.parametrize("role", ROLES)
def test_a_macro_accepts_a_call_from_the_model_of_its_role(role: str) -> None:
    in_model(f"files_{role}")._require_role(role, "files")


def test_the_model_of_the_collection_itself_has_no_role_in_its_name() -> None:
    in_model("files")._require_role("collection", "files")


def test_a_table_that_dbt_would_not_find_again_is_refused() -> None:
    """dbt-spark looks for the table in lower case, and a catalog may keep the capital letters."""
    trueup = in_model("Orders_batch", graph=models("Orders"))
    must, got, next_step = refused(trueup.batch, "Orders")
    assert must.startswith("The name of the table of Orders_batch must be in lower case")
    assert got == "Got: Orders_batch"
    assert "`alias`" in next_step


def test_a_select_that_is_no_table_or_view_is_refused() -> None:
    graph: dict[str, Any] = {**models("orders"), "model.shop.orders_desired": {}}
    del graph["model.shop.orders_commands"]
    graph["model.shop.orders_desired"] = {"config": {"materialized": "ephemeral", "meta": None}}
    must, got, _ = refused(in_model("orders_corrections", graph=graph).corrections, "orders")
    assert must.startswith("The model orders_desired must be a view or a table")
    assert got == "Got: ephemeral"


@pytest.mark.parametrize(
    ("role", "model", "expected"),
    [
        ("batch", "files_state", "files_batch"),
        ("batch", "files", "files_batch"),
        ("batch", "orders_batch", "files_batch"),
        ("batch", "files_batch_2", "files_batch"),
        ("batch", "FILES_BATCH", "files_batch"),
        ("collection", "files_state", "files"),
        ("collection", "files_collection", "files"),
    ],
)
def test_a_macro_called_from_another_model_is_refused(role: str, model: str, expected: str) -> None:
    must, got, _ = refused(in_model(model)._require_role, role, "files")

    assert must == f"`trueup.{role}('files')` must be called from the model {expected}."
    assert got == f"Got: {model}"


@pytest.mark.parametrize("collection", ["", "  ", None, 7, ["files"]])
def test_a_collection_without_a_name_is_refused(collection: object) -> None:
    must, got, _ = refused(in_model("files_batch")._require_role, "batch", collection)

    assert must == "`trueup.batch` argument `collection` must be the name of a collection."
    assert got == f"Got: {collection}"


@pytest.mark.parametrize("execute", [True, False])
@pytest.mark.parametrize("role", [*ROLES[1:], "collection"])
def test_a_call_from_the_wrong_model_is_refused_even_while_dbt_parses(
    role: str,
    execute: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    trueup = in_model("other", execute=execute)
    model = "files" if role == "collection" else f"files_{role}"

    must, got, _ = refused(getattr(trueup, role), "files")
    assert must == f"`trueup.{role}('files')` must be called from the model {model}."
    assert got == "Got: other"


def test_a_sibling_is_found_by_its_alias_schema_and_database() -> None:
    moved = node("files_state", alias="current", schema="private", database="hidden")
    trueup = in_model("files_batch", graph=models() | {"model.shop.files_state": moved})

    assert str(trueup._sibling("files", "state")) == "hidden.private.current"


def test_a_sibling_must_be_in_the_same_package() -> None:
    other = {"model.other.files_state": node("files_state", schema="theirs")}
    trueup = in_model("files_batch", graph=other | models())

    assert str(trueup._sibling("files", "state")) == "lake.files_state"
    must, got, _ = refused(in_model("files_batch", graph=other)._sibling, "files", "state")
    assert "files_batch needs the model files_state" in must
    assert got == "Got: no enabled model of this name in the package shop"


def test_the_error_for_a_missing_sibling_names_the_file_to_add() -> None:
    known = models()
    del known["model.shop.files_state"]

    assert refused(in_model("files_batch", graph=known)._sibling, "files", "state") == (
        "The collection `files` must be complete: files_batch needs the model files_state.",
        "Got: no enabled model of this name in the package shop",
        "Add files_state.sql with {{ trueup.state('files') }}.",
    )


def test_a_sibling_is_a_placeholder_while_dbt_parses() -> None:
    trueup = in_model("files_batch", graph={}, execute=False)

    assert str(trueup._sibling("files", "state")) == "parsing.files_state"


@pytest.mark.parametrize("role", ROLES)
def test_a_model_derives_its_collection_from_its_own_name(role: str) -> None:
    assert in_model(f"my_{role}_files_{role}")._collection_of(role) == f"my_{role}_files"


OBJECTS = ("frontier", "input", "applied")


def session_names(package: str, collection: str) -> set[str]:
    trueup = in_model(f"{collection}_batch", package=package)
    return {trueup._session_name(collection, what) for what in OBJECTS}


def test_collections_in_one_session_have_different_session_objects() -> None:
    owners = [("shop", "files"), ("shop", "orders"), ("shop", "two words"), ("other", "files")]
    names = [session_names(package, collection) for package, collection in owners]

    assert len(set().union(*names)) == len(OBJECTS) * len(owners)


def test_underscores_in_names_do_not_mix_up_collections_of_two_packages() -> None:
    assert session_names("a", "b__c").isdisjoint(session_names("a__b", "c"))


def test_two_runs_that_may_share_a_session_have_different_session_objects() -> None:
    def names(method: str) -> set[str]:
        runs = [in_model("files_batch", invocation_id=run, method=method) for run in "ab"]
        return {trueup._session_name("files", "plan") for trueup in runs}

    assert len(names("thrift")) == 2
    assert len(names("session")) == 1


def test_a_model_drops_each_of_its_session_objects_once_if_their_names_are_of_one_run() -> None:
    assert statements_of_drops("session") == []
    assert statements_of_drops("thrift") == [
        "drop view if exists `steps`",
        "drop temporary variable if exists `settled`",
    ]


def statements_of_drops(method: str) -> list[str]:
    statements: list[str] = []
    trueup = in_model("files_batch", queries=statements.append, method=method)
    trueup._ensure_session_view("`steps`", "select 1")
    trueup._ensure_session_variable("`settled`", "bigint")
    statements.clear()
    trueup._ensure_no_session_objects()
    trueup._ensure_no_session_objects()
    return statements


def test_a_session_object_has_the_same_name_in_every_model_of_its_collection() -> None:
    names = {in_model(f"files_{role}")._session_name("files", "input") for role in ROLES}

    assert len(names) == 1
    assert names.pop().startswith("`trueup__files__")
