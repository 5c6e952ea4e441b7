"""The package in dbt 2: its models compile without a warehouse."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import yaml

from tests.macros.package import ROOT

DBT_2 = Path(sysconfig.get_path("scripts")) / "dbt-core-experimental-parser"
MODELS = {
    "orders": """{{ config(materialized='trueup', unique_key='id') }}
        {{ trueup.commands(relation='lake.log', sequence_by=['pos'], columns=['country']) }}""",
    "sums": """{{ config(materialized='trueup', unique_key='country') }}
        select country, count(*) as n from {{ ref('orders') }} group by country""",
    "orders_changelog": "{{ trueup.changelog('orders') }}",
    "orders_errors": "{{ trueup.errors(ref('orders')) }}",
}
READS = {"orders": set[str](), "sums": {"orders"}, "orders_changelog": {"orders"}}


def test_dbt_2_compiles_collections_and_what_reads_them(tmp_path: Path) -> None:
    shop, target = tmp_path / "shop", tmp_path / "target"
    (shop / "dbt_packages").mkdir(parents=True)
    (shop / "dbt_packages" / "trueup").symlink_to(ROOT)
    (shop / "packages.yml").write_text(json.dumps({"packages": [{"local": str(ROOT)}]}))
    project = {"name": "shop", "version": "1.0.0", "profile": "trueup"}
    (shop / "dbt_project.yml").write_text(yaml.safe_dump(project))
    (shop / "models").mkdir()
    for name, text in MODELS.items():
        (shop / "models" / f"{name}.sql").write_text(text)

    called = subprocess.run(
        [
            *(DBT_2, "compile", "--project-dir", shop, "--profiles-dir", ROOT / "tests/dbt_2"),
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

    assert called.returncode == 0, called.stdout + called.stderr
    assert "warning" not in called.stdout + called.stderr
    nodes = json.loads((target / "manifest.json").read_text())["nodes"]
    for name, read in READS.items():
        needs = set(nodes[f"model.shop.{name}"]["depends_on"]["nodes"])
        assert needs == {f"model.shop.{each}" for each in read}
