"""Writes the example as one HTML file, which needs no server and no network."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from .example import MERGE, MODEL
from .reasons import notes_of, reasons

if TYPE_CHECKING:
    from pathlib import Path

    from .play import Outcome


def write_page(outcome: Outcome, file: Path) -> None:
    """Write the page. Its folder is created if it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(outcome), encoding="utf-8")


def render(outcome: Outcome) -> str:
    """Return the page. All texts are escaped, and it has no script."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = (files("dbt_trueup.demo") / "page.html").read_text(encoding="utf-8")
    found = reasons(outcome)
    return environment.from_string(template).render(
        lines=list(zip(outcome.lines, notes_of(outcome.lines), strict=True)),
        reasons=found,
        wrong=sum(one.differs for one in found),
        batches=outcome.batches,
        seconds=outcome.seconds,
        merge=MERGE,
        model=MODEL,
    )
