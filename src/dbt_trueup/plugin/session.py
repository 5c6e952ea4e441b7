"""What trueup prepares for the Spark sessions of a process, before and after they start."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import warnings
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

JAVA_VERSION = 17
"""The oldest Java that Spark 4 runs on."""

JVM_LOG = "spark.trueup.jvm_log"
"""The Spark setting that names a file for what the JVM prints: Ivy's table, Spark's warnings."""


class JavaMissingError(RuntimeError):
    """Spark cannot start because there is no Java, or one that is too old."""


def install() -> None:
    """Make every new Spark session of this process start prepared. Repeating it changes nothing."""
    get_or_create = SparkSession.Builder.getOrCreate
    if hasattr(get_or_create, "is_prepared"):
        return

    @wraps(get_or_create)
    def prepared(builder: SparkSession.Builder) -> SparkSession:
        if SparkContext._gateway is None:  # noqa: SLF001 - Spark's own mark of a started JVM
            prepare(builder._options)  # noqa: SLF001 - the settings given so far
        session = get_or_create(builder)
        if not hasattr(session, "has_aggregates"):
            from dbt_trueup.udfs import aggregates  # noqa: PLC0415 - its types ask what session is there

            aggregates.register(session)
            warn_of_caches(session.conf.getAll)
            session.has_aggregates = True  # type: ignore[attr-defined]
        return session

    prepared.is_prepared = True  # type: ignore[attr-defined]
    SparkSession.Builder.getOrCreate = prepared  # type: ignore[assignment]


def prepare(settings: Mapping[str, str]) -> None:
    """Get this process ready for a JVM, and start it where its output has a file of its own.

    Args:
        settings: Spark settings, as in a profile's `server_side_parameters`.

    Raises:
        JavaMissingError: There is no Java 17 or newer. Not raised for a session of Spark Connect,
            which needs none.
    """
    # Python workers take the `python3` of PATH otherwise, which need not have our packages. On a
    # cluster the interpreter is the cluster's own.
    if settings.get("spark.master", "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # PySpark prints every failed statement as a page of JSON; dbt reports the error itself.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    if "spark.remote" in settings or "SPARK_REMOTE" in os.environ:
        return
    require_java()
    for setting in settings.values():
        # SQLite makes the file of a catalog, but not its folder.
        if setting.startswith("jdbc:sqlite:"):
            catalog = Path(setting.removeprefix("jdbc:sqlite:").partition("?")[0])
            catalog.parent.mkdir(parents=True, exist_ok=True)
    if JVM_LOG in settings and "PYSPARK_GATEWAY_PORT" not in os.environ:
        start_jvm(settings, Path(settings[JVM_LOG]))


def warn_of_caches(settings: Mapping[str, str]) -> None:
    """Warn of each Iceberg catalog that caches tables, and so may not see what others commit.

    Args:
        settings: The settings of a Spark session.

    Example:
        >>> warn_of_caches({"spark.sql.catalog.lake.cache-enabled": "false"})
    """
    for name, value in settings.items():
        is_catalog = re.fullmatch(r"spark\.sql\.catalog\.[^.]+", name)
        if not is_catalog or not value.startswith("org.apache.iceberg.spark."):
            continue
        switch = f"{name}.cache-enabled"
        if settings.get(switch, "true").lower() != "false":
            message = (
                f"trueup: set {switch} to false. It is on, so this process may not see what others"
                " append to a table: runs find nothing new, or lose every race."
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)


def require_java() -> None:
    """Check that Spark will find Java 17 or newer, in JAVA_HOME or else on PATH.

    Raises:
        JavaMissingError: One line: what was found and what to install.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    where = f"JAVA_HOME={home}" if home else "PATH"
    needs = f"trueup needs Java {JAVA_VERSION} or newer to start Spark"
    then = "install one (openjdk-17-jre-headless, Temurin 17) or set JAVA_HOME"
    if java is None:
        message = f"{needs}; there is no `java` in {where}: {then}."
        raise JavaMissingError(message)
    answer = subprocess.run(  # noqa: S603 - the java that Spark itself would start
        [java, "-version"], capture_output=True, text=True, check=False
    ).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', answer)
    if version is None or int(version[1]) < JAVA_VERSION:
        found = answer.splitlines()[0] if answer else "no version"
        message = f"{needs}; `java` in {where} says: {found}: {then}."
        raise JavaMissingError(message)


def start_jvm(settings: Mapping[str, str], log: Path) -> None:
    """Start the JVM of this process with its output in a file.

    Args:
        settings: Spark settings.
        log: The file, made anew for each JVM; its folder is made where it is missing.

    Raises:
        RuntimeError: The JVM did not start; holds the end of the file.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    conf = SparkConf().setAll(list(settings.items()))
    with log.open("w") as output:
        try:
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            end = "\n".join(log.read_text().splitlines()[-20:])
            message = f"Spark did not start. The end of {log}:\n{end}"
            raise RuntimeError(message) from error
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001 - hands over the JVM
