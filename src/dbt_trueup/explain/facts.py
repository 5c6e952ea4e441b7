"""The facts about one key of a collection: what its log says, what its store has, and why."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dbt_trueup.errors import UsageError
from dbt_trueup.prove import proof
from dbt_trueup.prove.evidence import read_evidence, read_model
from dbt_trueup.prove.fold import Key, values_of, verdict

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from dbt_trueup.prove.evidence import Command, Evidence, Model, Stored
    from dbt_trueup.prove.fold import Fold

RULES = {
    "agree": "the log and the store agree",
    "lost": "the store has something newer than the log, which has lost commands",
    "erased": "the key was erased on purpose, and the log still has it",
    "forgotten": "the delete of the key may be forgotten (option `tombstones`)",
    "dropped": "commands of settled ticks may have been dropped (option `late: drop`)",
    "inherited": "the key took columns from another key, whose commands may have come later",
    "differ": "the log and the store do NOT agree",
    "unsound": "the updates of the history do NOT sum to the row",
}
"""What was found. The last two must not be."""


@dataclass(frozen=True)
class CommandFact:
    """A command of the key, or a truncate."""

    order: str | None
    """None for a command without an order."""
    op: str
    content: str | None
    unchanged: list[str]
    other_key: str | None
    """In a change of key, the other key."""
    verdict: str
    rule: str
    count: int
    """How often the log has exactly this command."""


@dataclass(frozen=True)
class UpdateFact:
    """An update of the history."""

    batch: int
    tick: int
    diff: int
    content: str
    cause: str | None


@dataclass(frozen=True)
class Explanation:
    """What is known of one key."""

    collection: str
    key: dict[str, str | None]
    error_key: str | None
    batch: int
    """The newest batch."""
    has_ticks: bool
    """Whether the ticks are those of the log. Else they are milliseconds since 1970."""
    log: str
    """What the key should have."""
    store: str
    """What it has."""
    read_by: int | None
    """The batch that has read the newest command of the key."""
    order_error: bool
    """Whether the key has an error beside its row, because a command has no order."""
    status: str
    commands: list[CommandFact] = field(default_factory=list)
    """The newest first."""
    command_count: int = 0
    updates: list[UpdateFact] = field(default_factory=list)
    update_count: int = 0

    @property
    def rule(self) -> str:
        """What the status means."""
        return RULES[self.status]

    @property
    def agrees(self) -> bool:
        """Whether log and store agree, or a rule says why not."""
        return self.status not in {"differ", "unsound"}

    def to_document(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**asdict(self), "rule": self.rule, "agrees": self.agrees}


def explain(  # noqa: PLR0913 - the options of the command
    options: Sequence[str],
    collection: str,
    words: Sequence[str],
    nulls: Sequence[str],
    *,
    error_key: str | None = None,
    latest: int = 20,
) -> Explanation:
    """Explain one key.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        collection: The name of the collection.
        words: The key, such as `["path=README.md"]`. A key of one column may be its value alone.
        nulls: The key columns that are null.
        error_key: The error key; then there are no words and no nulls.
        latest: How many commands, and how many updates, are returned.

    Raises:
        UsageError: The project has no such collection, or the words are no key of it.
        DbtError: dbt or the query failed, for example because a value cannot be cast.
    """
    model = read_model(options, collection)
    key: dict[str, str | None] = {}
    if error_key is None:
        key = read_key(collection, model.key, words, nulls)
    elif words or nulls:
        message = "A key must be given, or else --error-key.\nGot: both"
        raise UsageError(message)
    evidence = read_evidence(options, model, key=key, error_key=error_key, now=True)
    return judge(model, evidence, key, error_key, latest)


def judge(
    model: Model,
    evidence: Evidence,
    key: dict[str, str | None],
    error_key: str | None,
    latest: int,
) -> Explanation:
    """Judge the evidence about one key."""
    identity = evidence.about["identity"]
    folded = proof.fold_evidence(model, evidence)
    found = folded.keys.get(identity, Key((), ()))
    current = [row for row in evidence.current if row.error_kind != "order"]
    row = current[0] if current else None
    commands = [
        *command_facts(evidence.unread, identity, model.truncate_scope, None),
        *command_facts(evidence.commands, identity, model.truncate_scope, folded),
    ]
    updates = sorted(
        evidence.updates, key=lambda one: (one.seq, one.ts, one.diff or 0), reverse=True
    )
    return Explanation(
        collection=model.name,
        key=key,
        error_key=error_key,
        batch=evidence.about["seq"],
        has_ticks=evidence.about["upper"] is not None,
        log=proof.describe_key(found),
        store=proof.describe_row(row),
        read_by=row.seq if row else None,
        order_error=len(current) < len(evidence.current),
        status="unsound"
        if proof.unsound(evidence)
        else proof.status(model, evidence, identity, found, row),
        commands=commands[:latest],
        command_count=len(commands),
        updates=[update_fact(one) for one in updates[:latest]],
        update_count=len(updates),
    )


def command_facts(
    commands: Counter[Command], identity: str, scope: Sequence[str], folded: Fold | None
) -> Iterable[CommandFact]:
    """Return the commands of a key and its truncates, newest first. Unread ones have no fold."""
    of_key = [
        one
        for one in commands
        if identity in {one.identity, one.old_identity}
        or (one.identity is None and values_of(one.scope, scope) == values_of(identity, scope))
    ]
    for one in sorted(of_key, key=lambda one: (one.rank, one.op == "truncate"), reverse=True):
        word, rule = verdict(one, identity, folded) if folded else ("unread", "no run has read it")
        moves_away = one.identity != identity and one.identity is not None
        content = None
        if one.op == "upsert":
            error = one.error if one.error_key is None else "the key is broken"
            content = proof.describe_content(one.value, error)
        yield CommandFact(
            order=proof.describe_rank(one.rank) if one.rank else None,
            op="move" if moves_away else one.op,
            content=content,
            unchanged=sorted(one.unchanged),
            other_key=one.identity if moves_away else one.old_identity,
            verdict=word,
            rule=rule,
            count=commands[one],
        )


def update_fact(row: Stored) -> UpdateFact:
    """Return an update for people."""
    content = proof.describe_content(row.value, row.error)
    return UpdateFact(row.seq, row.ts, row.diff or 0, content, row.cause)


def read_key(
    collection: str, columns: Sequence[str], words: Sequence[str], nulls: Sequence[str]
) -> dict[str, str | None]:
    """Read the words of a key. A value begins after the first `=`.

    Raises:
        UsageError: They are no key: a column is missing, unknown, or given twice.

    Example:
        >>> read_key("files", ["path"], ["a.md"], [])
        {'path': 'a.md'}
        >>> read_key("files", ["path", "part"], ["path=a=b"], ["part"])
        {'path': 'a=b', 'part': None}
    """
    is_one = len(columns) == 1
    named = [word if "=" in word or not is_one else f"{columns[0]}={word}" for word in words]
    parts: list[tuple[str, str, str | None]] = [word.partition("=") for word in named]
    parts += [(name, "", None) for name in nulls]
    if sorted(name for name, _, _ in parts) == sorted(columns) and all(
        sign or value is None for _, sign, value in parts
    ):
        return {name: value for name, _, value in parts}
    is_plain = is_one and not any("=" in word for word in words)
    example = ["VALUE"] if is_plain else [f"{name}=VALUE" for name in columns]
    given = [*words, *(f"--null {name}" for name in nulls)]
    message = (
        f"The key must be one value for {' and one for '.join(columns)}.\n"
        f"Got: {' '.join(given) or 'nothing'}\n"
        f"Write: {shlex.join(['trueup', 'explain', collection, *example])}. If a column is null,"
        " give --null COLUMN. For a broken key give --error-key."
    )
    raise UsageError(message)
