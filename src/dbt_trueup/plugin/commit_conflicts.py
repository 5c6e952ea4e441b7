"""What the error of a statement means if another run committed at the same moment.

Most runs that lose a race see an error that trueup's SQL raises, in one line. If both runs commit
at the same moment, the table format decides and reports a page of Java instead. This module words
that error as trueup would.

A statement of trueup is recognised by its mark, `/* trueup: <step> */`, and by nothing else.
"""

from __future__ import annotations

import re

LEFT = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
"""Delta's error for a new table whose folder has files already.

Delta writes the files of a table first, and lets the catalog know it later.
"""

CONFLICTS = (
    "ValidationException: Found conflicting files",
    "ValidationException: Found new conflicting delete files",
    "ValidationException: Found conflicting deleted files",
    "ValidationException: Cannot commit, missing data files",
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
    # Somebody has doubled rows of the store since the look. On Delta our statement cannot see that.
    "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
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

RENAME = re.compile(r"/\* trueup: rename \*/\s*alter table \S+ rename to \S+__before`?(?!\S)")
"""The statement that puts a table aside which has the name of a collection."""

RENAMED = (
    GONE,
    "[TABLE_OR_VIEW_ALREADY_EXISTS]",
    "AlreadyExistsException",
    "[EXPECT_TABLE_NOT_VIEW",
    # Spark 4.1 has no other error for an Iceberg view.
    "No plan for RenameTable",
)
"""Its errors if another run has put the table aside, and maybe made the view."""

MISMATCH = re.compile(r"\[USER_RAISED_EXCEPTION\] upper mismatch: ")
"""The error that our commit raises itself if another run came first.

It is matched by its text, because Spark gives all errors of `raise_error` one class.
"""

_MESSAGES = {
    "create": "another run made {} at the same moment; run again",
    "look": "{} is gone: a rebase has dropped it, or somebody else; run again",
}
"""The message of each step that lost a race. A commit has none: see `may_be_skipped`."""

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
        >>> create = "/* trueup: create */ create table files_plan"
        >>> describe_lost_race(create, "DELTA_CONCURRENT_WRITE")
        'another run made files_plan at the same moment; run again'
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
    """Return whether a failed statement is a commit that lost a race and may be left out.

    After the commit a run looks for its batch. If it is missing, the run looks again, or fails if
    the option `on_conflict` says so.

    So is a statement that makes a store if there is none, gives it a column, or puts a table aside,
    if another run has done so: both read the same model.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Example:
        >>> commit = "/* trueup: commit */ merge into"
        >>> may_be_skipped(commit, "[USER_RAISED_EXCEPTION] upper mismatch: ...")
        True
    """
    if STORE.search(statement):
        return any(exists in error for exists in EXISTS)
    if STORE_COLUMN.search(statement):
        return "[FIELD_ALREADY_EXISTS]" in error
    if RENAME.search(statement):
        return any(renamed in error for renamed in RENAMED)
    mark = MARK.search(statement)
    if mark is None or mark["step"] != "commit":
        return False
    return bool(MISMATCH.search(error)) or any(conflict in error for conflict in CONFLICTS)


def may_be_repeated(statement: str, error: str) -> bool:
    """Return whether a failed statement lost a race and may be sent again.

    It makes or replaces a view, or gives a store a column: if two do it at once, they do the same.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Example:
        >>> view = "/* trueup: create */ create or replace view files as select 1"
        >>> may_be_repeated(view, "DELTA_CONCURRENT_WRITE")
        True
        >>> may_be_repeated("create or replace view mine as select 1", "DELTA_CONCURRENT_WRITE")
        False
    """
    is_repeatable = VIEW.search(statement) or STORE_COLUMN.search(statement)
    return bool(is_repeatable) and any(conflict in error for conflict in CONFLICTS)
