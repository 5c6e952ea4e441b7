"""Reads small real repositories as changes, and compares the replayed changes with git's trees."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demo.git_log import (
    Change,
    GitLogError,
    NotAPrefixError,
    decode_path,
    first_parents,
    read_changes,
    read_tree,
    require_prefix,
)
from tests.git_repository import (
    FILE,
    NOON,
    ODD_PATHS,
    ONE_COMMIT,
    OTHER_COMMIT,
    PROGRAM,
    SUBMODULE,
    SYMLINK,
    Content,
    commit,
    git,
    make_story,
    new_repository,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def replay(changes: Iterable[Change]) -> dict[str, Content]:
    files: dict[str, Content] = {}
    for change in changes:
        assert (change.op == "A") == (change.path not in files)
        if change.mode is None or change.blob is None:
            assert (change.op, change.mode, change.blob) == ("D", None, None)
            del files[change.path]
        else:
            assert change.op in {"A", "M", "T"}
            files[change.path] = (change.mode, change.blob)
    return files


def assert_every_tree_is_exact(repository: Path) -> None:
    changes = list(read_changes(repository))
    for commit_no, name in enumerate(first_parents(repository), start=1):
        files = replay(change for change in changes if change.commit_no <= commit_no)
        tree = read_tree(repository, name)
        assert files == {path: (mode, blob) for path, mode, blob in tree}
        assert len(files) == len(tree)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_story(tmp_path_factory.mktemp("story") / "repository.git")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with four commits. The third commit is empty."""
    path = new_repository(tmp_path / "repository.git")
    commit(path, {b"a": (FILE, "1"), b"b": (FILE, "1")})
    commit(path, {b"a": (FILE, "2")})
    commit(path, {})
    commit(path, {b"a": None, b"c": (FILE, "3")})
    return path


def test_replaying_the_changes_gives_the_tree_of_every_commit(story: Path) -> None:
    changes = list(read_changes(story))

    assert_every_tree_is_exact(story)
    assert {change.op for change in changes} == {"A", "M", "D", "T"}
    assert {change.mode for change in changes} == {FILE, PROGRAM, SYMLINK, SUBMODULE, None}
    assert len({change.commit_no for change in changes}) == len(first_parents(story)) - 2


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from([b"a", b"a/b", b"a.b", b"A", b"-a", *ODD_PATHS]),
                st.none()
                | st.tuples(st.sampled_from([FILE, PROGRAM, SYMLINK]), st.sampled_from("xy"))
                | st.tuples(st.just(SUBMODULE), st.sampled_from([ONE_COMMIT, OTHER_COMMIT])),
                max_size=5,
            ),
            st.none() | st.integers(min_value=0),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_history_replays_exactly(
    history: list[tuple[dict[bytes, Content | None], int | None]],
) -> None:
    with TemporaryDirectory() as folder:
        repository = new_repository(Path(folder) / "repository.git")
        names: list[str] = []
        for files, other in history:
            others = [] if other is None or not names else [names[other % len(names)]]
            names.append(commit(repository, files, parents=[*names[-1:], *others]))

        assert first_parents(repository) == names
        assert_every_tree_is_exact(repository)


def test_a_change_names_its_commit_its_path_and_the_new_content(repository: Path) -> None:
    one, two, _, four = first_parents(repository)
    blobs = {
        text: git(repository, "hash-object", "--stdin", given=text) for text in (b"1", b"2", b"3")
    }

    assert list(read_changes(repository)) == [
        Change(1, 1, one, NOON, "a", FILE, blobs[b"1"], "A"),
        Change(1, 2, one, NOON, "b", FILE, blobs[b"1"], "A"),
        Change(2, 1, two, NOON, "a", FILE, blobs[b"2"], "M"),
        Change(4, 1, four, NOON, "a", None, None, "D"),
        Change(4, 2, four, NOON, "c", FILE, blobs[b"3"], "A"),
    ]


def test_a_tree_is_sorted_by_the_bytes_of_its_paths(story: Path) -> None:
    trees = [[row.path for row in read_tree(story, name)] for name in first_parents(story)]
    plain = [tree for tree in trees if all("%" not in path for path in tree)]

    assert all(tree == sorted(tree, key=str.encode) for tree in plain)
    assert [] in trees


@pytest.mark.parametrize(("path", "text"), ODD_PATHS.items())
def test_changes_and_trees_write_an_odd_path_the_same_way(
    tmp_path: Path, path: bytes, text: str
) -> None:
    repository = new_repository(tmp_path / "repository.git")
    commit(repository, {path: (FILE, "odd")})

    assert decode_path(path) == text
    assert [change.path for change in read_changes(repository)] == [text]
    assert [row.path for row in read_tree(repository)] == [text]


def test_after_skips_exactly_the_given_number_of_commits(story: Path) -> None:
    changes = list(read_changes(story))

    for after in range(len(first_parents(story)) + 1):
        tail = [change for change in changes if change.commit_no > after]
        assert list(read_changes(story, after)) == tail


def test_a_stream_ignores_commits_that_are_made_after_its_start(repository: Path) -> None:
    before = list(read_changes(repository))
    stream = read_changes(repository)
    commit(repository, {b"later": (FILE, "")})

    assert list(stream) == before
    assert [change.path for change in read_changes(repository, after=4)] == ["later"]


def test_a_stream_can_be_closed_early(story: Path) -> None:
    stream = read_changes(story)

    assert next(stream).commit_no == 1
    stream.close()  # type: ignore[attr-defined]


def test_reading_up_to_a_commit_gives_the_history_of_that_commit(repository: Path) -> None:
    names = first_parents(repository)
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    git(repository, *identity, "tag", "--annotate", "--message=two", "v2", names[1])

    assert first_parents(repository, commit="v2") == names[:2]
    changes = [change for change in read_changes(repository) if change.commit_no <= 2]
    assert list(read_changes(repository, commit="v2")) == changes
    assert read_tree(repository, "v2") == read_tree(repository, names[1])


def test_new_commits_keep_the_earlier_history_as_a_prefix(repository: Path) -> None:
    before = first_parents(repository)
    commit(repository, {b"later": (FILE, "")})
    history = first_parents(repository)

    assert history[:-1] == before
    for commit_no, name in enumerate(before, start=1):
        require_prefix(history, commit_no=commit_no, commit=name)


def test_a_rewritten_history_is_refused(repository: Path) -> None:
    before = first_parents(repository)
    commit(repository, {b"amended": (FILE, "")}, parents=[before[2]])
    amended = first_parents(repository)
    commit(repository, {b"new root": (FILE, "")}, parents=[])

    require_prefix(amended, commit_no=3, commit=before[2])
    for history in (amended, first_parents(repository), []):
        with pytest.raises(NotAPrefixError, match=f"`make clean`.\nGot: commit 4 .*{before[3]}"):
            require_prefix(history, commit_no=4, commit=before[3])
    with pytest.raises(NotAPrefixError, match="`make clean`\\.\nGot: 1 commits, but 4 were read"):
        read_changes(repository, after=4)


def test_a_merge_with_our_commit_as_second_parent_rewrites_the_history(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repository.git")
    base = commit(repository, {b"a": (FILE, "1")})
    ours = commit(repository, {b"a": (FILE, "2")})
    theirs = commit(repository, {b"b": (FILE, "1")}, parents=[base], branch="theirs")
    commit(repository, {b"a": (FILE, "2")}, parents=[theirs, ours])

    assert_every_tree_is_exact(repository)
    with pytest.raises(NotAPrefixError):
        require_prefix(first_parents(repository), commit_no=2, commit=ours)


def test_the_time_is_the_committer_time_in_utc(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repository.git")
    epoch = datetime.fromtimestamp(0, tz=timezone.utc)
    noon = round(NOON.timestamp())
    times = {
        f"{noon} +0200": NOON,
        f"{noon - 3600} -1130": NOON - timedelta(hours=1),
        "0 +0000": epoch,
        "999999999999999 +0000": epoch,
    }
    for number, at in enumerate(times):
        commit(repository, {b"a": (FILE, str(number))}, at=at)

    assert [change.committed_at for change in read_changes(repository)] == list(times.values())
    assert_every_tree_is_exact(repository)


def test_git_settings_of_the_user_do_not_change_the_result(
    story: Path, tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, tree, history = list(read_changes(story)), read_tree(story), first_parents(story)
    order = tmp_path / "order"
    order.write_text("run\n")
    verifier = tmp_path / "gpg"
    verifier.write_text("#!/bin/sh\necho 'gpg: a word on the signature' >&2\n")
    verifier.chmod(0o755)
    configuration = tmp_path / "gitconfig"
    configuration.write_text(SETTINGS.format(order=order, verifier=verifier))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_DIR", str(repository))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))

    assert list(read_changes(story)) == changes
    assert list(read_changes(story, after=5)) == [row for row in changes if row.commit_no > 5]
    assert read_tree(story) == tree
    assert first_parents(story) == history


SETTINGS = """
[core]
    quotePath = true
    abbrev = 7
    attributesFile = {order}
[color]
    ui = always
[log]
    diffMerges = combined
    showRoot = false
    showSignature = true
    abbrevCommit = true
    decorate = full
    date = relative
    follow = true
[diff]
    renames = copies
    noprefix = true
    mnemonicPrefix = true
    submodule = log
    ignoreSubmodules = all
    external = false
    orderFile = {order}
    relative = true
    wsErrorHighlight = all
[gpg]
    program = {verifier}
[format]
    pretty = fuller
    notes = *
[i18n]
    logOutputEncoding = UTF-16
[submodule]
    recurse = true
"""


def test_git_replace_does_not_change_the_result(repository: Path) -> None:
    changes, tree = list(read_changes(repository)), read_tree(repository)
    names = first_parents(repository)
    git(repository, "replace", names[3], names[0])

    assert list(read_changes(repository)) == changes
    assert read_tree(repository) == tree


def test_files_in_a_working_copy_do_not_change_the_result(story: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", "--no-checkout", str(story), str(copy))
    (copy / "untracked").write_text("")
    (copy / ".gitmodules").write_text(
        '[submodule "vendored"]\n\tpath = vendored\n\turl = ../vendored\n\tignore = all\n'
    )

    assert list(read_changes(copy)) == list(read_changes(story))
    assert read_tree(copy) == read_tree(story)
    assert list(read_changes(copy / ".git")) == list(read_changes(story))


def test_a_clone_without_file_contents_can_be_read(story: Path, tmp_path: Path) -> None:
    git(story, "config", "uploadpack.allowFilter", "true")
    copy = tmp_path / "copy.git"
    clone = ("clone", "--quiet", "--bare", "--filter=blob:none", story.as_uri(), str(copy))
    git(tmp_path, *clone)
    git(copy, "remote", "remove", "origin")

    assert list(read_changes(copy)) == list(read_changes(story))
    assert read_tree(copy) == read_tree(story)


READINGS: list[Callable[[Path], object]] = [read_changes, first_parents, read_tree]
every_reading = pytest.mark.parametrize("read", READINGS)


@every_reading
@pytest.mark.parametrize("name", ["", "absent", "repository.git/refs"])
def test_the_path_must_be_the_top_folder_of_a_repository(
    repository: Path, read: Callable[[Path], object], name: str
) -> None:
    path = repository.parent / name

    with pytest.raises(GitLogError, match="top folder of a git repository") as refusal:
        read(path)

    assert str(refusal.value).splitlines()[1].startswith(f"Got: {path}; git reports: fatal:")


@every_reading
def test_a_folder_inside_a_working_copy_is_refused(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    git(tmp_path, "init", "--quiet")
    folder = tmp_path / "folder"
    folder.mkdir()

    with pytest.raises(GitLogError, match="top folder of a git repository"):
        read(folder)


def test_a_subfolder_of_a_path_with_a_colon_reads_the_whole_repository(tmp_path: Path) -> None:
    separator_in_name = tmp_path / f"a{os.pathsep}b"
    separator_in_name.mkdir()
    git(separator_in_name, "init", "--quiet", "--initial-branch=main")
    commit(separator_in_name, {b"a": (FILE, "1"), b"folder/b": (FILE, "1")})
    git(separator_in_name, "config", "diff.relative", "true")
    folder = separator_in_name / "folder"
    folder.mkdir()

    assert [change.path for change in read_changes(folder)] == ["a", "folder/b"]
    assert [row.path for row in read_tree(folder)] == ["a", "folder/b"]


@every_reading
def test_a_repository_without_a_commit_is_refused(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    repository = new_repository(tmp_path / "repository.git")

    with pytest.raises(GitLogError, match=f"needs a first commit.\nGot: HEAD in {repository}$"):
        read(repository)


def test_an_unknown_commit_is_refused(repository: Path) -> None:
    with pytest.raises(GitLogError, match="\nGot: v9 in "):
        read_tree(repository, "v9")
    with pytest.raises(GitLogError, match="\nGot: v9 in "):
        read_changes(repository, commit="v9")


@pytest.mark.parametrize("read", [read_changes, first_parents])
def test_a_shallow_clone_is_refused(
    repository: Path, tmp_path: Path, read: Callable[[Path], object]
) -> None:
    copy = tmp_path / "copy.git"
    git(tmp_path, "clone", "--quiet", "--bare", "--depth=1", repository.as_uri(), str(copy))

    with pytest.raises(GitLogError, match=r"`git fetch --unshallow` in it\.\nGot: the shallow"):
        read(copy)

    assert read_tree(copy) == read_tree(repository)
    git(copy, "fetch", "--quiet", "--unshallow", "origin")
    assert list(read_changes(copy)) == list(read_changes(repository))


@every_reading
def test_a_missing_git_is_an_error(
    repository: Path,
    tmp_path: Path,
    read: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(GitLogError, match="git must be installed"):
        read(repository)


def test_after_must_not_be_negative(repository: Path) -> None:
    with pytest.raises(ValueError, match=r"`after` must be .*\nGot: -1"):
        read_changes(repository, after=-1)


def test_a_damaged_repository_is_an_error_and_not_a_shorter_history(repository: Path) -> None:
    tree = git(repository, "rev-parse", "HEAD~2^{tree}")
    (repository / "objects" / tree[:2] / tree[2:]).unlink()

    with pytest.raises(GitLogError, match=f"\nGot: {repository}; git reports: .*{tree}"):
        list(read_changes(repository))
