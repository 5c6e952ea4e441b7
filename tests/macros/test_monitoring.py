"""What the hook records of a run, and the SQL of the monitoring models."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.macros.package import Package, Relation, in_model, models, node, one_line, refused

if TYPE_CHECKING:
    from collections.abc import Iterable

VARS = {"trueup_collections": ["files", "two words"]}
CONFIG = SimpleNamespace(meta=None, unique_key=["path"])


def graph() -> dict[str, Any]:
    """Return two collections and the models of trueup, as dbt knows them."""
    known = {**models("files"), **models("two words")}
    for name in ("trueup_runs", "trueup_lag"):
        known[f"model.trueup.{name}"] = node(name, package_name="trueup")
    return {
        name: {**each, "resource_type": "model", "config": CONFIG} for name, each in known.items()
    }


class Node(dict[str, Any]):
    """A node of dbt's graph, whose entries are also attributes."""

    __getattr__ = dict.__getitem__


def in_hook(failing: Iterable[tuple[str, str]] = (), **changed: Any) -> tuple[Package, list[str]]:
    """Return the macros as the hook sees them, and a list to which their statements are added.

    Args:
        failing: The failures that `trueup_runs` has: models and errors.
        changed: Arguments of `in_model`.
    """
    statements: list[str] = []

    def query(statement: str) -> object:
        statements.append(statement)
        return list(failing)

    given: dict[str, Any] = {
        "variables": VARS,
        "graph": {name: Node(one) for name, one in graph().items()},
        "tables": ["lake.trueup_runs", "lake.files_changelog", "lake.two words_changelog"],
        "queries": query,
    }
    return in_model("hook", **given | changed), statements


def result(
    name: str, status: str = "success", message: str | None = "OK", package: str = "shop"
) -> Any:
    """Return one result as dbt gives it to the hook."""
    found = SimpleNamespace(name=name, resource_type="model", unique_id=f"model.{package}.{name}")
    return SimpleNamespace(node=found, status=status, message=message)


def written(statements: list[str]) -> list[tuple[str, ...]]:
    """Return the model, the outcome and the error of each row that was written."""
    text = "\n".join(one for one in statements if "/* trueup: record */" in one)
    return re.findall(r"'([^']+)' as model,\s+'(\w+)' as outcome,\s+(.+) as error,", text)


FAILED = result("files_batch", "error", "it broke\n  \n  > in macro a (b.sql)\n  > called by b")


def test_an_error_is_recorded_without_the_lines_that_say_in_which_macro_it_was() -> None:
    trueup, statements = in_hook()

    trueup.record_runs([result("files_commands"), FAILED])

    assert written(statements) == [("files_batch", "failed", "'it broke'")]


def test_the_collections_may_stand_among_the_vars_of_the_package() -> None:
    """A hook of the project does not see the vars of a package."""
    trueup, statements = in_hook(variables={"trueup": VARS})

    trueup.record_runs([FAILED])

    assert written(statements) == [("files_batch", "failed", "'it broke'")]


def test_the_same_error_again_is_not_recorded_again_and_another_text_is() -> None:
    for known, expected in ((["it broke"], []), (["it was late"], ["failed"])):
        trueup, statements = in_hook([("files_batch", error) for error in known])
        trueup.record_runs([FAILED])
        assert [outcome for _, outcome, _ in written(statements)] == expected


def test_only_the_success_of_the_model_that_failed_is_recorded() -> None:
    trueup, statements = in_hook([("files_batch", "it broke"), ("files_state", "x")])

    trueup.record_runs([result("files_commands"), result("files_batch")])

    assert written(statements) == [("files_batch", "succeeded", "null")]


def test_a_run_without_news_asks_one_question_and_writes_nothing() -> None:
    trueup, statements = in_hook()

    trueup.record_runs([result("files_commands"), result("files_state")])

    (question,) = statements
    assert question.startswith("select model, error from (select")


def test_a_skipped_model_counts_only_if_no_model_of_its_collection_failed() -> None:
    skipped = [result("files_changelog", "skipped", None), result("files_state", "skipped", None)]
    for first, expected in ((FAILED, ["files_batch"]), (result("a"), ["files_changelog"])):
        trueup, statements = in_hook()
        trueup.record_runs([*skipped, first])
        assert [model for model, _, _ in written(statements)] == expected


@pytest.mark.parametrize(
    ("results", "changed"),
    [
        ([], {}),
        ([result("other", "error", "x")], {}),
        ([result("files", "error", "x")], {}),
        ([result("files_batch", "fail", "x")], {"command": "test"}),
        ([FAILED], {"variables": {}}),
        ([FAILED], {"execute": False}),
        ([FAILED], {"tables": []}),
        ([FAILED], {"graph": {}}),
    ],
)
def test_nothing_is_asked_if_nobody_monitors_what_ran(
    results: list[Any], changed: dict[str, Any]
) -> None:
    trueup, statements = in_hook(**changed)

    trueup.record_runs(results)

    assert statements == []


def test_a_rebuild_of_a_state_is_recorded_with_its_time() -> None:
    trueup, statements = in_hook()
    changelog = Relation(None, "lake", "files_changelog")
    trueup._keep_finding({"changelog": changelog}, "rehydration_seconds", 1.5)

    trueup.record_runs([result("files_state")])

    assert written(statements) == [("files_state", "rehydrated", "null")]
    assert "cast(1.5 as double) as seconds" in statements[-1]
    assert "from lake.files_changelog" in statements[-1]


def test_hostile_texts_are_literals() -> None:
    message = "it's '; drop table x; -- ${env:HOME} \\ {{ jinja }}\nnext line"
    trueup, statements = in_hook()

    trueup.record_runs([result("two words_batch", "error", message)])

    insert = next(one for one in statements if "record */" in one)
    assert "'it\\'s \\'; drop table x; -- $\\{env:HOME} \\\\ {{ jinja }}\nnext line'" in insert
    assert "'two words' as collection" in insert


def test_a_log_that_a_failed_model_reads_is_left_out_of_the_lag_until_it_succeeds() -> None:
    for status, is_read in (("error", False), ("success", True)):
        known = [("files_commands", "lost")] if is_read else []
        trueup, statements = in_hook(known)
        trueup.record_runs([result("files_commands", status, "lost")])
        view = statements[-1]
        assert "create or replace view lake.trueup_lag" in view
        assert ("from lake.files_commands" in view) is is_read
        assert "from lake.two words_commands" in view


def test_the_view_of_the_lag_leaves_out_a_collection_that_was_not_built() -> None:
    built = ["lake.trueup_runs", "lake.files_changelog"]
    for tables, is_made in ((built, True), (built[:1], False)):
        trueup, statements = in_hook(tables=tables)

        trueup.record_runs([FAILED])

        assert len(written(statements)) == 1
        views = [one for one in statements if "create or replace view" in one]
        assert bool(views) is is_made
        assert "two words" not in "".join(views)


def test_models_that_fail_fast_has_skipped_do_not_count() -> None:
    trueup, statements = in_hook()
    skipped = result("files_batch", "skipped", "Skipping due to fail_fast")
    trueup.record_runs([result("other", "error", "x"), skipped])
    assert statements == []


def test_a_model_that_fail_fast_has_skipped_counts_if_a_model_that_it_reads_failed() -> None:
    known = {name: Node(one) for name, one in graph().items()}
    reads = {"commands": "staging", "corrections": "files_commands", "batch": "files_corrections"}
    for role, parent in reads.items():
        known[f"model.shop.files_{role}"]["depends_on"] = {"nodes": [f"model.shop.{parent}"]}
    trueup, statements = in_hook(graph=known)
    skipped = [
        result(name, "skipped", "Skipping due to fail_fast")
        for name in ("files_batch", "two words_batch")
    ]
    trueup.record_runs([result("staging", "error", "x"), *skipped])
    assert [model for model, _, _ in written(statements)] == ["files_batch"]


def test_the_graph_is_not_walked_for_models_that_nobody_monitors() -> None:
    """In a project of 2,000 models this took minutes."""

    class Parents(dict[str, list[str]]):
        asked = 0

        def get(self, *arguments: Any) -> Any:
            Parents.asked += 1
            return super().get(*arguments)

    parents = Parents(nodes=["model.shop.staging"])
    known = {name: Node(one) for name, one in graph().items()}
    for name in ("m1", "files_batch"):
        known[f"model.shop.{name}"] = Node(
            node(name), resource_type="model", config=CONFIG, depends_on=parents
        )
    trueup, statements = in_hook(graph=known)
    for name, count in (("m1", 0), ("files_batch", 1)):
        skipped = result(name, "skipped", "Skipping due to fail_fast")
        trueup.record_runs([result("staging", "error", "x"), skipped])
        assert Parents.asked == count
    assert [model for model, _, _ in written(statements)] == ["files_batch"]


def test_the_failure_of_a_model_that_is_gone_does_not_count() -> None:
    trueup, statements = in_hook([("files_desired", "lost")])
    trueup.record_runs([result("two words_commands", "error", "lost")])
    view = statements[-1]
    assert "from lake.files_commands" in view
    health = in_model(
        "trueup_health", variables=VARS, graph={name: Node(one) for name, one in graph().items()}
    )
    sql = one_line(health._failures_ctes("runs", ["files"]))
    assert "and model in ('files_commands', " in sql
    assert "files_desired" not in sql


def test_a_model_of_another_package_with_the_same_name_is_not_that_of_the_collection() -> None:
    twin = {**node("files_batch", package_name="twin"), "resource_type": "model", "config": CONFIG}
    known = {"model.twin.files_batch": Node(twin)}
    known |= {name: Node(one) for name, one in graph().items()}
    for package, expected in (("twin", []), ("shop", ["files_batch"])):
        trueup, statements = in_hook(graph=known)
        trueup.record_runs([result("files_batch", "error", "x", package)])
        assert [model for model, _, _ in written(statements)] == expected


@pytest.mark.parametrize("is_deferred", [True, False])
def test_the_lag_of_a_deferred_collection_reads_one_schema(*, is_deferred: bool) -> None:
    known = {name: Node(one) for name, one in graph().items()}
    for role in ("changelog", "commands"):
        other = Node(node(f"files_{role}", schema="prod"))
        known[f"model.shop.files_{role}"]["defer_relation"] = other
    schema = "prod" if is_deferred else "lake"
    trueup = in_model("trueup_lag", variables=VARS, graph=known)
    sql = trueup._lag_select({"files": Relation(None, schema, "files_changelog")})

    assert f"from {schema}.files_commands" in sql
    assert ("lake.files" in sql) is not is_deferred


@pytest.mark.parametrize(
    ("schema", "is_deferred", "expected"),
    [
        ("prod", False, "prod"),
        ("lake", False, "lake"),
        (None, True, "prod"),
        (None, False, "lake"),
    ],
)
def test_the_lag_of_a_select_reads_the_state_of_its_input_where_its_changelog_is(
    schema: str | None, expected: str, *, is_deferred: bool
) -> None:
    known = {name: Node(one) for name, one in graph().items()}
    for role in ("changelog", "commands", "state"):
        other = Node(node(f"files_{role}", schema="prod"))
        known[f"model.shop.files_{role}"]["defer_relation"] = other
    changelogs = {"files": Relation(None, schema, "files_changelog")} if schema else {}
    trueup = in_model("trueup_lag", variables=VARS, graph=known)

    assert trueup._state_of_input("files", changelogs, is_deferred).schema == expected


@pytest.mark.parametrize("role", ["changelog", "state"])
def test_a_failed_append_or_apply_leaves_the_log_in_the_lag(role: str) -> None:
    trueup, statements = in_hook()

    trueup.record_runs([result(f"files_{role}", "error", "x")])

    assert "from lake.files_commands" in statements[-1]


@pytest.mark.parametrize("names", ["files", {"files": 1}, 7, [""], ["a", "A"], [None]])
def test_the_collections_must_be_a_list_of_names(names: object) -> None:
    trueup = in_model("hook", variables={"trueup_collections": names})

    assert refused(trueup._monitored_collections)[0].startswith("Var `trueup_collections` must be")


@pytest.mark.parametrize("seconds", [0, -1, "3600", None, 1.5])
def test_the_time_of_a_stall_must_be_a_number_of_seconds(seconds: object) -> None:
    trueup = in_model("hook", variables={"trueup_stalled_after": seconds})

    assert "a number of seconds above 0" in refused(trueup._var, "trueup_stalled_after")[0]


def test_the_breaker_is_known_by_the_words_of_its_error() -> None:
    known = {name: Node(one) for name, one in graph().items()}
    trueup = in_model("trueup_health", variables=VARS, graph=known)
    tables = {"files": "lake.files"}
    sql = one_line(trueup._health_select(tables, tables, tables, "lag", "runs"))

    assert "when contains(error, '(option `max_retractions`)') then 'stalled'" in sql
