"""`trueup check` runs the suite of a collection over its store and its view."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from dbt_trueup.command_line import program
from tests.conftest import ROOT
from tests.monitoring.shop import add_collection, append

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

pytestmark = pytest.mark.iceberg_only
NAMES = (
    *("key_is_not_null", "key_is_unique", "matches_certificate", "consolidates_to_state"),
    *("one_live_row_per_key", "no_open_errors"),
)


class Printed(NamedTuple):
    """The exit code and the output of the command."""

    exit_code: int
    out: str
    err: str

    def lines(self, word: str) -> dict[str, str]:
        """The text of each expectation that has passed or FAILED, by its name."""
        lines = [line.split(None, 2) for line in self.out.splitlines()]
        return {line[1]: line[2] for line in lines if line and line[0] == word}


@pytest.fixture
def check(project: Project, capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """A function that runs the command."""

    def run_command(*words: str) -> Printed:
        capsys.readouterr()
        output = ["--output", str(project.folder / "gx"), "--project-dir", str(project.folder)]
        exit_code = program.main(["check", *words, *output])
        return Printed(exit_code, *capsys.readouterr())

    return run_command


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A good collection `c`, a collection `wide` by a SELECT, and one that has not run."""
    project = new_project("expected")
    add_collection(project)
    add_collection(project, "unborn")
    config = "materialized='trueup', unique_key=['order`s no.', 'region']"
    log = f"{project.name}.c_log"
    project.write(
        "models/wide.sql",
        f"{{{{ config({config}) }}}}\n"
        f"select ord as `order``s no.`, err as region, k as v from {log}",
    )
    append(project, ("p", 1, "U", "a", 1), ("q", 2, "U", "a", 1))
    project.run("c", "wide")
    return project


def test_every_expectation_holds(project: Project, check: Callable[..., Printed]) -> None:
    printed = check("c")
    assert printed.exit_code == 0
    assert printed.err == ""
    assert printed.out.startswith("c: 6 of 6 expectations hold\n")
    assert tuple(printed.lines("passed")) == NAMES
    assert printed.lines("passed")["key_is_unique"] == "no key of c is there twice"
    site = project.folder / "gx" / "site"
    (page,) = site.glob("validations/c/c/*/*.html")
    assert printed.out.endswith(f"\n\n  Data Docs: file://{page}\n")
    assert "no key of c is there twice" in page.read_text()
    # Great Expectations cannot take the name of this key, so a query checks it.
    wide = check("wide")
    assert wide.exit_code == 0
    assert tuple(wide.lines("passed")) == ("key_is_unique", *NAMES[2:])


def test_damage_and_errors_are_reported(project: Project, check: Callable[..., Printed]) -> None:
    versions = {name: project.version(name) or 0 for name in ("c__trueup", "wide__trueup")}
    for name, key in (("c", "k = 'p'"), ("wide", "v = 'p'")):
        project.sql(
            f"insert into {{}}.{name}__trueup"
            f" select * from {{}}.{name}__trueup where _kind = 'row' and {key}"
        )
    failed = check("c").lines("FAILED")
    assert tuple(failed) == ("key_is_unique", "matches_certificate", "consolidates_to_state")
    assert failed["key_is_unique"] == "rows of c whose key is there twice: 2 ('p')"
    assert failed["matches_certificate"].startswith(
        "parts and buckets of keys in which rows were lost, doubled or changed: 1 (part"
        " 'current rows', bucket "
    )
    assert check("wide").lines("FAILED")["key_is_unique"] == (
        "keys of wide that are there twice: 1 (order`s no. 1, region null, _row_count 2)"
    )
    project.restore(versions)
    project.sql("update {}.c__trueup set _diff = 2 where _kind = 'update' and k = 'q'")
    assert "_diff_total 2" in check("c").lines("FAILED")["one_live_row_per_key"]
    project.restore(versions)
    append(project, ("r", 1, "U", "a", 1, "no number"))
    project.run("c")
    found = check("c")
    assert found.exit_code == 1
    (reason,) = found.lines("FAILED").values()
    assert reason.startswith("open errors, where at most 0 may be: 1 (k 'r', _error_kind 'value'")
    assert check("c", "--max-errors", "1").exit_code == 0


def test_a_context_of_ones_own_checks_the_collection_its_changes_and_its_errors(
    own_project: Callable[[str], Project],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = own_project("own_context")
    columns = "order_id int, op string, log_position int, status string"
    project.sql(f"create table {{}}.orders_log ({columns}) using {{format}}")
    project.insert("orders_log", [(1, "U", 1, "sent"), (2, "U", 2, "placed"), (2, "D", 3, None)])
    project.write(
        "models/orders.sql",
        "{{ config(materialized='trueup', unique_key='order_id') }}\n"
        f"{{{{ trueup.commands(relation='{project.name}.orders_log', sequence_by=['log_position'],"
        """ delete_when="op = 'D'", columns=['status']) }}""",
    )
    for name in ("changelog", "errors"):
        project.write(f"models/orders_{name}.sql", f"{{{{ trueup.{name}('orders') }}}}")
    text = (ROOT / "docs/commands.md").read_text()
    (program_text,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program_text = program_text.replace("trueup.orders", f"{project.name}.orders")
    monkeypatch.chdir(project.folder)

    def outcome() -> list[str]:
        project.run()
        capsys.readouterr()
        exec(program_text, {})  # noqa: S102 - the program of the page
        return capsys.readouterr().out.splitlines()[-3:]

    assert outcome() == ["orders True", "changes True", "errors True"]
    broken = [(key, "U", 4, status) for key in range(10, 21) for status in "ab"]
    project.insert("orders_log", [*broken, (3, "U", 5, None), (4, "U", 6, "lost")])
    assert outcome() == ["orders False", "changes False", "errors False"]


def test_a_collection_without_a_run_cannot_be_checked(check: Callable[..., Printed]) -> None:
    printed = check("unborn")
    assert printed.exit_code == 2
    assert "The collection unborn must be one that has run" in printed.err


def test_an_unknown_collection_is_an_error_before_spark_is_asked(
    check: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("dbt_trueup.expectations.check.read_collection")
    unknown = "trueup check: COLLECTION must be one of c, unborn, wide.\nGot: order\n"
    assert check("order") == (2, "", unknown)
