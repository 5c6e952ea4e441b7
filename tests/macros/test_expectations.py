"""The keys that Great Expectations checks itself, and the thresholds that are refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.macros.package import Relation, in_model, one_line, refused

TRUEUP = in_model("files")
TABLES = SimpleNamespace(rows=Relation.create(schema="lake", identifier="files"))


@pytest.mark.parametrize(
    ("key", "may_be_null", "is_plain"),
    [
        (["path"], False, True),
        (["path"], True, False),
        (["order no", "region"], True, True),
        (["a.b"], False, False),
        (["a", "b`c"], True, False),
    ],
)
def test_a_plain_key_has_plain_names_and_no_null_in_a_single_column(
    key: list[str], *, may_be_null: bool, is_plain: bool
) -> None:
    assert TRUEUP._is_plain_key(key, may_be_null) is is_plain


def test_a_key_that_is_not_plain_is_checked_by_a_query() -> None:
    not_null, unique = TRUEUP._expected_key_checks(TABLES, ["a.b"], may_be_null=False)

    assert one_line(not_null["query"]).endswith("where `a.b` is null")
    assert one_line(unique["query"]).endswith("group by `a.b` having count(*) > 1")
    (unique,) = TRUEUP._expected_key_checks(TABLES, ["k"], may_be_null=True)
    assert unique["name"] == "key_is_unique"


@pytest.mark.parametrize("max_errors", [-1, 1.5, "2", None])
def test_a_threshold_must_be_a_count(max_errors: object) -> None:
    assert refused(TRUEUP.expectations, "files", max_errors=max_errors) == (
        "`trueup.expectations` argument `max_errors` must be an integer, at least 0.",
        f"Got: {max_errors}",
        "Call it again with such a number, or leave the argument out.",
    )


@pytest.mark.parametrize(
    ("max_errors", "says"),
    [(0, "no open error"), (1, "at most 1 open error"), (2, "at most 2 open errors")],
)
def test_a_threshold_of_errors_has_its_noun_in_the_right_number(max_errors: int, says: str) -> None:
    tables = {"errors": Relation.create(schema="lake", identifier="files_errors")}
    (check,) = TRUEUP._expected_error_checks(tables, max_errors)
    assert check["says"] == f"files_errors has {says}"
