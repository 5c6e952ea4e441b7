"""The first steps of a new user, as the pages print them."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dbt.cli.main import dbtRunner

from dbt_trueup.command_line.program import main
from tests.project import QUIET

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

pytestmark = pytest.mark.iceberg_only

ROOT = Path(__file__).parents[2]
SEED = "seeds/orders_log.csv"
LABELLED = re.compile(r"```\w+\n(?:--|#) (models/\S+)\n(.*?)```", re.DOTALL)
"""A file that a page shows in full: a comment with its path, then its text."""


def page(name: str) -> str:
    return (ROOT / name).read_text()


def blocks(text: str, begins: str) -> list[str]:
    """The blocks of code of a page that begin with these words."""
    found = re.findall(r"```\w+\n(.*?)```", text, re.DOTALL)
    return [block for block in found if block.startswith(begins)]


def table_after(text: str, words: str) -> list[list[str]]:
    """The cells of the first table after these words, without its head."""
    lines = re.findall(r"^\| (.*) \|$", text.partition(words)[2], re.MULTILINE)
    rows = [line.split(" | ") for line in lines]
    # The head of the next table is followed by dashes, too.
    second = [at for at, row in enumerate(rows) if row[0] == "---"][1:2]
    return rows[2 : second[0] - 1 if second else None]


def shown(project: Project, query: str) -> list[list[str]]:
    return [[str(item) for item in row] for row in project.sql(query)]


def type_in(project: Project, page_text: str) -> list[str]:
    """Carry out a block of `dbt` and `trueup` commands of a page. Return the lines of `trueup`."""
    printed: list[str] = []
    for line in page_text.replace("trueup.payments", f"{project.name}.payments").splitlines():
        program, *words = shlex.split(line)
        words += ["--project-dir", str(project.folder)]
        if program == "dbt":
            ran = dbtRunner().invoke([*words, *QUIET])
            assert ran.success, (line, ran.exception)
        else:
            out = StringIO()
            with redirect_stdout(out):
                assert main([*words, *["--yes"] * (words[0] == "init")]) == 0
            printed += out.getvalue().splitlines()
    project.configure()  # there may be new models
    return printed


def test_start_leads_to_a_tested_table(own_project: OwnProject) -> None:
    text = page("docs/start.md")
    project = own_project("start")
    project.settings = {"seeds": {"+file_format": "iceberg", "+schema": None}}
    project.configure()
    log, more = blocks(text, "order_id,op")[0], blocks(text, "1,U,25")[0]
    first, second, third = (block.splitlines()[0] for block in blocks(text, "batch "))

    project.write(SEED, log)
    project.run(command="seed")
    said = type_in(project, blocks(text, "trueup init orders_log")[0])
    shown_lines = blocks(text, "field  ")[0].splitlines()
    shown_lines = [line for line in shown_lines if line != "..." and "[y/N]" not in line]
    assert len(shown_lines) == 10
    assert [line for line in shown_lines if line not in said] == [shown_lines[-1]]
    assert said[-1].startswith(f"{shown_lines[-1]} --project-dir ")
    ((path, file),) = LABELLED.findall(text)
    assert (project.folder / path).read_text() == file

    (build,) = blocks(text, "dbt build --select orders ")
    assert build.strip() == shown_lines[-1].removeprefix("next: ")
    project.run(*build.split()[3:], command="build")
    (count,) = re.findall(r"Done\. PASS=(\d+)", text)
    assert len(project.messages) == int(count)
    assert f"orders: {first}" in project.messages
    assert shown(project, "select * from {}.orders") == table_after(text, "The table has one row")
    project.run("orders")
    assert project.messages == ["orders: up to date at batch 1"]

    project.write(SEED, log + more)
    project.run(command="seed")
    project.run("orders")
    assert project.messages == [f"orders: {second}"]
    changelog = (project.folder / "models/orders_changelog.sql").read_text().strip()
    assert f"`models/orders_changelog.sql` is one line, `{changelog}`" in text
    query = "select order_id, status, _diff, _seq from {}.orders_changelog order by _seq"
    assert shown(project, query) == table_after(text, "## 6. See what changed")
    project.run("orders+", command="build")

    make, append = blocks(text, 'dbt show --limit -1 --inline "')
    type_in(project, make)
    assert shown(project, "select * from {}.payments order by id") == [["1", "5"], ["2", "7"]]
    type_in(project, append.splitlines()[0])
    project.run("payments")
    assert project.messages == [f"payments: {third}"]
    (explain,) = re.findall("`(trueup explain .*?)`", text)
    assert any("wins" in line for line in type_in(project, explain))


@pytest.mark.long
def test_a_select_is_tested_by_its_corrections(own_project: OwnProject) -> None:
    (line,) = re.findall(r"test that a model with\s+`(.*?)` has no", page("docs/how-it-works.md"))
    project = own_project("tested_select")
    project.sql("create table {}.raw using iceberg as select 1 as customer_id, 'Ulm' as city")
    config = "{{ config(materialized='trueup', unique_key='customer_id') }}"
    project.write("models/customers.sql", f"{config}\nselect * from {project.name}.raw")
    project.write(
        "models/customers.yml",
        "models: [{name: customers, data_tests: [trueup.no_open_errors],"
        " columns: [{name: customer_id, data_tests: [unique, not_null]}]}]",
    )
    project.write("models/customers_corrections.sql", line)
    project.write("tests/customers_agree.sql", "select * from {{ ref('customers_corrections') }}")
    project.run(command="build")
    assert len(project.messages) == 6
    project.sql("update {}.raw set city = 'Bonn'")
    project.run(command="test", fails=True)
    failed = [message for message in project.messages if "Got" in message]
    assert [one.partition(":")[0] for one in failed] == ["customers_agree"]
    project.run(command="build")


def test_the_readme_shows_what_both_models_make_of_its_log(own_project: OwnProject) -> None:
    project = own_project("readme")
    project.settings = {"seeds": {"+file_format": "iceberg", "+schema": None}}
    project.configure()
    ((path, merged),) = LABELLED.findall(page("docs/moving-here.md"))
    project.write(path, merged)
    (model,) = blocks(page("README.md"), "-- models/orders.sql")
    project.write(
        "models/orders.sql", model.replace("source('shop', 'orders_log')", "ref('orders_log')")
    )
    lines = [
        f"{load},{order_id},{op},{position},{status}"
        for load, order_id, op, position, status, *_ in [
            ["1", "1", "U", "10", "placed"],
            ["1", "2", "U", "11", "placed"],
            ["1", "1", "U", "30", "sent"],
            *(
                [cell.strip() for cell in row]
                for row in table_after(page("README.md"), "three more lines arrive")
            ),
        ]
    ]
    assert len(lines) == 6
    for load in "123":
        arrived = [line for line in lines if line[0] <= load]
        project.write(SEED, "\n".join(["load,order_id,op,log_position,status", *arrived]))
        project.run(command="seed")
        project.run("orders", "orders_merged")

    merged_rows = shown(project, "select order_id, status from {}.orders_merged order by 1")
    assert merged_rows == [["1", "paid"], ["2", "placed"]]
    assert "**paid**, but it was sent" in page("README.md")
    assert "**placed**, but it was deleted" in page("README.md")
    assert shown(project, "select * from {}.orders") == [["1", "sent"]]

    # The wrong table becomes the first batch of a collection, and the log puts it right.
    project.write("models/orders_merged.sql", (project.folder / "models/orders.sql").read_text())
    project.run("orders_merged")
    assert shown(project, "select * from {}.orders_merged") == [["1", "sent"]]
    assert len(project.sql("select * from {}.orders_merged__before")) == 2
    changes = "select order_id, status, _diff, _seq, _cause from {}.orders_merged__trueup"
    assert shown(project, f"{changes} where _kind = 'update' order by _seq, order_id, _diff") == [
        ["1", "paid", "1", "1", "adopted"],
        ["2", "placed", "1", "1", "adopted"],
        ["1", "paid", "-1", "2", "None"],
        ["1", "sent", "1", "2", "None"],
        ["2", "placed", "-1", "2", "None"],
    ]


def test_a_sink_that_appends_gives_exactly_the_table_of_its_page(own_project: OwnProject) -> None:
    text, project = page("docs/sinks-that-append.md"), own_project("sink")
    rows = ", ".join(str(tuple(row)) for row in table_after(text, "## The log and the table"))
    project.sql(
        "create table {}.orders_sink using iceberg as select int(a) as id, b as status,"
        " cast(c as decimal(10,2)) as amount, d as __op, e as __deleted, bigint(f) as __source_lsn"
        f" from values {rows} as one(a, b, c, d, e, f)"
    )
    for path, file in LABELLED.findall(text):
        place = file.replace("source('cdc', 'orders')", f"source('{project.name}', 'orders_sink')")
        place = place.replace("- name: cdc\n", f"- name: {project.name}\n", 1)
        place = place.replace("      - name: orders\nmodels", "      - name: orders_sink\nmodels")
        project.write(path, place)
    project.run("orders", command="build")
    assert shown(project, "select * from {}.orders order by id") == table_after(
        text, "After the run the table"
    )
