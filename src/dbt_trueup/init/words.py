"""What the names of columns say. All patterns are searched for in the name in lower case."""

from __future__ import annotations

import re


def whole_or_with_suffix(words: str) -> str:
    """A pattern for words that count only as the whole name or before a suffix such as `_id`.

    In `txn_type`, `txn` does not count.
    """
    suffix = "id|no|at|on|ts|ts_ms|time|timestamp|date|datetime"
    return rf"^_*({words})$|(^|_)({words})_({suffix})$"


COMMIT = re.compile(r"(^|_)(commit|committed|transact|scn)(_|$)|" + whole_or_with_suffix("txn"))
"""The commit of the source."""

POSITION = re.compile(r"(^|_)(lsn|log_pos|log_position|binlog_pos|end_lsn)$")
"""A position in the log of the source."""

CHANGED = re.compile(
    r"(^|_)(updated|modified|changed|change|update|event|cdc|dms|source|src|op)_(at|on|ts|time|timestamp|date|ts_ms)$"
    r"|^(ts|ts_ms|timestamp|last_modified|last_updated?|event_time)(_at|_date|_ts)?$"
)
"""The time of a change, by the clock of the source."""

SEQUENCE = re.compile(
    r"(^|_)(seq|sequence|seqno|change_no|change_number|offset|lsn|scn)(_|$)|(^|_)serial$"
)
"""An order of the changes within a commit."""

CHANGE_NUMBER = re.compile(r"(^|_)(scn|change_(no|number|seq|sequence))$")
"""The number of a change."""

ARRIVAL = re.compile(
    whole_or_with_suffix(
        "arrived|arrival|ingest[a-z]*|load|loaded|landed|landing|received|synced|inserted|processed"
    )
    + r"|^kafka_timestamp|^_fivetran|^_airbyte|^_sdc"
)
"""When the row came to the log. It says nothing about the change."""

PLACE = re.compile(
    r"^(kafka_)?(topic|headers|partition|offset)$|(^|_)file_?name$|^_metadata|(^|_)batch_id$"
)
"""Where the row comes from."""

PARTITION = re.compile(r"(^|_)partition(_id)?$")
OFFSET = re.compile(r"(^|_)offset$")
TOPIC_OFFSET = re.compile(r"^_*((kafka|topic|message|record|log|event|source|stream)_)?offset$")
"""The offset in a topic. A `utc_offset` is none."""

SHORT_PARTITION = re.compile(r"^_*part$")
SHORT_OFFSET = re.compile(r"^_*off$")
"""Short names of the two. `part` may also be a part of a machine, so both must be there."""

GOLDEN_GATE_TIME = re.compile(r"^_*op_ts$")
"""The time of a change, as Oracle GoldenGate calls it."""
GOLDEN_GATE_POSITION = re.compile(r"^_*pos$")
"""The position of a change in the trail of GoldenGate. In another log it may number the lines."""
GOLDEN_GATE_ARRIVAL = re.compile(r"^_*current_ts$")
"""When GoldenGate wrote the row."""

OPERATION = re.compile(
    r"^_*(cdc_|dml_|row_|change_)?(op|operation|op_type|action|dml|change_type)$"
)
"""What a change does: insert, update or delete."""

DELETED_FLAG = re.compile(
    r"^_*(fivetran_|is_)?(deleted|delete_flag|deleted_flag|is_delete|removed)$"
)
DELETED_TIME = re.compile(r"^_*(ab_cdc_|fivetran_)?(deleted|removed)_(at|on|time|ts|date)$")

EXTRACT = re.compile(
    r"(^|_)(snapshot|extract|extracted|export|exported|dump|as_of)(_|$)|^(ds|dt|load_date|batch_date)$"
)
"""Which full extract a row belongs to."""

COUNTER = re.compile(r"(^|_)(line|item|row|position|pos)(_?(no|nr|number|num|index|idx))?$")
"""A part of a key of several columns, such as the line of an order."""

SUFFIXES = re.compile(
    r"(_(log|logs|changes|change|cdc|topic|slot|events|history|files|extracts|snapshots?|raw|stream"
    r"|feed|commands|messages|seed))+$"
)
PREFIXES = re.compile(r"^((raw|stg|src|cdc|seed)_)+")

DELETES = {"d", "delete", "deleted", "del", "remove", "removed"}
UPSERTS = {
    *("i", "c", "r", "u", "insert", "inserted", "create", "created", "read", "update", "updated"),
    *("upsert", "merge", "replace", "a", "add", "added", "m", "modify", "modified", "set"),
    *("s", "snapshot", "l", "load"),
    *("update_postimage", "update_after"),
}
TRUNCATES = {"t", "truncate"}

INSERTS = {"i", "c", "insert", "inserted", "create", "created", "a", "add", "added"}
"""The upserts of a key that did not exist, in a log that also has updates."""
UPDATES = {
    *("u", "update", "updated", "m", "modify", "modified", "update_postimage", "update_after")
}
"""The upserts of a key that existed."""

OLD_ROWS = {"update_preimage", "update_before"}
"""How the row before an update is marked. It is no command: the row after it says all."""

OPERATIONS = UPSERTS | DELETES | TRUNCATES | OLD_ROWS
"""All words for what a change does."""

DELETE_BESIDE = {
    **dict.fromkeys(("u", "i", "c", "a", "m"), "d"),
    **dict.fromkeys(("update", "insert", "upsert"), "delete"),
}
"""How a source writes a delete if it writes an upsert like this."""

FLAGS = {"1": "0", "true": "false", "yes": "no", "y": "n", "t": "f"}
"""The values of a flag: that of a deleted row, and that of a row that is not deleted."""


def is_of_change(name: str) -> bool:
    """Whether a column says something of the change or of the log, and nothing of the row."""
    patterns = (COMMIT, POSITION, SEQUENCE, ARRIVAL, PLACE, OPERATION, PARTITION)
    return any(pattern.search(name.lower()) for pattern in patterns)


def is_position(name: str) -> bool:
    """Whether a column is clearly the position of a change in a log.

    Example:
        >>> is_position("change_no"), is_position("row_seq")
        (True, False)
    """
    return any(pattern.search(name.lower()) for pattern in (POSITION, OFFSET, CHANGE_NUMBER))


def is_of_arrival(name: str) -> bool:
    """Whether a column says when the row came to the log.

    Example:
        >>> is_of_arrival("_airbyte_extracted_at"), is_of_arrival("extracted_at")
        (True, False)
    """
    return bool(ARRIVAL.search(name.lower()))


def collection_name(table: str) -> str:
    """The name of a collection, from the name of its log.

    Example:
        >>> collection_name("raw_orders_log")
        'orders'
    """
    name = re.sub(r"\W+", "_", table.lower()).strip("_")
    return SUFFIXES.sub("", PREFIXES.sub("", name)) or name


def singular(name: str) -> str:
    """One of the things that a name is the plural of.

    Example:
        >>> [singular(name) for name in ("orders", "parties", "boxes", "staff")]
        ['order', 'party', 'box', 'staff']
    """
    for ending, instead in (("ies", "y"), ("xes", "x"), ("sses", "ss"), ("ss", "ss"), ("s", "")):
        if name.endswith(ending):
            return name[: -len(ending)] + instead
    return name
