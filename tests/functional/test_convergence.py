"""One run repairs a collection, whatever happened since the run before.

Between two runs somebody edits the state, commands come late, and the code of the commands
changes, at random and all at once. The oracle is a dict of the last command of each key.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests import strategies
from tests.acceptance import Column, multiset
from tests.oracle import Command, canonical, check_laws
from tests.project import TABLES, quote
from tests.strategies import Kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle import Value
    from tests.project import Project

EXAMPLES = int(os.environ.get("TRUEUP_EXAMPLES", "1"))
"""Each example runs about thirty dbt models. A long run sets more examples."""
ROUNDS = 5
KEY = [Column(*column) for column in strategies.KEY_COLUMNS[2]]
VALUE = [Column(*column) for column in strategies.VALUE_COLUMNS]
DELETES = ["log_delete", "log_delete or v2 > 0", "log_delete or v1 is null", "log_delete or k2 < 1"]
"""The condition of a delete, for each version of the code."""


def is_delete(version: int, command: Command) -> bool:
    """Evaluate DELETES in Python. A comparison with null deletes nothing."""
    if command.value is None:
        return True
    assert command.key is not None
    (v1, v2), k2 = command.value, command.key[1]
    # NaN is greater than every number.
    return (
        (version == 1 and v2 is not None and not v2 <= 0)
        or (version == 2 and v1 is None)
        or (version == 3 and k2 is not None and k2 < 1)
    )


def fold(log: list[Command], version: int) -> list[Value]:
    """Give the rows of a log: the last command of each key wins."""
    last: dict[Any, Command] = {}
    for command in sorted(log, key=lambda each: (each.ts, each.rank)):
        last[canonical(command.key)] = command
    return [
        (*(each.key or ()), *(each.value or ()))
        for each in last.values()
        if not is_delete(version, each)
    ]


def log_of(rng: Random) -> list[Command]:
    """Draw commands. Each command of a key has a tick and an order of its own."""
    strategy = strategies.logs(2, Kinds(errors=False), min_size=60, max_size=60)
    logs = []
    for drawn in strategies.sample(strategy, 30, rng.randrange(2**32)):
        found: dict[Any, Command] = {}
        for command in drawn:
            found[canonical(command.key), command.ts, command.rank] = command
        logs.append([*found.values()])
    # The first logs drawn are the simplest and have few commands.
    return max(logs, key=len)


def damage(project: Project, rng: Random) -> None:
    """Edit random rows of the state."""
    state = f"{project.name}.c_state"
    names = ", ".join(quote(column.name) for column in (*KEY, *VALUE))
    share, salt = rng.choice([2, 5, 10]), rng.randrange(99)
    chosen = f"_kind <> 'progress' and abs(hash({names}, {salt})) % 10 < {share}"
    edits = {
        "update": f"update {state} set v1 = concat(coalesce(v1, ''), '!') where {chosen}",
        "swap": f"update {state} set v2 = coalesce(-v2, 7), _error = null where {chosen}",
        "delete": f"delete from {state} where {chosen}",
        "double": f"insert into {state} select * from {state} where {chosen}",
        "move": f"update {state} set k1 = concat(coalesce(k1, ''), ' ') where {chosen}",
        "drop": f"drop table {state}",
        "nothing": "select 1",
    }
    for what in rng.sample(sorted(edits), rng.randint(1, 2)):
        project.spark.sql(edits[what])
        if what == "drop":
            return


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    return new_project("convergence")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_one_run_repairs_edits_late_commands_and_changes_of_code(
    project: Project, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - no secret
    project.spark.sql(f"drop schema if exists {project.name} cascade")
    project.spark.sql(f"create schema {project.name}")
    project.add_collection("c", KEY, VALUE, {"late": "correct", "verify": "always"})
    path = "models/c/c_commands.sql"
    text = (project.folder / path).read_text()
    log = log_of(rng)
    arrivals: list[list[Command]] = [[] for _ in range(ROUNDS)]
    for command in log:
        rng.choice(arrivals).append(command)
    arrived: list[Command] = []
    published = Counter[Any]()
    for number, commands in enumerate(arrivals):
        version = rng.randrange(len(DELETES)) if number else 0
        project.write(path, text.replace('"log_delete"', f'"{DELETES[version]}"'))
        project.append("c", commands)
        arrived += commands
        until = rng.choice([2, 4, None]) if number < ROUNDS - 1 else None
        if number:
            damage(project, rng)
        models = [f"c_{role}" for role in ("commands", *TABLES)] if number else ["models/c"]
        project.run(*models, until=until)
        upper = project.progress("c")[-1]["_upper"] if project.progress("c") else 0
        expected = fold([each for each in arrived if each.ts < upper], version)
        assert multiset(project.rows("c")) == multiset(expected)
        updates = project.updates("c")
        check_laws(updates)
        written = Counter((each.ts, each.diff, each.identity, each.content) for each in updates)
        assert published <= written, "what was published before is not as it was"
        published = written
    project.run(*(f"c_{role}" for role in TABLES))
    assert "c_corrections: nothing to correct: no command came late" in project.messages
    assert any(message.startswith("c_batch: up to date") for message in project.messages)
