"""Pictures of a filtered motion: plots as PNG bytes, and the input beside the result as a GIF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ukemi.contact.terrain import Solids, pieces
from ukemi.dynamics.kinematics import center_of_mass, link_poses
from ukemi.dynamics_filter.quality import joint_turns
from ukemi.dynamics_filter.result import FilterResult, plate_force
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.report.html import plot_png
from ukemi.report.strip import LEFT, MIDDLE, RIGHT

SIDE_COLOURS = (LEFT, RIGHT, "#3a7d44", "#7b4a9e")


def plots(result: FilterResult) -> dict[str, bytes]:
    """title -> PNG."""
    model, weight = result.model, result.model.mass * 9.81
    t, g = result.time, result.ground_forces
    names = [name.replace("_", " ") for name in g.names]
    pictures: dict[str, bytes] = {}

    def vertical(axes: Any) -> None:
        axes.axhline(1.0, color="#cccccc", lw=0.8)
        together = plate_force(g.total[:, 2], result.dt) / weight
        axes.plot(t, together, color="black", lw=0.7, label="together")
        for k, name in enumerate(names):
            force = plate_force(g.force[:, k, 2], result.dt) / weight
            axes.plot(t, force, color=SIDE_COLOURS[k % 4], lw=1.2, label=name)
        axes.set_ylim(0, max(1.6, 1.05 * float(together.max())))
        axes.set_ylabel("body weights")

    def level(axes: Any) -> None:
        for i, name in enumerate("xy"):
            axes.plot(
                t, plate_force(g.total[:, i], result.dt) / weight, color=("black", "#999999")[i], lw=1, label=name
            )
        axes.set_ylabel("body weights")

    def friction(axes: Any) -> None:
        for k, name in enumerate(names):
            bears = g.force[:, k, 2] > 0.05 * weight
            use = np.where(bears, np.hypot(*g.force[:, k, :2].T) / np.maximum(g.force[:, k, 2], 1e-9), np.nan)
            axes.plot(t, use, color=SIDE_COLOURS[k % 4], lw=1, label=name)
        axes.set_ylim(0, 1)
        axes.set_ylabel("level / vertical force")

    def pressure(axes: Any) -> None:
        cop = result.cop
        for k, name in enumerate(names):
            axes.plot(cop[:, k, 0], cop[:, k, 1], ".", ms=1.5, color=SIDE_COLOURS[k % 4], label=name)
        com = center_of_mass(model, result.frames)
        axes.plot(com[:, 0], com[:, 1], color="black", lw=0.6, label="centre of mass")
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")

    def residual(axes: Any) -> None:
        axes.semilogy(t, np.maximum(np.abs(result.tau[:, :6]).max(axis=1) / weight, 1e-18), lw=0.8)
        axes.axhline(0.05, color=LEFT, lw=0.8, ls="--")
        axes.text(
            t[0], 0.06, "5 % of the ground force: OpenSim's guideline for residual forces", fontsize=7, color=LEFT
        )
        axes.set_ylabel("body weights")

    def joints(axes: Any) -> None:
        each = np.rad2deg(joint_turns(model, result.input_frames, result.frames)[0])
        axes.plot(result.frame_time, np.sqrt((each**2).mean(axis=1)), color="black", lw=1, label="all joints, RMS")
        axes.plot(result.frame_time, each.max(axis=1), color=MIDDLE, lw=0.8, label="farthest joint")
        axes.set_ylabel("degrees")

    def torques(axes: Any) -> None:
        per_kg = np.abs(result.torques) / model.mass
        for part, colour in (("hip", LEFT), ("knee", RIGHT), ("ankle", "#3a7d44"), ("waist", "#7b4a9e")):
            mine = [x for x in model.links[1:] if part in x.joint_name.lower() and x.joint.nv]
            if mine:
                size = np.max([per_kg[:, x.v.start - 6 : x.v.stop - 6].max(axis=1) for x in mine], axis=0)
                axes.plot(t, size, color=colour, lw=1, label=part)
        axes.set_ylabel("N m / kg")

    def height(axes: Any) -> None:
        for k, name in enumerate(names[:2]):
            mine = np.array([group == g.names[k] for group in result.point_groups])
            lines = 1e3 * result.place[:, mine, 2]
            axes.plot(t, lines, color=SIDE_COLOURS[k % 4], lw=0.7, label=[name] + ["_"] * (lines.shape[1] - 1))
        axes.set_ylim(-5, 60)
        axes.set_ylabel("mm above z = 0")

    for title, draw in (
        ("Vertical ground force", vertical),
        ("Level ground force", level),
        ("Friction in use", friction),
        ("Centre of pressure", pressure),
        ("Residual at the root", residual),
        ("Joints: distance from the input", joints),
        ("Joint torques", torques),
        ("Points of the soles", height),
    ):
        pictures[title] = plot_png(draw)
    return pictures


#: An animation is not longer than this [s].
LONGEST = 30.0


def side_by_side(result: FilterResult, path: str | Path, *, fps: float = 20.0, size: int = 320) -> Path:
    """An animation: the input on the left, the filtered motion on the right, with the ground forces.

    Of long motions the first half minute is drawn.
    """
    from PIL import Image, ImageDraw

    model, times = result.model, result.frame_time
    shown = np.arange(0, min(float(times[-1]), LONGEST) + 1e-9, 1 / fps)
    chosen = np.unique(np.searchsorted(times, shown - 1e-9))
    asked, done = (link_poses(model, q[chosen]) for q in (result.input_frames, result.frames))
    row = np.clip(np.searchsorted(result.time, times - 1e-9), 0, len(result) - 1)
    forces = result.ground_forces
    frames = []
    for i, k in enumerate(chosen):
        picture = Image.new("RGB", (2 * size, size), "white")
        draw = ImageDraw.Draw(picture)
        middle = asked[i, 0, :3, 3]
        for half, poses in enumerate((asked[i], done[i])):
            camera = _Camera(middle, size, half * size)
            draw.line([camera(middle * (1, 1, 0) + (-2, 0, 0)), camera(middle * (1, 1, 0) + (2, 0, 0))], fill="#bbbbbb")
            for x0, x1, y0, y1, z in _tops(result):
                corners = [camera(np.array(p)) for p in ((x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z))]
                draw.polygon(corners, outline="#bbbbbb")
            for a, b, colour in _bones(model, poses):
                draw.line([camera(a), camera(b)], fill=colour, width=5)
            if half:
                for f, p in zip(forces.force[row[k]], forces.point[row[k]], strict=True):
                    if f[2] > 1:
                        draw.line([camera(p), camera(p + f / (model.mass * 9.81))], fill="#3a7d44", width=3)
                for support in result.held_at(float(times[k])):
                    p, f = support[:3], support[3:]
                    draw.line([camera(p), camera(p + f / (model.mass * 9.81))], fill="#8a6d1a", width=3)
        draw.text((8, 6), f"input   {times[k]:.2f} s", fill="black")
        draw.text((size + 8, 6), result.verdict, fill="black")
        frames.append(picture.quantize(64))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=round(1000 / fps), loop=0)
    return Path(path)


def _tops(result: FilterResult) -> list[tuple[float, float, float, float, float]]:
    """x0, x1, y0, y1 and z of the tops of boxes that the motion stands on."""
    tops = []
    for piece in pieces(result.terrain):
        for shape in piece.shapes if isinstance(piece, Solids) else ():
            (x, y, z), half = shape.at.position, 0.5 * np.asarray(getattr(shape, "size", (0, 0, 0)))
            tops.append((x - half[0], x + half[0], y - half[1], y + half[1], z + half[2]))
    return tops


class _Camera:
    """Looks from the right and a little from ahead; follows the pelvis."""

    def __init__(self, middle: Array, size: int, left: int) -> None:
        self.right = np.array([0.92, 0.38, 0.0])
        self.up = np.array([0.0, 0.0, 1.0])
        self.centre = np.array([middle[0], middle[1], 0.85])
        self.scale, self.size, self.left = size / 2.3, size, left

    def __call__(self, p: Array) -> tuple[float, float]:
        d = np.asarray(p) - self.centre
        return (
            self.left + self.size / 2 + self.scale * float(d @ self.right),
            self.size / 2 - self.scale * float(d @ self.up),
        )


def _bones(model: Model, poses: Array) -> list[tuple[Array, Array, str]]:
    """Lines from every link to its children, and to its mass's other side where it has none."""
    lines = []
    for link in model.links:
        colour = LEFT if "left" in link.name else RIGHT if "right" in link.name else MIDDLE
        here = poses[link.index]
        for child in link.children:
            lines.append((here[:3, 3], poses[child.index, :3, 3], colour))
        if not link.children:
            lines.append((here[:3, 3], (here @ np.append(2 * np.asarray(link.mass_properties.com), 1))[:3], colour))
    return lines
