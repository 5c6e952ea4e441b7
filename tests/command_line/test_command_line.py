"""Tests the options, the signals and the exit codes of `trueup`, without Spark."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest

from dbt_trueup.command_line import land, program
from dbt_trueup.command_line import run as run_commands
from dbt_trueup.command_line.options import project_folder
from dbt_trueup.errors import SourceError, UsageError
from dbt_trueup.runner.rounds import Round
from dbt_trueup.runner.screen import Screen
from tests.runner.fakes import CHANGED, FAILED, IDLE, Fake

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands read a profile, but not that of the checkout, which may have none yet."""
    monkeypatch.setenv("DBT_PROFILES_DIR", str(Path(__file__).parents[1] / "dbt_2"))


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """A function that runs the command line over given rounds.

    It returns the exit code, the printed lines without their time, and the errors. The command is
    the first of the words.
    """

    def run(fake: Fake, *arguments: str) -> tuple[int, list[str], str]:
        monkeypatch.setattr(run_commands, "Project", lambda *_: fake)
        exit_code = program.main(arguments)
        out, err = capsys.readouterr()
        return exit_code, [line[10:] for line in out.splitlines()], err

    return run


@pytest.mark.parametrize("words", [["run"], ["watch", "--once"]])
def test_one_round_has_the_exit_codes_of_dbt_run(
    command: Callable[..., tuple[int, list[str], str]], words: list[str]
) -> None:
    assert command(Fake(IDLE), *words) == (0, ["no collection has changed: 2 models in 1.0 s"], "")
    assert command(Fake(CHANGED), *words)[0] == 0
    assert command(Fake(FAILED), *words)[:2] == (1, ["failed after 1.0 s; files: broken"])
    nothing = command(Fake(UsageError("no model is selected")), *words)
    assert nothing == (2, [], f"trueup {words[0]}: no model is selected\n")


def test_a_supervisor_can_tell_a_stopped_spark_from_wrong_options(
    command: Callable[..., tuple[int, list[str], str]],
) -> None:
    fake = Fake(FAILED, IDLE)
    fake.is_spark_stopped = True
    exit_code, _, said = command(fake, "watch")
    assert (exit_code, said) == (3, "trueup watch: Spark has stopped\n")
    assert command(Fake(UsageError("no model is selected")), "watch")[0] == 2


def test_an_unexpected_error_is_not_taken_for_a_check_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        message = "no such method"
        raise AttributeError(message)

    monkeypatch.setattr(run_commands, "Project", fail)
    assert program.main(["run"]) == 2
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.endswith("trueup run: this error is unexpected: AttributeError: no such method\n")


def test_a_letter_that_the_terminal_does_not_have_is_written_in_another_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.BytesIO()
    terminal = io.TextIOWrapper(written, encoding="latin-1")
    failed = Round(seconds=1.0, failures=("a_batch: \u6771",))
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr(run_commands, "Project", lambda *_: Fake(failed))
    assert program.main(["run"]) == 1
    terminal.flush()
    assert b"a_batch: \\u6771" in written.getvalue()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_loop_after_the_current_round(
    command: Callable[..., tuple[int, list[str], str]], number: int
) -> None:
    before = signal.getsignal(number)
    fake = Fake(CHANGED, during=lambda _: os.kill(os.getpid(), number))
    exit_code, lines, _ = command(fake, "watch")
    assert exit_code == 0
    assert sorted(lines)[1:] == [
        "round 1: 2 models in 1.0 s; files: batch 2: 34 commands, 34 inserted",
        "stopped after 1 round, 1 of which changed something",
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

    command(Fake(IDLE, during=twice), "watch")
    assert set(exits) == {128 + signal.SIGTERM}


@pytest.mark.parametrize(
    ("words", "to_every_command", "to_run"),
    [
        (
            "watch -s a b --threads 2 --exclude c d -t prod --vars {x:1} --once",
            "--target prod --vars {x:1}",
            "-s a b --threads 2 --exclude c d",
        ),
        ("run -s a b --threads 2 --project-dir shop", "--project-dir shop", "-s a b --threads 2"),
        ("run --full-refresh", "", "--full-refresh"),
        ("watch --once -f", "", "-f"),
    ],
)
def test_options_of_dbt_are_passed_on_unchanged(
    words: str, to_every_command: str, to_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []

    def project(dbt: list[str], others: tuple[str, ...], *_: object) -> Fake:
        given.extend([dbt, list(others)])
        return Fake(IDLE)

    monkeypatch.setattr(run_commands, "Project", project)
    assert program.main(words.split()) == 0
    assert given == [to_every_command.split(), to_run.split()]


def test_rounds_as_json_are_one_object_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake(CHANGED, FAILED, during=lambda number: setattr(fake, "log", number))
    monkeypatch.setattr(run_commands, "Project", lambda *_: fake)
    stop = Event()
    fake.stop = stop
    monkeypatch.setattr(run_commands, "Event", lambda: stop)
    assert program.main(["watch", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    nothing = {"seconds": 1.0, "models": 0, "changes": [], "failures": []}
    assert [line["round"] for line in lines if "round" in line] == [
        {**nothing, "models": 2, "changes": list(CHANGED.changes)},
        {**nothing, "models": 1, "failures": list(FAILED.failures)},
    ]
    assert lines[-1]["text"] == "stopped after 2 rounds, 1 of which changed something"
    assert all("at" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("watch --every 0", "above 0, such as 2 or 0.5; got '0'"),
        ("watch --look often", "above 0, such as 2 or 0.5; got 'often'"),
        ("watch --every nan", "got 'nan'"),
        ("watch --full-refresh", "run `dbt run --full-refresh`, then `trueup watch`"),
        ("watch -xf", "`trueup watch` must be without --full-refresh"),
        ("walk", "No such command 'walk'"),
    ],
)
def test_a_wrong_option_is_an_error(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(words.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["DBT_FULL_REFRESH", "DBT_ENGINE_FULL_REFRESH"])
def test_a_loop_refuses_a_full_refresh_by_the_environment(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "1")
    assert program.main(["watch", "--select", "orders"]) == 2
    assert "unset DBT_FULL_REFRESH" in capsys.readouterr().err


@pytest.mark.parametrize("command", sorted(program.trueup.commands))
def test_the_help_of_a_command_has_an_example_its_exit_codes_and_json(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    example, _, codes = shown.partition("Exit codes\n")
    assert f"$ trueup {command}" in example.partition("Example: ")[2]
    stated = [line.split(maxsplit=1) for line in codes.splitlines()]
    found = {code for code, _ in stated} - ({"3"} if command == "watch" else set())
    assert found in ({"0", "2"}, {"0", "1", "2"})
    assert "\n  --json " in shown
    assert ("--project-dir" in shown) is (command != "demo")  # It needs no project.


def test_the_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--help"]) == 0
    shown = capsys.readouterr().out
    listed = shown.partition("Commands:")[2]
    assert all(f"\n  {command} " in listed for command in program.trueup.commands)
    assert "..." not in listed  # No description is cut off.


def test_a_file_that_cannot_be_written_is_one_line_and_exit_code_2(
    command: Callable[..., tuple[int, list[str], str]],
) -> None:
    def fail(_: int) -> None:
        raise PermissionError(13, "Permission denied", "a.html")

    exit_code, _, error = command(Fake(IDLE, during=fail), "run")
    assert (exit_code, error) == (2, "trueup run: [Errno 13] Permission denied: 'a.html'\n")


def test_the_folder_of_the_project_is_that_of_dbt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inner = tmp_path / "shop" / "models"
    inner.mkdir(parents=True)
    (tmp_path / "shop" / "dbt_project.yml").touch()
    monkeypatch.chdir(inner)
    for name in ("DBT_ENGINE_PROJECT_DIR", "DBT_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert project_folder([]) == tmp_path / "shop"
    monkeypatch.setenv("DBT_PROJECT_DIR", str(tmp_path))
    assert project_folder(["--target", "dev"]) == tmp_path
    assert project_folder(["--project-dir", "."]) == inner


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--kafka", "host:9092"],
        ["--postgres", "host=here", "--topics", "shop"],
        ["--kafka", "host:9092", "--topics", "shop", "--postgres", "host=here", "--slot", "shop"],
    ],
)
def test_messages_are_landed_from_one_source(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["land", "cdc.messages", *words]) == 2
    assert "give --kafka with --topics, or --postgres with --slot" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--kafka", "host:9092", "--topics", "shop", "--tables", "public.a"],
        ["--postgres", "host=here", "--slot", "shop", "--checkpoint", "folder"],
    ],
)
def test_an_option_of_the_other_source_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["land", "cdc.messages", *words]) == 2
    assert "--checkpoint goes with --kafka, and --tables with --post" in capsys.readouterr().err


@pytest.mark.parametrize(("every", "failures", "end"), [(2, 4, "kept"), (2, 5, ""), (None, 1, "")])
def test_a_source_that_fails_is_tried_again_if_the_command_goes_on(
    every: float | None,
    failures: int,
    end: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(land, "PAUSE", 0.0)
    outcomes = iter([SourceError("Kafka is away")] * failures + [None] * 9)

    def land_once() -> None:
        if outcome := next(outcomes):
            raise outcome

    def keep_landing() -> None:
        land.keep_landing(land_once, every, Event(), Screen())

    if end:
        keep_landing()
        assert capsys.readouterr().out.count("Kafka is away. Tries again in 0 s") == failures
    else:
        with pytest.raises(SourceError, match="Kafka is away"):
            keep_landing()
