"""Writes a report as one HTML file that needs no server and no network."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined

from dbt_trueup.errors import UsageError
from dbt_trueup.libraries import require_library

from .summary import summarize

if TYPE_CHECKING:
    from pathlib import Path

    from .data import Data

ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that could end the element of the data, or start another one."""


def write_page(data: Data, file: Path) -> None:
    """Write the page of a report. Its folder is created if it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(data), encoding="utf-8")


def render(data: Data) -> str:
    """Return the page of a report.

    The browser runs only the two scripts of the page, by their hashes, and must not ask the network
    for anything. All texts are escaped.

    Raises:
        UsageError: The library of the charts is not installed.
    """
    require_charts()
    # A template may have texts with tags. Only the three parts that we ship are not escaped.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["number"] = write_number
    library, script = chart_library(), read_part("report.js")
    return environment.from_string(read_part("page.html")).render(
        data=data,
        summary=summarize(data.collections, data.unreadable),
        scripts=[library, script],
        hashes=" ".join(hash_of(text) for text in (library, script)),
        style=read_part("report.css"),
        figures=write_figures(data),
    )


def require_charts() -> None:
    """Check that the library of the charts is installed.

    Raises:
        UsageError: It is not. The message says what to install.
    """
    require_library(
        module="vl_convert",
        requirement="vl-convert-python~=1.9",
        needs="the page needs vl-convert-python, which brings its charts",
        error=UsageError,
    )


@lru_cache
def chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert  # noqa: PLC0415 - not always installed

    library: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return library


def read_part(name: str) -> str:
    """Return the text of a file beside this one."""
    return files("dbt_trueup.report").joinpath(name).read_text(encoding="utf-8")


def hash_of(script: str) -> str:
    """Return the hash by which the page allows a script."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def write_figures(data: Data) -> str:
    """Write what the charts show as JSON, safe inside a script element."""
    figures = {
        one.name: {
            # JavaScript rounds a number above 2^53, such as a tick in nanoseconds.
            "batches": pack(
                [{**each, "frontier": write_number(each["upper"])} for each in one.batches]
            ),
            "buckets": [[each["bucket"], each["rows"]] for each in one.buckets],
            "wrongBuckets": one.wrong_buckets,
        }
        for one in data.collections
        if one.has_run
    }
    return json.dumps(figures, separators=(",", ":")).translate(ESCAPED)


def pack(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Write the names of the fields only once, not in every row.

    Example:
        >>> pack([{"first": 1, "last": 2}, {"first": 3, "last": 3}])
        {'fields': ['first', 'last'], 'rows': [[1, 2], [3, 3]]}
    """
    return {
        "fields": list(rows[0]) if rows else [],
        "rows": [list(row.values()) for row in rows],
    }


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
