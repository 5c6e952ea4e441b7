"""`trueup demo`: the reasons that it gives, its page, and the whole command over Spark and dbt."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from dbt_trueup.demo import page, play, reasons, screen
from dbt_trueup.demo.example import LINES, Line
from dbt_trueup.demo.play import Broken, Outcome, Row

ROOT = Path(__file__).parents[2]
COMMAND = "from dbt_trueup.command_line.program import main; raise SystemExit(main())"
PLAYED = Outcome(
    lines=LINES,
    merged=[
        Row(1, "paid", 20, 8),
        Row(2, "placed", 35, 9),
        Row(3, "cancelled", 50, 10),
        Row(4, "placed", None, 7),
    ],
    rows=[Row(1, "sent", 20)],
    errors=[Broken(3, "tie", None), Broken(4, "value", "the amount is missing")],
    batches=["batch 1: 3 commands, 2 inserted, 1 superseded"],
    seconds=31.4,
)


def test_each_line_of_the_log_says_what_is_special_about_it() -> None:
    assert list(reasons.notes_of(LINES)) == [
        "",
        "a duplicate of line 1",
        "",
        "",
        "a delete",
        "",
        "a bad record",
        "late: older than line 4",
        "a replay of line 3",
        "a tie with line 6",
    ]


def test_each_order_says_why_its_rows_differ() -> None:
    late, replay, tie, bad = reasons.reasons(PLAYED)
    assert (late.merged, late.ours, late.differs) == ("paid, 20", "sent, 20", True)
    assert late.why == (
        "Line 8 came last, but its position 20 is older than 30 of line 4. The MERGE took what came"
        " last. trueup takes the newest."
    )
    assert (replay.merged, replay.ours) == ("placed, 35", "no row")
    assert replay.why.startswith(
        "Line 5 deleted the order. Line 9 came last, but its position 11 is older than 31:"
    )
    assert tie.why.startswith("Lines 6 and 10 have the same position 32,")
    assert "The MERGE took line 10," in tie.why
    assert (bad.merged, bad.ours) == ("placed, null", "error: the amount is missing")
    assert bad.why.startswith("Line 7 is broken: the amount is missing.")


def test_an_order_in_which_both_agree_says_so() -> None:
    lines = [Line(1, 1, 10, "U", 7, "placed", 20), Line(2, 1, 11, "D", 8)]
    same = replace(PLAYED, lines=lines, merged=[Row(7, "placed", 20, 1)], errors=[])
    same = replace(same, rows=[Row(7, "placed", 20)])
    assert [one.differs for one in reasons.reasons(same)] == [False, False]
    assert reasons.reasons(same)[1].why == "Both agree."
    lost = replace(same, merged=[])
    assert reasons.reasons(lost)[0].why == "Line 1 is the newest one. The MERGE has lost its row."


def test_the_terminal_shows_every_line_and_reason() -> None:
    shown = screen.describe(PLAYED)
    assert shown != click.unstyle(shown)
    plain = click.unstyle(shown)
    assert max(map(len, plain.splitlines())) <= 100
    words = " ".join(plain.split())
    assert all(one.why in words for one in reasons.reasons(PLAYED))
    assert "Why 4 of 4 rows differ" in plain
    assert "    10         3        32  U          3  cancelled      50  a tie with line 6" in plain


class Tags(HTMLParser):
    """Collects the tags and the addresses of a page."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_is_one_file_with_escaped_texts() -> None:
    bad = Broken(4, "value", "<script>alert(1)</script>")
    text = page.render(replace(PLAYED, errors=[*PLAYED.errors[:1], bad]))
    tags = Tags()
    tags.feed(text)
    assert "script" not in tags.tags
    assert tags.addresses == []
    assert "&lt;script&gt;alert(1)" in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    assert all(one.why in text for one in reasons.reasons(PLAYED)[:3])


def test_the_example_has_the_jars_of_the_example_of_a_profile_and_the_macros() -> None:
    example = (ROOT / "profiles.yml.example").read_text()
    outputs: Any = yaml.safe_load(example)["trueup"]["outputs"]
    jars = outputs["local"]["server_side_parameters"]["spark.jars.packages"]
    assert jars.strip() == play.JARS
    assert (files("dbt_trueup") / "macros" / "collection" / "commit.sql").is_file()


@pytest.mark.long
def test_spark_and_dbt_make_what_the_command_shows(tmp_path: Path) -> None:
    file = tmp_path / "pages" / "demo.html"
    words = ["demo", "--json", "--html", str(file)]
    ran = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    shown = json.loads(ran.stdout)
    # Order 2 was deleted, and orders 3 and 4 are in error.
    assert shown["rows"] == [{"order_id": 1, "status": "sent", "amount": 20, "line": None}]
    assert [(one["order_id"], one["kind"]) for one in shown["errors"]] == [(3, "tie"), (4, "value")]
    assert [one["line"] for one in shown["merged"]] == [8, 9, 10, 7]
    assert len(shown["batches"]) == 3
    assert all(one["differs"] for one in shown["reasons"])
    assert shown["reasons"][0]["why"] in file.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"pages"}
