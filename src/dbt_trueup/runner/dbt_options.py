"""The options of `dbt run`: what they say, and which of them other commands have, too."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click
import yaml
from dbt.cli.flags import Flags, args_to_context
from dbt.cli.main import cli as dbt_commands
from dbt_common.exceptions import DbtBaseException

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def value_of_option(words: Sequence[str], name: str) -> str | None:
    """Return the value of an option of dbt, None if it is not given.

    Example:
        >>> value_of_option(["--target-path", "out"], "--target-path")
        'out'
        >>> value_of_option(["--a=b=c"], "--a")
        'b=c'
    """
    given = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    given += [value for word, value in pairwise(words) if word == name]
    return given[-1] if given else None


def known_to_parse(words: Sequence[str]) -> list[str]:
    """Return those of the options of `dbt run` that `dbt parse` has, too.

    Example:
        >>> known_to_parse(["-s", "a", "b", "--target-path=to", "--no-version-check", "-xf"])
        ['--target-path', 'to', '--no-version-check', '--fail-fast']
    """
    run = dbt_commands.commands["run"]
    known = {option.name: option for option in dbt_commands.commands["parse"].params}
    try:
        given, _, _ = run.make_parser(click.Context(run)).parse_args(list(words))
    except click.ClickException:
        return []  # dbt says what is wrong when it runs
    found: list[str] = []
    for name, value in given.items():
        option = known.get(name)
        if isinstance(option, click.Option) and option.is_flag:
            found.append(option.opts[0] if value else option.secondary_opts[0])
        elif option:
            found += [option.opts[0], value]
    return found


def file_level(words: Sequence[str]) -> str:
    """Return how much `dbt run` with these options writes to its log file.

    It must be said, because QUIET would also silence the file.
    """
    flags = _flags(words)
    return str(flags.LOG_LEVEL_FILE) if flags else "debug"


def has_defer(words: Sequence[str]) -> bool:
    """Return whether `dbt run` with these options reads some models in another schema."""
    flags = _flags(words)
    return bool(flags and flags.DEFER)


def _flags(words: Sequence[str]) -> Flags | None:
    """Return dbt's flags of `dbt run` with these options; None if dbt refuses them.

    dbt itself reads what the user has set: options, variables and flags of the project.
    """
    try:
        return Flags(args_to_context(["run", *words]))
    except (click.ClickException, DbtBaseException):
        return None  # dbt says what is wrong when it runs


def with_vars(options: Sequence[str], run_vars: Mapping[str, object]) -> list[str]:
    """Add vars to the options of dbt. The user's own vars come first.

    Example:
        >>> with_vars(["--vars", "{a: 1}", "--target", "prod"], {"a": 2, "b": True})
        ['--target', 'prod', '--vars', '{a: 1, b: true}']
    """
    if not run_vars:
        return list(options)
    words = list(options)
    given: Any = {}
    if "--vars" in words:
        at = words.index("--vars")
        try:
            given = yaml.safe_load(words[at + 1])
        except yaml.YAMLError:
            given = None
        if not isinstance(given, dict):
            return words  # dbt says what is wrong with it
        del words[at : at + 2]
    # YAML, because the user's vars may be dates, which JSON does not have.
    text = yaml.safe_dump(
        {**run_vars, **given},
        default_flow_style=True,
        allow_unicode=True,
        sort_keys=False,
        width=float("inf"),
    )
    return [*words, "--vars", text.strip()]
