"""Reads from dbt's manifest what the rules need to know about a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .source import blank

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

NOT_NULL = re.compile(r"not_(?:be_)?null")
UNIQUE = re.compile(r"unique")
"""What the names of such data tests contain, in dbt and in its packages."""

COMBINATIONS = ("combination_of_columns", "column_list")
"""The arguments of data tests that name the columns of a key."""

OF_DBT = ("dbt", "dbt_spark", "dbt_databricks")
"""The packages whose macros say nothing about a model."""


@dataclass(frozen=True)
class Model:
    """An incremental model or a snapshot."""

    manifest: Any
    node: Any
    path: Path
    """The folder of the dbt project."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.node.name)

    @property
    def file(self) -> str:
        """Its file in the project."""
        return str(self.node.original_file_path)

    @property
    def is_snapshot(self) -> bool:
        """Whether it is a snapshot of dbt."""
        return str(self.node.resource_type) == "snapshot"

    @property
    def key(self) -> list[str]:
        """The columns of `unique_key`."""
        given = self.node.config.unique_key or []
        return [given] if isinstance(given, str) else list(given)

    @property
    def strategy(self) -> str:
        """How it is written."""
        return strategy_of(self.node.config, self.adapter, has_key=bool(self.key))

    @property
    def adapter(self) -> str:
        """The adapter of dbt, such as `spark`."""
        return str(self.manifest.metadata.adapter_type)

    @property
    def is_merged(self) -> bool:
        """Whether its rows are merged by key, or are meant to be."""
        is_by_key = self.strategy in ("merge", "delete+insert")
        return not self.is_snapshot and (is_by_key or bool(self.key))

    @cached_property
    def code(self) -> str:
        """Its SQL with Jinja, without comments and texts."""
        return blank(self.node.raw_code)

    @cached_property
    def all_code(self) -> str:
        """Its SQL, that of the models that it reads, and that of the macros that they call."""
        nodes = [self.node, *self.ancestors()]
        macros = {
            name: self.manifest.macros[name].macro_sql
            for node in nodes
            for name in node.depends_on.macros
            if name in self.manifest.macros
            and self.manifest.macros[name].package_name not in OF_DBT
        }
        return "\n".join(blank(text) for text in [*(n.raw_code for n in nodes), *macros.values()])

    def parents(self) -> list[Any]:
        """The models, seeds, snapshots and sources that it reads itself."""
        known = {**self.manifest.nodes, **self.manifest.sources}
        return [known[name] for name in self.node.depends_on.nodes if name in known]

    def ancestors(self) -> Iterator[Any]:
        """The models that it reads, and those that these read, each once."""
        nodes = self.manifest.nodes
        waiting, seen = list(self.node.depends_on.nodes), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or name not in nodes or not hasattr(nodes[name], "depends_on"):
                continue
            seen.add(name)
            # A seed has no nodes that it depends on.
            waiting += getattr(nodes[name].depends_on, "nodes", [])
            if hasattr(nodes[name].depends_on, "nodes"):
                yield nodes[name]

    @property
    def is_known(self) -> bool:
        """Whether it and all models that it reads are SQL."""
        return all(node.language == "sql" for node in [self.node, *self.ancestors()])

    def is_tested(self, column: str, tested: re.Pattern[str]) -> bool:
        """Whether a data test of this kind is on a column: its own, or that of a parent."""
        tables = {self.node.unique_id, *(parent.unique_id for parent in self.parents())}
        return any(
            column.lower() in columns
            for test in self.tests(tested)
            if tables & set(test.depends_on.nodes)
            for columns in tested_columns(test)
        )

    def is_key_tested(self) -> bool:
        """Whether a data test fails if a key is there twice."""
        tables = {self.node.unique_id, *(parent.unique_id for parent in self.parents())}
        key = {column.lower() for column in self.key}
        return any(
            columns and columns <= key
            for test in self.tests(UNIQUE)
            if tables & set(test.depends_on.nodes)
            for columns in tested_columns(test)
        )

    def tests(self, tested: re.Pattern[str]) -> Iterator[Any]:
        """The data tests of this kind in the project."""
        for node in self.manifest.nodes.values():
            metadata = getattr(node, "test_metadata", None)
            if metadata is not None and tested.search(metadata.name):
                yield node

    def is_constrained(self, column: str) -> bool:
        """Whether a constraint forbids a null in a column."""
        columns = {name.lower(): one for name, one in self.node.columns.items()}
        own = columns[column.lower()].constraints if column.lower() in columns else []
        of_model = [
            one
            for one in getattr(self.node, "constraints", [])
            if column.lower() in map(str.lower, one.columns)
        ]
        return any(one.type in ("not_null", "primary_key") for one in [*own, *of_model])

    def line(self, position: int) -> int:
        """Return the line of its file that has a position of its code."""
        raw = self.node.raw_code
        file = self.path / self.file
        # As dbt, keep the line endings of Windows.
        text = file.read_bytes().decode("utf-8") if file.exists() else raw
        blanks = len(raw) - len(raw.lstrip())
        start = max(0, text.find(raw))
        return text.count("\n", 0, start + max(position, blanks)) + 1

    def line_of_key(self) -> int:
        """Return the line that sets the key; the first line if another file sets it."""
        found = re.search(r"\bunique_key\b", self.node.raw_code)
        return self.line(found.start()) if found else 1


def tested_columns(test: Any) -> list[set[str]]:
    """The columns that a data test names: one set for each argument that names some."""
    kwargs = test.test_metadata.kwargs
    lists: list[Sequence[str]] = [kwargs[name] for name in COMBINATIONS if name in kwargs]
    column = test.column_name or kwargs.get("column_name")
    if column:
        lists.append([column])
    return [{str(name).strip('`"').lower() for name in one} for one in lists]


def strategy_of(config: Any, adapter: str, *, has_key: bool) -> str:
    """How a model is written: as its config says, or as its adapter does by default."""
    by_default = "append" if adapter == "spark" or not has_key else "merge"
    given = config.incremental_strategy
    return by_default if given in (None, "default") else str(given)
