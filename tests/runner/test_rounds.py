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
from dbt_trueup.runner.affected import affected
from dbt_trueup.runner.batches import Settled
from dbt_trueup.runner.dbt_options import file_level, with_vars
from dbt_trueup.runner.inputs import inputs
from dbt_trueup.runner.rounds import Round
from dbt_trueup.watch.loop import describe_tables

if TYPE_CHECKING:
    from pathlib import Path


def result(
    name: str, message: str | None, code: str | None = None, status: str = "success", **options: Any
) -> Any:
    """Stand for dbt's result of a model. A result of trueup's materializations has a code."""
    role = name.rpartition("_")[2]
    config = SimpleNamespace(meta={"trueup": options}, materialized=f"trueup_{role}")
    node = SimpleNamespace(
        name=name, config=config, unique_id=name, relation_name=name, package_name="shop"
    )
    response = {"_message": message} | ({"code": code} if code else {})
    return SimpleNamespace(node=node, status=status, message=message, adapter_response=response)


def test_a_round_shows_each_change_once_and_no_idle_model() -> None:
    done = rounds.read_round(
        [
            result("a_commands", "OK"),
            result("a_corrections", "nothing to correct", "NOOP"),
            result("a_batch", "batch 3 [12, 14)", "OK"),
            result("a_changelog", "batch 3: 5 updates, upper 14", "OK"),
            result("a_state", "applied batch 3", "OK"),
            result("b_corrections", "corrections: none; the next refresh is at 200", "NOOP"),
            result("b_batch", "up to date at 12", "NOOP"),
            result("b_changelog", "nothing to append", "NOOP"),
            result("b_state", "applied batch 7", "OK"),
            result("c_corrections", "corrections: 1 external_edit", "OK"),
            result("c_batch", "skipped: another run compared", "NOTICE"),
        ],
        2.5,
    )
    changes = (
        "a_changelog: batch 3: 5 updates, upper 14",
        "b_state: applied batch 7",
        "c_corrections: corrections: 1 external_edit",
        "c_batch: skipped: another run compared",
    )
    assert (done.models, done.seconds, done.changes, done.failures) == (11, 2.5, changes, ())


def test_a_round_reads_codes_and_not_words() -> None:
    done = rounds.read_round([result("a_state", "nothing to do", "OK")], 1)
    assert done.changes == ("a_state: nothing to do",)
    assert not rounds.read_round([result("a_state", "applied batch 3", "NOOP")], 1).changes


def test_a_round_shows_each_failure_in_one_line() -> None:
    error = "Compilation Error in model a_batch (a.sql)\n  it must be 1\n  \n  > in macro b (c.sql)"
    done = rounds.read_round(
        [result("a_batch", error, status="error"), result("a_changelog", "", status="skipped")],
        2.5,
    )
    why = "a_batch: Compilation Error in model a_batch (a.sql) it must be 1 (1 model skipped)"
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
    [table] = growth.tables({"shop.log": frozenset({"a"})}, {})
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


def test_more_commands_may_wait_only_after_an_appended_capped_batch() -> None:
    cases: list[tuple[str, dict[str, Any], bool]] = [
        ("OK", {"max_commands_per_batch": 2}, True),
        ("OK", {"max_commands_per_batch": None}, False),
        ("OK", {}, False),
        ("NOTICE", {"max_commands_per_batch": 2}, False),
        ("NOOP", {"max_commands_per_batch": 2}, False),
    ]
    for code, options, has_more in cases:
        done = rounds.read_round([result("a_changelog", "batch 3", code, **options)], 1)
        assert done.has_more is has_more


def test_the_model_of_the_batch_says_whether_it_is_capped() -> None:
    """The option may be set for this model alone."""
    batch = result("a_batch", "batch 3; commands 1 to 2 of 5", "OK", max_commands_per_batch=2)
    assert rounds.read_round([batch, result("a_changelog", "batch 3", "OK")], 1).has_more
    uncapped = result("a_batch", "batch 3; commands 1 to 2 of 5", "OK")
    capped = result("a_changelog", "batch 3", "OK", max_commands_per_batch=2)
    assert not rounds.read_round([uncapped, capped], 1).has_more


def test_two_collections_of_one_name_in_two_packages_are_not_mixed_up() -> None:
    capped: dict[str, Any] = {"max_commands_per_batch": 10}
    mine = [
        result("a_batch", "batch 3; commands 1 to 10 of 50", "OK", **capped),
        result("a_changelog", "batch 3", "OK", **capped),
    ]
    other = [result("a_batch", "up to date at 3", "NOOP"), result("a_changelog", "nothing", "NOOP")]
    for one in other:
        one.node.package_name = "other"
    assert rounds.read_round([*mine, *other], 1).has_more


def test_the_figures_of_an_appended_batch_are_the_progress_of_its_collection() -> None:
    def settle(note: str, code: str = "OK") -> Round:
        capped: dict[str, Any] = {"max_commands_per_batch": 10}
        batch = result("a_b_batch", f"batch 3 [12, 14){note}", "OK", **capped)
        return rounds.read_round([batch, result("a_b_changelog", "done", code, **capped)], 1)

    part = settle("; commands 11 to 20 of 50; a note")
    assert (part.settled, part.has_more) == ((Settled("a_b", 10, 20, 50),), True)
    whole = settle("; commands 41 to 50 of 50")
    assert (whole.settled, whole.has_more) == ((Settled("a_b", 40, 50, 50),), False)
    # A batch that only corrects, and a batch that is not appended, settle no commands.
    assert (settle("").settled, settle("").has_more) == ((), False)
    assert settle("; commands 41 to 50 of 50", "NOTICE").settled == ()


@pytest.mark.parametrize(
    ("batch", "changelog", "obstacle"),
    [
        (("batch 3", "OK"), ("batch 3: 5 updates", "OK"), None),
        (("up to date at 12", "NOOP"), ("nothing to append", "NOOP"), None),
        (("the log ends below the frontier", "NOTICE"), ("nothing to append", "NOOP"), None),
        (("batch 3 was staged before", "NOTICE"), ("batch 3: 5 updates", "OK"), None),
        (("batch 3", "OK"), ("read only", "NOTICE"), "a: read only"),
        (("batch 3", "OK"), ("skipped: upper mismatch", "NOTICE"), "a: skipped: upper mismatch"),
        (("batch 3", "OK"), ("nothing to append", "NOOP"), "a: nothing to append"),
        (("skipped: another run", "NOTICE"), ("nothing", "NOOP"), "a: skipped: another run"),
        (("batch 3", "OK"), None, "a: a batch is staged, but a_changelog is not selected"),
        (None, ("nothing to append", "NOOP"), None),
    ],
)
def test_an_obstacle_says_why_something_is_left(
    batch: tuple[str, str] | None, changelog: tuple[str, str] | None, obstacle: str | None
) -> None:
    given = {"a_batch": batch, "a_changelog": changelog}
    done = rounds.read_round([result(name, *one) for name, one in given.items() if one], 1)
    assert done.obstacles == ((obstacle,) if obstacle else ())


def test_a_round_says_whether_another_run_got_in_the_way() -> None:
    skipped = result("a_batch", "skipped: another run compared at the same moment", "NOTICE")
    lost = result("a_changelog", "skipped: batch moved", "NOTICE")
    dry = result("a_changelog", "read only: batch 1 is staged, not appended", "NOTICE")
    found = [rounds.read_round([one], 1).has_skipped for one in (skipped, lost, dry)]
    assert found == [True, True, False]


def test_a_round_writes_if_it_appends_or_applies_a_batch() -> None:
    def has_written(name: str, code: str) -> bool:
        return rounds.read_round([result(name, "", code)], 1).has_written

    assert has_written("a_changelog", "OK")
    assert has_written("a_state", "OK")
    assert not has_written("a_state", "NOOP")
    assert not has_written("a_batch", "OK")
    assert not has_written("a_corrections", "OK")


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
    project.Project(["--target", "prod"], words.split(), {"a": 1}).parse()
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


def node(name: str, *parents: str, relation: bool = True) -> Any:
    depends_on = SimpleNamespace(nodes=list(parents))
    relation_name = f"`s`.`{name}`" if relation else None
    return SimpleNamespace(
        name=name,
        relation_name=relation_name,
        depends_on=depends_on,
        package_name="shop",
        original_file_path=f"models/{name}.sql",
    )


def test_the_inputs_are_the_logs_and_the_parents_outside_the_run() -> None:
    manifest = manifest_of(
        node("a_commands"),  # reads a table by its name, without `ref`
        node("a_batch", "a_commands", "seed"),
        node("b_desired", "a_batch", "ephemeral"),
        node("seed"),
        node("ephemeral", "below", "a_batch", "gone", relation=False),
        node("below"),
        node("unrelated"),
    )
    assert inputs(manifest, ["a_commands", "a_batch", "b_desired"]) == {
        "`s`.`a_commands`": {"a_commands"},
        "`s`.`b_desired`": {"b_desired"},
        "`s`.`below`": {"b_desired"},
        "`s`.`seed`": {"a_batch"},
    }


ORDERS = ("orders_commands", "orders_batch", "orders_state", "orders")
SHOP = manifest_of(
    node("orders_commands"),
    node("orders_batch", "orders_commands"),
    node("orders_state", "orders_batch"),
    node("orders", "orders_state"),
    node("totals_desired"),  # reads orders by its name
    node("totals_state", "totals_desired"),
    node("ephemeral", "orders", relation=False),
    node("report", "ephemeral"),
    node("not_selected", "orders"),
    node("reads_not_selected", "not_selected"),
    node("customers_commands"),
    node("customers_state", "customers_commands"),
    node("both", "customers_state", "orders"),
    node("constant"),
    node("on-run-start-0", "customers_state", relation=False),
)
SHOP.nodes["on-run-start-0"].resource_type = "operation"
SHOP_RAN = [name for name in SHOP.nodes if name not in ("ephemeral", "not_selected")]
SHOP_TABLES = [
    growth.Table("lake.orders_log", "1", frozenset({"orders_commands"})),
    growth.Table("lake.customers_log", "1", frozenset({"customers_commands"})),
    growth.Table("lake.shared_log", "1", frozenset({"orders_commands", "customers_commands"})),
    growth.Table("lake.orders_state", "1", frozenset({"totals_desired"}), writer="orders_state"),
]
HOOK = {"on-run-start-0"}
OF_CUSTOMERS = {"customers_commands", "customers_state", "both"}
OF_ORDERS = {*ORDERS, "totals_desired", "totals_state", "report", "both"}


@pytest.mark.parametrize(
    ("grown", "expected"),
    [
        ({"lake.orders_log"}, OF_ORDERS),
        ({"lake.customers_log"}, OF_CUSTOMERS | HOOK),
        ({"lake.shared_log"}, OF_ORDERS | OF_CUSTOMERS | HOOK),
        ({"lake.orders_log", "lake.customers_log"}, OF_ORDERS | OF_CUSTOMERS | HOOK),
        (set(), set()),
    ],
)
def test_only_models_after_what_has_grown_are_affected(grown: set[str], expected: set[str]) -> None:
    assert affected(SHOP, SHOP_RAN, SHOP_TABLES, grown) == expected


def test_all_models_above_a_select_run_with_it() -> None:
    """Otherwise the collection would settle nothing."""
    manifest = manifest_of(
        node("orders_commands"),
        node("orders_state", "orders_commands"),
        node("orders", "orders_state"),
        node("raw_days", "source"),
        node("days", "raw_days"),
        node("unselected", "above_unselected"),
        node("above_unselected"),
        node("totals_desired", "orders", "days", "unselected"),
        node("totals_corrections", "totals_desired"),
        node("unrelated", "raw_days"),
    )
    ran = [name for name in manifest.nodes if name != "unselected"]
    tables = [growth.Table("lake.log", "1", frozenset({"orders_commands"}))]
    assert affected(manifest, ran, tables, {"lake.log"}) == set(ran) - {"unrelated"}


def test_models_outside_the_run_lead_to_no_other_model() -> None:
    """A seed has no list of parents, and many unselected models have far too many paths."""
    seed = SeedNode.__new__(SeedNode)
    seed.name, seed.relation_name, seed.depends_on = "seed", "`s`.`seed`", MacroDependsOn()
    layers = [node("u0", "seed"), node("v0", "seed")]
    for layer in range(1, 40):
        below = (f"u{layer - 1}", f"v{layer - 1}")
        layers += [node(f"u{layer}", *below), node(f"v{layer}", *below)]
    manifest = manifest_of(seed, *layers, node("a_commands", "seed"), node("b", "u39", "v39"))
    tables = [growth.Table("lake.log", "1", frozenset({"a_commands"}))]
    assert affected(manifest, ["a_commands", "b"], tables, {"lake.log"}) == {"a_commands"}


@pytest.mark.parametrize(
    ("grown", "selected"),
    [
        ({"lake.customers_log"}, sorted(f"package:shop,file:{name}.sql" for name in OF_CUSTOMERS)),
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
    watched.manifest, watched.ran = SHOP, dict.fromkeys(SHOP_RAN, "")
    readers = frozenset({"orders_commands"})
    watched._tables = [
        *SHOP_TABLES,
        growth.Table("lake.unversioned", None, readers),
        growth.Table("lake.unread", growth.Unread("AnalysisException"), readers),
        growth.Table("lake.of_hook", "1", frozenset({"on-run-start-0"})),
    ]
    watched.run(grown)
    if selected is None:
        assert called == [{}]
        assert watched.ran.keys() == {"a"}
    else:
        assert called == [{"select": tuple(selected), "exclude": (), "selector": None}]
        assert watched.ran.keys() == set(SHOP_RAN)


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
    watched.manifest, watched.ran = SHOP, dict.fromkeys(SHOP_RAN, "")
    watched._tables = SHOP_TABLES
    assert (watched._affected({"lake.customers_log"}) == []) is always_all


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
    words = with_vars(options, {"trueup_retry": True})
    expected = {"trueup_retry": True, "start": dt.date(2026, 1, 1), "name": "é"}
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
