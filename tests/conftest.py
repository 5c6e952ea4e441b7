"""One warm Spark session for all tests of a process, and dbt in the same process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
import yaml
from dbt_common.tests import enable_test_caching

from tests.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jinja2.nodes import Template
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

SMALL = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "1",
    # The tests run many small statements, whose time is that of planning them. Both of Java's
    # compilers pay: after fifty runs of a collection a run takes a third less than with the first.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m"
        # With the sizes that Java begins with, a process collects garbage 6 s of each 100.
        " -Xms1g -Xmn512m -XX:MetaspaceSize=512m"
    ),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.showConsoleProgress": "false",
}
"""What the tests change in the settings of profiles.yml.example."""

SLOWEST_FIRST = [
    *("desired", "eager", "races", "fold", "damage", "widening", "large_state", "acceptance"),
    *("late_correct", "rehydration", "random_logs", "ticks", "time_zones", "overlaps", "bad_input"),
    *("edits", "defer", "protocol", "compact", "lost_races", "kills", "torture", "live"),
    *("schema_evolution", "convergence", "expectations", "flags_of_dbt", "corners", "hostile"),
    *("random_options", "reclock", "histories", "maintain", "envelopes", "rules", "run"),
]
"""Test files, by what they take: two processes end at the same time if the longest come first."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Spark, and give the slowest files out first, the others as they are found."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    order = {f"test_{name}.py": place for place, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


@pytest.fixture(scope="session", autouse=True)
def _one_parse_of_each_macro() -> None:
    """Keep the syntax trees of macros: dbt asks for each twice in every project of the tests.

    It keeps some more itself, as in its own tests, and looks for plugins once.
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


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the catalog, the warehouse and the profile of this process."""
    folder = tmp_path_factory.mktemp("trueup")
    example = jinja2.Template((ROOT / "profiles.yml.example").read_text())
    environment = {"TRUEUP_HOME": str(folder), "TRUEUP_SCHEMA": "trueup"}
    profile = yaml.safe_load(example.render(env_var=environment.get))
    settings = profile["trueup"]["outputs"]["local"]["server_side_parameters"]
    settings |= SMALL | {"spark.trueup.jvm_log": str(folder / "spark.log")}
    # A commit waits for the disk three times, so that it outlives a power cut: no test is of that.
    settings["spark.sql.catalog.lake.uri"] += "&synchronous=OFF"
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    os.environ["DBT_PROFILES_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def spark(home: Path) -> Iterator[SparkSession]:
    """The session that dbt uses, too."""
    from dbt_trueup import session  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the fast tests need none

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
    """Sets the time zone of the session, as often as a test calls it; it is put back then.

    dbt-spark sets what the profile says again before each statement, so the profile says it, too.
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
    """What the package does, without its demo and its descriptions: half of what dbt parses.

    The whole of it is installed by tests/consumer.
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
    """Makes an empty dbt project that has trueup as a package; its name is its schema, too."""

    def make(name: str) -> Project:
        return Project(tmp_path_factory.mktemp(name), name, spark, package)

    return make
