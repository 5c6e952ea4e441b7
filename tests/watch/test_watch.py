"""The loop of `trueup watch`, its command line, and what it prints: without Spark."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dbt.cli.main import dbtRunnerResult

from dbt_trueup.watch import command_line, growth, rounds
from dbt_trueup.watch.rounds import Round, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from threading import Event

IDLE = Round(seconds=1.0, models=7)
CHANGED = Round(seconds=1.0, models=7, changes=("files_changelog: batch 2: 34 updates, upper 355",))
FAILED = Round(seconds=1.0, models=3, failures=("files_batch: broken",))
SOON = 0.001


def nothing(_: int) -> None:
    """Stand for what does not happen."""


class Fake:
    """Runs of given outcomes; after the last it stops the loop."""

    def __init__(
        self, *outcomes: Round | UsageError, during: Callable[[int], None] = nothing
    ) -> None:
        """Take the outcomes, and what happens while a round runs."""
        self.outcomes = list(outcomes)
        self.during = during
        self.log = 0
        self.looks = 0
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
        """Say how long the log is."""
        self.looks += 1
        return {"lake.log": str(self.log)}


class Printed(list[str]):
    """Screen and stop in one: what was said, without the time."""

    def say(self, text: str) -> None:
        """Keep the line."""
        self.append(text)

    def rest(self) -> None:
        """Say nothing."""


class Stop:
    """An event that counts pauses instead of making them."""

    def __init__(self, after: Callable[[int], None] = nothing) -> None:
        """Take what happens in a pause."""
        self.pauses: list[float] = []
        self.is_stopped = False
        self.after = after

    def is_set(self) -> bool:
        """Say whether the loop is to end."""
        return self.is_stopped

    def set(self) -> None:
        """End the loop."""
        self.is_stopped = True

    def wait(self, seconds: float) -> bool:
        """Pause, without taking the time."""
        self.pauses.append(seconds)
        self.after(len(self.pauses))
        return self.is_stopped


def repeat(fake: Fake, stop: Stop, every: float = 60) -> list[str]:
    fake.stop = stop  # type: ignore[assignment]
    printed: Any = Printed()
    assert command_line.repeat(fake, every, 1, stop, printed) == 0  # type: ignore[arg-type]
    return list(printed)


def test_it_runs_again_when_the_log_has_grown_and_rests_until_then() -> None:
    fake = Fake(IDLE, CHANGED)
    stop = Stop(after=lambda pauses: setattr(fake, "log", 1) if pauses == 3 else None)
    assert repeat(fake, stop) == [
        "looks at lake.log every 1 s; runs every 60 s at the latest",
        "round 2: 7 models in 1.0 s; files_changelog: batch 2: 34 updates, upper 355",
        "stopped after 2 rounds, 1 of which changed something",
    ]
    assert stop.pauses == [1, 1, 1]


def test_what_is_appended_while_a_round_runs_makes_another() -> None:
    fake = Fake(IDLE, IDLE, during=lambda number: setattr(fake, "log", 1) if number == 1 else None)
    stop = Stop()
    repeat(fake, stop)
    assert (fake.rounds, stop.pauses) == (2, [])


def test_it_runs_every_so_often_though_nothing_grows() -> None:
    fake = Fake(IDLE, IDLE, IDLE)
    repeat(fake, Stop(), every=SOON)
    assert fake.rounds == 3


def test_a_log_that_is_settled_in_several_batches_is_settled_without_a_pause() -> None:
    more = Round(seconds=1.0, changes=("a_changelog: batch 1: 2 updates, upper 3",), has_more=True)
    stop = Stop()
    fake = Fake(more, more, IDLE)
    repeat(fake, stop)
    assert (fake.rounds, stop.pauses) == (3, [])


def test_it_goes_on_however_often_it_fails() -> None:
    fake = Fake(*[FAILED] * 1_100, IDLE)
    repeat(fake, Stop(), every=SOON)
    assert fake.rounds == 1_101


@pytest.mark.parametrize(
    "message",
    [
        "corrections: none; the state was made anew, its progress row was not that of batch 5",
        "corrections: 1 external_edit; 1 buckets of the state were healed",
    ],
)
def test_a_heal_is_a_change(message: str) -> None:
    assert not rounds.NOTHING.match(message)


@pytest.mark.parametrize(
    "message",
    [
        "corrections: none",
        "corrections: none; the next refresh is at 10",
        "nothing to correct (late: drop, verify: never)",
    ],
)
def test_a_comparison_that_finds_nothing_is_no_change(message: str) -> None:
    assert rounds.NOTHING.match(message)


def test_it_goes_on_after_a_failure_and_says_which_model(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(command_line, "monotonic", lambda: now[0])
    fake = Fake(FAILED, FAILED, FAILED, UsageError("dbt did not run: no profile"), CHANGED)
    stop = Stop(after=lambda _: now.__setitem__(0, now[0] + stop.pauses[-1]))
    printed = repeat(fake, stop, every=5)
    assert printed[0] == "round 1: failed after 1.0 s; files_batch: broken"
    assert printed[4] == "round 4: failed after 0.0 s; dbt did not run: no profile"
    assert printed[5].startswith("round 5: 7 models")
    # 2 s, 4 s, and then no longer than `every`.
    assert sum(stop.pauses) == 2 + 4 + 5 + 5


def test_where_nothing_can_be_run_at_first_it_does_not_try_again() -> None:
    with pytest.raises(UsageError, match="no such project"):
        repeat(Fake(UsageError("no such project"), IDLE), Stop())


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """Runs the command line over given rounds: exit code, lines without their time, and errors."""

    def run(fake: Fake, *arguments: str) -> tuple[int, list[str], str]:
        monkeypatch.setattr(command_line, "Project", lambda *_: fake)
        exit_code = command_line.main(["watch", *arguments])
        out, err = capsys.readouterr()
        return exit_code, [line[10:] for line in out.splitlines()], err

    return run


def test_once_ends_as_dbt_run_does(command: Callable[..., tuple[int, list[str], str]]) -> None:
    assert command(Fake(IDLE), "--once") == (0, ["nothing to do: 7 models in 1.0 s"], "")
    assert command(Fake(CHANGED), "--once")[0] == 0
    assert command(Fake(FAILED), "--once")[:2] == (1, ["failed after 1.0 s; files_batch: broken"])
    nothing = command(Fake(UsageError("no model is selected")), "--once")
    assert nothing == (2, [], "trueup watch: no model is selected\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_round_end_and_stops(
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


def test_options_of_dbt_are_handed_on_as_they_are() -> None:
    words = "watch -s a b --every 2 --threads 2 --exclude c d -t prod --vars {x:1} --once"
    given, others = command_line.parse_arguments(words.split())
    assert others == ["-s", "a", "b", "--threads", "2", "--exclude", "c", "d"]
    assert (given.every, given.once, given.target, given.vars) == (2, True, "prod", "{x:1}")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--every", "0"], "above 0, such as 2 or 0.5; got '0'"),
        (["--look", "often"], "above 0, such as 2 or 0.5; got 'often'"),
        (["--every", "nan"], "got 'nan'"),
        (["--full-refresh"], "run `dbt run --full-refresh`, then watch without it"),
    ],
)
def test_a_wrong_option_is_refused(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        command_line.main(["watch", *arguments])
    assert refused.value.code == 2
    assert says in capsys.readouterr().err


def result(name: str, message: str, status: str = "success", **options: Any) -> Any:
    config = SimpleNamespace(meta={"trueup": options})
    node = SimpleNamespace(name=name, config=config, unique_id=name, relation_name=name)
    return SimpleNamespace(node=node, status=status, message=message)


def test_a_round_says_what_models_did_and_not_what_they_found_done() -> None:
    done = rounds.read_round(
        [
            result("a_commands", "OK"),
            result("a_corrections", "nothing to correct"),
            result("a_batch", "batch 3 [12, 14)"),
            result("a_changelog", "batch 3: 5 updates, upper 14"),
            result("a_state", "applied batch 3"),
            result("b_corrections", "corrections: none; the next refresh is at 200"),
            result("b_batch", "up to date at 12"),
            result("b_changelog", "nothing to append"),
            result("b_state", "applied batch 7"),
        ],
        2.5,
    )
    changes = ("a_changelog: batch 3: 5 updates, upper 14", "b_state: applied batch 7")
    assert done == Round(seconds=2.5, models=9, changes=changes)


def test_a_round_says_why_models_failed_in_one_line_each() -> None:
    error = "Compilation Error in model a_batch (a.sql)\n  it must be 1\n  \n  > in macro b (c.sql)"
    done = rounds.read_round(
        [result("a_batch", error, "error"), result("a_changelog", "", "skipped")], 2.5
    )
    why = "a_batch: Compilation Error in model a_batch (a.sql) it must be 1 (1 models skipped)"
    assert done == Round(seconds=2.5, models=1, failures=(why,))
    assert len(rounds.one_line("x" * 9999)) == rounds.SHOWN + 3


def test_a_capped_batch_may_have_left_commands_and_no_other() -> None:
    appended = "batch 3: 5 updates, upper 14"
    cases: list[tuple[str, dict[str, Any], bool]] = [
        (appended, {"max_commands_per_batch": 2}, True),
        (appended, {"max_commands_per_batch": None}, False),
        (appended, {}, False),
        ("read only: batch 3 is staged, not appended", {"max_commands_per_batch": 2}, False),
    ]
    for message, options, has_more in cases:
        done = rounds.read_round([result("a_changelog", message, **options)], 1)
        assert done.has_more is has_more


def test_a_selection_of_nothing_is_refused() -> None:
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

    monkeypatch.setattr(rounds, "dbtRunner", Runner)
    project = rounds.Project(["--target", "prod"], ["--select", "a"])
    project.run()
    project.run()
    before = project.files()
    os.utime(model, (2, 2))
    assert project.files() != before
    project.run()
    (model.parent / "new.sql").write_text("select 2")
    os.utime(model.parent / "new.sql", (3, 3))
    project.run()
    parse, run = ("parse", "prod", None), ("run", "a", manifest)
    assert called == [parse, run, run, parse, run, parse, run]


def test_the_idle_line_of_a_terminal_is_replaced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "strftime", lambda _: "12:00:00")
    screen = command_line.Screen()
    screen.rest()
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    screen.rest()
    screen.rest()
    screen.say("round 2")
    blank = " " * len("12:00:00  idle")
    assert capsys.readouterr().out == f"12:00:00  idle\r{blank}\r12:00:00  round 2\n"


def test_what_models_read_is_what_is_not_made_in_the_same_run() -> None:
    def node(name: str, *parents: str, relation: bool = True) -> Any:
        depends_on = SimpleNamespace(nodes=list(parents))
        relation_name = f"`s`.`{name}`" if relation else None
        return SimpleNamespace(name=name, relation_name=relation_name, depends_on=depends_on)

    nodes = [
        node("a_commands"),  # reads a table by its name
        node("a_batch", "a_commands", "seed"),
        node("b_desired", "a_batch", "ephemeral"),
        node("seed"),
        node("ephemeral", "below", "a_batch", "gone", relation=False),
        node("below"),
        node("unrelated"),
    ]
    manifest = SimpleNamespace(nodes={one.name: one for one in nodes}, sources={})
    found = growth.inputs(manifest, ["a_commands", "a_batch", "b_desired"])
    # `versions` leaves out what the run writes itself: a_batch.
    names = ("a_batch", "a_commands", "b_desired", "below", "seed")
    assert found == [f"`s`.`{name}`" for name in names]
