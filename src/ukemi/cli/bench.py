"""`ukemi bench`: the tables of the documentation, computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ukemi.dynamics_filter.clip import filter_motion
from ukemi.errors import InvalidInputError, UkemiError
from ukemi.motion.read import read_motion

app = typer.Typer(name="bench", help="Compute the tables of the documentation again.", no_args_is_help=True)

COLUMNS = (
    "clip",
    "s",
    "end",
    "preset",
    "joints deg",
    "com cm",
    "skate mm",
    "sink mm",
    "peak BW",
    "residual",
    "x real time",
)


@app.callback()
def bench() -> None:
    """Compute the tables of the documentation again."""


@app.command("filter")
def bench_filter(
    folder: Annotated[Path, typer.Argument(help="Where motion files are; folders in it count too.")],
    preview: Annotated[float, typer.Option(help="Seconds of look-ahead.")] = 0.8,
    seconds: Annotated[float, typer.Option(help="Longer clips are cut.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per clip.")] = False,
) -> None:
    """Filters every .bvh and .amc below a folder with one setting, and prints a table.

    Example: ukemi bench filter motions
    """
    files = sorted([*folder.rglob("*.bvh"), *folder.rglob("*.amc")]) if folder.is_dir() else [folder]
    if not files or not folder.exists():
        raise InvalidInputError(f"{folder}: no .bvh or .amc files")
    if not as_json:
        typer.echo("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for file in files:
        try:
            clip = read_motion(file)
            result = filter_motion(clip[: round(seconds * clip.fps) + 1], preview=preview)
        except UkemiError as error:
            typer.echo(
                json.dumps({"clip": str(file), "error": str(error)}) if as_json else f"| {file.stem} | {error} |"
            )
            continue
        q = result.quality
        if as_json:
            typer.echo(json.dumps({"clip": str(file), "duration_s": float(result.time[-1]), **q.as_dict()}))
            continue
        end = "up" if q.fell_at is None else f"falls at {q.fell_at:.2f} s"
        if q.pace != 1:
            end += f", pace {q.pace:g}"
        cells = [file.stem, f"{clip.duration:.1f}", end, q.preset, f"{q.joint_rms_deg:.1f}", f"{q.com_rms_cm:.1f}"]
        cells += [
            f"{q.skate_mm:.3f}",
            f"{q.penetration_mm:.2f}",
            f"{q.peak_bw:.2f}",
            f"{q.residual_bw:.0e}",
            f"{q.realtime_factor:.1f}",
        ]
        typer.echo("| " + " | ".join(cells) + " |")
