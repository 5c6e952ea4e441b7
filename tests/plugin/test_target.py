"""What dbt's `target` shows of the connection."""

from __future__ import annotations

from dbt.adapters.spark.connections import SparkConnectionMethod, SparkCredentials

from dbt_trueup.plugin import target


def test_the_target_shows_the_method_of_the_connection() -> None:
    target.install()
    target.install()
    credentials = SparkCredentials(
        host="localhost", schema="lake", method=SparkConnectionMethod.SESSION
    )

    shown = dict(credentials.connection_info())

    assert shown["method"] == "session"
    assert shown["schema"] == "lake"
    assert list(shown).count("method") == 1
