"""Pictures of a motion: a strip of poses seen from one side."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ukemi.dynamics.kinematics import link_poses
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere

#: view: (axis to the right, axis upwards), each by its sign and world axis; right x up points at the viewer. Figures
#: look along x: who stands before one sees its left, +y, on the right.
VIEWS = {"side": ("+x", "+z"), "front": ("+y", "+z"), "back": ("-y", "+z"), "top": ("+x", "+y")}
LEFT, RIGHT, MIDDLE = "#d1603d", "#2f6690", "#8a8d91"


def draw_strip(
    model: Model,
    q: ArrayLike,
    path: str | Path,
    *,
    time: ArrayLike | None = None,
    view: str = "side",
    poses: int = 8,
    spread: float | None = None,
    title: str = "",
) -> Path:
    """Draws some poses of a motion side by side and writes a PNG.

    q: coordinates (n, nq), or link poses (n, nlinks, 4, 4) such as `Recording.poses`.
    spread: distance between neighbouring poses on the paper [m]; by default wide enough for them not to overlap, 0
    draws every pose where it is.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if view not in VIEWS:
        raise InvalidInputError(f"view: expected one of {', '.join(VIEWS)}, got {view!r}")
    states = np.atleast_2d(np.asarray(q, dtype=np.float64))
    chosen = np.unique(np.linspace(0, len(states) - 1, min(poses, len(states))).astype(int))
    right, up = (_axis(a) for a in VIEWS[view])
    shown = states[chosen] if states.ndim == 4 else link_poses(model, states[chosen])
    outlines = [_outlines(model, X, right, up) for X in shown]
    if not any(outlines):
        raise InvalidInputError(f"draw_strip: the model {model.name!r} has no shapes to draw")
    step = _step(outlines) if spread is None else spread

    figure = Figure(figsize=(min(16.0, 1.6 * len(chosen) + 1), 5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for k, outline in enumerate(outlines):
        _draw(axes, outline, np.array((k * step, 0.0)))
    if time is not None:
        stamps = np.asarray(time, dtype=np.float64)[chosen]
        centres = [np.mean([p[:, 0].mean() for _, p, _ in o]) + k * step for k, o in enumerate(outlines)]
        axes.set_xticks(centres, [f"{t:.2f} s" for t in stamps])
    axes.set_ylabel(f"{VIEWS[view][1][1]} [m]")
    axes.axhline(0, color="black", lw=0.8)
    axes.set_aspect("equal")
    axes.set_title(title or model.name)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(0.02)
    figure.savefig(path)
    return Path(path)


def _axis(text: str) -> Array:
    return (1.0 if text[0] == "+" else -1.0) * np.eye(3)["xyz".index(text[1])]


def _outlines(model: Model, poses: Array, right: Array, up: Array) -> list[tuple[float, Array, str]]:
    """Depth, outline (n, 2) and colour of every shape, the farthest first."""
    from scipy.spatial import ConvexHull

    towards_viewer = np.cross(right, up)
    drawn = []
    for link, X in zip(model.links, poses, strict=True):
        colour = LEFT if "left" in link.name else RIGHT if "right" in link.name else MIDDLE
        for shape in link.shapes:
            points = shape.at.apply(surface_points(shape)) @ X[:3, :3].T + X[:3, 3]
            flat = np.stack([points @ right, points @ up], axis=1)
            drawn.append((float(points.mean(axis=0) @ towards_viewer), flat[ConvexHull(flat).vertices], colour))
    return sorted(drawn, key=lambda item: item[0])


def _step(outlines: list[list[tuple[float, Array, str]]]) -> float:
    """Wide enough that no pose overlaps the next."""
    bounds = [(min(p[:, 0].min() for _, p, _ in o), max(p[:, 0].max() for _, p, _ in o)) for o in outlines]
    return max((a[1] - b[0] for a, b in pairwise(bounds)), default=0.0) + 0.05


def _draw(axes: Any, outline: list[tuple[float, Array, str]], offset: Array) -> None:
    from matplotlib.patches import Polygon

    for _, points, colour in outline:
        axes.add_patch(Polygon(points + offset, facecolor=colour, edgecolor="white", lw=0.6))
    axes.update_datalim(np.concatenate([points for _, points, _ in outline]) + offset)
    axes.autoscale_view()


def surface_points(shape: Shape) -> Array:
    """Points on a convex shape, in its own frame; their hull looks like it."""
    turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=1)
    if isinstance(shape, Box):
        corners = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3), axis=-1).reshape(-1, 3)
        return corners * np.asarray(shape.size)
    if isinstance(shape, Sphere | Capsule):
        rings = [np.cos(a) * ring + (0, 0, np.sin(a)) for a in np.linspace(-np.pi / 2, np.pi / 2, 13)]
        ball = shape.radius * np.concatenate(rings)
        if isinstance(shape, Sphere):
            return ball
        end = np.array((0, 0, shape.length / 2))
        return np.concatenate([ball[ball[:, 2] >= 0] + end, ball[ball[:, 2] <= 0] - end])
    if isinstance(shape, Cylinder):
        end = np.array((0, 0, shape.length / 2))
        return np.concatenate([shape.radius * ring + end, shape.radius * ring - end])
    if isinstance(shape, ConvexMesh):
        return np.asarray(shape.points)
    raise InvalidInputError(f"cannot draw {type(shape).__name__}")
