"""`trueup report` over real collections shows what the oracle counts."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from dbt_trueup.report.data import describe_left_out, read_collection
from tests import oracle
from tests.acceptance import Column
from tests.oracle import Command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
COUNTS = ("inserts", "updates", "deletes", "error_inserts", "error_retractions", "ties")


def put(ts: int, key: str, order: int = 1) -> Command:
    return Command(ts, (order,), (key,), (f"value {ts} {order}",))


def break_value(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), None, "no number")


def delete(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), None)


BATCHES = (
    [put(1, "a"), put(1, "b"), put(2, "secret name"), *(break_value(2, key) for key in "cde")],
    # Three late commands, one of them for an error. In time: a tie, and a value for an error.
    [
        put(1, "late"),
        put(1, "b", 2),
        put(2, "d", 2),
        put(4, "tied"),
        delete(4, "tied"),
        put(5, "c"),
    ],
    [break_value(7, "g"), Command(7, (1,), None, None, "no key", "x00ff"), delete(7, "a")],
)
"""What arrives before each run."""
AHEAD = [put(9, "a"), put(9, "b"), put(11, "f")]
"""What arrives after the last run."""


class Expected:
    """The oracle after the same batches."""

    def __init__(self) -> None:
        """Run the batches, and keep what each of them counts."""
        self.collection = oracle.Collection("correct", ties="prefer_upsert")
        self.counts: list[dict[str, int]] = []
        self.causes: list[dict[str, int]] = []
        log: list[Command] = []
        for commands in BATCHES:
            lower, before = self.collection.upper, Counter(self.collection.counters)
            log += commands
            updates = self.collection.run(log)
            now = self.collection.counters
            self.counts.append({name: now[name] - before[name] for name in COUNTS})
            corrected = {one.identity: one.error is not None for one in updates if one.ts == lower}
            for one in updates:
                if one.ts == lower and one.diff < 0:
                    corrected[one.identity] = one.error is not None
            words = {True: "error_fixed", False: "late_command"}
            causes = Counter(words[was_error] for was_error in corrected.values())
            self.causes.append(dict(causes) if lower else {})


@pytest.fixture(scope="module")
def expected() -> Expected:
    return Expected()


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """The collection `orders` after three batches and a heal, edited again; and small ones."""
    project = new_project("reported")
    options = {"late": "correct", "ties": "prefer_upsert", "verify": "always"}
    project.add_collection("orders", KEY, VALUE, options)
    project.add_collection("held", KEY, VALUE, {"input_upper": "log_upper - 1"})
    project.add_collection("queue", KEY, VALUE)
    project.add_collection("unborn", KEY, VALUE)
    arguments = "reclock=['v', 'log_order'], columns=['v']"
    project.write(
        "models/queue/queue_commands.sql",
        f"{{{{ trueup.commands('{project.name}.queue_log', {arguments}) }}}}",
    )
    queued = [Command(0, (offset,), ("a",), ("partition",)) for offset in range(4)]
    project.append("held", [put(1, "a"), put(2, "a"), put(2, "b")])
    project.append("queue", queued[:1])
    small = ["path:models/held", "path:models/queue"]
    for commands in BATCHES:
        project.append("orders", commands)
        project.run("path:models/orders", *small)
        small = []
    project.sql("update {}.orders_state set v = 'edited' where k = 'b'")
    project.run("path:models/orders")
    project.append("orders", AHEAD)
    project.append("queue", queued[1:])
    project.sql("update {}.orders_state set v = 'edited' where k = 'secret name'")
    project.sql("delete from {}.orders_state where k = 'late'")
    return project


def report(project: Project, *words: str) -> str:
    """Run `trueup report`. Return what it prints."""
    out = StringIO()
    with redirect_stdout(out):
        assert main(["report", *words, "--project-dir", str(project.folder)]) == 0
    return out.getvalue()


@pytest.fixture(scope="module")
def document(project: Project) -> dict[str, Any]:
    """What `trueup report --json --show-values` prints."""
    printed: dict[str, Any] = json.loads(report(project, "--json", "--show-values"))
    return printed


@pytest.fixture(scope="module")
def shown(document: dict[str, Any]) -> dict[str, Any]:
    """What it shows of each collection, by name."""
    return {one["name"]: one for one in document["collections"]}


def test_each_batch_has_the_counts_of_the_oracle(shown: dict[str, Any], expected: Expected) -> None:
    batches = shown["orders"]["batches"]

    assert [{name: one[name] for name in COUNTS} for one in batches] == expected.counts
    assert [one["causes"] for one in batches] == expected.causes
    assert expected.causes[1] == {"late_command": 2, "error_fixed": 1}
    assert [one["late_dropped"] for one in batches] == [0, 3, 0]
    assert [one["open_errors"] for one in batches] == [3, 1, 3]
    assert all(one["stage_seconds"] > 0 and one["apply_seconds"] > 0 for one in batches)


def test_older_batches_are_groups_with_their_sums(project: Project, expected: Expected) -> None:
    limits = {"recent": 1, "older": 1, "rows": 1}
    options = ["--project-dir", str(project.folder)]

    found = read_collection(options, "orders", limits, show_values=False)

    assert [(one["first"], one["last"]) for one in found.batches] == [(1, 2), (3, 3)]
    for name in COUNTS:
        assert found.batches[0][name] == sum(counts[name] for counts in expected.counts[:2])
    assert found.batches[0]["causes"] == expected.causes[1]
    assert describe_left_out(found) == [
        "The oldest 2 of 3 batches of orders are shown in 1 group.",
        "1 of 3 open errors of orders are listed.",
        "1 of 2 wrong rows of orders are listed.",
    ]
    assert [row["key"] for row in found.wrong_rows] == [["l… (4 characters)"]]


def test_a_collection_stands_where_the_oracle_does(
    shown: dict[str, Any], expected: Expected
) -> None:
    orders, collection = shown["orders"], expected.collection

    assert orders["frontier"] == collection.upper
    # The last command of the report's time deleted a row by hand.
    assert orders["rows"] == len(collection.rows) - 1
    assert orders["open_errors"] == orders["errors_of_a_day"] == len(collection.errors)
    assert Counter(orders["error_kinds"]) == Counter(error.kind for error in collection.errors)
    assert sum(bucket["rows"] for bucket in orders["buckets"]) == len(collection.rows) + 3
    assert {(*each["key"], each["kind"]) for each in orders["errors"]} == {
        (error.key[0] if error.key else None, error.kind) for error in collection.errors
    }
    assert orders["log"] == {
        "commands": len(AHEAD),
        "commands_to_settle": len(AHEAD),
        "upper": 12,
    }


def test_open_ticks_and_offsets_are_not_settled_yet(shown: dict[str, Any]) -> None:
    assert shown["held"]["frontier"] == 2
    assert shown["held"]["log"] == {"commands": 2, "commands_to_settle": 0, "upper": 3}
    assert shown["queue"]["log"] == {"commands": 3, "commands_to_settle": 3, "upper": None}


def test_rows_that_are_wrong_and_rows_that_were_wrong_have_a_cause(shown: dict[str, Any]) -> None:
    orders = shown["orders"]

    wrong = {one["key"][0]: (one["cause"], one["difference"]) for one in orders["wrong_rows"]}
    assert wrong == {
        "late": ("external_edit", "missing"),
        "secret name": ("external_edit", "other values"),
    }
    assert len(orders["wrong_buckets"]) == 2
    healed = [(one["key"], one["cause"], one["difference"]) for one in orders["corrections"]]
    assert healed == [(["b"], "external_edit", "other values")]


def test_the_first_lines_say_what_to_look_at(document: dict[str, Any]) -> None:
    assert document["summary"] == [
        (
            "1 of 3 collections with a log is up to date; orders is 4 ticks (3 commands) behind its"
            " log; queue is 3 commands behind its log. unborn has not run yet."
        ),
        (
            "orders_state differs from its certificate in 2 buckets. The next run heals an edit"
            " that the snapshots of the state show. If the difference stays: dbt run-operation"
            " trueup.doctor --args '{collection: orders}'"
        ),
        "3 open errors (24 hours ago: 0): orders 3.",
    ]


def test_the_file_masks_values_and_its_path_is_printed(project: Project, tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "report.html"

    printed = report(project, "orders", "--output", str(target))

    assert printed.splitlines()[-1] == f"report  {target}"
    page = target.read_text()
    assert "secret name" not in page
    assert "s… (11 characters)" in page


def test_an_unknown_collection_is_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "order", "--project-dir", str(project.folder)]) == 2
    assert capsys.readouterr().err == (
        "trueup report: COLLECTION must be one of held, orders, queue, unborn.\nGot: order\n"
    )
