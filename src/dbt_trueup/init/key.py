"""Guesses the key."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_trueup.plural import count

from . import words
from .facts import Guess, share
from .log import hashable, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Facts
    from .log import Row

ENDINGS = ("_id", "_uuid", "_key", "_no", "_number", "_code", "_sk", "_pk")


def guess_key(facts: Facts) -> Guess:
    """The columns of the key."""
    if named := key_of_messages(facts):
        return named
    ranked = [names for names in rank_columns(facts) if names]
    if not ranked:
        why = "no column is called id, *_id, *_key or the like"
        return Guess("key", None, why, is_sure=False, candidates=tuple(facts.own_columns))
    if facts["envelope"] == "snapshots":
        return key_of_extracts(facts, [name for names in ranked for name in names])
    best, others = ranked[0], [name for names in ranked[1:] for name in names]
    counters = [name for name in counters_of(facts) if name not in best]
    nulls = nulls_of(facts.rows, best[:1])
    parts = dict.fromkeys([*missing_columns(facts, best[:1]), *counters])
    candidates = [*best, *others, *(f"{best[0]},{name}" for name in parts)]
    doubt = doubt_of_key(facts, best[:1])
    why = describe(facts, best[:1]) + doubt
    is_sure = len(best) == 1 and not (counters or nulls or doubt) and bool(facts.rows)
    return Guess("key", best[:1], why, is_sure, tuple(candidates), warn_of_nulls(facts, best[:1]))


def key_of_messages(facts: Facts) -> Guess | None:
    """The key that the messages name; None if they name none."""
    found = Counter(tuple(change.key) for change in facts.changes if change.key)
    log, own = facts.log, {*facts.row_columns}
    if not found and facts["envelope"] != "snapshots":
        # The key may lie beside the row: as JSON, or as a struct.
        texts = [
            one for name, ones in log.json_columns.items() if is_key(name) for one in ones if one
        ]
        found.update(tuple(one) for one in texts if {*one} <= own)
        paths = [path for path in log.paths.values() if len(path) > 1 and is_key(path[-2])]
        fields = tuple(path[-1] for path in paths)
        if fields and {*fields} <= own:
            found[fields] = len(facts.rows)
    if not found:
        return None
    (key, number), *others = found.most_common()
    why = f"{describe(facts, list(key))}; {count(number, 'message')} name it"
    columns = list(key)
    sources = sources_of_messages(facts)
    if len(sources) > 1:
        why += (
            f"; the messages come from {', '.join(sources)}. If two of them may have one key,"
            " the source belongs to the key: see 'Debezium, several sources' in docs/your-log.md"
        )
    return Guess(
        "key",
        columns,
        why,
        is_sure=not others and len(sources) <= 1,
        candidates=tuple(",".join(one) for one in found),
        warnings=warn_of_nulls(facts, columns),
    )


def sources_of_messages(facts: Facts) -> list[str]:
    """The databases that wrote the changes of one table, or else its topics."""
    changes = [one for one in facts.changes if one.key or one.row]
    if len({one.table for one in changes}) > 1:
        return []
    servers = sorted({one.server for one in changes if one.server})
    if len(servers) > 1:
        return servers
    named = [name for name in facts.log.named(words.TOPIC) if facts.log.types[name] == "string"]
    return sorted({*facts.log.values(named[0])}) if named else []


def is_key(name: str) -> bool:
    """Whether a column has the key of a message, by its name."""
    return words.plain(name) in ("key", "kafka_key", "message_key", "primary_key", "document_key")


def key_of_extracts(facts: Facts, columns: Sequence[str]) -> Guess:
    """The fewest columns that are unique in each extract."""
    extract = facts["extract"]
    if extract not in facts.log.types:
        why = "the extract of a row is not known"
        return Guess("key", None, why, is_sure=False, candidates=tuple(columns))
    key = key_in_extracts(facts, extract)
    if key is None:
        why = f"no {', '.join(columns)} is unique in each extract"
        return Guess("key", None, why, is_sure=False, candidates=tuple(columns))
    doubt = doubt_of_key(facts, key)
    why = f"{describe(facts, key)}; it is unique in each extract{doubt}"
    warnings = warn_of_nulls(facts, key)
    candidates = dict.fromkeys([",".join(key), *columns])
    return Guess("key", list(key), why, not (doubt or warnings), tuple(candidates), warnings)


def key_in_extracts(facts: Facts, extract: str) -> tuple[str, ...] | None:
    """The fewest columns that are unique for each value of `extract`; None if there are none."""
    columns = [name for names in rank_columns(facts) for name in names]
    numbers = counters_of(facts)
    for size in (1, 2, 3):
        for key in combinations(dict.fromkeys([*columns, *numbers]), size):
            if is_unique(facts.rows, (extract, *key)):
                return key
    return None


def counters_of(facts: Facts) -> list[str]:
    """The columns that may number the parts of a thing, such as the lines of an order."""
    return [name for name in facts.own_columns if words.COUNTER.search(words.plain(name))]


def is_unique(rows: Sequence[Row], names: Sequence[str]) -> bool:
    """Whether no two rows have the same values in some columns.

    Most columns that are no key repeat a value soon. There are many combinations of many columns.
    """
    seen = set()
    for row in rows:
        place = tuple(hashable(row[name]) for name in names)
        if place in seen:
            return False
        seen.add(place)
    return True


def rank_columns(facts: Facts) -> list[list[str]]:
    """The columns that may be the key by their names, the best first."""
    thing = words.singular(facts.name)
    own = {thing, *(f"{stem}{ending}" for stem in (thing, facts.name) for ending in ENDINGS)}
    names = facts.own_columns
    plain = {name: words.plain(name) for name in names}
    return [
        [name for name in names if plain[name] in own],
        [name for name in names if plain[name] in ("id", "uuid", "guid", "pk")],
        [
            name
            for name in names
            if plain[name].endswith(("_id", "_uuid", "_key", "_pk", "_sk"))
            and plain[name] not in own
        ],
    ]


def doubt_of_key(facts: Facts, key: Sequence[str]) -> str:
    """Say what speaks against a key; an empty text if nothing does.

    The id of another thing is often a foreign key: many rows have the same value. A sample cannot
    prove the opposite, so no guess with it is sure.
    """
    (*_, ids_of_others) = rank_columns(facts)
    doubtful = [name for name in key if name in ids_of_others]
    doubt = f"; {', '.join(doubtful)} may be the id of another thing" if doubtful else ""
    named = [name for name in facts.log.types if words.plain(name).startswith("document_key_")]
    if named and not facts.is_decoded:
        doubt += f"; but {', '.join(named)} is the key of a document"
    lives = count_lives(facts, key)
    if lives and lives.inserted_again:
        verb = "is" if lives.inserted_again == 1 else "are"
        doubt += (
            f"; {count(lives.inserted_again, 'key')} {verb} inserted again without a delete, so a"
            " column may be missing in the key"
        )
    return doubt


def describe(facts: Facts, key: Sequence[str]) -> str:
    """How many sampled rows have the key, and how many keys they have."""
    have = len(facts.rows) - nulls_of(facts.rows, key)
    distinct = len({tuple(hashable(row.get(name)) for name in key) for row in facts.rows})
    return f"{share(have, len(facts.rows), 'row')} have it, {count(distinct, 'distinct value')}"


def nulls_of(rows: Sequence[Row], key: Sequence[str]) -> int:
    """The number of rows with a null in the key."""
    return sum(any(row.get(name) is None for name in key) for row in rows)


def warn_of_nulls(facts: Facts, key: Sequence[str]) -> tuple[str, ...]:
    """Say that a key has nulls, and what trueup does with them."""
    nulls = nulls_of(facts.rows, key)
    if not nulls:
        return ()
    if len(key) == 1:
        then = "each is an error row (option `null_keys`)"
    else:
        then = "in a key of several columns a null is an ordinary value"
    empty = " or ".join(name for name in key if nulls_of(facts.rows, [name]))
    return (f"{empty} is null in {share(nulls, len(facts.rows), 'row')}: {then}",)


class Lives(NamedTuple):
    """How many sampled keys have impossible lives."""

    inserted_again: int
    """Keys with more inserts than their deletes allow."""
    never_inserted: int
    """Keys with other operations, but without an insert. The log may begin after it."""


def count_lives(facts: Facts, key: Sequence[str]) -> Lives | None:
    """Count the lives of the sampled keys. The sequence of the rows does not matter.

    Returns:
        None if the log does not tell an insert from an update, or truncates the table.
    """
    return next(iter(lives_of_keys(facts, [key])), None)


def missing_columns(facts: Facts, key: Sequence[str]) -> list[str]:
    """The columns with which no key is inserted again, and with which no update lacks its insert.

    A value column is none of them: an update changes it, so the new value has no insert.
    """
    names = [name for name in facts.own_columns if name not in key]
    before = count_lives(facts, key)
    if before is None or not before.inserted_again:
        return []
    lives = lives_of_keys(facts, [[*key, name] for name in names])
    wanted = Lives(0, before.never_inserted)
    return [name for name, one in zip(names, lives, strict=True) if one == wanted]


def lives_of_keys(facts: Facts, keys: Sequence[Sequence[str]]) -> list[Lives]:
    """Count the lives for each of some keys; an empty list if the log does not tell."""
    column = next(iter(facts.log.named(words.OPERATION)), None)
    if column is None or facts.is_decoded:
        return []
    seen = {str(value).lower() for value in facts.log.values(column)}
    if not (seen & words.INSERTS and seen & words.UPDATES) or seen & words.TRUNCATES:
        return []
    # A duplicate of an insert begins no life.
    rows = {content_of(row): row for row in facts.log.rows}.values()
    kinds = [str(row[column]).lower() for row in rows]
    steps = [(kind in words.INSERTS, kind in words.DELETES) for kind in kinds]
    return [lives_in(list(zip(rows, steps, strict=True)), key) for key in keys]


def lives_in(steps: Sequence[tuple[Row, tuple[bool, bool]]], key: Sequence[str]) -> Lives:
    """Count the lives for one key. A step is a row, and whether it inserts or deletes."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, (is_insert, is_delete) in steps:
        counts = found.setdefault(tuple([hashable(row[name]) for name in key]), [0, 0])
        counts[0] += is_insert
        counts[1] += is_delete
    return Lives(
        sum(inserts > deletes + 1 for inserts, deletes in found.values()),
        sum(inserts == 0 for inserts, _ in found.values()),
    )


def content_of(row: Row) -> str:
    """A row as a text, without what says when it came and where it comes from.

    Two rows with equal texts are duplicates.
    """
    patterns = (words.ARRIVAL, words.PLACE, words.PARTITION)
    return to_text(
        {
            name: value
            for name, value in row.items()
            if not any(pattern.search(words.plain(name)) for pattern in patterns)
        }
    )
