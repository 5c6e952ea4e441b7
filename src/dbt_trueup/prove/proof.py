"""The proof of a collection: its rows against its log, its history and its certificate."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .evidence import read_evidence, read_model
from .fold import ROW, Content, Key, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .evidence import Evidence, Model, Stored
    from .fold import Fold

LEFT_OUT = {
    "erased": "they were erased on purpose, and the log still has them",
    "forgotten": "their delete may be forgotten (option `tombstones`)",
    "dropped": "commands of settled ticks may have been dropped (option `late: drop`)",
    "lost": "the log no longer has their newest command",
    "inherited": "they took columns from another key, whose commands may have come later",
}
"""Why keys that differ are no counterexamples."""

POSITION_FIELDS = 12
"""A position of Debezium has fields for each kind of database, so most of them are null."""


@dataclass(frozen=True)
class Difference:
    """A key that is not the same in two places."""

    identity: str
    """The key columns and the error key, in JSON."""
    places: str
    """Which two places differ."""
    expected: str
    got: str


@dataclass
class Proof:
    """What a proof has compared, and what it has found."""

    collection: str
    batch: int
    share: int
    """One key in how many was compared."""
    is_pinned: bool
    """Whether the log was read as the newest batch has read it."""
    keys: int = 0
    commands: int = 0
    updates: int = 0
    differences: list[Difference] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """The keys that could not be compared, by the reason."""
    damage: dict[str, Any] | None = None
    """From the certificate: wrong buckets of keys, and whether the history is wrong."""

    @property
    def is_certificate_right(self) -> bool:
        """Whether the store agrees with the certificate on its newest batch row."""
        return self.damage is not None and not (self.damage["buckets"] or self.damage["history"])

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the collection."""
        return self.is_certificate_right and not self.differences

    def to_document(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**asdict(self), "holds": self.holds}


def prove(options: Sequence[str], collection: str, keys: int | None, seed: int) -> Proof:
    """Prove a collection.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        collection: The name of the collection.
        keys: About how many keys are compared. They are the same each time. None for all keys.
        seed: Another number gives another sample.

    Raises:
        UsageError: The project has no such collection.
        DbtError: dbt or a query failed, or the collection has not run.
    """
    model = read_model(options, collection)
    return judge(model, read_evidence(options, model, sample=keys, seed=seed, certificate=True))


def fold_evidence(model: Model, evidence: Evidence) -> Fold:
    """Fold the commands that the runs have read."""
    names = [column["name"].lower() for column in evidence.about["columns"]]
    ties = model.options.get("ties", "error")
    is_partial, scope = evidence.about["is_partial"], model.truncate_scope
    return fold(evidence.commands, names, ties, is_partial=is_partial, scope=scope)


def judge(model: Model, evidence: Evidence) -> Proof:
    """Compare the log with the rows, and the history with them."""
    folded = fold_evidence(model, evidence)
    current = {row.identity: row for row in evidence.current if row.error_kind != "order"}
    about = evidence.about
    proof = Proof(
        collection=model.name,
        batch=about["seq"],
        share=about["share"],
        is_pinned=about["is_pinned"],
        keys=len(evidence.wanted),
        commands=evidence.commands.total(),
        updates=len(evidence.updates),
        damage=about["damage"],
    )
    for identity in sorted(evidence.wanted):
        key, row = folded.keys.get(identity, Key((), ())), current.get(identity)
        found = status(model, evidence, identity, key, row)
        if found in LEFT_OUT:
            proof.left_out.setdefault(found, []).append(identity)
        elif found == "differ":
            texts = describe_key(key), describe_row(row)
            proof.differences.append(Difference(identity, "the log and the row", *texts))
    proof.differences += unsound(evidence)
    return proof


def status(model: Model, evidence: Evidence, identity: str, key: Key, row: Stored | None) -> str:
    """Say whether a key is as its commands say: `agree`, `differ`, or one of LEFT_OUT."""
    forgets = model.options.get("tombstones", "forever") != "forever" and key.deleted != ()
    cases = [
        (is_lost(key, row), "lost"),
        (agrees(key, row, is_log=evidence.about["is_log"]), "agree"),
        (identity in evidence.erased, "erased"),
        (forgets and row is None and ROW not in key.columns, "agree"),
        (forgets, "forgotten"),
        (model.options.get("late") == "drop", "dropped"),
        (is_of_another_key(key, row), "inherited"),
    ]
    return next((word for applies, word in cases if applies), "differ")


def is_lost(key: Key, row: Stored | None) -> bool:
    """Whether the store has something newer of a key than the log."""
    if row is None:
        return False
    if row.rank > key.top:
        return True
    if json.loads(row.identity)["_error_key"] is not None:
        return False  # a broken key has no columns
    return any(
        rank > (key.columns[name].rank if name in key.columns else key.deleted)
        for name, rank in row.column_ranks.items()
    )


def agrees(key: Key, row: Stored | None, *, is_log: bool = True) -> bool:
    """Whether a key in the store is as its commands say, and knows of its newest command."""
    if ROW not in key.columns:
        if row is None:
            # Nothing stays of a key that only a truncate has deleted.
            return key.deleted == ()
        return row.part == "tombstone" and row.rank == key.top
    if row is None or (is_log and row.rank != key.top):
        return False
    if key.broken is not None:
        _, _, kind, text = key.broken
        return row.error_kind == kind and (kind != "value" or row.error == text)
    return row.part == "row" and has_values(key, row.value)


def is_of_another_key(key: Key, row: Stored | None) -> bool:
    """Whether a key differs only in columns that it took from another key.

    A command of the other key that arrives later does not change them.
    """
    if not key.is_inherited or row is None or row.rank != key.top:
        return False
    if row.error_kind is not None or key.broken is not None:
        # What the other key did not have is an error of the kind `origin`.
        return "origin" in {row.error_kind, key.broken[2] if key.broken else None}
    return all(
        (column := key.columns.get(name_of(text))) is None
        or column.is_inherited
        or Content(text) in column.contents
        for text in row.value
    )


def has_values(key: Key, value: Sequence[str]) -> bool:
    """Whether the values of a row are the newest ones of its columns."""
    if any(isinstance(content.value, tuple) for content in key.columns[ROW].contents):
        return Content(tuple(value)) in key.columns[ROW].contents
    # A column that no command gave is null.
    return all(
        text.endswith(":null}")
        if (column := key.columns.get(name_of(text))) is None
        else Content(text) in column.contents
        for text in value
    )


def name_of(column: str) -> str:
    """Return the name of a column in JSON, in lower case."""
    (name,) = json.loads(column)
    return str(name).lower()


def unsound(evidence: Evidence) -> list[Difference]:
    """Return the keys whose updates do not sum to what they have now."""
    sums, now = Counter[Any](), Counter[Any]()
    for row in evidence.updates:
        sums[row.content] += row.diff or 0
    for row in evidence.current:
        if row.part != "tombstone":
            now[row.content] += 1
    differing = {content for content in sums.keys() | now.keys() if sums[content] != now[content]}
    return [
        Difference(
            identity,
            "the sum of the history and the row",
            describe_sum(sums, identity),
            describe_sum(now, identity),
        )
        for identity in sorted({content[0] for content in differing})
    ]


def describe_sum(sums: Counter[Any], identity: str) -> str:
    """Describe what is left of a key: each row with its count, if that is not 1."""
    found = [
        ("" if count == 1 else f"{count} times ") + describe_content(value, error)
        for (owner, value, error, _), count in sums.items()
        if owner == identity and count
    ]
    return " and ".join(found) or "(no row)"


def describe_content(value: Sequence[str], error: str | None) -> str:
    """Write the columns of a row in one JSON, or the text of an error.

    Example:
        >>> describe_content(['{"a":1}', '{"b":null}'], None)
        '{"a":1,"b":null}'
    """
    if error is not None:
        return f"error: {error}"
    return "{" + ",".join(column[1:-1] for column in value) + "}"


def describe_row(row: Stored | None) -> str:
    """Describe what the store has of a key."""
    if row is None:
        return "(no row)"
    text = "(deleted)" if row.part == "tombstone" else describe_content(row.value, row.error)
    return f"{text} at order {describe_rank(row.rank)}" if row.rank else text


def describe_key(key: Key) -> str:
    """Describe what a key should have."""
    if ROW not in key.columns:
        text = "(deleted)" if key.deleted else "(no row)"
    elif key.broken is not None:
        _, _, kind, error = key.broken
        text = f"error of the kind {kind}" + (f": {error}" if error else "")
    else:
        contents = [
            content.value
            for _, column in sorted(key.columns.items())
            for content in sorted(column.contents, key=repr)
            if content.value is not None
        ]
        whole = [one for one in contents if isinstance(one, tuple)]
        parts = [one for one in contents if isinstance(one, str)]
        text = " or ".join(describe_content(one, None) for one in whole or [tuple(parts)])
    return f"{text} at order {describe_rank(key.top)}" if key.top else text


def describe_rank(rank: Any) -> str:
    """Write the terms of an order, without the epoch.

    Example:
        >>> from .evidence import rank_of
        >>> describe_rank(rank_of('{"_epoch":0,"_1":7,"_2":{"a":null,"b":"x"}}'))
        '7, (null, x)'
        >>> position = {"_1": 21, **{f"_{number}": None for number in range(2, 13)}}
        >>> describe_rank(rank_of(json.dumps({"_epoch": 0, "_1": position})))
        '21'
    """
    return ", ".join(map(describe_part, rank[1:]))


def describe_part(part: Any) -> str:
    """Write one term of an order."""
    if len(part) == 1:
        return "null"
    if isinstance(part[1], tuple):
        is_position = len(part[1]) == POSITION_FIELDS
        parts = [describe_part(one) for one in part[1] if len(one) > 1 or not is_position]
        return f"({', '.join(parts)})" if len(parts) > 1 else "".join(parts)
    return str(part[1])
