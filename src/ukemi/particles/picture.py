"""Particles as sticks, seen from one side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ukemi.particles.checks import Array
from ukemi.particles.forces import Link

LEFT, RIGHT, MIDDLE = "#d1603d", "#2f6690", "#8a8d91"


def canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A matplotlib figure without a window, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns)


def draw_sticks(
    axes: Any, links: Sequence[Link], x: Array, *, shift: float = 0.0, colours: Sequence[str] = (), depth: float = 0.0
) -> None:
    """Links and particles of places x (n, 3) in the x-z plane, ``shift`` [m] to the right; one colour per link.

    depth: how far a metre along y, away from the viewer, is drawn to the right, and half of it up.
    """
    far_first = sorted(range(len(links)), key=lambda k: -(x[links[k].a, 1] + x[links[k].b, 1]))
    for k in far_first:
        ends = x[[links[k].a, links[k].b]]
        colour = colours[k] if colours else MIDDLE
        right, up = ends[:, 0] + shift + depth * ends[:, 1], ends[:, 2] + 0.5 * depth * ends[:, 1]
        axes.plot(right, up, "o-", color=colour, ms=3, lw=1.6)


def ground(axes: Any, height: float = 0.0) -> None:
    """The floor's line, and equal scales."""
    axes.axhline(height, color="black", lw=0.8, zorder=0)
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
