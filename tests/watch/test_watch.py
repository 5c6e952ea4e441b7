"""Tests the loop, the command line and the output of `trueup watch`, without Spark."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dbt.cli.main import dbtRunnerResult

from dbt_trueup.errors import UsageError
from dbt_trueup.watch import command_line, growth, loop, project, rounds, screen
from dbt_trueup.watch.rounds import Round

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from threading import Event

IDLE = Round(seconds=1.0, models=7)
CHANGED = Round(seconds=1.0, models=7, changes=("files_changelog: batch 2: 34 updates, upper 355",))
FAILED = Round(seconds=1.0, models=3, failures=("files_batch: broken",))
SOON = 0.001


def nothing(_: int) -> None:
    """Do nothing."""


class Fake:
    """Rounds with given outcomes. The last round stops the loop."""

    def __init__(
        self, *outcomes: Round | UsageError, during: Callable[[int], None] = nothing
    ) -> None:
        """Take the outcomes, and a function that each round calls."""
        self.outcomes = list(outcomes)
        self.during = during
        self.log = 0
        self.rounds = 0
        self.stop: Event | None = None

    def run(self) -> Round:
        """Give the next outcome."""
        self.rounds += 1
        self.during(self.rounds)
        if self.rounds == len(self.outcomes) and self.stop:
            self.stop.set()
        outcome = self.outcomes[self.rounds - 1]
        if isinstance(outcome, UsageError):
            raise outcome
        return outcome

    def look(self) -> Mapping[str, object]:
        """Return the length of the log."""
        return {"lake.log": str(self.log)}


class Printed(list[str]):
    """A screen that keeps the printed lines, without their time."""

    def print_line(self, text: str) -> None:
        """Keep the line."""
        self.append(text)

    def show_idle(self) -> None:
        """Print nothing."""


class Stop:
    """An event that counts pauses instead of making them."""

    def __init__(self, after: Callable[[int], None] = nothing) -> None:
        """Take a function that each pause calls."""
        self.pauses: list[float] = []
        self.is_stopped = False
        self.after = after

    def is_set(self) -> bool:
        """Return whether the loop must end."""
        return self.is_stopped

    def set(self) -> None:
        """End the loop."""
        self.is_stopped = True

    def wait(self, seconds: float) -> bool:
        """Record a pause and return at once."""
        self.pauses.append(seconds)
        self.after(len(self.pauses))
        return self.is_stopped


def repeat(fake: Fake, stop: Stop, every: float = 60) -> list[str]:
    fake.stop = stop  # type: ignore[assignment]
    printed: Any = Printed()
    assert loop.repeat(fake, every, 1, stop, printed) == 0  # type: ignore[arg-type]
    return list(printed)


def test_the_next_round_waits_until_the_log_has_grown() -> None:
    fake = Fake(IDLE, CHANGED)
    stop = Stop(after=lambda pauses: setattr(fake, "log", 1) if pauses == 3 else None)
    assert repeat(fake, stop) == [
        "looks at lake.log every 1 s; runs every 60 s at the latest",
        "round 2: 7 models in 1.0 s; files_changelog: batch 2: 34 updates, upper 355",
        "stopped after 2 rounds, 1 of which changed something",
    ]
    assert stop.pauses == [1, 1, 1]


def test_an_append_during_a_round_starts_another_round() -> None:
    fake = Fake(IDLE, IDLE, during=lambda number: setattr(fake, "log", 1) if number == 1 else None)
    stop = Stop()
    repeat(fake, stop)
    assert (fake.rounds, stop.pauses) == (2, [])


def test_a_round_runs_after_each_interval_even_if_nothing_grows() -> None:
    fake = Fake(IDLE, IDLE, IDLE)
    repeat(fake, Stop(), every=SOON)
    assert fake.rounds == 3


def test_the_loop_does_not_pause_while_a_log_has_more_batches() -> None:
    more = Round(seconds=1.0, changes=("a_changelog: batch 1: 2 updates, upper 3",), has_more=True)
    stop = Stop()
    fake = Fake(more, more, IDLE)
    repeat(fake, stop)
    assert (fake.rounds, stop.pauses) == (3, [])


def test_the_loop_goes_on_after_a_thousand_failures() -> None:
    fake = Fake(*[FAILED] * 1_100, IDLE)
    repeat(fake, Stop(), every=SOON)
    assert fake.rounds == 1_101


def test_a_failure_is_printed_and_retried_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(loop, "monotonic", lambda: now[0])
    fake = Fake(FAILED, FAILED, FAILED, UsageError("dbt did not run: no profile"), CHANGED)
    stop = Stop(after=lambda _: now.__setitem__(0, now[0] + stop.pauses[-1]))
    printed = repeat(fake, stop, every=5)
    assert printed[0] == "round 1: failed after 1.0 s; files_batch: broken"
    assert printed[4] == "round 4: failed after 0.0 s; dbt did not run: no profile"
    assert printed[5].startswith("round 5: 7 models")
    # The pauses are 2 s, 4 s, and then at most `every`.
    assert sum(stop.pauses) == 2 + 4 + 5 + 5


def test_a_usage_error_in_the_first_round_ends_the_loop() -> None:
    with pytest.raises(UsageError, match="no such project"):
        repeat(Fake(UsageError("no such project"), IDLE), Stop())


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """A function that runs the command line over given rounds.

    It returns the exit code, the printed lines without their time, and the errors.
    """

    def run(fake: Fake, *arguments: str) -> tuple[int, list[str], str]:
        monkeypatch.setattr(command_line, "Project", lambda *_: fake)
        exit_code = command_line.main(["watch", *arguments])
        out, err = capsys.readouterr()
        return exit_code, [line[10:] for line in out.splitlines()], err

    return run


def test_once_has_the_exit_codes_of_dbt_run(
    command: Callable[..., tuple[int, list[str], str]],
) -> None:
    assert command(Fake(IDLE), "--once") == (0, ["nothing to do: 7 models in 1.0 s"], "")
    assert command(Fake(CHANGED), "--once")[0] == 0
    assert command(Fake(FAILED), "--once")[:2] == (1, ["failed after 1.0 s; files_batch: broken"])
    nothing = command(Fake(UsageError("no model is selected")), "--once")
    assert nothing == (2, [], "trueup watch: no model is selected\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_loop_after_the_current_round(
    command: Callable[..., tuple[int, list[str], str]], number: int
) -> None:
    before = signal.getsignal(number)
    fake = Fake(CHANGED, during=lambda _: os.kill(os.getpid(), number))
    exit_code, lines, _ = command(fake)
    assert exit_code == 0
    assert sorted(lines)[1:] == [
        "round 1: 7 models in 1.0 s; files_changelog: batch 2: 34 updates, upper 355",
        "stopped after 1 rounds, 1 of which changed something",
        "stops when this round is done; a second signal stops at once",
    ]
    assert signal.getsignal(number) is before


def test_a_second_signal_stops_at_once(
    command: Callable[..., tuple[int, list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", exits.append)

    def twice(_: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while not exits:
            os.kill(os.getpid(), signal.SIGTERM)

    command(Fake(IDLE, during=twice))
    assert set(exits) == {128 + signal.SIGTERM}


def test_options_of_dbt_are_passed_on_unchanged() -> None:
    words = "watch -s a b --every 2 --threads 2 --exclude c d -t prod --vars {x:1} --once"
    given, others = command_line.parse_arguments(words.split())
    assert others == ["-s", "a", "b", "--threads", "2", "--exclude", "c", "d"]
    assert (given.every, given.once, given.target, given.vars) == (2, True, "prod", "{x:1}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--every", "0"], "above 0, such as 2 or 0.5; got '0'"),
        (["--look", "often"], "above 0, such as 2 or 0.5; got 'often'"),
        (["--every", "nan"], "got 'nan'"),
        (["--full-refresh"], "run `dbt run --full-refresh`, then watch without it"),
    ],
)
def test_a_wrong_option_is_an_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        command_line.main(["watch", *arguments])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def result(
    name: str, message: str, code: str | None = None, status: str = "success", **options: Any
) -> Any:
    """Stand for dbt's result of a model. A result of trueup's materializations has a code."""
    role = name.rpartition("_")[2]
    config = SimpleNamespace(meta={"trueup": options}, materialized=f"trueup_{role}")
    node = SimpleNamespace(name=name, config=config, unique_id=name, relation_name=name)
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
    assert done == Round(seconds=2.5, models=11, changes=changes)


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
    why = "a_batch: Compilation Error in model a_batch (a.sql) it must be 1 (1 models skipped)"
    assert done == Round(seconds=2.5, models=1, failures=(why,))
    assert len(rounds.to_one_line("x" * 9999)) == rounds.SHOWN_CHARACTERS + 3


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

    class Runner:
        def __init__(self, manifest: Any = None) -> None:
            self.manifest = manifest

        def invoke(self, words: list[str]) -> dbtRunnerResult:
            called.append((words[0], words[-1], self.manifest))
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
    watched.run()
    parse, run = ("parse", "prod", None), ("run", "a", manifest)
    assert called == [parse, run, run, parse, run, parse, run]


def test_the_idle_line_of_a_terminal_is_replaced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "strftime", lambda _: "12:00:00")
    printer = screen.Screen()
    printer.show_idle()
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    printer.show_idle()
    printer.show_idle()
    printer.print_line("round 2")
    blank = " " * len("12:00:00  idle")
    assert capsys.readouterr().out == f"12:00:00  idle\r{blank}\r12:00:00  round 2\n"


def test_the_inputs_are_the_logs_and_the_parents_outside_the_run() -> None:
    def node(name: str, *parents: str, relation: bool = True) -> Any:
        depends_on = SimpleNamespace(nodes=list(parents))
        relation_name = f"`s`.`{name}`" if relation else None
        return SimpleNamespace(name=name, relation_name=relation_name, depends_on=depends_on)

    nodes = [
        node("a_commands"),  # reads a table by its name, without `ref`
        node("a_batch", "a_commands", "seed"),
        node("b_desired", "a_batch", "ephemeral"),
        node("seed"),
        node("ephemeral", "below", "a_batch", "gone", relation=False),
        node("below"),
        node("unrelated"),
    ]
    manifest = SimpleNamespace(nodes={one.name: one for one in nodes}, sources={})
    found = growth.inputs(manifest, ["a_commands", "a_batch", "b_desired"])
    # `versions` leaves out a_batch, because the run writes it itself.
    names = ("a_batch", "a_commands", "b_desired", "below", "seed")
    assert found == [f"`s`.`{name}`" for name in names]
