"""The command line: `ukemi COMMAND`, one file per command."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.markup import escape

import ukemi
from ukemi.cli.bench import app as bench
from ukemi.cli.convert import convert
from ukemi.cli.filter import filter_command
from ukemi.cli.forces import forces_command
from ukemi.cli.ik import ik
from ukemi.cli.info import info
from ukemi.cli.simulate import simulate
from ukemi.cli.view import view
from ukemi.errors import UkemiError, UkemiWarning

app = typer.Typer(
    name="ukemi",
    help="Dynamics of human figures: how they move while they touch, hold, let go, hit and land.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("convert")(convert)
app.command("filter")(filter_command)
app.command("forces")(forces_command)
app.command("ik")(ik)
app.command("info")(info)
app.command("simulate")(simulate)
app.command("view")(view)
app.add_typer(bench)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ukemi {ukemi.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs the command line; what ukemi or the file system objects to, warnings, and Ctrl-C, are one line on stderr."""
    warnings.showwarning = _show_warning
    try:
        app()
    except UkemiError as error:
        _say("[red]error:[/red]", error)
        sys.exit(1)
    except OSError as error:
        _say("[red]error:[/red]", f"{error.filename}: {error.strerror}" if error.filename else error)
        sys.exit(1)
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped")
        sys.exit(130)


def _say(what: str, message: object) -> None:
    Console(stderr=True, soft_wrap=True).print(f"{what} {escape(str(message))}", highlight=False)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Where in the package a warning of ukemi arose is nothing to who types a command."""
    where = "" if issubclass(category, UkemiWarning) else f"{filename}:{lineno}: {category.__name__}: "
    _say("[yellow]warning:[/yellow]", f"{where}{message}")
