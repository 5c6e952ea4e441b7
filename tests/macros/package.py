"""Render the package's macros without dbt and Spark.

Each file of `macros/` is compiled once, and again only after a change. `in_model` runs the macros
in a context of stand-ins for the objects that dbt gives to a model. A query raises `QueriedError`
unless the test answers it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import jinja2
import pytest
from jinja2 import nodes
from jinja2.ext import Extension

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from jinja2.parser import Parser

ROOT = Path(__file__).parents[2]
COMPILED = ROOT / "target" / "macros"
VALUES = {"mode": {"data_type": "string"}, "blob": {"data_type": "string"}}


class RefusedError(Exception):
    """The stand-in for `exceptions.raise_compiler_error` raises this error."""


class QueriedError(Exception):
    """A macro used the warehouse, and the test gives no answer."""


class _Returned(Exception):  # noqa: N818 - it is not an error
    """`return` raises this exception to leave a macro, as in dbt."""

    def __init__(self, value: object) -> None:
        self.value = value


class Blocks(Extension):
    """Read `test` and `materialization` blocks as macros with the names that dbt gives them."""

    tags = {"test", "materialization"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Turn one block into a macro."""
        block = next(parser.stream)
        macro = nodes.Macro(lineno=block.lineno)
        name = parser.parse_assign_target(name_only=True).name
        if block.value == "test":
            macro.name = f"test_{name}"
            parser.parse_signature(macro)
        else:
            macro.name = f"materialization_{name}_spark"
            macro.args, macro.defaults = [], []
            while not parser.stream.current.test("block_end"):
                next(parser.stream)
        macro.body = parser.parse_statements((f"name:end{block.value}",), drop_needle=True)
        return macro


def compiled_macros() -> jinja2.FileSystemBytecodeCache:
    """Return the cache of compiled files. A change of this module, too, makes a new cache.

    Otherwise every process of the tests spends three seconds on compiling.
    """
    compiler = Path(__file__).read_bytes() + jinja2.__version__.encode()
    folder = COMPILED / hashlib.sha256(compiler).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return jinja2.FileSystemBytecodeCache(str(folder))


@cache
def templates() -> dict[str, jinja2.Template]:
    """Compile all files of the folder `macros`. Return the file of each macro, by its name."""
    environment = jinja2.Environment(  # noqa: S701 - SQL, not HTML
        undefined=jinja2.StrictUndefined,
        extensions=["jinja2.ext.do", Blocks],
        loader=jinja2.FileSystemLoader(ROOT / "macros"),
        bytecode_cache=compiled_macros(),
    )
    files = [environment.get_template(name) for name in environment.list_templates(["sql"])]
    return {name: template for template in files for name in defined_by(template, {})}


def defined_by(template: jinja2.Template, context: dict[str, Any]) -> dict[str, Any]:
    """Define the macros of a file in a context that has dbt's names."""
    # A Jinja module hides names that start with `_`, so the macros come from the context.
    scope = template.new_context(context)
    for _ in template.root_render_func(scope):
        pass
    return scope.vars


class Package:
    """The namespace `trueup`: every macro of the package, by name."""

    def __init__(self, context: dict[str, Any]) -> None:
        """Begin with no macro. The first use of a macro defines those of its file."""
        self.defined: dict[str, Any] = {}
        self.context = context
        context["trueup"] = self

    @property
    def macros(self) -> dict[str, Any]:
        """All macros, by name."""
        return {name: self.macro(name) for name in templates()}

    def macro(self, name: str) -> Any:
        """Return one macro."""
        if name not in self.defined:
            self.defined |= defined_by(templates()[name], self.context)
        return self.defined[name]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a macro as a function. As in dbt, a call gives its text or its returned value."""
        if name not in templates():
            raise AttributeError(name)
        macro = self.macro(name)

        def call(*arguments: object, **named: object) -> object:
            try:
                return macro(*arguments, **named)
            except _Returned as returned:
                return returned.value

        return call


class Config:
    """Stand-in for dbt's `config`. While dbt parses, every config is an empty string."""

    def __init__(self, given: Mapping[str, object], *, execute: bool) -> None:
        """Hold the configs of the model."""
        self.given = dict(given)
        self.set_by_model: dict[str, object] = {}
        self.execute = execute

    def __call__(self, **given: object) -> str:
        """Record the configs that the model sets itself."""
        self.set_by_model |= given
        return ""

    def get(self, name: str, default: object = None) -> object:
        """Return one config."""
        return self.given.get(name, default) if self.execute else ""


@dataclass(frozen=True)
class Relation:
    """A table or view of the warehouse."""

    database: str | None
    schema: str
    identifier: str
    type: str | None = None
    quote_policy: Mapping[str, bool] = field(
        default_factory=lambda: {"schema": False, "identifier": False}, compare=False
    )

    @classmethod
    def create(cls, **parts: str | None) -> Relation:
        """Create a relation, as `api.Relation.create` does."""
        return cls(**{"database": None, **parts})  # type: ignore[arg-type]

    def incorporate(self, *, path: Mapping[str, str] | None = None, **_: object) -> Relation:
        """Return the relation, with another name if `path` has one."""
        return replace(self, **path) if path else self  # type: ignore[arg-type]

    def render(self) -> str:
        """Return the name as it is written in SQL."""
        parts = (self.database, self.schema, self.identifier)
        return ".".join(part for part in parts if part)

    __str__ = render


def node(name: str, **changed: str | None) -> dict[str, str | None]:
    """Return a model as it stands in dbt's graph."""
    given = {"package_name": "shop", "database": None, "schema": "lake", **changed}
    unique_id = f"model.{given['package_name']}.{name}"
    return {"name": name, "unique_id": unique_id, "alias": name, **given}


def in_model(  # noqa: PLR0913 - each is one fact that dbt knows about a model
    name: str,
    *,
    options: object = None,
    unique_key: object = ("path",),
    graph: Mapping[str, Mapping[str, str | None]] | None = None,
    variables: Mapping[str, object] | None = None,
    execute: bool = True,
    package: str = "shop",
    columns: Mapping[str, str] | None = None,
    row: Mapping[Any, object] | None = None,
    tables: Collection[str] | None = None,
    full_refresh: bool = False,
    selected: Collection[str] | None = None,
    command: str = "run",
    queries: Callable[[str], object] | None = None,
    invocation_id: str = "1b5f",
    arguments: Mapping[str, object] | None = None,
    resource_type: str = "model",
    method: str = "session",
    **config: object,
) -> Package:
    """Return the macros as the model `name` sees them.

    Args:
        name: Name of the model.
        options: The value of `meta: {trueup: ...}`; None for no `meta`.
        unique_key: The config `unique_key`; None if it is not set. A tuple stands for a list.
        graph: The models that dbt knows.
        variables: The vars that are set.
        execute: True if dbt compiles the model; False if dbt only parses it.
        package: The package of the model.
        columns: The answer to a query of columns, types by name; None for no answer.
        row: The answer to every other query, values by name; None for no answer.
        tables: The tables that exist; None if the macros may not look for tables.
        full_refresh: True if dbt runs with `--full-refresh`.
        selected: Names of the models that dbt runs; None for all models that it knows.
        command: The command of dbt, such as `run` or `compile`.
        queries: A function that answers every query; None to use `columns` and `row`.
        invocation_id: dbt's id of the run.
        arguments: The flags and arguments of dbt.
        resource_type: What dbt runs, such as `model` or `unit_test`.
        method: How dbt-spark connects to Spark.
        config: Other configs of the model.
    """
    if unique_key is not None:
        config["unique_key"] = list(unique_key) if isinstance(unique_key, tuple) else unique_key
    if options is not None:
        config["meta"] = {"trueup": options}
    set_variables = dict(variables or {})
    meta = {"meta": None if options is None else {"trueup": options}}
    known = {
        one: {"resource_type": "model", "config": meta, **given}
        for one, given in (graph or {}).items()
    }
    nodes_selected = known if selected is None else [f"model.{package}.{one}" for one in selected]
    told = _Told([])
    files = {
        one: SimpleNamespace(
            path=SimpleNamespace(relative_path=f"models/{one.split('.')[-1]}.sql"),
            project_name=package,
        )
        for one in known
    }
    return Package(
        {
            "adapter": _Warehouse(),
            "api": SimpleNamespace(Relation=Relation),
            "tojson": json.dumps,
            "fromjson": _from_json,
            "builtins": {"ref": SimpleNamespace(manifest=SimpleNamespace(files=files))},
            "apply_grants": told.of("grants"),
            "compiled_code": "select 1",
            "config": Config(config, execute=execute),
            "exceptions": SimpleNamespace(raise_compiler_error=_refuse),
            "execute": execute,
            "flags": SimpleNamespace(WHICH=command, FULL_REFRESH=full_refresh),
            "graph": {"nodes": known},
            "invocation_id": invocation_id,
            "invocation_args_dict": dict(arguments or {}),
            "load_relation": _query if tables is None else _Tables(tables),
            "local_md5": lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
            "model": SimpleNamespace(
                name=name,
                unique_id=f"model.{package}.{name}",
                resource_type=resource_type,
                package_name=package,
                columns=VALUES,
                config=config,
                original_file_path=f"models/{name}.sql",
            ),
            "modules": SimpleNamespace(
                re=re, datetime=dt, pytz=SimpleNamespace(utc=dt.timezone.utc)
            ),
            "noop_statement": told.of("no-op"),
            "persist_docs": told.of("docs"),
            "project_name": package,
            "ref": lambda *names: Relation(None, "lake", names[-1]),
            "return": _return,
            "run_hooks": lambda _: "",
            "run_started_at": dt.datetime(2026, 1, 31, tzinfo=dt.timezone.utc),
            "run_query": queries
            or (_query if columns is None and row is None else _Answer(columns, row)),
            "selected_resources": list(nodes_selected),
            "should_full_refresh": lambda: full_refresh,
            "statement": _query,
            "target": {"method": method},
            "store_raw_result": told.of("report"),
            "this": Relation(None, "lake", name),
            "told": told.messages,
            "var": lambda variable, default=None: set_variables.get(variable, default),
        }
    )


def one_line(sql: object) -> str:
    """Return the SQL on one line, without its comments."""
    return " ".join(re.sub(r"--.*", "", str(sql)).split())


def refused(
    call: Callable[..., object], *arguments: object, **named: object
) -> tuple[str, str, str]:
    """Return the three parts of the message that a macro stops with.

    They are the requirement, the given value and the next step. The given value may have line ends.
    """
    with pytest.raises(RefusedError) as stopped:
        call(*arguments, **named)
    required, *given, next_step = str(stopped.value).split("\n")
    assert " must be " in required
    assert given
    assert given[0].startswith("Got: ")
    assert next_step.endswith((".", "+", ")"))
    return required, "\n".join(given), next_step


class _Warehouse:
    """An adapter that raises `QueriedError` for every attribute."""

    def __getattr__(self, name: str) -> NoReturn:
        raise QueriedError(name)


@dataclass(frozen=True)
class _Told:
    """The messages of a materialization to dbt: a kind, and a text or the name of a relation."""

    messages: list[tuple[str, str]]

    def of(self, what: str) -> Callable[..., str]:
        def hear(
            subject: object, detail: object = None, *, message: object = None, **_: object
        ) -> str:
            given = message or detail
            self.messages.append((what, given if isinstance(given, str) else str(subject)))
            return ""

        return hear


@dataclass(frozen=True)
class _Row:
    """A row of a query's result. It gives a value by its place, and all values by name."""

    values: Mapping[str, object]

    def __getitem__(self, place: int) -> object:
        return list(self.values.values())[place]

    def dict(self) -> Mapping[str, object]:
        return self.values


@dataclass(frozen=True)
class _Answer:
    """Answers a query of columns or of one row. It raises if it has no answer."""

    columns: Mapping[str, str] | None
    row: Mapping[Any, object] | None

    def __call__(self, sql: str) -> object:
        if sql.startswith("describe query "):
            return _query(sql) if self.columns is None else list(self.columns.items())
        return _query(sql) if self.row is None else SimpleNamespace(rows=[_Row(self.row)])


@dataclass(frozen=True)
class _Tables:
    """The tables that `load_relation` finds."""

    names: Collection[str]

    def __call__(self, relation: Relation) -> Relation | None:
        return relation if str(relation) in self.names else None


def _query(*arguments: object, **_: object) -> NoReturn:
    raise QueriedError(*arguments)


def _from_json(text: str) -> Any:
    """What a text of JSON says. As in dbt, None if it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _refuse(message: str) -> NoReturn:
    raise RefusedError(message)


def _return(value: object) -> NoReturn:
    raise _Returned(value)
