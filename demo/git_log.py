"""Reads the history of a git repository as keyed commands, and its tree as their expected result.

The key is the path. The log is that of `git log --raw --reverse --first-parent -m --no-renames`: a
merge is one commit, compared with its first parent, and a rename is a deletion and an addition.
The tree comes from git's objects, not from the log. So it is an independent oracle: replaying the
changes up to a commit gives exactly the tree of that commit. No file contents are read.
"""

from __future__ import annotations

import os
import re
import shutil
from datetime import datetime, timezone
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_LOG = (
    *("-c", "log.diffMerges=separate", "log", "--raw", "--reverse", "--first-parent", "-m"),
    *("--root", "--no-renames", "--no-abbrev", "-z", "--format=tformat:%H %ct"),
    # These override settings of the user that would change the log.
    *("--ignore-submodules=none", "--no-relative", f"-O{os.devnull}"),
    *("--no-show-signature", "--encoding=UTF-8"),
)
# Git hooks, for example, set these. They would make git read another repository.
_REDIRECTIONS = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE"),
)
_CHUNK_BYTES = 1 << 16


class GitLogError(RuntimeError):
    """The history cannot be read. The message says what to do."""


class NotAPrefixError(GitLogError):
    """The history that was read before is no longer the start of the history."""


class Change(NamedTuple):
    """A path that a commit changed: one command of the log."""

    commit_no: int
    """Ordinal of the commit along the first parents, from 1. It has gaps, see `read_changes`."""
    change_no: int
    """Ordinal of the change within its commit, from 1."""
    commit: str
    """Hash of the commit."""
    committed_at: datetime
    """Committer time, UTC; 1970-01-01 if git cannot read the time or it is after the year 9999."""
    path: str
    """The key, as `decode_path` writes it. A commit has a path at most once."""
    mode: str | None
    """`100644`, `100755`, `120000` (symlink) or `160000` (submodule); None for a deletion."""
    blob: str | None
    """Hash of the content, or of the commit of a submodule; None for a deletion."""
    op: str
    """`A` added, `M` modified, `D` deleted, `T` changed type."""


class TreeRow(NamedTuple):
    """A path in the tree of a commit. The fields mean the same as in `Change`."""

    path: str
    mode: str
    blob: str


def read_changes(repository: Path, after: int = 0, *, commit: str = "HEAD") -> Iterator[Change]:
    """Stream the changes of the first-parent history, oldest first.

    Args:
        repository: The top folder of a git repository, or a bare one.
        after: How many of the oldest commits to leave out because they were read before.
        commit: The last commit of the history, by any name that git knows.

    Returns:
        The changes, ordered by `commit_no` and `change_no`. A commit without changes has no rows
        but counts in `commit_no`. The call itself makes all checks, before the first change is
        read. Commits that are added later do not enter the stream.

    Raises:
        GitLogError: git is missing, or there is no repository, or it is shallow or empty.
        NotAPrefixError: The history has fewer than `after` commits.
        ValueError: `after` is negative.

    Note:
        `read_changes(r, n)` is `read_changes(r)` without the changes whose `commit_no <= n`.
    """
    if after < 0:
        message = f"`read_changes` argument `after` must be a number of commits.\nGot: {after}"
        raise ValueError(message)
    head = _require_commit(repository, commit)
    _require_full_history(repository)
    revisions = head
    if after:
        history = first_parents(repository, commit=head)
        if after > len(history):
            found = f"{len(history)} commits, but {after} were read before"
            raise _not_a_prefix(found)
        revisions = f"{history[after - 1]}..{head}"
    return _parse_log(_fields(repository, *_LOG, revisions, "--"), after)


def first_parents(repository: Path, *, commit: str = "HEAD") -> list[str]:
    """List the hashes of the first-parent history, oldest first. `commit_no` n is at index n - 1.

    Args:
        repository: The top folder of a git repository, or a bare one.
        commit: The last commit of the history, by any name that git knows.

    Raises:
        GitLogError: git is missing, or there is no repository, or it is shallow or empty.
    """
    head = _require_commit(repository, commit)
    _require_full_history(repository)
    listing = _fields(repository, "rev-list", "--first-parent", "--reverse", head, "--", end=b"\n")
    return [field.decode() for field in listing]


def require_prefix(history: Sequence[str], *, commit_no: int, commit: str) -> None:
    """Raise unless the history begins with the commits that were read before.

    Args:
        history: The current result of `first_parents`.
        commit_no: Ordinal of a commit that was read before, from 1. Take the last one.
        commit: The hash that it had.

    Raises:
        NotAPrefixError: Now another commit has that ordinal, or no commit has it.

    Note:
        The hash of a commit covers all commits before it, so it is enough to compare one.

    Example:
        >>> require_prefix(["c1", "c2", "c3"], commit_no=2, commit="c2")
    """
    now = history[commit_no - 1] if 1 <= commit_no <= len(history) else "none"
    if now != commit:
        found = f"commit {commit_no} is {now}, but it was {commit} when it was read before"
        raise _not_a_prefix(found)


def read_tree(repository: Path, commit: str = "HEAD") -> list[TreeRow]:
    """List every path in the tree of a commit, ordered by the bytes of the path.

    Args:
        repository: The top folder of a git repository, or a bare one. It may be shallow.
        commit: Any name that git knows for the commit.

    Returns:
        One row for each file, symlink and submodule; none for an empty tree.

    Raises:
        GitLogError: git is missing, or there is no repository, or it has no such commit.
    """
    tree = _require_commit(repository, commit)
    rows = []
    for field in _fields(repository, "ls-tree", "-r", "-z", "--full-tree", tree):
        entry, _, path = field.partition(b"\t")
        mode, _, blob = entry.decode().split(" ")
        rows.append(TreeRow(decode_path(path), mode, blob))
    return rows


def decode_path(path: bytes) -> str:
    r"""Turn the bytes of a path into text.

    Args:
        path: The path as git stores it.

    Returns:
        The path itself if it is valid UTF-8. Otherwise bad bytes become `%XX`, and `%` becomes
        `%25`. So two paths can only be confused if one is valid and contains such a code.

    Example:
        >>> decode_path("50% caf\u00e9".encode()) == "50% caf\u00e9"
        True
        >>> decode_path(b"50% caf\xe9")
        '50%25 caf%E9'
    """
    try:
        return path.decode()
    except UnicodeDecodeError:
        text = path.replace(b"%", b"%25").decode(errors="surrogateescape")
        return re.sub("[\udc80-\udcff]", lambda bad: f"%{ord(bad[0]) - 0xDC00:02X}", text)


def _parse_log(fields: Iterator[bytes], after: int) -> Iterator[Change]:
    """Parse `<commit> <seconds>`, then `:<modes> <blobs> <op>` and the path of each change."""
    commit_no, change_no, commit, committed_at = after, 0, "", _utc("")
    for field in fields:
        record = field.decode().lstrip("\n")
        if record.startswith(":"):
            change_no += 1
            path = decode_path(next(fields))
            _, mode, _, blob, op = record.split(" ")
            change = Change(commit_no, change_no, commit, committed_at, path, mode, blob, op)
            yield change._replace(mode=None, blob=None) if op == "D" else change
        else:
            commit_no, change_no = commit_no + 1, 0
            commit, _, seconds = record.partition(" ")
            committed_at = _utc(seconds)


def _utc(seconds: str) -> datetime:
    """Return a time. If git could not read it, return the one that git itself shows then.

    >>> _utc("1500234309").isoformat(), _utc("").isoformat()
    ('2017-07-16T19:45:09+00:00', '1970-01-01T00:00:00+00:00')
    """
    try:
        return datetime.fromtimestamp(int(seconds), tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=timezone.utc)


def _require_commit(repository: Path, commit: str) -> str:
    """Return the hash of a commit. Raise if the repository or the commit does not exist."""
    _line(repository, "rev-parse", "--git-dir")
    try:
        return _line(repository, "rev-parse", "--verify", f"{commit}^{{commit}}")
    except GitLogError:
        message = (
            "`commit` must be a commit of the repository; an empty one needs a first commit.\n"
            f"Got: {commit} in {repository}"
        )
        raise GitLogError(message) from None


def _require_full_history(repository: Path) -> None:
    if _line(repository, "rev-parse", "--is-shallow-repository") == "true":
        message = (
            "`repository` must have its full history; run `git fetch --unshallow` in it.\n"
            f"Got: the shallow clone {repository}"
        )
        raise GitLogError(message)


def _not_a_prefix(found: str) -> NotAPrefixError:
    return NotAPrefixError(
        "The history must begin with the commits that were read before. It was rewritten, or it is "
        f"that of another branch; to start again, run `make clean`.\nGot: {found}"
    )


def _line(repository: Path, *arguments: str) -> str:
    return b"".join(_fields(repository, *arguments, end=b"\n")).decode(errors="replace")


def _fields(repository: Path, *arguments: str, end: bytes = b"\0") -> Iterator[bytes]:
    """Stream the output of a git command, split at `end`. If it fails, raise with git's message."""
    git = shutil.which("git")
    if git is None:
        message = "git must be installed and on the PATH.\nGot: no `git` on the PATH; install it"
        raise GitLogError(message)
    command = [git, "-C", str(repository), *arguments]
    with (
        TemporaryFile() as errors,
        Popen(  # noqa: S603 - git, with no shell between
            command, stdin=DEVNULL, stdout=PIPE, stderr=errors, env=_environment(repository)
        ) as process,
    ):
        output, rest = cast("IO[bytes]", process.stdout), b""
        while chunk := output.read(_CHUNK_BYTES):
            *fields, rest = (rest + chunk).split(end)
            yield from fields
        if process.wait():
            errors.seek(0)
            words = " ".join(errors.read().decode(errors="replace").split())
            message = (
                "`repository` must be the top folder of a git repository that git can read.\n"
                f"Got: {repository}; git reports: {words}"
            )
            raise GitLogError(message)


def _environment(repository: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _REDIRECTIONS}
    # Neither a repository in a parent folder nor a replacement of a commit must be read instead.
    above = os.fspath(repository.resolve().parent)
    return kept | {
        "GIT_CEILING_DIRECTORIES": above,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
    }
