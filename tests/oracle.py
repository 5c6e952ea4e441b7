"""A collection as a plain dict. The other tests compare their results with it.

Every run gets the whole log, in any order. All results are in canonical form: compare them only
with values in canonical form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import inf, isnan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Late = Literal["drop", "correct", "fail"]
Ties = Literal["hash", "fail", "prefer_delete", "prefer_upsert"]
Errors = Literal["keep", "fail"]
Log = Literal["complete", "partial"]

Value = tuple[Any, ...]
Identity = tuple[Value | None, str | None]
"""Key and error key; one of them is None."""
Content = tuple[Value | None, str | None]
"""Value and error text. A row has only a value, a value error only a text, a key error neither."""


def canonical(item: object) -> Any:
    """Give equal values one hashable form: NaN equals NaN and -0.0 equals 0.0, at any depth.

    >>> canonical([float("nan"), -0.0, None])
    (('NaN',), 0.0, None)
    """
    if item is None or type(item) in (str, int):
        return item  # nearly every value; the checks below are slower
    if isinstance(item, float):
        return ("NaN",) if isnan(item) else item + 0.0
    if isinstance(item, bytearray):
        return bytes(item)
    return tuple(map(canonical, item)) if isinstance(item, list | tuple) else item


class StoppedError(Exception):
    """An option stopped the run before it settled anything."""


@dataclass(frozen=True)
class Command:
    """One row of the log. Without value and error it is a delete, or a truncate.

    Attributes:
        unchanged: Positions of the value columns that the command leaves unchanged. The items of
            `value` at these positions are ignored.
        old_key: The key from which the unchanged columns take their content, if it is another key.
            They take its last content before the command. Deletes of it in the same tick are
            ignored.
        is_truncate: Whether the command is for all keys. It has no key itself.
    """

    ts: int
    order: tuple[Any, ...]
    key: Value | None
    value: Value | None
    error: str | None = None
    error_key: str | None = None
    unchanged: frozenset[int] = frozenset()
    old_key: Value | None = None
    is_truncate: bool = False

    def __post_init__(self) -> None:
        """Raise unless the command has one identity, or is a truncate with nothing else."""
        if self.is_truncate:
            given = (self.key, self.error_key, self.value, self.error, self.old_key)
            if given != (None,) * 5:
                message = f"A truncate is a tick and an order alone\nGot: {given}"
                raise ValueError(message)
        elif (self.key is None) == (self.error_key is None):
            message = f"Command takes either key or error_key\nGot: {self.key}, {self.error_key}"
            raise ValueError(message)

    @cached_property
    def rank(self) -> tuple[tuple[bool, Any], ...]:
        """The order in a form that can be compared. A null is less than every other value."""
        return tuple((part is not None, part) for part in self.order)

    @cached_property
    def identity(self) -> Identity:
        """The key or error key that the command sets or deletes."""
        return canonical(self.key), self.error_key

    @cached_property
    def content(self) -> Content | None:
        """The new content. Unchanged columns are null. A key error has no value and no text."""
        if self.value is None and self.error is None:
            return None
        if self.error_key is not None:
            return None, None
        if self.error is not None:
            return None, self.error
        value = enumerate(self.value or ())
        return canonical([None if i in self.unchanged else each for i, each in value]), None

    @cached_property
    def source(self) -> Identity:
        """The identity from which the unchanged columns take their content.

        An old key of nulls alone is no key.
        """
        if self.old_key is None or set(self.old_key) == {None}:
            return self.identity
        return canonical(self.old_key), None

    @cached_property
    def payload(self) -> tuple[Content | None, frozenset[int], Identity | None]:
        """Two commands of one key, tick and order are a tie if their payloads differ."""
        content = self.content
        is_partial = bool(self.unchanged) and content is not None and content[0] is not None
        return content, *((self.unchanged, self.source) if is_partial else (frozenset(), None))

    def onto(self, before: Content | None) -> Content | None:
        """Return the content after the command. `before` is the content of its source.

        An absent source gives nulls. An error has no values, so it stays until a whole command
        clears it.
        """
        content, unchanged, _ = self.payload
        if not unchanged or before is None:
            return content
        if before[0] is None:
            return before
        pairs = zip(before[0], content[0], strict=True)  # type: ignore[arg-type, index]
        return tuple(pair[i not in unchanged] for i, pair in enumerate(pairs)), None


class Update(NamedTuple):
    """An addition or a retraction of a row (with a value) or of an error (without a value)."""

    ts: int
    diff: int
    key: Value | None
    value: Value | None
    error: str | None = None
    error_key: str | None = None

    @property
    def identity(self) -> Identity:
        """The key or error key that is updated."""
        return canonical(self.key), self.error_key

    @property
    def content(self) -> Content:
        """The content that is added or retracted."""
        return canonical(self.value), self.error


class Error(NamedTuple):
    """An open error. `text` is None for a key error."""

    key: Value | None
    error_key: str | None
    text: str | None

    @property
    def kind(self) -> Literal["value", "key", "null_key"]:
        """The kind of the error. It depends only on the error key."""
        if self.error_key is None:
            return "value"
        return "null_key" if self.error_key == "null" else "key"


class Change(NamedTuple):
    """How a tick or a correction changes one key."""

    ts: int
    identity: Identity
    before: Content | None
    after: Content | None

    def updates(self) -> Iterator[Update]:
        """Give the retraction and the addition."""
        key, error_key = self.identity
        if self.before is not None:
            yield Update(self.ts, -1, key, *self.before, error_key)
        if self.after is not None:
            yield Update(self.ts, 1, key, *self.after, error_key)


class _Remainder(dict[Identity, Content]):
    """Contents of keys. The persisted contents stand for the commands that the log has lost."""

    def __init__(self, persisted: dict[Identity, Content], own: Content | None) -> None:
        super().__init__()
        self._persisted, self._own = persisted, own
        self._said = set[Identity]()
        self._is_cleared = False

    def get(self, identity: Identity, default: Any = None) -> Any:
        if identity in self._said or self._is_cleared:
            return super().get(identity, default)
        before = self._persisted.get(identity) if self._own is None else self._own
        return default if before is None else before

    def pop(self, identity: Identity, default: Any = None) -> Any:
        held = self.get(identity, default)
        self._said.add(identity)
        super().pop(identity, None)
        return held

    def clear(self) -> None:
        super().clear()
        self._is_cleared = True


class Collection:
    """The collection that the runs over a log have made.

    Args:
        late: Whether late commands are dropped, are corrected at the frontier, or stop the run.
        tie_breaker: Takes the commands of one key, tick and order that the policy `ties` does not
            put in sequence, one for each payload. Returns the winner, the last in sequence.
            Without a tie breaker such a tie raises ValueError.
        ties: How ties are broken: by the tie breaker alone, or first by whether a command is a
            delete. With `fail`, a tie at the greatest order of a key and tick stops the run.
        errors: Whether an error is kept, or stops the run that would add it.
        log: Whether the log of each run has all earlier commands, or only a part of them.
    """

    def __init__(
        self,
        late: Late = "drop",
        tie_breaker: Callable[[list[Command]], Command] | None = None,
        *,
        ties: Ties = "hash",
        errors: Errors = "keep",
        log: Log = "complete",
    ) -> None:
        """Start empty, with the upper 0."""
        self.late = late
        self.tie_breaker = tie_breaker
        self.ties = ties
        self.on_error = errors
        self.log = log
        self.upper = 0
        self.changelog: list[Update] = []
        self.counters = Counter[str]()
        """Counts over all batches so far. Only `records_indexed` counts what is live now."""
        self._persisted: dict[Identity, Content] = {}
        self._changed_at: dict[Identity, int] = {}

    @property
    def rows(self) -> set[Value]:
        """The live rows, key columns first."""
        return _rows_and_errors(self._persisted)[0]

    @property
    def errors(self) -> set[Error]:
        """The open errors."""
        return _rows_and_errors(self._persisted)[1]

    def inlined(self, key_width: int, value_width: int) -> set[Value]:
        """The live rows and value errors, each with its error text or None after the key."""
        bad = {
            (*error.key, error.text, *[None] * value_width)
            for error in self.errors
            if error.key is not None
        }
        return bad | {(*row[:key_width], None, *row[key_width:]) for row in self.rows}

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
        """Settle the ticks of the log up to the caps, and return the updates of this batch.

        Raises:
            StoppedError: An option does not allow a command of the log. Nothing is settled.
        """
        lower, upper = self.upper, self._next_upper(log, until, max_commands)
        met = sum(command.ts < lower for command in log)
        late = met - self.counters["messages_received"]
        if self.late == "fail" and late:
            message = f"late: {late}"
            raise StoppedError(message)
        contents, changes, tie_count = self._settle(log, lower, upper)
        counts = _count(changes)
        if self.on_error == "fail" and counts["error_inserts"]:
            message = f"errors: {counts['error_inserts']}"
            raise StoppedError(message)
        if upper == lower and not changes:
            return []
        updates = [update for change in changes for update in change.updates()]
        self.changelog += updates
        self.upper = upper
        self._persisted = contents
        self._changed_at.update((change.identity, change.ts) for change in changes)
        self.counters += counts
        self.counters["late_dropped"] += late
        self.counters["messages_received"] = sum(command.ts < upper for command in log)
        self.counters["ties"] += tie_count
        self.counters["records_indexed"] = len(contents)
        return updates

    def _settle(
        self, log: list[Command], lower: int, upper: int
    ) -> tuple[dict[Identity, Content], list[Change], int]:
        """Return the contents after a batch, its changes, and its number of ties."""
        contents, changes, tie_count = dict(self._persisted), [], 0
        if self.late == "correct":
            desired: dict[Identity, Content] = {}
            if self.log == "partial":
                desired = self._fold_remainder([each for each in log if each.ts < lower])
            else:
                for _, commands in _ticks(log, -inf, lower):
                    self._fold_tick(desired, commands)
            changes += [
                Change(lower, each, contents.get(each), desired.get(each))
                for each in {**contents, **desired}
            ]
            contents = desired
        for ts, commands in _ticks(log, lower, upper):
            before, tied = self._fold_tick(contents, commands)
            changes += [Change(ts, each, before[each], contents.get(each)) for each in before]
            tie_count += len(tied)
            if self.ties == "fail" and tied:
                message = f"ties: {tied}"
                raise StoppedError(message)
        # Rule: a key whose content stays equal emits nothing.
        return contents, [each for each in changes if each.before != each.after], tie_count

    def _fold_remainder(self, settled: list[Command]) -> dict[Identity, Content]:
        """Apply the commands that the log still has to the persisted contents.

        Each key is folded alone. Its persisted content stands for all commands that the log has
        lost, even if the key took its content from another key. Only a key without persisted
        content takes the persisted content of that other key.
        """
        desired = dict(self._persisted)
        truncated = [each.ts for each in settled if each.is_truncate]
        of_keys: defaultdict[Identity, list[int]] = defaultdict(list)
        for command in settled:
            if not command.is_truncate:
                of_keys[command.identity].append(command.ts)
        for identity in {*of_keys, *(self._persisted if truncated else ())}:
            own = self._persisted.get(identity)
            newest = max(of_keys[identity] + truncated)
            if own is not None and newest < self._changed_at[identity]:
                continue
            contents = _Remainder(self._persisted, own)
            for _, commands in _ticks(settled, -inf, self.upper):
                self._fold_tick(contents, commands)
            after = contents.get(identity)
            if after is not None:
                desired[identity] = after
            else:
                desired.pop(identity, None)
        return desired

    def _next_upper(self, log: list[Command], until: int | None, max_commands: int | None) -> int:
        """Return the greatest tick + 1, or a cap below it. The upper never goes back.

        With `max_commands` the upper comes right after the last tick that is taken.
        """
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

    def _fold_tick(
        self, contents: dict[Identity, Content], commands: list[Command]
    ) -> tuple[dict[Identity, Content | None], set[Identity]]:
        """Apply the commands of one tick to `contents`, order by order.

        Returns:
            The content of each touched key before the tick, and the keys whose last order has a
            tie.
        """
        before: dict[Identity, Content | None] = {}
        tied: set[Identity] = set()
        deleted: dict[Identity, Content] = {}
        commands = sorted(commands, key=lambda command: command.rank)
        for _, same_order in groupby(commands, key=lambda command: command.rank):
            group = list(same_order)
            if any(command.is_truncate for command in group):
                # Rule: a truncate comes before the other commands of its order.
                before = {**contents, **before}
                contents.clear()
                tied.clear()
                deleted.clear()
            rivals: defaultdict[Identity, dict[Any, Command]] = defaultdict(dict)
            for command in group:
                if not command.is_truncate:
                    rivals[command.identity][command.payload] = command
            # Rule: an old key gives its content before this order, even if it was deleted.
            sources = {
                command.source: contents.get(command.source, deleted.get(command.source))
                for command in group
                if command.source != command.identity
            }
            for identity, payloads in rivals.items():
                (tied.add if len(payloads) > 1 else tied.discard)(identity)
                before.setdefault(identity, contents.get(identity))
                for command in self._in_sequence(list(payloads.values())):
                    held = contents.pop(identity, None)
                    is_own = command.source == identity
                    after = command.onto(held if is_own else sources[command.source])
                    if after is not None:
                        contents[identity] = after
                    elif held is not None:
                        deleted[identity] = held
        return before, tied

    def _in_sequence(self, rivals: list[Command]) -> list[Command]:
        """Put the commands of one key, tick and order in sequence, the winner last."""
        if self.ties.startswith("prefer"):
            deletes = [command for command in rivals if command.content is None]
            others = self._break_tie([each for each in rivals if each.content is not None])
            return others + deletes if self.ties == "prefer_delete" else deletes + others
        return self._break_tie(rivals)

    def _break_tie(self, rivals: list[Command]) -> list[Command]:
        if len(rivals) < 2:
            return rivals
        if self.tie_breaker is None:
            message = f"A tie needs a tie_breaker\nGot: {rivals}"
            raise ValueError(message)
        winner = self.tie_breaker(rivals)
        return [*self._break_tie([each for each in rivals if each is not winner]), winner]


def _ticks(log: list[Command], lower: float, upper: int) -> Iterator[tuple[int, list[Command]]]:
    """The ticks in `[lower, upper)`, ascending, each with its commands."""
    ticks: defaultdict[int, list[Command]] = defaultdict(list)
    for command in log:
        if lower <= command.ts < upper:
            ticks[command.ts].append(command)
    yield from sorted(ticks.items())


def _count(changes: Iterable[Change]) -> Counter[str]:
    """Count the changes. An error is not a row, so a row that replaces an error is an insert."""
    counts = Counter[str]()
    for _, _, before, after in changes:
        had_row = before is not None and before[0] is not None
        has_row = after is not None and after[0] is not None
        counts["inserts"] += has_row and not had_row
        counts["updates"] += has_row and had_row
        counts["deletes"] += had_row and not has_row
        counts["retractions"] += had_row
        counts["error_inserts"] += after is not None and not has_row
        counts["error_retractions"] += before is not None and not had_row
    return counts


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
    """Assert that every diff is +1 or -1, and that a key has one row or none after each tick."""
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
