"""Asks dbt: a manifest, the SQL of a macro, the rows of a query. dbt connects to the warehouse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.factory import FACTORY
from dbt.cli.main import dbtRunner

from .dbt_errors import describe_error, to_one_line
from .errors import DbtError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

QUIET = ("--quiet", "--no-use-colors", "--log-level", "none")
"""dbt prints nothing. It also logs nothing, unless the user has set a level for the log file."""

UNLOGGED = ("--log-level-file", "none")
"""For queries. With a level that the user has set, the log file would get their text and rows."""

UNWRITTEN = "--no-write-json"
"""`manifest.json` and `run_results.json` stay those of the user's own run, for `dbt retry`."""

TARGET_PATH_VARIABLES = ("DBT_ENGINE_TARGET_PATH", "DBT_TARGET_PATH")
"""The environment variables that may name dbt's target folder. The first one counts."""

COMPILED_QUERY = "compiled/{}/from remote system.sql/sql/inline_query"
"""The file of a project's query in dbt's target folder."""

FAILED = ("error", "fail", "runtime error", "partial success")
"""The statuses of dbt that make a command fail."""


def invoke(options: Sequence[str], *words: str) -> Any:
    """Run a command of dbt in this process. dbt keeps its Spark session open for the next one.

    Args:
        options: Options that the user gave for dbt, such as `["--project-dir", "shop"]`.
        words: The command and its own options.

    Returns:
        The result of dbt's command: a manifest, or an object with `results`.

    Raises:
        DbtError: The command failed. The message is dbt's error in one line.
    """
    ran = dbtRunner().invoke([*words, *QUIET, *options])
    if isinstance(ran.exception, KeyboardInterrupt | SystemExit):
        raise ran.exception
    if not ran.success:
        results = getattr(ran.result, "results", [])
        failed = [str(one.message) for one in results if str(one.status) in FAILED]
        # If an ephemeral parent fails, only its skipped child says so.
        messages = failed or [str(one.message) for one in results if one.message]
        raise DbtError(
            describe_error(ran.exception) if ran.exception else to_one_line("; ".join(messages))
        )
    return ran.result


def parse(options: Sequence[str]) -> Any:
    """Return the manifest of the project. The warehouse is not asked."""
    return invoke(options, "parse", UNWRITTEN)


def list_nodes(options: Sequence[str], select: Sequence[str]) -> list[str]:
    """Return the ids of the models and snapshots that dbt selects. The warehouse is not asked."""
    kinds = ("--resource-type", "model", "--resource-type", "snapshot")
    output = ("--output", "json", "--output-keys", "unique_id")
    lines = invoke(options, "ls", "--select", *select, *kinds, *output, UNWRITTEN)
    return [json.loads(line)["unique_id"] for line in lines]


def invoke_inline(options: Sequence[str], command: str, text: str, *words: str) -> Any:
    """Run `dbt compile` or `dbt show` with a text. Nothing of it stays in the target folder."""
    try:
        return invoke(options, command, "--inline", text, *words, *UNLOGGED, UNWRITTEN)
    finally:
        # dbt writes the compiled text, with its keys, even if the query fails then.
        adapters: Mapping[str, Any] = FACTORY.adapters
        for adapter in adapters.values():
            name = COMPILED_QUERY.format(adapter.config.project_name)
            Path(adapter.config.project_target_path, name).unlink(missing_ok=True)


def compile_inline(options: Sequence[str], text: str) -> str:
    """Return what dbt makes of a text with Jinja in it, such as a call of a macro."""
    result = invoke_inline(options, "compile", text)
    compiled: str = result.results[0].node.compiled_code
    return compiled


def query(options: Sequence[str], select: str) -> list[dict[str, Any]]:
    """Return the rows of a select, which may use `ref` and macros.

    Each row comes through JSON: whole numbers, fractions, texts, true and false, null, lists and
    structs keep their kind; dates and times are texts.
    """
    row = "to_json(struct(*), map('ignoreNullFields', 'false')) as row"
    # The newlines end a comment in the last line of the select.
    text = f"select {row} from (\n{select}\n)"  # noqa: S608 - the caller's own query
    result = invoke_inline(options, "show", text, "--limit", "-1")
    table = result.results[0].agate_table
    return [json.loads(row["row"]) for row in table.rows]


def spark_session() -> SparkSession | None:
    """Return the Spark session that dbt has started in this process; None if there is none."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - heavy

    # `getActiveSession` does not see the session of another thread.
    return SparkSession._instantiatedSession  # noqa: SLF001 - has no public form


def call(macro: str, *arguments: object, **named: object) -> str:
    r"""Write a Jinja call of a macro of the package. Each argument must have a form in JSON.

    Example:
        >>> print(call("explain", "orders", latest=None))
        trueup.explain(fromjson("\"orders\""), latest=fromjson("null"))
    """
    given = [*map(literal, arguments), *(f"{name}={literal(one)}" for name, one in named.items())]
    return f"trueup.{macro}({', '.join(given)})"


def literal(value: object) -> str:
    r"""Write a value as an expression of Jinja. It has no braces, which dbt could take for Jinja.

    Example:
        >>> print(literal({"k": "}}"}))
        fromjson("\u007b\"k\": \"\u007d\u007d\"\u007d")
    """
    text = json.dumps(json.dumps(value)).replace("{", "\\u007b").replace("}", "\\u007d")
    return f"fromjson({text})"


def when_executed(expression: str) -> str:
    """Write a Jinja expression that queries the warehouse. It is skipped while dbt only parses."""
    return f"{{% if execute %}}{{{{ {expression} }}}}{{% endif %}}"


def collections(manifest: Any) -> list[str]:
    """Return the names of the project's collections, sorted."""
    return sorted(
        {node.name for node in manifest.nodes.values() if node.config.materialized == "trueup"}
    )


def require_collection(name: str, known: Sequence[str]) -> None:
    """Raise unless a collection is one of those that are known.

    Raises:
        UsageError: It is none of them.
    """
    if name in known:
        return
    if known:
        message = f"COLLECTION must be one of {', '.join(known)}.\nGot: {name}"
    else:
        message = (
            f"COLLECTION must be a collection of the project, which has none.\nGot: {name}\n"
            "To write one: trueup init <the log>"
        )
    raise UsageError(message)
