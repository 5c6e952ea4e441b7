"""The columns of a log change. The collection follows, ignores or refuses the change."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.acceptance import Column, multiset
from tests.oracle import Collection, Command, Update, check_updates
from tests.project import LOG_COLUMNS, TICK, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.oracle import Value
    from tests.project import Project

WIDE = "struct<" + ", ".join(f"`field {i}`: int" for i in range(30)) + ">"
TABLES = ("commands", "batch", "changelog", "state")
DAY = f"d{TICK}e.f g"
IN_UTC = {
    "date": "cast(cast({} as timestamp_ntz) as string)",
    "timestamp": (
        "cast(timestampadd(microsecond, unix_micros({}), timestamp_ntz'1970-01-01') as string)"
    ),
}
"""Dates and timestamps as texts that do not depend on the time zone of the session."""


class Evolving:
    """A collection over a log whose columns change, with its oracle.

    The log is a view of a table that has all columns from the start. Each step changes the columns
    and types of the view. The table holds dates and timestamps as texts in UTC.
    """

    def __init__(
        self,
        project: Project,
        name: str,
        columns: dict[str, str],
        options: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        """Write the models of the collection.

        Args:
            project: The project that it belongs to.
            name: Its name.
            columns: All value columns that the log gets, with their types in the table.
            options: Its options.
            arguments: Further arguments of its commands.
        """
        self.project, self.name, self.columns = project, name, columns
        value = [Column(*column) for column in columns.items()]
        project.add_collection(name, [Column("k", "string")], value, options)
        given = {
            "relation": f"{project.name}.{name}_view",
            "ts": "log_ts",
            "sequence_by": ["log_order"],
            "delete_when": "log_delete",
            "except_columns": [column.name for column in LOG_COLUMNS],
            **arguments,
        }
        call = ", ".join(f"{argument}={json.dumps(item)}" for argument, item in given.items())
        call = call.replace("=true", "=True")
        project.write(f"models/{name}/{name}_commands.sql", f"{{{{ trueup.commands({call}) }}}}")
        self.oracle = Collection((options or {}).get("late", "drop"))
        self.log: list[Command] = []

    def show(self, types: dict[str, str], renamed: dict[str, str] | None = None) -> None:
        """Give the log these columns and types. They may include columns of the log itself."""
        kept = [
            column.name for column in (*LOG_COLUMNS, Column("k", "")) if column.name not in types
        ]
        self.types = types
        texts = {
            name: f"{quote(name)} || 'Z'" if kind == "timestamp" else quote(name)
            for name, kind in types.items()
        }
        items = [f"cast({texts[name]} as {types[name]})" for name in types]
        names = [quote((renamed or {}).get(name, name)) for name in types]
        cast = [f"{item} as {name}" for item, name in zip(items, names, strict=True)]
        self.project.sql(
            f"create or replace view {{}}.{self.name}_view as"
            f" select {', '.join(kept + cast)} from {{}}.{self.name}_log"
        )

    def append(self, ts: int, key: str, **value: Any) -> None:
        """Append a command. It is a delete if it has no value."""
        self.append_all((ts, key, value))

    def append_all(self, *given: tuple[int, str, dict[str, Any]]) -> None:
        """Append commands at once, because each append makes one more file to read."""
        commands = [
            Command(*(ts, (1,), (key,)), tuple(map(value.get, self.columns)) if value else None)
            for ts, key, value in given
        ]
        self.log += commands
        self.project.append(self.name, commands)

    def select(self, relation: str, condition: str) -> Iterator[tuple[Any, ...]]:
        """Tick, diff, key and values of the rows of a table. A missing value column gives null."""
        frame = self.project.spark.table(f"{self.project.name}.{relation}")
        items = []
        for name, kind in {"k": "string", **self.columns}.items():
            item = quote(name) if name in frame.columns else f"cast(null as {kind})"
            items.append(IN_UTC.get(dict(frame.dtypes).get(name, ""), "{}").format(item))
        items += [name if name in frame.columns else f"0 as {name}" for name in ("_ts", "_diff")]
        for row in frame.where(condition).selectExpr(*items).collect():
            yield (*row[-2:], row[0], *row[1:-2])

    def check(self) -> None:
        """The rows and the changelog equal those of the oracle."""
        rows = [row[2:] for row in self.select(self.name, "true")]
        assert multiset(rows) == multiset(self.oracle.rows)
        updates = [
            Update(row[0], row[1], (row[2],), row[3:])
            for row in self.select(f"{self.name}_changelog", "_kind = 'update'")
        ]
        check_updates(updates, self.oracle.changelog)

    def run_oracle(self) -> None:
        """Settle the log in the oracle. Columns that the log does not have now are null."""
        self.oracle.run(
            [
                replace(command, value=command.value and self.visible(command.value))
                for command in self.log
            ]
        )

    def visible(self, value: Value) -> Value:
        """A value as the log shows it now. If a timestamp is a date now, only its day is left."""
        items = dict(zip(self.columns, value, strict=True))
        days = {
            name: item[:10] + " 00:00:00"
            for name, item in items.items()
            if self.types.get(name) == "date" and item is not None
        }
        return tuple((items | days)[name] if name in self.types else None for name in items)

    def types_of(self, role: str) -> dict[str, str]:
        """The columns of a table of the collection, with their types."""
        return dict(self.project.spark.table(f"{self.project.name}.{self.name}_{role}").dtypes)


def refused(project: Project, name: str) -> str:
    """Give the error of a run that refused the batch of a collection."""
    (said,) = [each for each in project.messages if each.startswith(f"{name}_batch: ")]
    assert " must be " in said, said
    return said


# ------------------------------------------------------------------ followed or ignored changes

ODD = [f"a b{TICK}c", "e.f", "Ünï 😀", "it's \\ # --"]
COLUMNS = {
    "i": "bigint",
    "f": "double",
    "m": "decimal(9,2)",
    "d": "string",
    DAY: "string",
    "gone": "string",
    "kept": "string",
    "n": "struct<a:int,`b c`:string>",
    "wide": WIDE,
    **dict.fromkeys(ODD, "string"),
}
BEFORE = {
    "i": "int",
    "f": "float",
    "m": "decimal(5,2)",
    "d": "date",
    DAY: "date",
    "gone": "string",
    "kept": "string",
}
AFTER = {name: kind for name, kind in COLUMNS.items() if name != "gone"} | {
    "d": "timestamp",
    DAY: "timestamp",
}
AGAIN = {name: AFTER.get(name, "string") for name in ("i", "kept", "gone", *ODD)}

KEY = {"unique_key": ["k"]}
CERTIFIED = {"trueup.matches_certificate": KEY | {"changelog": "ref('c_changelog')"}}
TESTS: list[dict[str, Any]] = [
    {
        "name": "c_changelog",
        "data_tests": [
            {"trueup.one_live_row_per_key": KEY},
            {"trueup.consolidates_to_state": {"state": "ref('c_state')"}},
            {"trueup.matches_certificate": KEY},
        ],
    },
    {"name": "c_state", "data_tests": [CERTIFIED]},
    {"name": "c", "data_tests": [CERTIFIED]},
]


def first_values(key: str, **other: Any) -> dict[str, Any]:
    day = dict.fromkeys(("d", DAY), "2024-02-03 00:00:00")
    return {"i": 1, "f": 0.5, "m": None, **day, "kept": f"of {key}", **other}


@pytest.fixture(scope="module")
def steps(new_project: Callable[[str], Project]) -> dict[str, Any]:
    """Run three times over a log whose columns change, and give the results of each run."""
    project = new_project("evolving")
    c = Evolving(project, "c", COLUMNS)
    ignoring = Evolving(
        project,
        "ignoring",
        {"v": "int", "w": "int", "x": "int"},
        {"on_schema_change": "ignore"},
        ignore_null_updates=True,
    )
    correcting = Evolving(
        project, "correcting", {"v": "int", "w": "int", "x": "int"}, {"late": "correct"}
    )
    project.write("models/c/c_live.sql", "{{ trueup.live('c') }}")
    project.write(
        "models/c_as_of.sql", "{{ config(materialized='view') }} {{ trueup.as_of('c', 1) }}"
    )
    project.write("models/c/_c.yml", yaml.safe_dump({"version": 2, "models": TESTS}))
    seen: dict[str, Any] = {"c": c, "ignoring": ignoring}

    def build(step: str) -> None:
        project.run(command="build")
        for collection in (c, correcting):
            collection.run_oracle()
            collection.check()
        live = project.spark.table("evolving.c_live").drop("_is_final")
        assert multiset(live.collect()) == multiset(project.rows("c"))
        seen[step] = {role: c.types_of(role) for role in TABLES}
        seen[step]["as of"] = [row[2:] for row in c.select("c_as_of", "true")]

    c.show(BEFORE)
    ignoring.show({"v": "int", "w": "int"})
    for key in ("changed", "same", "deleted", "silent"):
        c.append(1, key, **first_values(key))
    c.append(1, "lost", **first_values("lost", gone="something"))
    ignoring.append(1, "a", v=1, w=2)
    correcting.show({"v": "int", "w": "int"})
    correcting.append(1, "a", v=1, w=2, x=3)
    build("before")

    c.show(AFTER)
    ignoring.show({"v": "int", "x": "int"})
    new = {
        "i": 2**40,
        "f": 0.1,
        "m": None,
        "d": "2024-02-03 04:05:06",
        DAY: None,
        "gone": "not in the log any more",
        "n": (7, "seven"),
        "wide": tuple(range(30)),
        **{name: name for name in ODD},
    }
    c.append(2, "changed", **new)
    c.append(2, "new", **new)
    c.append(2, "same", **first_values("same"))
    c.append(2, "lost", **first_values("lost", gone="something"))
    c.append(2, "deleted")
    ignoring.append(2, "a", v=3, x=4)
    ignoring.append(2, "b", x=4)
    correcting.show({"v": "int", "x": "int"})
    correcting.append(2, "b", v=4, w=5, x=6)
    build("after")
    seen["ignored"] = multiset(project.rows("ignoring"))
    seen["corrected"] = multiset(project.rows("correcting"))

    c.show(AGAIN, renamed={"kept": "KEPT"})
    for key in ("changed", "same"):
        c.append(3, key, i=3, kept="still", gone="again", n=(8, "not in the log any more"))
    build("again")
    seen["gone"] = {row["k"]: row["gone"] for row in project.sql("select k, gone from {}.c")}
    return seen


@pytest.mark.long
def test_a_new_column_of_the_commands_is_added(steps: dict[str, Any]) -> None:
    for role in ("changelog", "state"):
        assert not {"n", "wide", *ODD} & steps["before"][role].keys()
        assert {"n", "wide", *ODD} <= steps["after"][role].keys()
        assert steps["after"][role]["n"] == "struct<a:int,b c:string>"


def test_a_column_takes_a_wider_type_that_holds_every_old_value(
    steps: dict[str, Any],
) -> None:
    for role in ("changelog", "state"):
        for name in ("i", "f", "m", "d", DAY):
            expected = AFTER[name]
            assert steps["before"][role][name] == BEFORE[name]
            assert steps["after"][role][name] == expected


def test_a_value_that_is_equal_in_a_wider_type_emits_nothing(steps: dict[str, Any]) -> None:
    changed = {update.key for update in steps["c"].oracle.changelog if update.ts == 2}
    assert ("same",) not in changed
    assert ("lost",) in changed, "a value that was dropped is"


def test_a_column_that_leaves_the_commands_stays_in_the_changelog(
    steps: dict[str, Any],
) -> None:
    assert steps["after"]["changelog"]["gone"] == "string"
    assert "gone" not in steps["after"]["commands"]


def test_a_column_that_comes_back_has_values_again(steps: dict[str, Any]) -> None:
    assert steps["gone"] == {
        "changed": "again",
        "same": "again",
        "lost": None,
        "new": None,
        "silent": None,
    }


def test_names_that_differ_only_in_case_are_the_same_column(steps: dict[str, Any]) -> None:
    assert "KEPT" in steps["again"]["commands"]
    assert steps["again"]["changelog"] == steps["after"]["changelog"]


def test_an_old_tick_reads_the_same_after_the_columns_change(steps: dict[str, Any]) -> None:
    then = multiset(steps["c"].oracle.as_of(1)[0])
    assert then
    for step in ("before", "after", "again"):
        assert multiset(steps[step]["as of"]) == then


@pytest.mark.long
def test_a_state_rebuilt_from_the_changelog_has_the_same_rows(steps: dict[str, Any]) -> None:
    c = steps["c"]
    c.project.run("c_state", "--full-refresh")
    c.check()
    c.append(4, "changed", i=4, kept="after the rebuild")
    c.project.run("c_commands+", command="build")
    c.run_oracle()
    c.check()


def test_ignore_leaves_out_a_new_column_and_sets_a_dropped_one_to_null(
    steps: dict[str, Any],
) -> None:
    assert steps["ignored"] == multiset([("a", 3, None), ("b", None, None)])


def test_late_correct_updates_old_rows_after_a_column_change(
    steps: dict[str, Any],
) -> None:
    assert steps["corrected"] == multiset([("a", 1, None, 3), ("b", 4, None, 6)])


# ------------------------------------------------------------------ refused changes

REFUSED: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, str], str]] = {
    "narrowed": ({}, {"v": "bigint"}, {"v": "int"}, "Got: v, which was bigint and is int"),
    "nested": (
        {},
        {"n": WIDE},
        {"n": WIDE.replace("29`: int", "29`: bigint")},
        "field 29:bigint",
    ),
    "rekeyed": ({}, {"k": "int"}, {"k": "bigint"}, "Got: k, which was int and is bigint"),
    "reordered": (
        {},
        {"log_order": "bigint"},
        {"log_order": "string"},
        "Got: struct<_1:string>",
    ),
    "failing": (
        {"on_schema_change": "fail"},
        {"v": "int"},
        {"w": "int"},
        "Got: w, which is new; v, which is missing",
    ),
    "ignoring": (
        {"on_schema_change": "ignore"},
        {"v": "int"},
        {"v": "bigint"},
        "Got: v, which was int and is bigint",
    ),
}
"""The options, the columns before, the refused columns, and a part of the error."""


@pytest.mark.long
def test_a_refused_column_change_alters_no_table_and_gives_advice(
    new_project: Callable[[str], Project],
) -> None:
    project = new_project("refused")
    values = {"v": "string", "w": "string", "n": WIDE}
    collections = {name: Evolving(project, name, values, case[0]) for name, case in REFUSED.items()}
    roles = ("changelog", "state")
    models = [" ".join(f"{name}_{role}" for name in REFUSED) for role in TABLES]
    for name, collection in collections.items():
        collection.show(REFUSED[name][1])
        collection.append(1, "1", v="1", w="1")
    project.run(*models[:3])
    types = {name: [each.types_of(role) for role in roles] for name, each in collections.items()}
    for name, collection in collections.items():
        collection.show(REFUSED[name][2])
        collection.append(2, "1", v="2", w="2")
    project.run(*models[:2], fails=True)

    for name, collection in collections.items():
        assert REFUSED[name][3] in refused(project, name)
        assert types[name] == [collection.types_of(role) for role in roles]
    advice = re.search(r"alter table .* set tblproperties \(.*\)", refused(project, "reordered"))
    assert advice
    project.sql(advice[0])
    for name, collection in collections.items():
        if name != "reordered":
            collection.show(REFUSED[name][1])
    project.run(*models)
    for name in REFUSED:
        assert [row["_seq"] for row in project.progress(name)] == [1, 2]


@pytest.mark.long
def test_a_name_in_unchanged_that_only_the_log_has_needs_the_model_of_the_commands(
    own_project: Callable[[str], Project],
) -> None:
    project = own_project("unchanged")
    columns = [Column("v", "string")]
    project.add_collection("orders", [Column("k", "string")], columns, extra=["unchanged"])
    project.append("orders", [Command(1, (1,), ("a",), ("v1",))])
    project.run()
    project.set_column("orders", Column("note", "string"))
    project.sql(
        "insert into {}.orders_log by name"
        " select 2 as log_ts, 'a' as k, 'v2' as v, array('note') as log_unchanged"
    )

    project.run("orders_batch", fails=True)
    said = "\n".join(project.messages)
    assert "argument `unchanged` must be names of value columns" in said
    assert "Got: note" in said
    assert "If the log has this column now, run the model of the commands, too." in said
    project.run()

    assert project.rows("orders") == [("a", "v2", None)]
