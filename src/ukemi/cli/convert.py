"""`ukemi convert`: one motion file into another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ukemi.errors import InvalidInputError
from ukemi.motion.convert import convert as convert_file


def convert(
    source: Annotated[Path, typer.Argument(help=".bvh, .amc, .npz, .c3d, .trc, .mot, .sto or .csv.")],
    target: Annotated[Path | None, typer.Argument(help=".bvh, .npz, .csv, .trc, .mot or .sto.")] = None,
    out: Annotated[Path | None, typer.Option(help="The target, for those who name it so.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="Of lengths in the source: m, cm, mm, inch, foot, cmu; default by body size.")
    ] = None,
    up: Annotated[str | None, typer.Option(help="Which axis of the source is up: y or z; default by the body.")] = None,
    rest_pose: Annotated[str, typer.Option(help="Frame 0 as an added rest pose: auto, keep or drop.")] = "auto",
    fps: Annotated[float | None, typer.Option(help="Frames per second of the source, if it does not say.")] = None,
    skeleton: Annotated[
        Path | None, typer.Option(help="The .asf of an .amc, the .osim of a .mot; default the one beside it.")
    ] = None,
    static: Annotated[Path | None, typer.Option(help="A standing trial with more markers, for .c3d and .trc.")] = None,
    markers: Annotated[
        Path | None, typer.Option(help="CSV file label,landmark: markers whose names are unknown.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Sample anew at so many frames per second.")] = None,
    start: Annotated[float | None, typer.Option(help="Leave out what is before (s).")] = None,
    end: Annotated[float | None, typer.Option(help="Leave out what is after (s).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Converts motion files: clips, markers, ground forces, tables.

    Examples:

      ukemi convert 02_01.amc walk.bvh --rate 60

      ukemi convert trial.c3d trial_grf.mot
    """
    if (target is None) == (out is None):
        raise InvalidInputError("convert: expected one target, as the second argument or with --out")
    written = target or out
    assert written is not None
    done = convert_file(
        source,
        written,
        rate=rate,
        start=start,
        end=end,
        unit=unit,
        up=up,
        rest_pose=rest_pose,
        fps=fps,
        skeleton=skeleton,
        static=static,
        markers=markers,
    )
    summary = {"source": str(source), "target": str(written), **done}
    if as_json:
        typer.echo(json.dumps(summary))
        return
    typer.echo(f"{written}: " + ", ".join(f"{key} {value}" for key, value in done.items()))
