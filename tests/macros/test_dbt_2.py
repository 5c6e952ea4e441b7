"""The package in dbt 2: it compiles without a warehouse and has the right dependencies."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.macros.package import ROOT, in_model, node, refused

DBT_2 = Path(sysconfig.get_path("scripts")) / "dbt-core-experimental-parser"
SELECT = "select country, count(*) as n from {{ ref('orders') }} group by country"
COMMANDS = (
    "{{ trueup.commands(relation='lake.orders', ts='ts', sequence_by=['pos'], columns=['country'])"
    " }}"
)
DAILY = {"every": "1 day", "aligned_to": "2026-01-01 04:00:00"}
ROLES = ("corrections", "batch", "changelog", "state")


def dbt_2(folder: Path, target: Path, command: str) -> tuple[int, str]:
    """Run a command of dbt 2 on a project. Return the exit code and the output."""
    called = subprocess.run(
        [
            *(DBT_2, command, "--project-dir", folder, "--profiles-dir", ROOT / "tests/dbt_2"),
            *("--target-path", target, "--log-path", target / "logs"),
            *("--no-manage-state", "--no-version-check"),
        ],
        env={
            **os.environ,
            "DBT_ALLOW_EXPERIMENTAL_ADAPTERS": "true",
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return called.returncode, called.stdout + called.stderr


def shop(folder: Path, options: dict[str, Any]) -> Path:
    """Write a project with two collections: one by commands, one by a SELECT with `options`."""
    (folder / "dbt_packages").mkdir(parents=True)
    (folder / "dbt_packages" / "trueup").symlink_to(ROOT)
    (folder / "packages.yml").write_text(json.dumps({"packages": [{"local": str(ROOT)}]}))
    folders = {
        "orders": {"+unique_key": ["id"], "+meta": {"trueup": {"verify": "never"}}},
        "sums": {"+unique_key": ["country"], "+meta": {"trueup": options}},
    }
    project = {"name": "shop", "version": "1.0.0", "profile": "trueup", "models": {"shop": folders}}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(project))
    for name, role, text in (("orders", "commands", COMMANDS), ("sums", "desired", SELECT)):
        (folder / "models" / name).mkdir(parents=True)
        path = folder / "models" / name / name
        Path(f"{path}_{role}.sql").write_text(text)
        Path(f"{path}.sql").write_text(f"{{{{ trueup.collection('{name}') }}}}")
        for each in ROLES:
            Path(f"{path}_{each}.sql").write_text(f"{{{{ trueup.{each}('{name}') }}}}")
    return folder


@pytest.mark.parametrize("options", [{"of": ["orders"]}, {"of": []}, {"refresh": DAILY}])
def test_dbt_2_compiles_both_kinds_of_collection(tmp_path: Path, options: dict[str, Any]) -> None:
    code, printed = dbt_2(shop(tmp_path / "shop", options), tmp_path / "target", "compile")

    assert code == 0, printed
    assert "warning" not in printed
    nodes = json.loads((tmp_path / "target" / "manifest.json").read_text())["nodes"]
    needs = {name: set(node["depends_on"]["nodes"]) for name, node in nodes.items()}
    for collection, source in (("orders", "commands"), ("sums", "desired")):
        model = f"model.shop.{collection}"
        assert needs[f"{model}_corrections"] == {f"{model}_{source}"}
        assert needs[f"{model}_batch"] == {f"{model}_{source}", f"{model}_corrections"}


def test_dbt_2_requires_option_of_or_option_refresh_for_a_select(tmp_path: Path) -> None:
    code, printed = dbt_2(shop(tmp_path / "shop", {}), tmp_path / "target", "parse")

    assert code != 0
    assert "Ref 'sums_commands' not found" in printed


def test_a_collection_by_commands_refuses_even_an_empty_option_of() -> None:
    must, got, _ = refused(in_model("files_batch", options={"of": []})._options, "files")

    assert "only a collection by a SELECT" in must
    assert got == "Got: []"


def test_an_empty_option_of_takes_the_upper_from_the_clock() -> None:
    graph = {f"model.shop.sums_{role}": node(f"sums_{role}") for role in ("desired", *ROLES)}
    empty = in_model("sums_corrections", options={"of": []}, graph=graph)
    unset = in_model("sums_corrections", options={}, graph=graph)

    now = unset._get_desired_upper_expr("sums", unset._options("sums"))

    assert empty._get_desired_upper_expr("sums", empty._options("sums")) == now
