"""`trueup prove`: equal on a good collection; it finds a broken fold and an edited state."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dbt_trueup.command_line.program import main
from dbt_trueup.explain import sources
from dbt_trueup.explain.facts import Explanation
from dbt_trueup.explain.screen import describe_command
from dbt_trueup.prove import proof
from dbt_trueup.prove.proof import Difference, Proof, Round, differences, fold, judge, net
from dbt_trueup.prove.screen import describe_proof, describe_round
from tests.acceptance import Column
from tests.macros.package import in_model
from tests.oracle import Collection, Command, consolidate
from tests.project import TICK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.project import Project

KEY = [Column("k", "double"), Column(f"part{TICK}s", "string")]
VALUE = [Column("steps", "string"), Column("W\n'1", "decimal(30,2)")]
KEYS = [(float("nan"), None), (0.0, ""), (1.5, "${x}"), (1.5, None)]
DRAW = {"keys": 4, "seed": 7, "batches": 2}


def command(draw: Random, *, changes_keys: bool = False) -> Command:
    """Invent a command: a value, a partial value, an error, a delete or a truncate.

    With `changes_keys`, the unchanged column of a partial value may come from another key.
    """
    ts, order, key = draw.randrange(12), (draw.randrange(100_000),), draw.choice(KEYS)
    kind = draw.randrange(16)
    if kind == 0:
        return Command(ts, order, None, None, is_truncate=True)
    if kind == 1:
        return Command(ts, order, key, None, draw.choice(["bad", ""]))
    if kind < 4:
        return Command(ts, order, key, None)
    value = (draw.choice(["a", None, "\x1f é"]), None)
    unchanged = frozenset({1} if kind < 9 else ())
    if changes_keys:
        order = (draw.randrange(4),)
        whole = (value[0], draw.choice([Decimal("1.50"), Decimal(2), None]))
        old_key = draw.choice([*KEYS, None]) if unchanged else None
        return Command(ts, order, key, whole, unchanged=unchanged, old_key=old_key)
    return Command(ts, order, key, value, unchanged=unchanged)


def invented(count: int = 120, *, changes_keys: bool = False) -> list[Command]:
    draw = Random(3)  # noqa: S311 - the same commands each time
    commands = [command(draw, changes_keys=changes_keys) for _ in range(count)]
    # No two commands of a key have one tick and order: nothing says which of them is the last.
    return list({(one.ts, one.order, one.identity): one for one in commands}.values())


def as_row(one: Command, place: int) -> dict[str, Any]:
    """Write a command as `trueup._ensure_proof` returns it."""
    value = None
    if one.content is not None:
        columns = zip(("v", "W"), one.content[0] or (None, None), strict=True)
        value = [*(json.dumps({name: item}, default=str) for name, item in columns), one.error]
    unchanged = ["w"] if one.unchanged else []
    key = json.dumps([str(item) for item in one.key or ()])
    takes = one.payload[2] not in {None, one.identity}
    old_key = json.dumps([str(item) for item in one.old_key or ()]) if takes else None
    row = {"key": key, "_ts": one.ts, "value": value, "place": place, "moment": one.order}
    return {**row, "is_truncate": one.is_truncate, "unchanged": unchanged, "old_key": old_key}


@pytest.mark.parametrize("changes_keys", [False, True])
def test_the_fold_with_a_dict_makes_the_updates_of_the_oracle(*, changes_keys: bool) -> None:
    invented_commands = invented(changes_keys=changes_keys)
    assert any(one.old_key for one in invented_commands) == changes_keys
    commands = sorted(invented_commands, key=lambda one: (one.ts, one.order, not one.is_truncate))
    oracle = Collection(tie_breaker=lambda rivals: rivals[-1])
    oracle.run(commands)
    expected: Counter[Any] = Counter()
    for (ts, (key, _), (value, error)), diff in consolidate(oracle.changelog).items():
        assert key is not None
        names = ["nan" if item == ("NaN",) else str(item) for item in key]
        pairs = zip(("v", "W"), value or (None, None), strict=True)
        content = (*(json.dumps({name: item}, default=str) for name, item in pairs), error)
        expected[json.dumps(names), ts, content] += diff
    rows = [as_row(one, place) for place, one in enumerate(commands)]
    Random(1).shuffle(rows)  # noqa: S311

    found = fold(rows)

    assert expected
    assert {
        (key, *update): diff for key, updates in found.items() for update, diff in updates.items()
    } == dict(expected)


def test_a_negative_zero_in_an_array_or_a_key_is_a_zero() -> None:
    def rows(part: str, zero: str, tick: int) -> dict[str, Any]:
        key, value = f'{{"k":{{"x":{zero}}}}}', [f'{{"v":["NaN",{zero}]}}', "-0.0"]
        row = {"part": part, "key": key, "value": value, "_ts": tick, "diff": 1, "old_key": None}
        return {**row, "is_truncate": False, "unchanged": None, "moment": tick, "place": tick}

    parts = proof.split(
        [rows("command", "0.0", 1), rows("command", "-0.0", 2), rows("folded", "-0.0", 1)]
    )

    # The second command changes nothing, as in Spark.
    assert differences(fold(parts["command"]), net(parts["folded"]), "") == []
    (updates,) = net(parts["folded"]).values()
    assert [value[-1] for _, value in updates] == ["-0.0"]


def test_the_texts_of_timestamps_have_microseconds(spark: SparkSession) -> None:
    text = in_model("files_batch")._exact_json_expr("struct(at, local)")
    found = spark.sql(
        f"select {text} as text from values"
        " (timestamp'2026-01-01 00:00:00.000001Z', timestamp_ntz'2026-01-01 00:00:00.000002')"
        " as moments (at, local)"
    )
    (row,) = found.collect()
    at, local = json.loads(row["text"]).values()
    assert re.search(r":00[.]000001(Z|[-+])", at)
    assert local == "2026-01-01 00:00:00.000002"


def test_the_text_of_a_timestamp_is_the_same_moment_in_any_zone(
    spark: SparkSession, in_zone: Callable[[str], None]
) -> None:
    in_zone("Europe/Amsterdam")
    moment = "timestamp'1890-01-01 00:00:00.000001Z'"
    text = in_model("files_batch")._exact_json_expr(f"struct({moment} as at)")
    ((found,),) = spark.sql(f"select {text}").collect()
    ((is_same,),) = spark.sql(
        f"select try_cast('{json.loads(found)['at']}' as timestamp) <=> {moment}"
    ).collect()
    assert is_same, found


A = {"key": '{"k":"a","_error_key":null}', "_ts": 1, "value": ['{"v":1}', None], "diff": 1}
PLACED = {**A, "is_truncate": False, "unchanged": None, "old_key": None, "moment": 1, "place": 1}
NOW = {**A, "_ts": None}
GOOD: dict[str, list[dict[str, Any]]] = {
    "command": [PLACED],
    "folded": [A],
    "changelog": [A],
    "applied": [NOW],
    "state": [NOW],
    "since": [{"_ts": None}],
}


@pytest.mark.parametrize(
    ("part", "places"),
    [
        ("folded", "the dict model and the fold in SQL"),
        ("changelog", "the dict model and the changelog"),
        ("state", "the changelog and the state"),
    ],
)
def test_a_difference_in_one_place_is_a_counterexample(
    monkeypatch: pytest.MonkeyPatch, part: str, places: str
) -> None:
    monkeypatch.setattr(proof, "is_late", lambda *_: False)
    other = [{**GOOD[part][0], "value": ['{"v":2}', None]}]

    (found,) = judge([], "c", DRAW, {**GOOD, part: other}).counterexamples

    assert (found.key, found.places) == (A["key"], places)
    assert judge([], "c", DRAW, GOOD).counterexamples == []


def test_a_difference_of_the_changelog_that_a_late_command_explains_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proof, "is_late", lambda *_: True)

    found = judge([], "c", DRAW, {**GOOD, "changelog": []})

    assert (found.counterexamples, found.late_keys) == ([], [A["key"]])


def test_after_a_compaction_only_the_rows_that_exist_are_compared() -> None:
    compacted = {**GOOD, "changelog": [{**A, "_ts": 5}], "since": [{"_ts": 6}]}

    found = judge([], "c", DRAW, compacted)

    assert (found.counterexamples, found.compares_ticks) == ([], False)
    assert "only the rows of now" in describe_round(found)[0]


def test_a_value_does_not_reach_the_terminal_as_a_command() -> None:
    value = ('{"v":"\x9b31m"}', None, None)
    differs = Difference(
        '{"k":"\x7f"}', "log and state", [(4, 1, value)], [(4, 1, (None, "\x1b[2J"))]
    )
    found = Round(seed=1, batches=1, keys=1, commands=1, counterexamples=[differs])
    shown = describe_proof(Proof("orders", [found]))
    assert all(line.isprintable() for line in shown.splitlines())
    command = {"_ts": 4, "_order": '{"_1":"\\u001b[2J"}', "_op": "upsert", "content": "\x1b[2J"}
    assert describe_command({**command, "verdict": "wins", "rule": "newest"}).split("\n")[0] == (
        "tick 4  order  [2J  upsert   [2J"
    )


def test_a_long_value_is_cut_at_the_first_difference() -> None:
    long, other = (f'{{"v":"{"x" * 5_000}{end}"}}' for end in ("a", "b" * 5_000))
    differs = Difference(
        f'{{"k":"{"k" * 5_000}"}}', "log and state", [(4, 1, (long, None))], [(5, 1, (other, None))]
    )
    found = Round(seed=1, batches=1, keys=1, commands=1, counterexamples=[differs])

    _, key, expected, got, _ = describe_proof(Proof("orders", [found])).splitlines()

    assert max(map(len, (key, expected, got))) < 160
    assert key.endswith("k...: log and state differ")
    assert expected.startswith("    expected  tick 4  +  ...xx")
    assert expected.endswith('xxa"}')
    assert got.startswith("    got       tick 5  +  ...xx")
    assert "xxbb" in got
    assert got.endswith("bb...")


def test_a_retraction_is_a_difference_too() -> None:
    (found,) = differences(net([A, {**A, "diff": -1, "_ts": 2}]), net([A]), "two places")

    assert found.expected == [(2, -1, ('{"v":1}', None))]
    assert found.got == []


@pytest.mark.parametrize(
    ("verdict", "tick", "is_explained"),
    [("sound", 4, True), ("sound", 6, False), ("unsound", 4, False)],
)
def test_a_late_command_of_an_old_key_explains_a_sound_changelog_of_the_new_key(
    monkeypatch: pytest.MonkeyPatch, verdict: str, tick: int, *, is_explained: bool
) -> None:
    takes = {"verdict": "wins", "_ts": 5, "_old_key": '{"k":"old"}'}
    late = {"verdict": "late_dropped", "_ts": tick}
    changelog = {"source": "changelog", "verdict": verdict}

    def explain(_: object, name: str, key: dict[str, str | None], *__: object) -> Explanation:
        return Explanation(name, key, None, [changelog], [late if key["k"] == "old" else takes])

    monkeypatch.setattr(proof, "explain", explain)
    monkeypatch.setattr(sources, "explain", explain)

    assert proof.is_late([], "c", str(A["key"])) == is_explained


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """A collection with hostile names and values, after one run."""
    project = new_project("proved")
    project.add_collection("c", KEY, VALUE, extra=["truncate_when", "unchanged"])
    project.append("c", invented())
    project.run()
    return project


def prove(project: Project, *words: str) -> int:
    """Run `trueup prove`. Return its exit code."""
    return main(["prove", *words, "--project-dir", str(project.folder)])


def test_batches_duplicates_and_the_sequence_of_commands_change_nothing(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prove(project, "c", "--rounds", "3", "--seed", "5") == 0
    assert capsys.readouterr().out.splitlines() == [
        "seed 5: 4 keys, 120 commands in 1 batch: equal",
        "seed 6: 4 keys, 120 commands in 2 batches: equal",
        "seed 7: 4 keys, 120 commands in 3 batches: equal",
        "c: equal",
    ]


def test_keys_from_which_the_sample_takes_values_belong_to_it(
    new_project: Callable[[str], Project], capsys: pytest.CaptureFixture[str]
) -> None:
    project = new_project("proved_moved")
    project.add_collection("c", KEY, VALUE, extra=["truncate_when", "unchanged", "old_key"])
    # Spark takes a round for each link of a chain, so these are not many.
    commands = invented(40, changes_keys=True)
    chain = [(100.0 + number, "chain") for number in range(4)]
    moved = [
        Command(20 + number, (1,), new, ("moved", None), unchanged=frozenset({1}), old_key=old)
        for number, (old, new) in enumerate(pairwise(chain))
    ]
    first = Command(19, (1,), chain[0], ("first", Decimal("0.10")))
    project.append("c", [*commands, first])
    project.run()
    project.append("c", moved)
    project.run()

    assert prove(project, "c", "--keys", "1", "--seed", "8", "--rounds", "2", "--json") == 0

    rounds = json.loads(capsys.readouterr().out)["rounds"]
    # The second round draws the end of the chain, and deals it into two batches.
    assert [one["keys"] for one in rounds] == [1, 4]


def test_a_broken_fold_has_a_counterexample(
    project: Project, package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    for path in package.rglob("*.sql"):
        copy = broken / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.symlink_to(path.resolve())
    (broken / "dbt_project.yml").symlink_to((package / "dbt_project.yml").resolve())
    fold_file = broken / "macros" / "fold" / "fold_ticks.sql"
    text = fold_file.read_text()
    fold_file.unlink()
    fold_file.write_text(text.replace("        _command_rank = 1\n", "        _command_rank = 2\n"))
    installed = project.folder / "dbt_packages" / "trueup"
    installed.unlink()
    installed.symlink_to(broken)

    assert prove(project, "c", "--rounds", "1", "--json") == 1

    installed.unlink()
    installed.symlink_to(package)
    (found,) = json.loads(capsys.readouterr().out)["rounds"]
    places = {one["places"] for one in found["counterexamples"]}
    assert places == {"the dict model and the fold in SQL"}


def test_an_edited_state_has_a_counterexample_and_a_late_command_has_none(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.append("c", [Command(3, (7,), (9.0, "late"), ("late", None))])
    project.sql("update {}.c_state set steps = 'edited' where k = 1.5 or isnan(k)")

    assert prove(project, "c", "--rounds", "1") == 1

    out = capsys.readouterr().out
    assert "seed 1: 5 keys, 121 commands in 1 batch: " in out
    assert "; 1 key with late commands left out\n" in out
    assert out.count(" differ\n") == out.count("the changelog and the state differ\n") > 0
    assert out.endswith("c: NOT equal\n")


@pytest.mark.parametrize("number", ["1234567890123456789.0000000000", "12345678901234567.89"])
def test_a_decimal_in_a_key_keeps_its_digits(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []

    def explain(_: object, __: object, key: dict[str, str], *___: object) -> Any:
        asked.append(key)
        return SimpleNamespace(rows=[], updates=[], commands=[])

    monkeypatch.setattr(proof, "explain", explain)
    proof.is_late([], "orders", f'{{"k":{number},"_error_key":null}}')
    assert asked == [{"k": number}]
