"""`trueup init` asks what it is not sure of, or says which option is needed. dbt is replaced."""

from __future__ import annotations

import json
import re
import shlex
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from dbt.contracts.files import ParseFileType

from dbt_trueup.command_line import init as command
from dbt_trueup.command_line.program import main
from dbt_trueup.command_line.program import trueup as program
from dbt_trueup.errors import UsageError
from dbt_trueup.init import sample
from dbt_trueup.init.project import find_log, model_folders, require_free_names
from tests.init.logs import ORDERS, table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dbt_trueup.init.log import Log

VISITS = table(
    "visits",
    "customer_id bigint, room_id bigint, commit_no bigint, op string, hours int",
    (7, 1, 1, "I", 5),
    (7, 2, 2, "Q", 5),
)


def node(
    name: str,
    kind: str = "model",
    raw_code: str = "",
    file: str = "models",
    package: str = "shop",
) -> SimpleNamespace:
    return SimpleNamespace(
        name=name,
        alias=name,
        schema="shop",
        resource_type=kind,
        package_name=package,
        raw_code=raw_code,
        original_file_path=f"{file}/{name}.sql",
    )


def manifest(*nodes: SimpleNamespace) -> Any:
    source = SimpleNamespace(
        source_name="cdc", name="paid", schema="cdc_prod", identifier="payments_log"
    )
    return SimpleNamespace(
        nodes={one.name: one for one in nodes},
        sources={"paid": source},
        macros={"macro.trueup.commands": None},
        files={
            one.name: SimpleNamespace(
                parse_file_type=ParseFileType.Model,
                project_name=one.package_name,
                path=SimpleNamespace(searched_path="transform/models"),
            )
            for one in nodes
        },
        metadata=SimpleNamespace(project_name="shop"),
    )


@pytest.fixture
def over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function that runs `trueup init` over a log, with answers if a person is asked."""

    def run(
        log: Log, *words: str, answers: str | None = None, nodes: Sequence[SimpleNamespace] = ()
    ) -> Any:
        monkeypatch.setattr(command, "parse", lambda _: manifest(*nodes))
        monkeypatch.setattr(command, "ask_for_log", lambda *_: (log, "shop"))
        monkeypatch.setattr(command, "is_terminal", lambda: answers is not None)
        monkeypatch.chdir(tmp_path)
        return CliRunner().invoke(
            program, ["init", f"cdc.{log.name}", *words], input=answers, standalone_mode=False
        )

    return run


def saved(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def test_without_a_person_a_guess_that_is_not_sure_needs_its_option(
    over: Any, tmp_path: Path
) -> None:
    result = over(VISITS)
    assert str(result.exception) == (
        "nothing is written: give --key, because the guess is not sure (2 of 2 sampled rows have"
        " it, 1 distinct value; customer_id may be the id of another thing); candidates:"
        " customer_id | room_id;"
        " give --delete-when, because the guess is not sure (`op` is I, Q: Q is not understood);"
        " candidates: op = 'I' | op = 'Q' | none"
    )
    assert saved(tmp_path) == []
    assert "key ?" in result.output
    assert "the model to start from:\n\n{{ config(materialized='trueup'" in result.output
    assert over(VISITS, "--key", "room_id", "--delete-when", "op = 'Q'").exception is None
    assert saved(tmp_path) == ["models/visits.sql", "models/visits.yml"]


def test_a_person_is_asked_for_each_guess_that_is_not_sure(over: Any, tmp_path: Path) -> None:
    result = over(VISITS, answers="customer_id,room_id\nop = 'Q'\ny\n")
    assert result.exception is None
    assert "key may be: customer_id; room_id" in result.output
    text = (tmp_path / "models/visits.sql").read_text()
    assert "delete_when=\"op = 'Q'\"" in text
    text = (tmp_path / "models/visits.sql").read_text()
    assert "unique_key=['customer_id', 'room_id']" in text


def test_each_guess_that_is_not_sure_has_an_option_and_a_question(
    over: Any, tmp_path: Path
) -> None:
    values = enumerate(("insert", "delete", "truncate"))
    rows = [(1, tick, value, 5) for tick, value in values]
    log = table("visits", "visit_id bigint, commit_no bigint, state string, hours int", *rows)
    assert str(over(log).exception).endswith(
        "give --truncate-when, because the guess is not sure (`state` has the values of an"
        " operation: delete, insert, truncate); candidates: state = 'truncate' | none"
    )
    words = ("--delete-when", "state = 'delete'", "--truncate-when", "state = 'truncate'")
    assert over(log, *words).exception is None
    text = (tmp_path / "models/visits.sql").read_text()
    assert "truncate_when=\"state = 'truncate'\"" in text
    assert "columns=['hours']" in text
    # Enter takes the first candidate.
    assert over(log, "--folder", "models/asked", answers="\n\ny\n").exception is None
    assert (tmp_path / "models/asked/visits.sql").read_text() == text


def test_a_question_may_follow_that_for_the_table(over: Any, tmp_path: Path) -> None:
    rows = [(1, 1, "c", "a", 5), (1, 1, "u", "b", 6), (1, 1, "u", "b", 7)]
    log = table("changes", "id int, lsn int, __op string, __table string, x int", *rows)
    result = over(log, answers="b\nlsn\ny\n")
    assert result.exception is None
    assert "table may be: a; b; all" in result.output
    text = (tmp_path / "models/changes.sql").read_text()
    assert "skip_when=\"not __table <=> 'b'\"" in text


def test_a_wrong_answer_is_asked_again_and_the_others_are_kept(over: Any, tmp_path: Path) -> None:
    result = over(VISITS, answers="customer_id,shop\ncustomer_id,room_id\nop = 'Q'\ny\n")
    assert result.exception is None
    assert "--key must name columns of the log" in result.output
    text = (tmp_path / "models/visits.sql").read_text()
    assert "unique_key=['customer_id', 'room_id']" in text


def test_a_terminal_obeys_no_value_of_the_log(over: Any) -> None:
    log = table("visits", "id int, commit_no int, op string, n int", (7, 1, "\x1b[2J", 1))
    result = over(log, answers="none\ny\n")
    assert "op = ' [2J'" in result.output
    assert "\x1b" not in result.output
    assert "\x1b" not in str(over(log).exception)


def test_a_person_who_says_no_gets_no_file(over: Any, tmp_path: Path) -> None:
    result = over(ORDERS, answers="n\n")
    assert "Write 2 files to models?" in result.output
    assert result.output.endswith("nothing is written\n")
    # `trueup init ... && dbt build` must stop here.
    assert result.return_value == 2
    assert saved(tmp_path) == []


def test_with_yes_and_with_json_nobody_is_asked(over: Any, tmp_path: Path) -> None:
    assert "Write" not in over(ORDERS, "--yes", answers="").output
    assert saved(tmp_path) == ["models/orders.sql", "models/orders.yml"]
    report = json.loads(over(ORDERS, "--json", "--folder", "models/other", answers="").stdout)
    assert report["next"] == "dbt build --select orders"
    assert [one["field"] for one in report["guesses"]][:3] == ["envelope", "table", "place"]
    assert all((tmp_path / path).exists() for path in report["files"])
    report = json.loads(over(VISITS, "--json").stdout)
    assert report["files"] == []
    assert report["model"].startswith("{{ config(materialized='trueup', unique_key='customer_id')")


def test_no_answer_is_an_answer(over: Any, tmp_path: Path) -> None:
    assert over(ORDERS, "--delete-when", "none", "--columns", "status, op").exception is None
    text = (tmp_path / "models/orders.sql").read_text()
    assert "delete_when" not in text
    assert "columns=['status', 'op']" in text


def test_a_project_without_the_package_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "parse", lambda _: SimpleNamespace(macros={}))
    assert main(["init", "orders_log"]) == 2
    assert capsys.readouterr().err == (
        "trueup init: the project needs the dbt package trueup: add it to packages.yml,"
        " run `dbt deps`\n"
    )


@pytest.mark.parametrize(
    ("name", "written", "schema"),
    [
        ("orders_log", "ref('orders_log')", None),
        ("shop.orders_log", "ref('orders_log')", None),
        ("cdc.paid", "source('cdc', 'paid')", None),
        ("cdc_prod.payments_log", "source('cdc', 'paid')", None),
        ("cdc.orders_log", "source('cdc', 'orders_log')", "cdc"),
    ],
)
def test_a_log_of_the_project_is_not_declared_again(
    name: str, written: str, schema: str | None
) -> None:
    found = find_log(manifest(node("orders_log", "seed")), name)
    assert (found.written, found.schema) == (written, schema)


@pytest.mark.parametrize("name", ["orders", "lake.cdc.orders", "cdc.", ""])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="the log must be a table with its schema"):
        find_log(manifest(), name)


def test_the_name_of_a_table_alone_gets_the_command_with_its_schema() -> None:
    with pytest.raises(
        UsageError, match=r"got events\nIf it is a table: trueup init shop\.events$"
    ):
        find_log(manifest(node("orders")), "events")
    with pytest.raises(UsageError, match=r"got lake\.cdc\.events$"):
        find_log(manifest(node("orders")), "lake.cdc.events")


def test_a_model_never_takes_the_name_of_another_node_or_of_the_log() -> None:
    found, folder = find_log(manifest(), "shop.orders"), "models"
    models = ["orders", "orders_changelog", "orders_errors"]
    require_free_names(manifest(), models, folder, found, "other")
    ours = node("orders_errors", raw_code="{{ trueup.errors('orders') }}")
    require_free_names(manifest(ours), models, "./models/", found, "other")
    require_free_names(manifest(node("orders_errors")), models[:1], folder, found, "other")
    for others, schema in (*(((node(name),), "other") for name in models), ((), "shop")):
        with pytest.raises(UsageError, match=r"Got: orders; orders.* is (models|the table)"):
            require_free_names(manifest(*others), models, folder, found, schema)
    with pytest.raises(UsageError, match="--name must be of letters"):
        require_free_names(manifest(), ["my orders"], folder, found, "other")


@pytest.mark.parametrize(
    ("file", "package"), [("models/marts", "shop"), ("models/orders", "library")]
)
def test_a_collection_in_another_folder_or_package_is_not_written_a_second_time(
    over: Any, tmp_path: Path, file: str, package: str
) -> None:
    code = "{{ trueup.commands(relation='log') }}"
    there = node("orders", raw_code=code, file=file, package=package)
    result = over(ORDERS, "--force", "--folder", "models/orders", nodes=[there])
    assert str(result.exception) == (
        "--name must be free, or that of the collection in models/orders.\n"
        f"Got: orders; orders is {file}/orders.sql of {package}\n"
        "Give another name with --name. To replace a collection, give its name, its folder with"
        " --folder, and --force."
    )
    assert saved(tmp_path) == []


def test_a_model_never_takes_the_name_of_a_source_in_the_same_schema() -> None:
    for name in ("cdc.paid", "cdc_prod.payments_log"):
        found = find_log(manifest(), name)
        require_free_names(manifest(), ["paid"], "models", found, "cdc_prod")
        require_free_names(manifest(), ["payments_log"], "models", found, "cdc")
        with pytest.raises(UsageError, match="payments_log is the table of the log"):
            require_free_names(manifest(), ["payments_log"], "models", found, "CDC_prod")


def test_the_models_go_where_the_project_has_its_models(tmp_path: Path) -> None:
    assert model_folders(manifest(), tmp_path) == ["models"]
    (tmp_path / "dbt_project.yml").write_text("model-paths: [marts, transform/models]")
    assert model_folders(manifest(), tmp_path) == ["marts", "transform/models"]
    found = model_folders(manifest(node("stores"), node("sales")), tmp_path)
    assert found == ["transform/models", "marts"]


def test_a_first_model_goes_where_dbt_reads_models(over: Any, tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("model-paths: [transform]")
    assert over(ORDERS).exception is None
    assert (tmp_path / "transform/orders.yml").exists()


@pytest.mark.parametrize("folder", ["other", "models/../other", "models_2", "/models"])
def test_a_folder_that_dbt_reads_no_models_from_is_refused(
    over: Any, tmp_path: Path, folder: str
) -> None:
    result = over(ORDERS, "--folder", folder)
    assert str(result.exception) == (
        f"--folder must be in a folder that dbt reads models from: models; got {folder}"
    )
    assert saved(tmp_path) == []


def test_the_next_command_is_one_for_the_shell(over: Any) -> None:
    words = ("--vars", "{a: b}", "-t", "prod", "--yes", "--companions")
    (following,) = re.findall("next: (.*)", over(ORDERS, *words).output)
    assert shlex.split(following) == [
        *("dbt", "build", "--select", "orders", "orders_changelog", "orders_errors"),
        *("--target", "prod", "--vars", "{a: b}"),
    ]


def test_a_whole_path_becomes_one_in_the_project(over: Any, tmp_path: Path) -> None:
    link = tmp_path.with_name(f"{tmp_path.name}_link")
    link.symlink_to(tmp_path)
    for number, root in enumerate((tmp_path, link)):
        folder = f"models/a{number}"
        result = over(ORDERS, "--folder", str(root / folder))
        assert f"\n  {folder}/orders.yml\n" in result.output
        assert (tmp_path / folder / "orders.yml").exists()


def test_a_sampled_time_has_its_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    types = {"at": "timestamp", "local at": "timestamp_ntz", "day": "date", "n": "int"}
    columns = [{"name": name, "type": kind} for name, kind in types.items()]
    answer = json.dumps({"columns": columns, "schema": "shop"})
    monkeypatch.setattr(sample, "compile_inline", lambda *_: answer)
    monkeypatch.setattr(sample, "query", lambda _, select: [dict.fromkeys(types, select)])
    log, schema = sample.ask_for_log([], "ref('orders_log')", "orders_log")
    assert (log.types, schema) == (types, "shop")
    assert log.rows[0]["n"] == (
        "select cast(at as string) || date_format(at, 'XXX') as at,"
        " cast(`local at` as string) as `local at`, cast(day as string) as day, n"
        " from {{ ref('orders_log') }} limit 5000"
    )


@pytest.mark.parametrize(
    "odd", [("{{ x }}", "int"), ("a{% do x() %}", "int"), ("s", "struct<{#:int>")]
)
def test_dbt_does_not_run_the_name_of_a_column(
    monkeypatch: pytest.MonkeyPatch, odd: tuple[str, str]
) -> None:
    columns = [{"name": name, "type": kind} for name, kind in (("id", "int"), odd)]
    answer = json.dumps({"columns": columns, "schema": "shop"})
    monkeypatch.setattr(sample, "compile_inline", lambda *_: answer)
    monkeypatch.setattr(sample, "query", lambda *_: pytest.fail("dbt renders the query"))
    with pytest.raises(UsageError, match=r"(?s)must have no column .*Got: .*Nothing is written"):
        sample.ask_for_log([], "ref('orders_log')", "orders_log")
