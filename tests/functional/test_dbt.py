"""What the console script asks dbt, with a real project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt_trueup import dbt
from dbt_trueup.errors import DbtError
from tests.acceptance import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project


def test_rows_keep_the_kinds_of_their_values(new_project: Callable[[str], Project]) -> None:
    project = new_project("asked")
    project.add_collection("files", [Column("k", "string")], [Column("v", "bigint")])
    options = ["--project-dir", str(project.folder)]
    assert dbt.collections(dbt.parse(options)) == ["files"]

    select = (
        "select '007' as digits, '1.50' as fraction, 'true' as word, 9007199254740993L as number,"
        " 0.1D as half, true as flag, null as nothing, array(1, null) as list,"
        " named_struct('a', date'2026-01-02') as struct -- {{ ref('files_commands').name }}"
    )
    assert dbt.query(options, select) == [
        {
            "digits": "007",
            "fraction": "1.50",
            "word": "true",
            "number": 9007199254740993,
            "half": 0.1,
            "flag": True,
            "nothing": None,
            "list": [1, None],
            "struct": {"a": "2026-01-02"},
        }
    ]
    with pytest.raises(DbtError, match="no_such_column"):
        dbt.query(options, "select no_such_column")
