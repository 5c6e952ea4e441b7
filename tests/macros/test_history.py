"""What `trueup.history` refuses before it asks the warehouse."""

from __future__ import annotations

import pytest

from tests.macros.package import in_model, models, refused


@pytest.mark.parametrize("by", ["ticks", "Tick", None, ""])
def test_the_argument_by_must_name_a_kind_of_time(by: object) -> None:
    must, got, _ = refused(in_model("files_history").history, "files", None, by)
    assert must == "`trueup.history` argument `by` must be one of tick, commit_time."
    assert got == f"Got: {by}"


@pytest.mark.parametrize("track", [[], "size", [1]])
def test_the_argument_track_must_be_a_list_of_columns(track: object) -> None:
    must, got, _ = refused(in_model("files_history").history, "files", track)
    assert must.startswith("`trueup.history` argument `track` must be a non-empty list of")
    assert got == f"Got: {track}"


def test_the_collection_must_exist() -> None:
    trueup = in_model("files_history", graph=models())
    must, got, _ = refused(trueup.history, "orders")
    assert must == "`trueup.history` argument `collection` must be the name of a collection."
    assert got == "Got: orders"
    # While dbt parses, it does not know the other models yet.
    assert in_model("files_history", graph={}, execute=False).history("orders")
