"""Edits of the state of a collection `orders`, as somebody else might make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.project import Project


def update(project: Project) -> None:
    project.sql("update {}.orders_state set v = 'edited' where k = 1")


def delete(project: Project) -> None:
    project.sql("delete from {}.orders_state where k = 2")


def insert(project: Project) -> None:
    project.sql(
        "insert into {}.orders_state by name"
        " select * except (k), 99 as k from {}.orders_state where k = 1"
    )


def merge(project: Project) -> None:
    project.sql(
        "merge into {}.orders_state as state using (select 2 as k) as edit on state.k = edit.k"
        " when matched then update set v = 'merged'"
    )
