"""Small git repositories for the tests to read."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timezone
from itertools import chain, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FILE, PROGRAM, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"
ONE_COMMIT, OTHER_COMMIT = "1" * 40, "2" * 40
NOON = datetime(2020, 2, 29, 12, tzinfo=timezone.utc)

ODD_PATHS = {
    b" two  blanks ": " two  blanks ",
    b"-n": "-n",
    b":000000 100644": ":000000 100644",
    b"'quotes\" and \\back\\slash\\": "'quotes\" and \\back\\slash\\",
    b"line\nend\ttab\rreturn": "line\nend\ttab\rreturn",
    b"\n:starts with a line end": "\n:starts with a line end",
    b"trailing line end\n": "trailing line end\n",
    "übung/日本.txt".encode(): "übung/日本.txt",
    "u\u0308bung/日本.txt".encode(): "u\u0308bung/日本.txt",
    "🦆.sql".encode(): "🦆.sql",
    b"100%25": "100%25",
    b"100% caf\xe9": "100%25 caf%E9",
    b"\xff\xfe/\xed\xa0\x80": "%FF%FE/%ED%A0%80",
}

SIGNED_COMMIT = """tree {tree}
parent {parent}
author A <a@example.com> 1000000000 +0000
committer C <c@example.com> 1000000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 c2lnbmVk
 -----END PGP SIGNATURE-----

signed
"""

Content = tuple[str, str]
"""Mode and text; for a submodule, mode and commit."""


def git(repository: Path, *arguments: str, given: bytes = b"") -> str:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(repository), *arguments]
    ran = subprocess.run(command, input=given, env=environment, check=True, capture_output=True)
    return ran.stdout.decode(errors="replace").strip()


def new_repository(path: Path) -> Path:
    git(path.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(path))
    return path


def commit(
    repository: Path,
    files: Mapping[bytes, Content | None],
    *,
    parents: Iterable[str] | None = None,
    branch: str = "main",
    at: str = f"{NOON.timestamp():.0f} +0000",
) -> str:
    """Commit on top of the first of `parents`, by default the branch. None deletes a path."""
    if parents is None:
        tip = git(repository, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        parents = [tip] if tip else []
    lines = [
        b"commit refs/heads/%b" % branch.encode(),
        b"author A <a@example.com> 1000000000 +0000",
    ]
    lines += [b"committer C <c@example.com> %b" % at.encode(), b"data 0"]
    relations = chain([b"from"], repeat(b"merge"))
    lines += [b"%b %b" % pair for pair in zip(relations, map(str.encode, parents), strict=False)]
    # Deletions come first, so that a folder can replace a file of the same name.
    for path, content in sorted(files.items(), key=lambda item: item[1] is not None):
        lines += _file_lines(b'"%b"' % b"".join(b"\\%03o" % byte for byte in path), content)
    git(repository, "fast-import", "--quiet", "--force", given=b"\n".join([*lines, b""]))
    return git(repository, "rev-parse", f"refs/heads/{branch}")


def _file_lines(path: bytes, content: Content | None) -> list[bytes]:
    if content is None:
        return [b"D %b" % path]
    mode, text = (part.encode() for part in content)
    if content[0] == SUBMODULE:
        return [b"M %b %b %b" % (mode, text, path)]
    return [b"M %b inline %b" % (mode, path), b"data %d" % len(text), text]


def make_story(path: Path) -> Path:
    """Make a repository with every kind of change that a path can have."""
    repository = new_repository(path)
    steps: list[dict[bytes, Content | None]] = [
        {b"a": (FILE, "one"), b"b": (FILE, "two"), b"run": (PROGRAM, "go"), b"Run": (FILE, "")},
        {b"a": (FILE, "one, changed")},
        {},
        {b"b": None, b"renamed/b": (FILE, "two")},
        {b"run": (FILE, "go")},
        {b"a": (SYMLINK, "run")},
        {b"a": None},
        {b"a": (FILE, "one, changed")},
        {b"a": None, b"a/file in its place": (FILE, "one")},
        {b"vendored": (SUBMODULE, ONE_COMMIT)},
        {b"vendored": (SUBMODULE, OTHER_COMMIT)},
        {b"vendored": (FILE, "copied")},
        dict.fromkeys(ODD_PATHS, (FILE, "odd")),
        dict.fromkeys(ODD_PATHS, (PROGRAM, "odd")),
    ]
    names = [commit(repository, files) for files in steps]
    side = {b"run": None, b"from the side": (FILE, "1"), b"a": (FILE, "one")}
    commit(repository, side, parents=[names[7]], branch="side")
    theirs = commit(repository, {b"from the side": (FILE, "2")}, branch="side")
    merged = {b"run": None, b"from the side": (FILE, "2"), b"of the merge": (FILE, "")}
    merge = commit(repository, merged, parents=[names[-1], theirs])
    commit(repository, {}, parents=[merge, names[0], theirs])
    the_whole_tree = b""
    commit(repository, {the_whole_tree: None})
    last = commit(repository, {b"a": (FILE, "one"), b"vendored": (SUBMODULE, ONE_COMMIT)})
    tree = git(repository, "rev-parse", f"{merge}^{{tree}}")
    signed = SIGNED_COMMIT.format(tree=tree, parent=last).encode()
    name = git(repository, "hash-object", "-t", "commit", "-w", "--stdin", given=signed)
    git(repository, "update-ref", "refs/heads/main", name)
    return repository
