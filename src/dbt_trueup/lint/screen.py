"""Writes findings for people."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from dbt_trueup.plural import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .finding import Finding

WIDTH = 100


def describe_findings(findings: Sequence[Finding], model_count: int) -> str:
    """Write each finding with its fix, and how many there are."""
    if not model_count:
        return (
            "nothing to check: none of the models is a snapshot or an incremental model that is"
            " merged"
        )
    parts = [describe_finding(one) for one in findings]
    models = len({one.model for one in findings})
    where = f"{models:,} of {count(model_count, 'model')}"
    return "\n\n".join([*parts, f"{count(len(findings), 'finding')} in {where}"])


def describe_finding(one: Finding) -> str:
    """Write where a hazard is, what it is, and how to remove it."""
    return "\n".join(
        [
            f"{one.file}:{one.line}  {one.model}  {one.rule}",
            fill(one.hazard, WIDTH, initial_indent="  ", subsequent_indent="  "),
            fill(f"fix: {one.fix}", WIDTH, initial_indent="  ", subsequent_indent="       "),
        ]
    )
