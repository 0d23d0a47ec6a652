"""Shapes as the core knows them: hulls of points swept by a sphere, with the normals and edges of their faces."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from itertools import product
from typing import Any

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.pose import IDENTITY, Pose
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere

#: Corners of the polygon that stands for a rim on its end, and on height fields; elsewhere the core turns it so that a
#: corner is where the round side bears.
RIM_CORNERS = 16
#: Hulls with more edges than this are compared along face normals and where they are nearest, not edge by edge.
MOST_EDGES = 24
#: Corners nearer than a micrometre count as one point of contact: thinner hulls would fall through the ground [m].
THINNEST = 1e-5

Solid = tuple[int, int, float, Array, Array, Array, float, Array]
Hull = tuple[float, Array, Array, Array, float, Array]
NONE = np.zeros((0, 3))
NO_RIM = np.zeros((2, 3))


def solid(shape: Shape, link: int, report: int, place: Pose = IDENTITY) -> Solid:
    """A shape on a link (-1: the world; then ``place`` is where), under the number that reports call it by.

    Raises:
        InvalidInputError: a shape too thin to touch anything.
    """
    radius, core, faces, edges, rim_radius, rim = _hull(shape)
    width = float(np.ptp(core @ faces.T, axis=0).min(initial=np.inf))
    if width < THINNEST:
        raise InvalidInputError(
            f"contact: expected a shape at least {THINNEST:g} m thick, got {width:.3g} m: {shape!r}"
        )
    X = place @ shape.at
    R, p = X.R, X.position
    return (link, report, radius, core @ R.T + p, faces @ R.T, edges @ R.T, rim_radius, rim @ R.T + p)


@singledispatch
def _hull(shape: Shape) -> Hull:
    raise InvalidInputError(f"contact: no way to touch a {type(shape).__name__}")


@_hull.register
def _(shape: Sphere) -> Hull:
    return (shape.radius, np.zeros((1, 3)), NONE, NONE, 0.0, NO_RIM)


@_hull.register
def _(shape: Capsule) -> Hull:
    ends = np.array([(0, 0, -shape.length / 2), (0, 0, shape.length / 2)])
    return (shape.radius, ends, NONE, np.array([(0.0, 0, 1)]), 0.0, NO_RIM)


@_hull.register
def _(shape: Box) -> Hull:
    corners = 0.5 * np.asarray(shape.size) * np.array(list(product((-1, 1), repeat=3)))
    return (0.0, corners, np.vstack([np.eye(3), -np.eye(3)]), np.eye(3), 0.0, NO_RIM)


@_hull.register
def _(shape: Cylinder) -> Hull:
    angles = 2 * np.pi * np.arange(RIM_CORNERS) / RIM_CORNERS
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(RIM_CORNERS)], axis=1)
    half = shape.length / 2
    core = np.vstack([shape.radius * ring + (0, 0, z) for z in (-half, half)])
    middle = angles + np.pi / RIM_CORNERS
    sides = np.stack([np.cos(middle), np.sin(middle), np.zeros(RIM_CORNERS)], axis=1)
    along = np.stack([-np.sin(middle), np.cos(middle), np.zeros(RIM_CORNERS)], axis=1)[: RIM_CORNERS // 2]
    caps = np.array([(0.0, 0, 1), (0, 0, -1)])
    rim = np.array([(0, 0, -half), (0, 0, half)])
    return (0.0, core, np.vstack([sides, caps]), np.vstack([along, caps[:1]]), shape.radius, rim)


@_hull.register
def _(shape: ConvexMesh) -> Hull:
    triangles = shape.triangles
    core = np.unique(triangles.reshape(-1, 3), axis=0)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals = _distinct(normals / np.linalg.norm(normals, axis=1, keepdims=True), lambda a, b: a @ b > 1 - 1e-9)
    sides = (np.roll(triangles, -1, axis=1) - triangles).reshape(-1, 3)
    lengths = np.linalg.norm(sides, axis=1, keepdims=True)
    sides = _distinct((sides / lengths)[lengths[:, 0] > 0], lambda a, b: abs(a @ b) > 1 - 1e-9)
    return (0.0, core, normals, sides if len(sides) <= MOST_EDGES else NONE, 0.0, NO_RIM)


def _distinct(directions: Array, same: Callable[[Array, Array], Any]) -> Array:
    kept: list[Array] = []
    for d in directions:
        if not any(same(d, k) for k in kept):
            kept.append(d)
    return np.array(kept).reshape(-1, 3)
