"""Writes the properties of a collection: its key, descriptions, tests, and the view's contract."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from .columns import typed_columns
from .log import column_of, quoted

if TYPE_CHECKING:
    from .facts import Facts

ODD_FIELD = re.compile(r"([<,] *)(?!\w+:)([^` <>,:()][^`<>,:()]*):")
QUOTED_FIELD = r"\1`\2`:"
"""A field of a struct that SQL needs in backquotes. Spark shows types without them."""

NO_OPTIONS = "      # meta: {trueup: {late: correct}}  # options of trueup, for all models\n"

HOLD_BACK_THE_LAST_TICK = """\
      # A commit may be spread over two files. So its tick is settled when the next commit is there.
      # The rows of a full load have one time: they show when the first change is there.
      meta: {trueup: {input_upper: log_upper - 1}}
"""

HOLD_BACK_THE_LAST_TIME = """\
      # Messages of one time may arrive in two parts. So it is settled when a later time is there.
      # If the topic has several partitions, hold back as much as one may lag behind another.
      meta: {trueup: {input_upper: log_upper - 1}}
"""

HOLD_BACK_THE_LAST_SECOND = """\
      # PostgreSQL may write two commits of one moment in the other order. So the last second is
      # settled when a later commit of this table is there. Without this delay: `late: correct`,
      # if nobody deletes old rows of the log.
      meta: {trueup: {input_upper: log_upper - 1000000}}
"""

HOLD_BACK_THE_LAST_DAY = """\
      # Rows of the last day may still come. So a day is settled when the next one has a row.
      meta: {trueup: {input_upper: log_upper - 1}}
"""

MODELS = """\
version: 2

models:
  - name: NAME_commands
    description: >
      The commands of the log `LOG`: one row per row that sets or deletes a key. A view for the
      batch; read `NAME` instead.
    # All models of the collection need the same key and options. They are written once, here.
    config: &config
      unique_key: KEY
OPTIONS
  - name: NAME_corrections
    description: The keys whose stored row does not match their commands, and why.
    config: *config

  - name: NAME_batch
    description: >
      The updates that the next append writes, and one progress row. The batch also reads
      `NAME_state`, by its name: dbt's graph cannot show this arrow, because it would close a loop.
    config: *config
    columns: &columns
      - name: _error
        description: "{{ doc('trueup', '_error') }}"
      - name: _error_key
        description: "{{ doc('trueup', '_error_key') }}"
      - name: _ts
        description: "{{ doc('trueup', '_update_ts') }}"
      - name: _diff
        description: "{{ doc('trueup', '_diff') }}"
      - name: _cause
        description: "{{ doc('trueup', '_cause') }}"
      - name: _kind
        description: "{{ doc('trueup', '_batch_kind') }}"
      - name: _seq
        description: "{{ doc('trueup', '_batch_seq') }}"
      - name: _lower
        description: "{{ doc('trueup', '_lower') }}"
      - name: _upper
        description: "{{ doc('trueup', '_upper') }}"
      - name: _batch_id
        description: "{{ doc('trueup', '_batch_id') }}"
      - name: _statistics
        description: "{{ doc('trueup', '_statistics') }}"

  - name: NAME_changelog
    description: >
      Every change of NAME: one row per addition and per retraction of a row, and one progress row
      per batch. Rows are only ever appended, and all other tables can be rebuilt from it.
    config: *config
    columns: *columns
    data_tests:
      - trueup.one_live_row_per_key:
          arguments:
            unique_key: KEY
      - trueup.consolidates_to_state:
          arguments:
            state: ref('NAME_state')
      - trueup.matches_certificate:
          arguments:
            unique_key: KEY
      - trueup.has_monotone_frontier:
          arguments:
            state: ref('NAME_state')

  - name: NAME_state
    description: >
      One row per row that exists now, one per open error, and one progress row. Made from the
      changelog; read `NAME` and `NAME_errors` instead.
    config: *config
    data_tests:
      - trueup.matches_certificate:
          arguments:
            unique_key: KEY
            changelog: ref('NAME_changelog')

  - name: MODEL
    description: The rows of NAME as they are now, one per key.
    config:
      <<: *config
      contract: {enforced: true}
    columns:
COLUMNS
    data_tests:
      - trueup.matches_certificate:
          arguments:
            unique_key: KEY
            changelog: ref('NAME_changelog')

  - name: NAME_errors
    description: The keys that are broken now, and why.
    config: *config
    columns:
      - name: _error_key
        description: "{{ doc('trueup', '_error_key') }}"
      - name: _error
        description: "{{ doc('trueup', '_error') }}"
    data_tests:
      - trueup.no_open_errors:
          config:
            warn_if: "> 0"
            error_if: "> 100"
"""

SOURCE = """\
version: 2

sources:
  - name: SCHEMA
    tables:
      - name: TABLE
        description: The log of NAME. Rows are only ever appended.
"""


def options_of(facts: Facts) -> str:
    """The line of the options, with a comment."""
    if facts["envelope"] == "dms":
        return HOLD_BACK_THE_LAST_TICK
    is_by_message = not facts["reclock"] and not facts["ts"]
    if facts["envelope"] == "debezium" and is_by_message:
        return HOLD_BACK_THE_LAST_TIME
    if facts["envelope"] == "wal2json" and is_by_message:
        return HOLD_BACK_THE_LAST_SECOND
    if facts["envelope"] == "plain" and str(facts["ts"]).startswith("unix_date("):
        return HOLD_BACK_THE_LAST_DAY
    return NO_OPTIONS


def model_properties(facts: Facts, file_format: str) -> str:
    """The properties of all models of a collection, whose tables have a table format."""
    words = {
        "OPTIONS": options_of(facts),
        "COLUMNS": view_columns(facts, file_format),
        "KEY": f"[{', '.join(map(scalar, facts['key']))}]",
        "MODEL": scalar(facts.name),
        "NAME": facts.name,
        "LOG": facts.log.name,
    }
    return fill(MODELS, words)


def source_properties(facts: Facts, schema: str) -> str:
    """The properties of the log as a source."""
    words = {"SCHEMA": scalar(schema), "TABLE": scalar(facts.log.name), "NAME": facts.name}
    text = fill(SOURCE, words)
    tick = column_of(facts.log, facts["ts"])
    columns = [*(facts["reclock"] or ()), *([tick] if tick else ())]
    if columns:
        text += "        columns:\n"
    for column in columns:
        quote = "            quote: true\n" if quoted(column) != column else ""
        text += f"          - name: {scalar(column)}\n{quote}            data_tests: [not_null]\n"
    return text


def view_columns(facts: Facts, file_format: str) -> str:
    """The columns of the view, with the types that its contract promises."""
    key, lines = facts["key"], []
    for column, kind in typed_columns(facts).items():
        stored = kind
        if file_format != "delta":
            # Iceberg has no integer type smaller than int.
            stored = re.sub(r"\b(tinyint|smallint)\b", "int", kind)
        what = f"The last known value of `{column}`."
        if column in key:
            what = "The key." if len(key) == 1 else "A part of the key."
        lines += [
            f"      - name: {scalar(column)}",
            *(["        quote: true"] if quoted(column) != column else []),
            f"        data_type: {scalar(ODD_FIELD.sub(QUOTED_FIELD, stored))}",
            f"        description: {json.dumps(what, ensure_ascii=False)}",
        ]
        if key == [column]:
            lines.append("        data_tests: [not_null, unique]")
    return "\n".join(lines)


def fill(template: str, words: dict[str, str]) -> str:
    """Replace the words in capitals of a template."""
    pattern = re.compile(rf"\b({'|'.join(words)})(?=_[a-z]|\b)")
    return pattern.sub(lambda found: words[found.group()], template)


def scalar(text: str) -> str:
    """A text in YAML, in quotes if it needs them.

    Example:
        >>> scalar("order_id"), scalar("no"), scalar("order no: 1")
        ('order_id', '"no"', '"order no: 1"')
    """
    words = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    is_plain = re.fullmatch(r"[A-Za-z_]\w*", text) and text.lower() not in words
    return text if is_plain else json.dumps(text, ensure_ascii=False)
