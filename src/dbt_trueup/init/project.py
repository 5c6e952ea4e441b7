"""Finds the log in a dbt project, and saves the files of a collection there."""

from __future__ import annotations

import re
from collections import Counter
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_trueup.errors import UsageError
from dbt_trueup.runner.sources import READ_FOLDERS, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

READABLE = ("seed", "model", "snapshot")
"""The kinds of nodes that `ref` reads."""


class Found(NamedTuple):
    """Where the log is."""

    relation: str
    """The log in Jinja that finds it now, before anything is written."""
    written: str
    """The log in Jinja as the models write it."""
    table: str
    stored: tuple[str, str]
    """The schema and the name of its table in the warehouse."""
    schema: str | None = None
    """The schema if the models declare the log as a source; None if the project has it already."""


def require_package(manifest: Any) -> None:
    """Raise unless the project has the dbt package."""
    if "macro.trueup.commands" not in manifest.macros:
        message = "the project needs the dbt package trueup: add it to packages.yml, run `dbt deps`"
        raise UsageError(message)


def find_log(manifest: Any, name: str) -> Found:
    """Find a log by its name: a table with its schema, a source, a seed or a model.

    Raises:
        UsageError: The project lacks the dbt package, the name is of another form, or the project
            has no seed or model of this name.
    """
    require_package(manifest)
    for node in manifest.nodes.values():
        names = (node.name, f"{node.schema}.{node.alias}")
        if is_readable(node) and name.lower() in map(str.lower, names):
            call = f"ref({node.name!r})"
            return Found(call, call, node.name, (node.schema, node.alias))
    for source in manifest.sources.values():
        names = (f"{source.source_name}.{source.name}", f"{source.schema}.{source.identifier}")
        if name.lower() in map(str.lower, names):
            call = f"source({source.source_name!r}, {source.name!r})"
            return Found(call, call, source.name, (source.schema, source.identifier))
    schema, _, table = name.partition(".")
    if not schema or not table or "." in table:
        message = (
            "the log must be a table with its schema, such as cdc.orders_log, or a seed, model or"
            f" source of this project; got {name}"
        )
        if re.fullmatch(r"\w+", name):
            message += f"\nIf it is a table: trueup init {usual_schema(manifest)}.{name}"
        raise UsageError(message)
    now = f"api.Relation.create(schema={schema!r}, identifier={table!r})"
    return Found(now, f"source({schema!r}, {table!r})", table, (schema, table), schema)


def usual_schema(manifest: Any) -> str:
    """The schema that most nodes of the project have."""
    schemas = Counter(node.schema for node in manifest.nodes.values())
    return next((name for name, _ in schemas.most_common(1)), "SCHEMA")


def require_free_names(
    manifest: Any, models: Sequence[str], folder: str, found: Found, target_schema: str
) -> None:
    """Raise unless the models of the collection may have the names that they would get.

    A name is also free if the project has it in the file that would be written, as a model of
    trueup.
    """
    name = models[0]
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        message = f"--name must be of letters, digits and underscores in lower case; got {name}"
        raise UsageError(message)
    schema, table = map(str.lower, found.stored)
    taken = {table: "the table of the log"} if schema == target_schema.lower() else {}
    for node in manifest.nodes.values():
        if is_readable(node) and not is_ours(manifest, node, folder):
            taken[node.name] = f"{node.original_file_path} of {node.package_name}"
    if both := [model for model in models if model in taken]:
        message = (
            f"--name must be free, or that of the collection in {folder}.\n"
            f"Got: {name}; {both[0]} is {taken[both[0]]}\n"
            "Give another name with --name. To replace a collection, give its name, its folder with"
            " --folder, and --force."
        )
        raise UsageError(message)


def is_ours(manifest: Any, node: Any, folder: str) -> bool:
    """Whether a node is a model of a collection, in its place in a folder of the project."""
    return (
        node.package_name == manifest.metadata.project_name
        and normpath(node.original_file_path) == normpath(f"{folder}/{node.name}.sql")
        and "trueup." in node.raw_code
    )


def is_readable(node: Any) -> bool:
    """Whether `ref` reads a node."""
    return str(node.resource_type) in READABLE


def model_folders(manifest: Any, project: Path) -> list[str]:
    """The folders of the project that dbt reads models from, those that have models first."""
    package = manifest.metadata.project_name
    own = [
        str(file.path.searched_path)
        for file in manifest.files.values()
        if str(file.parse_file_type) == "model" and file.project_name == package
    ]
    paths = settings_of(project).get("model-paths") or READ_FOLDERS["model-paths"]
    return list(dict.fromkeys([*own, *paths]))


def require_model_folder(project: Path, folder: str, models: Sequence[str]) -> None:
    """Raise unless dbt reads models from a folder."""
    place = (project / folder).resolve()
    if not any(place.is_relative_to((project / path).resolve()) for path in models):
        message = (
            f"--folder must be in a folder that dbt reads models from: {', '.join(models)}; got"
            f" {folder}"
        )
        raise UsageError(message)


def relative_folder(project: Path, folder: str) -> str:
    """Write a folder in the project as dbt wants it: not with its whole path.

    Example:
        >>> from pathlib import Path
        >>> relative_folder(Path("/shop"), "/shop/models/orders")
        'models/orders'
    """
    for place in (Path(folder), Path(project, folder).resolve()):
        if Path(folder).is_absolute() and place.is_relative_to(project):
            return place.relative_to(project).as_posix()
    return folder


def save_files(project: Path, files: Mapping[str, str], *, overwrite: bool) -> None:
    """Write all files or none.

    Args:
        project: The folder of the dbt project.
        files: The text of each file by its path.
        overwrite: Whether to replace files that exist and are of trueup.

    Raises:
        UsageError: A file exists, and `overwrite` is false or the file has nothing of trueup.
    """
    exist = [path for path in files if (project / path).exists()]
    foreign = [path for path in exist if b"trueup" not in (project / path).read_bytes()]
    if foreign or (exist and not overwrite):
        then = "move them, or give --folder" if foreign else "--force replaces them"
        message = f"nothing is written: {', '.join(foreign or exist)} exist; {then}"
        raise UsageError(message)
    written: dict[Path, bytes | None] = {}
    try:
        for path, text in files.items():
            file = project / path
            written[file] = file.read_bytes() if file.exists() else None
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except BaseException:
        for file, before in written.items():
            if before is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(before)
        raise
