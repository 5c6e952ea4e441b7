"""Tests the options, the signals and the exit codes of `trueup`, without Spark."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from dbt_trueup.command_line import parser, program
from dbt_trueup.errors import UsageError
from tests.runner.fakes import CHANGED, FAILED, IDLE, Fake

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """A function that runs the command line over given rounds.

    It returns the exit code, the printed lines without their time, and the errors.
    """

    def run(fake: Fake, *arguments: str) -> tuple[int, list[str], str]:
        monkeypatch.setattr(program, "Project", lambda *_: fake)
        exit_code = program.main(["watch", *arguments])
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
    given, others = parser.parse_arguments(words.split())
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
        program.main(["watch", *arguments])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err
