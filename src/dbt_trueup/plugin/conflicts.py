"""What the loser of a race between two runs is told.

Most losers meet trueup's own one-line error. Where both commit at the same moment, the table format
decides, and reports it with a page of Java. This says the same in trueup's words.
"""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REWRITTEN = "ValidationException: Cannot commit, missing data files"
"""How Iceberg refuses deletes in files that somebody has rewritten since they were read."""

REPEATS = 3
"""How often an apply that has lost to a rewrite is tried again."""

CONFLICTS = (
    "ValidationException: Found conflicting files",
    REWRITTEN,
    "org.apache.iceberg.exceptions.CommitFailedException",
    # The table was replaced, or dropped and made anew, since the statement read it.
    "is not an ancestor of",
    "Cannot determine history between starting snapshot",
    "Table UUID does not match",
    "AlreadyExistsException: Table was created concurrently",
    "AlreadyExistsException: View was updated concurrently",
    "DELTA_CONCURRENT",
)
"""How Iceberg and Delta name a commit that came second."""

MISMATCH = re.compile(r"upper mismatch: batch \d+ expected lower ")
"""What our own append raises where another run came first; its text has no number in this place."""

MARK = re.compile(r"/\* trueup: (?P<step>\w+)(?:, on_conflict: (?P<on_conflict>\w+))? \*/")
"""What the macro `_mark` writes into each of our statements that writes, and nothing else does."""

TARGET = re.compile(
    r"\b(?:merge into|insert into|insert overwrite|delete from|update"
    r"|create (?:or replace )?(?:table|view)(?: if not exists)?)\s+(\S+)"
)
"""What a statement writes to."""

MOVED = "state moved: another run wrote to {} at the same moment;"

LOST = {
    "append": (
        "upper mismatch: another run appended to {} at the same moment;"
        " nothing of this batch is written; run again"
    ),
    "apply": f"{MOVED} nothing is applied; run again",
    "heal": f"{MOVED} nothing is healed; run again",
    "rebuild": f"{MOVED} nothing is healed; run again",
    "compact": "another run wrote to {} at the same moment; nothing is compacted; run again",
    "discard": (
        "upper mismatch: another run came first, and staged a batch in {} at the same moment;"
        " nothing of this one is written; run again"
    ),
    "create": "another run made {} at the same moment; run again",
}
"""What each of our statements has lost."""

LOST_ANY = "another run wrote to {} at the same moment; run again"
"""The same of all others."""


class LostRaceError(RuntimeError):
    """Another run committed first; nothing of this statement is written."""


def lost_race(statement: str, error: str) -> str | None:
    """Say what a failed statement has lost to another run.

    Args:
        statement: The SQL text.
        error: The text of what it failed with.

    Returns:
        One line; None where the statement is none of ours, or failed of something else.

    Example:
        >>> heal = "/* trueup: heal */ merge into files_state as state"
        >>> lost_race(heal, "DELTA_CONCURRENT_WRITE")
        'state moved: another run wrote to files_state at the same moment; nothing is healed; \
run again'
    """
    mark, target = MARK.search(statement), TARGET.search(statement)
    if not mark or not target or not any(conflict in error for conflict in CONFLICTS):
        return None
    return LOST.get(mark["step"], LOST_ANY).format(target[1])


def may_be_skipped(statement: str, error: str) -> bool:
    """Say whether a failed statement is an append that another run came first to, and may be.

    Args:
        statement: The SQL text.
        error: The text of what it failed with.

    Returns:
        True where the option `on_conflict` of the collection is `skip`, and it lost a race.

    Example:
        >>> append = "/* trueup: append, on_conflict: skip */ merge into"
        >>> may_be_skipped(append, "upper mismatch: batch 3 expected lower 7, ...")
        True
    """
    mark = MARK.search(statement)
    if not mark or mark["on_conflict"] != "skip":
        return False
    return bool(lost_race(statement, error) or MISMATCH.search(error))


def may_be_repeated(statement: str, error: str) -> bool:
    """Say whether a failed statement is an apply that has lost to a rewrite of the state's files.

    A rewrite leaves the rows as they are, and nothing of the apply was written. That the state is
    still at the batch that the tail was read after, the apply checks itself.

    Args:
        statement: The SQL text.
        error: The text of what it failed with.

    Returns:
        True where Iceberg missed files that the apply was about to delete rows of.

    Example:
        >>> may_be_repeated("/* trueup: apply */ merge into files_state", REWRITTEN + ": [a]")
        True
        >>> may_be_repeated("merge into mine as state", REWRITTEN + ": [a]")
        False
    """
    mark = MARK.search(statement)
    return REWRITTEN in error and mark is not None and mark["step"] == "apply"


def install() -> None:
    """Make Spark sessions of this process report lost races plainly. Repeating changes nothing."""
    sql = SparkSession.sql
    if hasattr(sql, "is_plain"):
        return

    @wraps(sql)
    def plain_sql(session: SparkSession, statement: str, *rest: Any, **named: Any) -> DataFrame:
        repeats = 0
        while True:
            try:
                return sql(session, statement, *rest, **named)
            except Exception as error:  # noqa: PERF203 - three times at most
                if may_be_repeated(statement, str(error)) and repeats < REPEATS:
                    repeats += 1
                    continue
                if may_be_skipped(statement, str(error)):
                    return sql(session, "select 1 where false")
                message = lost_race(statement, str(error))
                if message is None:
                    raise
                raise LostRaceError(message) from error

    plain_sql.is_plain = True  # type: ignore[attr-defined]
    SparkSession.sql = plain_sql  # type: ignore[assignment]
