"""The history of a git repository as keyed commands, and its tree as what they must lead to.

The key is the path. The log is that of `git log --raw --reverse --first-parent -m --no-renames`:
a merge is one commit, compared with its first parent, and a rename is a deletion and an addition.
The tree is read from what git stores, not from the log, so it is an independent oracle: replaying
the changes up to a commit gives exactly the tree of that commit. No file contents are read.
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
    # The rest is for settings of the user's that would change what is logged.
    *("--ignore-submodules=none", "--no-relative", f"-O{os.devnull}"),
    *("--no-show-signature", "--encoding=UTF-8"),
)
# A git hook, for one, sets these: they would lead to another repository than the one named.
_REDIRECTIONS = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE"),
)
_CHUNK_BYTES = 1 << 16


class GitLogError(RuntimeError):
    """A history that cannot be read; the message says what to do."""


class NotAPrefixError(GitLogError):
    """What was read before is no longer the start of the history."""


class Change(NamedTuple):
    """One path that one commit changed: a command of the log."""

    commit_no: int
    """Ordinal of the commit along the first parents, oldest is 1; has gaps, see `read_changes`."""
    change_no: int
    """Ordinal of the change within its commit, from 1."""
    commit: str
    """Hash of the commit."""
    committed_at: datetime
    """Committer time, UTC; 1970-01-01 for a time that git cannot read or that is past year 9999."""
    path: str
    """The key, as `decode_path` gives it; at most once in a commit."""
    mode: str | None
    """`100644`, `100755`, `120000` (symlink) or `160000` (submodule); None for a deletion."""
    blob: str | None
    """Hash of the content (of the commit, for a submodule); None for a deletion."""
    op: str
    """`A` added, `M` modified, `D` deleted, `T` changed type."""


class TreeRow(NamedTuple):
    """One path that a commit's tree holds, with the meanings of `Change`."""

    path: str
    mode: str
    blob: str


def read_changes(repository: Path, after: int = 0, *, commit: str = "HEAD") -> Iterator[Change]:
    """Stream the changes of the first-parent history, oldest first.

    Args:
        repository: The top folder of a git repository, or a bare one.
        after: How many of the oldest commits to leave out, because they were read before.
        commit: The last commit of the history, by any name that git knows.

    Returns:
        The changes in order of `commit_no`, `change_no`. A commit that changes nothing has none,
        yet counts in `commit_no`. Checks are made by the call, before the first change is asked
        for, and later commits do not enter a stream that has begun.

    Raises:
        GitLogError: git is missing, or this is no repository, a shallow one or an empty one.
        NotAPrefixError: The history has fewer than `after` commits.
        ValueError: `after` is negative.

    Note:
        `read_changes(r, n)` is `read_changes(r)` without the changes whose `commit_no <= n`.
    """
    if after < 0:
        message = f"`read_changes` argument `after` must be a number of commits.\nGot: {after}"
        raise ValueError(message)
    head = _require_commit(repository, commit)
    _require_whole(repository)
    revisions = head
    if after:
        history = first_parents(repository, commit=head)
        if after > len(history):
            found = f"{len(history)} commits, where {after} were read before"
            raise _not_a_prefix(found)
        revisions = f"{history[after - 1]}..{head}"
    return _parse_log(_fields(repository, *_LOG, revisions, "--"), after)


def first_parents(repository: Path, *, commit: str = "HEAD") -> list[str]:
    """List the hashes of the first-parent history, oldest first: `commit_no` n is at n - 1.

    Args:
        repository: The top folder of a git repository, or a bare one.
        commit: The last commit of the history, by any name that git knows.

    Raises:
        GitLogError: git is missing, or this is no repository, a shallow one or an empty one.
    """
    head = _require_commit(repository, commit)
    _require_whole(repository)
    listing = _fields(repository, "rev-list", "--first-parent", "--reverse", head, "--", end=b"\n")
    return [field.decode() for field in listing]


def require_prefix(history: Sequence[str], *, commit_no: int, commit: str) -> None:
    """Raise unless what was read before is the start of the history.

    Args:
        history: What `first_parents` lists now.
        commit_no: Ordinal of a commit that was read before, best the last; from 1.
        commit: The hash that it had.

    Raises:
        NotAPrefixError: Another commit has that ordinal now, or none has.

    Note:
        The hash of a commit covers all that came before it, so one commit answers for them all.

    Example:
        >>> require_prefix(["c1", "c2", "c3"], commit_no=2, commit="c2")
    """
    now = history[commit_no - 1] if 1 <= commit_no <= len(history) else "none"
    if now != commit:
        found = f"commit {commit_no} is {now}, where {commit} was read before"
        raise _not_a_prefix(found)


def read_tree(repository: Path, commit: str = "HEAD") -> list[TreeRow]:
    """List every path that a commit's tree holds, in order of the paths' bytes.

    Args:
        repository: The top folder of a git repository, or a bare one; may be shallow.
        commit: Any name that git knows for the commit.

    Returns:
        One row a file, symlink or submodule; none for an empty tree.

    Raises:
        GitLogError: git is missing, or this is no repository or one without that commit.
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
        The path itself where it is valid UTF-8. Else its bad bytes are written `%XX`, and a `%`
        of its own `%25`. So only a valid path that holds such a code can be taken for another.

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
    """Read `<commit> <seconds>`, then for each change `:<modes> <blobs> <op>` and its path."""
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
    """Give the time, or the one that git itself shows when it cannot tell.

    >>> _utc("1500234309").isoformat(), _utc("").isoformat()
    ('2017-07-16T19:45:09+00:00', '1970-01-01T00:00:00+00:00')
    """
    try:
        return datetime.fromtimestamp(int(seconds), tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=timezone.utc)


def _require_commit(repository: Path, commit: str) -> str:
    """Give the hash of a commit; raise if the repository or the commit is not there."""
    _line(repository, "rev-parse", "--git-dir")
    try:
        return _line(repository, "rev-parse", "--verify", f"{commit}^{{commit}}")
    except GitLogError:
        message = (
            "`commit` must be a commit of the repository; an empty one needs a first commit.\n"
            f"Got: {commit} in {repository}"
        )
        raise GitLogError(message) from None


def _require_whole(repository: Path) -> None:
    if _line(repository, "rev-parse", "--is-shallow-repository") == "true":
        message = (
            "`repository` must have its whole history; run `git fetch --unshallow` in it.\n"
            f"Got: the shallow clone {repository}"
        )
        raise GitLogError(message)


def _not_a_prefix(found: str) -> NotAPrefixError:
    return NotAPrefixError(
        "The history read before must be the start of the history now, but was rewritten or is "
        f"another branch's; to begin anew, run `make clean`.\nGot: {found}"
    )


def _line(repository: Path, *arguments: str) -> str:
    return b"".join(_fields(repository, *arguments, end=b"\n")).decode(errors="replace")


def _fields(repository: Path, *arguments: str, end: bytes = b"\0") -> Iterator[bytes]:
    """Stream what a git command prints, cut at `end`; raise with git's own words if it fails."""
    git = shutil.which("git")
    if git is None:
        message = "git must be installed and on the PATH.\nGot: no program of that name"
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
                f"Got: {repository}, of which git says: {words}"
            )
            raise GitLogError(message)


def _environment(repository: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _REDIRECTIONS}
    # No repository further up, nor a stand-in for a commit, may answer for the one that is named.
    above = os.fspath(repository.resolve().parent)
    return kept | {
        "GIT_CEILING_DIRECTORIES": above,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
    }
