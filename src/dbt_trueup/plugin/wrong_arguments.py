"""What Spark says of the SELECT of a model, without the plan of the query.

A run asks Spark for the columns of this SELECT before it does anything. If Spark cannot read it,
for example because a column is not in the log, Spark reports a plan of many lines.
"""

from __future__ import annotations

import re

from .commit_conflicts import MARK

COLUMNS = re.compile(r"\s*describe query\s")
"""How the statement begins that asks for the columns."""

REASON = re.compile(r"(\[[A-Z][A-Z_.]+\] .+?) SQLSTATE: \w{5}", re.DOTALL)
"""Why Spark cannot read a statement. A position and a plan follow."""

MISSING = re.compile(r"^\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (\S+) cannot be found")
"""What Spark says of a table that does not exist, and its name."""

LINE = re.compile(r"\n(.+)\n-*\^\^\^")
"""The line that has an error of syntax. Spark marks the place below it."""


def describe_wrong_arguments(statement: str, error: str) -> str | None:
    """Describe why Spark cannot read the SELECT of a model.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Returns:
        Three lines. None if this is another statement, or an error of another kind.

    Example:
        >>> unknown = "[UNRESOLVED_COLUMN] A column with name `nope` cannot be resolved."
        >>> statement = "describe query /* trueup: check */ with log as (...)"
        >>> print(describe_wrong_arguments(statement, f"{unknown} SQLSTATE: 42703; line 3"))
        The SELECT of the model must be SQL that Spark can read.
        Got: [UNRESOLVED_COLUMN] A column with name `nope` cannot be resolved.
        Correct the model, or the argument of `trueup.commands` that has it. Nothing is written.
        >>> missing = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`b` cannot be found. Verify"
        >>> print(describe_wrong_arguments(statement, f"{missing} it. SQLSTATE: 42P01; line 3"))
        Each table that the model reads must exist.
        Got: no table or view `a`.`b`
        Make it, or correct its name where a model, source or view has it. Nothing is written.
    """
    mark, reason, line = MARK.search(statement), REASON.search(error), LINE.search(error)
    is_ours = mark is not None and mark["step"] == "check" and COLUMNS.match(statement)
    if not is_ours or reason is None:
        return None
    missing = MISSING.search(reason[1])
    if missing is not None:
        return (
            "Each table that the model reads must exist.\n"
            f"Got: no table or view {missing[1]}\n"
            "Make it, or correct its name where a model, source or view has it."
            " Nothing is written."
        )
    return (
        "The SELECT of the model must be SQL that Spark can read.\n"
        f"Got: {' '.join(reason[1].split())}{f' In: {line[1].strip()}' if line else ''}\n"
        "Correct the model, or the argument of `trueup.commands` that has it. Nothing is written."
    )
