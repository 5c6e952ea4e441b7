"""A collection as a plain dict: what every other test is compared with.

The log is given whole at every run, in any order. All that comes out is in canonical form; bring
what you compare it with into that form too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby
from math import inf, isnan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Value = tuple[Any, ...]
Identity = tuple[Value | None, str | None]
"""Key and error key; one of them is None."""
Content = tuple[Value | None, str | None]
"""Value and error text: a row has a value, a value error its text, a key error neither."""


def canonical(item: object) -> Any:
    """Give equal values one hashable form: NaN equals NaN and -0.0 equals 0.0, at any depth.

    >>> canonical([float("nan"), -0.0, None])
    (('NaN',), 0.0, None)
    """
    if isinstance(item, float):
        return ("NaN",) if isnan(item) else item + 0.0
    if isinstance(item, bytearray):
        return bytes(item)
    return tuple(map(canonical, item)) if isinstance(item, list | tuple) else item


@dataclass(frozen=True)
class Command:
    """One row of the log; neither value nor error is a delete."""

    ts: int
    order: tuple[Any, ...]
    key: Value | None
    value: Value | None
    error: str | None = None
    error_key: str | None = None

    def __post_init__(self) -> None:
        """Refuse a command without an identity, or with two."""
        if (self.key is None) == (self.error_key is None):
            message = f"Command takes either key or error_key\nGot: {self.key}, {self.error_key}"
            raise ValueError(message)

    @property
    def identity(self) -> Identity:
        """What the command sets or deletes."""
        return canonical(self.key), self.error_key

    @property
    def content(self) -> Content | None:
        """What it is set to. Key errors are all alike: nothing of a message is in them."""
        if self.value is None and self.error is None:
            return None
        if self.error_key is not None:
            return None, None
        return (None, self.error) if self.error is not None else (canonical(self.value), None)


class Update(NamedTuple):
    """An addition or a retraction, of a row (with a value) or of an error (without)."""

    ts: int
    diff: int
    key: Value | None
    value: Value | None
    error: str | None = None
    error_key: str | None = None

    @property
    def identity(self) -> Identity:
        """What is updated."""
        return canonical(self.key), self.error_key

    @property
    def content(self) -> Content:
        """What is added or retracted."""
        return canonical(self.value), self.error


class Error(NamedTuple):
    """A live error; `text` is None for a key error."""

    key: Value | None
    error_key: str | None
    text: str | None

    @property
    def kind(self) -> Literal["value", "key", "null_key"]:
        """What the error key alone tells."""
        if self.error_key is None:
            return "value"
        return "null_key" if self.error_key == "null" else "key"


class Collection:
    """What the runs over a log have left.

    Args:
        late: Whether commands below the frontier are dropped, or put right at the frontier.
        tie_breaker: Takes the commands of one key, tick and greatest order, one for each content,
            and returns the winner. Without it a tie raises ValueError.
    """

    def __init__(
        self,
        late: Literal["drop", "correct"] = "drop",
        tie_breaker: Callable[[list[Command]], Command] | None = None,
    ) -> None:
        """Start empty, with the upper 0."""
        self.late = late
        self.tie_breaker = tie_breaker
        self.upper = 0
        self.changelog: list[Update] = []
        self.counters = Counter[str]()
        """Over all batches so far, but `records_indexed` is of now."""
        self._persisted: dict[Identity, Content] = {}

    @property
    def rows(self) -> set[Value]:
        """The live rows, key columns first."""
        return _rows_and_errors(self._persisted)[0]

    @property
    def errors(self) -> set[Error]:
        """The live errors."""
        return _rows_and_errors(self._persisted)[1]

    def as_of(self, ts: int) -> tuple[set[Value], set[Error]]:
        """Rows and errors at the end of the tick `ts`, from the changelog alone."""
        sums = Counter[tuple[Identity, Content]]()
        for update in self.changelog:
            if update.ts <= ts:
                sums[update.identity, update.content] += update.diff
        return _rows_and_errors(dict(item for item, live in sums.items() if live))

    def run(
        self, log: list[Command], until: int | None = None, max_commands: int | None = None
    ) -> list[Update]:
        """Settle what the whole log so far allows, and return the updates of this batch."""
        lower, upper = self.upper, self._next_upper(log, until, max_commands)
        paths: defaultdict[Identity, list[tuple[int, Content | None]]] = defaultdict(list)
        if self.late == "correct":
            past = _candidates(log, -inf, lower)
            desired = {identity: self._choose(best) for (_, identity), best in past.items()}
            for identity in [*self._persisted, *desired]:
                paths[identity] = [(lower, desired.get(identity))]
        batch = _candidates(log, lower, upper)
        for (ts, identity), best in batch.items():
            paths[identity].append((ts, self._choose(best)))
        updates = [update for identity in paths for update in self._fold(identity, paths[identity])]
        if upper == lower and not updates:
            return []
        updates.sort(key=lambda update: update.ts)
        self.changelog += updates
        self.upper = upper
        met = sum(command.ts < lower for command in log)
        self.counters["late_dropped"] += met - self.counters["messages_received"]
        self.counters["messages_received"] = sum(command.ts < upper for command in log)
        self.counters["ties"] += sum(len(best) > 1 for best in batch.values())
        self.counters["records_indexed"] = len(self._persisted)
        return updates

    def _next_upper(self, log: list[Command], until: int | None, max_commands: int | None) -> int:
        """Greatest tick + 1, capped, never back; a cut comes right after the last tick taken."""
        top = max((command.ts + 1 for command in log), default=self.upper)
        upper = max(self.upper, top if until is None else min(top, until))
        if max_commands is None:
            return upper
        sizes = Counter(command.ts for command in log if self.upper <= command.ts < upper)
        taken, cut = 0, self.upper
        for ts in sorted(sizes):
            taken += sizes[ts]
            if taken > max_commands and cut > self.upper:
                return cut
            cut = ts + 1
        return upper

    def _choose(self, best: list[Command]) -> Content | None:
        if len(best) == 1:
            return best[0].content
        if self.tie_breaker is None:
            message = f"A tie needs a tie_breaker\nGot: {best}"
            raise ValueError(message)
        return self.tie_breaker(best).content

    def _fold(self, identity: Identity, path: list[tuple[int, Content | None]]) -> Iterator[Update]:
        """Take a key along its path, from what is persisted; what stays equal emits nothing."""
        key, error_key = identity
        for ts, after in path:
            before = self._persisted.pop(identity, None)
            if after is not None:
                self._persisted[identity] = after
            if before == after:
                continue
            self._count(before, after)
            if before is not None:
                yield Update(ts, -1, key, *before, error_key)
            if after is not None:
                yield Update(ts, 1, key, *after, error_key)

    def _count(self, before: Content | None, after: Content | None) -> None:
        """Count one change; an error is no row, so a row in its place is an insert."""
        had_row = before is not None and before[0] is not None
        has_row = after is not None and after[0] is not None
        self.counters["inserts"] += has_row and not had_row
        self.counters["updates"] += has_row and had_row
        self.counters["deletes"] += had_row and not has_row
        self.counters["retractions"] += had_row
        self.counters["error_inserts"] += after is not None and not has_row
        self.counters["error_retractions"] += before is not None and not had_row


def _candidates(
    log: list[Command], lower: float, upper: int
) -> dict[tuple[int, Identity], list[Command]]:
    """Per tick in `[lower, upper)`, ascending, and key: the greatest order, once a content."""
    groups: defaultdict[tuple[int, Identity], list[Command]] = defaultdict(list)
    for command in sorted(log, key=lambda command: command.ts):
        if lower <= command.ts < upper:
            groups[command.ts, command.identity].append(command)
    for place, group in groups.items():
        greatest = max(command.order for command in group)
        best = {command.content: command for command in group if command.order == greatest}
        groups[place] = list(best.values())
    return groups


def _rows_and_errors(contents: dict[Identity, Content]) -> tuple[set[Value], set[Error]]:
    rows, errors = set(), set()
    for (key, error_key), (value, text) in contents.items():
        if key is not None and value is not None:
            rows.add(key + value)
        else:
            errors.add(Error(key, error_key, text))
    return rows, errors


def consolidate(updates: Iterable[Update]) -> dict[tuple[int, Identity, Content], int]:
    """Sum the diffs of equal rows and drop zeros, tick by tick."""
    sums = Counter[tuple[int, Identity, Content]]()
    for update in updates:
        sums[update.ts, update.identity, update.content] += update.diff
    return {place: diff for place, diff in sums.items() if diff}


def check_laws(changelog: Iterable[Update]) -> None:
    """Every diff is +1 or -1; after every tick each row is there once or not, one row a key."""
    sums: defaultdict[Identity, Counter[Content]] = defaultdict(Counter)
    for ts, updates in groupby(sorted(changelog, key=lambda each: each.ts), lambda each: each.ts):
        touched = set()
        for update in updates:
            assert update.diff in (-1, 1), f"a diff other than +1 and -1: {update}"
            sums[update.identity][update.content] += update.diff
            touched.add(update.identity)
        for identity in touched:
            live = sums[identity]
            assert set(live.values()) <= {0, 1}, f"a sum other than 0 and 1 at {ts}: {live}"
            assert live.total() <= 1, f"{identity} has more than one row at {ts}: {live}"
