"""`ukemi filter`: a motion that physics allows, from one that it does not."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ukemi.cli.figures import open_model
from ukemi.cli.folders import check_folder
from ukemi.contact.terrain import Ground
from ukemi.dynamics_filter.clip import filter_motion
from ukemi.dynamics_filter.control import Intervals
from ukemi.errors import FileFormatError, InvalidInputError, UkemiWarning
from ukemi.motion.clip import Clip
from ukemi.motion.read import read_motion
from ukemi.motion.synthesis import walk
from ukemi.report.filter_files import write_all
from ukemi.viewer.page import write_page
from ukemi.viewer.stage import stage_of_clip, stage_of_result

#: Exit code of a motion that is not feasible; its files are complete all the same.
INFEASIBLE = 3


def filter_command(
    file: Annotated[
        Path | None,
        typer.Argument(help="A motion: .bvh, .amc, .npz, .c3d, .trc, .mot. Without one: a walk of our own."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for motion, torques, ground forces and report.")] = Path("out"),
    model: Annotated[
        str | None, typer.Option(help="Another body: URDF, MJCF, human28; default the person in the clip.")
    ] = None,
    solver: Annotated[str, typer.Option(help="trajectory (the whole clip at once), online, or paper.")] = "trajectory",
    slope: Annotated[float, typer.Option(help="Of the ground along x (degrees), positive uphill.")] = 0.0,
    belt: Annotated[
        float | None,
        typer.Option(
            help="Velocity of a treadmill's belt along x (m/s), negative under who walks to +x; 0: none; default found."
        ),
    ] = None,
    cutoff: Annotated[float | None, typer.Option(help="Of the smoothing of the input (Hz); default about 8.")] = None,
    friction: Annotated[float, typer.Option(help="Of the ground.")] = 0.8,
    strength: Annotated[float, typer.Option(help="1 full physics, less lets the root lack some force, 0 none.")] = 1.0,
    only: Annotated[str | None, typer.Option(help="feet: feet that touch and stand, without physics.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Hold a part closer to the input: arms=10, legs, trunk, head or a link.")
    ] = None,
    contacts: Annotated[
        Path | None, typer.Option(help="File of known contacts, a line a part: left_foot: 1.20-1.85, 2.4-3.")
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Of the person (kg); default by height.")] = None,
    height: Annotated[float | None, typer.Option(help="Of the person (m); default by the bones.")] = None,
    sex: Annotated[str, typer.Option(help="male or female: whose table of body masses.")] = "male",
    parts: Annotated[
        list[str] | None, typer.Option(help="Body part by its joint's name, where names do not tell: left_foot=Bone23.")
    ] = None,
    up: Annotated[str | None, typer.Option(help="Axis of the file that is up, y or z; default found.")] = None,
    unit: Annotated[str | None, typer.Option(help="m, cm, mm, inch, foot, or metres per unit; default found.")] = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second, where the file is wrong.")] = None,
    rest_pose: Annotated[str, typer.Option(help="Whether frame 0 is an added rest pose: auto, keep, drop.")] = "auto",
    start: Annotated[float | None, typer.Option(help="First second that is filtered, on the file's clock.")] = None,
    end: Annotated[float | None, typer.Option(help="Last second that is filtered.")] = None,
    skeleton: Annotated[
        Path | None, typer.Option(help="The .osim of a .mot or .sto, the .asf of an .amc; default the one beside it.")
    ] = None,
    static: Annotated[Path | None, typer.Option(help="A standing trial with more markers, for .c3d and .trc.")] = None,
    markers: Annotated[
        Path | None, typer.Option(help="CSV file label,landmark: markers whose names are unknown.")
    ] = None,
    animation: Annotated[bool, typer.Option(help="Whether motion.gif is drawn.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Filters a motion: feet that stand, ground forces that push, torques that fit.

    Open report.html first; beside it are motion.bvh, states.npz, torques.csv, ground_forces.csv, .mot, motion.gif, and
    view.html: the motion with its forces, beside what came in, from all sides.

    Every frame of the input comes back. Exit code 0: the motion is feasible, or supported by something besides the
    ground (the report says by what and when); 3: it is not, and the report says where; 2: wrong use.

    Ctrl-C keeps what was done.

    Examples:

      ukemi filter                                   a walk of our own, results in out/

      ukemi filter walk.bvh --out walk --json        numbers for scripts

      ukemi filter walk.bvh --slope -5               down a hill

      ukemi filter walk.bvh --mass 62 --height 1.68  the person as measured

      ukemi filter dance.bvh --keep arms=10          arms closer to the input than legs

      ukemi filter dance.bvh --only feet             no skating, no floating; no physics

      ukemi filter walk.bvh --model human28          on another body

      ukemi filter walk_ik.mot --skeleton walker.osim --mass 72.6 --belt -1.1   coordinates of OpenSim, on a treadmill
    """
    check_folder(out)
    if only not in (None, "feet"):
        raise InvalidInputError(f"--only: expected feet, got {only!r}")
    amount = 0.0 if only == "feet" else strength
    clip = window(opened(file, unit, up, rest_pose, fps, skeleton, static, markers), start, end)
    a = np.deg2rad(slope)
    along = (belt or 0.0) * np.array([np.cos(a), 0.0, np.sin(a)])
    ground = Ground(normal=(-np.sin(a), 0.0, np.cos(a)), friction=friction, velocity=along)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UkemiWarning)
            result = filter_motion(
                clip,
                None if model is None else open_model(model, free=True),
                ground,
                solver,
                strength=amount,
                contacts=None if contacts is None else read_contacts(contacts),
                keep={name: _factor(name, x) for name, x in _pairs("--keep", keep).items()} or None,
                mass=mass,
                height=height,
                sex=sex,  # type: ignore[arg-type]  # checked there
                parts=_pairs("--parts", parts) or None,
                belt=belt is None,
                cutoff=cutoff,
                progress=not as_json,
            )
    except KeyboardInterrupt:
        text = f"stopped while the motion was prepared: nothing was filtered, {out} is as it was"
        typer.echo(text, err=True)
        raise typer.Exit(130) from None
    notes = [str(w.message) for w in said if issubclass(w.category, UkemiWarning)]
    for note in notes:
        typer.echo(f"warning: {note}", err=True)
    if result.interrupted:
        typer.echo(f"stopped: the frames that were not reached are as captured; all of it is in {out}", err=True)
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
        "duration_s": clip.duration,
        "interrupted": result.interrupted,
        **{k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in result.quality.as_dict().items()},
        "supports": [vars(support) for support in result.supports],
        "warnings": notes,
        "files": files,
    }
    if as_json:
        typer.echo(json.dumps(summary))
    else:
        for key, value in summary.items():
            if key not in ("files", "supports", "warnings"):
                typer.echo(f"{key.replace('_', ' '):28s} {f'{value:.4g}' if isinstance(value, float) else value}")
        for support in result.supports:
            typer.echo(f"besides the ground: {support}")
        typer.echo(f"{result.verdict}: {result.quality.reason}")
        typer.echo(f"look at {files['report']}")
    if result.verdict == "infeasible" and amount == 1:
        raise typer.Exit(INFEASIBLE)


def opened(
    file: Path | None,
    unit: str | None,
    up: str | None,
    rest_pose: str,
    fps: float | None,
    skeleton: Path | None,
    static: Path | None,
    markers: Path | None = None,
) -> Clip:
    """A motion as the options say that it is to be read; without a file a walk of our own."""
    if file is None:
        return walk()
    try:
        size: str | float | None = None if unit is None else float(unit)
    except ValueError:
        size = unit
    return read_motion(
        file, unit=size, up=up, rest_pose=rest_pose, fps=fps, skeleton=skeleton, static=static, markers=markers
    )


def window(clip: Clip, start: float | None, end: float | None) -> Clip:
    """The frames between two times on the file's clock [s]."""
    first = 0 if start is None else max(round((start - clip.start) * clip.fps), 0)
    last = len(clip) if end is None else min(round((end - clip.start) * clip.fps) + 1, len(clip))
    if last - first < 1:
        raise InvalidInputError(f"--start, --end: no frame of {clip.name!r} ({clip.duration:.2f} s) lies between")
    return clip[first:last]


def read_contacts(file: Path) -> Intervals:
    """Contacts from a file: a line a part, such as ``left_foot: 1.20-1.85, 2.4-3`` [s]; # begins a remark."""
    found: dict[str, list[tuple[float, float]]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        name, colon, times = text.partition(":")
        pairs = re.findall(r"\s*([0-9.]+)\s*-\s*([0-9.]+)\s*(?:,|$)", times)
        if not colon or (times.strip() and not pairs):
            raise FileFormatError(file, number, f"expected a line such as 'left_foot: 1.20-1.85, 2.4-3', got {line!r}")
        try:
            found[name.strip()] = [(float(a), float(b)) for a, b in pairs]
        except ValueError:
            raise FileFormatError(file, number, f"expected seconds, got {times.strip()!r}") from None
    return found


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    out = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise InvalidInputError(f"{option}: expected NAME=VALUE, got {item!r}")
        out[name] = value
    return out


def _factor(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"--keep {name}: expected a number, got {text!r}") from None
