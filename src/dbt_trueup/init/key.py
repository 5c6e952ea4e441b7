"""Guesses the key."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from dbt_trueup.plural import count

from . import words
from .facts import Guess, share
from .lives import count_lives, missing_columns
from .log import column_of, hashable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Facts
    from .log import Row

ENDINGS = ("_id", "_uuid", "_key", "_no", "_number", "_code", "_sk", "_pk")


def guess_key(facts: Facts) -> Guess:
    """The columns of the key."""
    if facts.is_decoded and (named := key_of_messages(facts)):
        return named
    ranked = [names for names in rank_columns(facts) if names]
    if not ranked:
        why = "no column is called id, *_id, *_key or the like"
        columns = [name for name in facts.row_columns if not facts.log.is_of_change(name)]
        return Guess("key", None, why, is_sure=False, candidates=tuple(columns))
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
    if not found:
        return None
    (key, number), *others = found.most_common()
    source = "Debezium's message key names" if facts["message_key"] else "`pk` or `identity` names"
    why = f"{describe(facts, list(key))}; {source} it in {count(number, 'message')}"
    columns = list(key)
    return Guess(
        "key",
        columns,
        why,
        is_sure=not others,
        candidates=tuple(",".join(one) for one in found),
        warnings=warn_of_nulls(facts, columns),
    )


def key_of_extracts(facts: Facts, columns: Sequence[str]) -> Guess:
    """The fewest columns that are unique in each extract."""
    extract = column_of(facts.log, facts["ts"])
    if extract is None:
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
    return [
        name
        for name in facts.row_columns
        if words.COUNTER.search(name.lower())
        and name not in facts.log.of_golden_gate(words.GOLDEN_GATE_POSITION)
    ]


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
    names = [name for name in facts.row_columns if not facts.log.is_of_change(name)]
    return [
        [name for name in names if name.lower() in own],
        [name for name in names if name.lower() in ("id", "uuid", "guid", "pk", "_id")],
        [
            name
            for name in names
            if name.lower().endswith(("_id", "_uuid", "_key", "_pk", "_sk"))
            and name.lower() not in own
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
