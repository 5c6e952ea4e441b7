"""What SQL itself said with `raise_error`, if Spark wraps it in a page of Java.

Usually the error of a statement is the text of `raise_error`. If it is raised in a subquery, in a
broadcast, or while Spark plans, Spark reports the page of the thread that met it.
"""

from __future__ import annotations

import re

RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] .*? SQLSTATE: P0001", re.DOTALL)
"""The form in which Spark reports the text of `raise_error`."""

JAVA = re.compile(r"^\s*at [\w.$/]+\(", re.MULTILINE)
"""A line of a page of Java: the method in which an error was."""


def describe_raised_error(error: str) -> str | None:
    r"""Give the text of `raise_error` alone.

    Args:
        error: The text of an error of Spark.

    Returns:
        The text, in the form that Spark gives it elsewhere. None if SQL raised no error, or if the
        error has no page of Java.

    Example:
        >>> told = "[USER_RAISED_EXCEPTION] too old SQLSTATE: P0001"
        >>> describe_raised_error(f"An error occurred: {told}\n\tat a.B.c(B.java:1)")
        '[USER_RAISED_EXCEPTION] too old SQLSTATE: P0001'
    """
    raised = RAISED.search(error)
    return raised[0] if raised is not None and JAVA.search(error) else None
