"""Collision shapes of a URDF: primitives, and meshes as their convex hulls."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics, located
from ukemi.model.readers.meshes import hull_corners
from ukemi.model.readers.xmltree import Element, is_file
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere


def origin(element: Element) -> Pose:
    """Pose of the <origin> in an element; identity without one."""
    found = element.one("origin")
    if found is None:
        return Pose()
    return Pose.from_rpy(found.floats("xyz", 3, (0, 0, 0)), found.floats("rpy", 3, (0, 0, 0)))


def collision_shape(collision: Element, link: str, diagnostics: Diagnostics) -> Shape | None:
    """The shape of one <collision>; None if it was dropped with a warning."""
    geometry = collision.one("geometry")
    if geometry is None or not geometry.children:
        raise collision.error(f"link {link!r}: <collision> without a shape in <geometry>")
    solid, at = geometry.children[0], origin(collision)
    with located(solid, f"link {link!r}"):
        if solid.tag == "mesh":
            return _mesh(solid, at, diagnostics)
        sizes = _sizes(solid)
        if 0 in sizes:
            diagnostics.warn("collision shapes without volume are left out", solid, link)
            return None
        if solid.tag == "box":
            return Box(sizes, at=at)
        if solid.tag == "sphere":
            return Sphere(sizes[0], at=at)
        if solid.tag == "cylinder":
            return Cylinder(*sizes, at=at)
        if solid.tag == "capsule":
            return Capsule(*sizes, at=at)
    return None  # unknown kinds are warned about where all unknown elements are


def _sizes(solid: Element) -> tuple[float, ...]:
    if solid.tag == "box":
        return solid.floats("size", 3)
    if solid.tag == "sphere":
        return (solid.number("radius"),)
    if solid.tag in ("cylinder", "capsule"):
        return solid.number("radius"), solid.number("length")
    return ()


def _mesh(mesh: Element, at: Pose, diagnostics: Diagnostics) -> Shape | None:
    name = mesh.text("filename")
    scale = mesh.floats("scale", 3, (1, 1, 1))
    path = next(filter(is_file, _candidates(name, mesh.path)), None)
    if path is None:
        diagnostics.warn("collision meshes that do not exist here are left out", mesh, name)
        return None
    try:
        corners = hull_corners(path)
    except FileFormatError as error:
        diagnostics.warn("collision meshes that cannot be read are left out", mesh, str(error))
        return None
    return ConvexMesh(corners * np.array(scale), at=at)


def _candidates(name: str, urdf: Path) -> Iterable[Path]:
    """Where a mesh may be. A ROS package may be any folder above the file, or stand in one."""
    scheme, colon, rest = name.partition("://")
    if not colon:
        return [urdf.parent / name]
    if scheme == "file":
        return [Path(rest)]
    inside = rest.strip("/")
    within_package = inside.partition("/")[2]
    folders = urdf.resolve().parents
    return [folder / tail for folder in folders for tail in (inside, within_package) if tail]
