"""The scenarios of docs/torture.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance import Column
from tests.oracle import Command, Error, Update, Value

PATH = Path(__file__).parents[1] / "docs" / "torture.md"
UNTILS = (10, 20)
"""The cap of each run: the run settles the ticks below it."""

KEY = r"(?P<key>\([^)]*\)|\w+)"
SUBJECT = re.compile(rf"{KEY}(?: from (?P<old>\w+))?(?: error ?(?P<error>.*)|=(?P<value>.*))")


@dataclass(frozen=True)
class Scenario:
    """One line of the table.

    Attributes:
        name: The situation and the options.
        options: The options that the result depends on.
        runs: The commands that arrive before each run.
        columns: The third value column of the log in each run; None if the log has no such column.
        collections: The possible results, each with its rows and errors; empty if a run is refused.
        changelogs: The updates of each possible result, in the same sequence.
        refused: A word of the error message if a run is refused, else None.
    """

    name: str
    options: dict[str, Any]
    runs: tuple[list[Command], list[Command]]
    columns: tuple[Column | None, Column | None]
    collections: list[list[Value | Error]]
    changelogs: list[list[Update]]
    refused: str | None

    @property
    def commands(self) -> list[Command]:
        """The commands of both runs."""
        return [command for run in self.runs for command in run]

    @property
    def key_width(self) -> int:
        """The number of key columns."""
        return max(len(command.key) for command in self.commands if command.key)

    @property
    def is_alone(self) -> bool:
        """Whether it affects other keys: it stops a run, removes all keys, or adds a column."""
        corrects = self.options.get("late") == "correct"
        truncates = [each.is_truncate for each in (self.commands if corrects else self.runs[0])]
        return self.refused is not None or any(truncates) or any(self.columns)


def load(path: Path = PATH) -> list[Scenario]:
    """Read the table: the last one of the page."""
    table = path.read_text(encoding="utf-8").rpartition("## The table")[2]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [_scenario([cell.strip() for cell in line[1:-1].split("|")]) for line in lines[2:]]


def read(commands: list[Command], options: dict[str, Any]) -> list[Command]:
    """Return the commands as the options change them."""
    ignored = [None] if options.get("ignore_null_updates") else []
    ignored += [options["unchanged_value"]] if "unchanged_value" in options else []

    width = max([len(command.value) for command in commands if command.value], default=0)

    def one(command: Command) -> Command:
        if command.key == (None,) and options.get("null_keys") == "error":
            return replace(command, key=None, error_key="null")
        if command.value is None:
            return command
        value = (*command.value, *[None] * (width - len(command.value)))
        unchanged = {i for i, item in enumerate(command.value) if item in ignored}
        return replace(command, value=value, unchanged=command.unchanged | unchanged)

    return [one(command) for command in commands]


def _scenario(cells: list[str]) -> Scenario:
    name, options, first, second, _, collection, changelog = cells
    refused = collection.removeprefix("refused: ") if collection.startswith("refused") else None
    return Scenario(
        f"{name}; {options.strip('`')}" if options != "—" else name,
        yaml.safe_load(options.strip("`")) if options != "—" else {},
        (_commands(first), _commands(second)),
        (_column(first), _column(second)),
        [] if refused else [[_live(one) for one in _items(each)] for each in _either(collection)],
        [[_update(one) for one in _items(each)] for each in _either(changelog)],
        refused,
    )


def _either(cell: str) -> list[str]:
    return cell.split(" or ")


def _items(cell: str) -> list[str]:
    return [] if cell == "—" else cell.strip("`").split("; ")


def _commands(cell: str) -> list[Command]:
    return [_command(text) for text in _items(cell) if not text.startswith("column ")]


def _column(cell: str) -> Column | None:
    found = [text.split()[1:] for text in _items(cell) if text.startswith("column ")]
    return Column(*found[0]) if found else None


def _command(text: str) -> Command:
    place, _, rest = text.partition(" ")
    ts, order = (_number(part) for part in place.split("."))
    # A null tick is refused before any code reads it.
    if rest == "truncate":
        return Command(ts, (order,), None, None, is_truncate=True)  # type: ignore[arg-type]
    if rest.startswith("delete "):
        key, value, error, old, unchanged = _key(rest.removeprefix("delete ")), None, None, None, []
    else:
        key, value, error, old = _subject(rest)
        unchanged = [i for i, item in enumerate(value or ()) if item == "~"]
    return Command(
        ts,  # type: ignore[arg-type]
        (order,),
        key,
        value,
        error,
        unchanged=frozenset(unchanged),
        old_key=old,
    )


def _live(text: str) -> Value | Error:
    key, value, error, _ = _subject(text)
    if value is not None:
        return key + value
    return Error(None, "null", None) if key == (None,) else Error(key, None, error)


def _update(text: str) -> Update:
    ts, _, rest = text.partition(" ")
    live = _live(rest[1:])
    diff = {"+": 1, "-": -1}[rest[0]]
    if isinstance(live, Error):
        return Update(int(ts), diff, live.key, None, live.text, live.error_key)
    key, _, _, _ = _subject(rest[1:])
    return Update(int(ts), diff, key, live[len(key) :])


def _subject(text: str) -> tuple[Value, Value | None, str | None, Value | None]:
    """Key, value, error text and old key."""
    found = SUBJECT.fullmatch(text)
    if found is None:
        message = f"docs/torture.md: not a command, row or error\nGot: {text}"
        raise ValueError(message)
    old = None if found["old"] is None else _key(found["old"])
    if found["value"] is None:
        return _key(found["key"]), None, found["error"], old
    value = [_text(item) for item in found["value"].split(",")]
    return _key(found["key"]), (*value, *[None] * (2 - len(value))), None, old


def _key(text: str) -> Value:
    return tuple(_text(part) for part in text.strip("()").split(","))


def _text(text: str) -> str | int | None:
    return int(text) if text.isdigit() else None if text == "null" else text


def _number(text: str) -> int | None:
    return None if text == "null" else int(text)
