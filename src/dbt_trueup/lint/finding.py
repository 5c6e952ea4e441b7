"""What a rule finds."""

from __future__ import annotations

from dataclasses import dataclass

Found = tuple[int, str, str]
"""What a rule finds in a model: the line, the hazard and the fix."""


@dataclass(frozen=True)
class Finding:
    """A hazard of a model, and how to remove it."""

    model: str
    file: str
    line: int
    rule: str
    hazard: str
    """One sentence or two."""
    fix: str
    """SQL, YAML or a macro of trueup, and what it does."""
