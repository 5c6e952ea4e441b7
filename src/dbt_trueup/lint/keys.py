"""Rules about the key: is it there, may it be null, is it unique, what deletes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .filters import last_values
from .model import NOT_NULL, strategy_of
from .source import expressions_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .finding import Found
    from .model import Model

NEVER_NULL = re.compile(
    r"\{\{|\b(?:coalesce|ifnull|nvl|concat_ws|xxhash64|hash|uuid|row_number|count|case)\b",
    re.IGNORECASE,
)
"""An expression that is never null, or that the rule cannot judge."""

ONE_ROW_PER_KEY = re.compile(
    r"\b(?:row_number|rank|dense_rank|max_by|min_by|arg_?max|arg_?min|last_value|first_value)\s*\("
    r"|\bqualify\b|\bgroup\s+by\b|\bselect\s+distinct\b|dedup|\btrueup\.",
    re.IGNORECASE,
)

DELETE = re.compile(
    r"delete|tombstone|removed|\b_*op\b|\boperation\b|change_type|rowkind|is_active|is_current"
    r"|dbt_valid_to",
    re.IGNORECASE,
)
"""A word which shows that the SQL knows about deletes."""

MARKER = re.compile(r"_*(?:op|operation|change_type|cdc_operation|rowkind)", re.IGNORECASE)
"""The name of a column that says what a row of a log does."""

ALL_COLUMNS = re.compile(
    r"\bselect\s+(?:\w+\.)?\*\s+from\s+(?:(\{\{\s*(?:source|ref)\b)|(\w+))", re.IGNORECASE
)
"""A select of all columns: of a source or another model, or of a CTE."""

MODIFIED = re.compile(r"updat|modif|chang", re.IGNORECASE)
"""The name of a column that says when a row was changed."""


def no_key(model: Model) -> Iterator[Found]:
    """A merge without a key."""
    if model.strategy == "merge" and not model.key:
        hazard = (
            "The merge has no `unique_key`, so no row ever matches. Each run inserts all rows that"
            " it reads."
        )
        yield model.line(0), hazard, "{{ config(unique_key=['<the key>']) }}"


def ignored_key(model: Model) -> Iterator[Found]:
    """A key that dbt-spark does not use."""
    if model.key and is_key_ignored(model):
        is_given = model.node.config.incremental_strategy is not None
        strategy = f"`{model.strategy}`" + ("" if is_given else ", the default of dbt-spark,")
        hazard = (
            f"The strategy {strategy} ignores `unique_key`. A row that is read again is in the"
            " table twice, or it replaces a whole partition."
        )
        yield (
            model.line_of_key(),
            hazard,
            "{{ config(incremental_strategy='merge', file_format='iceberg') }} (or delta)",
        )


def is_key_ignored(model: Model) -> bool:
    """Whether the strategy does not use the key."""
    ignoring = ("append", "insert_overwrite", "microbatch")
    return model.adapter == "spark" and model.strategy in ignoring


def nullable_key(model: Model) -> Iterator[Found]:
    """A key column that may be null."""
    for column in () if is_key_ignored(model) else model.key:
        if not re.fullmatch(r"\w+", column) or is_never_null(model, column):
            continue
        hazard = (
            f"`{column}` may be null, and the merge compares keys with `=`. A row with a null key"
            " never matches, so each run inserts it again."
        )
        fix = (
            f"add the data test `not_null` to `{column}`, and `where {column} is not null` to the"
            " model; trueup makes such a row an error that you can read (`null_keys`)"
        )
        yield model.line_of_key(), hazard, fix


def is_never_null(model: Model, column: str) -> bool:
    """Whether the model or its tests show that a column of the key is never null."""
    is_filtered = rf"(?<!\w)`?{re.escape(column)}`?\s+is\s+not\s+null\b"
    return (
        model.is_tested(column, NOT_NULL)
        or model.is_constrained(column)
        or not model.is_known
        or re.search(is_filtered, model.all_code, re.IGNORECASE) is not None
        or any(NEVER_NULL.search(one) for one in expressions_named(model.all_code, column))
    )


def no_deduplication(model: Model) -> Iterator[Found]:
    """A merge of rows that may have a key twice."""
    if (
        not model.key
        or is_key_ignored(model)
        or not model.is_known
        or ONE_ROW_PER_KEY.search(model.all_code)
        or model.is_key_tested()
        or has_key_of_parent(model)
    ):
        return
    key = ", ".join(model.key)
    columns = [one.column for one in last_values(model) if one.column]
    order = f"{columns[0]} desc, <a unique column> desc" if columns else "<newest first>"
    hazard = (
        f"Nothing makes ({key}) unique before the merge. If a run reads a key twice, the merge"
        " fails or the key is there twice."
    )
    fix = (
        f"row_number() over (partition by {key} order by {order}) as row_no ... where row_no = 1;"
        " `trueup.commands` does it with `sequence_by`"
    )
    yield model.line_of_key(), hazard, fix


def has_key_of_parent(model: Model) -> bool:
    """Whether the model reads another one that is unique by the same key."""
    for parent in model.parents():
        given = getattr(parent.config, "unique_key", None) or []
        is_same = set([given] if isinstance(given, str) else given) == set(model.key)
        if is_same and not has_versions(parent, model):
            return True
    return False


def has_versions(parent: Any, model: Model) -> bool:
    """Whether a table may have several rows of a key: versions, or rows that are only appended."""
    materialized = str(parent.config.materialized)
    if materialized == "incremental":
        strategy = strategy_of(parent.config, model.adapter, has_key=True)
        return strategy not in ("merge", "delete+insert")
    return materialized == "snapshot"


def no_deletes(model: Model) -> Iterator[Found]:
    """A model that keeps rows which its input deletes."""
    hooks = [*model.node.config.pre_hook, *model.node.config.post_hook]
    if any(DELETE.search(hook.sql) for hook in hooks):
        return
    markers = [
        (parent.name, column)
        for parent in model.parents()
        for column in parent.columns
        if MARKER.fullmatch(column)
    ]
    if markers and not DELETE.search(model.all_code) and not reads_all_columns(model):
        table, column = markers[0]
        hazard = (
            f"`{table}` has the column `{column}`, but the model does not read it. So a deleted"
            " row stays in the table as if it still existed."
        )
        fix = (
            f"keep deleted rows, and mark them in a column is_deleted that you set from `{column}`;"
            f" trueup deletes them: `trueup.commands(..., delete_when=\"{column} = 'D'\")`"
        )
        yield model.line(0), hazard, fix
        return
    for one in last_values(model):
        if one.column and MODIFIED.search(one.column) and not knows_deletes(model):
            hazard = (
                f"A row that is deleted in the source gets no new `{one.column}`, so the filter"
                " never sees it. It stays in this table for ever."
            )
            fix = (
                "read a log that has deletes, or full extracts: `trueup.snapshot_commands` turns"
                " them into a log with a delete for each missing key"
            )
            yield model.line(one.start), hazard, fix
            return


def reads_all_columns(model: Model) -> bool:
    """Whether a model takes all columns of what it reads, also through a CTE that does so."""
    for found in ALL_COLUMNS.finditer(model.code):
        before = model.code[: found.start()]
        if before.count("(") > before.count(")"):
            continue  # a CTE or another subquery
        if found[1]:
            return True
        cte = rf"\b{re.escape(found[2])}\s+as\s*\(\s*" + ALL_COLUMNS.pattern
        of_cte = re.search(cte, model.code, re.IGNORECASE)
        if of_cte and of_cte[1]:
            return True
    return False


def knows_deletes(model: Model) -> bool:
    """Whether the code or the columns of a model, or of what it reads, show deletes."""
    columns = [*model.node.columns, *(name for one in model.parents() for name in one.columns)]
    return DELETE.search(" ".join([model.all_code, *columns])) is not None


def snapshot_keeps_deletes(model: Model) -> Iterator[Found]:
    """A snapshot that does not look for deletes."""
    config = model.node.config
    if config.get("hard_deletes") not in (None, "ignore") or config.get("invalidate_hard_deletes"):
        return
    hazard = (
        "The snapshot ignores deletes: a row that is gone from the source stays current for ever."
    )
    fix = (
        "hard_deletes: new_record (or invalidate); over a log, `trueup.history` has every version"
        " and every delete"
    )
    yield model.line(0), hazard, fix
