"""A round: what one `dbt run` did, read from dbt's results."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from dbt_trueup.dbt import FAILED
from dbt_trueup.dbt_errors import to_one_line
from dbt_trueup.errors import UsageError
from dbt_trueup.plural import count

from .batches import (
    BATCH,
    CHANGELOG,
    NOTICE,
    STATE,
    WROTE,
    Settled,
    code,
    materialization,
    read_batches,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


@dataclass(frozen=True)
class Round:
    """The outcome of one `dbt run`."""

    seconds: float
    models: int = 0
    """How many models ran, whether or not they succeeded."""
    changes: tuple[str, ...] = ()
    """What the models did, each as `name: message`."""
    failures: tuple[str, ...] = ()
    """Why models failed, each in one line."""
    has_more: bool = False
    """Whether `max_commands_per_batch` may have left commands for the next round."""
    has_written: bool = False
    """Whether a batch was appended to a changelog or applied to a state."""
    settled: tuple[Settled, ...] = ()
    """The progress of each collection with limited batches that settled commands."""
    obstacles: tuple[str, ...] = ()
    """Why collections did not settle what is left, each as `collection: reason`."""
    has_skipped: bool = False
    """Whether a batch was skipped, because another run got in its way."""


class Runs(Protocol):
    """Something that can be run again and again, such as `Project`."""

    def run(self, grown: Collection[str] | None = None) -> Round:
        """Run the models once. Raise UsageError if there is nothing to run.

        Args:
            grown: The tables that have grown since the last round. Then only the models that read
                them run, and all models after those. None if all models must run.
        """


def attempt(runs: Runs, grown: Collection[str] | None = None, *, is_first: bool) -> Round:
    """Run a round. A usage error counts as a failure, except in the first round."""
    began = monotonic()
    try:
        return runs.run(grown)
    except UsageError as error:
        if is_first:
            raise
        return Round(seconds=monotonic() - began, failures=(str(error),))


def read_round(results: Sequence[Any], seconds: float) -> Round:
    """Read dbt's results of a run.

    Args:
        results: The results of dbt: `node`, `status`, `message` and `adapter_response` of models.
        seconds: How long the run took.

    Raises:
        UsageError: There are no results.
    """
    if not results:
        message = (
            "at least one model must be selected.\n"
            "Got: no model is selected; `dbt ls` with the same options lists what they select."
        )
        raise UsageError(message)
    failed = [one for one in results if has_failed(one)]
    skipped_count = sum(one.status == "skipped" for one in results if one not in failed)
    failures = [f"{one.node.name}: {to_one_line(one.message)}" for one in failed]
    if failures and skipped_count:
        failures[-1] += f" ({count(skipped_count, 'model')} skipped)"
    shown = {one.node.name: one.message for one in results if is_shown(one)}
    # The line of a changelog also covers its state.
    covered = {f"{name.removesuffix('_changelog')}_state" for name in shown}
    batches = read_batches(results)
    return Round(
        seconds=seconds,
        models=sum(one.status != "skipped" and not is_hook(one.node) for one in results),
        changes=tuple(f"{name}: {text}" for name, text in shown.items() if name not in covered),
        failures=tuple(failures),
        has_more=any(batch.has_more() for batch in batches),
        has_written=any(has_written(one) for one in results),
        settled=tuple(settled for batch in batches if (settled := batch.settled())),
        has_skipped=any(batch.is_skipped() for batch in batches),
        obstacles=tuple(obstacle for batch in batches if (obstacle := batch.obstacle())),
    )


def has_failed(result: Any) -> bool:
    """Return whether a result is an error.

    dbt gives a skipped model the error of its ephemeral parent. With `--fail-fast` it only says
    that it has skipped the model.
    """
    message = result.message or ""
    return result.status in FAILED or (
        result.status == "skipped" and message != "" and "fail_fast" not in message
    )


def is_hook(node: Any) -> bool:
    """Return whether a node is a hook before or after the run. dbt lists its result, too."""
    return getattr(node, "resource_type", None) == "operation"


def is_shown(result: Any) -> bool:
    """Return whether a result is worth a line: it changed something, or has a notice.

    The batch that a model stages is not shown, because the changelog reports what became of it.
    """
    is_staged = materialization(result) == BATCH and code(result) == WROTE
    return result.status == "success" and code(result) in (WROTE, NOTICE) and not is_staged


def has_written(result: Any) -> bool:
    """Return whether a result is that of a changelog or state that was written."""
    return materialization(result) in (CHANGELOG, STATE) and code(result) == WROTE
