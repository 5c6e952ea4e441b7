"""The options that several commands share."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dbt.cli.resolvers import default_project_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DBT_OPTIONS = ("project-dir", "profiles-dir", "profile", "target", "vars")
"""The options of dbt that every command takes and passes on unchanged."""


def dbt_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add dbt's options to a command. It gets them as `dbt`, words for dbt's command line."""

    @wraps(command)
    def with_dbt(**given: Any) -> Any:
        named = [(name, given.pop(name.replace("-", "_"))) for name in DBT_OPTIONS]
        words = [word for name, text in named if text for word in (f"--{name}", text)]
        return command(dbt=words, **given)

    added = with_dbt
    for name in reversed(DBT_OPTIONS):
        short = ["-t"] if name == "target" else []
        added = click.option(f"--{name}", *short, help="As in dbt.")(added)
    return added


def project_folder(words: Sequence[str]) -> Path:
    """Return the folder of the project that dbt takes with these options."""
    given = dict(zip(words[::2], words[1::2], strict=True)).get("--project-dir")
    named = [given, *map(os.environ.get, ("DBT_ENGINE_PROJECT_DIR", "DBT_PROJECT_DIR"))]
    return Path(next(filter(None, named), default_project_dir())).resolve()


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON on the standard output, for programs."
)


def epilog(*paragraphs: str) -> str:
    r"""Join the texts below the options in the help of a command. Their lines stay as they are.

    Click fills the lines of each paragraph, unless it begins with a backspace.

    Example:
        >>> epilog("Example\n  $ trueup run")
        '\x08\nExample\n  $ trueup run'
    """
    text = "\n\n".join(paragraphs)
    return "\n\n".join(f"\b\n{paragraph}" for paragraph in text.split("\n\n"))


def seconds(text: str) -> float:
    """Read a number of seconds above 0.

    Example:
        >>> seconds("2.5")
        2.5
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        message = f"must be a number of seconds above 0, such as 2 or 0.5; got {text!r}"
        raise click.BadParameter(message)
    return number
