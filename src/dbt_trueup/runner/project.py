"""A dbt project that is parsed once and run again and again."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from stat import S_ISDIR
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click
import yaml
from dbt.cli.exceptions import DbtUsageException
from dbt.cli.flags import Flags, args_to_context
from dbt.cli.main import cli as dbt_commands
from dbt.cli.main import dbtRunner
from dbt_common.exceptions import DbtBaseException

from dbt_trueup.dbt import QUIET, to_one_line
from dbt_trueup.errors import UsageError

from . import growth
from .rounds import Round, read_round

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


SUFFIXES = (".csv", ".md", ".py", ".sql", ".yaml", ".yml")
"""How the names of dbt's files end."""

SETTINGS = ("dbt_project.yml", "vars.yml")
"""The files with settings in the folder of a project. dbt reads the second one from 1.12 on."""

READ_FOLDERS = {
    "analysis-paths": ["analyses"],
    "docs-paths": [],
    "function-paths": ["functions"],
    "macro-paths": ["macros"],
    "model-paths": ["models"],
    "seed-paths": ["seeds"],
    "snapshot-paths": ["snapshots"],
    "test-paths": ["tests"],
}
"""The settings of a project for the folders that dbt reads, with their defaults."""

WRITTEN_FOLDERS = {
    "target-path": "target",
    "log-path": "logs",
    "packages-install-path": "dbt_packages",
}
"""The settings of a project for the folders that dbt writes, with their defaults.

If dbt reads the whole folder of the project, they are in it, and change in each round.
"""


class Project:
    """A dbt project. It is parsed once, and again after one of its files has changed."""

    def __init__(
        self,
        options: Sequence[str],
        arguments: Sequence[str],
        run_vars: Mapping[str, object] | None = None,
    ) -> None:
        """Take the options of all commands of dbt, and the further arguments and vars of `dbt run`.

        `dbt parse` does not get these vars. Otherwise dbt would parse the project anew whenever
        somebody runs it without them.
        """
        self.options = [*QUIET, *options]
        level = file_level([*options, *arguments])
        self.run_options = ["--log-level-file", level, *with_vars(self.options, run_vars or {})]
        self.arguments = list(arguments)
        self.parse_options = [*self.options, *known_to_parse(arguments)]
        self.manifest: Any = None
        self.ran: dict[str, str] = {}
        """The models of the last round: their names in SQL, by id."""
        self._files: dict[str, int] = {}
        self._sources: dict[Path, Sources] = {}

    def run(self) -> Round:
        """Run the selected models once. See `rounds.Runs`."""
        began = monotonic()
        if self.manifest is None or self._files != self.files():
            self.parse()
        for node in self.manifest.nodes.values():
            # dbt puts the ephemeral parents of a model into it only once. Without this the next
            # run would leave them out.
            if getattr(node, "extra_ctes_injected", False):
                node.extra_ctes, node.extra_ctes_injected = [], False
        runner = dbtRunner(manifest=self.manifest)
        result = runner.invoke(["run", *self.run_options, *self.arguments])
        if result.exception is not None:
            raise_usage_error(result.exception)
        results: list[Any] = getattr(result.result, "results", [])
        self.ran = {
            one.node.unique_id: getattr(one.node, "relation_name", None) or "" for one in results
        }
        return read_round(results, monotonic() - began)

    def require_spark(self) -> None:
        """See `watch.loop.Watchable`."""
        growth.require_spark()

    def parse(self) -> None:
        """Parse the project. Raise UsageError with dbt's error if that fails."""
        began = time_ns()
        parsed = dbtRunner().invoke(["parse", *self.parse_options])
        if parsed.exception is not None:
            raise_usage_error(parsed.exception)
        self.manifest = parsed.result
        self._sources = self._find_sources()
        # Leave out files that changed meanwhile, so that the next round parses them again.
        self._files = {file: at for file, at in self.files().items() if at < began}

    def look(self) -> Mapping[str, object]:
        """Return the versions of the models' inputs and of the project's files.

        See `watch.loop.Watchable`.
        """
        if self.manifest is None:
            return {}
        names = growth.inputs(self.manifest, self.ran)
        return {**growth.versions(names, self.ran.values()), **self.files()}

    def files(self) -> dict[str, int]:
        """Return when each file of the project and of its packages last changed."""
        files = {str(root / name) for root in self._sources for name in SETTINGS}
        for sources in self._sources.values():
            for folder in sources.read:
                files.update(files_in(folder, sources.written))
        return {file: changed for file in files if (changed := changed_at(file))}

    def _find_sources(self) -> dict[Path, Sources]:
        """Find the folders of the project and of its packages, by their own folders."""
        paths = [file.path for file in self.manifest.files.values()]
        found = {Path(path.project_root): Sources(set(), set()) for path in paths}
        for path in paths:
            found[Path(path.project_root)].read.add(normal(path.project_root, path.searched_path))
        for root, sources in found.items():
            settings = settings_of(root)
            # A folder of the settings may get its first file later.
            for name, folders in READ_FOLDERS.items():
                sources.read.update(
                    normal(root, str(folder)) for folder in settings.get(name) or folders
                )
            written = [settings.get(name, folder) for name, folder in WRITTEN_FOLDERS.items()]
            written += map(os.environ.get, ("DBT_ENGINE_TARGET_PATH", "DBT_TARGET_PATH"))
            written.append(value_of_option(self.arguments, "--target-path"))
            sources.written.update(normal(root, str(folder)) for folder in written if folder)
        return found


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


class Sources(NamedTuple):
    """The folders of a project or package."""

    read: set[str]
    """Those with its files."""
    written: set[str]
    """Those that dbt writes itself."""


def normal(root: object, folder: str) -> str:
    """The path of a folder, in one form for each folder."""
    return os.path.normpath(os.path.join(str(root), folder))  # noqa: PTH118 - as fast as os.walk


def settings_of(root: Path) -> dict[str, Any]:
    """Read the settings of a project; none if they cannot be read. dbt says then what is wrong."""
    try:
        settings = yaml.safe_load((root / "dbt_project.yml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return settings if isinstance(settings, dict) else {}


def file_level(words: Sequence[str]) -> str:
    """Return how much `dbt run` with these options writes to its log file.

    It must be said, because QUIET would also silence the file. dbt itself reads what the user has
    set: options, variables and flags of the project.
    """
    try:
        return str(Flags(args_to_context(["run", *words])).LOG_LEVEL_FILE)
    except (click.ClickException, DbtBaseException):
        return "debug"  # dbt says what is wrong when it runs


def files_in(folder: str, left_out: Collection[str]) -> Iterator[str]:
    """List the files of dbt in a folder, without those of some folders in it.

    A folder may disappear while it is listed. Then its files have changed.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and f"{parent}{os.sep}{name}" not in left_out
        ]
        for name in names:
            if name.endswith(SUFFIXES):
                yield f"{parent}{os.sep}{name}"


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


def changed_at(file: str) -> int:
    """Return when a file last changed; 0 if it is a folder or does not exist any more."""
    try:
        found = os.stat(file)  # noqa: PTH116 - the watcher asks for each file, again and again
    except OSError:
        return 0
    return 0 if S_ISDIR(found.st_mode) else found.st_mtime_ns


def raise_usage_error(error: BaseException) -> NoReturn:
    """Raise UsageError for an exception that kept dbt from running."""
    text = to_one_line(str(error)) or type(error).__name__
    then = "; `dbt run --help` lists the options" if isinstance(error, DbtUsageException) else ""
    message = f"dbt did not run: {text}{then}"
    raise UsageError(message) from error
