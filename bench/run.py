"""Times ukemi and its peers side by side on one core: see README.md."""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from cases import batch, closed, contact, hand, imports, inside_core, particles, python_calls, scaling, whole_body
from inside.build import build
from inside.session import Session
from machine import commit, machine, pin_to_one_core, versions
from mechanism import bodies, figure, text
from peers.mujoco_peer import mjcf
from plot import plot_scaling
from result import Results
from rich.console import Console
from table import table

import ukemi as uk

RESULTS = Path(__file__).parent / "results"
#: Engines that disagree by more, relatively, are not computing the same thing.
AGREEMENT = 1e-9


def inside(results: Results, model: uk.Model, rounds: int) -> None:
    """The cases in compiled code; without a compiler or a peer they are left out, with the reason."""
    try:
        with Console(stderr=True).status("compiling the harness (minutes the first time: Pinocchio is all headers)"):
            harness = build()
    except RuntimeError as error:
        results.missing["inside"] = str(error)
        return
    results.missing.update(harness.missing)
    pin_to_one_core()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = bodies(model)
        path, xml = folder / "figure.txt", folder / "figure.xml"
        path.write_text(text(rows))
        xml.write_text(mjcf(rows))
        engines = ["ukemi", *(f"mujoco={xml}" if peer == "mujoco" else peer for peer in harness.peers)]
        with Session(harness.program, path, inside_core.STATES, 1.0, engines) as session:
            inside_core.run(session, rounds, results)
        with Session(harness.program, path, batch.STATES, 1.0, engines) as session:
            batch.run(model, session, rounds // 4, results)
        scaling.run(harness.program, folder, rounds, results)


Quick = Annotated[bool, typer.Option("--quick", help="Few rounds; nothing is written unless --json is given.")]
PythonOnly = Annotated[bool, typer.Option("--python-only", help="Leave out what needs a C++ compiler.")]
Output = Annotated[Path | None, typer.Option("--json", help="Where the results go.")]


def main(quick: Quick = False, python_only: PythonOnly = False, output: Output = None) -> None:
    """Prints one table of times, ratios and goals; exits with 1 only if the engines do not agree."""
    rounds = 20 if quick else 1000
    uk.set_threads(1)
    results = Results()
    model = figure()
    if not python_only:
        inside(results, model, rounds)
    pin_to_one_core()
    python_calls.run(model, bodies(model), rounds, results)
    closed.run(model, bodies(model), max(5, rounds // 4), results)
    hand.run(rounds, results)
    contact.run(max(3, rounds // 20), results)
    whole_body.run(max(5, rounds // 10), results)
    particles.run(max(5, rounds // 40), results)
    imports.run(max(5, rounds // 40), results)

    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table(results))
    for name, reason in results.missing.items():
        console.print(f"{name}: n/a, {reason}")
    console.print(f"Largest relative difference between engines: {results.worst_difference:.1e}")

    now = datetime.datetime.now(datetime.timezone.utc)
    if output is None and not quick:
        RESULTS.mkdir(exist_ok=True)
        output = RESULTS / f"{now:%Y-%m-%d}-{commit().replace('+', '-changed')}.json"
    if output is not None:
        document = {
            "date": now.isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": machine(),
            "versions": versions(),
            "rounds": rounds,
            "races": [race.as_json() for race in results.races],
            "limits": [limit.as_json() for limit in results.limits],
            "accuracy": results.accuracy,
            "missing": results.missing,
        }
        output.write_text(json.dumps(document, indent=1) + "\n")
        flat = [limit for limit in results.limits if "cost per" in limit.case]
        if flat:
            plot_scaling(flat, output.with_suffix(".png"))
    if results.worst_difference > AGREEMENT:
        console.print(f"[red]The engines do not agree within {AGREEMENT:g}.[/]")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
