"""Reads SQL with Jinja in it, without a parser: only what the rules need.

Dialects differ and Jinja may write anything. So a rule looks for a known form, and an unknown form
is no finding.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NOT_CODE = re.compile(
    r"\{#.*?#\}|--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL
)
"""A comment of Jinja or of SQL, or a text in quotes."""

IS_DENIED = re.compile(r"^not \(|\bnot\s+is_incremental")
"""A condition of Jinja that holds if `is_incremental()` does not."""

TAG = re.compile(r"\{%-?\s*(if|elif|else|endif)\b(.*?)-?%\}", re.DOTALL)

END_OF_TERM = re.compile(
    r"\b(?:and|or|where|on|having|qualify|when|then|else|end|select|group|order|union|limit)\b"
    r"|\{%|%\}|;",
    re.IGNORECASE,
)
"""What ends a comparison in a condition."""

OPENS_SUBQUERY = re.compile(r"[<>]=?[^<>;)]*\(\s*$")
"""What comes before a select that is one side of a comparison."""

NEAR = 200
"""How many characters before a select are searched for a comparison."""

BEGINS_CONDITION = re.compile(r"and|or|where|on|having|qualify|\{%|%\}", re.IGNORECASE)
"""What comes before a comparison that decides which rows are read."""


def blank(code: str) -> str:
    """Replace comments and what is in quotes with blanks. Each line stays where it is.

    Example:
        >>> blank("a = 'or' {# max #}--it's")
        "a = '  '                "
    """

    def blanks(found: re.Match[str]) -> str:
        text = found.group()
        empty = re.sub(r"[^\n]", " ", text)
        return text[0] + empty[1:-1] + text[-1] if text[0] in "'\"" else empty

    return NOT_CODE.sub(blanks, code)


def conditions_at(code: str, position: int) -> list[str]:
    """Return the conditions of Jinja under which a position of the code is used.

    Example:
        >>> conditions_at("{% if a %} x {% else %} y {% endif %} z", 11)
        ['a']
        >>> conditions_at("{% if a %} x {% else %} y {% endif %} z", 24)
        ['not (a)']
    """
    open_tags: list[str] = []
    for tag in TAG.finditer(code, 0, position):
        word, condition = tag.group(1), tag.group(2).strip()
        if word == "if":
            open_tags.append(condition)
        elif open_tags and word == "endif":
            open_tags.pop()
        elif open_tags:
            open_tags[-1] = condition if word == "elif" else f"not ({open_tags[-1]})"
    return open_tags


def is_in_incremental_part(code: str, position: int) -> bool:
    """Whether a position is used only if the table exists already.

    Example:
        >>> code = "{% if not var('full') and is_incremental() %} a {% else %} b {% endif %}"
        >>> is_in_incremental_part(code, code.index("a {")), is_in_incremental_part(code, 65)
        (True, False)
    """
    conditions = conditions_at(code, position)
    return any("is_incremental" in one and not IS_DENIED.search(one) for one in conditions)


def is_only_for_some_targets(code: str, position: int) -> bool:
    """Whether the code here is only for some targets, such as a limit for developers."""
    return any("target" in one or "var" in one for one in conditions_at(code, position))


def closing(code: str, opening: int) -> int:
    """Return the position of the bracket that closes one; the end of the code if none does.

    Example:
        >>> closing("f(a(b), c) + d", 1)
        9
    """
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code)


def split_list(text: str) -> list[str]:
    """Split a list at the commas that are not in brackets or in quotes.

    Example:
        >>> split_list("coalesce(a, b) desc, c || ',', d")
        ['coalesce(a, b) desc', "c || ','", 'd']
    """
    items, depth = [""], 0
    for character, code in zip(text, blank(text), strict=True):
        depth += {"(": 1, ")": -1}.get(code, 0)
        if code == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items if item.strip()]


def column_of(expression: str) -> str | None:
    """Return the column of an expression that is only a column; None for other expressions.

    Example:
        >>> column_of("t.`updated_at`"), column_of("a + b")
        ('updated_at', None)
    """
    found = re.fullmatch(r"(?:\w+\.)*`?(\w+)`?", expression.strip())
    return found.group(1).lower() if found and not found.group(1).isdigit() else None


def expressions_named(code: str, name: str) -> list[str]:
    """Return the expressions to which a select gives this name.

    Example:
        >>> expressions_named("select a, coalesce(b, c) as d, e from t", "d")
        ['coalesce(b, c)']
    """
    found = []
    for named in re.finditer(rf"\bas\s+`?{re.escape(name)}\b", code, re.IGNORECASE):
        depth, start = 0, named.start()
        while start > 0:
            character = code[start - 1]
            depth += {")": 1, "(": -1}.get(character, 0)
            is_select = re.search(r"\bselect(?:\s+distinct)?\s$", code[max(0, start - 20) : start])
            if depth < 0 or (depth == 0 and (character == "," or is_select)):
                break
            start -= 1
        found.append(code[start : named.start()].strip())
    return found


class Term(NamedTuple):
    """A comparison in a condition, such as `a > (select max(a) from b)`."""

    operator: str
    text: str


def term_around(code: str, start: int, end: int) -> Term | None:
    """Return the comparison whose right side has this part of the code; None if there is none.

    A comparison in a list of columns does not count: it decides nothing about the rows.

    Example:
        >>> code = "where a >= date_sub(max_a, 3) and b = 1"
        >>> term_around(code, 20, 25)
        Term(operator='>=', text='a >= date_sub(max_a, 3)')
    """
    before = [
        found
        for found in END_OF_TERM.finditer(code, 0, start)
        if found.group().lower() != "select"
        or not OPENS_SUBQUERY.search(code[: found.start()].rstrip()[-NEAR:])
    ]
    if before and not BEGINS_CONDITION.fullmatch(before[-1].group()):
        return None
    first = before[-1].end() if before else 0
    operator = None
    for found in re.finditer(r"[<>]=?", code[first:start]):
        operator = found.group()
    if operator is None:
        return None
    after = END_OF_TERM.search(code, end)
    last = after.start() if after else len(code)
    return Term(operator, code[first:last].strip())
