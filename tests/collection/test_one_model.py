"""What a model with the materialization `trueup` does, one behaviour at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.project import Project

    OwnProject = Callable[[str], Project]

LOG = "k string, ord bigint, op string, a string, b int, c string"
CALL = """trueup.commands(
    relation='{log}', sequence_by=['ord'], delete_when="op = 'D'", columns={columns}{more}
)"""


def write_model(
    project: Project,
    select: str = "{{ %s }}",
    columns: tuple[str, ...] = ("a", "b"),
    more: str = "",
    **options: Any,
) -> None:
    """Write the model `c` of a log. `select` may wrap the call of `trueup.commands`."""
    call = CALL.format(log=f"{project.name}.log", columns=list(columns), more=more)
    config = f"materialized='trueup', unique_key='k', meta={{'trueup': {options}}}"
    project.write("models/c.sql", f"{{{{ config({config}) }}}}\n" + select % call)


def add_log(project: Project, *commands: tuple[Any, ...]) -> Store:
    """Create the log with some commands. Return the store of its collection."""
    project.sql(f"create table {{}}.log ({LOG}) using {{format}}")
    append(project, *commands)
    return Store(project, "c", ["k"], ["a", "b"])


def append(project: Project, *commands: tuple[Any, ...]) -> None:
    """Append commands: key, order, operation and values; missing values are null."""
    project.insert("log", [(*one, *[None] * (6 - len(one))) for one in commands])


def put(key: str | None, order: int | None, *value: object) -> tuple[Any, ...]:
    return (key, order, "U", *value)


def delete(key: str | None, order: int) -> tuple[Any, ...]:
    return (key, order, "D")


def message_of(project: Project, **variables: Any) -> str:
    """Run the model. Return what dbt says of it."""
    project.run("c", fails=None, **variables)
    (message,) = project.messages
    return message.removeprefix("c: ")


def causes(store: Store) -> dict[str, set[Any]]:
    """By key: the cause and the diff of each update of the newest batch."""
    newest = store.batches()[-1]["seq"]
    found: dict[str, set[Any]] = {}
    for row in store.stored(f"_kind = 'update' and _seq = {newest}"):
        found.setdefault(row["k"], set()).add((row["_cause"], row["_diff"]))
    return found


def tables(project: Project) -> list[str]:
    return [row["tableName"] for row in project.sql("show tables in {}")]


def test_a_select_becomes_a_collection(own_project: OwnProject) -> None:
    project = own_project("selected")
    project.sql("create table {}.src (k string, a string, b double) using {format}")
    config = "materialized='trueup', unique_key='k'"
    select = f"select k, a, b from {project.name}.src"
    project.write("models/c.sql", f"{{{{ config({config}) }}}}\n{select}")
    store = Store(project, "c", ["k"], ["a", "b"])
    rows = [("stays", "x", 1.0), ("changes", "x", -0.0), ("goes", "x", None)]
    project.insert("src", rows)
    assert message_of(project) == "batch 1: 3 inserted"
    assert message_of(project) == "up to date at batch 1"
    # Insert, change and delete.
    project.sql("delete from {}.src where k = 'goes'")
    project.sql("update {}.src set a = 'y' where k = 'changes'")
    project.insert("src", [("comes", None, float("nan"))])
    assert "1 inserted, 1 updated, 1 deleted" in message_of(project)
    assert store.rows() == {
        ("stays",): ("x", 1.0),
        ("changes",): ("y", 0.0),
        ("comes",): (None, ("NaN",)),
    }
    # A duplicate key is refused.
    project.insert("src", [("stays", "other", 2.0)])
    message = message_of(project)
    assert "Each key of c must be in one row of its SELECT" in message
    assert '2 rows of the key {"k":"stays"}' in message
    # A SELECT without rows is refused unless a person approves its plan.
    project.sql("delete from {}.src where true")
    refused = message_of(project)
    assert "a SELECT without a row, which would remove all 3 rows" in refused
    assert len(store.rows()) == 3
    assert message_of(project, approve=project.printed_plan).endswith("3 deleted")
    assert store.rows() == {}
    store.check_laws()


def test_a_select_returns_errors(own_project: OwnProject) -> None:
    project = own_project("selected_errors")
    project.sql("create table {}.src (k string, t string) using {format}")
    select = f"""select k, try_cast(t as int) as a,
        if(try_cast(t as int) is null, concat('not a number: ', t), null) as _error
        from {project.name}.src"""
    config = "materialized='trueup', unique_key='k'"
    project.write("models/c.sql", f"{{{{ config({config}) }}}}\n{select}")
    store = Store(project, "c", ["k"], ["a"])
    project.insert("src", [("good", "1"), ("bad", "one")])
    project.run("c")
    assert store.rows() == {("good",): (1,)}
    assert store.errors() == {(("bad",), None): "value"}
    project.sql("update {}.src set t = '2' where k = 'bad'")
    assert "1 inserted, 1 error cleared" in message_of(project)
    assert store.rows() == {("good",): (1,), ("bad",): (2,)}
    assert store.errors() == {}
    store.check_laws()


def test_a_dry_run_writes_only_its_plan_table(own_project: OwnProject) -> None:
    project = own_project("dry")
    store = add_log(project, *[put(key, 1, "x", 1) for key in "abcd"])
    write_model(project, max_retractions=2)
    # It needs no store.
    message = message_of(project, read_only=True)
    (plan_table,) = {*tables(project)} - {"log"}
    assert message.startswith("a dry run: batch 1 would be 4 commands, 4 inserted; the changes are")
    assert plan_table in message
    project.run("c")
    before = {*tables(project)}
    assert before == {"log", "c__trueup", plan_table}
    # More than two retractions are refused. A dry run shows them and names the same plan.
    append(project, *[delete(key, 2) for key in "abc"])
    refused = message_of(project)
    assert "must be one that retracts at most 2 rows" in refused
    assert "Got: 3 of 4 rows" in refused
    version, plan = project.version("c__trueup"), project.printed_plan
    shown = message_of(project, read_only=True)
    assert f"{plan} approves them" in shown
    (second,) = {*tables(project)} - before
    changes = project.sql(f"select k from {{}}.{second} where _kind = 'retraction'")
    assert sorted(row["k"] for row in changes) == ["a", "b", "c"]
    assert project.version("c__trueup") == version
    # Another plan is not approved.
    assert "the changes are now " + plan in message_of(project, approve="plan-0000000000000000")
    assert message_of(project, approve=plan).endswith("3 deleted")
    assert store.rows() == {("d",): ("x", 1)}
    store.check_laws()


@pytest.mark.long
def test_a_damaged_store_is_repaired(own_project: OwnProject) -> None:
    project = own_project("repaired")
    commands = [*(put(key, 1, "x", 1) for key in "abc"), put("a", 2, "y", 1), delete("e", 2)]
    store = add_log(project, *commands)
    write_model(project)
    project.run("c")
    rows = store.rows()
    # A changed current row.
    project.sql("update {}.c__trueup set a = 'bad' where k = 'b' and _kind = 'row'")
    message = message_of(project)
    assert message.startswith("current rows rebuilt from the history: 1 of 256 buckets of keys")
    assert message.endswith("up to date at batch 2")
    assert store.rows() == rows
    # A deleted row of the history.
    append(project, put("c", 2, "z", 1))
    project.run("c")
    project.sql("delete from {}.c__trueup where k = 'c' and _kind = 'update' and _diff = -1")
    assert message_of(project).startswith("history and current rows restored from the snapshot")
    store.check_laws()
    # A deleted tombstone. Without it the older upsert would bring the key back.
    project.sql("delete from {}.c__trueup where k = 'e'")
    append(project, put("e", 1, "zombie", 1))
    message = message_of(project)
    assert "rebuilt" in message
    assert message.endswith("1 command, 1 superseded")
    assert store.rows() == {**rows, ("c",): ("z", 1)}
    # A commit of somebody else that changes nothing is accepted once.
    project.sql("update {}.c__trueup set a = 'y' where k = 'a' and _kind = 'row'")
    seq = store.batches()[-1]["seq"]
    assert message_of(project) == f"batch {seq + 1}: 0 commands"
    assert message_of(project) == f"up to date at batch {seq + 1}"
    store.check_laws()


def test_a_changed_model_reads_the_log_again(own_project: OwnProject) -> None:
    project = own_project("changed")
    store = add_log(
        project,
        put("a", 1, "x", 1, "late column"),
        put("b", 1, "x", None, "late column"),
        put("c", 1, "X", 3),
        delete("d", 1),
    )
    write_model(project, more=""", error="if(b is null, 'no number', null)" """)
    project.run("c")
    assert store.rows() == {("a",): ("x", 1), ("c",): ("X", 3)}
    assert store.errors() == {(("b",), None): "value"}
    # Other code: what it reads at an equal order replaces the row.
    upper = "select k, upper(a) as a, * except (k, a) from ({{ %s }})"
    write_model(project, upper)
    project.run("c")
    assert store.rows() == {("a",): ("X", 1), ("b",): ("X", None), ("c",): ("X", 3)}
    changed = {"a": {("code_change", -1), ("code_change", 1)}}
    assert causes(store) == {**changed, "b": {("error_fixed", -1), ("error_fixed", 1)}}
    assert store.batches()[-1]["statistics"]["corrections"] == 2
    # A new column.
    write_model(project, upper, columns=("a", "b", "c"))
    project.run("c")
    store.value.append("c")
    assert store.rows() == {
        ("a",): ("X", 1, "late column"),
        ("b",): ("X", None, "late column"),
        ("c",): ("X", 3, None),
    }
    both = {("schema_change", -1), ("schema_change", 1)}
    assert causes(store) == {"a": both, "b": both}
    append(project, put("a", 2, "y", 2, "new"), put("c", 1, "X", 3))
    project.run("c")
    assert causes(store) == {"a": {(None, -1), (None, 1)}}
    store.check_laws()


@pytest.mark.parametrize(
    ("option", "commands", "words"),
    [
        (
            "errors",
            [put("a", 1, "bad"), put("b", 1, "x")],
            "without errors (option `errors: fail`)",
        ),
        (
            "ties",
            [put("a", 1, "x"), put("a", 1, "y")],
            "of one key and order (option `ties: fail`)",
        ),
    ],
)
def test_an_option_refuses_errors_or_ties(
    own_project: OwnProject, option: str, commands: list[tuple[Any, ...]], words: str
) -> None:
    project = own_project(f"refused_{option}")
    options: dict[str, Any] = {option: "fail"}
    store = add_log(project, *commands)
    write_model(project, more=""", error="if(a = 'bad', 'bad', null)" """, **options)
    message = message_of(project)
    assert words in message
    assert f"Got: 1 {option}" in message
    assert [batch["seq"] for batch in store.batches()] == [0]
    # Without the bad command, the next run goes on.
    project.sql("delete from {}.log where k = 'a' and a in ('bad', 'x')")
    project.run("c")
    assert len(store.rows()) == 1
    store.check_laws()


def test_a_null_key_is_an_error_until_it_is_deleted(own_project: OwnProject) -> None:
    project = own_project("null_key")
    store = add_log(project, put(None, 1, "x"), put(None, 2, "y"), put("a", 1, "x"))
    write_model(project)
    project.run("c")
    assert store.errors() == {(None, "null"): "null_key"}
    append(project, delete(None, 3))
    project.run("c")
    assert store.errors() == {}
    assert store.rows() == {("a",): ("x", None)}
    store.check_laws()


@pytest.mark.long
def test_ignored_nulls_and_skipped_commands_change_nothing(own_project: OwnProject) -> None:
    project = own_project("ignored")
    store = add_log(project, put("a", 1, "x", 1), put("a", 2, None, 2), ("a", 3, "R", "read", 3))
    write_model(project, more=""", ignore_null_updates=True, skip_when="op = 'R'" """)
    project.run("c")
    assert store.rows() == {("a",): ("x", 2)}
    append(project, put("a", 4, "y", None), ("b", 1, "R", "read", 3))
    project.run("c")
    assert store.rows() == {("a",): ("y", 2)}
    store.check_laws()


def test_another_order_or_key_is_refused_before_anything_is_written(
    own_project: OwnProject,
) -> None:
    project = own_project("order")
    store = add_log(project, put("a", 1, "x", 7))
    write_model(project)
    project.run("c")
    model = (project.folder / "models" / "c.sql").read_text()

    project.write("models/c.sql", model.replace("sequence_by=['ord']", "sequence_by=['-ord']"))
    project.run("c", fails=True)
    assert "The order of c must be the one that its store has" in message_of(project)
    assert store.rows() == {("a",): ("x", 7)}

    both = model.replace("unique_key='k'", "unique_key=['k', 'b']")
    project.sql("alter table {}.log rename column b to b_")
    project.sql("alter table {}.log add column b string")
    project.write("models/c.sql", both.replace("columns=['a', 'b']", "columns=['a']"))
    project.run("c", fails=True)
    refused = message_of(project)
    assert "Got: unique_key, which was k and is k, b; b, which was int and is string\n" in refused
    assert "Put `unique_key` back, and cast the column back in the model." in refused
    project.sql("alter table {}.log drop column b")
    project.sql("alter table {}.log rename column b_ to b")

    project.write("models/c.sql", model)
    project.run("c")
    assert message_of(project) == "up to date at batch 1"


@pytest.mark.long
def test_a_truncate_of_partial_commands_leaves_no_damage(own_project: OwnProject) -> None:
    project = own_project("truncated")
    store = add_log(project, put("a", 1, "x", 1))
    more = """, ignore_null_updates=True, truncate_when="op = 'T'" """
    write_model(project, more=more, verify="always")
    project.run("c")
    append(project, (None, 5, "T"), put("b", 3, "late", 1))
    project.run("c")
    assert store.rows() == {}
    assert message_of(project) == "up to date at batch 2"
    store.check_laws()


def test_the_time_zone_of_the_session_is_no_damage(
    own_project: OwnProject, in_zone: Callable[[str], None]
) -> None:
    project = own_project("zones")
    add_log(project, put("a", 1, "x", 1), delete("d", 1))
    write_model(project, more=", ignore_null_updates=True", verify="always")
    model = (project.folder / "models" / "c.sql").read_text()
    project.write("models/c.sql", model.replace("'ord'", "'timestamp_micros(ord)'"))
    project.run("c")
    in_zone("Asia/Kathmandu")
    assert message_of(project) == "up to date at batch 1"


def test_another_spelling_of_a_column_keeps_its_values(own_project: OwnProject) -> None:
    project = own_project("spelling")
    store = add_log(project, put("a", 1, "x", 7))
    write_model(project)
    project.run("c")
    write_model(project, columns=("A", "B"))
    project.run("c")
    assert store.rows() == {("a",): ("x", 7)}


def test_rows_that_were_appended_and_deleted_between_two_runs_are_not_taken(
    own_project: OwnProject,
) -> None:
    project = own_project("taken_back")
    store = add_log(project, put("a", 1, "x", 7))
    write_model(project)
    project.run("c")
    append(project, put("a", 99, "bad", 0))
    project.sql("delete from {}.log where ord = 99")
    append(project, put("b", 2, "y", 8))
    project.run("c")
    assert store.rows() == {("a",): ("x", 7), ("b",): ("y", 8)}


@pytest.mark.long
def test_a_model_that_joins_its_commands_reads_all_of_them(own_project: OwnProject) -> None:
    project = own_project("joined")
    store = add_log(project, put("a", 1, "x", 7), put("b", 1, "y", 8))
    project.sql("create table {}.known using {format} as select 'a' as id")
    wrapped = "select c.* from ({{ %s }}) as c inner join {}.known on c.k = known.id"
    write_model(project, wrapped.replace("{}.", f"{project.name}."))
    # The first run may be a full refresh.
    project.run("c", "--full-refresh")
    assert store.rows() == {("a",): ("x", 7)}
    project.sql("insert into {}.known values ('b')")
    project.run("c")
    assert store.rows() == {("a",): ("x", 7), ("b",): ("y", 8)}
    project.run("c", "--full-refresh", rebase=True)
    assert store.rows() == {("a",): ("x", 7), ("b",): ("y", 8)}
    assert [batch["seq"] for batch in store.batches()] == [0, 1]


def test_a_marker_that_the_model_learns_later_repairs_the_rows(own_project: OwnProject) -> None:
    project = own_project("marker")
    store = add_log(project, put("a", 10, "real", 1), put("a", 20, "__same__", 2))
    write_model(project)
    project.run("c")
    assert store.rows() == {("a",): ("__same__", 2)}
    write_model(project, more=", unchanged_value='__same__'")
    project.run("c")
    assert store.rows() == {("a",): ("real", 2)}
    store.check_laws()
