"""The drift report: what is masked, what is written, and which steps an adoption has."""

from __future__ import annotations

import json
import re
import shlex
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup import dbt
from dbt_trueup.adopt import drift, steps
from dbt_trueup.adopt.screen import describe_drift
from dbt_trueup.command_line.program import main
from dbt_trueup.errors import DbtError, UsageError
from tests.conftest import ROOT
from tests.test_docs import first_cells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ONE_SIDED = {"one_sided": '{"only_in_log": ["updated_at"], "only_in_table": ["a", "b\\u001b"]}'}

ROWS: list[dict[str, Any]] = [
    {"cause": "equal", "cause_rows": 1200, "key": ["1"], "differing": None}
    | {"one_sided": '{"only_in_log": [], "only_in_table": []}'},
    {
        "cause": "late_update",
        "cause_rows": 3000,
        "key": ["anna@example.org", None],
        "differing": [{"column": "status", "in_table": "placed\nby phone", "in_log": None}],
    },
    {"cause": "unknown_key", "cause_rows": 1, "key": ["17"], "differing": None},
]


def test_the_report_masks_keys_and_values_unless_they_are_asked_for() -> None:
    masked = describe_drift("shop.orders", "orders", drift.parse_drift(ROWS, show_values=False))
    assert masked == (
        "shop.orders: 3,001 differences from the log, 1,200 equal rows\n"
        "      3,000  late_update    the table has an older value of the log\n"
        "               key a… (16 characters), null: status p… (15 characters) -> null\n"
        "          1  unknown_key    the log never had the key\n"
        "               key … (2 characters)"
    )
    shown = describe_drift("shop.orders", "orders", drift.parse_drift(ROWS, show_values=True))
    assert "key anna@example.org, null: status placed by phone -> null" in shown


@pytest.mark.parametrize("show_values", [False, True])
def test_a_value_does_not_reach_the_terminal_as_a_command(*, show_values: bool) -> None:
    pair = {"column": "status", "in_table": "\x1b[2Jpaid", "in_log": "a\x9b31mb\x7f"}
    row = {"cause": "other", "cause_rows": 1, "key": ["\x1b]0;title\x07"], "differing": [pair]}
    row |= ONE_SIDED
    shown = describe_drift("orders", "orders", drift.parse_drift([row], show_values=show_values))
    assert all(line.isprintable() for line in shown.splitlines())
    assert ("paid" in shown) == show_values


def test_every_cause_of_the_macro_is_known_and_on_the_page() -> None:
    text = (ROOT / "macros/report/drift_causes.sql").read_text()
    macro = text.partition("_drift_causes_ctes(key) -")
    tables = {"compared", "values_of_log"}
    assert set(re.findall(r"'([a-z_]+)'", macro[2])) - tables == {"equal", *drift.CAUSES}
    assert set(drift.parse_drift([], show_values=False).counts) == {"equal", *drift.CAUSES}
    rows = [cell.strip("`") for cell in first_cells(ROOT / "docs/adopt.md", "Four commands")]
    assert set(drift.CAUSES) <= set(rows)
    with pytest.raises(KeyError):
        drift.parse_drift([{**ROWS[2], "cause": "invented"}], show_values=False)


@pytest.mark.parametrize(
    ("columns", "them", "these"), [(["updated_at"], "it", "it"), (["a", "b"], "them", "these")]
)
def test_the_report_names_the_columns_that_only_one_side_has(
    columns: list[str], them: str, these: str
) -> None:
    one_sided = {"only_in_log": columns, "only_in_table": ["loaded_at", "note"]}
    row = ROWS[0] | {"one_sided": json.dumps(one_sided)}
    shown = describe_drift("old", "orders", drift.parse_drift([row], show_values=False))
    assert shown.partition("\n")[2] == (
        f"only the log has {', '.join(columns)}. The comparison takes {them} as null in the table,"
        " so nearly all rows differ\n"
        f"  To compare the other columns alone, remove {these} from `columns` of orders_commands"
        " and from orders.yml\n"
        "only the table has loaded_at, note: the collection leaves them out"
    )


def test_an_adoption_renames_then_runs_twice_and_a_second_one_only_corrects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(dbt, "invoke", lambda options, *words: called.append([*words, *options]))
    options = ["--vars", "{trueup_until: 9}"]
    models = {name: f"file:{name}.sql" for name in ("orders", "orders_state")}
    selected = models.values()
    facts = drift.Facts("`shop`.`orders`", "`shop`.`orders_before_trueup`", is_adopted=False)
    adopted = drift.Facts(facts.then, facts.then, is_adopted=True)
    monkeypatch.setattr(steps, "read_facts", lambda *_: adopted)
    steps.adopt(options, "orders", "shop.orders", facts, models)
    assert called == [
        [
            *("run-operation", "trueup.adopt", "--args"),
            json.dumps({"collection": "orders", "table": "shop.orders"}),
            *options,
        ],
        [
            *("run", "--select", *selected, "--vars"),
            "{trueup_adopt: shop.orders_before_trueup, trueup_until: 9}",
        ],
        ["run", "--select", *selected, *options],
    ]
    called.clear()
    steps.adopt(options, "orders", "shop.orders", adopted, models)
    assert called == [["run", "--select", *selected, *options]]
    # The first run succeeds also if another run was first. Then no batch has the rows of the table.
    called.clear()
    monkeypatch.setattr(steps, "read_facts", lambda *_: facts)
    with pytest.raises(DbtError, match="orders has not adopted the table"):
        steps.adopt(options, "orders", "shop.orders", facts, models)
    assert [words[0] for words in called] == ["run-operation", "run"]


def manifest(*collections: str, packages: Sequence[str] = ("shop",)) -> Any:
    """A manifest with the models of collections, and a model and a test beside them."""
    names = [
        *("orders_report", *collections),
        *(f"{name}_{role}" for name in collections for role in steps.ROLES),
    ]
    nodes = [
        SimpleNamespace(
            name=name,
            package_name=package,
            resource_type="model",
            config=SimpleNamespace(
                materialized="trueup_state" if name.endswith("_state") else "view"
            ),
        )
        for package in packages
        for name in names
    ]
    test = SimpleNamespace(
        name="orders", resource_type="test", config=SimpleNamespace(materialized="test")
    )
    return SimpleNamespace(
        nodes=dict(enumerate([*nodes, test])), metadata=SimpleNamespace(project_name="shop")
    )


def test_only_the_models_of_the_collection_run() -> None:
    found = steps.models_of(manifest("orders", "payments"), "orders")
    assert {*found} == {"orders", *(f"orders_{role}" for role in steps.ROLES)}


def test_the_collection_of_the_project_comes_before_one_of_a_package_of_the_same_name() -> None:
    for packages in (["shop", "other"], ["other", "shop"]):
        found = steps.models_of(manifest("orders", packages=packages), "orders")
        assert found["orders_batch"] == "package:shop,file:orders_batch.sql"
    found = steps.models_of(manifest("orders", packages=["other"]), "orders")
    assert found["orders_batch"] == "package:other,file:orders_batch.sql"


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["models/orders", "models"])
def test_a_folder_and_a_project_with_the_name_of_the_collection_are_not_selected(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_PROFILES_DIR", str(ROOT / "tests/dbt_2"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbt_project.yml").write_text("{name: orders, profile: trueup}")
    names = {"orders", *(f"orders_{role}" for role in steps.ROLES)}
    others = ("models/orders/payments", "models/orders/orders/refunds", "models/orders/orders_old")
    for file in (*others, *(f"{folder}/{name}" for name in names)):
        path = tmp_path / f"{file}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = "trueup_state" if path.stem == "orders_state" else "view"
        path.write_text(f"{{{{ config(materialized='{kind}') }}}} select 1 as a")
    models = steps.models_of(dbt.parse([]), "orders")
    assert {*dbt.list_nodes([], [*models.values()])} == {f"model.orders.{name}" for name in names}

    called: list[tuple[str, ...]] = []
    with monkeypatch.context() as replaced:
        replaced.setattr(dbt, "invoke", lambda _, *words: called.append(words))
        steps.make_commands([], "orders", models)
    ((_, _, selected, _),) = called
    assert dbt.list_nodes([], [selected]) == ["model.orders.orders_commands"]


def test_the_next_command_has_the_options_of_this_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = drift.Facts("shop.old", "shop.old", is_adopted=False)
    found = drift.parse_drift([ROWS[2] | ONE_SIDED], show_values=False)
    for name, answer in (
        ("parse", manifest("orders")),
        ("read_facts", facts),
        ("read_drift", found),
    ):
        monkeypatch.setattr(
            f"dbt_trueup.command_line.adopt.{name}", lambda *_, answer=answer, **__: answer
        )
    monkeypatch.setattr(steps, "make_commands", lambda *_: None)
    words = ["shop.old", "--collection", "orders", "-t", "prod", "--vars", "{a: it's}"]
    assert main(["adopt", *words]) == 1
    following = capsys.readouterr().out.splitlines()[-1]
    assert shlex.split(following) == [
        *("next:", "trueup", "adopt", "shop.old", "--apply", "--collection", "orders"),
        *("--target", "prod", "--vars", "{a: it's}"),
    ]
    monkeypatch.setattr("dbt_trueup.command_line.adopt.parse", lambda _: manifest("old"))
    assert main(["adopt", "shop.old"]) == 1
    assert capsys.readouterr().out.endswith("\nnext: trueup adopt shop.old --apply\n")


def test_without_a_collection_the_user_is_told_how_to_write_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="must name a collection: payments"):
        steps.models_of(manifest("payments"), "orders")
    monkeypatch.setattr("dbt_trueup.command_line.adopt.parse", lambda _: manifest())
    assert main(["adopt", "shop.orders"]) == 2
    assert capsys.readouterr().err == (
        "trueup adopt: TABLE or --collection must name a collection; there is none.\nGot: orders\n"
        "Write its models first: trueup init <the log> --name orders\n"
    )
