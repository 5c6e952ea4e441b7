"""Writes a report as one HTML file that needs no server, no network and no script."""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined

from .charts import cells_of, charts_of, name_of
from .summary import summarize

if TYPE_CHECKING:
    from pathlib import Path

    from .data import Data


def write_page(data: Data, file: Path) -> None:
    """Write the page of a report. Its folder is created if it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(data), encoding="utf-8")


def render(data: Data) -> str:
    """Return the page of a report. All texts are escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["number"] = write_number
    return environment.from_string(read_part("page.html")).render(
        data=data,
        summary=summarize(data.collections, data.unreadable),
        charts_of=charts_of,
        cells_of=cells_of,
        name_of=name_of,
        style=read_part("report.css"),
    )


def read_part(name: str) -> str:
    """Return the text of a file beside this one."""
    return files("dbt_trueup.report").joinpath(name).read_text(encoding="utf-8")


def to_document(data: Data) -> dict[str, Any]:
    """Return a report in the types of JSON, for programs."""
    summary = summarize(data.collections, data.unreadable)
    return {"summary": [line.text for line in summary], **asdict(data)}


def write_number(number: int | None) -> str:
    """Write a number for people.

    Example:
        >>> write_number(1204), write_number(None)
        ('1,204', 'unknown')
    """
    return "unknown" if number is None else f"{number:,}"
