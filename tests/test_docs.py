"""Checks the pages: links work, every page can be reached, and lists are complete."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from dbt.cli.main import dbtRunner

from dbt_trueup.plugin.commit_conflicts import _MESSAGES
from dbt_trueup.plugin.storage import FAULTS
from tests.macros.package import in_model

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2", re.DOTALL | re.MULTILINE)
TRUEUP = in_model("files")
LABELLED = re.compile(r"^```\w+\n(?:#|--) ([\w/.]+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""A file that a page shows in full: a comment with its path, then its text."""


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


def test_the_readme_links_to_the_index_and_the_torture_table() -> None:
    assert {INDEX, DOCS / "torture.md"} <= {file for file, _ in links_of(ROOT / "README.md")}


def test_the_glossary_defines_each_word_once() -> None:
    words = Counter(word.lower() for word in first_cells(DOCS / "glossary.md"))

    assert len(words) > 20
    assert [word for word, count in words.items() if count > 1] == []


def test_every_field_of_the_statistics_is_on_the_page_of_columns() -> None:
    fields = [f"`{field['name']}`" for field in TRUEUP._statistics_fields()]

    assert first_cells(DOCS / "columns.md", "Statistics") == fields


def test_every_reserved_name_is_on_the_page_of_columns() -> None:
    text = prose_of(DOCS / "columns.md").partition("## Reserved names")[2]

    assert re.findall(r"`(_\w+)`", text) == list(TRUEUP._own_columns())


def test_every_public_macro_and_data_test_is_on_the_page_of_macros() -> None:
    text = (DOCS / "macros.md").read_text()
    public = [macro for macro in TRUEUP.macros if not macro.startswith(("_", "materialization_"))]
    names = [f"trueup.{macro.removeprefix('test_')}" for macro in public]

    assert [each for each in names if not re.search(rf"{re.escape(each)}\b", text)] == []


def beginnings_of_messages() -> set[str]:
    """How each message of a lost race, of damage, and of the doctor begins."""
    macros = "".join(file.read_text() for file in (ROOT / "macros").rglob("*.sql"))
    written = re.findall(r"'((?:upper mismatch|\w+ moved|damaged \w+): [^'{]+)", macros)
    # A check without a next step is well.
    checks = re.findall(r"_check_result\(\s*'([^'{]+)((?:[^()]|\([^()]*\))*)\)", macros)
    written += [text for text, rest in checks if re.search(r"',\s|\),\s|,\n", rest)]
    written += [text for message in _MESSAGES.values() for text in message.split("{}")[:1] if text]
    written += [fault.says.partition("{}")[0] for fault in FAULTS]
    # The page has three dots where a message has a name or a number.
    return {" ".join(text.split()[:6]).rstrip(",") for text in written}


def test_every_message_is_on_the_page_for_the_person_who_repairs() -> None:
    text = " ".join((DOCS / "when-something-is-wrong.md").read_text().split())
    found = beginnings_of_messages()
    assert len(found) > 30
    assert [beginning for beginning in sorted(found) if beginning not in text] == []


@pytest.mark.slow
def test_the_project_on_the_start_page_has_seven_models_and_parses(
    home: Path, tmp_path: Path
) -> None:
    files: dict[str, str] = {"packages.yml": ""}
    for path, text in LABELLED.findall((DOCS / "start.md").read_text()):
        files[path] = files.get(path, "") + text
    files["packages.yml"] = yaml.safe_dump({"packages": [{"local": str(ROOT)}]})
    assert sum(path.endswith(".sql") for path in files) == 7

    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    # The configs name a seed that is missing here, because the page shows it as plain text.
    quiet = ["--quiet", "--project-dir", str(tmp_path), "--profiles-dir", str(home)]
    for command in (["deps"], ["parse", "--no-partial-parse"]):
        invoked = dbtRunner().invoke([*command, *quiet])
        assert invoked.success, invoked.exception
