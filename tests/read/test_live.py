"""`trueup.live` over random logs: a view in SQL and a table through Python equal the oracle."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests import strategies
from tests.bundles import tick_of
from tests.collection.test_random_orders import (
    PARTIAL,
    VALUE,
    WHOLE,
    Script,
    add_log,
    append,
    scripts,
    write_model,
)
from tests.newest_oracle import Command, Newest, Ties
from tests.oracle import canonical
from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle import Value
    from tests.project import Project

TIES: tuple[Ties, ...] = ("error", "prefer_upsert", "prefer_delete")


def live_rows(project: Project, name: str, key: list[str]) -> dict[Value, tuple[Value, bool]]:
    """The rows of a model with `trueup.live`: values by key, and whether they are final."""
    columns = ", ".join([*key, *VALUE])
    shown = project.sql(f"select {columns}, _is_final from {{}}.{name}")
    found = {
        canonical(tuple(row)[: len(key)]): (canonical(tuple(row)[len(key) : -1]), row["_is_final"])
        for row in shown
    }
    assert len(found) == len(shown), shown
    return found


def settled_and_not(script: Script) -> tuple[int, int]:
    """Scores a script: how many rows of `trueup.live` are final, and how many are not.

    Every second run reads the log, and leaves its last two ticks open.
    """
    newest, read, upper, counts = Newest(ties=script.ties), list[Command](), 0, Counter[bool]()
    for number, run in enumerate(script.runs):
        newest.run(run)
        read = [command for each in script.runs[: number - number % 2 + 1] for command in each]
        ticks = [tick for command in read if (tick := tick_of(command)) is not None]
        upper = max([upper, *(tick - 1 for tick in ticks)])
        settled = Newest(ties=script.ties)
        settled.run([command for command in read if (tick_of(command) or 0) < upper])
        rows = settled.rows()
        counts.update(rows.get(key) == value for key, value in newest.rows().items())
    return min(counts[True], counts[False]), counts.total()


@pytest.mark.parametrize("is_partial", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("seed", range(strategies.EXAMPLES))
def test_live_is_the_collection_as_if_everything_were_settled(
    own_project: Callable[[str], Project], *, seed: int, is_partial: bool
) -> None:
    """A view in SQL, and a table through the Python aggregate: both equal the oracle."""
    ties = TIES[seed % len(TIES)]
    kinds = PARTIAL if is_partial else WHOLE
    script = strategies.choose(scripts(kinds, ties), seed + 3, settled_and_not)
    project = own_project("random_live")
    add_log(project, script.width)
    write_model(project, script, is_partial=is_partial, has_ticks=True, input_upper="log_upper - 2")
    call = "{{ trueup.live('c') }}"
    project.write("models/shown.sql", call)
    project.write("models/kept.sql", "{{ config(materialized='table') }}\n" + call)
    key = [name for name, _ in strategies.KEY_COLUMNS[script.width]]
    store, newest = Store(project, "c", key, VALUE), Newest(ties=ties)
    counts = Counter[bool]()
    for number, run in enumerate(script.runs):
        append(project, script.width, run)
        newest.run(run)
        if number % 2 == 0:  # the commands of the other runs are read later, as late ones
            project.run("c")
        project.run("shown", "kept")
        settled = store.rows()
        shown = newest.rows() if len(store.batches()) > 1 else {}  # none before the first batch
        expected = {one: (value, settled.get(one) == value) for one, value in shown.items()}
        assert live_rows(project, "shown", key) == expected
        assert live_rows(project, "kept", key) == expected
        counts.update(is_final for _, is_final in expected.values())
    compiled = (
        project.folder / "target" / "run" / project.name / "models" / "kept.sql"
    ).read_text()
    assert ("trueup_provisional(" in compiled) != is_partial
    assert seed or not strategies.LEAST or all(counts[one] for one in (False, True)), counts
