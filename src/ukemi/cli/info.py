"""`ukemi info`: what a model or motion file holds."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from ukemi.cli.figures import MOTIONS, open_model
from ukemi.cli.info_motion import motion_summary, show_motion
from ukemi.cli.info_recording import recording_summary, show_recording
from ukemi.errors import UkemiWarning
from ukemi.model.description import Coupling
from ukemi.model.joints import Joint, Prismatic
from ukemi.model.model import Link, Model
from ukemi.sim.recording import is_recording

#: A pipe has no width; lines must not be broken for those who read them.
PIPE_WIDTH = 10_000


def info(
    file: Annotated[
        str,
        typer.Argument(help="A model (.urdf, MJCF .xml, .osim, human16, human28, human40) a motion or a recording."),
    ],
    skeleton: Annotated[
        Path | None, typer.Option(help="The .asf of an .amc; the .osim of a .mot or .sto, whose table becomes a clip.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a tree.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Shows the links, joints, masses and limits of a model, or what a motion file or a recording holds.

    Examples:

      ukemi info robot.urdf

      ukemi info human28 --json --out human.json

      ukemi info walk.bvh

      ukemi info out/recording.npz
    """
    if Path(file).suffix.lower() in MOTIONS:
        if is_recording(file):
            content = recording_summary(file)
            show = partial(show_recording, summary=content)
        else:
            content, motion = motion_summary(file, skeleton)
            show = partial(show_motion, summary=content, motion=motion)
        with nullcontext(sys.stdout) if out is None else out.open("w", encoding="utf-8") as stream:
            if as_json:
                stream.write(json.dumps(content, indent=2) + "\n")
            else:
                width = None if stream.isatty() else PIPE_WIDTH
                show(Console(file=stream, highlight=False, width=width))
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UkemiWarning)
        model = open_model(file)
    notes = [str(w.message) for w in caught if issubclass(w.category, UkemiWarning)]
    with nullcontext(sys.stdout) if out is None else out.open("w", encoding="utf-8") as stream:
        if as_json:
            json.dump(summary(model, notes), stream, indent=2)
            stream.write("\n")
            return
        width = None if stream.isatty() else PIPE_WIDTH
        _show(Console(file=stream, highlight=False, width=width), model, notes)


def summary(model: Model, notes: list[str]) -> dict[str, Any]:
    """What `ukemi info --json` prints; angles in radians."""
    return {
        "name": model.name,
        "nq": model.nq,
        "nv": model.nv,
        "nlinks": model.nlinks,
        "mass": model.mass,
        "links": [_link_summary(link) for link in model.links],
        "loops": [
            {"name": loop.name, "a": loop.a, "b": loop.b, "joint": type(loop.joint).__name__} for loop in model.loops
        ],
        "couplings": [vars(coupling) for coupling in model.couplings],
        "defaults": dict(model.defaults),
        "landmarks": {name: landmark.link for name, landmark in model.landmarks.items()},
        "warnings": notes,
    }


def _link_summary(link: Link) -> dict[str, Any]:
    return {
        "name": link.name,
        "parent": None if link.parent is None else link.parent.name,
        "joint": link.joint_name,
        "kind": type(link.joint).__name__,
        "dof": link.joint.nv,
        "limits": _finite(link.joint.limits),
        "effort": _finite(link.joint.effort),
        "speed": _finite(link.joint.speed),
        "mass": link.mass_properties.mass,
        "shapes": [type(shape).__name__ for shape in link.shapes],
    }


def _finite(values: Any) -> Any:
    """Nested lists, with None for infinite numbers, which JSON does not know."""
    if values is None:
        return None
    array = np.asarray(values).astype(object)
    array[np.isinf(np.asarray(values))] = None
    return array.tolist()


def _show(console: Console, model: Model, notes: list[str]) -> None:
    root = Tree(f"[bold]{escape(model.name)}[/bold]")
    branches: dict[int, Tree] = {}
    for link in model.links:
        above = root if link.parent is None else branches[link.parent.index]
        branches[link.index] = above.add(_label(link))
    console.print(root)
    console.print(f"{model.nlinks} links, nq {model.nq}, nv {model.nv}, {model.mass:.4g} kg")
    for loop in model.loops:
        console.print(f"loop {loop.name}: {loop.a} and {loop.b}, {type(loop.joint).__name__}", markup=False)
    for coupling in model.couplings:
        console.print(f"coupling: {coupling.joint} = {_polynomial(coupling)}", markup=False)
    if model.defaults:
        defaults = ", ".join(f"{joint} {value:g}" for joint, value in model.defaults.items())
        console.print(f"defaults other than zero: {defaults}", markup=False)
    if model.landmarks:
        console.print(f"landmarks: {', '.join(model.landmarks)}", markup=False)
    for note in notes:
        console.print(f"[yellow]warning:[/yellow] {escape(note)}")


def _polynomial(coupling: Coupling) -> str:
    """Such as ``-2 knee + 0.1 knee^2 - 0.5``."""
    powers = enumerate((coupling.multiplier, *coupling.higher), start=1)
    terms = [(c, f" {coupling.master}{f'^{k}' if k > 1 else ''}") for k, c in powers if c]
    terms += [(coupling.offset, "")] if coupling.offset or not terms else []
    first, *rest = terms
    return f"{first[0]:g}{first[1]}" + "".join(f" {'-' if c < 0 else '+'} {abs(c):g}{x}" for c, x in rest)


def _label(link: Link) -> str:
    joint = link.joint
    parts = [escape(link.name), f"[cyan]{type(joint).__name__}[/cyan]"]
    if joint.nv:
        parts.append(f"{joint.nv} DOF")
    if joint.limits is not None:
        parts.append(escape(_limits(joint)))
    if link.mass_properties.mass > 0:
        parts.append(f"{link.mass_properties.mass:.4g} kg")
    return "  ".join(parts)


def _limits(joint: Joint) -> str:
    """Lengths in metres, angles in degrees; a planar joint has both."""
    rows = np.atleast_2d(np.asarray(joint.limits))
    lengths = len(rows) if isinstance(joint, Prismatic) else len(rows) - 1 if len(rows) == 3 else 0
    shown = [
        f"{lower:.4g}..{upper:.4g} m" if row < lengths else f"{np.degrees(lower):.4g}..{np.degrees(upper):.4g} deg"
        for row, (lower, upper) in enumerate(rows)
    ]
    return ", ".join(shown)
