"""`ukemi filter`: a motion that physics allows, from one that it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ukemi.cli.figures import open_model
from ukemi.cli.folders import check_folder
from ukemi.contact.terrain import Ground
from ukemi.dynamics_filter.clip import Interrupted, filter_motion
from ukemi.motion.read import read_motion, write_motion
from ukemi.motion.synthesis import walk
from ukemi.report.filter_files import write_all
from ukemi.viewer.page import write_page
from ukemi.viewer.stage import stage_of_clip, stage_of_result


def filter_command(
    file: Annotated[
        Path | None,
        typer.Argument(help="A motion: .bvh, .amc, .npz, .c3d, .trc, .mot. Without one: a walk of our own."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for motion, torques, ground forces and report.")] = Path("out"),
    model: Annotated[
        str | None, typer.Option(help="Another body: URDF, MJCF, human28; default the person in the clip.")
    ] = None,
    preview: Annotated[float, typer.Option(help="Seconds of look-ahead; 0 none, inf the whole clip.")] = 0.8,
    solver: Annotated[str, typer.Option(help="qp, or paper for the filter as printed.")] = "qp",
    slope: Annotated[float, typer.Option(help="Of the ground along x (degrees), positive uphill.")] = 0.0,
    belt: Annotated[float, typer.Option(help="Velocity of the ground along x (m/s), for a treadmill.")] = 0.0,
    friction: Annotated[float, typer.Option(help="Of the ground.")] = 0.8,
    mass: Annotated[float | None, typer.Option(help="Of the person (kg); default by height.")] = None,
    height: Annotated[float | None, typer.Option(help="Of the person (m); default by the bones.")] = None,
    pace: Annotated[
        float | None, typer.Option(help="Share of the file's frame rate; default 1, or what it must be to stand.")
    ] = None,
    skeleton: Annotated[
        Path | None, typer.Option(help="The .osim of a .mot or .sto, the .asf of an .amc; default the one beside it.")
    ] = None,
    static: Annotated[Path | None, typer.Option(help="A standing trial with more markers, for .c3d and .trc.")] = None,
    animation: Annotated[bool, typer.Option(help="Whether motion.gif is drawn.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Filters a motion: feet that stand, ground forces that push, torques that fit.

    Open report.html first; beside it are motion.bvh, states.npz, torques.csv, ground_forces.csv, .mot, motion.gif, and
    view.html: the motion with its forces, beside what came in, from all sides.

    A figure that falls says when. Ctrl-C keeps what was done.

    Examples:

      ukemi filter                                   a walk of our own, results in out/

      ukemi filter walk.bvh --out walk --json        numbers for scripts

      ukemi filter walk.bvh --slope -5               down a hill

      ukemi filter walk.bvh --mass 62 --height 1.68  the person as measured

      ukemi filter jump.amc --preview inf            planned as a whole before it is filtered

      ukemi filter walk.bvh --model human28          on another body

      ukemi filter walk_ik.mot --skeleton walker.osim --mass 72.6 --belt -1.1   coordinates of OpenSim, on a treadmill
    """
    check_folder(out)
    clip = walk() if file is None else read_motion(file, skeleton=skeleton, static=static)
    a = np.deg2rad(slope)
    along = belt * np.array([np.cos(a), 0.0, np.sin(a)])
    ground = Ground(normal=(-np.sin(a), 0.0, np.cos(a)), friction=friction, velocity=along)
    try:
        result = filter_motion(
            clip,
            None if model is None else open_model(model, free=True),
            ground,
            preview,
            solver,
            mass=mass,
            height=height,
            pace=pace,
            progress=not as_json,
        )
    except KeyboardInterrupt as stop:
        typer.echo(_what_is_left(stop, out), err=True)
        raise typer.Exit(130) from None
    if result.interrupted:
        typer.echo(f"stopped at {result.time[-1]:.2f} s: what was done until then is in {out}", err=True)
    try:
        files = write_all(result, out, animation=animation)
        made = stage_of_result(result)
        files["view"] = str(
            write_page([made, stage_of_clip(clip).moved((0.0, 1.2, 0.0))], out / "view.html", title=clip.name)
        )
    except KeyboardInterrupt:
        typer.echo(f"stopped while results were written: those in {out} are whole but for the newest", err=True)
        raise typer.Exit(130) from None
    summary = {
        "motion": clip.name,
        "duration_s": float(result.time[-1] + result.dt),
        "interrupted": result.interrupted,
        **result.quality.as_dict(),
        "files": files,
    }
    if as_json:
        typer.echo(json.dumps(summary))
        return
    for key, value in summary.items():
        if key != "files":
            typer.echo(f"{key.replace('_', ' '):26s} {f'{value:.4g}' if isinstance(value, float) else value}")
    typer.echo(f"look at {files['report']}")


def _what_is_left(stop: KeyboardInterrupt, out: Path) -> str:
    """Writes what there is when nothing has been filtered yet, and says so."""
    motion = stop.motion if isinstance(stop, Interrupted) else None
    if motion is None:
        return f"stopped while the motion was prepared: nothing was filtered, {out} is as it was"
    out.mkdir(parents=True, exist_ok=True)
    file = write_motion(motion, out / "reference.bvh")
    return f"stopped before the first step: {file} has the feet held where they stand, but nothing was filtered"
