"""Checks the pages: links work, every page can be reached, and lists are complete."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from dbt_trueup.command_line.program import trueup
from dbt_trueup.plugin.commit_conflicts import _MESSAGES
from dbt_trueup.plugin.storage import FAULTS
from tests.macros.package import in_model

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2", re.DOTALL | re.MULTILINE)
TRUEUP = in_model("files")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose_of(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text())


def links_of(page: Path) -> list[tuple[Path, str]]:
    """Each relative link of a page: the file that it names, and the heading in it."""
    targets = re.findall(r"\]\(([^()\s]+)\)", prose_of(page))
    parts = [target.partition("#") for target in targets if not re.match(r"[a-z]+:", target)]
    return [
        ((page.parent / unquote(path)).resolve() if path else page, heading)
        for path, _, heading in parts
    ]


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    anchors: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", prose_of(page), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.add(f"{anchor}-{anchors[anchor]}" if anchors[anchor] else anchor)
        anchors[anchor] += 1
    return found


def first_cells(page: Path, heading: str | None = None) -> list[str]:
    """The first cell of each row of the tables of a page, or of those under a heading."""
    text = prose_of(page)
    if heading:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| *(.*?) *\|", text, re.MULTILINE)
    heads = [at - 1 for at, cell in enumerate(rows) if re.fullmatch("-+", cell)]
    return [
        cell for at, cell in enumerate(rows) if at not in heads and not re.fullmatch("-+", cell)
    ]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for file, heading in links_of(page):
        assert file.exists(), f"{name_of(page)} links to {file}"
        if heading and file.suffix == ".md":
            assert heading in anchors_of(file), f"{name_of(page)} links to {file}#{heading}"


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = set(), {INDEX}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        linked = {file for file, _ in links_of(page) if file.suffix == ".md" and file.exists()}
        waiting |= {file for file in linked if DOCS in file.parents} - reached

    assert sorted(map(name_of, set(DOCS.rglob("*.md")) - reached)) == []


def test_the_glossary_defines_at_most_forty_words_each_once() -> None:
    words = Counter(word.lower() for word in first_cells(DOCS / "glossary.md"))

    assert 20 < len(words) <= 40
    assert [word for word, count in words.items() if count > 1] == []


def test_the_pages_stay_short() -> None:
    """A person reads a set of about fourteen pages and 3,500 lines. Nobody reads twice that."""
    pages = [page for page in PAGES if page.parent != DOCS / "decisions"]

    assert len(pages) <= 18
    assert sum(len(page.read_text().splitlines()) for page in pages) < 3500


def sentences_of(page: Path) -> list[str]:
    """The sentences of a page and of the cells of its tables, without code and links."""
    text = re.sub(r"`[^`]*`", "", prose_of(page))
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\|", text)
    return [part for each in parts for part in re.split(r"(?<=[.:;!?])\s+", " ".join(each.split()))]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name != "decisions"], ids=name_of
)
def test_no_sentence_needs_a_second_read_because_it_is_long(page: Path) -> None:
    sentences = sentences_of(page)

    assert len(sentences) > 10
    assert [one for one in sentences if len(re.findall(r"[\w'-]+", one)) > 28] == []


def test_the_torture_table_has_a_line_for_each_case() -> None:
    cases = json.loads((ROOT / "tests" / "acceptance" / "order_cases.json").read_text())["cases"]
    table = (DOCS / "evidence.md").read_text().partition("## The torture table")[2]
    lines = re.findall(r"^\| .* \| `(\w+)` \|$", table.partition("\n## ")[0], re.MULTILINE)

    assert Counter(lines) == Counter(case["name"] for case in cases)


def test_the_page_of_options_has_the_default_of_each() -> None:
    table = prose_of(DOCS / "options.md").partition("## Options of a collection")[2]
    rows = re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \| `?(\w+)`? \|", table, re.MULTILINE)
    rules = TRUEUP._store_option_rules()

    assert dict(rows) == {name: str(rule["default"]).lower() for name, rule in rules.items()}


def test_the_page_of_columns_has_all_reserved_names() -> None:
    text = prose_of(DOCS / "macros.md").partition("## Reserved names")[2]

    names = [*TRUEUP._own_columns(), *TRUEUP._names_within_statements()]
    assert re.findall(r"`(_\w+)`", text) == names


def test_a_name_within_a_statement_is_reserved() -> None:
    """Else a user's column of that name is read in its place."""
    folders = ["collection", "fold", "operate", "read", "store", "trust"]
    files = [file for name in folders for file in (ROOT / "macros" / name).glob("*.sql")]
    names = {
        name
        for file in files
        for name in re.findall(r"\bas (_[a-z_]*[a-z])\b(?!\s*\()", file.read_text())
    }

    assert len(names) > 50
    assert {name for name in names if not TRUEUP._own_name_like(name)} == set()


@lru_cache
def words_in_code() -> frozenset[str]:
    """All words that a page shows as code, except those of the decisions."""
    found = set[str]()
    for page in DOCS.glob("*.md"):
        text = page.read_text()
        code = [block[0] for block in FENCE.finditer(text)]
        code += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
        found |= {word for part in code for word in re.findall(r"\w+", part)}
    return frozenset(found)


def vars_of_macros() -> set[str]:
    """The vars that macros ask for, also by a default."""
    text = "".join(file.read_text() for file in (ROOT / "macros").rglob("*.sql"))
    return set(re.findall(r"_var\(\s*'(trueup_\w+)'", text))


def public_macros() -> set[str]:
    names = {macro for macro in TRUEUP.macros if not macro.startswith(("_", "materialization_"))}
    return {macro.removeprefix("test_") for macro in names}


@pytest.mark.parametrize(
    ("what", "least", "names"),
    [
        ("option", 6, set(TRUEUP._store_option_rules())),
        ("var", 3, vars_of_macros()),
        ("public macro or data test", 10, public_macros()),
        ("argument of `trueup.commands`", 10, set(TRUEUP.macro("commands").arguments)),
        ("column of the store", 8, set(TRUEUP._store_column_names()) - {"_digest", "_length"}),
        ("command of the program", 5, set(trueup.commands)),
        ("monitoring model", 4, {file.stem for file in (ROOT / "models").glob("operat*/*.sql")}),
    ],
)
def test_every_name_that_a_user_may_meet_is_documented(
    what: str, least: int, names: set[str]
) -> None:
    assert len(names) >= least, what
    assert sorted(names - words_in_code()) == [], what


def test_every_page_names_only_options_that_exist() -> None:
    """An example of `meta: {trueup: {...}}` has known options. `allow` is one of `trueup lint`."""
    rules = {*TRUEUP._store_option_rules(), "allow"}
    given = {
        name
        for page in PAGES
        for options in re.findall(r"trueup'?: \{([^{}.]*)\}", page.read_text())
        for name in re.findall(r"(?:^|, *)'?(\w+)'?:", options)
    }
    assert given
    assert sorted(given - rules) == []


def test_every_message_of_a_fault_is_documented() -> None:
    """How each message of a lost race and of a fault of the storage begins."""
    written = [*_MESSAGES.values(), *(fault.says for fault in FAULTS)]
    macros = "".join(file.read_text() for file in (ROOT / "macros").rglob("*.sql"))
    written += re.findall(r"'((?:upper mismatch|damaged \w+): [^'{]+)", macros)
    beginnings = {re.split(r"[{]", text.lstrip("{} "))[0].strip() for text in written}
    text = " ".join(" ".join(page.read_text().split()) for page in DOCS.glob("*.md"))

    assert len(beginnings) > 5
    assert [each for each in sorted(beginnings) if each[:40] not in text] == []
