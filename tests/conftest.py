"""All tests of a process share one warm Spark session. dbt runs in the same process."""

from __future__ import annotations

import gc
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
import yaml
from dbt_common.tests import enable_test_caching
from hypothesis import HealthCheck, settings

from tests.project import TABLE_FORMAT, Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jinja2.nodes import Template
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

# No test fails because a machine is slow.
settings.register_profile("trueup", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make quick` is for a developer who waits for it.
settings.register_profile("quick", settings.get_profile("trueup"), max_examples=20)
settings.load_profile("trueup")

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

SMALL = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "1",
    # The tests run many small statements. Most of their time goes into planning. Java's first
    # compiler alone takes a third less time for 25 runs, and about the same for 150. The long forms
    # of the faults run many more.
    JAVA_OPTIONS: (
        "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m"
        # With the default sizes, Java spends 6% of the time on collecting garbage.
        " -Xms1g -Xmn512m -XX:MetaspaceSize=512m"
        + (
            ""
            if {"TRUEUP_SECONDS", "TRUEUP_SCRIPTS"} & os.environ.keys()
            else " -XX:TieredStopAtLevel=1"
        )
    ),
    "spark.ui.showConsoleProgress": "false",
}
"""Settings that differ from those of profiles.yml.example."""

if "TRUEUP_SPARK_DEFAULTS" not in os.environ:
    # Without adaptive plans and generated code the small statements of the tests are faster.
    SMALL |= {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }

SMALL_DELTA = {
    # The tables are forgotten when the process ends. Other processes do not see them.
    "spark.sql.catalogImplementation": "in-memory",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
}
"""Settings for Delta, in addition to SMALL."""

SLOWEST_FIRST = [
    *(
        "views",
        "interleavings",
        "races",
        "kills",
        "damage",
        "columns",
        "dbt_features",
        "one_model",
        "random_orders",
    ),
    *(
        "bounded",
        "places",
        "ticks",
        "order_rules",
        "field_models",
        "field",
        "sources",
        "changes_of_key",
        "explain",
        "prove",
        "your_log",
    ),
    *("drift", "expectations", "consumer", "pages", "run"),
]
"""The slowest test files. If they start first, two processes end at about the same time."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need Spark, leave out those of the other format, run slow files first."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    mark_other_cases(items)
    other = {"delta": "iceberg_only", "iceberg": "delta_only"}[TABLE_FORMAT]
    left_out = [item for item in items if item.get_closest_marker(other)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
    order = {f"test_{name}.py": place for place, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_collection_finish() -> None:
    """Freeze what lives as long as the process, and look for garbage less often.

    Otherwise Python spends half of the time of the tests without Spark on it. Their memory grows by
    a few percent.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


def mark_other_cases(items: list[pytest.Item]) -> None:
    """Mark all cases but the first of each test that has the mark `long_cases`."""
    seen: set[str] = set()
    for item in items:
        if item.get_closest_marker("long_cases"):
            test = item.nodeid.partition("[")[0]
            if test in seen:
                item.add_marker("long")
            seen.add(test)


@pytest.fixture(scope="session", autouse=True)
def _one_parse_of_each_macro() -> None:
    """Cache the syntax trees of macros. Otherwise dbt parses each macro twice in every project.

    `enable_test_caching` is a cache that dbt has for its own tests. It makes dbt look for plugins
    only once.
    """
    enable_test_caching()
    parse = jinja2.Environment.parse
    trees: dict[tuple[type, str], Template] = {}

    def parse_once(environment: jinja2.Environment, source: str, *names: Any) -> Template:
        text = type(environment), source
        if text not in trees:
            trees[text] = parse(environment, source, *names)
        return trees[text]

    jinja2.Environment.parse = parse_once  # type: ignore[method-assign,assignment]


def with_java_options(example: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Give the settings, with Java's options of the example before their own."""
    return {**settings, JAVA_OPTIONS: f"{example[JAVA_OPTIONS]} {settings[JAVA_OPTIONS]}"}


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the catalog, the warehouse and the profile of this process."""
    folder = tmp_path_factory.mktemp("trueup")
    example = jinja2.Template((ROOT / "profiles.yml.example").read_text())
    environment = {"TRUEUP_HOME": str(folder), "TRUEUP_SCHEMA": "trueup"}
    profile = yaml.safe_load(example.render(env_var=environment.get))["trueup"]
    outputs = profile["outputs"]
    if TABLE_FORMAT == "delta":
        # Tests change the settings of the target `local`, whatever its table format is.
        outputs["local"] = outputs["delta"]
        outputs["local"]["server_side_parameters"] |= SMALL_DELTA
    parameters = outputs["local"]["server_side_parameters"]
    parameters |= with_java_options(parameters, SMALL)
    parameters["spark.trueup.jvm_log"] = str(folder / "spark.log")
    if TABLE_FORMAT == "iceberg":
        # A commit would wait for the disk three times, to survive a power cut. Tests need not.
        parameters["spark.sql.catalog.lake.uri"] += "&synchronous=OFF"
    (folder / "profiles.yml").write_text(yaml.safe_dump({"trueup": profile}))
    os.environ["DBT_PROFILES_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def spark(home: Path) -> Iterator[SparkSession]:
    """The Spark session, which dbt uses, too."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the fast tests need none

    from dbt_trueup.plugin import session  # noqa: PLC0415

    session.install()
    profile = yaml.safe_load((home / "profiles.yml").read_text())
    builder = SparkSession.builder
    for name, value in profile["trueup"]["outputs"]["local"]["server_side_parameters"].items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    yield started
    started.stop()


@pytest.fixture
def in_zone(spark: SparkSession, home: Path) -> Iterator[Callable[[str], None]]:
    """A function that sets the time zone of the session. It is reset after the test.

    The function also changes the profile, because dbt-spark applies the settings of the profile
    before each statement.
    """
    name, path = "spark.sql.session.timeZone", home / "profiles.yml"
    before, text = str(spark.conf.get(name)), path.read_text()

    def set_zone(zone: str) -> None:
        profile = yaml.safe_load(text)
        profile["trueup"]["outputs"]["local"]["server_side_parameters"][name] = zone
        path.write_text(yaml.safe_dump(profile))
        spark.conf.set(name, zone)

    yield set_zone
    path.write_text(text)
    spark.conf.set(name, before)


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package without its demo and its descriptions, so that dbt parses half as much.

    tests/consumer installs the whole package.
    """
    folder = tmp_path_factory.mktemp("package")
    for path in (ROOT / "dbt_project.yml", *(ROOT / "macros").rglob("*.sql")):
        link = folder / path.relative_to(ROOT)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    return folder


@pytest.fixture(scope="session")
def new_project(
    spark: SparkSession, package: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Project]:
    """A function that creates an empty dbt project with trueup, and a schema of the same name."""

    def make(name: str) -> Project:
        return Project(tmp_path_factory.mktemp(name), name, spark, package)

    return make


@pytest.fixture(scope="session")
def own_project(new_project: Callable[[str], Project]) -> Callable[[str], Project]:
    """The same for a project of one test: its name and its schema get a number.

    dbt asks for all tables of a schema in each run, and parses all models. So a run takes longer
    the more collections a project has.
    """
    numbers = count(1)
    return lambda name: new_project(f"{name}_{next(numbers)}")
