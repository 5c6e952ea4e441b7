"""Read what a collection has stored, and check the laws that every store obeys."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.oracle import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Row

    from tests.oracle import Identity, Value
    from tests.project import Project


def quote(name: str) -> str:
    """Write a name as an SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


class Content(NamedTuple):
    """What one update or one current row says: the identity, the error and the values."""

    identity: Identity
    kind: str | None
    error: str | None
    value: Value


class Store:
    """The store of a collection.

    Args:
        project: Its project.
        name: The collection.
        key: Its key columns.
        value: Its value columns.
    """

    def __init__(
        self, project: Project, name: str, key: Sequence[str], value: Sequence[str]
    ) -> None:
        """Read nothing yet."""
        self.project = project
        self.name = name
        self.key = list(key)
        self.value = list(value)

    def rows(self) -> dict[Value, Value]:
        """The rows that the view shows: values by key."""
        width = len(self.key)
        columns = ", ".join(map(quote, [*self.key, *self.value]))
        shown = self.project.sql(f"select {columns} from {{}}.{quote(self.name)}")
        rows = {canonical(tuple(row)[:width]): canonical(tuple(row)[width:]) for row in shown}
        assert len(rows) == len(shown), shown
        return rows

    def rows_at(self, tick: int) -> dict[Value, Value]:
        """The rows at the end of a tick, by the history."""
        left = Counter[Content]()
        for row in self.stored(f"_kind = 'update' and _error_kind is null and _ts <= {tick}"):
            left[self._content(row)] += row["_diff"]
        assert set(left.values()) <= {0, 1}, left
        rows = [content for content, count in left.items() if count]
        found = {content.identity[0] or (): content.value for content in rows}
        assert len(found) == len(rows), rows
        return found

    def errors(self) -> dict[Identity, str]:
        """The kinds of the open errors, without those of commands that have no order."""
        return self._errors("<> 'order'")

    def order_errors(self) -> dict[Identity, str]:
        """The errors of commands that have no order."""
        return self._errors("= 'order'")

    def _errors(self, condition: str) -> dict[Identity, str]:
        rows = self.stored(f"_kind = 'error' and _error_kind {condition}")
        # A store says `origin` for an error that people read as `order`.
        shown = {"origin": "order"}
        kinds = {
            row["_error_kind"]: shown.get(row["_error_kind"], row["_error_kind"]) for row in rows
        }
        errors = {self._content(row).identity: kinds[row["_error_kind"]] for row in rows}
        assert len(errors) == len(rows), rows
        return errors

    def stored(self, condition: str) -> list[Row]:
        """The rows of the store for which a condition holds, in the sequence of their batches."""
        store = quote(self.name + "__trueup")
        return self.project.sql(
            f"select * from {{}}.{store} where {condition} order by _seq, _diff"
        )

    def batches(self) -> list[dict[str, Any]]:
        """The notes of each batch, with its `seq` and `ts`."""
        return [
            {**json.loads(row["_batch"]), "seq": row["_seq"], "ts": row["_ts"]}
            for row in self.stored("_kind = 'batch'")
        ]

    def _content(self, row: Row) -> Content:
        key = canonical(tuple(row[column] for column in self.key))
        return Content(
            (None if row["_error_key"] is not None else key, row["_error_key"]),
            row["_error_kind"],
            row["_error"],
            canonical(tuple(row[column] for column in self.value)),
        )

    def check_laws(self) -> None:
        """Check the history, the current rows and the batches against each other."""
        batches = self.batches()
        assert [batch["seq"] for batch in batches] == list(range(len(batches)))
        ticks = [batch["ts"] for batch in batches]
        has_ticks = any("upper" in batch for batch in batches)
        # Without a tick of the log, the frontier is 0, and the tick of a batch before it.
        assert ticks[1:] == sorted(ticks[1:] if has_ticks else set(ticks[1:])), ticks
        updates: dict[int, list[Row]] = defaultdict(list)
        for row in self.stored("_kind = 'update'"):
            updates[row["_seq"]].append(row)
            assert has_ticks or row["_ts"] == ticks[row["_seq"]]
        sums, now = Counter[Content](), set[Content]()
        # A compaction and an erasure take updates away from the batches before them.
        rewritten = max(
            (batch["seq"] for batch in batches if {"compacted", "erased"} & batch.keys()), default=0
        )
        for batch in batches[1:]:
            written = updates.pop(batch["seq"], [])
            for row in written:
                assert row["_diff"] in (-1, 1), row
                sums[self._content(row)] += row["_diff"]
            assert set(sums.values()) <= {0, 1}, (batch["seq"], sums)
            now = {content for content, left in sums.items() if left}
            # A key has one content. The error of a command without an order stands beside it.
            owners = Counter((content.identity, content.kind == "order") for content in now)
            assert set(owners.values()) <= {1}, (batch["seq"], owners)
            if not batch.get("repair") and batch["seq"] > rewritten:
                self._check_statistics(batch["statistics"], written, now)
        assert not updates
        current = self.stored("_kind in ('row', 'error')")
        assert {self._content(row) for row in current} == now
        assert len(current) == len(now)
        assert all((row["_kind"] == "row") == (row["_error_kind"] is None) for row in current)

    def _check_statistics(
        self, statistics: dict[str, int], written: list[Row], now: set[Content]
    ) -> None:
        assert statistics["updates_committed"] == len(written)
        assert statistics["records_indexed"] == len(now)
        by_kind = Counter((row["_diff"], row["_error_kind"] is None) for row in written)
        changed = statistics["updates"]
        counted = {
            (1, True): statistics["inserts"] + changed,
            (-1, True): statistics["deletes"] + changed,
            (1, False): statistics["error_inserts"],
            (-1, False): statistics["error_retractions"],
        }
        assert counted == {diff: by_kind[diff] for diff in counted}, statistics
