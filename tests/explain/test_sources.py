"""A key that differs because a key from which it takes values has a late command."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dbt_trueup.explain import sources
from dbt_trueup.explain.facts import Explanation
from dbt_trueup.explain.sources import explain_with_sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

AGREE, DIFFER = (
    {"source": "log", "verdict": verdict, "rule": ""} for verdict in ("agree", "differ")
)


def moved(old_key: int, verdict: str = "wins", tick: int = 5) -> dict[str, Any]:
    return {"verdict": verdict, "_old_key": f'{{"k":{old_key}}}', "_ts": tick}


def late(tick: int = 5, verdict: str = "late_dropped") -> dict[str, Any]:
    return {"verdict": verdict, "_ts": tick}


def asked(
    monkeypatch: pytest.MonkeyPatch,
    log: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]],
    causes: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Explanation, list[str]]:
    """Explain the key 3 of a log: the row and the commands of each key. Return the keys asked.

    `causes` are those of the updates of some keys.
    """
    questions = []

    def explain(
        _: object, name: str, key: dict[str, str], __: object, latest: int | None
    ) -> Explanation:
        questions.append(key["k"])
        row, commands = log[key["k"]]
        updates = [{"_cause": causes[key["k"]]}] if key["k"] in causes else []
        return Explanation(name, dict(key), None, [row], commands[:latest], len(commands), updates)

    monkeypatch.setattr(sources, "explain", explain)
    return explain_with_sources([], "c", {"k": "3"}, None, 1), questions


def test_a_late_command_of_the_key_before_the_old_key_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = {
        "3": (DIFFER, [{"verdict": "wins"}, moved(2, "superseded"), moved(9, "not_settled")]),
        "2": (DIFFER, [moved(1), moved(3)]),
        "1": (AGREE, [late()]),
    }

    found, questions = asked(monkeypatch, log)

    # The second question asks for all commands, not for the latest ones.
    assert questions == ["3", "3", "2", "1"]
    assert (found.rows[0]["verdict"], found.agrees) == ("late", True)
    assert 'the key {"k":1}' in found.rows[0]["rule"]
    assert len(found.commands) == 1


def test_with_late_correct_the_next_run_writes_the_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    superseded = late(verdict="late_superseded")
    found, _ = asked(monkeypatch, {"3": (DIFFER, [moved(2)]), "2": (AGREE, [superseded])})
    assert (found.rows[0]["verdict"], found.agrees) == ("waits", False)
    assert found.rows[0]["rule"].endswith("; the next run writes the difference")


def test_a_late_command_after_the_values_were_taken_lets_nothing_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_old_key = [late(tick=9, verdict="late_superseded"), late(tick=4)]
    found, _ = asked(monkeypatch, {"3": (DIFFER, [moved(2)]), "2": (AGREE, of_old_key)})
    assert (found.rows[0]["verdict"], found.agrees) == ("late", True)


def test_keys_that_take_values_from_each_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found, questions = asked(monkeypatch, {"3": (DIFFER, [moved(2)]), "2": (AGREE, [moved(3)])})
    assert questions == ["3", "2", "3"]
    assert found.rows[0]["verdict"] == "differ"


def test_a_late_command_after_the_values_were_taken_explains_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_old_key = [late(tick=8), moved(1, tick=7), moved(1, tick=4)]
    log = {"3": (DIFFER, [moved(2)]), "2": (AGREE, of_old_key), "1": (AGREE, [late(tick=5)])}

    found, questions = asked(monkeypatch, log)

    assert questions == ["3", "2", "1"]
    assert found.rows[0]["verdict"] == "differ"


def test_a_correction_of_the_old_key_without_a_late_command_explains_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = {"3": (DIFFER, [moved(2)]), "2": (AGREE, [{"verdict": "wins", "_ts": 1}])}

    found, _ = asked(monkeypatch, log, causes={"2": "adopted"})

    assert found.rows[0]["verdict"] == "differ"


def test_a_key_that_agrees_is_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, questions = asked(monkeypatch, {"3": (AGREE, [moved(2)])})
    assert questions == ["3"]
