"""What the error of a statement means if another run committed at the same moment.

Most runs that lose a race see an error that trueup's SQL raises, in one line. If both runs commit
at the same moment, the table format decides and reports a page of Java instead. This module words
that error as trueup would.

A statement of trueup is recognised by its mark, `/* trueup: <step> */`, and by nothing else.
"""

from __future__ import annotations

import re

REWRITTEN = "ValidationException: Cannot commit, missing data files"
"""Iceberg's error if a statement deletes rows of files that were rewritten since it read them."""

OPTIMIZED = re.compile(r"\[DELTA_CONCURRENT_[^\n]* a concurrent (?:OPTIMIZE|REORG) ")
"""Delta's error if the files that a statement has read were rewritten since then."""

LEFT = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
"""Delta's error for a new table whose folder has files already.

Delta writes the files of a table first, and lets the catalog know it later.
"""

CONFLICTS = (
    "ValidationException: Found conflicting files",
    "ValidationException: Found new conflicting delete files",
    "ValidationException: Found conflicting deleted files",
    REWRITTEN,
    "org.apache.iceberg.exceptions.CommitFailedException",
    # The table was replaced, or dropped and created again, since the statement read it.
    "is not an ancestor of",
    "Cannot determine history between starting snapshot",
    "Table UUID does not match",
    "AlreadyExistsException: Table was created concurrently",
    # `create table if not exists`: another run made the table after the statement had looked.
    "AlreadyExistsException: Table already exists",
    "AlreadyExistsException: View was updated concurrently",
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS",
    "DELTA_TABLE_ALREADY_EXISTS",
    LEFT,
)
"""The errors of Iceberg and Delta for a commit that came second."""

GONE = "[TABLE_OR_VIEW_NOT_FOUND]"
"""Spark's error for a table that another run has dropped since this run began."""

MARK = re.compile(r"/\* trueup: (?P<step>\w+) \*/")
"""The comment that the macro `_step_marker` puts into our statements that write, check or look."""

TARGET = re.compile(
    r"\b(?:merge into|insert into|insert overwrite|delete from|update|alter table"
    r"|drop table(?: if exists)?"
    r"|create (?:or replace )?(?:table|view)(?: if not exists)?|show tblproperties)\s+(\S+)"
)
"""The table that a marked statement is about. Only used to name it in the message."""

STORE = re.compile(r"/\* trueup: create \*/\s*create table if not exists \S+__trueup`?\s")
"""The statement that makes the store of a collection, unless there is one."""

EXISTS = (
    "AlreadyExistsException: Table was created concurrently",
    "AlreadyExistsException: Table already exists",
    "DELTA_TABLE_ALREADY_EXISTS",
)
"""The errors of `create table if not exists` if another run has made the table meanwhile."""

STORE_COLUMN = re.compile(
    r"/\* trueup: alter \*/\s*alter table \S+__trueup`? (?:add|alter) column\s"
)
"""A statement that gives the store of a collection a new column, or a wider type."""

VIEW = re.compile(r"/\* trueup: create \*/\s*create or replace view\s")
"""A statement that makes or replaces a view."""

MISMATCH = re.compile(
    r"upper mismatch: batch \d+ expected lower |\[USER_RAISED_EXCEPTION\] upper mismatch: "
)
"""The error that our append or commit raises itself if another run came first.

It is matched by its text, because Spark gives all errors of `raise_error` one class.
"""

_MOVED = "state moved: another run wrote to {} at the same moment;"

_MESSAGES = {
    "apply": f"{_MOVED} nothing is applied; run again",
    "heal": f"{_MOVED} nothing is healed; run again",
    "rebuild": f"{_MOVED} nothing is healed; run again",
    "compact": "another run wrote to {} at the same moment; nothing is compacted; run again",
    "discard": (
        "upper mismatch: another run came first, and staged a batch in {} at the same moment;"
        " nothing of this one is written; run again"
    ),
    "create": "another run made {} at the same moment; run again",
    "look": "{} is gone: a rebase has dropped it, or somebody else; run again",
}
"""The message of each step that lost a race. An append has none: see `may_be_skipped`."""

_LEFT_MESSAGE = (
    "another run is making {0} at the same moment, or a killed run has left its folder; run again."
    " If the error stays, look into the folder of the table. If it has a folder _delta_log, let the"
    " catalog know the table: create table {0} using delta location '<its folder>'. Such a table"
    " keeps its folder when it is dropped. If it has none, nothing was committed: delete the folder"
)

_ANY_MESSAGE = "another run wrote to {} at the same moment; run again"
"""The message of all other steps."""


def describe_lost_race(statement: str, error: str) -> str | None:
    """Describe how a failed statement lost a race.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Returns:
        One line. None if the statement is not ours, or if it failed for another reason.

    Example:
        >>> heal = "/* trueup: heal */ merge into files_state as state"
        >>> describe_lost_race(heal, "DELTA_CONCURRENT_WRITE")
        'state moved: another run wrote to files_state at the same moment; nothing is healed; \
run again'
    """
    mark = MARK.search(statement)
    if mark is None:
        return None
    conflicts = (GONE,) if mark["step"] == "look" else CONFLICTS
    if not any(conflict in error for conflict in conflicts):
        return None
    target = TARGET.search(statement)
    message = _LEFT_MESSAGE if LEFT in error else _MESSAGES.get(mark["step"], _ANY_MESSAGE)
    return message.format(target[1] if target else "the table")


def may_be_skipped(statement: str, error: str) -> bool:
    """Return whether a failed statement is an append that lost a race and may be left out.

    After the append a run looks for its batch. If it is missing, the run discards it and, depending
    on the option `on_conflict`, fails, tries again or says that it was skipped.

    So is a statement that makes a store if there is none, or gives it a column, if another run has
    done so: both read the same model.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Example:
        >>> append = "/* trueup: append */ merge into"
        >>> may_be_skipped(append, "upper mismatch: batch 3 expected lower 7, ...")
        True
    """
    if STORE.search(statement):
        return any(exists in error for exists in EXISTS)
    if STORE_COLUMN.search(statement):
        return "[FIELD_ALREADY_EXISTS]" in error
    mark = MARK.search(statement)
    if mark is None or mark["step"] not in {"append", "commit"}:
        return False
    return bool(MISMATCH.search(error)) or any(conflict in error for conflict in CONFLICTS)


def may_be_repeated(statement: str, error: str) -> bool:
    """Return whether a failed statement is an append or an apply that lost to a rewrite of files.

    A rewrite changes no row, and nothing of the statement was written. The statement itself checks
    that its table is still at the batch that it expects. So it can be repeated.

    So can one that makes or replaces a view, or that gives a store a column: if two do it at once,
    they do the same.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Example:
        >>> may_be_repeated("/* trueup: apply */ merge into files_state", REWRITTEN + ": [a]")
        True
        >>> may_be_repeated("merge into mine as state", REWRITTEN + ": [a]")
        False
    """
    if VIEW.search(statement) or STORE_COLUMN.search(statement):
        return any(conflict in error for conflict in CONFLICTS)
    mark = MARK.search(statement)
    if mark is None or mark["step"] not in {"append", "apply"}:
        return False
    return REWRITTEN in error or OPTIMIZED.search(error) is not None
