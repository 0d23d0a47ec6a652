"""What `ukemi info` says of a motion file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from ukemi.errors import FileFormatError, InvalidInputError
from ukemi.motion.clip import Clip
from ukemi.motion.convert import MARKERS, TABLES
from ukemi.motion.figure import figure_from_clip
from ukemi.motion.foot_lock import contact_anchors
from ukemi.motion.footfalls import Contacts, foot_measures, footfalls, runs, sole_points
from ukemi.motion.ground_forces import read_ground_forces
from ukemi.motion.markers import Markers, read_markers
from ukemi.motion.read import read_motion
from ukemi.motion.tables import Table, read_table


def motion_summary(path: str, skeleton: Path | None = None) -> tuple[dict[str, Any], Clip | Markers | Table]:
    """What `ukemi info --json` prints of a motion, and the motion."""
    if Path(path).suffix.lower() in TABLES and skeleton is None:
        table = read_table(path)
        return _of_table(Path(path), table), table
    if Path(path).suffix.lower() in MARKERS and skeleton is None:
        markers = read_markers(path)
        return _of_markers(markers), markers
    clip = read_motion(path, skeleton=skeleton)
    return _of_clip(clip), clip


def _of_markers(markers: Markers) -> dict[str, Any]:
    plates = markers.forces
    return {
        "name": markers.name,
        "kind": "markers",
        "frames": len(markers),
        "fps": markers.fps,
        "markers": list(markers.names),
        "missing": markers.missing,
        "plates": 0 if plates is None else len(plates.names),
        "largest_vertical_force": None if plates is None else float(plates.force[..., 2].max()),
    }


def _of_table(path: Path, table: Table) -> dict[str, Any]:
    summary = {
        "name": path.stem,
        "kind": "table",
        "rows": len(table),
        "fps": table.fps,
        "start": float(table.time[0]),
        "end": float(table.time[-1]),
        "in_degrees": table.in_degrees,
        "columns": list(table.names),
    }
    try:
        forces = read_ground_forces(path)
    except FileFormatError:  # coordinates, torques, anything
        return summary
    up = forces.force[..., 2]
    return summary | {
        "kind": "ground forces",
        "plates": list(forces.names),
        "largest_vertical_force": float(up.max()),
        "mean_vertical_force": float(up.sum(axis=1).mean()),
    }


def _of_clip(clip: Clip) -> dict[str, Any]:
    skeleton = clip.skeleton
    summary: dict[str, Any] = {
        "name": clip.name,
        "kind": "clip",
        "frames": len(clip),
        "fps": clip.fps,
        "duration": clip.duration,
        "joints": list(skeleton.names),
        "parents": list(skeleton.parents),
        "unit": clip.layout.unit,
        "up": clip.layout.up,
    }
    try:
        figure = figure_from_clip(clip)
    except InvalidInputError as error:  # a motion need not be a person's
        return summary | {"figure": None, "why": str(error)}
    soles = list(figure.soles.values())
    points = sole_points(figure.model, soles, figure.q())
    _, contacts = contact_anchors(points, footfalls(points, clip.fps), soles)
    feet = foot_measures(points, contacts, clip.fps)
    stands: Contacts = np.any(contacts, axis=-1)
    steps = {side: len(runs(stands[:, k])) for k, side in enumerate(figure.soles)}
    return summary | {
        "figure": {
            "height": figure.height,
            "mass": figure.mass,
            "dof": figure.model.nv,
            "floor": figure.floor,
            "parts": {part: skeleton.names[j] for part, j in figure.joints.items()},
        },
        "feet": {
            "stances": steps,
            "skate_cm_s": 100 * feet.skate,
            "float_mm": 1e3 * feet.float_height,
            "penetration_mm": 1e3 * feet.penetration,
        },
    }


def show_motion(console: Console, summary: dict[str, Any], motion: Clip | Markers | Table) -> None:
    if isinstance(motion, Table):
        what = "ground forces, " if "plates" in summary else ""
        said = f", angles in {'degrees' if motion.in_degrees else 'radians'}" if not what else ""
        console.print(f"[bold]{escape(summary['name'])}[/bold]: {what}{len(motion)} rows at {motion.fps:g} a second")
        if what:
            console.print(
                f"plates {', '.join(summary['plates'])}; up to {summary['largest_vertical_force']:.0f} N on one, "
                f"{summary['mean_vertical_force']:.0f} N on all in the mean",
                markup=False,
            )
        console.print(f"{summary['start']:g} to {summary['end']:g} s{said}: {', '.join(motion.names)}", markup=False)
        return
    console.print(f"[bold]{escape(motion.name)}[/bold]: {len(motion)} frames at {motion.fps:g} fps")
    if isinstance(motion, Markers):
        console.print(f"{len(motion.names)} markers, {100 * motion.missing:.1f} % not seen: {', '.join(motion.names)}")
        if motion.forces is not None:
            console.print(f"{summary['plates']} force plates, up to {summary['largest_vertical_force']:.0f} N")
        return
    skeleton = motion.skeleton
    tree = Tree(escape(skeleton.names[0]))
    branches = {0: tree}
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            branches[j] = branches[parent].add(escape(skeleton.names[j]))
    console.print(tree)
    # what is no .bvh has only the layout that it would be written in
    stands = "" if motion.raw is None else f"; {motion.layout.up} up, {motion.layout.unit:.5g} m a unit in the file"
    console.print(f"{len(skeleton)} joints{stands}")
    figure, feet = summary["figure"], summary.get("feet")
    if figure is None or feet is None:
        console.print(f"[yellow]no figure:[/yellow] {escape(summary['why'])}")
        return
    console.print(
        f"a person of {figure['height']:.2f} m and {figure['mass']:.1f} kg; {figure['dof']} degrees of freedom"
    )
    stances = ", ".join(f"{count} {side}" for side, count in feet["stances"].items())
    console.print(
        f"stances: {stances}; feet skate {feet['skate_cm_s']:.1f} cm/s, float {feet['float_mm']:.1f} mm, "
        f"sink up to {feet['penetration_mm']:.1f} mm"
    )
