"""The three lines at the top of a report say exactly what is so."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup import dbt
from dbt_trueup.command_line import program, report
from dbt_trueup.errors import DbtError
from dbt_trueup.report import data
from dbt_trueup.report.data import Collection, describe_left_out, describe_left_out_collections
from dbt_trueup.report.summary import summarize

if TYPE_CHECKING:
    from pathlib import Path


def logged(name: str, ahead: int = 0, **fields: Any) -> Collection:
    """Return a collection with a log, with so many commands to settle."""
    log = {"commands": ahead, "commands_to_settle": ahead, "upper": 11 + ahead if ahead else None}
    standing = {"batch": 3, "applied_batch": 3, "frontier": 11, "log": log}
    return Collection(name, has_run=True, has_log=True, **{**standing, **fields})


FRESH = logged("orders")
SELECT = Collection("revenue", has_run=True, batch=1, applied_batch=1)
NEW = Collection("shipments")
RIGHT = "No state differs from its certificate."
CLEAN = "No open errors."


@pytest.mark.parametrize(
    ("collections", "line"),
    [
        ([FRESH], "orders is up to date."),
        ([FRESH, logged("a")], "All 2 collections with a log are up to date."),
        (
            [FRESH, logged("a"), logged("payments", ahead=1204)],
            (
                "2 of 3 collections with a log are up to date; payments is 1,204 ticks (1,204"
                " commands) behind its log."
            ),
        ),
        ([logged("a", ahead=1)], "a is 1 tick (1 command) behind its log."),
        (
            [logged(name, ahead=1) for name in "abcde"],
            "0 of 5 collections with a log are up to date; "
            + "; ".join(f"{name} is 1 tick (1 command) behind its log" for name in "abc")
            + "; 2 others.",
        ),
        (
            [FRESH, SELECT, NEW],
            (
                "orders is up to date. A SELECT without a log defines revenue. shipments has not"
                " run yet."
            ),
        ),
        ([], "There is no collection."),
    ],
)
def test_the_first_line_says_which_collections_are_behind(
    collections: list[Collection], line: str
) -> None:
    assert summarize(collections)[0].text == line


def test_the_second_line_says_which_states_are_wrong() -> None:
    wrong = logged("payments", wrong_buckets=[7])
    waiting = logged("late", applied_batch=2, wrong_buckets=[1, 2])
    ahead = logged("lost", applied_batch=5)

    assert summarize([FRESH, SELECT, NEW])[1] == (True, RIGHT)
    assert summarize([ahead])[1].text == (
        "lost_state has applied batch 5, but the changelog ends with batch 3: batches are lost."
    )
    assert summarize([FRESH, wrong, waiting])[1] == (
        False,
        (
            "payments_state differs from its certificate in 1 bucket; late_state has not applied"
            " batch 3 yet. The next run heals an edit that the snapshots of the state show. If the"
            " difference stays: dbt run-operation trueup.doctor --args '{collection: payments}'"
        ),
    )
    others = [logged(name, wrong_buckets=[7]) for name in "abcd"]
    assert summarize(others)[1].text.endswith(
        "; 1 other. The next run heals an edit that the snapshots of the state show. If a"
        " difference stays: dbt run-operation trueup.doctor --args '{collection: <collection>}'"
    )


def test_the_third_line_counts_open_errors_and_compares_them_with_a_day_ago() -> None:
    many = logged("orders", open_errors=10, errors_of_a_day=4)
    fewer = logged("payments", open_errors=2, errors_of_a_day=-1)

    assert summarize([FRESH])[2] == (True, CLEAN)
    assert summarize([many])[2].text == "10 open errors (24 hours ago: 6)."
    assert summarize([fewer])[2].text == "2 open errors (24 hours ago: 3)."
    assert summarize([fewer, many])[2] == (
        False,
        "12 open errors (24 hours ago: 9): orders 10, payments 2.",
    )


def test_a_line_before_them_names_the_collections_that_could_not_be_read() -> None:
    assert len(summarize([FRESH])) == 3
    lines = summarize([FRESH], ["payments", *"abcd"])
    assert lines[0] == (
        False,
        "Could not be read, and is not counted below: payments, a, b, 2 others.",
    )
    assert lines[1:] == summarize([FRESH])


@pytest.mark.slow
@pytest.mark.parametrize("show_values", [False, True])
def test_a_collection_that_cannot_be_read_is_bad_news_without_its_values(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    *,
    show_values: bool,
) -> None:
    def read(_: object, name: str, *__: object, **___: object) -> Collection:
        if name == "orders":
            return FRESH
        message = {
            "payments": "Runtime Error [CAST_INVALID_INPUT] The value 'Ada' [IS_NO_NUMBER]",
            "stores": "The sum of Ada [SO_BIG] is too large",
        }[name]
        raise DbtError(message)

    nodes = {
        name: SimpleNamespace(
            name=f"{name}_state", config=SimpleNamespace(materialized="trueup_state")
        )
        for name in ("orders", "payments", "stores")
    }
    manifest = SimpleNamespace(nodes=nodes, metadata=SimpleNamespace(project_name="shop"))
    monkeypatch.setattr(dbt, "parse", lambda _: manifest)
    monkeypatch.setattr(data, "read_collection", read)
    values = ["--show-values"] if show_values else []
    assert program.main(["report", "--json", *values]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["unreadable"] == ["payments", "stores"]
    bad = "Could not be read, and is not counted below: payments, stores."
    assert document["summary"][0] == bad
    if show_values:
        assert "The value 'Ada'" in document["left_out"][0]
    else:
        assert document["left_out"] == [
            (
                "payments could not be read: [CAST_INVALID_INPUT];"
                " `trueup report payments --show-values` shows the error."
            ),
            "stores could not be read; `trueup report stores --show-values` shows the error.",
        ]

    file = tmp_path / "page.html"
    assert program.main(["report", "--output", str(file), *values]) == 0
    assert capsys.readouterr().out.startswith(f"{bad}\norders is up to date.\n")
    page = file.read_text()
    assert f'<li class="bad"><b aria-hidden="true">!</b> <span>{bad}</span></li>' in page
    assert ("Ada" in page) == show_values


def test_a_report_says_what_it_leaves_out() -> None:
    row = {"cause": "late_command", "all_rows": 700}
    batches = [{"batches": 11}] * 2 + [{"batches": 1}]
    large = logged("orders", batches=batches, batch=23, corrections=[row], open_errors=1)

    assert describe_left_out(FRESH) == []
    assert describe_left_out(large) == [
        "The oldest 22 of 23 batches of orders are shown in 2 groups.",
        "0 of 1 open errors of orders are listed.",
        "1 of 700 corrected rows of orders are listed.",
    ]
    assert describe_left_out_collections(["c"] * 100) == []
    assert describe_left_out_collections(["c"] * 101) == [
        "1 of 101 collections are not shown: name those that you want to see."
    ]


def test_the_page_goes_to_the_target_folder_of_the_project(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = SimpleNamespace(collections=[FRESH], unreadable=[])
    written = []
    monkeypatch.setattr(report, "require_charts", lambda: None)
    monkeypatch.setattr(report, "read_data", lambda *_, **__: found)
    monkeypatch.setattr(report, "write_page", lambda _, file: written.append(file))
    for name in dbt.TARGET_PATH_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    shop = tmp_path / "shop"
    shop.mkdir()

    assert program.main(["report", "--project-dir", "shop"]) == 0
    assert program.main(["report", "--project-dir", "shop", "--output", "page.html"]) == 0
    (shop / "dbt_project.yml").write_text("target-path: build")
    assert program.main(["report", "--project-dir", "shop"]) == 0

    page = "trueup_report.html"
    assert written == [shop / "target" / page, tmp_path / "page.html", shop / "build" / page]
    assert f"report  {shop / 'target' / page}\n" in capsys.readouterr().out
