"""What sqlfluff finds in the SQL that our macros make. Only the rules that find mistakes are on."""

from __future__ import annotations

from functools import cache

from sqlfluff.core import FluffConfig, Linter

from tests.conftest import ROOT

UNKNOWN_TO_SQLFLUFF = (
    "section: 'group by all",
    "section: \"case when _kind = 'progress' then struct",
)
"""Its grammar of Spark lacks `group by all` and `struct(column.* except (field))`."""


@cache
def _linter() -> Linter:
    rules = str(ROOT / "tests" / "compiled.sqlfluff")
    return Linter(FluffConfig.from_root(extra_config_path=rules, ignore_local_config=True))


def mistakes(sql: str) -> set[str]:
    """Find the line, the rule and the text of each mistake."""
    return {
        f"{one.line_no}: {one.rule_code()} {one.desc()}"
        for one in _linter().lint_string(sql).violations
        if not any(text in one.desc() for text in UNKNOWN_TO_SQLFLUFF)
    }
