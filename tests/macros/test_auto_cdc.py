"""The page docs/auto-cdc.md describes trueup's arguments correctly."""

from __future__ import annotations

import re

import jinja2

from tests.macros.package import ROOT, in_model, one_line

PAGE = (ROOT / "docs" / "auto-cdc.md").read_text()
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
    calls = re.findall(r"```jinja\n(.*?)```", PAGE, re.DOTALL)
    trueup = in_model("orders_commands", unique_key=["order_id"])

    theirs, ours = (jinja2.Template(call).render(trueup.context) for call in calls)

    subject = re.compile(r"'(Without `ts` [^']*|`trueup\.commands` argument `ts`)'")
    assert subject.sub("", one_line(theirs)) == subject.sub("", one_line(ours))


def test_the_table_has_a_line_for_every_auto_cdc_parameter() -> None:
    table = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
    python = {name for line in table for name in re.findall(r"`(\w+)`", line[1])}

    assert set(THEIRS) <= python


def test_every_argument_is_on_the_page_and_every_alias_comes_from_auto_cdc() -> None:
    arguments = in_model("orders_commands").macros["commands"].arguments
    names = arguments[arguments.index("keys") :]

    assert set(names) <= set(THEIRS)
    for argument in arguments[1:]:
        assert re.search(rf"`{argument}[`=]", PAGE) or f"    {argument}=" in PAGE
