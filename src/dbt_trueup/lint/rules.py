"""All rules, and the models that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import UsageError

from . import filters, keys, repeatable
from .finding import Finding, Found
from .model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

RULES: dict[str, Callable[[Model], Iterator[Found]]] = {
    "no-key": keys.no_key,
    "ignored-key": keys.ignored_key,
    "nullable-key": keys.nullable_key,
    "no-deduplication": keys.no_deduplication,
    "late-rows-lost": filters.late_rows_lost,
    "clock-window": filters.window_of_the_clock,
    "frozen-filter-column": filters.frozen_filter_column,
    "no-deletes": keys.no_deletes,
    "random-value": repeatable.random_values,
    "arbitrary-row": repeatable.arbitrary_row,
    "limit-without-order": repeatable.limit_without_order,
}
"""The rules for incremental models that are merged by key."""

SNAPSHOT_RULES: dict[str, Callable[[Model], Iterator[Found]]] = {
    "snapshot-deletes": keys.snapshot_keeps_deletes,
}


def models_of(manifest: Any, project: Path, selected: Collection[str]) -> list[Model]:
    """Return the models that have rules: snapshots, and incremental models that are merged.

    Args:
        manifest: What dbt knows of the project.
        project: The folder of the project.
        selected: The ids of the nodes to check.
    """
    package = manifest.metadata.project_name
    nodes = [
        Model(manifest, node, project)
        for node in manifest.nodes.values()
        if node.unique_id in selected
        and node.package_name == package
        and node.config.materialized in ("incremental", "snapshot")
    ]
    chosen = [each for each in nodes if each.is_snapshot or each.is_merged]
    return sorted(chosen, key=lambda each: each.name)


def lint(models: Sequence[Model]) -> list[Finding]:
    """Return what the rules find in models, by file and line.

    Raises:
        UsageError: A model allows a rule that does not exist.
    """
    return [finding for model in models for finding in lint_model(model)]


def lint_model(model: Model) -> list[Finding]:
    """Return what the rules find in one model."""
    allowed = allowed_rules(model)
    rules = SNAPSHOT_RULES if model.is_snapshot else RULES
    if model.node.language != "sql":
        # A model in Python has no SQL to read. Only its config is checked.
        rules = {name: RULES[name] for name in ("no-key", "ignored-key")}
    found = [
        Finding(model.name, model.file, line, name, hazard, fix)
        for name, rule in rules.items()
        if name not in allowed
        for line, hazard, fix in rule(model)
    ]
    return sorted(found, key=lambda one: one.line)


def allowed_rules(model: Model) -> list[str]:
    """Return the rules that a model may break, as its meta says."""
    options = model.node.config.meta.get("trueup") or {}
    allowed = options.get("allow") or [] if isinstance(options, dict) else []
    known = [*RULES, *SNAPSHOT_RULES]
    if not isinstance(allowed, list) or any(name not in known for name in allowed):
        message = (
            f"`allow` in `meta: {{trueup: ...}}` of {model.name} must be a list of rules:"
            f" {', '.join(known)}.\nGot: {allowed}"
        )
        raise UsageError(message)
    return allowed
