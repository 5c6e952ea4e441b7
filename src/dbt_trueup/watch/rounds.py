"""A round of the warm runner: one `dbt run` over a project parsed once, and what came of it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any

from dbt.cli.exceptions import DbtUsageException
from dbt.cli.main import dbtRunner

from . import growth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

QUIET = ("--quiet", "--no-use-colors", "--log-level", "none")
"""dbt writes to its log file only: what it says of the models is in its result."""

NOTHING = re.compile(
    r"OK$|nothing to |up to date |corrections: none(; (the next refresh|final since)|$)"
)
"""How the message of a model begins that did nothing, or always does the same."""

APPENDED = re.compile(r"batch \d+: ")
"""How the message of a changelog begins that got a batch."""

STAGED = re.compile(r"batch \d+ \[")
"""The message of a batch; the changelog says what became of it."""

SHOWN = 400
"""How many characters of an error are shown; all of them are in dbt's log file."""


class UsageError(RuntimeError):
    """There is nothing to run: a wrong option, no such project, or models that are not there."""


@dataclass(frozen=True)
class Round:
    """What became of one `dbt run`."""

    seconds: float
    models: int = 0
    """How many ran, to whatever end."""
    changes: tuple[str, ...] = ()
    """What models did, as `name: message`."""
    failures: tuple[str, ...] = ()
    """Why models failed, each in one line."""
    has_more: bool = False
    """Whether a batch was settled and `max_commands_per_batch` may have left some for the next."""


class Project:
    """A dbt project, which is parsed once, and again after a file of it has changed."""

    def __init__(self, options: Sequence[str], arguments: Sequence[str]) -> None:
        """Take the options of `dbt parse`, and what `dbt run` gets beside them."""
        self.options = [*QUIET, *options]
        self.arguments = list(arguments)
        self.manifest: Any = None
        self.ran: dict[str, str] = {}
        """The models of the last round: the name of each in SQL, by id."""
        self._files: dict[str, int] = {}

    def run(self) -> Round:
        """Run the selected models. See `watch.Runs`."""
        began = monotonic()
        if self.manifest is None or self._files != self.files():
            self.parse()
        for node in self.manifest.nodes.values():
            # dbt puts ephemeral models into a model once, and leaves them out of the next run.
            if getattr(node, "extra_ctes_injected", False):
                node.extra_ctes, node.extra_ctes_injected = [], False
        runner = dbtRunner(manifest=self.manifest)
        result = runner.invoke(["run", *self.options, *self.arguments])
        if result.exception is not None:
            refuse(result.exception)
        results: list[Any] = getattr(result.result, "results", [])
        self.ran = {
            one.node.unique_id: getattr(one.node, "relation_name", None) or "" for one in results
        }
        return read_round(results, monotonic() - began)

    def parse(self) -> None:
        """Parse the project. Raises what dbt says of it."""
        began = time_ns()
        parsed = dbtRunner().invoke(["parse", *self.options])
        if parsed.exception is not None:
            refuse(parsed.exception)
        self.manifest = parsed.result
        # Without those that changed meanwhile: they are parsed again.
        self._files = {file: at for file, at in self.files().items() if at < began}

    def look(self) -> Mapping[str, object]:
        """Say the versions of what the models read, and the project's files. See `watch.Runs`."""
        if self.manifest is None:
            return {}
        names = growth.inputs(self.manifest, self.ran)
        return {**growth.versions(names, self.ran.values()), **self.files()}

    def files(self) -> dict[str, int]:
        """List the files of the project and its packages, with the time of their last change."""
        paths = [file.path for file in self.manifest.files.values()]
        roots = {Path(path.project_root) for path in paths}
        folders = {Path(path.project_root, path.searched_path) for path in paths}
        files = {root / "dbt_project.yml" for root in roots}
        for folder in folders:
            # A folder may go while it is listed: then its files have changed.
            with suppress(OSError):
                files.update(folder.rglob("*"))
        return {str(file): changed for file in files if (changed := changed_at(file))}


def changed_at(file: Path) -> int:
    """Give the time of a file's last change; 0 for a folder, and for what is not there any more."""
    try:
        found = file.stat()
    except OSError:
        return 0
    return 0 if S_ISDIR(found.st_mode) else found.st_mtime_ns


def read_round(results: Sequence[Any], took: float) -> Round:
    """Read what dbt says of the models of a run.

    Args:
        results: Those of dbt: `node`, `status`, `message`.
        took: The seconds of the run.

    Raises:
        UsageError: There are none.
    """
    if not results:
        message = (
            "no model is selected, so there is nothing to run.\n"
            "Got: a selection that matches none; `dbt ls` with the same options shows what it does."
        )
        raise UsageError(message)
    failures, skipped, said = [], 0, {}
    for one in results:
        if one.status == "skipped":
            skipped += 1
        elif one.status in ("error", "fail"):
            failures.append(f"{one.node.name}: {one_line(one.message)}")
        elif not NOTHING.match(one.message or "OK") and not STAGED.match(one.message):
            said[one.node.name] = one.message
    if failures and skipped:
        failures[-1] += f" ({skipped} models skipped)"
    # A state says what its changelog has said already.
    repeats = {f"{name.removesuffix('_changelog')}_state" for name in said}
    return Round(
        seconds=took,
        models=len(results) - skipped,
        changes=tuple(f"{name}: {text}" for name, text in said.items() if name not in repeats),
        failures=tuple(failures),
        has_more=any(is_capped(one) and APPENDED.match(one.message or "") for one in results),
    )


def is_capped(result: Any) -> bool:
    """Say whether the batches of the model's collection may leave commands to the next run."""
    options = (result.node.config.meta or {}).get("trueup") or {}
    return options.get("max_commands_per_batch") is not None


def refuse(error: BaseException) -> None:
    """Raise what dbt has raised instead of running."""
    said = one_line(str(error)) or type(error).__name__
    then = "; `dbt run --help` lists the options" if isinstance(error, DbtUsageException) else ""
    message = f"dbt did not run: {said}{then}"
    raise UsageError(message) from error


def one_line(text: object) -> str:
    r"""Write an error in one line, without the macros that dbt was in, or where Java was.

    Example:
        >>> one_line("Compilation Error in model a\n  it must be 1\n  > in macro b (c.sql)")
        'Compilation Error in model a it must be 1'
    """
    lines = [line.strip() for line in str(text).splitlines()]
    whole = " ".join(line for line in lines if line and not line.startswith(("> ", "at ")))
    return whole if len(whole) <= SHOWN else whole[:SHOWN] + "..."
