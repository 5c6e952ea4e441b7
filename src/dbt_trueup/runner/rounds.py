"""A round: what one `dbt run` did, read from dbt's results."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from dbt_trueup.dbt import FAILED
from dbt_trueup.dbt_errors import to_one_line
from dbt_trueup.errors import UsageError
from dbt_trueup.plural import count

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

WROTE = "OK"
"""The code of a result that says something, see macros/collection/dbt.sql."""


@dataclass(frozen=True)
class Round:
    """The outcome of one `dbt run`."""

    seconds: float
    models: int = 0
    """How many models ran, whether or not they succeeded."""
    changes: tuple[str, ...] = ()
    """What the collections did, each as `name: message`."""
    failures: tuple[str, ...] = ()
    """Why models failed, each in one line."""


class Runs(Protocol):
    """Something that can be run again and again, such as `Project`."""

    def run(self, grown: Collection[str] | None = None) -> Round:
        """Run the models once. Raise UsageError if there is nothing to run.

        Args:
            grown: The tables that have grown since the last round. Then only the models that read
                them run, and those after them. None: all models run.
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
    return Round(
        seconds=seconds,
        models=sum(one.status != "skipped" and not is_hook(one.node) for one in results),
        changes=tuple(f"{one.node.name}: {one.message}" for one in results if has_written(one)),
        failures=tuple(failures),
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


def has_written(result: Any) -> bool:
    """Return whether a result is that of a collection that was changed or repaired."""
    # Only the models of trueup have codes.
    return bool(result.status == "success" and result.adapter_response.get("code") == WROTE)


def is_hook(node: Any) -> bool:
    """Return whether a node is a hook before or after the run. dbt lists its result, too."""
    return getattr(node, "resource_type", None) == "operation"
