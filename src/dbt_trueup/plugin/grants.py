"""What an error of Spark means if the engine has no grants.

The config `grants` makes dbt-spark ask `show grants on <table>`. Spark has no such statement.
It reports a syntax error, which does not name the config.
"""

from __future__ import annotations

import re

QUESTION = re.compile(r"\bshow grants on (?P<relation>.+)", re.IGNORECASE)
"""How dbt asks for the grants of a relation."""


def describe_missing_grants(statement: str, error: str) -> str | None:
    """Describe why dbt could not look at the grants of a relation.

    Args:
        statement: The SQL text.
        error: The text of its error.

    Returns:
        Three lines. None if this is another statement, or another error.

    Example:
        >>> syntax = "[PARSE_SYNTAX_ERROR] Syntax error at or near 'on'"
        >>> print(describe_missing_grants("show grants on shop.orders", syntax))
        The config `grants` must be left out: this Spark has no statement GRANT.
        Got: grants for shop.orders
        Remove the config, or use an engine with grants. What the model wrote stays.
    """
    question = QUESTION.search(statement)
    if question is None or "PARSE_SYNTAX_ERROR" not in error:
        return None
    return (
        "The config `grants` must be left out: this Spark has no statement GRANT.\n"
        f"Got: grants for {question['relation'].strip()}\n"
        "Remove the config, or use an engine with grants. What the model wrote stays."
    )
