"""A dbt project that uses trueup, in a temporary folder."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import yaml
from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner, dbtRunnerResult
from pyspark.sql.conversion import LocalDataToArrowConversion

from tests import oracle
from tests.acceptance import Column
from tests.stores import Store, quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from tests.newest_oracle import Command as Newest

LOG_COLUMNS = (
    Column("log_ts", "bigint"),
    Column("log_order", "bigint"),
    Column("log_delete", "boolean"),
    Column("log_error", "string"),
    Column("log_error_key", "string"),
)
EXTRA_COLUMNS = {
    "truncate_when": "log_truncate",
    "unchanged": "log_unchanged",
    "old_key": "log_old_key",
}
"""Optional arguments of `trueup.commands`, each with the column of the log that it reads."""


TABLE_FORMAT = "delta" if "TRUEUP_DELTA" in os.environ else "iceberg"
"""The table format of this process. A JVM keeps the JARs and the catalog that it starts with."""
EVOLVING = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
"""With them, Delta takes almost any name of a column, and renames, drops and widens columns."""
TICK = "`" if TABLE_FORMAT == "iceberg" else "^"
"""A character for names of columns. Delta cannot merge a column with a backquote in its name."""
LOG_PROPERTIES = EVOLVING | {"delta.enableChangeDataFeed": "true"}
"""With its change feed, a log on Delta is read like one on Iceberg: only what is new.

Iceberg keeps properties that it does not know.
"""
FILE_FORMAT = {} if TABLE_FORMAT == "iceberg" else {"+file_format": TABLE_FORMAT}
"""The config of a project that asks for this format. Iceberg is the default."""
TABLE_CONFIG = FILE_FORMAT | ({"+tblproperties": EVOLVING} if TABLE_FORMAT == "delta" else {})
"""The config of the tables of a collection."""

SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""For the environment of a process that ends too soon to profit from Java's second compiler."""

QUIET = ("--quiet", "--no-use-colors", "--no-write-json", "--log-level-file", "none")
"""Flags of dbt. To write a manifest and a debug log takes longer than dbt's own work."""


class Project:
    """A project with collections. Each reads a log table, and the test appends to the log."""

    def __init__(self, folder: Path, name: str, spark: SparkSession, package: Path) -> None:
        """Write an empty project that has `package` installed."""
        self.folder = folder
        self.name = name
        self.spark = spark
        self.table_format = TABLE_FORMAT
        """The format of the tables, and of the logs that the project creates."""
        self.messages: list[str] = []
        """The message or error of each model in the last run."""
        self.config: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        """Further entries of dbt_project.yml, which `configure` writes."""
        self._columns: dict[str, tuple[list[Column], list[Column]]] = {}
        self._models: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        """The options and the arguments of `trueup.commands` of each collection."""
        self._manifest: Any = None
        (folder / "models").mkdir()
        (folder / "dbt_packages").mkdir()
        (folder / "dbt_packages" / "trueup").symlink_to(package)
        packages = {"packages": [{"local": str(package)}]}
        (folder / "packages.yml").write_text(yaml.safe_dump(packages))
        self.configure()
        spark.sql(f"create schema if not exists {name}")

    def configure(self, **models: Any) -> None:
        """Set configs of models, as under `models:` in dbt_project.yml."""
        self.config |= models
        project = {
            "name": self.name,
            "version": "1.0.0",
            "profile": "trueup",
            "flags": {"send_anonymous_usage_stats": False},
            "models": {
                self.name: {"+schema": None, **TABLE_CONFIG, **self.config},
                # The package has a table of its own.
                **({"trueup": FILE_FORMAT} if FILE_FORMAT else {}),
            },
            **self.settings,
        }
        (self.folder / "dbt_project.yml").write_text(yaml.safe_dump(project))
        macro = "{% macro generate_schema_name(custom_schema_name, node) %}"
        macro += "{{ custom_schema_name or '" + self.name + "' }}{% endmacro %}"
        (self.folder / "macros").mkdir(exist_ok=True)
        (self.folder / "macros" / "generate_schema_name.sql").write_text(macro)
        self._manifest = None

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        self._manifest = None

    def add_collection(
        self,
        name: str,
        key: Sequence[Column],
        value: Sequence[Column],
        options: dict[str, Any] | None = None,
        extra: Collection[str] = (),
        **arguments: Any,
    ) -> None:
        """Write the model of a collection, and create its empty log.

        Args:
            name: The collection.
            key: Its key columns.
            value: Its value columns.
            options: Its options.
            extra: The arguments of EXTRA_COLUMNS to use.
            arguments: Further arguments of `trueup.commands`. With `ticks=True`, `log_ts` is a
                tick of the log. By default it is the first part of the order.
        """
        self._columns[name] = (list(key), list(value))
        old_key = ", ".join(f"{quote(column.name)}: {column.type}" for column in key)
        types = {
            "truncate_when": "boolean",
            "unchanged": "array<string>",
            "old_key": f"struct<{old_key}>",
        }
        extra_columns = [Column(EXTRA_COLUMNS[each], types[each]) for each in extra]
        columns = ", ".join(
            f"{quote(column.name)} {column.type}"
            for column in (*LOG_COLUMNS, *extra_columns, *key, *value)
        )
        properties = ", ".join(f"{one!r} = {value!r}" for one, value in LOG_PROPERTIES.items())
        self.spark.sql(
            f"create table {self.name}.{quote(name + '_log')} ({columns}) using {self.table_format}"
            f" tblproperties ({properties})"
        )
        ordered: dict[str, Any] = {"ts": "log_ts", "sequence_by": ["log_order"]}
        given = {
            "relation": f"{self.name}.{quote(name + '_log')}",
            **(
                ordered
                if arguments.pop("ticks", False)
                else {"sequence_by": ["log_ts", "log_order"]}
            ),
            "delete_when": "log_delete",
            "error": "log_error",
            "error_key": "log_error_key",
            **{each: EXTRA_COLUMNS[each] for each in extra},
            **arguments,
        }
        self._models[name] = (options or {}, given)
        self._write_collection(name)

    def _write_collection(self, name: str) -> None:
        key, value = self._columns[name]
        options, given = self._models[name]
        arguments = {"columns": [column.name for column in value], **given}
        call = ", ".join(f"{argument}={literal(item)}" for argument, item in arguments.items())
        self.write_model(name, f"{{{{ trueup.commands({call}) }}}}", [c.name for c in key], options)

    def write_model(
        self, name: str, select: str, unique_key: Sequence[str], options: dict[str, Any]
    ) -> None:
        """Write a model with the materialization `trueup`."""
        config = f"materialized='trueup', unique_key={literal(list(unique_key))}"
        config += f", meta={literal({'trueup': options})}"
        self.write(f"models/{name}.sql", f"{{{{ config({config}) }}}}\n\n{select}")

    def add_select(self, name: str, select: str, unique_key: list[str], **options: Any) -> None:
        """Write the model of a collection that is defined by a select, or another select of it."""
        self._columns[name] = ([Column(column, "") for column in unique_key], [])
        self.write_model(name, select, unique_key, options)

    def set_options(self, name: str, **options: Any) -> None:
        """Give a collection by commands other options."""
        self._models[name] = (options, self._models[name][1])
        self._write_collection(name)

    def set_arguments(self, name: str, **arguments: Any) -> None:
        """Give some arguments of `trueup.commands` another value."""
        options, given = self._models[name]
        self._models[name] = (options, given | arguments)
        self._write_collection(name)

    def set_column(self, name: str, column: Column) -> None:
        """Add a value column to the log of a collection, or change the type of one."""
        log, (_, value) = f"{self.name}.{quote(name + '_log')}", self._columns[name]
        names = [each.name for each in value]
        if column.name in names:
            self.spark.sql(f"alter table {log} drop column {quote(column.name)}")
        self.spark.sql(f"alter table {log} add column {quote(column.name)} {column.type}")
        value[:] = [*(each for each in value if each.name != column.name), column]
        self._write_collection(name)

    def append(self, name: str, commands: Iterable[oracle.Command | Newest]) -> None:
        """Append commands to the log of a collection.

        The order of a command without a tick has two parts: `log_ts` and `log_order`.
        """
        key, value = self._columns[name]
        schema = self.spark.table(f"{self.name}.{quote(name + '_log')}").schema
        rows = []
        for command in commands:
            if isinstance(command, oracle.Command):
                ts, order = command.ts, pack(command.order)
            else:
                ts, order = command.order or (None, None)
            row = {
                "log_ts": ts,
                "log_order": order,
                "log_delete": command.value is None
                and command.error is None
                and not command.is_truncate,
                "log_error": command.error,
                "log_error_key": command.error_key,
                "log_truncate": command.is_truncate,
                "log_unchanged": [value[i].name for i in sorted(command.unchanged)],
                "log_old_key": command.old_key,
                **_named(key, command.key),
                **_named(value, command.value),
            }
            rows.append(tuple(row[field] for field in schema.names))
        self.insert(quote(f"{name}_log"), rows)

    def insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows to a table of the schema, in one file.

        They go to Spark through Arrow: for a few rows this takes a third of the time.
        """
        if not rows:
            return
        target = f"{self.name}.{table}"
        schema = self.spark.table(target).schema
        converted = LocalDataToArrowConversion.convert(
            list(rows), schema, use_large_var_types=False
        )
        self.spark.createDataFrame(converted, schema).coalesce(1).writeTo(target).append()

    def run(
        self, *select: str, command: str = "run", fails: bool | None = False, **variables: Any
    ) -> None:
        """Run dbt in this process.

        The project is parsed before the first run, and again after each change of the project.

        Args:
            select: The models to run; all by default. Words that begin with `-` are flags of dbt.
            command: The command of dbt.
            fails: Whether the run must fail. None allows both outcomes. After a wrong outcome this
                raises with the messages of dbt.
            variables: The vars of trueup, without their prefix.
        """
        arguments = ["--project-dir", str(self.folder), *QUIET]
        if self._manifest is None:
            parsed = dbtRunner().invoke(["parse", *arguments, "--no-partial-parse"])
            if not parsed.success:
                self.messages = [str(parsed.exception)]
                assert fails, self.messages
                return
            self._manifest = parsed.result
        models = [word for word in select if not word.startswith("-")]
        result = dbtRunner(manifest=self._manifest).invoke(
            [
                command,
                *arguments,
                *(word for word in select if word.startswith("-")),
                *(["--select", *models] if models else []),
                "--vars",
                json.dumps({f"trueup_{name}": value for name, value in variables.items()}),
            ]
        )
        self.messages = messages(result)
        assert fails in (None, not result.success), "\n".join(self.messages)

    @property
    def printed_plan(self) -> str:
        """The plan that the last run has asked to approve."""
        (plan,) = set(re.findall(r"plan-[0-9a-f]{16}", "\n".join(self.messages)))
        return str(plan)

    def operate(self, operation: str, *, fails: bool = False, **arguments: object) -> list[str]:
        """Run an operation of trueup in this process. Return the lines that dbt prints.

        It sees the project as the last run did, or as it is now after a change of the project.

        Args:
            operation: Its name without the package, such as `compact`.
            fails: Whether the operation must fail. After the other outcome this raises.
            arguments: The arguments of the operation.
        """
        printed: list[str] = []
        runner = dbtRunner(
            manifest=self._manifest,
            callbacks=[lambda event: printed.append(str(event.info.msg))],  # type: ignore[attr-defined]
        )
        command = ["run-operation", f"trueup.{operation}", "--args", json.dumps(arguments)]
        result = runner.invoke([*command, "--project-dir", str(self.folder), *QUIET])
        assert fails != result.success, "\n".join(printed)
        return printed

    def sql(self, text: str) -> list[Row]:
        """Return the rows of a query. `{}` is the schema, `{format}` the table format."""
        named = text.replace("{}", self.name).replace("{format}", self.table_format)
        return self.spark.sql(named).collect()

    def rewrite_files(self, table: str) -> None:
        """Rewrite all files of a table. Its rows stay."""
        options = "options => map('rewrite-all', 'true')"
        self.sql(
            f"optimize {{}}.{table}"
            if self.table_format == "delta"
            else f"call system.rewrite_data_files(table => '{{}}.{table}', {options})"
        )

    def version(self, table: str) -> int | None:
        """The current snapshot of a table, on Delta its version; None if it has none."""
        found = self.sql(
            f"describe history `{{}}`.{table} limit 1"
            if self.table_format == "delta"
            else f"select snapshot_id from {{}}.{table}.refs where name = 'main'"
        )
        return found[0][0] if found else None

    def versions(self, table: str) -> list[int]:
        """The snapshots of a table, on Delta its versions. The current one is the first."""
        found = self.sql(
            f"describe history `{{}}`.{table}"
            if self.table_format == "delta"
            else f"select snapshot_id from {{}}.{table}.history order by made_current_at desc"
        )
        return [row[0] for row in found]

    def restore(self, versions: Mapping[str, int]) -> None:
        """Give each table the content of one of its versions. On Delta this adds a version."""
        for table, version in versions.items():
            self.sql(self.restore_sql(table, version))

    def restore_sql(self, table: str, version: int) -> str:
        """Give the statement that restores a table."""
        if self.table_format == "delta":
            return f"restore table {{}}.{table} to version as of {version}"
        return f"call lake.system.set_current_snapshot('{{}}.{table}', {version})"

    def store(self, name: str) -> Store:
        """Return what reads the store of a collection."""
        key, value = self._columns[name]
        value_names = [column.name for column in value]
        if not value_names:
            shown = self.spark.table(f"{self.name}.{quote(name)}").columns
            value_names = [each for each in shown if each not in {column.name for column in key}]
        return Store(self, name, [column.name for column in key], value_names)

    def rows(self, name: str) -> list[oracle.Value]:
        """Return the rows of the collection, as its view shows them."""
        return [tuple(row) for row in self.sql(f"select * from {{}}.{quote(name)}")]

    def errors(self, name: str) -> dict[oracle.Identity, str]:
        """Return the open errors of the collection, each with its kind."""
        return self.store(name).errors()

    def progress(self, name: str) -> list[dict[str, Any]]:
        """Return the batches of the collection: their notes, with `seq` and `ts`."""
        return self.store(name).batches()

    def updates(self, name: str, after: int = 0) -> list[oracle.Update]:
        """Return the updates of all batches after `after`."""
        key, value = self._columns[name]
        rows = self.store(name).stored(f"_kind = 'update' and _seq > {after}")
        return [
            oracle.Update(
                row["_ts"],
                row["_diff"],
                None if row["_error_key"] is not None else tuple(row[c.name] for c in key),
                None if row["_error"] is not None else tuple(row[c.name] for c in value),
                None if row["_error_key"] is not None else row["_error"],
                row["_error_key"],
            )
            for row in rows
        ]


def messages(invoked: dbtRunnerResult) -> list[str]:
    """Return the message of each model of a run, or the error if there was no run."""
    if isinstance(invoked.result, RunExecutionResult):
        return [f"{one.node.name}: {one.message}" for one in invoked.result.results]
    return [str(invoked.exception)]


def literal(item: object) -> str:
    """Write a value as a literal of Jinja."""
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False)
    if isinstance(item, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in item.items()) + "}"
    if isinstance(item, (list, tuple)):
        return "[" + ", ".join(map(literal, item)) + "]"
    return repr(item)


def _named(columns: list[Column], items: oracle.Value | None) -> dict[str, Any]:
    names = [column.name for column in columns]
    return dict(zip(names, items or [None] * len(names), strict=True))


def pack(order: tuple[int | None, ...]) -> int | None:
    """Pack an order of small numbers into one number; null if all parts are null."""
    known = [part for part in order if part is not None]
    if not known:
        return None
    assert len(known) == len(order), f"either all parts of an order are null or none: {order}"
    packed = 0
    for part in known:
        packed = packed * 1_000_000 + part
    return packed
