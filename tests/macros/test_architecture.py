"""The structure of the macros: the calls between folders, the names and the arguments."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tests.macros.package import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MACROS = ROOT / "macros"
MOST = {"lines": 13_000, "macros": 600}
MOST_ON_THE_WAY = {"macros": 350, "files": 90, "changes of folder": 100}
"""Of the macros that a command passes, from the call in the model to the commit."""

BLOCK = re.compile(
    r"(?P<comment>\{#-(?:(?!#\}).)*?#\}\n)?"
    r"\{%-? (?P<kind>macro|materialization|test) (?P<name>\w+)(?P<head>.*?)-?%\}\n"
    r"(?P<body>.*?)\{%-? end(?P=kind)",
    re.DOTALL,
)
JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)
SQL_COMMENT = re.compile(r"--[^\n]*\n")
QUERY = re.compile(
    r"\b(run_query|load_relation|noop_statement|apply_grants|persist_docs)\(|call statement"
)
CALL = re.compile(r"trueup\.(\w+)\s*\(")
PARAMETER = re.compile(r"(\w+)(?:=[^,]*)?")
PACKAGES = ("trueup", "package")
"""How the tests name an object that has the macros, also as an attribute or a call."""


class Macro(NamedTuple):
    """A macro as it stands in its file."""

    kind: str
    folder: str
    file: Path
    comment: str
    parameters: tuple[str, ...]
    body: str
    calls: tuple[str, ...]


@lru_cache
def macros() -> dict[str, Macro]:
    """Read the macros in all files of the folder `macros`."""
    found = {}
    for file in sorted(MACROS.rglob("*.sql")):
        path = file.relative_to(MACROS)
        for block in BLOCK.finditer(file.read_text()):
            body = re.sub(r"\{#.*?#\}", "", block["body"], flags=re.DOTALL)
            head = (
                re.search(r"\((.*)\)", block["head"], re.DOTALL)
                if block["kind"] == "macro"
                else None
            )
            plain = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", head[1]) if head else ""
            name = f"test_{block['name']}" if block["kind"] == "test" else block["name"]
            found[name] = Macro(
                block["kind"],
                path.parts[0],
                path,
                block["comment"] or "",
                tuple(match[1] for match in PARAMETER.finditer(plain)),
                body,
                tuple(CALL.findall(body)),
            )
    return found


def internal() -> list[str]:
    """Return the names of the macros that are not for users."""
    return [name for name, macro in macros().items() if name.startswith("_")]


def asks(name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Return True if a macro, or a macro that it calls, queries or changes the warehouse."""
    macro = macros().get(name)
    if macro is None or name in seen:
        return False
    return bool(QUERY.search(macro.body)) or any(asks(one, seen | {name}) for one in macro.calls)


def test_the_house_is_small() -> None:
    lines = sum(len(file.read_text().splitlines()) for file in MACROS.rglob("*.sql"))

    assert 1_000 < lines <= MOST["lines"]
    assert 100 < len(macros()) <= MOST["macros"]


def test_the_way_of_a_command_is_short() -> None:
    """Each macro counts at its first call, and every folder counts."""
    way: list[str] = []
    unread = set(macros())

    def follow(name: str) -> None:
        if name in unread:
            unread.remove(name)
            way.append(name)
            for called in macros()[name].calls:
                follow(called)

    for entry in ("commands", "trueup"):
        follow(entry)
    folders = [macros()[name].folder for name in way]
    found = {
        "macros": len(way),
        "files": len({macros()[name].file for name in way}),
        "changes of folder": sum(one != another for one, another in pairwise(folders)),
    }
    assert found["macros"] > 50
    assert {name: n for name, n in found.items() if n > MOST_ON_THE_WAY[name]} == {}


def test_no_folder_calls_back() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for macro in macros().values():
        graph[macro.folder] |= {macros()[one].folder for one in macro.calls if one in macros()}

    def reached(start: str) -> set[str]:
        found, waiting = set[str](), {start}
        while waiting:
            new = graph[waiting.pop()] - found - {start}
            found |= new
            waiting |= new
        return found

    reach = {folder: reached(folder) for folder in [*graph]}
    assert [folder for folder in reach if any(folder in reach[one] for one in reach[folder])] == []


def test_every_called_macro_exists() -> None:
    for name, macro in macros().items():
        assert not set(macro.calls) - macros().keys(), name


def test_the_name_of_an_internal_macro_shows_whether_it_queries() -> None:
    named = {name for name in internal() if not name.startswith(("_require_", "_report_"))}
    wrong = {name for name in named if asks(name) != name.startswith(("_get_", "_ensure_"))}

    assert wrong == set()


def test_a_get_macro_changes_nothing() -> None:
    change = re.compile(r"_sql\(|_ensure_|declare or replace|set var")
    getters = [name for name in internal() if name.startswith("_get_")]

    assert getters
    assert [name for name in getters if change.search(macros()[name].body)] == []


def text_of(name: str) -> str:
    """Return the text that a macro writes, without Jinja's statements and comments."""
    body = re.sub(
        r"\{%- set \w+ -?%\}.*?\{%- endset -?%\}", "", macros()[name].body, flags=re.DOTALL
    )
    return SQL_COMMENT.sub("", JINJA.sub("", body)).strip()


def written(ending: str) -> dict[str, str]:
    """Return the texts of the macros with this ending that write SQL, not return a value."""
    texts = {name: text_of(name) for name in internal() if name.endswith(ending)}
    found = {name: text for name, text in texts.items() if not text.startswith("{{ return(")}
    assert found, f"no macro ends with {ending}"
    return found


def not_beginning_with(pattern: str, texts: dict[str, str]) -> dict[str, str]:
    """Return the macros whose text does not begin as it must, with the line they begin with."""
    return {
        name: text.partition("\n")[0] for name, text in texts.items() if not re.match(pattern, text)
    }


def test_a_select_macro_begins_with_select_with_or_describe() -> None:
    assert not_beginning_with(r"(select|with|describe)\b", written("_select")) == {}


def test_a_ctes_macro_begins_with_the_name_of_a_cte() -> None:
    cte = r"(?!with\b)(\w+ as \(|\{\{ trueup\._\w+_ctes\()"

    assert not_beginning_with(cte, written("_ctes")) == {}


def test_the_comment_of_a_ctes_macro_names_its_input_and_its_last_cte() -> None:
    comments = {name: macros()[name].comment for name in internal() if name.endswith("_ctes")}

    assert comments
    assert [name for name, comment in comments.items() if "Reads:" not in comment] == []
    assert [name for name, comment in comments.items() if "Ends with:" not in comment] == []


def test_a_statement_macro_begins_with_its_marker() -> None:
    assert not_beginning_with(r"\{\{ trueup\._step_marker\(", written("_sql")) == {}


def test_every_internal_macro_has_a_comment_with_a_sentence() -> None:
    sentence = re.compile(r"[.:;`)]\s*-#\}\n$|\.\s")

    assert [name for name in internal() if not sentence.search(macros()[name].comment)] == []


def test_an_internal_macro_takes_few_arguments() -> None:
    counts = {name: len(macros()[name].parameters) for name in internal()}

    assert counts
    assert {name: each for name, each in counts.items() if each > 6} == {}


def calls_of_macros(tree: ast.Module) -> Iterator[tuple[ast.Call, str, list[ast.expr]]]:
    """Find the calls `trueup._x(...)` and `refused(trueup._x, ...)`: name and arguments."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function, arguments = call.func, call.args
        if isinstance(function, ast.Name) and function.id == "refused" and arguments:
            function, *arguments = arguments
        if not isinstance(function, ast.Attribute):
            continue
        owner = function.value
        if isinstance(owner, ast.Attribute):
            named = owner.attr
        elif isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name):
            named = "package" if owner.func.id == "in_model" else ""
        else:
            named = owner.id if isinstance(owner, ast.Name) else ""
        if named.lower() in PACKAGES and (
            function.attr in macros() or function.attr.startswith("_")
        ):
            yield call, function.attr, arguments


def test_python_calls_macros_that_exist_with_arguments_that_they_take() -> None:
    """The call may stand in a benchmark, or in a test that `make test` leaves out."""
    wrong, count = [], 0
    files = [path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    for file in sorted(files):
        for call, name, arguments in calls_of_macros(ast.parse(file.read_text())):
            count += 1
            place = f"{file.relative_to(ROOT)}:{call.lineno}: {name}"
            if name not in macros():
                wrong.append(f"{place} does not exist")
                continue
            if macros()[name].kind != "macro":
                continue
            taken, given = macros()[name].parameters, [word.arg for word in call.keywords]
            is_spread = any(isinstance(each, ast.Starred) for each in arguments)
            positional = 0 if is_spread else len(arguments)
            unknown = {word for word in given if word} - set(taken)
            twice = set(taken[:positional]) & set(given)
            takes_all = re.search(r"\bkwargs\b", macros()[name].body)
            if positional > len(taken) or twice or (unknown and not takes_all):
                wrong.append(f"{place} takes {', '.join(taken) or 'nothing'}")

    assert count > 20
    assert wrong == []


def test_no_macro_needs_a_newer_jinja_than_dbt() -> None:
    """Jinja before 3.1.5 refuses to set two attributes at once, and dbt allows 3.1.3."""
    at_once = re.compile(r"{%-?\s*set\s+\w+\.\w+\s*,")
    assert at_once.search("{%- set found.is_all, found.count = true, 1 -%}")
    files = list((ROOT / "macros").rglob("*.sql"))
    assert [file.name for file in files if at_once.search(file.read_text())] == []
    assert len(files) > 30
