"""Builds the site: `python docs/site/build.py`, or `make docs`.

The pages are those of the repository. Links that leave `docs/` are turned to pages of the site, and
those to the YAML of macros to a reference that is made of it. zensical then builds the site, and
stops at a link that leads nowhere. Nothing needs a network.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TARGET = ROOT / "target" / "site"

LINK = re.compile(r"(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
FENCE = re.compile(r"^ *`{3}.*?^ *`{3}\s*$", re.DOTALL | re.MULTILINE)

TITLES = {
    "log": "Log",
    "envelopes": "Envelopes",
    "read": "Read",
    "tests": "Tests",
    "operate": "Operations",
    "collection": "The materialization",
    "columns": "Expressions",
}
"""The folders of macros, in the sequence of the reference."""


def pages() -> dict[Path, str]:
    """The files of the repository that are pages, each with its name in the site."""
    found = {
        ROOT / "README.md": "index.md",
        ROOT / "CHANGELOG.md": "changelog.md",
        ROOT / "CONTRIBUTING.md": "contributing.md",
        ROOT / "docs" / "README.md": "pages.md",
    }
    for page in sorted((ROOT / "docs").rglob("*.md")):
        found.setdefault(page, str(page.relative_to(ROOT / "docs")))
    for picture in sorted((ROOT / "docs" / "pictures").iterdir()):
        found[picture] = f"pictures/{picture.name}"
    return found


def references() -> list[Path]:
    """The files that describe macros for users, in the sequence of the reference."""
    files = [*(ROOT / "macros").glob("*/_*.yml")]
    order = list(TITLES)
    return sorted(files, key=lambda file: order.index(file.parent.name))


def with_links_of_the_site(text: str, page: Path, names: dict[Path, str]) -> str:
    """The text of a page with the links that it has in the site.

    A link to a file that is no page becomes plain text.

    Raises:
        ValueError: A link leads to no file.
    """
    depth = names[page].count("/")

    def turn(found: re.Match[str]) -> str:
        target, _, heading = found["target"].partition("#")
        if re.match(r"[a-z]+:", found["target"]) or not target:
            return found[0]
        file = (page.parent / target).resolve()
        anchor = f"#{heading}" if heading else ""
        if file in names:
            return f"{found['mark']}[{found['text']}]({'../' * depth}{names[file]}{anchor})"
        if file in references():
            return f"[{found['text']}]({'../' * depth}reference.md#{anchor_of(file)})"
        if not file.exists():
            message = f"{page.relative_to(ROOT)} links to {target}, which does not exist"
            raise ValueError(message)
        return found["text"]

    parts, at = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(turn, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, LINK.sub(turn, text[at:])])


def anchor_of(file: Path) -> str:
    """The anchor of a folder in the reference."""
    return TITLES[file.parent.name].lower().replace(" ", "-")


def reference() -> str:
    """The page of all macros for users, from their own descriptions."""
    parts = ["# Reference of macros", "This page is made of the descriptions of the macros."]
    for file in references():
        parts.append(f"## {TITLES[file.parent.name]}")
        for macro in yaml.safe_load(file.read_text())["macros"]:
            parts += described(macro)
    return re.sub(r"\bdocs/([\w-]+\.md)", link_of_page, "\n\n".join(parts) + "\n")


def link_of_page(found: re.Match[str]) -> str:
    """A link to a page that a description names by its path, with the title of the page."""
    title = (ROOT / found[0]).read_text().partition("\n")[0].removeprefix("# ")
    return f"[{title}]({found[1]})"


def described(macro: dict[str, Any]) -> list[str]:
    """The parts of the reference for one macro, data test or materialization."""
    name = macro["name"]
    if name.startswith("materialization_"):
        heading = f"### materialized='{name.split('_')[1]}'"
    else:
        heading = f"### trueup.{name.removeprefix('test_')}"
    parts = [heading, macro["description"].strip()]
    arguments = [
        f"| `{each['name']}` | {each['type']} | {' '.join(each['description'].split())} |"
        for each in macro.get("arguments", [])
        if not (name.startswith("test_") and each["name"] == "model")
    ]
    if arguments:
        parts.append(
            "\n".join(["| argument | type | meaning |", "| --- | --- | --- |", *arguments])
        )
    return parts


def write_pages() -> None:
    """Write the pages, the reference and the settings of zensical to the target folder."""
    shutil.rmtree(TARGET, ignore_errors=True)
    names = pages()
    for page, name in names.items():
        file = TARGET / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            file.write_text(with_links_of_the_site(page.read_text(), page, names))
        else:
            shutil.copy(page, file)
    (TARGET / "pages" / "reference.md").write_text(reference())
    shutil.copy(HERE / "site.css", TARGET / "pages")
    shutil.copy(HERE / "zensical.toml", TARGET)


def main() -> int:
    """Build the site. Return the exit code of zensical."""
    write_pages()
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=TARGET, check=False).returncode  # noqa: S603 - our own words


if __name__ == "__main__":
    sys.exit(main())
