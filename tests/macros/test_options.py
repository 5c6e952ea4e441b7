"""The options, vars and key of a collection: their defaults, and the values that are refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.macros.package import ROOT, QueriedError, in_model, models, node, refused

RULES: dict[str, dict[str, Any]] = in_model("files_batch")._option_rules()
NO_INTEGERS = ["1", 1.0, True, None, [1]]
BAD: dict[str, list[object]] = {
    "boolean": ["true", 1, None, "", [True]],
    "integer": NO_INTEGERS,
    "positive integer": [*NO_INTEGERS, 0, -1],
    "expression": ["", "  ", 7, None, ["max(ts)"]],
    "name": ["", "  ", 7, None, ["error"]],
    "list": ["files", {}, [""], ["a", "A"], None, 7],
    "count or share": ["10", -1, -0.1, 1.5, True, None, [1]],
    "ticks or a time": ["never", "30", 0, -1, 1.5, True, None, ["1 day"]],
    "schedule": ["1 hour", {}, {"each": 1}, None],
    "always, never, or a positive integer": [
        "sometimes",
        "",
        "3",
        0,
        -1,
        1.5,
        True,
        None,
        ["always"],
    ],
    "always, content, never, or a positive integer": ["sometimes", "3", 0, 1.5, True, None],
}
GOOD: dict[str, object] = {
    "boolean": True,
    "integer": -3,
    "positive integer": 3,
    "expression": "log_upper - 1",
    "name": "error",
    "list": ["files"],
    "count or share": 0.1,
    "ticks or a time": "30 days",
    "schedule": {"every": "1 hour"},
    "always, never, or a positive integer": 7,
    "always, content, never, or a positive integer": "content",
}
NO_CHOICES = ["never", "", None, True, ["drop"]]


def bad_values() -> list[tuple[str, object]]:
    return [
        (name, value)
        for name, rule in RULES.items()
        for value in (BAD[rule["allowed"]] if isinstance(rule["allowed"], str) else NO_CHOICES)
    ]


def good_values() -> list[tuple[str, object]]:
    return [
        (name, value)
        for name, rule in RULES.items()
        for value in (
            [GOOD[rule["allowed"]]] if isinstance(rule["allowed"], str) else rule["allowed"]
        )
    ]


@pytest.mark.parametrize("options", [None, {}])
def test_an_option_that_is_not_set_has_its_default(options: object) -> None:
    found = in_model("files_batch", options=options)._options()

    assert found == {name: rule["default"] for name, rule in RULES.items()}


@pytest.mark.parametrize(("name", "value"), good_values())
def test_setting_an_option_does_not_change_the_others(name: str, value: object) -> None:
    found = in_model("files_batch", options={name: value})._options()

    assert found == {name: rule["default"] for name, rule in RULES.items()} | {name: value}


def test_an_unknown_option_is_refused_with_the_list_of_options() -> None:
    trueup = in_model("files_batch", options={"late": "drop", "lat": "drop"})

    assert refused(trueup._options) == (
        f"Each option in `meta.trueup` of files_batch must be one of {', '.join(sorted(RULES))}.",
        "Got: lat",
        trueup._config_next_step(),
    )


@pytest.mark.parametrize(("name", "value"), bad_values())
def test_the_error_for_a_bad_value_names_the_allowed_values(name: str, value: object) -> None:
    must, got, _ = refused(in_model("files_batch", options={name: value})._options)

    allowed = "true false" if RULES[name]["allowed"] == "boolean" else RULES[name]["allowed"]
    assert must.startswith(f"Option `{name}` in `meta.trueup` of files_batch must be ")
    for word in allowed.split() if isinstance(allowed, str) else allowed:
        assert word in must
    assert got == f"Got: {value}"


@pytest.mark.parametrize("options", ["late", ["late"], 7])
def test_options_must_be_a_mapping(options: object) -> None:
    must, got, _ = refused(in_model("files_batch", options=options)._options)

    assert must == "`meta.trueup` of files_batch must be a mapping of options."
    assert got == f"Got: {options}"


def test_while_dbt_parses_every_option_has_its_default() -> None:
    found = in_model("files_batch", options={"late": "never"}, execute=False)._options()

    assert found == {name: rule["default"] for name, rule in RULES.items()}


def test_every_option_is_documented_with_its_default_and_allowed_values() -> None:
    page = (ROOT / "docs" / "options.md").read_text()
    rows = dict(
        re.findall(r"^\| `(\w+)` \| (.+? \| .+?) \|", page.partition("### ")[0], re.MULTILINE)
    )

    assert rows.keys() == RULES.keys()
    for name, rule in RULES.items():
        default, allowed = rows[name].split(" | ")
        assert default == ("none" if rule["default"] is None else f"`{rule['default']}`".lower())
        if rule["allowed"] == "boolean":
            assert allowed == "`true`, `false`"
        elif isinstance(rule["allowed"], str):
            assert allowed.split()[-1] == rule["allowed"].split()[-1]
            assert ("positive" in allowed) == ("positive" in rule["allowed"])
        else:
            assert re.findall(r"`(\w+)`", allowed) == rule["allowed"]
        assert f"### `{name}`" in page


def test_every_var_is_documented() -> None:
    page = (ROOT / "docs" / "options.md").read_text()
    files = [file for folder in ("macros", "models") for file in (ROOT / folder).rglob("*.sql")]

    used = {name for file in files for name in re.findall(r"var\('(trueup_\w+)'", file.read_text())}
    assert used <= set(re.findall(r"^### `(trueup_\w+)`", page, re.MULTILINE))
    assert used


SWITCHES = ("trueup_read_only", "trueup_rebase")


def test_a_var_of_the_package_counts_for_all_models() -> None:
    """Below `vars: trueup:`, where dbt wants the vars of a package, it sees only its own models."""
    given = {"trueup": {"trueup_read_only": True, "trueup_until": 7}, "trueup_until": 8}
    trueup = in_model("files_batch", variables=given)
    assert trueup._var("trueup_read_only") is True
    assert trueup._var("trueup_until") == 8


def test_a_var_that_is_not_set_has_its_default() -> None:
    trueup = in_model("files_batch")

    assert trueup._var("trueup_until") is None
    assert [trueup._var(name) for name in SWITCHES] == [False, False]


@pytest.mark.parametrize("until", [None, 0, 340, -7])
def test_trueup_until_may_be_an_integer_or_null(until: object) -> None:
    assert in_model("files_batch", variables={"trueup_until": until})._var("trueup_until") == until


@pytest.mark.parametrize("until", ["340", "", 3.4, True, [340]])
def test_trueup_until_of_another_type_is_refused(until: object) -> None:
    trueup = in_model("files_batch", variables={"trueup_until": until})

    must, got, _ = refused(trueup._var, "trueup_until")

    assert must == "Var `trueup_until` must be an integer, or null for no limit."
    assert got == f"Got: {until}"


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_may_be_true_or_false(name: str) -> None:
    for value in (True, False):
        assert in_model("files_batch", variables={name: value})._var(name) is value


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", ["true", "False", "yes", 1, 0, None, "", [True]])
def test_a_switch_with_another_value_is_refused(name: str, value: object) -> None:
    must, got, _ = refused(in_model("files_batch", variables={name: value})._var, name)

    assert must == f"Var `{name}` must be true or false."
    assert got == f"Got: {value}"


@pytest.mark.parametrize(
    ("age", "ticks"),
    [(1, 1), (604_800, 604_800), ("30 days", 2_592_000_000_000), ("1 millisecond", 1000)],
)
def test_the_age_of_tombstones_is_a_number_of_ticks_or_a_time_in_microseconds(
    age: object, ticks: int
) -> None:
    trueup = in_model("files_batch", options={"late": "newest", "tombstones": age})

    assert trueup._tombstone_ticks(age) == ticks
    assert trueup._options()["tombstones"] == age
    plan = {"lower": ticks, "upper": 3 * ticks}
    assert trueup._tombstones_end(trueup._options(), plan) == 2 * ticks


@pytest.mark.parametrize("age", [0, -1, 2**63, "soon", "0 days", "30", ""])
def test_another_age_of_tombstones_is_refused(age: object) -> None:
    trueup = in_model("files_batch", options={"late": "newest", "tombstones": age})

    must, got, _ = refused(trueup._options)
    assert must.startswith(
        "Option `tombstones` in `meta.trueup` of files_batch must be forever, a "
    )
    assert got == f"Got: {age}"


@pytest.mark.parametrize("role", ["batch", "changelog", "state"])
def test_a_materialization_refuses_a_bad_option_before_it_queries(role: str) -> None:
    trueup = in_model(f"files_{role}", options={"late": "never"})

    must, got, _ = refused(getattr(trueup, f"materialization_trueup_{role}_spark"))
    assert must.startswith(f"Option `late` in `meta.trueup` of files_{role} must be one of drop, ")
    assert got == "Got: never"


@pytest.mark.parametrize("role", ["batch", "changelog", "state"])
def test_a_materialization_with_good_options_goes_on_to_query(role: str) -> None:
    trueup = in_model(f"files_{role}", options={"late": "drop"})

    with pytest.raises(QueriedError):
        getattr(trueup, f"materialization_trueup_{role}_spark")()


@pytest.mark.parametrize("unique_key", [None, [], "", {}])
def test_the_error_for_a_missing_key_says_where_to_set_it(unique_key: object) -> None:
    trueup = in_model("files_batch", unique_key=unique_key)

    must, got, next_step = refused(trueup._unique_key, "batch")

    assert "`trueup.batch` in files_batch: config `unique_key` must be a non-empty list" in must
    assert got == "Got: nothing"
    assert "+unique_key: [...]" in next_step


@pytest.mark.parametrize(
    "unique_key", [7, ["a", "a"], ["a", "A"], ["a", 1], ["a", None], ["a", " "], [["a"]]]
)
def test_a_key_must_be_a_list_of_distinct_names(unique_key: object) -> None:
    trueup = in_model("files_batch", unique_key=unique_key)

    must, got, _ = refused(trueup._unique_key, "batch")

    assert must == (
        "Config `unique_key` of files_batch must be a non-empty list of non-empty strings,"
        " without duplicates."
    )
    assert got == f"Got: {unique_key}"


def known_key(unique_key: object) -> dict[str, Any]:
    """Return the graph of a collection whose commands have this key."""
    commands: dict[str, Any] = {**node("files_commands"), "config": {"unique_key": unique_key}}
    return {**models(), "model.shop.files_commands": commands}


@pytest.mark.parametrize(("keys", "unique_key"), [("a", ["a"]), (["b", "a"], ["b", "a"])])
def test_without_a_configured_key_the_key_of_the_commands_applies(
    keys: object, unique_key: list[str]
) -> None:
    for model, role in (("files_batch", "batch"), ("files", "collection")):
        trueup = in_model(model, unique_key=None, graph=known_key(keys))

        assert trueup._unique_key(role) == unique_key


@pytest.mark.parametrize("keys", ["b", ["a", "b"], ["b", "a"]])
def test_a_configured_key_that_differs_from_the_commands_is_refused(keys: object) -> None:
    trueup = in_model("files_state", unique_key=["a"], graph=known_key(keys))

    must, got, next_step = refused(trueup._unique_key, "state")

    assert must.startswith("Config `unique_key` of files_state must be the key of the commands: ")
    assert got == "Got: a"
    assert next_step.startswith("Make both the same.")


def test_a_configured_key_that_equals_the_key_of_the_commands_is_accepted() -> None:
    trueup = in_model("files_state", unique_key="a", graph=known_key(["a"]))

    assert trueup._unique_key("state") == ["a"]


def test_a_key_given_as_a_string_is_one_column() -> None:
    assert in_model("files_batch", unique_key="two words")._unique_key("batch") == ["two words"]


def test_a_key_keeps_its_columns_in_order() -> None:
    assert in_model("files_batch", unique_key=["b", "a"])._unique_key("batch") == ["b", "a"]


def test_a_missing_key_is_accepted_while_dbt_parses() -> None:
    assert in_model("files_batch", unique_key=None, execute=False)._unique_key("batch") == []


@pytest.mark.parametrize(
    ("options", "variables", "expected"),
    [
        ({}, {}, "fail"),
        ({}, {"trueup_retry": True}, "retry"),
        ({"on_conflict": "fail"}, {"trueup_retry": True}, "fail"),
        ({"on_conflict": "retry", "late": "newest"}, {}, "retry"),
        ({"late": "correct"}, {"trueup_retry": True}, "fail"),
    ],
)
def test_only_a_batch_without_corrections_is_staged_again(
    options: dict[str, object], variables: dict[str, object], expected: str
) -> None:
    trueup = in_model("files_batch", options=options, variables=variables)

    assert trueup._options("files")["on_conflict"] == expected


def test_a_batch_with_corrections_refuses_to_be_staged_again() -> None:
    trueup = in_model("files_batch", options={"late": "correct", "on_conflict": "retry"})

    assert refused(lambda given: given._options("files"), trueup)[0].startswith(
        "Option `on_conflict` in `meta.trueup` of files_batch must be fail or skip, because"
    )
