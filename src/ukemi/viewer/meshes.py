"""Shapes and bones as triangles."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull

from ukemi.model.arrays import Array
from ukemi.model.model import Link
from ukemi.model.pose import Pose
from ukemi.model.shapes import Capsule, Shape, Sphere
from ukemi.report.strip import surface_points

#: Of a bone that is drawn where there are no shapes [m], but no thicker than this share of its length.
BONE, SLENDER = 0.02, 0.15
#: Shorter bones are not drawn [m].
SHORTEST = 1e-3

#: Corners (n, 3) of triangles, three by three, anticlockwise from outside; and normals there.
Mesh = tuple[Array, Array]


def shape_mesh(shape: Shape) -> Mesh:
    """A shape's surface in its link's frame."""
    points = surface_points(shape)
    hull = ConvexHull(points)
    corners = points[hull.simplices]
    flat = hull.equations[:, :3]
    inwards = (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * flat).sum(axis=1) < 0
    corners[inwards] = corners[inwards][:, ::-1]
    vertices = corners.reshape(-1, 3)
    normals = np.repeat(flat, 3, axis=0)
    if isinstance(shape, Sphere | Capsule):  # round all over: away from the segment in the middle
        half = shape.length / 2 if isinstance(shape, Capsule) else 0.0
        middle = np.clip(vertices[:, 2], -half, half)[:, None] * np.array((0, 0, 1))
        normals = (vertices - middle) / shape.radius
    return shape.at.apply(vertices), normals @ shape.at.R.T


def bone_mesh(tip: Array) -> Mesh:
    """A slender capsule from the origin to ``tip``."""
    length = float(np.linalg.norm(tip))
    z = tip / length
    x = np.cross(np.eye(3)[int(np.abs(z).argmin())], z)
    x = x / np.linalg.norm(x)
    radius = min(BONE, SLENDER * length)
    at = Pose.from_rotation(np.stack([x, np.cross(z, x), z], axis=1), 0.5 * tip)
    return shape_mesh(Capsule(radius, max(length - 2 * radius, 1e-6), at=at))


def link_mesh(link: Link, bare: bool) -> Mesh | None:
    """All shapes of a link; of a model without any (``bare``) bones from its joint to the next ones."""
    meshes = [shape_mesh(shape) for shape in link.shapes]
    if bare:
        tips = [child.at.position for child in link.children]
        meshes = [bone_mesh(tip) for tip in tips if np.linalg.norm(tip) > SHORTEST]
    return joined(meshes)


def joined(meshes: list[Mesh]) -> Mesh | None:
    if not meshes:
        return None
    return np.concatenate([v for v, _ in meshes]), np.concatenate([n for _, n in meshes])
