"""The first lines of a report."""

from __future__ import annotations

from dataclasses import replace

from dbt_trueup.report.data import Collection, Data, describe_unreadable
from dbt_trueup.report.page import to_document
from dbt_trueup.report.summary import summarize
from tests.report.sample import collection, health, sample


def well(name: str) -> Collection:
    """Invent a collection that is well."""
    return collection(name, key=["id"], rows=3)


def texts(*collections: Collection, unreadable: tuple[str, ...] = ()) -> list[tuple[bool, str]]:
    """Return the lines of a summary."""
    return [(line.is_good, line.text) for line in summarize(collections, unreadable)]


def test_all_is_well() -> None:
    assert texts(well("a"), well("b")) == [
        (True, "2 collections: all of the log is read."),
        (True, "No store differs from its certificate."),
        (True, "No open errors."),
    ]


def test_the_sample_has_something_to_say_in_every_line() -> None:
    assert texts(*sample().collections) == [
        (False, "Not run yet: shipments."),
        (False, "The log has rows that no batch has read: orders (5,310 rows)."),
        (
            False,
            (
                "Rows differ from the certificate: payments (2 buckets and the history)."
                " Somebody has edited a store. The next run repairs it."
            ),
        ),
        (False, "74 open errors: orders 73, payments 1."),
    ]


def test_the_worst_collections_are_named() -> None:
    many = [
        collection(
            name, key=["id"], error_kinds={"value": number}, is_behind=True, rows_waiting=None
        )
        for name, number in (("a", 1), ("b", 5), ("c", 2), ("d", 3), ("e", 4))
    ]
    lines = dict(enumerate(text for _, text in texts(*many)))
    assert lines[0] == (
        "The log has rows that no batch has read: a (unknown), b (unknown), c (unknown), 2 others."
    )
    assert lines[2] == "15 open errors: b 5, e 4, d 3, 2 others."


def test_a_warning_is_a_line_of_its_own() -> None:
    one = well("a")
    doubtful = replace(one, health=health(1, "warning", "repaired at 2026-11-24 12:00:00"))
    assert texts(doubtful)[-1] == (False, "a: repaired at 2026-11-24 12:00:00.")


def test_a_damaged_history_alone_is_said() -> None:
    line = texts(collection("a", key=["id"], is_history_right=False))[1]
    assert line[1].startswith("Rows differ from the certificate: a (the history).")


def test_a_log_that_nobody_can_see_is_not_called_read() -> None:
    line = texts(collection("a", key=["id"], is_behind=None))[0]
    assert line == (True, "No collection has a log whose snapshots trueup can see.")


def test_an_unreadable_collection_is_said_first_and_without_values() -> None:
    assert texts(well("a"), unreadable=("b", "c"))[0] == (
        False,
        "Not readable, and not counted below: b, c.",
    )
    error = "Runtime Error [CAST_INVALID_INPUT] The value 'secret' ..."
    assert "secret" not in describe_unreadable("b", error, show_values=False)
    assert "secret" in describe_unreadable("b", error, show_values=True)


def test_the_document_has_the_summary_and_the_figures() -> None:
    data: Data = sample()
    document = to_document(data)
    assert document["summary"] == [line.text for line in summarize(data.collections)]
    assert [one["name"] for one in document["collections"]] == [
        one.name for one in data.collections
    ]
