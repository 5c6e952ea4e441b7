"""Writes the errors of dbt in one line, for people."""

from __future__ import annotations

import re

from dbt.cli.exceptions import DbtUsageException

SHOWN_CHARACTERS = 600
"""How many characters of an error are shown: its beginning and its end."""

NOT_THE_ERROR = re.compile(r"> |compiled code at |at [\w.$/<>]+\(")
"""How lines begin that only say in which macro, Java method or file the error was."""

OF_INLINE_QUERY = re.compile(r"(?:\w+ Error )+in sql_operation inline_query \(from [^)]*\) ")
"""How dbt says that the error was in a query that our commands have made."""


def describe_error(error: BaseException) -> str:
    """Write an exception of dbt in one line."""
    text = to_one_line(str(error)) or type(error).__name__
    if isinstance(error, DbtUsageException) and text.startswith("Path "):
        return (
            f"{text.rstrip('.')}: dbt finds no profiles.yml; run this in the folder of the project,"
            " or give --profiles-dir"
        )
    return text


def to_one_line(text: object) -> str:
    r"""Write an error of dbt in one line, without the lines that only say where it was.

    Example:
        >>> to_one_line("Compilation Error in model a\n  it must be 1\n  > in macro b (c.sql)")
        'Compilation Error in model a it must be 1'
        >>> to_one_line("Runtime Error\n  at path ['name']: 1 is no text\n  at a.B.c(B.java:1)")
        "Runtime Error at path ['name']: 1 is no text"
        >>> inline = "sql_operation inline_query (from remote system.sql)"
        >>> to_one_line(f"Compilation Error in {inline}\n  it must be 1")
        'it must be 1'
        >>> to_one_line("It must be 1.\nGot: 2\nCorrect it.")
        'It must be 1. Got: 2. Correct it.'
    """
    lines = [line.strip() for line in str(text).splitlines()]
    joined = " ".join(
        f"{line}." if line.startswith("Got: ") and not line.endswith((".", ":", ";")) else line
        for line in lines
        if line and not NOT_THE_ERROR.match(line)
    )
    joined = OF_INLINE_QUERY.sub("", joined)
    if len(joined) <= SHOWN_CHARACTERS:
        return joined
    # The end of our own errors says what to do next.
    half = SHOWN_CHARACTERS // 2
    return f"{joined[:half].rstrip()} ... {joined[-half:].lstrip()}"
