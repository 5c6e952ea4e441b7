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
    "messages_received": "Commands that all batches have read.",
    "updates_committed": "Updates in the history.",
    "inserts": "How often a key got a row.",
    "updates": "How often the row of a key changed.",
    "deletes": "How often a key lost its row.",
    "retractions": "How often a row or an error was removed or replaced.",
    "error_inserts": "How often a key got an error.",
    "error_retractions": "How often a key lost an error.",
    "superseded": "Commands without effect, because their key had a newer one.",
    "ties": "How often a key became an error because two commands had one order.",
    "renewed": "How often a key got a newer order and the same content.",
    "corrections": "Corrected keys.",
    "late_dropped": "Commands that came after their tick was settled.",
    "batches_committed": "Batches, without repairs.",
    "repairs": "Repairs of the store.",
}
"""The columns that only grow. The name of such a metric ends in `_total`."""

GAUGES = {
    "records_indexed": "Rows and open errors after the newest batch.",
    "bytes_indexed": "The sum of their lengths in bytes.",
    "offset_committed": "The sum of the next offsets of all partitions of the log.",
    "order_errors": "Open errors of commands without an order.",
    "snapshot_committed": "1 if the first load is complete, else 0.",
    "frontier": "Everything below this tick is settled.",
    "committed_at": "When the run of the newest batch began, in seconds since 1970.",
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
    if VIEW not in {node.name for node in dbt.parse(options).nodes.values()}:
        message = (
            f"--prometheus needs the model {VIEW}, which is not enabled.\n"
            f"Enable it in dbt_project.yml, then run: dbt run -s +{VIEW}"
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
                f"--prometheus must name a collection that {VIEW} shows:"
                f" {', '.join(known) or 'it has none'}.\nGot: {name}\n"
                f"Run the collection, then: dbt run -s +{VIEW}"
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
