"""The time zone of the session changes no row, no update and no certificate."""

from __future__ import annotations

import os
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.functional.test_schema_evolution import Evolving

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

EXAMPLES = int(os.environ.get("TRUEUP_EXAMPLES", "1"))
"""Each example runs about forty dbt models. A long run sets a greater number."""

ZONES = ["America/New_York", "Asia/Kathmandu", "Pacific/Chatham", "UTC"]
"""New York changes its clock in March. The next two have odd offsets; Chatham has summer time."""

OPTIONS = {"verify": "always", "late": "correct"}
TIMES = [
    # New York skips an hour at 07:00 UTC in March, and repeats that of 05:00 UTC in November.
    *("2024-03-10 06:59:59", "2024-03-10 07:30:00", "2024-11-03 05:30:00", "2024-11-03 06:30:00"),
    # The clock of the Chatham Islands goes back at 14:00 UTC.
    *("2024-04-06 13:59:59", "2024-04-06 14:30:00", "2024-02-03 00:00:00", "1969-02-28 18:15:00"),
]
STEPS = 4
ROLES = ("_commands", "_corrections", "_batch", "_changelog", "_state", "")
LOG = {
    "i": "bigint",
    "f": "double",
    "m": "decimal(9,2)",
    "d": "string",
    "t": "string",
    "added": "string",
    "gone": "string",
}
FIRST = {
    "i": "int",
    "f": "float",
    "m": "decimal(5,2)",
    "d": "date",
    "t": "timestamp",
    "gone": "string",
}
LAST = {
    "i": "bigint",
    "f": "double",
    "m": "decimal(9,2)",
    "d": "timestamp",
    "t": "timestamp",
    "added": "string",
}
KEYS = {"by_text": {"k": "string"}, "by_time": {"k": "timestamp"}}
"""The collections and the types of their keys."""


def test_a_widened_date_is_midnight_in_utc_in_every_session_zone(
    new_project: Callable[[str], Project], in_zone: Callable[[str], None]
) -> None:
    project = new_project("midnight")
    c = Evolving(project, "c", {"d": "string"}, OPTIONS)
    for ts, zone in enumerate(ZONES, start=1):
        in_zone(zone)
        c.show({"d": "date" if ts == 1 else "timestamp"})
        c.append(ts, zone, d="2024-03-10 00:00:00")
        project.run("models/c")
        assert not project.sql("select * from {}.c_corrections"), zone
        c.run_oracle()
        c.check()
    found = {row[0] for row in project.sql("select unix_micros(d) from {}.c")}
    assert found == {1710028800000000}
    assert len(c.oracle.changelog) == len(ZONES), "a date that is widened is no change"


def types_at(rng: Random) -> list[dict[str, str]]:
    """The columns of each step. Each column gets its last type at a random step after the first."""
    changes = {name: rng.randint(1, STEPS - 1) for name in LOG}
    return [
        {
            name: kind
            for name in LOG
            if (kind := (LAST if step >= changes[name] else FIRST).get(name))
        }
        for step in range(STEPS)
    ]


def value_of(rng: Random) -> dict[str, Any]:
    """Values that fit the narrow types, some of them null."""
    drawn = {
        "i": rng.randint(-3, 3),
        "f": rng.choice([0.5, -0.0, float("nan")]),
        "m": Decimal(rng.choice(["1.50", "-0.01"])),
        "d": rng.choice(TIMES),
        "t": rng.choice(TIMES),
        "added": rng.choice("ab"),
        "gone": rng.choice("ab"),
    }
    return {name: None if rng.random() < 0.1 else item for name, item in drawn.items()}


def append(c: Evolving, rng: Random, step: int) -> None:
    """Append commands with ticks of this step and of earlier ones, at most one per key and tick."""
    keys = TIMES if c.name == "by_time" else "abcdefgh"
    met = {(command.ts, command.key) for command in c.log}
    given = []
    for _ in range(12):
        ts, key = rng.randint(max(1, step * 4 - 6), step * 4 + 4), rng.choice(keys)
        if (ts, (key,)) not in met:
            met.add((ts, (key,)))
            given.append((ts, key, {} if rng.random() < 0.2 else value_of(rng)))
    c.append_all(*given)


def data_tests_of(name: str) -> list[dict[str, Any]]:
    key = {"unique_key": ["k"]}
    certified = {"trueup.matches_certificate": key | {"changelog": f"ref('{name}_changelog')"}}
    return [
        {
            "name": f"{name}_changelog",
            "data_tests": [
                {"trueup.one_live_row_per_key": key},
                {"trueup.consolidates_to_state": {"state": f"ref('{name}_state')"}},
                {"trueup.matches_certificate": key},
            ],
        },
        {"name": f"{name}_state", "data_tests": [certified]},
        {"name": name, "data_tests": [certified]},
    ]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_runs_in_random_zones_over_changing_columns_agree_with_the_oracle(
    new_project: Callable[[str], Project], in_zone: Callable[[str], None], seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - no secret
    project = new_project(f"zones_{seed}")
    collections = [Evolving(project, name, LOG, OPTIONS) for name in KEYS]
    types = {c.name: types_at(rng) for c in collections}
    for c in collections:
        tests = yaml.safe_dump({"version": 2, "models": data_tests_of(c.name)})
        project.write(f"models/{c.name}/_{c.name}.yml", tests)
    models = [name + role for name in KEYS for role in ROLES]
    zones = rng.sample(ZONES, len(ZONES))
    for step in range(STEPS):
        in_zone(zones[step % len(zones)])
        edited = rng.choice(["t", "d", None]) if step else None
        for c in collections:
            c.show(KEYS[c.name] | types[c.name][step])
            append(c, rng, step)
            if edited:
                project.sql(
                    f"merge into {{}}.{c.name}_state as state using (select max(k) as k from {{}}."
                    f"{c.name}_state where {edited} is not null) as edit"
                    " on state._kind = 'row' and state.k = edit.k"
                    f" when matched then update set {edited} = null"
                )
        project.run(*models)
        for c in collections:
            c.run_oracle()
            c.check()
            causes = project.sql(f"select _cause from {{}}.{c.name}_corrections")
            assert any(row[0] == "external_edit" for row in causes) == bool(edited)
    in_zone(zones[0])
    project.run(command="test")
    before = {c.name: project.progress(c.name) for c in collections}
    project.run(*models)
    assert before == {c.name: project.progress(c.name) for c in collections}
    for c in collections:
        project.run(f"{c.name}_state", "--full-refresh")
        c.check()
