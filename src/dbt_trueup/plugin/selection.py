"""Lets macros see what `dbt retry` runs, as `selected_resources`."""

from __future__ import annotations

from functools import wraps
from typing import Any

from dbt import selected_resources
from dbt.graph.queue import GraphQueue


def install() -> None:
    """Note the selection whenever dbt makes a queue. Calling this again has no effect.

    dbt notes it itself for every command but `dbt retry`. There `selected_resources` would be
    empty, or in a process that runs dbt several times that of the command before.
    """
    prepare = GraphQueue.__init__
    if hasattr(prepare, "notes_selection"):
        return

    @wraps(prepare)
    def prepare_and_note(
        queue: GraphQueue, graph: Any, manifest: Any, selected: set[Any], *more: Any, **named: Any
    ) -> None:
        selected_resources.set_selected_resources(selected)
        prepare(queue, graph, manifest, selected, *more, **named)

    prepare_and_note.notes_selection = True  # type: ignore[attr-defined]
    GraphQueue.__init__ = prepare_and_note  # type: ignore[assignment,method-assign]
