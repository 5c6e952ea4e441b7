"""The dbt plugin prepares and checks the process before a Spark session starts."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from dbt_trueup import plugins
from dbt_trueup.errors import CatalogMissingError, JavaMissingError
from dbt_trueup.plugin.java import require_java
from dbt_trueup.plugin.session import (
    choose_interpreter,
    prepare,
    warn_of_caches,
    warn_of_unsafe_delta,
)
from tests.macros.package import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def fake_java(folder: Path, version: str) -> None:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    java.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_dbt_finds_the_plugin() -> None:
    assert "dbt_trueup" in [module.name for module in pkgutil.iter_modules()]
    assert [plugin.__name__ for plugin in plugins] == ["TrueupPlugin"]


@pytest.mark.slow
def test_importing_the_plugin_imports_neither_pyspark_nor_pandas() -> None:
    code = "import sys, dbt_trueup; print({'pyspark', 'pandas', 'numpy'} & set(sys.modules))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "set()"


@pytest.mark.usefixtures("path")
def test_without_java_a_one_line_error_says_what_to_install() -> None:
    with pytest.raises(JavaMissingError) as raised:
        require_java()
    message = str(raised.value)
    assert "\n" not in message
    assert "needs Java 17 or newer" in message
    assert "no `java` in PATH" in message
    assert "openjdk-17" in message


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22"])
def test_a_java_that_is_too_old_is_an_error(path: Path, version: str) -> None:
    fake_java(path, f'openjdk version "{version}" 2024-01-16')
    with pytest.raises(JavaMissingError, match=version):
        require_java()


def test_the_error_shows_the_line_with_the_version(path: Path) -> None:
    fake_java(path, 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.22"')
    with pytest.raises(JavaMissingError, match=r'reports: openjdk version "11\.0\.22"'):
        require_java()


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.1"])
def test_java_17_and_newer_are_accepted(path: Path, version: str) -> None:
    fake_java(path, f'openjdk version "{version}" 2025-04-15')
    require_java()


def test_java_home_comes_before_path(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(path, 'openjdk version "21"')
    home = tmp_path_factory.mktemp("java_home")
    (home / "bin").mkdir()
    fake_java(home / "bin", 'openjdk version "11"')
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(JavaMissingError, match="JAVA_HOME"):
        require_java()


@pytest.mark.parametrize(
    ("master", "of_the_user", "runs"),
    [
        ("local[2]", None, sys.executable),
        ("local[2]", "python3.12", "python3"),
        ("yarn", None, "python3"),
    ],
)
def test_python_workers_of_a_local_spark_run_this_interpreter(
    monkeypatch: pytest.MonkeyPatch, master: str, of_the_user: str | None, runs: str
) -> None:
    """The master may come from a file of Spark, so the settings of the profile do not tell it."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if of_the_user:
        monkeypatch.setenv("PYSPARK_PYTHON", of_the_user)
    context = SimpleNamespace(master=master, pythonExec="python3")
    session = SparkSession.__new__(SparkSession)
    monkeypatch.setattr(SparkSession, "sparkContext", context)
    choose_interpreter(session)
    assert context.pythonExec == runs


def test_spark_connect_keeps_the_interpreter_of_its_server() -> None:
    choose_interpreter(object())  # type: ignore[arg-type]


def test_the_folder_of_a_sqlite_catalog_is_created(path: Path) -> None:
    fake_java(path, 'openjdk version "17"')
    prepare({"spark.sql.catalog.lake.uri": f"jdbc:sqlite:{path}/new/catalog.db?busy_timeout=1"})
    assert (path / "new").is_dir()


def test_a_missing_catalog_is_refused_only_if_there_are_tables(path: Path) -> None:
    fake_java(path, 'openjdk version "17"')
    catalog, warehouse = path / "catalog.db", path / "warehouse"
    settings = {
        "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{catalog}?busy_timeout=1",
        "spark.sql.catalog.lake.warehouse": f"file:{warehouse}",
    }
    (warehouse / "shop").mkdir(parents=True)
    prepare(settings)
    (warehouse / "shop" / "orders_state" / "metadata").mkdir(parents=True)
    with pytest.raises(CatalogMissingError, match="has tables, but the file of their catalog"):
        prepare(settings)
    assert not catalog.exists()
    catalog.touch()
    prepare(settings)


@pytest.mark.parametrize("uri", ["file:{}?cache=shared", ":memory:", ":resource:org/cat.db"])
def test_each_form_of_a_sqlite_uri_is_understood(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "warehouse" / "shop" / "orders" / "metadata").mkdir(parents=True)
    (tmp_path / "cat.db").touch()
    prepare(
        {
            "spark.sql.catalog.lake.uri": "jdbc:sqlite:" + uri.format(tmp_path / "cat.db"),
            "spark.sql.catalog.lake.warehouse": str(tmp_path / "warehouse"),
        }
    )
    assert {path.name for path in tmp_path.iterdir()} == {"warehouse", "cat.db"}


LAKE = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}


@pytest.mark.parametrize("settings", [{}, {"spark.sql.catalog.lake.cache-enabled": "true"}])
def test_a_catalog_that_caches_tables_gives_a_warning(settings: dict[str, str]) -> None:
    with pytest.warns(RuntimeWarning, match=r"set \S+\.lake\.cache-enabled to false"):
        warn_of_caches({**LAKE, **settings})


def test_a_catalog_that_caches_nothing_gives_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    warn_of_caches({**LAKE, "spark.sql.catalog.lake.cache-enabled": "false"})
    warn_of_caches({"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.DeltaCatalog"})
    # Iceberg adds this catalog to the session while it rewrites files.
    rewriting = "spark.sql.catalog.default_rewrite_catalog"
    warn_of_caches({rewriting: "org.apache.iceberg.spark.SparkCachedTableCatalog"})
    assert not recwarn.list


DELTA_CATALOG = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"
}


def test_delta_on_a_local_file_system_gives_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match=r"file:/data are safe for one process only"):
        warn_of_unsafe_delta({**DELTA_CATALOG, "spark.sql.warehouse.dir": "file:/data"})


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_delta_on_s3_gives_a_warning_unless_its_log_store_is_set(
    scheme: str, recwarn: pytest.WarningsRecorder
) -> None:
    settings = {**DELTA_CATALOG, "spark.sql.warehouse.dir": f"{scheme}://shop/data"}
    for store in (f"spark.delta.logStore.{scheme}.impl", "spark.delta.logStore.class"):
        warn_of_unsafe_delta({**settings, store: "io.delta.storage.S3DynamoDBLogStore"})
    assert not recwarn.list
    with pytest.warns(RuntimeWarning, match=rf"set spark.delta.logStore.{scheme}.impl"):
        warn_of_unsafe_delta(settings)


def test_delta_elsewhere_and_other_local_tables_give_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    warn_of_unsafe_delta({**DELTA_CATALOG, "spark.sql.warehouse.dir": "abfss://data@shop/"})
    warn_of_unsafe_delta({**LAKE, "spark.sql.warehouse.dir": "file:/data"})
    assert not recwarn.list


def test_every_example_profile_turns_the_cache_of_its_catalog_off() -> None:
    text = (ROOT / "profiles.yml.example").read_text()
    lines = [line.strip(" #") for line in text.splitlines()]
    catalogs = [line.partition(":")[0] for line in lines if "iceberg.spark.SparkCatalog" in line]
    assert len(catalogs) > 1
    for name in set(catalogs):
        assert lines.count(f'{name}.cache-enabled: "false"') == catalogs.count(name)


def test_threads_that_ask_at_the_same_time_wait_until_the_session_is_ready(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbt_trueup.udfs import aggregates  # noqa: PLC0415 - needs a session for its types

    register, registered = aggregates.register, []

    def register_slowly(session: SparkSession) -> None:
        time.sleep(0.2)
        register(session)
        registered.append(session)

    def ask(_: int) -> int:
        # Java knows no active session in a thread that did not start it.
        assert spark._jvm is not None
        spark._jvm.SparkSession.clearActiveSession()
        assert type(spark).builder.getOrCreate() is spark
        return len(registered)

    monkeypatch.setattr(aggregates, "register", register_slowly)
    del spark.is_prepared  # type: ignore[attr-defined]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [1, 1, 1, 1]


def test_settings_that_are_given_again_are_applied_with_one_message(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, before = "spark.sql.shuffle.partitions", spark.conf.get("spark.sql.shuffle.partitions")

    def ask(partitions: str) -> SparkSession:
        builder = type(spark).builder.config(name, partitions)
        return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()

    ask("7")
    spark.conf.set(name, "5")
    client, sent = spark._sc._gateway._gateway_client, []  # type: ignore[union-attr]
    send = client.send_command

    def send_and_count(command: str, *rest: object, **named: object) -> object:
        sent.append(command)
        return send(command, *rest, **named)

    monkeypatch.setattr(client, "send_command", send_and_count)
    assert ask("7") is spark
    assert len(sent) == 1
    assert spark.conf.get(name) == "7"
    # Other settings take PySpark's own way.
    assert ask(str(before)) is spark
    assert len(sent) > 1
    assert spark.conf.get(name) == before
