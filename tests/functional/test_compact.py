"""The operation `trueup.compact` leaves later ticks unchanged and makes earlier ones unreadable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from tests.acceptance import Column, multiset
from tests.between import before
from tests.oracle import Collection, Command, check_laws, consolidate
from tests.project import TABLES

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from tests.project import Project

KEY, VALUE = [Column("k", "string")], [Column("v", "string")]
TICKS = range(8)
CAME_FIRST = "changelog moved: another compaction or a rebase came first; nothing is compacted."


def put(ts: int, key: str, value: str, order: int = 1) -> Command:
    return Command(ts, (order,), (key,), (value,))


def delete(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), None)


def bad(ts: int, key: str) -> Command:
    return Command(ts, (1,), (key,), None, "no number")


FIRST = [
    *(put(ts, "often", f"v{ts}") for ts in range(6)),
    put(1, "early", "v1"),
    put(0, "gone", "v0"),
    delete(2, "gone"),
    put(0, "back", "same"),
    delete(1, "back"),
    put(2, "back", "same"),
    put(0, "twice", "a"),
    put(1, "twice", "b"),
    put(3, "twice", "a"),
    bad(1, "bad"),
    bad(0, "mended"),
    put(2, "mended", "good"),
    put(5, "late", "v5"),
]
THEN = [
    put(2, "corrected", "late"),
    put(6, "often", "v6"),
    delete(6, "early"),
    put(7, "gone", "v7"),
]
"""The second run gets these. The command of tick 2 is late, and tick 7 stays open."""


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    """Two collections with the same commands. One is eager. Their last tick is still open."""
    project = new_project("compact")
    for name, eager in {"c": False, "e": True}.items():
        options = {"late": "correct", "eager": eager, "input_upper": "log_upper - 1"}
        project.add_collection(name, KEY, VALUE, options)
        for ts in TICKS:
            project.write(
                f"models/{name}/{name}_at_{ts}.sql", f"{{{{ trueup.as_of('{name}', {ts}) }}}}"
            )
        for first, last in ((0, 6), (3, 6), (4, 4)):
            project.write(
                f"models/{name}/{name}_from_{first}_to_{last}.sql",
                f"{{{{ trueup.changes_between('{name}', {first}, {last}) }}}}",
            )
        project.append(name, [*FIRST, put(6, "open", "v6")])
    project.run()
    for name in "ce":
        project.append(name, THEN)
    project.run(*(f"{name}_{role}" for name in "ce" for role in TABLES))
    return project


def refused(project: Project, collection: object, since: object) -> str:
    """Run a compaction that must fail, and give its error."""
    return "\n".join(project.operate("compact", fails=True, collection=collection, since=since))


def read(project: Project, name: str) -> dict[str, Counter[Any]]:
    """Give the rows of each view of a collection, or the error if it cannot be read."""
    found = {}
    for row in project.sql("show views in {}"):
        view = row["viewName"]
        if view.startswith(f"{name}_"):
            try:
                found[view] = multiset(project.rows(view))
            except Py4JJavaError as error:
                said = re.search("tick .*", str(error))
                found[view] = multiset([[said and said[0]]])
    return found


def refusal(content: Counter[Any]) -> str:
    """Give the error of a view that cannot be read."""
    ((message,),) = content
    return str(message)


def state(project: Project, name: str) -> Counter[Any]:
    return multiset(project.sql(f"select * from {{}}.{name}_state"))


@pytest.mark.long
@pytest.mark.parametrize("name", ["c", "e"])
def test_ticks_from_since_on_stay_readable_and_earlier_ticks_are_refused(
    project: Project, name: str
) -> None:
    at_first, rows = read(project, name), state(project, name)
    progress = project.progress(name)
    assert progress[-1]["_upper"] == 7
    for since in (3, 6):
        project.operate("compact", collection=name, since=since)
        after = read(project, name)
        assert set(after) == set(at_first)
        for ts in TICKS:
            view = f"{name}_at_{ts}"
            if ts < since:
                said = f"can no longer be read: {name} was compacted up to {since}; read that tick"
                assert said in refusal(after[view])
            else:
                assert after[view] == at_first[view], view
        for first, last in ((0, 6), (3, 6), (4, 4)):
            view = f"{name}_from_{first}_to_{last}"
            if first < since:
                assert f"tick {first} can no longer be read" in refusal(after[view])
            else:
                assert after[view] == at_first[view], view
        assert state(project, name) == rows
        # Each row that existed is one addition. No other older update is left.
        past = [update for update in project.updates(name) if update.ts < since]
        assert all(update.diff == 1 for update in past)
        assert len({update.identity for update in past}) == len(past)
    project.run(f"{name}_state", "--full-refresh")
    assert state(project, name) == rows
    assert [row["_seq"] for row in project.progress(name)] == [row["_seq"] for row in progress]


@pytest.mark.long
@pytest.mark.parametrize("name", ["c", "e"])
def test_later_runs_continue_after_a_compaction_and_keep_since(project: Project, name: str) -> None:
    later = [
        put(3, "late", "too late"),
        put(4, "even later", "v4"),
        put(8, "often", "v8"),
        put(9, "x", ""),
    ]
    project.append(name, later)
    # The compaction comes between stage and append. The append must still succeed.
    project.run(f"{name}_corrections", f"{name}_batch")
    project.operate("compact", collection=name, since=7)
    project.run(f"{name}_changelog", f"{name}_state")
    project.run(*(f"{name}_{role}" for role in TABLES))
    assert len(project.progress(name)) == 3
    project.append(name, [put(10, "x", "x")])
    project.run(*(f"{name}_{role}" for role in TABLES))
    later.append(put(10, "x", "x"))
    oracle = Collection("correct")
    oracle.run([*FIRST, put(6, "open", "v6")], until=6)
    oracle.run([*FIRST, put(6, "open", "v6"), *THEN], until=7)
    oracle.run([*FIRST, put(6, "open", "v6"), *THEN, *later[:4]], until=9)
    oracle.run([*FIRST, put(6, "open", "v6"), *THEN, *later], until=10)
    if name == "e":
        oracle.run([*FIRST, put(6, "open", "v6"), *THEN, *later])
    assert multiset(project.rows(name)) == multiset(oracle.rows)
    updates = project.updates(name)
    check_laws(updates)
    recent = [update for update in oracle.changelog if update.ts >= 7]
    assert consolidate(one for one in updates if one.ts >= 7) == consolidate(recent)
    assert project.progress(name)[-1]["_statistics"]["since"] == 7
    with pytest.raises(Py4JJavaError, match="compacted up to 7"):
        project.rows(f"{name}_at_6")
    assert "argument `since` must be after 7, up to which" in refused(project, name, 7)
    project.operate("compact", collection=name, since=9)
    assert project.progress(name)[-1]["_statistics"]["since"] == 9


@pytest.mark.long
def test_compact_refuses_bad_arguments_an_old_state_and_a_damaged_changelog(
    project: Project,
) -> None:
    project.add_collection("r", KEY, VALUE)
    assert "the name of a collection that has run" in refused(project, "r", 1)
    project.append("r", [put(1, "a", "x"), put(2, "a", "y")])
    project.run("models/r")
    content = multiset(project.sql("select * from {}.r_changelog"))
    for since in (4, "2", 1.5, True, None):
        message = refused(project, "r", since)
        assert (
            "`trueup.compact` argument `since` must be a settled tick, at most the upper 3"
            in message
        )
    for collection in ("nothing", None, ["r"]):
        message = refused(project, collection, 1)
        assert (
            "`trueup.compact` argument `collection` must be the name of one collection" in message
        )
    # This batch is appended but not applied. The state would never get its retractions.
    project.append("r", [delete(3, "a"), put(4, "b", "z")])
    project.run("r_batch", "r_changelog")
    message = refused(project, "r", 4)
    assert "The state of `r` must be at batch 2, the last of its changelog." in message
    project.run("r_state")
    # Somebody adds a row a second time.
    project.sql(
        "insert into {}.r_changelog select * from {}.r_changelog where k = 'b' and _kind = 'update'"
    )
    message = refused(project, "r", 5)
    assert "Batch 2 of compact.r_changelog must be what its certificate says" in message
    assert len(project.sql("select * from {}.r_changelog")) == len(content) + 4
    assert project.progress("r")[-1]["_statistics"]["since"] is None


@pytest.mark.long
def test_a_compaction_writes_nothing_if_another_one_came_first(project: Project) -> None:
    name = "raced"
    project.add_collection(name, KEY, VALUE)
    project.write(f"models/{name}/{name}_at_4.sql", f"{{{{ trueup.as_of('{name}', 4) }}}}")
    project.append(name, [put(ts, "a", f"v{ts}") for ts in (1, 4, 5)])
    project.run(f"models/{name}")

    with before("trueup: compact", lambda: project.operate("compact", collection=name, since=5)):
        said = refused(project, name, 3)

    assert CAME_FIRST in said
    assert project.progress(name)[-1]["_statistics"]["since"] == 5
    with pytest.raises(Py4JJavaError, match="compacted up to 5"):
        project.rows(f"{name}_at_4")


@pytest.mark.long
def test_a_compaction_leaves_the_changelog_of_a_rebase_alone(project: Project) -> None:
    name = "begun_again"
    project.add_collection(name, KEY, VALUE)
    project.append(name, [put(1, "a", "v1"), put(4, "a", "v4")])
    project.run(f"models/{name}")
    project.append(name, [put(5, "a", "v5")])
    project.run(f"models/{name}")

    def rebase() -> None:
        project.run(f"models/{name}", "--full-refresh", rebase=True)

    with before("trueup: compact", rebase):
        said = refused(project, name, 4)

    assert CAME_FIRST in said
    project.run(f"{name}_state", "--full-refresh")
    assert len(project.updates(name)) == 5
    assert project.rows(name) == [("a", "v5")]


@pytest.mark.long
def test_the_first_tick_of_changes_must_not_be_after_the_second(project: Project) -> None:
    project.add_collection("turned", KEY, VALUE)
    project.write("models/turned/turned_back.sql", "{{ trueup.changes_between('turned', 2, 1) }}")
    project.append("turned", [put(1, "a", "x"), put(2, "a", "y")])
    project.run("models/turned")
    with pytest.raises(Py4JJavaError, match="first tick, 2, must not be after the second, 1"):
        project.rows("turned_back")


@pytest.mark.long
def test_another_key_is_no_damage(project: Project) -> None:
    """The certificates depend on the key. With another one, each batch would look damaged."""
    project.add_collection("rekeyed", KEY, VALUE)
    project.append("rekeyed", [put(1, "a", "x")])
    project.run("models/rekeyed")
    project.configure(rekeyed={"+unique_key": ["v"]})

    said = refused(project, "rekeyed", 1)
    assert "Config `unique_key` of rekeyed must be the key that" in said
    printed = project.operate("doctor", collection="rekeyed")
    (wrong,) = [line for line in printed if "WRONG" in line]
    assert "the config `unique_key` is `v`, but " in wrong
    assert wrong.endswith("was made with `k`")


@pytest.mark.long
def test_a_key_may_have_a_name_that_spark_hides(project: Project) -> None:
    """Spark shows no property of a table that looks like a URL or a secret."""
    key = [Column("page_url", "string"), Column("token", "string")]
    project.add_collection("pages", key, VALUE)
    for ts in (1, 2):
        project.append("pages", [Command(ts, (1,), (f"page {ts}", "t"), ("x",))])
        project.run("models/pages")
    assert len(project.rows("pages")) == 2
    said = "\n".join(project.operate("doctor", collection="pages"))
    assert "pages is well." in said
    project.operate("compact", collection="pages", since=2)
    assert len(project.rows("pages")) == 2


@pytest.mark.long
def test_a_changelog_without_its_properties_is_not_well(project: Project) -> None:
    """Somebody has restored it as a copy. Each run stops, so the doctor must see it, too."""
    project.add_collection("copied", KEY, VALUE)
    project.append("copied", [put(1, "a", "x")])
    project.run("models/copied")
    project.sql(
        "alter table {}.copied_changelog unset tblproperties"
        " ('trueup.unique_key', 'trueup.unique_key_md5', 'trueup.order', 'trueup.order_md5')"
    )
    printed = project.operate("doctor", collection="copied")
    (place,) = [place for place, line in enumerate(printed) if "WRONG" in line]
    command = printed[place + 1].partition("as before, ")[2].rstrip(".")
    assert command.startswith("alter table ")
    project.sql(command)
    assert "lacks the property `trueup.order`" in "\n".join(
        project.operate("doctor", collection="copied")
    )
    project.append("copied", [put(2, "a", "y")])
    project.run("copied_batch", fails=True)
    command = "\n".join(project.messages).partition("set the property: ")[2].split(".\n")[0]
    project.sql(command.strip().rstrip("."))
    project.run(*(f"copied_{role}" for role in TABLES))
    assert "copied is well." in "\n".join(project.operate("doctor", collection="copied"))


@pytest.mark.long
def test_a_batch_that_comes_before_the_commit_of_a_compaction_gets_its_since(
    own_project: Callable[[str], Project],
) -> None:
    """The next batch may be staged already. It then reads the last batch, and must fail."""
    project = own_project("compact_late")
    project.add_collection("orders", KEY, VALUE)
    for ts in (1, 2):
        project.append("orders", [put(ts, "a", f"v{ts}")])
        project.run_collection("orders")
    project.append("orders", [put(3, "a", "v3")])

    with before("trueup: compact", lambda: project.run_collection("orders")):
        project.operate("compact", collection="orders", since=2)

    assert [row["_statistics"]["since"] for row in project.progress("orders")] == [None, None, 2]
    project.append("orders", [put(4, "a", "v4")])
    project.run_collection("orders")
    assert project.progress("orders")[-1]["_statistics"]["since"] == 2
    check_laws(project.updates("orders"))
