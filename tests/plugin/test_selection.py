"""What macros see of the selection of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import networkx as nx  # type: ignore[import-untyped]
from dbt import selected_resources
from dbt.graph.queue import GraphQueue

from dbt_trueup.plugin import selection


def test_a_retry_shows_what_it_runs() -> None:
    """`dbt retry` makes its queue itself, without the step that notes the selection."""
    selection.install()
    selection.install()
    selected_resources.set_selected_resources({"model.shop.of_the_run_before"})
    manifest: Any = SimpleNamespace(expect=lambda _: SimpleNamespace(resource_type="model"))
    graph: Any = nx.DiGraph()
    graph.add_node("model.shop.orders_changelog")
    selected: Any = {"model.shop.orders_changelog"}

    queue = GraphQueue(graph, manifest, selected)

    assert selected_resources.SELECTED_RESOURCES == ["model.shop.orders_changelog"]
    assert queue.get_selected_nodes() == selected
