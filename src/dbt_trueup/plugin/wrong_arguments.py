"""What Spark says of the SQL that a user gave to `trueup.commands`, without the plan of the query.

The model of the commands asks Spark for the columns of this SQL before it makes its view. If Spark
cannot read it, for example because a column is not in the log, Spark reports a plan of many lines.
"""

from __future__ import annotations

import re

from .commit_conflicts import MARK

REASON = re.compile(r"(\[[A-Z][A-Z_.]+\] .+?) SQLSTATE: \w{5}", re.DOTALL)
"""Why Spark cannot read a statement. A position and a plan follow."""

MISSING = re.compile(r"^\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (\S+) cannot be found")
"""What Spark says of a table that does not exist, and its name."""

LINE = re.compile(r"\n(.+)\n-*\^\^\^")
"""The line that has an error of syntax. Spark marks the place below it."""


def describe_wrong_arguments(statement: str, error: str) -> str | None:
    """Describe why Spark cannot read the arguments of `trueup.commands`.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Returns:
        Three lines. None if this is another statement, or an error of another kind.

    Example:
        >>> unknown = "[UNRESOLVED_COLUMN] A column with name `nope` cannot be resolved."
        >>> statement = "describe query /* trueup: check */ with log as (...)"
        >>> print(describe_wrong_arguments(statement, f"{unknown} SQLSTATE: 42703; line 3"))
        The arguments of `trueup.commands` must be SQL that Spark can read over the log.
        Got: [UNRESOLVED_COLUMN] A column with name `nope` cannot be resolved.
        Correct the argument that has it. The view is not made.
        >>> missing = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`b` cannot be found. Verify"
        >>> print(describe_wrong_arguments(statement, f"{missing} it. SQLSTATE: 42P01; line 3"))
        Each table that the model of the commands reads must exist.
        Got: no table or view `a`.`b`
        Make it, or correct its name where a model, source or view has it. The view is not made.
    """
    mark, reason, line = MARK.search(statement), REASON.search(error), LINE.search(error)
    if mark is None or mark["step"] != "check" or reason is None:
        return None
    missing = MISSING.search(reason[1])
    if missing is not None:
        return (
            "Each table that the model of the commands reads must exist.\n"
            f"Got: no table or view {missing[1]}\n"
            "Make it, or correct its name where a model, source or view has it."
            " The view is not made."
        )
    return (
        "The arguments of `trueup.commands` must be SQL that Spark can read over the log.\n"
        f"Got: {' '.join(reason[1].split())}{f' In: {line[1].strip()}' if line else ''}\n"
        "Correct the argument that has it. The view is not made."
    )
