"""The evidence as it comes from the warehouse, and what a proof makes of it, without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from dbt_trueup.prove import evidence
from dbt_trueup.prove.evidence import Model, parse, read_evidence
from dbt_trueup.prove.proof import Proof, judge
from dbt_trueup.prove.screen import describe_proof

MODEL = Model("items", "s", "items", ("k",), {}, "select 1")
ABOUT: dict[str, Any] = {
    "columns": [{"name": "a", "type": "string"}, {"name": "B", "type": "binary"}],
    "seq": 3,
    "ts": 9,
    "upper": None,
    "is_log": True,
    "is_partial": True,
    "is_pinned": True,
    "identity": None,
    "share": 1,
    "damage": {"buckets": [], "history": False},
}


UNPINNED = (
    "the log cannot be read as the newest batch has read it, so what arrived since then differs;"
    " run first: dbt run -s items"
)


def row(part: str, key: int | None = 1, order: int | None = 1, **given: Any) -> dict[str, Any]:
    """A row of the evidence. Columns that are not given are null."""
    names = (
        "about error error_kind op scope unchanged unchanged_value old_identity seq ts diff cause"
    )
    return {
        **dict.fromkeys([*names.split(), "orders", "is_erased"]),
        "part": part,
        "identity": None if key is None else identity(key),
        "value": ['{"a":"x"}', '{"B":null}'],
        "ord": json.dumps({"_epoch": 0, "_1": order}),
        "is_wanted": key is not None,
        "op": "upsert",
        **given,
    }


def identity(key: int) -> str:
    return f'{{"k":{key},"_error_key":null}}'


def about(**changed: Any) -> dict[str, Any]:
    return {"part": "about", "about": json.dumps(ABOUT | changed)}


def test_what_no_run_has_read_is_what_the_log_has_more_often() -> None:
    command, newer = row("command"), row("unread", order=2)
    found = parse([about(), command, *[{**command, "part": "unread"}] * 2, newer])
    assert found.commands.total() == 1
    assert sorted((one.rank, count) for one, count in found.unread.items()) == [
        (((1, 0), (1, 1)), 1),
        (((1, 0), (1, 2)), 1),
    ]
    # In a log with ticks, what is not settled is not read.
    settled = [row("command", ts=4), row("command", ts=5)]
    assert parse([about(upper=5), *settled]).commands.total() == 1


def test_columns_with_the_marker_of_the_source_are_unchanged() -> None:
    marked = ['{"a":"??"}', '{"B":"Pz8="}']
    found = parse([about(), row("command", value=marked, unchanged_value="??", unchanged=["A"])])
    (command,) = found.commands
    assert command.unchanged == {"a", "b"}
    found = parse([about(), row("command", unchanged_value="x")])
    assert [one.unchanged for one in found.commands] == [{"a"}]


def test_adopted_rows_are_commands_of_the_least_order() -> None:
    order = json.dumps({"_epoch": evidence.ADOPTED, "_1": None})
    adopted = row("update", ord=order, seq=1, ts=1, diff=1, cause="adopted")
    current = row("row", ord=order, seq=1, ts=1)
    assert judge(MODEL, parse([about(), adopted, current])).holds
    (command,) = parse([about(), adopted]).commands
    assert command.rank < evidence.rank_of('{"_epoch":0,"_1":null,"_2":1}') or command.rank
    assert command.rank < evidence.rank_of('{"_epoch":0,"_1":1}')


def test_the_keys_from_which_a_key_takes_columns_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = row("command", 3, 3, unchanged=["a"], old_identity=identity(2))
    also = row("command", 2, 2, unchanged=["a"], old_identity=identity(1), is_wanted=False)
    first = row("command", 1, 1, is_wanted=False)
    asked: list[dict[str, Any]] = []

    def answer(_options: Any, _model: Any, **wanted: Any) -> list[dict[str, Any]]:
        asked.append(wanted)
        found = {None: [moved], identity(2): [moved, also], identity(1): [also, first, first]}
        return [about(), *found[(wanted.get("identities") or [None])[0]]]

    monkeypatch.setattr(evidence, "query", answer)
    found = read_evidence([], MODEL, sample=7)
    assert [one.get("identities") for one in asked] == [None, [identity(2)], [identity(1)]]
    # Each command counts as often as the log has it, though it was in two answers.
    assert sorted(found.commands.values()) == [1, 1, 2]
    assert found.wanted == {identity(3)}
    (difference,) = judge(MODEL, found).differences
    assert difference.expected == '{"a":"x","B":null} at order 3'
    # Commands of the other key may have come later. That explains no other column.
    for value, left_out in (("y", ["inherited"]), ("x", [])):
        stored = row("row", 3, 3, seq=1, ts=1, value=[f'{{"a":"{value}"}}', '{"B":null}'])
        found.current = parse([about(), stored]).current
        found.updates = parse([about(), {**stored, "part": "update", "diff": 1}]).updates
        proof = judge(MODEL, found)
        assert (proof.holds, [*proof.left_out]) == (True, left_out)
    stored = row("row", 3, 3, seq=1, ts=1, value=['{"a":"x"}', '{"B":"y"}'])
    found.current = parse([about(), stored]).current
    assert "the log and the row" in [one.places for one in judge(MODEL, found).differences]


def test_a_proof_says_what_differs_and_what_was_left_out() -> None:
    stored = row("row", seq=2, ts=2, value=['{"a":"wrong"}', '{"B":null}'])
    newer = row("row", 2, 7, seq=2, ts=2)
    update = [{**one, "part": "update", "diff": 1} for one in (stored, newer)]
    log = [row("command"), row("command", 2, 6)]
    proof = judge(MODEL, parse([about(is_pinned=False), *log, stored, newer, *update]))
    assert describe_proof(proof).splitlines() == [
        "items, batch 3: all keys",
        "  2 commands of 2 keys, folded in Python: 1 key NOT equal to the rows",
        "  2 updates of the history, summed in Python: equal to the rows",
        "  the certificate of the newest batch: agrees with the store",
        "  left out: 1 key; the log no longer has their newest command",
        '  {"k":1,"_error_key":null}: the log and the row differ',
        '    expected  {"a":"x","B":null} at order 1',
        '    got       {"a":"wrong","B":null} at order 1',
        UNPINNED,
        "items: NOT proved",
    ]


def test_keys_that_were_erased_or_dropped_on_purpose_are_left_out() -> None:
    erased = parse([about(), row("command", is_erased=True)])
    assert judge(MODEL, erased).left_out == {"erased": [identity(1)]}
    late = replace(MODEL, options={"late": "drop"})
    proof = judge(late, parse([about(upper=5), row("command", ts=1)]))
    assert (proof.holds, proof.left_out) == (True, {"dropped": [identity(1)]})
    assert not judge(MODEL, parse([about(), row("command")])).holds
    deleted = [about(), row("command"), row("command", order=2, op="delete")]
    assert not judge(MODEL, parse(deleted)).holds
    forgetful = replace(MODEL, options={"tombstones": "90 days"})
    assert judge(forgetful, parse(deleted)).left_out == {}
    assert judge(forgetful, parse(deleted)).holds


def test_a_wrong_certificate_is_no_proof() -> None:
    proof = Proof("items", 3, 8, is_pinned=True, damage={"buckets": [1, 2], "history": True})
    assert not proof.holds
    shown = describe_proof(proof)
    assert "a sample of one key in 8" in shown
    assert "does NOT agree with the store: 2 buckets of current rows and the history" in shown
    assert not Proof("items", 3, 1, is_pinned=True).holds


@pytest.mark.parametrize("column", [{"_order": {"_epoch": 0, "_1": 9}}, {"_order": {"_1": 9}}])
def test_a_column_that_the_log_has_lost_is_left_out(column: dict[str, Any]) -> None:
    orders = json.dumps({"": {"_order": {"_epoch": 0, "_1": 1}}, "a": column})
    stored = row("row", order=1, seq=1, ts=1, orders=orders)
    update = {**stored, "part": "update", "diff": 1}
    proof = judge(MODEL, parse([about(), row("command"), stored, update]))
    assert proof.left_out == {"lost": [identity(1)]}
