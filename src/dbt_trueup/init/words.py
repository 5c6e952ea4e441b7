"""What the names of columns and the values of operations say.

All patterns are searched for in a name of plain words: `plain` writes `deletedAt`, `__$operation`
and `_meta/op` as `deleted_at`, `operation` and `meta_op`.
"""

from __future__ import annotations

import re
from functools import cache


@cache
def plain(name: str) -> str:
    """The words of a name in lower case, with underscores between them.

    Example:
        >>> [plain(name) for name in ("deletedAt", "__$start_lsn", "_meta/op", "METADATA$ISUPDATE")]
        ['deleted_at', 'start_lsn', 'meta_op', 'metadata_isupdate']
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return "_".join(re.findall(r"[^\W_]+", spaced)).lower()


def whole_or_with_suffix(words: str) -> str:
    """A pattern for words that count only as the whole name or before a suffix such as `_id`.

    In `txn_type`, `txn` does not count.
    """
    suffix = "id|no|number|at|on|ts|ts_ms|time|timestamp|date|datetime"
    return rf"^({words})$|(^|_)({words})_({suffix})$"


# The order.

POSITION = re.compile(
    r"(^|_)((commit|start|change)?(lsn|scn|csn)|rba|seqno|seqval|commitseq|log_pos|log_position|binlog_pos|commit_version"
    r"|sys_change_version|change_ordinal"
    r"|change_(no|number|seq|sequence)|sequence_(number|no)|commit_time|sort_keys)$"
)
"""A position in the log of the source. `_hoodie_commit_time` is one, too."""

SEQUENCE = re.compile(r"(^|_)(seq|sequence)(_|$)|(^|_)(serial|ordinal|ord)$")
"""An order of the changes, perhaps only within a commit."""

OFFSET = re.compile(
    r"^(\w*(cdc|kafka|topic|message|record|log|event|source|stream|meta)\w*_)?offset$"
)
"""The offset in a topic. A `utc_offset` is none."""

COMMIT = re.compile(r"(^|_)(commit|committed|transact)(_|$)|" + whole_or_with_suffix("txn"))
"""The commit of the source: a number or a time."""

CHANGED = re.compile(
    r"(^|_)(updated|modified|changed|change|update|event|cdc|dms|source|src|op|header|h)_(at|on|ts|time|timestamp"
    r"|date)(_(ms|us|ns))?$|^system_?modstamp$|^(ts|timestamp|last_modified|last_updated?|event_time)(_(at|date|ts|ms|us|ns))?$"
)
"""The time of a change, by the clock of the source."""

OF_ROW = re.compile(
    r"(^|_)(updated|modified|changed)_(at|on|ts|time|timestamp|date)$|^last_|(^|_)(version|revision|rev)$"
)
"""An order that applications keep in their own tables. It stays a value."""

VERSION = re.compile(r"^((row|record|object|peerdb)_)?(version|revision|rev)(_?(no|number))?$")
"""A number that grows with each change of a row."""

FINER = re.compile(r"(^|_)(seqval|change_lsn|event_serial_no|intentseq|rs_id|ssn)$")
"""Where a change lies within its position: SQL Server, DB2 and Oracle."""

NUMBERED = re.compile(r"(^|_)sequence_(number|no)$")
"""A number that may begin again with each commit, although it sounds like a position."""

OF_TOOL = re.compile(r"^(op|cdc|dms|src)_(ts|time|timestamp)(_(ms|us|ns))?$")
"""The time of a change, by the clock of the source, in a name that only tools give."""

GOLDEN_GATE = re.compile(r"^op_ts$")
"""The time of a change, as Oracle GoldenGate calls it. Then `pos` is the position of the change."""

PUBLISHED = re.compile(r"(^|_)(published|emitted|produced|process|processed|current)_(at|ts|time)$")
"""When a tool wrote the message."""

ARRIVAL = re.compile(
    whole_or_with_suffix(
        "arrived|arrival|ingest[a-z]*|load|loaded|landed|landing|received|synced|inserted|processed"
    )
    + r"|^kafka_timestamp|^fivetran_(synced|start|id|batch)|^airbyte_"
    r"|^sdc_(extracted|received|batched|table)|^olake_(id|timestamp)|^dlt_|^peerdb_synced"
)
"""When the row came to the log. It says nothing about the change."""

FINENESS = ("ns", "us", "ms")
"""The units of times in names, the finest first."""

# The place and the extract.

TOPIC = re.compile(r"(^|_)topic(_name)?$")
PARTITION = re.compile(r"(^|_)partition(_id)?$")
TABLE = re.compile(r"(^|_)(table|table_?name|source_table)$|^cdc_(source|target)$")
"""The table of the source that a change is of."""

PLACE = re.compile(
    r"(^|_)(topic|headers|offset)$|(^|_)file_?name$|(^|_)(kafka_)?metadata_|(^|_)batch_id$"
    r"|^timestamp_type$|(^|_)partition_path$"
)
"""Where the row comes from."""

EXTRACT = re.compile(
    r"(^|_)(snapshot|extract|extracted|export|exported|dump|as_of)(_|$)|^(ds|dt|load_date|batch_date)$"
)
"""Which full extract a row belongs to."""

DELIVERY = re.compile(
    r"(^|_)(load|loaded|batch|run|job|delivery|delivered|ingest[a-z]*|landed|received)"
    r"(_(id|no|number|seq|at|on|ts|time|timestamp))?$"
)
"""Which delivery of an extract a row belongs to."""

GTID = re.compile(r"(^|_)gtid$")
"""The transaction of MySQL or MariaDB, with the server that wrote it."""

_OF_SOURCE = r"(_?(id|name|no|nr|number|code|key|index))?$"

SOURCE = re.compile(
    r"(^|_)(shard|server|instance|cluster|database|db|schema|data_?source|source_(system|name|instance)"
    r"|mandt|data_?area|topic)" + _OF_SOURCE
)
"""The database that wrote a change. The orders of two of them do not compare."""

MAYBE_SOURCE = re.compile(
    r"(^|_)(region|country|site|store|shop|tenant|origin|source|src|market|branch|company|org|organi[sz]ation"
    r"|brand|plant|bukrs|werks|realm|namespace|env|environment|zone|domain|feed|connector|system)"
    + _OF_SOURCE
)
"""What may tell the databases apart. It is asked about only if one key has several of it."""

VALID_FROM = re.compile(r"^(.*_)?(from|start|begin|started|since)(_?(at|ts|time|date|timestamp))?$")
VALID_TO = re.compile(r"^(.*_)?(to|end|until|thru|ended)(_?(at|ts|time|date|timestamp))?$")
"""When a version of a row began, and when it ended."""

SIGN = re.compile(r"(^|_)(diff|sign|multiplicity|weight|entitycntr)$")
"""How often a row is there: -1 takes it away."""

COUNTER = re.compile(r"(^|_)(line|item|row|position|pos)(_?(no|nr|number|num|index|idx))?$")
"""A part of a key of several columns, such as the line of an order."""

TRANSACTION = re.compile(r"(^|_)(txid|xid|gtid|(transaction|trans|xact|tx|txn)(_id)?)$")
"""A transaction. Its numbers are not in the order of the commits."""

# The operation.

OPERATION = re.compile(
    r"(^|_)(op|oper|operation|opcode|optype|dml|iud|crud|rowkind|enttyp|changemode|recordmode"
    r"|rocancel)(_(type|code|name|kind))?$|(^|_)(change|chg|row|entry|record)_(type|typ|kind|mode)$"
    r"|^(cdc|dms|change|chg)_(code|flag|kind|type)$|^((cdc|change|metadata)_)?action$"
)
"""What a change does: insert, update or delete."""

CODE = re.compile(r"(^|_)(kind|action|change|verb|mutation)(_(code|type|id))?$")
"""A name that may be that of an operation whose values are small numbers."""

MAYBE_OPERATION = re.compile(
    r"(^|_)(action|kind|type|event|change|cdc|verb|method|mode|flag|crud)$"
)
"""A name that may be that of an operation. Its values decide."""

DELETED = re.compile(
    r"(^|_)(is)?(deleted?|deletes|deletion|del|removed?|tombstone|tombstoned|purged|erased|gone"
    r"|lvorm|loevm|softdeleted?|trash|trashed|discarded|destroyed)(_|$)"
)
"""A name with a word for a delete."""

ACTIVE = re.compile(
    r"(^|_)(is_)?(active|current)(_(flag|ind|yn))?$|^(is_|row_|record_)?(found|exists|present|alive|archived)$"
)
"""A name that says whether a row is still there."""

TIME = re.compile(r"_(at|on|ts|time|timestamp|date|datetime|ms|us|ns)$")

DAY = re.compile(r"(^|_)(\w*date|\w*day|dob|born|on|from|until)$")
"""A name that may be that of a date."""

NO_MARK = re.compile(r"_(id|by|count|seq|no|number|lsn|mask|reason|user)$|(^|_)(not|un)_?delet")
"""A column that names a delete and does not say which rows are deleted."""

DELETES = {"d", "dl", "delete", "deleted", "del", "remove", "removed", "-d"}
TRUNCATES = {"t", "truncate"}
OLD_IMAGES = {
    "b",
    "ub",
    "-u",
    "before",
    "update_preimage",
    "update_before",
    "update-delete",
    "beforeimage",
}
"""How the row before an update is marked. It is no command: the row after it says all."""
UPSERTS = {
    *("i", "c", "r", "u", "a", "m", "s", "l", "+i", "+u", "pt", "up", "rr", "load"),
    *("insert", "inserted", "create", "created", "read", "update", "updated", "upsert", "merge"),
    *("change", "changed"),
    *("replace", "add", "added", "modify", "modified", "set", "snapshot", "import", "refresh"),
    *("update_postimage", "update_after", "update-insert"),
}
OPERATIONS = UPSERTS | DELETES | TRUNCATES | OLD_IMAGES
"""All words for what a change does."""

CLEAR = {*("insert", "update", "delete", "upsert"), *("+i", "+u", "-d", "-u")}
"""Words that hardly mean anything else. With two of them a column is an operation."""

INSERTS = {"i", "c", "insert", "inserted", "create", "created", "a", "add", "added"}
"""The upserts of a key that did not exist, in a log that also has updates."""
UPDATES = {
    *("u", "update", "updated", "m", "modify", "modified", "change", "changed"),
    *("update_postimage", "update_after"),
}
"""The upserts of a key that existed."""
SNAPSHOTS = {"r", "read", "snapshot"}
"""The rows that the first load of a connector reads."""

BESIDE = {
    **dict.fromkeys(("u", "i", "c", "a", "m", "r"), "d"),
    **dict.fromkeys(("+i", "+u"), "-d"),
    **dict.fromkeys(("pt", "up"), "dl"),
    **dict.fromkeys(
        ("update", "insert", "upsert", "update_postimage", "update_after", "update-insert"),
        "delete",
    ),
}
"""How a source writes a delete if it writes an upsert like this."""

BEFORE = {
    "update_postimage": "update_preimage",
    "update_after": "update_before",
    "update-insert": "update-delete",
    "+u": "-u",
    "up": "ub",
}
"""How a source writes the row before an update if it writes the row after it like this."""

FLAGS = {"1": "0", "true": "false", "yes": "no", "y": "n", "t": "f"}
"""The values of a flag: that of a deleted row, and that of a row that is not deleted."""

# The tools.

TOOLS = {
    "fivetran_": "Fivetran",
    "airbyte_": "Airbyte",
    "ab_cdc_": "Airbyte",
    "dlt_": "dlt",
    "olake_": "OLake",
    "flow_": "Estuary",
    "sdc_": "Singer",
    "header__": "Qlik Replicate",
    "ar_h_": "AWS DMS",
    "hoodie_": "Hudi",
    "hvr_": "HVR",
    "odq_": "SAP",
    "cdc$": "ScyllaDB",
    "mz_": "Materialize",
    "dbt_valid_": "a snapshot of dbt",
    "changeeventheader": "Salesforce",
    "peerdb_": "PeerDB",
    "datastream_": "Datastream",
    "metadata$": "a stream of Snowflake",
    "$start_lsn": "a change table of SQL Server",
    "commit_snapshot_id": "a changelog of Iceberg",
    "commit_version": "a change feed of Delta",
    "rowkind": "row kinds of Flink",
    "cdc.": "Kafka Connect",
    "source_ts_": "Debezium, flattened",
    "source_lsn": "Debezium, flattened",
}
"""The tools whose columns begin so, after underscores."""


def tool_of(names: list[str]) -> str | None:
    """The tool that has written a log, by the names of its columns.

    Example:
        >>> tool_of(["id", "_fivetran_synced"]), tool_of(["id", "status"])
        ('Fivetran', None)
    """
    stems = [name.lower().lstrip("_") for name in names]
    return next(
        (tool for begin, tool in TOOLS.items() if any(stem.startswith(begin) for stem in stems)),
        None,
    )


def is_of_tool(name: str) -> bool:
    """Whether a tool has added a column to the rows, by its name."""
    return name[:1] in ("_", "$") or name.lower().startswith(
        ("header__", "ar_h_", "metadata$", "flow_", "datastream_")
    )


OF_CHANGE = (
    *(COMMIT, POSITION, SEQUENCE, ARRIVAL, PLACE, PARTITION, PUBLISHED, TRANSACTION, OF_TOOL),
)


def is_of_change(name: str) -> bool:
    """Whether a column says something of the change or of the log, and nothing of the row.

    Example:
        >>> [is_of_change(name) for name in ("commit_no", "arrivedAt", "status", "serial_number")]
        [True, True, False, False]
    """
    return any(pattern.search(plain(name)) for pattern in OF_CHANGE)


def is_of_arrival(name: str) -> bool:
    """Whether a column says when the row came to the log.

    Example:
        >>> is_of_arrival("_airbyte_extracted_at"), is_of_arrival("extracted_at")
        (True, False)
    """
    return bool(ARRIVAL.search(plain(name)))


SUFFIXES = re.compile(
    r"(_(log|logs|changes|change|cdc|topic|slot|events|history|files|extracts|snapshots?|raw|stream"
    r"|feed|commands|messages|seed|ct))+$"
)
PREFIXES = re.compile(r"^((raw|stg|src|cdc|seed)_)+")


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
