"""The statistics of collections in the text format of Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup import dbt
from dbt_trueup.errors import UsageError
from dbt_trueup.libraries import require_library

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prometheus_client.core import Metric

VIEW = "trueup_statistics"
"""The model that has the statistics."""

SELECT = """
    select * except (committed_at), unix_seconds(committed_at) as committed_at
    from {{ ref('trueup_statistics') }}
    order by collection
"""

COUNTERS = {
    "messages_received": "Commands in the ticks of all batches.",
    "updates_staged": "Updates of all batches, and of the batch that is staged but not committed.",
    "updates_committed": "Updates of all batches in the changelog.",
    "inserts": "How often a key got a row.",
    "updates": "How often the row of a key changed.",
    "deletes": "How often a key lost its row.",
    "retractions": "Retractions of rows.",
    "error_inserts": "Additions of errors.",
    "error_retractions": "Retractions of errors.",
    "ties": "Keys and ticks whose greatest order had more than one content.",
    "corrections": "Corrections that changed a row or an error.",
    "late_dropped": "Commands that arrived late.",
    "superseded": "Commands that came after a newer command of their key was settled.",
    "batches_committed": "Batches in the changelog.",
}
"""The columns that only grow. The name of such a metric ends in `_total`."""

GAUGES = {
    "records_indexed": "Rows and open errors after the last batch.",
    "bytes_indexed": "The sum of their lengths in bytes.",
    "envelope_state_tombstones": "Deleted keys that are remembered.",
    "snapshot_records_known": "Commands that the log had when the first batch was planned.",
    "snapshot_records_staged": "How many of them are settled.",
    "snapshot_committed": "1 if a batch has settled a tick, else 0.",
    "offset_known": "The tick after the newest command that a batch has read, or its offset.",
    "offset_committed": "The frontier, or the offset of the log that is settled.",
    "rehydration_latency": "Seconds that the last rebuild of the state took.",
    "rehydration_updates": "Updates that the last rebuild of the state read.",
    "committed_at": "When the last batch was appended, in seconds since 1970.",
}
"""The other columns."""


class Statistics:
    """Rows of the statistics, as a collector of `prometheus_client`."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        """Take one row for each collection, with the columns by name."""
        self.rows = rows

    def collect(self) -> Iterator[Metric]:
        """Make one metric for each column. A null is left out."""
        from prometheus_client.core import (  # noqa: PLC0415 - not always installed
            CounterMetricFamily,
            GaugeMetricFamily,
        )

        for kind, columns in ((CounterMetricFamily, COUNTERS), (GaugeMetricFamily, GAUGES)):
            for column, meaning in columns.items():
                metric = kind(f"trueup_{column}", meaning, labels=["collection"])
                for row in self.rows:
                    if row[column] is not None:
                        metric.add_metric([row["collection"]], row[column])
                yield metric


def read_statistics(options: Sequence[str], names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Ask dbt for the statistics.

    Args:
        options: Options for dbt's command line, such as `["--project-dir", "shop"]`.
        names: The collections; by default all that the model `trueup_statistics` shows.

    Raises:
        UsageError: The model does not exist, does not show such a collection, or is that of an
            earlier version of trueup.
        DbtError: dbt or a query failed.
    """
    if f"model.trueup.{VIEW}" not in dbt.parse(options).nodes:
        message = (
            f"--prometheus needs the model {VIEW}, which is not enabled.\n"
            f"Set the var trueup_collections in dbt_project.yml, then run: dbt run -s +{VIEW}"
        )
        raise UsageError(message)
    rows = dbt.query(options, SELECT)
    missing = [name for name in (*COUNTERS, *GAUGES) if rows and name not in rows[0]]
    if missing:
        message = (
            f"--prometheus needs the columns of the present version in the model {VIEW}.\n"
            f"Got: a view without {', '.join(missing)}\n"
            f"An earlier version of trueup has made it. Make it again: dbt run -s +{VIEW}"
        )
        raise UsageError(message)
    known = [row["collection"] for row in rows]
    for name in names:
        if name not in known:
            message = (
                f"--prometheus must name a collection of the var trueup_collections:"
                f" {', '.join(known) or 'it has none'}.\nGot: {name}\n"
                f"Add it to the var in dbt_project.yml, then run: dbt run -s +{VIEW}"
            )
            raise UsageError(message)
    return [row for row in rows if not names or row["collection"] in names]


def write_metrics(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Write the metrics to a file, in one step: a reader never sees half of them."""
    from prometheus_client import CollectorRegistry, write_to_textfile  # noqa: PLC0415

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Statistics(rows))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_to_textfile(str(file), registry)


def require_prometheus() -> None:
    """Check that the library of Prometheus is installed.

    Raises:
        UsageError: It is not. The message says what to install.
    """
    require_library(
        module="prometheus_client",
        requirement="prometheus-client>=0.26,<1",
        needs="--prometheus needs prometheus-client",
        error=UsageError,
    )
