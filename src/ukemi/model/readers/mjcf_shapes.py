"""Geoms of a compiled MuJoCo model as shapes: those that can touch something; an ellipsoid as the hull of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.meshes import hull_of
from ukemi.model.readers.mjcf_kinds import GeomKind
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere

#: Corners of an ellipsoid: the faces of the hull then lie within 2 % of the radius from it.
ELLIPSOID_CORNERS = 200


def shapes_of_bodies(m: Any, diagnostics: Diagnostics) -> list[tuple[Shape, ...]]:
    """Shapes by body number. What stands on the world itself is left out: a World has its own terrain."""
    in_pairs = {int(g) for g in (*m.pair_geom1, *m.pair_geom2)}
    shapes: list[list[Shape]] = [[] for _ in range(m.nbody)]
    for g in range(m.ngeom):
        if not (m.geom_contype[g] or m.geom_conaffinity[g] or g in in_pairs):
            continue
        body, kind = int(m.geom_bodyid[g]), int(m.geom_type[g])
        if body == 0:
            if kind != GeomKind.PLANE:
                diagnostics.warn("shapes of the ground are left out", example=str(m.geom(g).name))
            continue
        shape = _shape(m, g, kind, diagnostics)
        if shape is not None:
            shapes[body].append(shape)
    return [tuple(on_body) for on_body in shapes]


def _shape(m: Any, g: int, kind: int, diagnostics: Diagnostics) -> Shape | None:
    at = Pose(m.geom_pos[g], m.geom_quat[g])
    size = np.array(m.geom_size[g])
    if kind == GeomKind.SPHERE:
        return Sphere(size[0], at=at)
    if kind == GeomKind.CAPSULE:
        return Capsule(size[0], 2 * size[1], at=at)
    if kind == GeomKind.CYLINDER:
        return Cylinder(size[0], 2 * size[1], at=at)
    if kind == GeomKind.BOX:
        return Box(2 * size, at=at)
    if kind == GeomKind.ELLIPSOID:
        return ConvexMesh(size * _even_directions(ELLIPSOID_CORNERS), at=at)
    if kind == GeomKind.MESH:
        return _mesh(m, int(m.geom_dataid[g]), at, diagnostics)
    diagnostics.warn("shapes that are no primitive and no mesh are left out", example=str(m.geom(g).name))
    return None


def _mesh(m: Any, mesh: int, at: Pose, diagnostics: Diagnostics) -> Shape | None:
    first = int(m.mesh_vertadr[mesh])
    points = np.asarray(m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])], dtype=np.float64)
    try:
        return ConvexMesh(hull_of(points, diagnostics.path), at=at)
    except FileFormatError:
        diagnostics.warn("meshes without volume are left out", example=str(m.mesh(mesh).name))
        return None


def _even_directions(count: int) -> Array:
    """Unit vectors (count, 3) spread evenly, on a Fibonacci spiral."""
    z = 1 - (2 * np.arange(count) + 1) / count
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    radius = np.sqrt(1 - z**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
