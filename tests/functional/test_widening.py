"""Dates become timestamps while runs overlap or are killed, also in another time zone."""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from tests.between import KilledError, before, killed_after, sent
from tests.functional.test_schema_evolution import Evolving
from tests.macros.package import RefusedError, a_collection, column, in_model, models

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.project import Project

OPTIONS = {"verify": "always", "late": "correct", "rehydrate": "native"}
RUN = ("c_corrections", "c_batch", "c_changelog", "c_state")
WRITES = re.compile(r"^(/\*.*?\*/\s*)?(alter|update)\b")
STRIDE = int(os.environ.get("TRUEUP_KILL_STRIDE", "4"))
"""The tests stop a widening after every n-th statement. A long run sets 1."""

EVER = 1000
PATIENCE = 60
"""Seconds to wait for the other side."""
DAY, NOON = "2024-02-03 00:00:00", "2024-02-03 12:34:56"
COLUMNS = [f"d{number}" for number in range(12 + 24 // STRIDE)]
"""Each stop needs one more date to widen."""


MOVED = "[USER_RAISED_EXCEPTION] columns moved: another run changes the columns of"


def wait_for(file: Path) -> None:
    """Wait until another thread makes a file, but not for ever."""
    until = time.monotonic() + PATIENCE
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert file.exists(), f"nobody has made {file.name}"


def kill() -> None:
    raise KilledError


class Widened(Evolving):
    """A collection of dates. In each round, one more date becomes a timestamp."""

    def __init__(self, project: Project) -> None:
        """Settle three rows."""
        super().__init__(project, "c", dict.fromkeys(COLUMNS, "string"), OPTIONS)
        self.rounds = 0
        self.show(dict.fromkeys(COLUMNS, "date"))
        self.append_all(*((1, key, dict.fromkeys(COLUMNS, DAY)) for key in "abc"))
        project.run("models/c")
        self.run_oracle()

    def begin_round(self) -> str:
        """Turn the next date of the log into a timestamp, append commands, and give its name."""
        name = COLUMNS[self.rounds]
        self.rounds += 1
        self.show({**self.types, name: "timestamp"})
        tick, value = self.rounds + 1, self.value()
        self.append_all((tick, "a", value), (tick, f"new {self.rounds}", value))
        self.project.run("c_commands")
        return name

    def value(self) -> dict[str, str]:
        """Noon in each column that is a timestamp now, and a day in the others."""
        return {name: NOON if self.types.get(name) == "timestamp" else DAY for name in COLUMNS}

    def check_round(self, *, is_corrected: bool = False) -> None:
        """Run again. The rows equal the oracle. Settled rows change only if `is_corrected`."""
        self.project.run(*RUN, "c")
        self.run_oracle()
        self.check()
        for role in ("changelog", "state"):
            kinds = self.types_of(role)
            assert {name: kinds[name] for name in self.types} == self.types, role
            assert not [name for name in kinds if name.startswith("_widening")]
        found = self.project.sql("select * from {}.c_corrections where _cause <> 'late_command'")
        assert bool(found) == is_corrected, found


@pytest.fixture(scope="module")
def widened(new_project: Callable[[str], Project]) -> Widened:
    return Widened(new_project("widened"))


class Answer(list[Any]):
    """The rows of a query. As in dbt's answer, they are also its `rows`."""

    @property
    def rows(self) -> list[Any]:
        """The rows."""
        return self


def other_run(widened: Widened, stops_after: int, meanwhile: Callable[[], None]) -> bool:
    """Let a run widen a column, and let another run do all its work in the middle.

    Args:
        widened: The collection.
        stops_after: The number of statements of the widening before the other run.
        meanwhile: The work of the other run.

    Returns:
        True if the widening ended before the other run started.
    """
    written = 0

    def query(sql: str) -> list[Any]:
        nonlocal written
        if WRITES.match(sql):
            if written == stops_after:
                meanwhile()
            written += 1
        return Answer(widened.project.spark.sql(sql).collect())

    schema = widened.project.name
    package = in_model(
        "c_batch",
        unique_key=("k",),
        graph=models("c"),
        queries=query,
        invocation_id="a0a0a0a0",
    )
    commands = [column("k", "string"), *(column(*one) for one in widened.types.items())]
    collection = a_collection(
        package,
        changelog=f"{schema}.c_changelog",
        state=f"{schema}.c_state",
        command_columns=commands,
    )
    try:
        package._ensure_columns(collection)
    except (PySparkException, RefusedError) as error:
        # The error of the run that comes second.
        assert re.search("UNRESOLVED_COLUMN|ALREADY_EXISTS|columns moved", str(error)), error  # noqa: PT017
    return written <= stops_after


@pytest.mark.long
def test_two_runs_that_widen_a_column_at_once_lose_no_value(widened: Widened) -> None:
    for stops_after in count(0, STRIDE):
        widened.begin_round()
        if other_run(widened, stops_after, lambda: widened.project.run(*RUN)):
            break
        widened.check_round()
    assert stops_after > 8, "the run has become shorter: are all of its statements still here?"
    widened.check_round()
    before = widened.project.progress("c")
    widened.project.run(*RUN)
    assert widened.project.progress("c") == before, "running again changes nothing"


@pytest.mark.long
def test_the_next_run_completes_a_killed_widening(widened: Widened) -> None:
    for statement_no in count(1, STRIDE):
        widened.begin_round()
        with killed_after(statement_no, WRITES) as written:
            widened.project.run(*RUN, fails=None)
        widened.check_round()
        if len(written) < statement_no:
            break
    assert statement_no > 8, "the run has become shorter: are all of its statements still here?"


@pytest.mark.long
def test_a_widening_keeps_the_dates_of_a_batch_that_is_not_applied(
    widened: Widened, in_zone: Callable[[str], None]
) -> None:
    """One run is killed before it applies a batch, another before it widens the state."""
    in_zone("America/New_York")
    widened.append(widened.rounds + 1, "killed", **widened.value())
    widened.project.run("c_corrections", "c_batch", "c_changelog")
    widened.begin_round()
    with pytest.raises(KilledError):
        other_run(widened, 6, kill)
    widened.check_round()


@pytest.mark.long
def test_a_batch_staged_before_a_widening_is_not_appended_and_loses_no_date(
    widened: Widened, in_zone: Callable[[str], None]
) -> None:
    in_zone("America/New_York")
    widened.append(widened.rounds + 1, "staged", **widened.value())
    widened.project.run("c_corrections", "c_batch")
    widened.begin_round()
    other_run(widened, EVER, lambda: None)
    widened.project.run("c_changelog", fails=True)
    assert "The columns of the staged batch widened.c_batch" in widened.project.messages[0]
    assert "Nothing is appended." in widened.project.messages[0]
    widened.check_round()


def widening_of_another_run(widened: Widened) -> Callable[[], None]:
    """Begin a round that this run does not know yet.

    Returns:
        What the other run does: it replaces the commands, widens the changelog, and is killed
        before it widens the state.
    """

    def widen() -> None:
        widened.show(types)
        widened.project.sql(commands[0])
        with suppress(KilledError):
            other_run(widened, 6, kill)
        assert widened.types_of("changelog")[name] == "timestamp"
        assert widened.types_of("state")[name] == "date"

    with sent("(?s)create or replace view.*c_commands") as commands:
        name = widened.begin_round()
    types = dict(widened.types)
    widened.show({**types, name: "date"})
    widened.project.run("c_commands")
    return widen


@pytest.mark.long
def test_a_batch_that_is_staged_during_a_widening_loses_no_date(
    widened: Widened, in_zone: Callable[[str], None]
) -> None:
    in_zone("America/New_York")
    with before("(?s)temporary view.*steps", widening_of_another_run(widened)):
        widened.project.run("c_batch", fails=True)
    assert MOVED in widened.project.messages[0]
    assert "\tat org." not in widened.project.messages[0]
    widened.check_round()


@pytest.mark.long
def test_a_rebuild_of_the_state_during_a_widening_loses_no_date(
    widened: Widened, in_zone: Callable[[str], None]
) -> None:
    in_zone("America/New_York")
    widen = widening_of_another_run(widened)
    widened.project.sql("delete from {}.c_state where _kind = 'progress'")
    with before("trueup: rebuild", widen):
        widened.project.run("c_corrections", fails=True)
    assert MOVED in widened.project.messages[0]
    assert "\tat org." not in widened.project.messages[0]
    widened.check_round()


@pytest.mark.long
def test_an_append_during_a_widening_writes_nothing_and_loses_no_date(
    widened: Widened, tmp_path: Path
) -> None:
    project, started, filled = widened.project, tmp_path / "started", tmp_path / "filled"

    def slowly(kind: str) -> str:
        started.touch()
        wait_for(filled)
        return kind

    project.spark.udf.register("slowly", slowly)
    seq = project.progress("c")[-1]["_seq"] + 1
    project.sql(
        "create or replace temporary view appended as select * except (_kind, _seq), slowly(_kind)"
        f" as _kind, {seq}L as _seq, {seq}L as _match_seq from {{}}.c_batch"
    )
    append = in_model("c_changelog")._append_batch_sql(
        "widened.c_changelog", "select * from appended", seq
    )
    widened.begin_round()
    with ThreadPoolExecutor() as pool:
        appended = pool.submit(project.sql, append)
        try:
            wait_for(started)
            other_run(widened, EVER, lambda: None)
        finally:
            filled.touch()
        appended.result()
    assert project.progress("c")[-1]["_seq"] == seq - 1
    widened.check_round()


@pytest.mark.long
def test_a_killed_widening_is_dropped_if_the_log_has_a_date_again(widened: Widened) -> None:
    name = widened.begin_round()
    with killed_after(2, WRITES) as written:
        widened.project.run(*RUN, fails=True)
    assert len(written) == 2
    assert "killed after: " in "\n".join(widened.project.messages)
    widened.show({**widened.types, name: "date"})
    widened.project.run("c_commands")
    widened.check_round()


@pytest.mark.long
def test_a_column_that_leaves_the_log_during_its_widening_keeps_its_values(
    widened: Widened,
) -> None:
    name = widened.begin_round()
    with killed_after(3, WRITES) as written:
        widened.project.run(*RUN, fails=True)
    assert len(written) == 3
    assert "killed after: " in "\n".join(widened.project.messages)
    widened.show({each: kind for each, kind in widened.types.items() if each != name})
    widened.project.run("c_commands")
    widened.check_round(is_corrected=True)
    assert widened.types_of("changelog")[name] == "timestamp"
    assert widened.project.sql(f"select * from {{}}.c_changelog where {name} is not null")
