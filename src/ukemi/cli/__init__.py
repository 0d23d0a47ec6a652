"""The command line: `ukemi COMMAND`, one file per command."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.markup import escape

from ukemi.cli.bench import app as bench
from ukemi.cli.convert import convert
from ukemi.cli.filter import filter_command
from ukemi.cli.info import info
from ukemi.cli.simulate import simulate
from ukemi.cli.view import view
from ukemi.errors import UkemiError

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
app.command("info")(info)
app.command("simulate")(simulate)
app.command("view")(view)
app.add_typer(bench)


def main() -> None:
    """Runs the command line; what ukemi or the file system objects to, and Ctrl-C, is one line on stderr."""
    try:
        app()
    except (UkemiError, OSError) as error:
        Console(stderr=True, soft_wrap=True).print(f"[red]error:[/red] {escape(str(error))}", highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped")
        sys.exit(130)
