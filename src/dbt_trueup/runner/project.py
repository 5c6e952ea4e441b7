"""A dbt project that is parsed once and run again and again."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, NoReturn

from dbt.cli.exceptions import DbtUsageException
from dbt.cli.main import dbtRunner

from dbt_trueup.dbt import QUIET, TARGET_PATH_VARIABLES
from dbt_trueup.dbt_errors import describe_error
from dbt_trueup.errors import UsageError

from . import growth
from .dbt_options import file_level, has_defer, known_to_parse, value_of_option
from .rounds import Round, is_hook, read_round
from .sources import (
    READ_FOLDERS,
    SETTINGS,
    WRITTEN_FOLDERS,
    Sources,
    changed_at,
    files_in,
    normal,
    settings_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dbt_common.events.base_types import EventMsg


class Project:
    """A dbt project. It is parsed once, and again after one of its files has changed."""

    def __init__(self, options: Sequence[str], arguments: Sequence[str]) -> None:
        """Take the options of all commands of dbt, and the further arguments of `dbt run`."""
        self.options = [*QUIET, *options]
        level = file_level([*options, *arguments])
        self.run_options = ["--log-level-file", level, *self.options]
        self.arguments = list(arguments)
        self._defers = has_defer([*options, *arguments])
        self.parse_options = [*self.options, *known_to_parse(arguments)]
        self.manifest: Any = None
        self.models: dict[str, growth.Model] = {}
        """The models of the last round of all of them, by id."""
        self._tables: list[growth.Table] = []
        """The tables that they read, as they were seen last."""
        self._files: dict[str, int] = {}
        self._sources: dict[Path, Sources] = {}

    def run(self, grown: Collection[str] | None = None) -> Round:
        """Run the selected models once. See `rounds.Runs`."""
        began = monotonic()
        if self.manifest is None or self._files != self.files():
            self.parse()
            grown = None
        chosen = self._affected(grown) if grown else None
        if chosen == []:
            return Round(seconds=monotonic() - began)  # only views read what has grown
        for node in self.manifest.nodes.values():
            # dbt puts the ephemeral parents of a model into it only once. Without this the next
            # run would leave them out.
            if getattr(node, "extra_ctes_injected", False):
                node.extra_ctes, node.extra_ctes_injected = [], False
        finished: list[str] = []

        def note(event: EventMsg) -> None:
            if event.info.name == "NodeFinished":
                finished.append(event.info.name)

        runner = dbtRunner(manifest=self.manifest, callbacks=[note])
        result = runner.invoke(["run", *self.run_options, *self.arguments], **selection(chosen))
        if result.exception is not None:
            if finished:
                # A hook at the end of the run failed, or dbt could not write its results.
                failure = describe_error(result.exception)
                return Round(seconds=monotonic() - began, failures=(failure,))
            raise_usage_error(result.exception)
        results: list[Any] = getattr(result.result, "results", [])
        if chosen is None:
            nodes = {one.node.unique_id: one.node for one in results}
            self.models = {one: self._model(node, nodes) for one, node in nodes.items()}
        return read_round(results, monotonic() - began)

    def require_spark(self) -> None:
        """See `watch.loop.Watchable`."""
        growth.require_spark()

    def parse(self) -> None:
        """Parse the project. Raise UsageError with dbt's error if that fails."""
        began, before = time_ns(), self.files()
        parsed = dbtRunner().invoke(["parse", *self.parse_options])
        if parsed.exception is not None:
            raise_usage_error(parsed.exception)
        self.manifest = parsed.result
        self._sources = self._find_sources()
        # A file that came, changed or went meanwhile is another one than before: then the next
        # round parses again. Before the first parse the folders are not known.
        self._files = before or {file: at for file, at in self.files().items() if at < began}

    def look(self) -> Mapping[str, object]:
        """Return the versions of the models' inputs and of the project's files.

        See `watch.loop.Watchable`.
        """
        if self.manifest is None:
            return {}
        self._tables = growth.tables(self.models)
        read = {table.name: table.version for table in self._tables if table.writer is None}
        return {**read, **self.files()}

    def _model(self, node: Any, ran: Collection[str]) -> growth.Model:
        """Return what a model reads and writes. `ran` are the ids of all models of the round."""
        parents = [*parents_of(self.manifest, node)]
        others = [one for one in parents if one not in ran]
        above = [self.manifest.sources.get(one) or self.manifest.nodes.get(one) for one in others]
        is_sql = getattr(node, "language", None) == "sql" and not is_hook(node)
        return growth.Model(
            name=getattr(node, "relation_name", None) or "",
            materialized=node.config.materialized,
            parents=[one for one in parents if one in ran],
            inputs=[one.relation_name for one in above if one is not None],
            sql=getattr(node, "compiled_code", None) if is_sql else None,
        )

    def _affected(self, grown: Collection[str]) -> list[str] | None:
        """Return dbt's selectors of the models that `grown` tables concern.

        Returns None if all models must run: something else than these tables has changed, or only a
        hook reads them. With `--defer` they always run: dbt may read a model that it does not run
        in the other schema.
        """
        versions = {table.name: table.version for table in self._tables}
        if self._defers or not all(growth.is_version(versions.get(name)) for name in grown):
            return None
        found = growth.affected(self.models, self._tables, grown)
        nodes = [node for one in sorted(found) if (node := self.manifest.nodes.get(one))]
        # dbt cannot select a hook. It runs in each round.
        chosen = [selector_of(node) for node in nodes if not is_hook(node)]
        return None if found and not chosen else chosen

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
            written += map(os.environ.get, TARGET_PATH_VARIABLES)
            written.append(value_of_option(self.arguments, "--target-path"))
            sources.written.update(normal(root, str(folder)) for folder in written if folder)
        return found


def selector_of(node: Any) -> str:
    """Return dbt's selector of one model.

    A file has one model. The method `fqn` would also select the models of a folder with the name of
    the model, and those of other packages. A space, a comma or a bracket of a name would be read as
    part of the selector, so `?` stands for each such character.
    """
    file = re.sub(r"[^\w.-]", "?", PurePath(node.original_file_path).name)
    return f"package:{node.package_name},file:{file}"


def selection(chosen: Sequence[str] | None) -> dict[str, Any]:
    """Return the parameters of `dbt run` that select some models, whatever its arguments select.

    For None the arguments decide.
    """
    return {} if chosen is None else {"select": tuple(chosen), "exclude": (), "selector": None}


def parents_of(manifest: Any, node: Any) -> Iterator[str]:
    """Return the ids of a model's parents. An ephemeral one has no table: return its parents."""
    # A seed has no list of parents.
    for parent in getattr(node.depends_on, "nodes", ()):
        above = manifest.nodes.get(parent)
        if above is not None and not above.relation_name:
            yield from parents_of(manifest, above)
        else:
            yield parent


def raise_usage_error(error: BaseException) -> NoReturn:
    """Raise UsageError for an exception that kept dbt from running."""
    text = describe_error(error)
    is_of_options = isinstance(error, DbtUsageException) and "--profiles-dir" not in text
    then = "; `dbt run --help` lists the options" if is_of_options else ""
    message = f"dbt did not run: {text}{then}"
    raise UsageError(message) from error
