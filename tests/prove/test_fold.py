"""The fold with dicts, against the oracle over random logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_trueup.prove.evidence import Command, rank_of
from dbt_trueup.prove.fold import ROW, fold, verdict
from tests import newest_logs
from tests.newest_oracle import Newest
from tests.oracle import canonical

if TYPE_CHECKING:
    from tests import newest_oracle

COLUMNS = ("a", "b")
MIXED = newest_logs.ALL_KINDS
# The oracle and trueup differ in what a new key gets from a broken column of the old key.
MOVED = MIXED._replace(errors=False, ties=False)


def text(item: Any) -> str:
    return json.dumps(item, default=str, ensure_ascii=False)


def as_told(one: newest_oracle.Command, *, is_partial: bool) -> Command:
    """Write a command of the oracle as the evidence has it."""

    def identity(found: Any) -> str:
        key, error_key = found
        return text({"k": text(key), "_error_key": error_key})

    order = one.order or (None,)
    terms = {"_epoch": 0, **{f"_{place}": part for place, part in enumerate(order, 1)}}
    items = canonical(one.value) or (None, None)
    return Command(
        identity=None if one.is_truncate else identity(one.identity),
        op="truncate" if one.is_truncate else "delete" if one.is_delete else "upsert",
        order=text(terms),
        rank=rank_of(text(terms)),
        value=tuple(text({name: item}) for name, item in zip(COLUMNS, items, strict=True)),
        error=one.error,
        unchanged=frozenset(COLUMNS[place] for place in one.unchanged if is_partial),
        old_identity=identity(one.source) if one.source and not one.error_key else None,
    )


def outcomes(log: list[newest_oracle.Command], ties: str, *, is_partial: bool) -> dict[str, Any]:
    """By key: its values, or the kind of its error."""
    folded = fold(
        (as_told(one, is_partial=is_partial) for one in log), COLUMNS, ties, is_partial=is_partial
    )
    found: dict[str, Any] = {}
    for identity, key in folded.keys.items():
        if ROW not in key.columns:
            continue
        if key.broken is not None:
            found[identity] = "order" if key.broken[2] == "origin" else key.broken[2]
        elif is_partial:
            found[identity] = tuple(
                next(iter(key.columns[name].contents)).value
                if name in key.columns
                else text({name: None})
                for name in COLUMNS
            )
        else:
            found[identity] = next(iter(key.columns[ROW].contents)).value
    return found


def of_oracle(log: list[newest_oracle.Command], ties: Any) -> dict[str, Any]:
    newest = Newest(ties=ties)
    newest.run(log)
    canonical = {
        text({"k": text(key), "_error_key": None}): tuple(
            text({name: item}) for name, item in zip(COLUMNS, value, strict=True)
        )
        for key, value in newest.rows().items()
    }
    errors = {
        text({"k": text(key), "_error_key": error_key}): kind
        for (key, error_key), kind in newest.errors().items()
    }
    return canonical | errors


@pytest.mark.parametrize("ties", ["error", "prefer_upsert", "prefer_delete"])
@pytest.mark.parametrize("is_partial", [False, True])
@given(data=st.data())
def test_the_fold_with_dicts_equals_the_oracle(
    data: st.DataObject, ties: str, *, is_partial: bool
) -> None:
    kinds = MIXED._replace(partial=is_partial, key_changes=False)
    log = data.draw(newest_logs.logs(1, kinds))
    assert outcomes(log, ties, is_partial=is_partial) == of_oracle(log, ties)


@given(data=st.data())
def test_a_change_of_key_takes_the_columns_of_the_old_key(data: st.DataObject) -> None:
    log = data.draw(newest_logs.logs(1, MOVED))
    assert outcomes(log, "error", is_partial=True) == of_oracle(log, "error")


def command(order: int | None, op: str = "upsert", a: int = 1, **given: Any) -> Command:
    told = text({"_epoch": 0, "_1": order})
    content: dict[str, Any] = {
        "value": (text({"a": a}), text({"b": a})),
        "error": None,
        "unchanged": frozenset(),
    }
    fields: dict[str, Any] = (
        {"identity": None if op == "truncate" else KEY, "old_identity": None} | content | given
    )
    return Command(op=op, order=told, rank=rank_of(told), **fields)


KEY, OTHER = ('{"k":1,"_error_key":null}', '{"k":2,"_error_key":null}')


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ([command(1), command(2, a=2)], ["superseded", "wins"]),
        ([command(1), command(1, a=2)], ["tie", "tie"]),
        ([command(1), command(2, "delete")], ["deleted", "wins"]),
        ([command(1, "delete"), command(2)], ["superseded", "wins"]),
        ([command(1), command(1, "delete")], ["tie", "tie"]),
        ([command(1), command(2, "truncate"), command(2)], ["truncated", "truncate", "wins"]),
        ([command(None), command(1)], ["no_order", "wins"]),
        ([command(1), command(2, error="bad")], ["superseded", "error"]),
        ([command(1), command(2, identity=OTHER, old_identity=KEY)], ["deleted", "wins"]),
        (
            [command(1), command(2, a=2, unchanged=frozenset("b"))],
            ["wins", "wins"],
        ),
        ([command(1, unchanged=frozenset("a")), command(2)], ["superseded", "wins"]),
    ],
)
def test_each_command_has_a_verdict(log: list[Command], words: list[str]) -> None:
    is_partial = any(one.unchanged for one in log)
    folded = fold(log, COLUMNS, "error", is_partial=is_partial)
    assert [verdict(one, KEY, folded)[0] for one in log] == words


def test_with_the_option_greatest_one_of_the_rivals_wins() -> None:
    folded = fold(
        [command(1), command(1, a=2), command(1, "delete")], COLUMNS, "greatest", is_partial=False
    )
    contents = folded.keys[KEY].columns[ROW].contents
    assert {one.value for one in contents} == {command(1).value, command(1, a=2).value}
