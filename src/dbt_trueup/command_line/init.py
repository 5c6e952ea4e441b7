"""`trueup init`: from a log to the model of a collection."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from dbt_trueup.dbt import parse
from dbt_trueup.errors import UsageError
from dbt_trueup.init.envelope import ENVELOPES
from dbt_trueup.init.files import Place, write_files, write_model
from dbt_trueup.init.guess import TIES, guess, read_answer
from dbt_trueup.init.project import (
    find_log,
    model_folders,
    relative_folder,
    require_free_names,
    require_model_folder,
    save_files,
)
from dbt_trueup.init.sample import ask_for_log
from dbt_trueup.init.screen import describe_guesses, describe_unsure
from dbt_trueup.init.words import collection_name
from dbt_trueup.printable import printable

from .options import dbt_options, epilog, json_option, project_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt_trueup.init.facts import Facts

EXAMPLE = """\
Example: a table with its schema
  $ trueup init shop.events

Example: three commands from a CSV of changes to a tested table
  $ dbt seed
  $ trueup init orders_log
  $ dbt build"""

CODES = """\
Exit codes
  0  the files are written
  2  nothing is written: you said no, a guess is not sure, a file exists, or dbt failed"""

HELP = {
    "table": "The table in the messages, such as public.orders, or all.",
    "key": "The columns of the key, with commas between them.",
    "place": "The columns of the topic, the partition and the offset.",
    "extract": "The column that says to which full extract a row belongs.",
    "sequence_by": "The order: columns or SQL expressions. The greatest one of a key wins.",
    "ts": "The tick, for a history by source time: a column or an SQL expression.",
    "ties": "What happens if two commands have one order; by default error.",
    "delete_when": "The condition of a delete, or none.",
    "skip_when": "The condition of a row that is no command, or none.",
    "truncate_when": "The condition of a truncate of the whole table, or none.",
    "columns": "The value columns.",
}


def answer_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that replace a guess. The command gets them by the names of the fields."""
    for field in reversed(HELP):
        kind = click.Choice(TIES) if field == "ties" else str
        option = f"--{field.replace('_', '-')}"
        command = click.option(option, type=kind, help=HELP[field])(command)
    return command


@click.command(epilog=epilog(EXAMPLE, CODES), short_help="Write the model for a log.")
@click.argument("log")
@click.option("--name", help="The name of the collection; by default from that of the log.")
@click.option("--envelope", type=click.Choice(ENVELOPES), help="In what form the log has changes.")
@answer_options
@click.option("--folder", help="The folder for the model; by default that of the models.")
@click.option("--companions", is_flag=True, help="Also write <name>_changelog and <name>_errors.")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.option("--force", is_flag=True, help="Replace files of trueup that exist.")
@json_option
@dbt_options
def init(  # noqa: PLR0913 - each is an option of the command
    *,
    log: str,
    name: str | None,
    folder: str | None,
    companions: bool,
    yes: bool,
    force: bool,
    as_json: bool,
    dbt: list[str],
    **given: str | None,
) -> int:
    """Guess what a log is, and write its model, with descriptions and tests.

    LOG is a table with its schema, or a seed, a model or a source of the project. An option
    replaces a guess.
    """
    project = project_folder(dbt)
    answers = {field: read_answer(field, text) for field, text in given.items() if text}
    place, facts = look(dbt, log, name, folder, answers, companions=companions)
    is_asked = is_terminal() and not yes and not as_json
    while is_asked and facts.unsure:
        click.echo(describe_guesses(facts))
        field = ask(facts, answers)
        try:
            facts = guess(facts.whole, facts.name, answers)
        except UsageError as error:
            # Only this answer is asked again. The others are kept.
            click.echo(error)
            del answers[field]
    files = {} if facts.unsure else write_files(facts, place)
    following = shlex.join(["dbt", "build", "--select", *place.models(facts.name), *dbt])
    if not as_json:
        click.echo(describe_guesses(facts))
    if facts.unsure and not as_json:
        click.echo(f"the model to start from:\n\n{write_model(facts, place.relation)}")
    if is_asked and not click.confirm(f"Write {len(files)} files to {place.folder}?"):
        click.echo("nothing is written")
        return 2
    save_files(project, files, overwrite=force)
    if as_json:
        guesses = [asdict(one) for one in facts.guesses.values()]
        report = {"log": log, "name": facts.name, "guesses": guesses, "files": list(files)}
        report |= {"next": following} if files else {"model": write_model(facts, place.relation)}
        click.echo(json.dumps(report))
    if facts.unsure:
        raise UsageError(describe_unsure(facts))
    if not as_json:
        click.echo("\n".join(["wrote", *(f"  {path}" for path in files), f"next: {following}"]))
    return 0


def look(  # noqa: PLR0913 - each is an option of the command
    dbt: list[str],
    log: str,
    name: str | None,
    folder: str | None,
    answers: dict[str, Any],
    *,
    companions: bool,
) -> tuple[Place, Facts]:
    """Find the log and the folder for the model in the project, and guess what the log is."""
    project, manifest = project_folder(dbt), parse(dbt)
    found = find_log(manifest, log)
    models = model_folders(manifest, project)
    if folder:
        require_model_folder(project, folder, models)
        folder = relative_folder(project, folder)
    sampled, target_schema = ask_for_log(dbt, found.relation, found.table)
    name = name or collection_name(found.table)
    place = Place(found.written, folder or models[0], found.schema, companions)
    require_free_names(manifest, place.models(name), place.folder, found, target_schema)
    return place, guess(sampled, name, answers)


def is_terminal() -> bool:
    """Whether a person can answer."""
    return sys.stdin.isatty()


def ask(facts: Facts, answers: dict[str, Any]) -> str:
    """Ask the user about the first guess that is not sure. Return its field."""
    unsure = facts.unsure[0]
    if unsure.candidates:
        click.echo(printable(f"{unsure.field} may be: {'; '.join(unsure.candidates)}"))
    # The prompt shows the default as it is, and a terminal would obey it.
    is_shown = unsure.value is not None and unsure.text().isprintable()
    text = click.prompt(
        unsure.field,
        default=unsure.text() if is_shown else None,
        type=click.Choice(ENVELOPES) if unsure.field == "envelope" else str,
    )
    answers[unsure.field] = read_answer(unsure.field, text)
    return unsure.field
