"""dbt parses, compiles and selects collections without a Spark session. The package is in git."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt.adapters.spark.session import Cursor
from dbt.cli.main import dbtRunner

from tests.conftest import ROOT
from tests.git_repository import git, new_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
"""The first parse of the project takes five seconds, most later ones take one."""
ORDERS = {"orders", *(f"orders_{role}" for role in ("commands", "corrections", "batch"))}
ORDERS |= {"orders_changelog", "orders_state", "orders_errors"}
SELECTORS = {
    "selectors": [
        {"name": "nightly", "definition": {"method": "tag", "value": "nightly"}},
        {
            "name": "settled",
            "definition": {
                "union": [
                    {"method": "path", "value": "models/orders"},
                    {"exclude": [{"method": "fqn", "value": "orders_history"}]},
                ]
            },
        },
    ]
}
EXPOSURE = {
    "name": "revenue",
    "type": "dashboard",
    "owner": {"name": "Ada"},
    "depends_on": ["ref('orders')"],
}


@pytest.fixture(scope="module", autouse=True)
def _no_warehouse() -> Iterator[None]:
    """Fail on each statement that dbt sends to Spark."""

    def refuse(_: Cursor, sql: str, *__: Any) -> None:
        raise AssertionError(sql)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cursor, "execute", refuse)
        yield


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A copy of tests/consumer with selectors, an exposure, and the package from a git remote."""
    at = tmp_path_factory.mktemp("git")
    remote = new_repository(at / "trueup.git")
    files = ["dbt_project.yml", "macros", "models", "docs", "README.md"]
    git(remote, f"--work-tree={ROOT}", "add", *(str(ROOT / file) for file in files))
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    tree = git(remote, "write-tree")
    commit = git(remote, *author, "commit-tree", tree, "-m", "The package")
    git(remote, "update-ref", "refs/heads/main", commit)

    folder = at / "project"
    shutil.copytree(
        ROOT / "tests/consumer", folder, ignore=shutil.ignore_patterns("dbt_packages", "target")
    )
    packages = [{"git": remote.as_uri(), "revision": "main"}]
    (folder / "packages.yml").write_text(yaml.safe_dump({"packages": packages}))
    config = yaml.safe_load((folder / "dbt_project.yml").read_text())
    config["models"]["consumer"]["orders"]["+tags"] = ["nightly"]
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(config))
    (folder / "selectors.yml").write_text(yaml.safe_dump(SELECTORS))
    (folder / "models/exposures.yml").write_text(yaml.safe_dump({"exposures": [EXPOSURE]}))
    dbt(folder, "deps")
    return folder


def dbt(folder: Path, *words: str) -> Any:
    """Run dbt, which must succeed. Return its result."""
    quiet = ("--quiet", "--no-use-colors", "--log-level-file", "none")
    invoked = dbtRunner().invoke([*words, *quiet, "--project-dir", str(folder)])
    assert invoked.success, invoked.exception or invoked.result
    return invoked.result


def listed(folder: Path, *words: str, kind: str = "model") -> set[str]:
    """The names of the nodes that `dbt ls` lists."""
    output = ("--resource-type", kind, "--output", "json", "--output-keys", "name")
    return {json.loads(line)["name"] for line in dbt(folder, "ls", *output, *words)}


def test_a_package_from_git_is_installed_and_parses(project: Path) -> None:
    assert (project / "dbt_packages/trueup/macros/commands/commands.sql").is_file()
    lock = yaml.safe_load((project / "package-lock.yml").read_text())
    (package,) = lock["packages"]
    assert package["git"].endswith("/trueup.git")
    manifest = dbt(project, "parse")
    assert "macro.trueup.commands" in manifest.macros
    assert "model.trueup.trueup_batches" in manifest.nodes


def test_ls_lists_the_models_of_a_collection(project: Path) -> None:
    assert listed(project, "--select", "path:models/orders") == {
        *ORDERS,
        "order_events",
        "orders_history",
    }


def test_compile_needs_no_warehouse(project: Path) -> None:
    dbt(project, "compile", "--no-introspect", "--no-populate-cache")
    compiled = project / "target/compiled/consumer/models/orders"
    assert {file.stem for file in compiled.glob("*.sql")} >= ORDERS
    for name in ORDERS:
        assert "select" in (compiled / f"{name}.sql").read_text()


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("--select tag:nightly --exclude orders_history", ORDERS | {"order_events"}),
        ("--selector settled", ORDERS | {"order_events"}),
        ("--selector nightly", ORDERS | {"order_events", "orders_history"}),
        # The folder has the name of the view, so this name selects the whole collection.
        ("--select orders --exclude order_events orders_history", ORDERS),
        (
            "--select +path:models/orders/orders.sql",
            ORDERS - {"orders_errors"} | {"order_events"},
        ),
        (
            "--select orders_state+",
            {"orders_state", "orders", "orders_errors", "trueup_lag", "trueup_health"},
        ),
        ("--select orders_commands+1", {"orders_commands", "orders_corrections", "orders_batch"}),
        ("--select config.materialized:trueup_state", {"orders_state"}),
        ("--select +exposure:revenue", ORDERS - {"orders_errors"} | {"order_events"}),
    ],
)
def test_selectors_follow_a_collection_from_its_log_to_its_views(
    project: Path, selection: str, expected: set[str]
) -> None:
    assert listed(project, *selection.split()) == expected


def test_an_exposure_of_the_view_is_listed(project: Path) -> None:
    assert listed(project, "--select", "orders+", kind="exposure") == {"revenue"}


def test_state_modified_selects_what_was_changed_and_only_that(project: Path) -> None:
    dbt(project, "parse", "--target-path", "before")
    modified = ("--select", "state:modified", "--state", str(project / "before"))
    assert listed(project, *modified) == set()
    model = project / "models/orders/orders_commands.sql"
    text = model.read_text()
    model.write_text(text.replace("ts='event_no'", "ts='event_no + 1'"))
    changed, downstream = (
        listed(project, "--select", f"state:modified{plus}", *modified[2:]) for plus in ("", "+")
    )
    model.write_text(text)
    assert changed == {"orders_commands"}
    monitoring = {f"trueup_{name}" for name in ("batches", "health", "lag", "statistics")}
    assert downstream == ORDERS | {"orders_history"} | monitoring
    assert listed(project, *modified) == set()
