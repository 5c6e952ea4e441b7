"""What may be adopted, and how the columns of a table become those of a collection."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros.package import (
    Relation,
    a_collection,
    column,
    in_model,
    models,
    one_line,
    refused,
)

TABLE = Relation(None, "lake", "files_before_trueup")
WELL = {"late": "correct", "log": "complete", "eager": False, "null_keys": "error"}
COLUMNS = [column("path", "string"), column("size", "double"), column("a`b", "string")]


def rows_of(*given: dict[str, str], null_keys: str = "error") -> str:
    """The select of the rows of a table with these columns."""
    trueup = in_model("files_corrections")
    return one_line(trueup._adopted_rows_select(TABLE, list(given), COLUMNS, ["path"], null_keys))


@pytest.mark.parametrize(
    ("option", "value", "must"),
    [("late", "drop", "correct"), ("log", "partial", "complete"), ("eager", True, "false")],
)
def test_an_option_that_cannot_find_the_differences_is_refused(
    option: str, value: object, must: str
) -> None:
    trueup = in_model("files_corrections")
    required, got, then = refused(
        trueup._require_may_adopt, {**WELL, option: value}, is_by_select=False
    )
    assert required == f"Option `{option}` of a collection that adopts a table must be {must}."
    assert got == f"Got: {str(value).lower()}"
    assert then.startswith("Set it in `meta: {trueup: {...}}`")
    trueup._require_may_adopt(WELL, is_by_select=False)
    assert (
        refused(trueup._require_may_adopt, WELL, is_by_select=True)[1]
        == "Got: a collection by a SELECT"
    )


@pytest.mark.parametrize("name", ["orders", "lake.shop.orders", 7, True, ["a.b"]])
def test_the_var_must_be_a_table_with_its_schema(name: object) -> None:
    trueup = in_model("files_batch", variables={"trueup_adopt": name})
    must, got, _ = refused(trueup._var, "trueup_adopt")
    assert must.startswith("Var `trueup_adopt` must be a table with its schema, such as")
    assert got == f"Got: {name}"


def test_without_the_var_nothing_is_asked() -> None:
    trueup = in_model("files_corrections", options={"late": "correct"})
    assert trueup._get_adopted_table(trueup._collection("corrections")) is None


def test_the_table_of_the_var_must_exist() -> None:
    trueup = in_model(
        "files_corrections",
        options={"late": "correct"},
        variables={"trueup_adopt": "shop.old_files"},
        tables=[],
    )
    must, got, then = refused(trueup._get_adopted_table, a_collection(trueup))
    assert must == "Var `trueup_adopt` must be a table that exists, with its schema."
    assert got == "Got: shop.old_files"
    assert "run `trueup adopt`, which finds the table" in then


def test_a_run_with_the_var_builds_no_second_collection_by_commands() -> None:
    trueup = in_model("files_corrections", graph=models() | models("orders"))
    must, got, then = refused(trueup._require_alone, "files")
    assert must == "A run with var `trueup_adopt` must be one of a single collection: files."
    assert got == "Got: one that also builds orders"
    assert then.startswith("Nothing is adopted. Run only this one: dbt run -s files_commands")
    # A collection by a select has no commands.
    selects = {id_: one for id_, one in models("orders").items() if not id_.endswith("_commands")}
    in_model("files_corrections", graph=models() | selects)._require_alone("files")


@pytest.mark.parametrize("is_adopted", [True, False])
def test_the_var_must_be_left_out_after_batches_of_the_log(*, is_adopted: bool) -> None:
    asked: list[str] = []

    def answer(sql: str) -> SimpleNamespace:
        asked.append(one_line(sql))
        return SimpleNamespace(rows=[[int(is_adopted)]])

    trueup = in_model("files_corrections", queries=answer)
    collection = a_collection(trueup)
    if is_adopted:
        trueup._require_adopted(collection)
    else:
        must, got, then = refused(trueup._require_adopted, collection)
        assert must.endswith("with var `trueup_adopt` must be one that has never run.")
        assert got == "Got: a changelog with batches of its log: lake.files_changelog"
        assert then.startswith("Leave out the var.")
    (sql,) = asked
    assert "from lake.files_changelog where _kind = 'progress' and _seq = 1" in sql
    assert sql.endswith("_statistics.definition = 'adopted'")


def test_the_operation_changes_nothing_in_a_dry_run() -> None:
    trueup = in_model("files_corrections", variables={"trueup_read_only": True})
    must, got, then = refused(trueup._require_written_adoption)
    assert must == "An adoption must be a run that writes."
    assert got == "Got: var trueup_read_only: true"
    assert then.startswith("Nothing is changed.")
    in_model("files_corrections")._require_written_adoption()


@pytest.mark.parametrize(
    ("table", "tables", "found"),
    [
        ("files", ["lake.files"], ("lake.files", "lake.files_before_trueup")),
        ("files", ["lake.files_before_trueup"], ("lake.files_before_trueup",) * 2),
        ("old", ["lake.old"], ("lake.old",) * 2),
        ("shop.old", ["shop.old", "lake.files"], ("shop.old",) * 2),
        ("files", [], "no table lake.files"),
        ("old", ["lake.files"], "no table lake.old"),
        (
            "files",
            ["lake.files", "lake.files_before_trueup"],
            "two: lake.files and lake.files_before_trueup",
        ),
    ],
)
def test_the_operation_finds_the_one_table_to_adopt(
    table: str, tables: list[str], found: tuple[str, str] | str
) -> None:
    trueup = in_model("files", tables=tables)
    if isinstance(found, tuple):
        place = trueup._get_table_to_adopt("files", table)
        assert (str(place["now"]), str(place["then"])) == found
        return
    must, got, then = refused(trueup._get_table_to_adopt, "files", table)
    assert must == "`trueup.adopt` argument `table` must be one table that exists."
    assert got == f"Got: {found}"
    assert then.startswith("Nothing is changed.")


def test_a_table_with_a_catalog_is_refused_even_if_it_exists() -> None:
    trueup = in_model("files")
    must, got, then = refused(trueup._get_table_to_adopt, "files", "spark_catalog.shop.old")
    assert must.endswith("must be a table of the session's catalog, with its schema alone.")
    assert got == "Got: spark_catalog.shop.old"
    assert "create table lake.old_copy as select * from spark_catalog.shop.old." in then


def test_columns_are_matched_by_name_in_any_case_and_cast_if_their_type_differs() -> None:
    sql = rows_of(column("PATH", "string"), column("size", "string"), column("extra", "int"))
    assert "coalesce(adopted.`PATH`) as `path`" in sql
    assert "try_cast(adopted.`size` as double) + cast(0 as double)" in sql
    assert "'a`b', cast(null as string)" in sql
    assert "extra" not in sql
    assert "`path` is null as _is_null_key" in sql


def test_null_keys_are_kept_if_they_are_values() -> None:
    assert "false as _is_null_key" in rows_of(column("path", "string"), null_keys="value")


def test_a_null_in_a_key_of_several_columns_is_an_ordinary_value() -> None:
    trueup = in_model("files_corrections")
    given = [column("path", "string"), column("size", "double")]
    sql = trueup._adopted_rows_select(TABLE, given, COLUMNS, ["path", "size"], "error")
    assert "false as _is_null_key" in one_line(sql)


def test_all_keys_are_compared_until_something_was_compared_after_the_adoption() -> None:
    trueup = in_model("files_batch")
    plan = {
        "settled_before": 3,
        "settled_definition": "adopted",
        "definition": "code",
        "last_batch_id": "first",
        "last_position": None,
        "position": None,
        "whole_log_reason": None,
        "commands_settled": 3,
        "upper": 9,
    }
    compared = {
        "trueup.upper": "9",
        "trueup.after_batch_id": "first",
        "trueup.commands_settled": "3",
        "trueup.definition": "code",
    }
    earlier = {**compared, "trueup.definition": "earlier code"}
    assert trueup._with_compared_commands(plan, {})["definition"] == "adopted"
    assert trueup._with_compared_commands(plan, earlier)["definition"] == "adopted"
    assert trueup._with_compared_commands(plan, compared)["definition"] == "code"


def test_a_table_without_the_key_is_refused() -> None:
    trueup = in_model("files_corrections")
    must, got, _ = refused(
        trueup._adopted_rows_select, TABLE, [column("size")], COLUMNS, ["path"], "error"
    )
    assert must.endswith("must be one with the key of the collection: path.")
    assert got == "Got: no column path"


def test_the_plan_of_an_adoption_settles_the_commands_of_its_ticks_and_folds_none() -> None:
    plan: dict[str, Any] = {
        "upper": 9,
        "commands_settled": 2,
        "commands_ahead": 5,
        "commands_to_settle": 4,
        "has_truncates": True,
        "definition": "f00d",
    }
    adopting = in_model("files_batch")._with_adoption(plan)
    assert adopting == {
        "upper": 9,
        "commands_settled": 6,
        "commands_ahead": 0,
        "commands_to_settle": 0,
        "has_truncates": False,
        "definition": "adopted",
        "adopts": True,
        "since": 8,
    }
    assert plan["definition"] == "f00d"


def test_a_log_without_commands_is_refused() -> None:
    trueup = in_model("files_corrections", options={"late": "correct"})
    collection = trueup._collection("corrections")
    must, got, _ = refused(
        trueup._ensure_adopted, collection, {"upper": 0, "lower": 0}, COLUMNS, TABLE
    )
    assert must == (
        "The log of a collection that adopts a table must be one with commands to settle."
    )
    assert got == "Got: no command below 0"


def md5(table: object) -> str:
    """The hash of a table's name, as `local_md5` of dbt gives it."""
    return hashlib.md5(str(table).encode(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("comparison", "table", "taken"),
    [
        ({"trueup.adopts": f"{md5(TABLE)} 1b5f", "trueup.compared_by": "1b5f"}, TABLE, None),
        ({"trueup.compared_by": "1b5f"}, None, None),
        ({}, None, None),
        # A run without the var has replaced the rows, and the property is still there.
        ({"trueup.adopts": f"{md5(TABLE)} 1b5f", "trueup.compared_by": "2c60"}, None, None),
        ({"trueup.adopts": f"{md5(TABLE)} 1b5f", "trueup.compared_by": "2c60"}, TABLE, "none"),
        (
            {"trueup.adopts": f"{md5(TABLE)} 1b5f", "trueup.compared_by": "1b5f"},
            None,
            "another table",
        ),
        (
            {"trueup.adopts": f"{md5('a.b')} 1b5f", "trueup.compared_by": "1b5f"},
            TABLE,
            "another table",
        ),
        ({}, TABLE, "none"),
    ],
)
def test_the_first_batch_takes_only_corrections_of_the_same_adoption(
    comparison: dict[str, str], table: Relation | None, taken: str | None
) -> None:
    trueup = in_model("files_batch", options={"late": "correct"})
    collection = trueup._collection("batch")
    call = (trueup._require_adopted_corrections, collection, comparison, table)
    if taken is None:
        call[0](*call[1:])
    else:
        assert refused(*call)[1] == f"Got: {taken}"
