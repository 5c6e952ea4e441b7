"""A key that differs because a key from which it takes values has a late command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt_trueup.explain import sources
from dbt_trueup.explain.facts import Explanation
from dbt_trueup.explain.sources import explain_with_sources

if TYPE_CHECKING:
    import pytest

AGREE, DIFFER = (
    {"source": "log", "verdict": verdict, "rule": ""} for verdict in ("agree", "differ")
)


def moved(old_key: int, verdict: str = "wins") -> dict[str, Any]:
    return {"verdict": verdict, "_old_key": f'{{"k":{old_key}}}'}


def asked(
    monkeypatch: pytest.MonkeyPatch, log: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]
) -> tuple[Explanation, list[str]]:
    """Explain the key 3 of a log: the row and the commands of each key. Return the keys asked."""
    questions = []

    def explain(
        _: object, name: str, key: dict[str, str], __: object, latest: int | None
    ) -> Explanation:
        questions.append(key["k"])
        row, commands = log[key["k"]]
        return Explanation(name, dict(key), None, [row], commands[:latest], len(commands))

    monkeypatch.setattr(sources, "explain", explain)
    return explain_with_sources([], "c", {"k": "3"}, None, 1), questions


def test_a_late_command_of_the_key_before_the_old_key_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = {"verdict": "late_dropped"}
    log = {
        "3": (DIFFER, [{"verdict": "wins"}, moved(2, "superseded"), moved(9, "not_settled")]),
        "2": (DIFFER, [moved(1), moved(3)]),
        "1": (AGREE, [late]),
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
    late = {"verdict": "late_superseded"}
    found, _ = asked(monkeypatch, {"3": (DIFFER, [moved(2)]), "2": (AGREE, [late])})
    assert (found.rows[0]["verdict"], found.agrees) == ("waits", False)
    assert found.rows[0]["rule"].endswith("; the next run writes the difference")


def test_keys_that_take_values_from_each_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found, questions = asked(monkeypatch, {"3": (DIFFER, [moved(2)]), "2": (AGREE, [moved(3)])})
    assert questions == ["3", "2", "3"]
    assert found.rows[0]["verdict"] == "differ"


def test_a_key_that_agrees_is_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, questions = asked(monkeypatch, {"3": (AGREE, [moved(2)])})
    assert questions == ["3"]
