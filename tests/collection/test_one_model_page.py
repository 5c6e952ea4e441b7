"""The first example of docs/one-model.md, run as it is printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project


@pytest.mark.iceberg_only
def test_the_example_of_the_page_gives_the_rows_and_the_line_of_the_page(
    own_project: Callable[[str], Project], request: pytest.FixtureRequest
) -> None:
    page = (request.config.rootpath / "docs" / "one-model.md").read_text()
    statements = re.search(r"```sql\n(create table.*?)```", page, re.DOTALL)
    model = re.search(r"```jinja\n(.*?)```", page, re.DOTALL)
    line = re.search(r"```text\n(batch 1: .*?)\n```", page)
    table = re.search(r"\| order_id \| status \|\n\| --- \| --- \|\n((?:\|.*\n)+)", page)
    assert statements is not None
    assert model is not None
    assert line is not None
    assert table is not None
    project = own_project("page")
    for statement in statements[1].replace("shop.", f"{project.name}.").split(";"):
        if statement.strip():
            project.spark.sql(statement)
    project.write("models/orders.sql", model[1].replace("shop.", f"{project.name}."))

    project.run()

    assert project.messages == [f"orders: {line[1]}"]
    found = project.sql("select * from {}.orders order by 1")
    printed = [re.findall(r"[^| ]+", row) for row in table[1].splitlines()]
    assert [[str(item) for item in row] for row in found] == printed

    (insert,) = re.findall(r"insert into.*", statements[1], re.DOTALL)
    values = re.findall(r"\(.*\)", insert)
    again = ", ".join(reversed(values))
    project.spark.sql(f"insert into {project.name}.orders_log values {again}")
    project.run()

    assert [list(map(str, row)) for row in project.sql("select * from {}.orders")] == printed
