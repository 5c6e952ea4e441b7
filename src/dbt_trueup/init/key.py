"""Guesses the key."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_trueup.plural import count

from . import words
from .facts import Guess, share
from .log import INTEGERS, all_match, hashable, quoted_text, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .facts import Facts
    from .log import Log, Row

FEW = 4
"""How many sources are named."""

UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
"""A key that no two databases give."""

IMAGE = re.compile(r"(^|_)(old|new|before|after|object|record|row)_(id|uuid)$")
"""The id of a row inside of a message."""

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
    source = None if facts.is_decoded else find_source(facts, best[:1])
    with_source = [f"{best[0]},{source}"] if source else []
    with_parts = [f"{best[0]},{name}" for name in parts]
    candidates = dict.fromkeys([*best[:1], *with_source, *best[1:], *others, *with_parts])
    doubt = doubt_of_key(facts, best[:1])
    if source:
        doubt += doubt_of_source(facts, best[:1], source)
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
    if sources:
        why += (
            f"; {sources}. If two of them may have one key, the source belongs to the key: see"
            " 'Several sources in one log' in docs/your-log.md"
        )
    return Guess(
        "key",
        columns,
        why,
        is_sure=not others and not sources,
        candidates=tuple(",".join(one) for one in found),
        warnings=warn_of_nulls(facts, columns),
    )


def sources_of_messages(facts: Facts) -> str:
    """Say which databases wrote the changes of one table, or its topics. Empty if it is one."""
    changes = [one for one in facts.changes if one.key or one.row]
    if len({one.table for one in changes}) > 1:
        return ""
    servers = sorted({one.server for one in changes if one.server})
    if len(servers) > 1:
        return f"the messages come from {', '.join(servers)}"
    return next(
        (
            f"`{name}` is {', '.join(values[:FEW])}"
            for name in facts.log.named(words.SOURCE)
            if len(values := source_values(facts.log.rows, name)) > 1
            and name not in facts.log.json_columns
            and not words.TABLE.search(words.plain(name))
        ),
        "",
    )


def source_values(rows: Sequence[Row], name: str) -> list[str]:
    """The different values of a column. The rows of a snapshot of MySQL have the server 0."""
    return sorted({str(value) for row in rows if (value := row.get(name)) not in (None, 0)})


def find_source(facts: Facts, key: Sequence[str]) -> str | None:
    """The column that seems to say which of several databases wrote a row, if the key lacks it.

    Its name says so; a name that is often a value counts only if one key has several values of it.
    A column of any name counts if each of its values numbers its rows alone, so that the numbers
    of two values meet.
    """
    log, found = facts.log, dict[int, str]()
    for name, kind in log.types.items():
        plain, values = words.plain(name), source_values(log.rows, name)
        is_text = kind == "string" and name not in log.json_columns
        if name in key or not (is_text or kind in INTEGERS) or len(values) < 2:  # noqa: PLR2004
            continue
        if words.TABLE.search(plain) or any(mark.name == name for mark in facts.marks):
            continue
        of_keys: dict[Any, set[str]] = {}
        for row in log.rows:
            place = tuple(hashable(row[one]) for one in key)
            of_keys.setdefault(place, set()).update(source_values([row], name))
        do_keys_meet = any(len(one) > 1 for one in of_keys.values())
        is_few = len(values) * 2 <= len(log.rows)
        is_unique = all_match(UUID, [one for row in log.rows for one in (row[key[0]],) if one])
        # The id of a server is often that of another thing.
        is_other = plain.endswith("_id") and not re.search("shard|source", plain)
        is_clear = is_few and not is_unique and (not is_other or words.is_of_tool(name))
        if words.SOURCE.search(plain) and (do_keys_meet or is_clear):
            found.setdefault(0, name)
        elif do_keys_meet and words.MAYBE_SOURCE.search(plain):
            found.setdefault(1, name)
        elif do_keys_meet and is_few and log.is_own(name) and do_numbers_meet(log, name):
            found.setdefault(2, name)
    return found[min(found)] if found else None


def do_numbers_meet(log: Log, name: str) -> bool:
    """Whether a position is unique for each value of a column, and two values have the same."""
    for order in log.types:
        is_number = log.is_integer(order) and words.SEQUENCE.search(words.plain(order))
        if order == name or not (is_number or log.is_position(order)):
            continue
        pairs = {to_text([row[name], row[order]]): to_text(row[order]) for row in log.rows}
        rows = {content_of(row) for row in log.rows}
        met = sum(number > 1 for number in Counter(pairs.values()).values())
        if len(pairs) == len(rows) and met > 1:
            return True
    return False


def doubt_of_source(facts: Facts, key: Sequence[str], source: str) -> str:
    """Say what to write if a column is the source of the rows."""
    log, values = facts.log, source_values(facts.log.rows, source)
    other = values[0] if log.is_integer(source) else quoted_text(values[0])
    return (
        f"; `{source}` is {', '.join(values[:FEW])}: if these are several sources, their orders do"
        f" not compare. Then give it as a part of the key ({','.join([*key, source])}), or read one"
        f' source (--skip-when "not {log.sql(source)} <=> {other}"). See \'Several sources in one'
        " log' in docs/your-log.md"
    )


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
    if others := ids_of_rows(facts, key):
        doubt += f"; each row has another, so it may be of the change, and {others[0]} of the row"
    lives = count_lives(facts, key)
    if lives and lives.inserted_again:
        verb = "is" if lives.inserted_again == 1 else "are"
        doubt += (
            f"; {count(lives.inserted_again, 'key')} {verb} inserted again without a delete, so a"
            " column may be missing in the key"
        )
    return doubt


def ids_of_rows(facts: Facts, key: Sequence[str]) -> list[str]:
    """The ids that may be the key, if each row has another value of `key`: it may be of the change.

    They repeat; and they lie in a struct, or the changes of each are those of one row's life.
    """
    rows = facts.log.rows
    if facts.is_decoded or not is_unique(rows, key):
        return []
    ids = [
        name
        for name in facts.own_columns
        if name not in key and words.plain(name).endswith(("_id", "_uuid"))
    ]
    fields = [
        name
        for name in ids
        if facts.log.paths[name][1:][-1:] in (("id",), ("uuid",))
        and (IMAGE.search(words.plain(name)) or not is_unique(rows, [name]))
        and any(row[name] not in (None, row[key[0]]) for row in rows)
    ]
    if fields:
        return fields
    names = [name for name in ids if not (nulls_of(rows, [name]) or is_unique(rows, [name]))]
    before, *lives = lives_of_keys(facts, [key, *([name] for name in names)]) or [Lives(0, 0)]
    if not before.never_inserted:
        return []
    return [name for name, one in zip(names, lives, strict=True) if one == Lives(0, 0)]


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


def is_one_partition(facts: Facts) -> bool:
    """Whether each key of the sample is in one partition. Then its offsets are an order."""
    rows, partition = facts.log.rows, (facts["place"] or ())[:-1]
    keyed = [(one.row or {}, rows[one.place]) for one in facts.changes]
    return not several(
        (key_of(facts, row), to_text([message[name] for name in partition]))
        for row, message in keyed or zip(rows, rows, strict=True)
    )


def several(pairs: Iterable[tuple[str, str]]) -> int:
    """Count the first members of pairs that are there with several second ones.

    Example:
        >>> several([("a", "1"), ("a", "2"), ("b", "1"), ("b", "1")])
        1
    """
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
    return sum(len(others) > 1 for others in found.values())


def key_of(facts: Facts, row: Row) -> str:
    """The key of a row as a text."""
    return to_text([row.get(name) for name in facts["key"] or ()])
