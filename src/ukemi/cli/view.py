"""`ukemi view`: motions and models in the browser."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ukemi.cli.figures import MOTIONS, open_model
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import numbers
from ukemi.motion.read import OPTIONS, read_motion
from ukemi.viewer.page import write_page
from ukemi.viewer.stage import read_stage, stage_of_clip, stage_of_model


def view(
    files: Annotated[
        list[str], typer.Argument(help="Motions, models or recordings; several play side by side.", metavar="FILE...")
    ],
    out: Annotated[Path, typer.Option(help="The page.")] = Path("view.html"),
    model: Annotated[str | None, typer.Option(help="Whose recording (.npz of ukemi simulate) it is.")] = None,
    skeleton: Annotated[Path | None, typer.Option(help="The .osim of a .mot or .sto, the .asf of an .amc.")] = None,
    static: Annotated[Path | None, typer.Option(help="A standing trial with more markers, for .c3d and .trc.")] = None,
    markers: Annotated[
        Path | None, typer.Option(help="CSV file label,landmark: markers whose names are unknown.")
    ] = None,
    apart: Annotated[float, typer.Option(help="Between motions, to the side (m); 0: one in the other.")] = 1.0,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; opens nothing.")] = False,
) -> None:
    """Writes a page that shows motions in any browser, without network, and opens it.

    Drag turns, right drag shifts, the wheel comes nearer, space stops and goes on.

    Examples:

      ukemi view walk.bvh

      ukemi view walk.bvh out/motion.bvh             before and after the filter

      ukemi view out/recording.npz --model human28   what ukemi simulate did, with the ground's forces

      ukemi view robot.urdf --out robot.html
    """
    numbers("--apart", apart)
    kinds = {Path(name).suffix.lower() for name in files}
    if model is not None and ".npz" not in kinds:
        raise InvalidInputError("--model says whose a recording (.npz) is: none of the files is one")
    given = {"skeleton": skeleton, "static": static, "markers": markers}
    reading = {name: path for name, path in given.items() if path is not None}
    for name in reading:
        takers = [kind for kind, options in OPTIONS.items() if name in options]
        if not kinds & set(takers):
            raise InvalidInputError(f"--{name} says how to read {', '.join(takers)}: none of the files is one")
    stages = []
    for k, name in enumerate(files):
        path = Path(name)
        if path.suffix.lower() not in MOTIONS:
            stage = stage_of_model(open_model(name)).on_floor()
        elif own := {option: x for option, x in reading.items() if option in OPTIONS.get(path.suffix.lower(), ())}:
            stage = stage_of_clip(
                read_motion(path, skeleton=own.get("skeleton"), static=own.get("static"), markers=own.get("markers"))
            )
        else:
            stage = read_stage(path, None if model is None else open_model(model))
        stages.append(stage.moved((0.0, -apart * k, 0.0)))
    page = write_page(stages, out)
    summary = {
        "page": str(page),
        "shown": [{"name": s.name, "parts": len(s.parts), "frames": len(s.time)} for s in stages],
    }
    if as_json:
        typer.echo(json.dumps(summary))
        return
    typer.echo(f"look at {page}")
    if show:
        webbrowser.open(page.resolve().as_uri())
