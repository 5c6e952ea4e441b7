"""Runs whose catalog is a REST server, which the test starts. Maven downloads the server."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.engines.servers import (
    LOOPBACK,
    MARKS,
    PATIENCE,
    SPARK_HOME,
    free_port,
    listens,
    run_module,
    server,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [*MARKS, pytest.mark.iceberg_only]
MAIN = "org.apache.iceberg.rest.RESTCatalogServer"
POM = ROOT / "tests/engines/rest_catalog/pom.xml"


def class_path(folder: Path) -> str:
    """The JARs of the server, and those with which it writes files, from pyspark."""
    found = folder / "class_path.txt"
    # A Maven repository of its own: Spark also looks for JARs in the user's one, and fails if only
    # some files of a JAR are there.
    own = [f"-Dmaven.repo.local={folder / 'repository'}", f"-Dmdep.outputFile={found}"]
    command = ["mvn", "--quiet", "--batch-mode", "--file", str(POM), *own]
    subprocess.run([*command, "dependency:build-classpath"], check=True, timeout=PATIENCE)
    hadoop = sorted((SPARK_HOME / "jars").glob("hadoop-client-*.jar"))
    return ":".join([found.read_text(), *map(str, hadoop)])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a REST catalog that keeps the list of tables in SQLite."""
    if shutil.which("mvn") is None:
        pytest.skip("Maven (mvn) downloads the REST catalog")
    folder, port = tmp_path_factory.mktemp("rest"), free_port()
    given = {
        "CATALOG_REST_PORT": str(port),
        "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
        "CATALOG_WAREHOUSE": f"file:{folder}/warehouse",
    }
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin/java")) if home else "java"
    command = [java, "-cp", class_path(folder), MAIN]
    with server(command, folder / "server.log", lambda: listens(port), given):
        yield port


def test_batches_and_lost_races_over_a_rest_catalog_equal_the_oracle(
    port: int, package: Path, tmp_path: Path
) -> None:
    run_module("over_rest", tmp_path, f"http://{LOOPBACK}:{port}", package, timeout=900)
