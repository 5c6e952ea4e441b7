"""The collections that runs race for, each with a log that grows and with its oracle."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

from tests.newest_oracle import Command, Newest
from tests.project import LOG_PROPERTIES
from tests.stores import Store

if TYPE_CHECKING:
    from random import Random

    from tests.project import Project

ADDED = 6
"""How many columns a log may get after its first batch."""
WIDTH = 2 + ADDED
MODEL = """{{{{ config(
    materialized='trueup',
    unique_key='k',
    meta={{'trueup': {{
        {options} 'verify': env_var('TRUEUP_TEST_VERIFY', 'ancestry')
    }}}},
) }}}}
{select}
"""
COMMANDS = """{{{{ trueup.commands(
    relation='{schema}.{name}_log', sequence_by=['o'],
    delete_when="op = 'D'", truncate_when="op = 'T'", except_columns=['o', 'op'],{arguments}
) }}}}"""


class Subject:
    """A collection that reads a log. Runs act on it one after the other; it just goes on."""

    batches = 25
    """After so many batches it begins again: a long history makes all runs slow."""
    arguments = ""
    """Further arguments of `trueup.commands`."""

    def __init__(self, project: Project, name: str, **options: object) -> None:
        """Write the model, with options other than the default ones."""
        self.project, self.name, self.may_fail = project, name, "on_conflict" in options
        self.numbers = count(1)
        given = "".join(f"'{option}': {value!r}, " for option, value in options.items())
        project.write(f"models/{name}.sql", MODEL.format(options=given, select=self.select()))
        self.begin_again()

    def select(self) -> str:
        """The SELECT of the model."""
        return COMMANDS.format(schema=self.project.name, name=self.name, arguments=self.arguments)

    @property
    def input(self) -> str:
        """The table that the model reads."""
        return f"{self.project.name}.{self.name}_log"

    @property
    def store(self) -> str:
        """The store."""
        return f"{self.project.name}.{self.name}__trueup"

    def drop(self) -> None:
        """Drop what runs have made."""
        schema = self.project.name
        # On Delta the list of tables has the views, too.
        for kind, column in (("view", "viewName"), ("table", "tableName")):
            named = self.project.sql(f"show {kind}s in {schema} like '{self.name}*'")
            for name in {row[column] for row in named} - {f"{self.name}_log"}:
                self.project.sql(f"drop {kind} {schema}.{name}")

    def begin_with_a_table(self) -> None:
        """Drop everything. A table has the name of the model, and its rows are to be adopted."""
        self.begin_again()
        rows = [self.upsert(-1, "always", 0), self.upsert(-1, "adopted", 1)]
        items = ", ".join(
            f"('{row.key[0]}', '{row.value[0]}', {row.value[1]})"
            for row in rows
            if row.key and row.value
        )
        self.project.sql(
            f"create table {{}}.{self.name} using {{format}} as"
            f" select k, v, cast(n as bigint) as n from values {items} as given(k, v, n)"
        )
        self.oracle.run(rows)
        self.has_adopted = True

    def begin_again(self) -> None:
        """Drop everything, and make the input without a row."""
        self.drop()
        self.project.sql(f"drop table if exists {self.input}")
        properties = ", ".join(f"{one!r} = {value!r}" for one, value in LOG_PROPERTIES.items())
        self.project.sql(
            f"create table {self.input} (o bigint, op string, k string, v string, n bigint)"
            f" using {{format}} tblproperties ({properties})"
        )
        self.tick, self.has_adopted = 0, False
        self.columns: list[str] = []
        self.oracle: Newest = Newest(width=WIDTH)

    @property
    def is_used_up(self) -> bool:
        """Whether the collection should begin again before the next script."""
        return self.tick > self.batches or len(self.columns) == ADDED

    def add_column(self) -> None:
        """Give the log one more column."""
        self.columns.append(f"e{len(self.columns)}")
        self.project.sql(f"alter table {self.input} add column {self.columns[-1]} string")

    def arrive(self, random: Random) -> None:
        """Let some commands arrive: new, late, equal and deleting ones."""
        self.tick += 1
        now = self.tick * 10
        late = random.randrange(now)
        commands = [
            self.upsert(now, "always", now),
            self.upsert(now, f"new {now}", 0),
            Command((now,), (f"new {now - 10}",), None),
            self.upsert(now + 1, f"key {now % 7}", now),
            self.upsert(late, f"key {late % 7}", -late),
            Command((now - 15,), (f"key {(now - 1) % 7}",), None),
        ]
        commands += random.sample(commands, 2)
        if self.tick % 4 == 0:
            commands += [self.upsert(now, "tied", 1), self.upsert(now, "tied", 2)]
        if self.tick % 9 == 0:
            commands.append(Command((now - 25,), None, None, is_truncate=True))
        random.shuffle(commands)
        rows = []
        for command in commands:
            op = "T" if command.is_truncate else "U" if command.value is not None else "D"
            value = command.value or (None,) * WIDTH
            key = command.key[0] if command.key else None
            assert command.order is not None
            rows.append((*command.order, op, key, *value[: 2 + len(self.columns)]))
        self.project.insert(f"{self.name}_log", rows)
        self.oracle.run(commands)

    def upsert(self, order: int, key: str, number: int) -> Command:
        """A command that gives every column of the log."""
        added = [f"{name} at {order}" for name in self.columns]
        value = (f"value {order}", number, *added, *[None] * (ADDED - len(added)))
        return Command((order,), (key,), value)

    def edits(self) -> list[str]:
        """What somebody may do to the store, by the part that it damages."""
        current, history = "_kind in ('row', 'error', 'tombstone')", "_kind = 'update'"
        return [
            f"update {self.store} set v = 'edited' where _kind = 'row' and k = 'always'",
            f"delete from {self.store} where _kind = 'row'",
            f"delete from {self.store} where _kind = 'tombstone'",
            f"delete from {self.store} where {current}",
            f"insert into {self.store} select * from {self.store} where _kind = 'row'",
            f"delete from {self.store} where {history} and k = 'always'",
            f"update {self.store} set n = -7 where {history}",
            f"insert into {self.store} select * from {self.store} where {history}",
            f"delete from {self.store} where _kind = 'batch' and _seq = 0",
        ]

    def check(self, *, is_complete: bool = True) -> None:
        """Compare the store with its own laws and, if all was read, with the oracle."""
        names = ["v", "n", *self.columns]
        store = Store(self.project, self.name, ["k"], names)
        store.check_laws()
        if not is_complete:
            return
        missing = (None,) * (ADDED - len(self.columns))
        found = {key: (*value, *missing) for key, value in store.rows().items()}
        right = self.oracle.rows()
        wrong = {
            key: (found.get(key), right.get(key))
            for key in found.keys() | right.keys()
            if found.get(key) != right.get(key)
        }
        assert not wrong, f"rows, found and right: {wrong}"
        assert store.errors() == self.oracle.errors()
        assert not store.order_errors()


class Ticked(Subject):
    """A collection whose log has ticks: ten orders each. Late commands act as always."""

    arguments = " ts='o div 10',"


class Sliced(Subject):
    """A collection whose first load has many batches, each of a slice of the keys."""

    batches = 12


class Selected(Subject):
    """A collection by a SELECT over a table."""

    def select(self) -> str:
        """The SELECT of the model."""
        return f"select k, count(*) as v, max(n) as n from {self.input} group by k"

    def arrive(self, random: Random) -> None:
        """One key changes, one is new, and one is gone."""
        self.tick += 1
        self.project.sql(f"delete from {self.input} where k = 'new {self.tick - 1}'")
        rows = [("always", self.tick), (f"new {self.tick}", random.randrange(3))]
        self.project.insert(f"{self.name}_log", [(0, "U", key, "", n) for key, n in rows])

    def edits(self) -> list[str]:
        """The column `v` is a number here, and there are no tombstones."""
        return [edit.replace("v = 'edited'", "v = -1") for edit in super().edits()]

    def check(self, *, is_complete: bool = True) -> None:
        """The rows are those of the SELECT."""
        store = Store(self.project, self.name, ["k"], ["v", "n"])
        store.check_laws()
        if is_complete:
            rows = Counter(tuple(row) for row in self.project.sql(self.select()))
            assert Counter((*key, *value) for key, value in store.rows().items()) == rows
