"""Single bodies that touch: worlds of the contact problems."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import ukemi as uk
from ukemi.contact.reports import Contact
from ukemi.contact.terrain import Terrain
from ukemi.model.arrays import Array
from ukemi.model.joints import Joint
from ukemi.model.shapes import Shape

#: in x-z with z up, counter-clockwise (x towards z) is a rotation about -y; q = (x, z, angle)
PLANE = uk.Planar(normal=(0, -1, 0), x=(1, 0, 0))
#: radius of balls that stand for points [m]: what it changes is smaller than any tolerance used with it
POINT = 1e-9


def loose(
    shapes: list[Shape],
    terrain: Terrain,
    *,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    gravity: ArrayLike = (0, 0, -9.81),
    joint: Joint | None = None,
    **properties: Any,
) -> uk.World:
    """A world with one body, on a free joint unless another is given."""
    b = uk.Builder("body")
    b.link("body", joint=joint or uk.Free(), shapes=shapes, **properties)
    world = uk.World(gravity)
    world.terrain = terrain
    world.add(b.build(), name="b", q=q, v=v)
    return world


def on_slope(angle: float, g: float = 9.81) -> tuple[float, float, float]:
    """Gravity in the axes of a slope that goes down along +x."""
    return (g * float(np.sin(angle)), 0.0, -g * float(np.cos(angle)))


def feet(places: ArrayLike) -> list[Shape]:
    """Points that may touch."""
    return [uk.Sphere(POINT, at=uk.Pose(p)) for p in np.asarray(places, dtype=np.float64)]


def pushed(contacts: list[Contact]) -> tuple[Array, Array]:
    """Total force on the first links, and moment about the world's origin."""
    force, moment = np.zeros(3), np.zeros(3)
    for c in contacts:
        force += c.force
        moment += c.wrench[3:] + np.cross(c.frame[:3, 3], c.force)
    return force, moment
