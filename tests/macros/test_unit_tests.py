"""In a unit test dbt knows neither configs nor other models: what works, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros.package import Package, in_model, one_line, refused

GIVEN: dict[str, Any] = {"relation": "__dbt__cte__log", "ts": "ts", "sequence_by": ["n"]}


def in_unit_test() -> Package:
    """The macros as a unit test sees them: without the config `unique_key`, without a graph."""
    trueup = in_model("the_last_command_wins", unique_key=None, resource_type="unit_test")
    trueup.context["graph"] = {}
    return trueup


@pytest.mark.parametrize("keys", ["path", ["path"], ["path", "`odd` name"]])
def test_the_commands_of_a_unit_test_are_those_of_the_model(keys: str | list[str]) -> None:
    unique_key = (keys,) if isinstance(keys, str) else tuple(keys)
    model = in_model("files_commands", unique_key=unique_key)
    assert one_line(in_unit_test().commands(**GIVEN, keys=keys)) == one_line(
        model.commands(**GIVEN)
    )


def test_a_unit_test_of_commands_without_keys_is_refused() -> None:
    must, got, then = refused(in_unit_test().commands, **GIVEN)
    assert must.startswith("The model of a unit test must be one by `trueup.commands` with")
    assert got == "Got: `trueup.commands` without `keys`"
    assert then == "Add the argument: keys=[...]. It may repeat the config `unique_key`."


@pytest.mark.parametrize("keys", [["path", "PATH"], [""], {"path": 1}])
def test_wrong_keys_are_refused_in_a_unit_test_too(keys: object) -> None:
    must, *_ = refused(in_unit_test().commands, **GIVEN, keys=keys)
    assert must.startswith("`trueup.commands` argument `keys` must be a non-empty list")


@pytest.mark.parametrize(
    "role", ["corrections", "batch", "changelog", "state", "collection", "errors", "live"]
)
def test_a_unit_test_of_another_model_of_a_collection_is_refused(role: str) -> None:
    must, got, then = refused(getattr(in_unit_test(), role), "files")
    assert "must be one by `trueup.commands`" in must
    assert got == f"Got: `trueup.{role}`"
    assert then == "Test this model with data tests, or test the commands of its collection."


@pytest.mark.parametrize("envelope", ["debezium", "wal2json"])
def test_a_unit_test_of_an_envelope_is_refused(envelope: str) -> None:
    given = {"relation": "__dbt__cte__log", "schema": {"path": "string", "blob": "string"}}
    _, got, _ = refused(getattr(in_unit_test(), envelope), **given, ts="ts", sequence_by=["n"])
    assert got == f"Got: `trueup.{envelope}`"


def test_a_unit_test_of_a_history_is_refused() -> None:
    _, got, _ = refused(in_unit_test().history, "files")
    assert got == "Got: `trueup.history`"
