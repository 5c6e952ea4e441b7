"""The page that compares trueup with AUTO CDC describes all arguments."""

from __future__ import annotations

import re

import jinja2

from tests.macros.package import ROOT, in_model, one_line

PAGE = max(
    (page.read_text() for page in (ROOT / "docs").glob("*.md")),
    key=lambda text: text.count("column_list"),
)
THEIRS = [
    "target",
    "source",
    "keys",
    "sequence_by",
    "system_sequence_by",
    "ignore_null_updates",
    "ignore_null_updates_column_list",
    "ignore_null_updates_except_column_list",
    "columns_to_update",
    "apply_as_deletes",
    "apply_as_truncates",
    "column_list",
    "except_column_list",
    "stored_as_scd_type",
    "track_history_column_list",
    "track_history_except_column_list",
    "name",
    "once",
]
"""The parameters of create_auto_cdc_flow."""


def test_both_calls_on_the_page_render_the_same_sql() -> None:
    section = PAGE.partition("## From AUTO CDC")[2]
    calls = re.findall(r"\{\{ trueup\.commands\(.*?\) \}\}", section, re.DOTALL)
    trueup = in_model("orders", unique_key=["order_id"])

    theirs, ours, *_ = (one_line(jinja2.Template(call).render(trueup.context)) for call in calls)

    assert "keys=" in calls[0]
    assert theirs == ours


def test_the_table_has_a_line_for_every_auto_cdc_parameter() -> None:
    table = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
    python = {name for line in table for name in re.findall(r"`(\w+)`", line[1])}

    assert set(THEIRS) <= python


def test_every_argument_is_on_the_page_and_every_alias_comes_from_auto_cdc() -> None:
    arguments = in_model("orders").macros["commands"].arguments
    names = arguments[arguments.index("keys") :]

    assert set(names) <= set(THEIRS)
    for argument in arguments[1:]:
        assert re.search(rf"`{argument}[`=]", PAGE) or f"    {argument}=" in PAGE
