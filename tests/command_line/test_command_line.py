"""Tests the options, the signals and the exit codes of `trueup`, without Spark."""

from __future__ import annotations

import os
import signal
from threading import Event
from typing import TYPE_CHECKING

import pytest

from dbt_trueup.command_line import parser, program
from dbt_trueup.errors import UsageError
from tests.runner.fakes import CHANGED, FAILED, IDLE, LAST, MORE, Fake

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """A function that runs the command line over given rounds.

    It returns the exit code, the printed lines without their time, and the errors. The command is
    the first of the words.
    """

    def run(fake: Fake, *arguments: str) -> tuple[int, list[str], str]:
        monkeypatch.setattr(program, "Project", lambda *_: fake)
        exit_code = program.main(arguments)
        out, err = capsys.readouterr()
        return exit_code, [line[10:] for line in out.splitlines()], err

    return run


@pytest.mark.parametrize("words", [["run"], ["watch", "--once"]])
def test_one_round_has_the_exit_codes_of_dbt_run(
    command: Callable[..., tuple[int, list[str], str]], words: list[str]
) -> None:
    assert command(Fake(IDLE), *words) == (0, ["nothing to do: 7 models in 1.0 s"], "")
    assert command(Fake(CHANGED), *words)[0] == 0
    assert command(Fake(FAILED), *words)[:2] == (1, ["failed after 1.0 s; files_batch: broken"])
    nothing = command(Fake(UsageError("no model is selected")), *words)
    assert nothing == (2, [], f"trueup {words[0]}: no model is selected\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_loop_after_the_current_round(
    command: Callable[..., tuple[int, list[str], str]], number: int
) -> None:
    before = signal.getsignal(number)
    fake = Fake(CHANGED, during=lambda _: os.kill(os.getpid(), number))
    exit_code, lines, _ = command(fake, "watch")
    assert exit_code == 0
    assert sorted(lines)[1:] == [
        "round 1: 7 models in 1.0 s; files_changelog: batch 2: 34 updates, upper 355",
        "stopped after 1 rounds, 1 of which changed something",
        "stops when this round is done; a second signal stops at once",
    ]
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_before_it_is_caught_up(
    command: Callable[..., tuple[int, list[str], str]],
    number: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stop = Event()
    monkeypatch.setattr(program, "Event", lambda: stop)

    def send(_: int) -> None:
        os.kill(os.getpid(), number)
        stop.wait(10)

    fake = Fake(MORE, MORE, during=send)
    exit_code, lines, _ = command(fake, "run", "--until-caught-up")
    assert (exit_code, fake.rounds) == (1, 1)
    assert "stopped after 1 rounds, before it was caught up; run it again to go on" in lines


def test_a_run_until_caught_up_prints_its_rounds_and_its_progress(
    command: Callable[..., tuple[int, list[str], str]],
) -> None:
    assert command(Fake(MORE, LAST, IDLE), "run", "--until-caught-up") == (
        0,
        [
            "round 1: 7 models in 2.0 s; a_changelog: batch 1: 20 updates, upper 11",
            "a: 20 of 50 commands (40 %), 10/s, 3 s left",
            "round 2: 7 models in 2.0 s; a_changelog: batch 2: 30 updates, upper 26",
            "a: 50 of 50 commands (100 %), 15/s",
            "caught up after 3 rounds in 5.0 s",
        ],
        "",
    )


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


def test_options_of_dbt_are_passed_on_unchanged() -> None:
    words = "watch -s a b --every 2 --threads 2 --exclude c d -t prod --vars {x:1} --once"
    given, others = parser.parse_arguments(words.split())
    assert others == ["-s", "a", "b", "--threads", "2", "--exclude", "c", "d"]
    assert (given.every, given.once, given.target, given.vars) == (2, True, "prod", "{x:1}")


def test_options_of_run_are_told_from_those_of_dbt() -> None:
    words = "run -s a b --until-caught-up --threads 2 --project-dir shop"
    given, others = parser.parse_arguments(words.split())
    assert others == ["-s", "a", "b", "--threads", "2"]
    assert (given.command, given.until_caught_up, given.project_dir) == ("run", True, "shop")
    assert parser.parse_arguments(["run", "--full-refresh"])[1] == ["--full-refresh"]
    assert parser.parse_arguments(["watch", "--once", "-f"])[1] == ["-f"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("watch --every 0", "above 0, such as 2 or 0.5; got '0'"),
        ("watch --look often", "above 0, such as 2 or 0.5; got 'often'"),
        ("watch --every nan", "got 'nan'"),
        ("watch --full-refresh", "run `dbt run --full-refresh`, then watch without it"),
        ("run --until-caught-up -f", "--until-caught-up must be without --full-refresh; got both"),
        ("", "the following arguments are required: {run,watch}"),
        ("walk", "invalid choice: 'walk'"),
    ],
)
def test_a_wrong_option_is_an_error(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        program.main(words.split())
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "watch"])
def test_the_help_of_a_command_shows_its_options(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        program.main([command, "--help"])
    assert raised.value.code == 0
    shown = capsys.readouterr().out
    options = {"run": ["--until-caught-up", "$ trueup run"], "watch": ["--every", "--once"]}
    assert all(text in shown for text in [*options[command], "those of `dbt run`"])
