"""What one round did to each collection, read from dbt's results of its batch and its changelog."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

WROTE, NOTICE = "OK", "NOTICE"
"""Codes of a result, see macros/internal/result_line.sql. Only the models of trueup have codes."""

BATCH, CHANGELOG, STATE = "trueup_batch", "trueup_changelog", "trueup_state"
"""Materializations of trueup."""

COMMANDS = re.compile(r"; commands (\d+) to (\d+) of (\d+)")
"""The figures of a batch in its message, see macros/plan/log_note.sql."""

SKIPPED = "skipped: "
"""How the message of a notice begins if another run was first."""


@dataclass(frozen=True)
class Settled:
    """How many commands of a collection are settled."""

    collection: str
    before: int
    """Before the round."""
    after: int
    """After the round."""
    total: int
    """The settled commands, and those that could be settled when the round planned its batch."""


@dataclass(frozen=True)
class Batch:
    """The results of a collection's batch and changelog; None if the model did not run."""

    collection: str
    staged: Any
    appended: Any

    def is_appended(self) -> bool:
        """Return whether a batch was appended to the changelog."""
        return code(self.appended) == WROTE

    def settled(self) -> Settled | None:
        """Return how many commands are settled; None if the batch has no figures."""
        found = COMMANDS.search(str(self.staged.message)) if code(self.staged) == WROTE else None
        if found is None or not self.is_appended():
            return None
        first, last, total = map(int, found.groups())
        return Settled(self.collection, first - 1, last, total)

    def has_more(self) -> bool:
        """Return whether `max_commands_per_batch` may have left commands for the next round."""
        if not self.is_appended() or not is_capped(self.staged or self.appended):
            return False
        if code(self.staged) != WROTE:
            return True  # a batch of an earlier run was appended: what is left is not known
        settled = self.settled()
        return settled is not None and settled.after < settled.total

    def obstacle(self) -> str | None:
        """Return why nothing was appended although something is left; None if nothing is left."""
        if self.is_appended():
            return None
        if code(self.appended) == NOTICE:
            return f"{self.collection}: {self.appended.message}"
        if code(self.staged) == NOTICE and self.staged.message.startswith(SKIPPED):
            return f"{self.collection}: {self.staged.message}"
        if code(self.staged) != WROTE:
            return None
        if self.appended is None:
            changelog = f"{self.collection}_changelog"
            return f"{self.collection}: a batch is staged, but {changelog} is not selected"
        return f"{self.collection}: {self.appended.message}"

    def is_skipped(self) -> bool:
        """Return whether another run got in the way of the batch."""
        messages = [one.message for one in (self.staged, self.appended) if code(one) == NOTICE]
        return any(message.startswith(SKIPPED) for message in messages)


def read_batches(results: Sequence[Any]) -> list[Batch]:
    """Read the batch of each collection from dbt's results, in their order."""
    # Two packages may each have a collection of the same name.
    roles: dict[tuple[str, str], dict[str, Any]] = {}
    for one in results:
        role = materialization(one)
        if role in (BATCH, CHANGELOG):
            collection = one.node.name.rpartition("_")[0]
            roles.setdefault((one.node.package_name, collection), {})[role] = one
    return [
        Batch(name, found.get(BATCH), found.get(CHANGELOG)) for (_, name), found in roles.items()
    ]


def code(result: Any) -> str | None:
    """Return the code of a result; None if the model did not run, failed or is not one of ours."""
    return result.adapter_response.get("code") if result is not None else None


def is_capped(result: Any) -> bool:
    """Return whether the option `max_commands_per_batch` limits the batches of a model."""
    options = (result.node.config.meta or {}).get("trueup") or {}
    return options.get("max_commands_per_batch") is not None


def materialization(result: Any) -> str:
    """Return the materialization of the model of a result."""
    return str(result.node.config.materialized)
