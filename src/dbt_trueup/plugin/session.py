"""Prepares the Spark sessions of a process, before and after they start."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import warnings
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkContext
from pyspark.sql import SparkSession

from dbt_trueup.errors import CatalogMissingError

from . import statements
from .java import require_java, start_jvm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]

JVM_LOG = "spark.trueup.jvm_log"
"""The Spark setting that names a file for the output of the JVM: Ivy's table, Spark's warnings."""

DELTA = "org.apache.spark.sql.delta."
"""How the class of a Delta catalog begins."""

REWRITE_CATALOG = "spark.sql.catalog.default_rewrite_catalog"
"""The catalog that Iceberg adds to a session while it rewrites the files of a table."""

STARTING = threading.RLock()
"""Held while a session starts: threads that ask for it at the same time wait until it is ready."""


@dataclass(frozen=True)
class AppliedSettings:
    """The settings that were applied last to a session, and the same in its JVM.

    dbt-spark gives all settings of the profile to each statement. PySpark then sends them to the
    JVM one by one, which takes longer than many statements of a small run.
    """

    settings: dict[str, str]
    in_jvm: JavaObject
    """A map."""
    sessions: JavaObject
    """The object of Spark that applies settings to a session."""

    @classmethod
    def send(cls, session: SparkSession, settings: Mapping[str, str]) -> AppliedSettings:
        """Send settings to the JVM of a session."""
        in_jvm = session._jvm.java.util.HashMap()  # type: ignore[union-attr]  # noqa: SLF001
        for name, setting in settings.items():
            in_jvm[name] = setting
        sessions = SparkSession._get_j_spark_session_module(session._jvm)  # noqa: SLF001
        return cls(dict(settings), in_jvm, sessions)


def apply_again(session: SparkSession, settings: Mapping[str, str]) -> bool:
    """Apply settings to a session, as `getOrCreate` does, if they are those that were applied last.

    Returns:
        Whether they are, and the session has not stopped.
    """
    applied = getattr(session, "applied", None)
    if applied is None or applied.settings != settings or session._sc._jsc is None:  # noqa: SLF001
        return False
    applied.sessions.applyModifiableSettings(session._jsparkSession, applied.in_jvm)  # noqa: SLF001
    return True


def install() -> None:
    """Prepare every Spark session that this process starts. Calling this again has no effect."""
    get_or_create = SparkSession.Builder.getOrCreate
    if hasattr(get_or_create, "prepares_sessions"):
        return

    @wraps(get_or_create)
    def get_or_create_prepared(builder: SparkSession.Builder) -> SparkSession:
        with STARTING:
            given = builder._options  # noqa: SLF001 - the settings given so far
            session = SparkSession._instantiatedSession  # noqa: SLF001 - has no public form
            if session is not None and apply_again(session, given):
                return session
            if SparkContext._gateway is None:  # noqa: SLF001 - None until a JVM has started
                prepare(given)
            session = get_or_create(builder)
            # Registering a function asks for the session once more, in the same thread.
            if not hasattr(session, "is_prepared"):
                session.is_prepared = True  # type: ignore[attr-defined]
                try:
                    equip(session)
                except BaseException:
                    del session.is_prepared  # type: ignore[attr-defined]
                    raise
            if given and isinstance(session, SparkSession):  # Spark Connect has another class
                session.applied = AppliedSettings.send(session, given)  # type: ignore[attr-defined]
            return session

    get_or_create_prepared.prepares_sessions = True  # type: ignore[attr-defined]
    SparkSession.Builder.getOrCreate = get_or_create_prepared  # type: ignore[assignment]


def equip(session: SparkSession) -> None:
    """Give a new session the aggregates and the short errors, and warn of its settings."""
    from dbt_trueup.udfs import aggregates  # noqa: PLC0415 - needs a session for its types

    statements.wrap(type(session), "sql")  # Spark Connect has another class
    choose_interpreter(session)
    aggregates.register(session)
    settings = session.conf.getAll
    warn_of_caches(settings)
    warn_of_unsafe_delta(settings)


def choose_interpreter(session: SparkSession) -> None:
    """Let the Python workers of a local Spark run this interpreter, unless the user has set one.

    By default they run the `python3` of PATH, which may not have our packages. A cluster has its
    own interpreter. Only the session surely knows which of the two it is: `spark.master` may be in
    a file of Spark.
    """
    if not isinstance(session, SparkSession) or "PYSPARK_PYTHON" in os.environ:
        return  # Spark Connect has another class
    context = session.sparkContext
    if context.master and context.master.startswith("local"):
        context.pythonExec = sys.executable


def prepare(settings: Mapping[str, str]) -> None:
    """Get this process ready for a JVM. Start the JVM here if its output goes to a file.

    Args:
        settings: Spark settings, as in a profile's `server_side_parameters`.

    Raises:
        JavaMissingError: There is no Java 17 or newer. Spark Connect needs no Java, so it is not
            checked there.
        CatalogMissingError: The file of a SQLite catalog is missing, and its tables are not.
        JvmStartError: The JVM did not start.
    """
    # PySpark prints every failed statement as a page of JSON. dbt reports the error itself.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    if "spark.remote" in settings or "SPARK_REMOTE" in os.environ:
        return
    require_java()
    for name, setting in settings.items():
        if setting.startswith("jdbc:sqlite:"):
            name_of_file = setting.removeprefix("jdbc:sqlite:").partition("?")[0]
            if name_of_file.startswith(":"):
                continue  # in memory, or in a JAR
            catalog = Path(name_of_file.removeprefix("file:"))
            warehouse = settings.get(f"{name.removesuffix('.uri')}.warehouse")
            if warehouse is not None:
                require_catalog(catalog, Path(warehouse.removeprefix("file:")))
            # SQLite creates the file of a catalog, but not its folder.
            catalog.parent.mkdir(parents=True, exist_ok=True)
    if JVM_LOG in settings and "PYSPARK_GATEWAY_PORT" not in os.environ:
        start_jvm(settings, Path(settings[JVM_LOG]))


def require_catalog(catalog: Path, warehouse: Path) -> None:
    """Check that the file of a SQLite catalog exists if there are tables.

    SQLite would create an empty file. Then the collections would begin again without history.

    Args:
        catalog: The file.
        warehouse: The folder of its tables.

    Raises:
        CatalogMissingError: The file is missing.
    """
    if not catalog.exists() and next(warehouse.glob("*/*/metadata"), None) is not None:
        message = (
            f"missing catalog: {warehouse} has tables, but the file of their catalog, {catalog},"
            " is not there. Restore the file. To begin again, give the catalog another folder."
        )
        raise CatalogMissingError(message)


def warn_of_caches(settings: Mapping[str, str]) -> None:
    """Warn about each Iceberg catalog that caches tables: it may hide the commits of others.

    Args:
        settings: The settings of a Spark session.

    Example:
        >>> warn_of_caches({"spark.sql.catalog.lake.cache-enabled": "false"})
    """
    for name, value in settings.items():
        is_catalog = re.fullmatch(r"spark\.sql\.catalog\.[^.]+", name)
        is_of_iceberg = is_catalog and value.startswith("org.apache.iceberg.spark.")
        if not is_of_iceberg or name == REWRITE_CATALOG:
            continue
        switch = f"{name}.cache-enabled"
        if settings.get(switch, "true").lower() != "false":
            message = (
                f"trueup: set {switch} to false. It is on, so this process may not see what others"
                " append to a table: runs find nothing new, or lose every race."
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)


def warn_of_unsafe_delta(settings: Mapping[str, str]) -> None:
    """Warn if two processes that write to Delta tables may overwrite each other's commit.

    Delta looks for the file of a commit and then puts its own in that place. On a local file system
    and, with the settings that Delta begins with, on S3 only a lock inside the process makes these
    two steps one.

    Args:
        settings: The settings of a Spark session.

    Example:
        >>> warn_of_unsafe_delta({"spark.sql.warehouse.dir": "file:/tmp/warehouse"})
    """
    has_delta = any(
        re.fullmatch(r"spark\.sql\.catalog\.[^.]+", name) and value.startswith(DELTA)
        for name, value in settings.items()
    )
    warehouse = settings.get("spark.sql.warehouse.dir", "")
    scheme = warehouse.partition(":")[0]
    is_s3 = scheme in ("s3", "s3a", "s3n")
    has_log_store = (
        "spark.delta.logStore.class" in settings
        or f"spark.delta.logStore.{scheme}.impl" in settings
    )
    if not has_delta or not (scheme == "file" or (is_s3 and not has_log_store)):
        return
    storage = "S3 without a log store for several writers" if is_s3 else "A local file system"
    remedy = (
        f"set spark.delta.logStore.{scheme}.impl, as Delta's documentation says"
        if is_s3
        else "use a storage for which Delta supports several writers"
    )
    message = (
        f"trueup: Delta tables in {warehouse} are safe for one process only. {storage} cannot stop"
        f" two processes that commit at the same moment: run one at a time, or {remedy}."
    )
    warnings.warn(message, RuntimeWarning, stacklevel=2)
