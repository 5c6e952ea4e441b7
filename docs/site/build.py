"""Builds the site: `.venv/bin/python docs/site/build.py`, or `make docs`.

The pages are those of the repository. Three more pages are the reference: of macros from their
YAML, of commands from their help, and of Python from its docstrings. Links that leave `docs/` are
turned to pages of the site. zensical then builds the site, and stops at a link that leads nowhere.
Nothing needs a network.
"""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import yaml

from dbt_trueup.command_line.program import trueup

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TARGET = ROOT / "target" / "site"
PYTHON = ROOT / ".venv" / "docs" / "bin" / "python"
"""zensical and dbt need different versions of one package, so it has a Python of its own."""

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

MODULES = {
    "SQL aggregates": ["dbt_trueup.udfs.aggregates"],
    "The same for one key, in plain Python": [
        "dbt_trueup.udfs.accumulator",
        "dbt_trueup.udfs.checksums.checksum",
    ],
    "Great Expectations": [
        "dbt_trueup.expectations",
        "dbt_trueup.expectations.suite.build_suite",
    ],
    "Errors": ["dbt_trueup.errors"],
}
"""The modules and functions of Python for users, in the sequence of the reference."""


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


def files_of_macros() -> list[Path]:
    """The files that describe macros for users, in the sequence of the reference."""
    files = [*(ROOT / "macros").glob("*/_*.yml")]
    order = list(TITLES)
    return sorted(files, key=lambda file: order.index(file.parent.name))


def references() -> dict[Path, str]:
    """Where the reference has what these files describe."""
    return {
        **{file: f"macro-reference.md#{anchor_of(file)}" for file in files_of_macros()},
        ROOT / "src" / "dbt_trueup" / "command_line" / "program.py": "command-reference.md",
        ROOT / "udfs" / "aggregates.py": "python-reference.md",
    }


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
            return f"[{found['text']}]({'../' * depth}{references()[file]})"
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


def reference_of_macros() -> str:
    """The page of all macros for users, from their own descriptions."""
    parts = ["# Reference of macros", "This page is made of the descriptions of the macros."]
    for file in files_of_macros():
        parts.append(f"## {TITLES[file.parent.name]}")
        for macro in yaml.safe_load(file.read_text())["macros"]:
            parts += described(macro)
    return re.sub(r"`?\bdocs/([\w-]+\.md)`?", link_of_page, "\n\n".join(parts) + "\n")


def link_of_page(found: re.Match[str]) -> str:
    """A link to a page that a description names by its path, with the title of the page."""
    title = (ROOT / "docs" / found[1]).read_text().partition("\n")[0].removeprefix("# ")
    return f"[{title}]({found[1]})"


def described(macro: dict[str, Any]) -> list[str]:
    """The parts of the reference for one macro, data test or materialization."""
    name = macro["name"]
    if name.startswith("materialization_"):
        heading = f"### materialized='{name[16:].removesuffix('_spark')}'"
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


def reference_of_commands() -> str:
    """The page of all commands, from their own help."""
    parts = ["# Reference of commands", "This page is made of `trueup COMMAND --help`."]
    for name, command in trueup.commands.items():
        context = click.Context(command, info_name=f"trueup {name}")
        usage = " ".join([context.info_name or "", *command.collect_usage_pieces(context)])
        rows = [row_of_option(*record) for record in records_of(command, context)]
        parts += [
            f"## trueup {name}",
            f"```text\n{usage}\n```",
            inspect.cleandoc(command.help or ""),
        ]
        parts += ["\n".join(["| option | meaning |", "| --- | --- |", *rows])]
        epilog = re.sub(r"\n*\x08\n", r"\n\n", command.epilog or "").strip()
        parts += [f"```text\n{epilog}\n```"]
    return "\n\n".join(parts) + "\n"


def records_of(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """What the help says of each option: its words, and what it means."""
    records = [option.get_help_record(context) for option in command.params]
    return [record for record in records if record]


def row_of_option(words: str, meaning: str) -> str:
    """A row of the table of options. The choices of an option follow its meaning.

    Example:
        >>> row_of_option("--format [json|<text>]", "Like <this>.")
        '| `--format` | Like &lt;this>. One of `json`, `<text>`. |'
    """
    words, _, choices = words.partition(" [")
    named = ", ".join(f"`{choice}`" for choice in choices.rstrip("]").split("|") if choice)
    meaning = meaning.replace("<", "&lt;")
    return f"| `{words}` | {meaning}{f' One of {named}.' if named else ''} |"


def reference_of_python() -> str:
    """The page of Python for users. mkdocstrings replaces each name by what its docstrings say."""
    parts = ["# Reference of Python", "This page is made of the docstrings."]
    for title, names in MODULES.items():
        parts += [f"## {title}", *(f"::: {name}" for name in names)]
    return "\n\n".join(parts) + "\n"


def copy_sources(target: Path) -> None:
    """Copy the sources to where mkdocstrings finds them under the names that Python knows.

    It knows only the plural of the heading of an example.
    """
    for folder, place in ((ROOT / "src" / "dbt_trueup", target), (ROOT / "udfs", target / "udfs")):
        for file in folder.rglob("*.py"):
            copy = place / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = file.read_text()
            copy.write_text(re.sub(r"^( +)Example:$", r"\1Examples:", text, flags=re.MULTILINE))


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
    (TARGET / "pages" / "macro-reference.md").write_text(reference_of_macros())
    (TARGET / "pages" / "command-reference.md").write_text(reference_of_commands())
    (TARGET / "pages" / "python-reference.md").write_text(reference_of_python())
    copy_sources(TARGET / "python" / "dbt_trueup")
    for name in ("site.css", "site.js"):
        shutil.copy(HERE / name, TARGET / "pages")
    shutil.copy(HERE / "zensical.toml", TARGET)


def main() -> int:
    """Build the site. Return the exit code of zensical."""
    write_pages()
    command = [str(PYTHON), "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=TARGET, check=False).returncode  # noqa: S603 - our own words


if __name__ == "__main__":
    sys.exit(main())
