"""The program `trueup`. Each command is a module beside this one."""

from __future__ import annotations

import gc
import io
import sys
import traceback
from typing import TYPE_CHECKING

import click

from dbt_trueup.errors import SparkStoppedError, TrueupError

from .adopt import adopt
from .check import check
from .demo import demo
from .explain import explain
from .init import init
from .land import land
from .lint import lint
from .options import epilog
from .prove import prove
from .report import report
from .run import run, watch

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = """\
`trueup COMMAND --help` shows the options of a command, an example and its exit codes."""


@click.group(epilog=epilog(EXAMPLE), context_settings={"max_content_width": 100})
@click.version_option(package_name="dbt-trueup")
def trueup() -> None:
    """Keep tables exactly as their logs say. Run it in the folder of a dbt project."""


for command in (demo, init, land, lint, adopt, explain, prove, run, watch, check, report):
    trueup.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words of the command line; by default those of this process.

    Returns:
        The exit code. 0: all is well. 1: something failed or does not hold. 2: the command could
        not run, and one line on the standard error says why. 3: Spark has stopped, and another
        process can go on.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A letter that the terminal does not have must not stop a watcher.
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return carry_out(words)
    finally:
        # A failed command of dbt leaves threads behind, and Python complains about them at exit.
        # Only here nothing holds its exception, and so them, any more.
        gc.collect()


def carry_out(words: list[str]) -> int:
    """Run the command line. Print an error in one line. Return the exit code."""
    try:
        exit_code: int = trueup.main(words, prog_name="trueup", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("stopped", err=True)
        return 130
    except SparkStoppedError as error:
        click.echo(f"trueup {words[0]}: {error}", err=True)
        return 3
    except (TrueupError, OSError) as error:
        click.echo(f"trueup {words[0]}: {error}", err=True)
        return 2
    except Exception as error:  # noqa: BLE001 - 1 would say that something does not hold
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        click.echo(f"trueup {words[0]}: this error is unexpected: {what}", err=True)
        return 2
    return exit_code
