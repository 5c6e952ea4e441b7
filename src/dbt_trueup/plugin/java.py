"""Finds Java, and starts the JVM of a process with its output in a file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from dbt_trueup.errors import JavaMissingError, JvmStartError

if TYPE_CHECKING:
    from collections.abc import Mapping

JAVA_VERSION = 17
"""The oldest Java that Spark 4 runs on."""

SHOWN_LINES = 20
"""How many lines of the log an error shows."""


def require_java() -> None:
    """Check that Spark will find Java 17 or newer, in JAVA_HOME or else on PATH.

    Raises:
        JavaMissingError: It will not. The message says in one line what to install.
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
        [java, "-version"], capture_output=True, text=True, errors="replace", check=False
    ).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', answer)
    if version is None or int(version[1]) < JAVA_VERSION:
        # The first line may be about JAVA_TOOL_OPTIONS.
        lines = answer.splitlines() or ["no version"]
        found = next((line for line in lines if "version" in line), lines[0])
        message = f"{needs}; `java` in {where} reports: {found}: {then}."
        raise JavaMissingError(message)


def start_jvm(settings: Mapping[str, str], log: Path) -> None:
    """Start the JVM of this process with its output in a file.

    Args:
        settings: Spark settings.
        log: The file. Each JVM overwrites it. Its folder is created if it is missing.

    Raises:
        JvmStartError: The JVM did not start. The message has the end of the file.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    conf = SparkConf().setAll(list(settings.items()))
    with log.open("w") as output:
        try:
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            end = "\n".join(log.read_text(errors="replace").splitlines()[-SHOWN_LINES:])
            message = f"Spark did not start. The end of {log}:\n{end}"
            raise JvmStartError(message) from error
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001 - has no public form
