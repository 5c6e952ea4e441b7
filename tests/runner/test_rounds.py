"""Tests what a round reads from dbt and prints, without Spark."""

from __future__ import annotations

import datetime as dt
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt.artifacts.resources.v1.components import MacroDependsOn
from dbt.cli.main import dbtRunnerResult
from dbt.contracts.graph.manifest import Manifest
from dbt.contracts.graph.nodes import SeedNode
from dbt.graph.selector_methods import FileSelectorMethod, PackageSelectorMethod
from pyspark.sql import SparkSession

from dbt_trueup import dbt, dbt_errors
from dbt_trueup.errors import DbtError, UsageError
from dbt_trueup.runner import growth, project, rounds, screen
from dbt_trueup.runner.dbt_options import file_level, with_vars
from dbt_trueup.runner.rounds import Round
from dbt_trueup.watch.loop import describe_tables

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def result(name: str, message: str | None, code: str | None = None, status: str = "success") -> Any:
    """Stand for dbt's result of a model. A result of trueup's materialization has a code."""
    node = node_of(name, materialized="trueup" if code else "table")
    response = {"_message": message} | ({"code": code} if code else {})
    return SimpleNamespace(node=node, status=status, message=message, adapter_response=response)


def node_of(name: str, *parents: str, relation: bool = True, materialized: str = "trueup") -> Any:
    """Stand for dbt's node of a model."""
    return SimpleNamespace(
        name=name,
        unique_id=name,
        relation_name=f"`s`.`{name}`" if relation else None,
        depends_on=SimpleNamespace(nodes=list(parents)),
        package_name="shop",
        original_file_path=f"models/{name}.sql",
        config=SimpleNamespace(materialized=materialized),
        language="sql",
        compiled_code=f"select 1 as {name}",
    )


def test_a_round_shows_what_changed_and_no_idle_model() -> None:
    done = rounds.read_round(
        [
            result("a", "batch 3: 5 commands, 1 inserted", "OK"),
            result("b", "up to date at batch 7", "NOOP"),
            result("c", "OK"),
            result("d", "repaired 2 rows; up to date at batch 4", "OK"),
        ],
        2.5,
    )
    changes = (
        "a: batch 3: 5 commands, 1 inserted",
        "d: repaired 2 rows; up to date at batch 4",
    )
    assert (done.models, done.seconds, done.changes, done.failures) == (4, 2.5, changes, ())


def test_a_round_shows_each_failure_in_one_line() -> None:
    error = "Compilation Error in model a (a.sql)\n  it must be 1\n  \n  > in macro b (c.sql)"
    done = rounds.read_round(
        [result("a", error, status="error"), result("after_a", "", status="skipped")],
        2.5,
    )
    why = "a: Compilation Error in model a (a.sql) it must be 1 (1 model skipped)"
    assert done == Round(seconds=2.5, models=1, failures=(why,))


def test_a_model_that_is_skipped_because_of_its_ephemeral_parent_is_a_failure() -> None:
    error = "Compilation Error in model child\n  the error of its parent"
    done = rounds.read_round([result("child", error, status="skipped")], 1)
    assert done.failures == ("child: Compilation Error in model child the error of its parent",)
    skipped = result("other", "Skipping due to fail_fast", status="skipped")
    broken = result("broken", "boom", status="error")
    assert rounds.read_round([broken, skipped], 1).failures == ("broken: boom (1 model skipped)",)


def test_a_session_that_has_stopped_is_another_version_so_a_round_reports_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: str) -> None:
        raise ConnectionError

    session = SimpleNamespace(sql=refuse)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", session)
    reader = growth.Model("shop.a", "trueup", [], ["shop.log"], "select 1", {"shop.log": True})
    [table] = growth.tables({"a": reader})
    versions = {table.name: table.version}
    assert versions == {"shop.log": "ConnectionError"}
    assert not growth.is_version(table.version)
    assert describe_tables(versions, 60, 1) == "cannot see shop.log grow; runs every 60 s"


def test_a_long_error_keeps_its_beginning_and_its_next_step() -> None:
    keys = ", ".join(f"key {number}" for number in range(200))
    error = f"The batch must be small.\nGot: {keys}\nTo approve it: dbt run --vars '{{a: plan-1}}'"
    shown = dbt_errors.to_one_line(error)
    assert len(shown) <= dbt_errors.SHOWN_CHARACTERS + 5
    assert shown.startswith("The batch must be small. Got: key 0, key 1, ")
    assert shown.endswith(" To approve it: dbt run --vars '{a: plan-1}'")


def test_an_empty_selection_is_an_error() -> None:
    with pytest.raises(UsageError, match="no model is selected"):
        rounds.read_round([], 1)


def test_the_project_is_parsed_once_and_after_each_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "models" / "a.sql"
    model.parent.mkdir()
    model.write_text("select 1")
    os.utime(model, (1, 1))
    path = SimpleNamespace(project_root=str(tmp_path), searched_path="models")
    manifest = SimpleNamespace(files={"a": SimpleNamespace(path=path)}, nodes={})
    called = []
    late = model.parent / "late.sql"

    def arrive() -> None:
        late.write_text("select 3")
        os.utime(late, (3, 3))

    # During the third parse a file comes with an old time, as from a copy. In the fourth it goes.
    during: list[Any] = [lambda: None, late.unlink, arrive, lambda: None, lambda: None]

    class Runner:
        def __init__(self, manifest: Any = None, **_: Any) -> None:
            self.manifest = manifest

        def invoke(self, words: list[str]) -> dbtRunnerResult:
            called.append((words[0], words[-1], self.manifest))
            if words[0] == "parse":
                during.pop()()
            ran = SimpleNamespace(results=[result("a", "OK")])
            return dbtRunnerResult(success=True, result=manifest if words[0] == "parse" else ran)  # type: ignore[arg-type]

    monkeypatch.setattr(project, "dbtRunner", Runner)
    watched = project.Project(["--target", "prod"], ["--select", "a"])
    watched.run()
    watched.run()
    before = watched.files()
    os.utime(model, (2, 2))
    assert watched.files() != before
    watched.run()
    (model.parent / "new.sql").write_text("select 2")
    os.utime(model.parent / "new.sql", (3, 3))
    for _ in range(4):
        watched.run()
    parse, run = ("parse", "prod", None), ("run", "a", manifest)
    assert called == [parse, run, run, *[parse, run] * 4, run]


def test_a_run_whose_hook_at_the_end_failed_is_a_failed_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models have run, but dbt has lost their results."""
    path = SimpleNamespace(project_root=str(tmp_path), searched_path="models")
    manifest = SimpleNamespace(files={"a": SimpleNamespace(path=path)}, nodes={})
    events = ["NodeStart", "NodeFinished"]

    class Runner:
        def __init__(self, callbacks: Any = (), **_: Any) -> None:
            self.callbacks = callbacks

        def invoke(self, words: list[str]) -> dbtRunnerResult:
            if words[0] == "parse":
                return dbtRunnerResult(success=True, result=manifest)  # type: ignore[arg-type]
            for name in events:
                for callback in self.callbacks:
                    callback(SimpleNamespace(info=SimpleNamespace(name=name)))
            return dbtRunnerResult(success=False, exception=RuntimeError("Runtime Error\n  boom"))

    monkeypatch.setattr(project, "dbtRunner", Runner)
    watched = project.Project([], [])
    assert watched.run().failures == ("Runtime Error boom",)
    events.pop()
    with pytest.raises(UsageError, match="dbt did not run: Runtime Error boom"):
        watched.run()


@pytest.mark.parametrize(
    ("words", "to_parse"),
    [
        ("--select a b --no-version-check -xf --exclude c", "--no-version-check --fail-fast"),
        ("--target-path=to --log-path logs -s a", "--target-path to --log-path logs"),
        ("--no-partial-parse --warn-error --empty", "--no-partial-parse --warn-error"),
        ("--warn-error-options {error:[All]}", "--warn-error-options {error:[All]}"),
        ("--no-such-option --warn-error", ""),
    ],
)
def test_the_options_that_dbt_parse_has_reach_it(
    words: str, to_parse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []

    def invoke(words: list[str]) -> dbtRunnerResult:
        called.append(words)
        return dbtRunnerResult(success=True, result=SimpleNamespace(files={}))  # type: ignore[arg-type]

    monkeypatch.setattr(project, "dbtRunner", lambda: SimpleNamespace(invoke=invoke))
    project.Project(["--target", "prod"], words.split()).parse()
    assert called == [["parse", *dbt.QUIET, "--target", "prod", *to_parse.split()]]


def test_the_status_of_a_terminal_is_replaced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "strftime", lambda _: "12:00:00")
    printer = screen.Screen()
    printer.show_status("running")
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    printer.show_status("running")
    printer.show_status("idle")
    printer.show_status("idle")
    printer.print_line("round 2")
    printer.show_status("idle")
    printer.clear_status()
    running, idle = (" " * len(f"12:00:00  {text}") for text in ("running", "idle"))
    assert capsys.readouterr().out == (
        f"12:00:00  running\r{running}\r12:00:00  idle\r{idle}\r12:00:00  round 2\n"
        f"12:00:00  idle\r{idle}\r"
    )


def test_one_model_is_named_in_the_singular(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "strftime", lambda _: "12:00:00")
    screen.Screen().print_round(Round(seconds=1.0, models=1, changes=("a: OK",)), "round 2: ")
    assert capsys.readouterr().out == "12:00:00  round 2: 1 model in 1.0 s; a: OK\n"


def manifest_of(*nodes: Any) -> Any:
    return SimpleNamespace(nodes={one.name: one for one in nodes}, sources={})


def models_of(manifest: Any, ran: Iterable[str]) -> dict[str, growth.Model]:
    """Return what a project knows after a round of these models."""
    watched = project.Project([], [])
    watched.manifest = manifest
    return {one: watched._model(manifest.nodes[one], [*ran]) for one in ran}


def test_a_model_has_the_parents_and_the_inputs_that_dbt_knows() -> None:
    manifest = manifest_of(
        node_of("orders"),
        node_of("totals", "orders", "ephemeral", "seed"),
        node_of("ephemeral", "below", "orders", "gone", relation=False),
        node_of("below"),
        node_of("seed"),
    )
    models = models_of(manifest, ["orders", "totals"])
    assert models["totals"] == growth.Model(
        name="`s`.`totals`",
        materialized="trueup",
        parents=["orders", "orders"],
        inputs=["`s`.`below`", "`s`.`seed`"],
        sql="select 1 as totals",
    )
    assert models["totals"].writes() == {"`s`.`totals`", "s.totals__trueup"}
    assert (models["orders"].parents, models["orders"].inputs) == ([], [])


SHOP = manifest_of(
    node_of("orders"),
    node_of("orders_changelog", "orders", materialized="view"),
    node_of("totals"),  # reads orders by its name
    node_of("ephemeral", "orders_changelog", relation=False),
    node_of("report", "ephemeral", materialized="table"),
    node_of("not_selected", "orders"),
    node_of("reads_not_selected", "not_selected"),
    node_of("customers"),
    node_of("both", "customers", "orders"),
    node_of("constant"),
    node_of("only_a_view", materialized="view"),
    node_of("on-run-start-0", "customers", relation=False),
)
SHOP.nodes["on-run-start-0"].resource_type = "operation"
SHOP_RAN = [name for name in SHOP.nodes if name not in ("ephemeral", "not_selected")]
SHOP_TABLES = [
    growth.Table("lake.orders_log", "1", frozenset({"orders"})),
    growth.Table("lake.customers_log", "1", frozenset({"customers"})),
    growth.Table("lake.shared_log", "1", frozenset({"orders", "customers"})),
    growth.Table("lake.of_a_view", "1", frozenset({"only_a_view"})),
    growth.Table("lake.orders__trueup", None, frozenset({"totals"}), writer="orders"),
]
HOOK = {"on-run-start-0"}
OF_CUSTOMERS = {"customers", "both"}
OF_ORDERS = {"orders", "totals", "report", "both"}


@pytest.mark.parametrize(
    ("grown", "expected"),
    [
        ({"lake.orders_log"}, OF_ORDERS),
        ({"lake.customers_log"}, OF_CUSTOMERS | HOOK),
        ({"lake.shared_log"}, OF_ORDERS | OF_CUSTOMERS | HOOK),
        ({"lake.orders_log", "lake.customers_log"}, OF_ORDERS | OF_CUSTOMERS | HOOK),
        ({"lake.of_a_view"}, set()),
        (set(), set()),
    ],
)
def test_only_models_after_what_has_grown_are_affected(grown: set[str], expected: set[str]) -> None:
    assert growth.affected(models_of(SHOP, SHOP_RAN), SHOP_TABLES, grown) == expected


def test_models_outside_the_run_lead_to_no_other_model() -> None:
    """A seed has no list of parents."""
    seed = SeedNode.__new__(SeedNode)
    seed.name, seed.relation_name, seed.depends_on = "seed", "`s`.`seed`", MacroDependsOn()
    manifest = manifest_of(seed, node_of("u", "seed"), node_of("a", "seed"), node_of("b", "u"))
    tables = [growth.Table("lake.log", "1", frozenset({"a"}))]
    assert growth.affected(models_of(manifest, ["a", "b"]), tables, {"lake.log"}) == {"a"}


@pytest.mark.parametrize(
    ("grown", "selected"),
    [
        ({"lake.customers_log"}, sorted(f"package:shop,file:{name}.sql" for name in OF_CUSTOMERS)),
        ({"lake.of_a_view"}, []),
        (None, None),
        (set(), None),
        ({"lake.customers_log", "/models/a.sql"}, None),
        ({"lake.customers_log", "lake.gone"}, None),
        ({"lake.unversioned"}, None),
        ({"lake.unread"}, None),
        ({"lake.of_hook"}, None),
    ],
)
def test_a_round_runs_all_models_unless_only_versions_of_tables_have_changed(
    grown: set[str] | None, selected: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[dict[str, Any]] = []

    class Runner:
        def __init__(self, **_: Any) -> None:
            pass

        def invoke(self, words: list[str], **parameters: Any) -> dbtRunnerResult:
            assert words[-2:] == ["--select", "orders+"]
            called.append(parameters)
            ran = SimpleNamespace(results=[result("a", "OK")])
            return dbtRunnerResult(success=True, result=ran)  # type: ignore[arg-type]

    monkeypatch.setattr(project, "dbtRunner", Runner)
    watched = project.Project([], ["--select", "orders+"])
    watched.manifest, watched.models = SHOP, models_of(SHOP, SHOP_RAN)
    readers = frozenset({"orders"})
    watched._tables = [
        *SHOP_TABLES,
        growth.Table("lake.unversioned", None, readers),
        growth.Table("lake.unread", growth.Unread("AnalysisException"), readers),
        growth.Table("lake.of_hook", "1", frozenset({"on-run-start-0"})),
    ]
    done = watched.run(grown)
    if selected is None:
        assert called == [{}]
        assert watched.models.keys() == {"a"}
    elif selected:
        assert called == [{"select": tuple(selected), "exclude": (), "selector": None}]
        assert watched.models.keys() == set(SHOP_RAN)
    else:
        assert (called, done.models) == ([], 0)


@pytest.mark.parametrize(
    ("words", "environment", "always_all"),
    [
        (["--select", "a"], {}, False),
        (["--defer", "--state", "."], {}, True),
        (["--state", "."], {"DBT_DEFER": "1"}, True),
        (["--no-defer"], {"DBT_DEFER": "1"}, False),
    ],
)
def test_with_defer_each_round_runs_all_models(
    *,
    words: list[str],
    environment: dict[str, str],
    always_all: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise dbt could read a model that the round leaves out in the other schema."""
    (tmp_path / "dbt_project.yml").write_text("name: shop")
    monkeypatch.chdir(tmp_path)
    for name, value in {"DBT_PROFILES_DIR": str(tmp_path), **environment}.items():
        monkeypatch.setenv(name, value)
    watched = project.Project([], words)
    watched.manifest, watched.models = SHOP, models_of(SHOP, SHOP_RAN)
    watched._tables = SHOP_TABLES
    assert (watched._affected({"lake.customers_log"}) is None) is always_all


@pytest.mark.parametrize("chosen", range(5))
def test_the_selector_of_a_model_selects_no_other_one(chosen: int) -> None:
    """A model beside a folder of its name, a file name with a space, and another package."""
    files = ("models/orders.sql", "models/orders/secret.sql", "models/a b, [c].sql")
    models = [
        SimpleNamespace(package_name=package, original_file_path=file)
        for package, file in [("shop", file) for file in files]
        + [("other", "models/shop/orders.sql"), ("other", "models/x.py")]
    ]
    ids = [str(number) for number, _ in enumerate(models)]
    manifest = Manifest(nodes=dict(zip(ids, models, strict=True)))  # type: ignore[arg-type]
    selected: set[Any] = set(ids)
    selector = project.selector_of(models[chosen])
    assert " " not in selector
    for part in selector.split(","):
        method, _, value = part.partition(":")
        search = {"package": PackageSelectorMethod, "file": FileSelectorMethod}[method]
        selected &= set(search(manifest, None, []).search(selected, value))
    assert selected == {str(chosen)}


def test_vars_of_the_user_keep_their_types_beside_those_of_the_command() -> None:
    options = ["--vars", "{start: 2026-01-01, name: é}"]
    words = with_vars(options, {"trueup_read_only": True})
    expected = {"trueup_read_only": True, "start": dt.date(2026, 1, 1), "name": "é"}
    assert yaml.safe_load(words[1]) == expected
    assert yaml.safe_load(with_vars(["--vars", "{}"], {"a": 1})[1]) == {"a": 1}


@pytest.mark.parametrize("text", ["{a: ", "[1]"])
def test_vars_that_are_no_dictionary_are_left_to_dbt(text: str) -> None:
    assert with_vars(["--vars", text], {"a": 1}) == ["--vars", text]


def test_a_hook_is_no_model() -> None:
    hook = result("shop-on-run-end-0", "OK")
    hook.node.resource_type = "operation"
    assert rounds.read_round([result("a", "OK"), hook], 1.0).models == 1


def test_a_command_of_dbt_shows_only_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = dbtRunnerResult(
        success=False,
        result=SimpleNamespace(  # type: ignore[arg-type]
            results=[
                result("a", "OK"),
                result("b", "it is broken", status="error"),
                result("c", None, status="skipped"),
            ]
        ),
    )
    monkeypatch.setattr(dbt, "dbtRunner", lambda: SimpleNamespace(invoke=lambda _: ran))
    with pytest.raises(DbtError, match=r"^it is broken$"):
        dbt.invoke([], "run")
    ran = dbtRunnerResult(success=False, exception=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        dbt.invoke([], "run")


def test_the_files_of_a_project_are_watched_and_what_dbt_writes_is_not(tmp_path: Path) -> None:
    settings = "{model-paths: ['.'], target-path: x/../built, docs-paths: [pages]}"
    (tmp_path / "dbt_project.yml").write_text(settings)
    names = (
        "built/a.sql",
        "logs/a.md",
        "dbt_packages/p/m.sql",
        "orders/o.sql",
        "x.txt",
        "to/b.sql",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    watched = project.Project([], ["--target-path", "to"])
    # dbt knows folders that the settings name in Jinja or by their old names.
    paths = [
        SimpleNamespace(project_root=str(tmp_path), searched_path=folder)
        for folder in (".", "../elsewhere")
    ]
    files = {str(number): SimpleNamespace(path=path) for number, path in enumerate(paths)}
    watched.manifest = SimpleNamespace(files=files)
    watched._sources = watched._find_sources()

    def found() -> set[str]:
        return {os.path.relpath(file, tmp_path) for file in watched.files()}

    assert found() == {"dbt_project.yml", "orders/o.sql"}
    # The first file of a folder that the project did not have.
    (tmp_path / "macros").mkdir()
    (tmp_path / "macros" / "new.sql").touch()
    assert "macros/new.sql" in found()
    (tmp_path.parent / "elsewhere").mkdir(exist_ok=True)
    (tmp_path.parent / "elsewhere" / "far.sql").touch()
    assert "../elsewhere/far.sql" in found()


def test_the_vars_of_a_project_are_watched_in_both_of_their_files(tmp_path: Path) -> None:
    watched = project.Project([], [])
    path = SimpleNamespace(project_root=str(tmp_path), searched_path="models")
    watched.manifest = SimpleNamespace(files={"a": SimpleNamespace(path=path)})
    watched._sources = watched._find_sources()
    for name in ("dbt_project.yml", "vars.yml"):
        before = watched.files()
        (tmp_path / name).touch()
        assert {*watched.files()} - {*before} == {str(tmp_path / name)}


@pytest.mark.parametrize(
    ("settings", "environment", "options", "level"),
    [
        ("name: shop", {}, [], "debug"),
        ("name: shop", {}, ["--select", "orders", "--threads", "2"], "debug"),
        ("flags: {log_level_file: info}", {}, [], "info"),
        ("flags: {log_level: warn}", {}, [], "warn"),
        ("flags: {log_level_file: info}", {"DBT_LOG_LEVEL_FILE": "none"}, [], "none"),
        ("name: shop", {"DBT_LOG_LEVEL": "warn"}, [], "warn"),
        ("name: shop", {}, ["--log-level", "error"], "error"),
        ("name: shop", {}, ["--log-level", "error", "--log-level-file", "info"], "info"),
        ("name: shop", {}, ["--no-such-option"], "debug"),
    ],
)
def test_the_log_file_of_dbt_gets_what_the_user_has_set(  # noqa: PLR0913 - values and fixtures
    *,
    settings: str,
    environment: dict[str, str],
    options: list[str],
    level: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "dbt_project.yml").write_text(settings)
    monkeypatch.setenv("DBT_PROFILES_DIR", str(tmp_path))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert file_level(["--project-dir", str(tmp_path), *options]) == level
    monkeypatch.chdir(tmp_path)
    assert file_level(options) == level
