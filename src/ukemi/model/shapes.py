"""Shapes: what a link looks like, and what it weighs when it is solid.

Each shape stands in its own frame, placed on the link by ``at``. Long shapes run along z.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, frozen, numbers, positive
from ukemi.model.inertia import MassProperties
from ukemi.model.pose import Pose


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid placed on a link."""

    _: KW_ONLY
    at: Pose = field(default_factory=Pose)

    def __post_init__(self) -> None:
        if not isinstance(self.at, Pose):
            raise InvalidInputError(f"{type(self).__name__}.at: expected a Pose, got {self.at!r}")

    @property
    def volume(self) -> float:
        """[m^3]"""
        return self._solid().mass

    def mass_properties(self, density: float) -> MassProperties:
        """Of the solid with this density [kg/m^3], in link coordinates."""
        rho = positive("density", density)
        unit = self._solid()
        return MassProperties(rho * unit.mass, unit.com, frozen(rho * unit.inertia)).moved(self.at)

    def _solid(self) -> MassProperties:
        """Of unit density, in the shape's own frame."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """``size``: the three edge lengths [m]."""

    size: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        size = numbers("Box.size", self.size, (3,))
        if (size <= 0).any():
            raise InvalidInputError(f"Box.size: expected three positive edge lengths, got {size.tolist()}")
        object.__setattr__(self, "size", size)

    def _solid(self) -> MassProperties:
        size = np.asarray(self.size, dtype=np.float64)
        s2, volume = size**2, float(np.prod(size))
        return MassProperties(volume, frozen((0, 0, 0)), frozen(volume / 12 * np.diag(s2.sum() - s2)))


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", positive("Sphere.radius", self.radius))

    def _solid(self) -> MassProperties:
        volume = 4 / 3 * np.pi * self.radius**3
        return MassProperties(volume, frozen((0, 0, 0)), frozen(0.4 * volume * self.radius**2 * np.eye(3)))


@dataclass(frozen=True, eq=False)
class _Round(Shape):
    radius: float
    length: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("radius", "length"):
            object.__setattr__(self, name, positive(f"{type(self).__name__}.{name}", getattr(self, name)))


def _cylinder(radius: float, length: float) -> tuple[float, float, float]:
    """Volume, and moments per unit density across and along the axis."""
    volume = np.pi * radius**2 * length
    return volume, volume * (radius**2 / 4 + length**2 / 12), volume * radius**2 / 2


@dataclass(frozen=True, eq=False)
class Cylinder(_Round):
    """A cylinder about z, centred at its frame."""

    def _solid(self) -> MassProperties:
        volume, across, along = _cylinder(self.radius, self.length)
        return MassProperties(volume, frozen((0, 0, 0)), frozen(np.diag((across, across, along))))


@dataclass(frozen=True, eq=False)
class Capsule(_Round):
    """A cylinder about z with half spheres on its ends; ``length`` is that of the cylinder alone."""

    def _solid(self) -> MassProperties:
        r, half = self.radius, self.length / 2
        volume, across, along = _cylinder(r, self.length)
        caps = 4 / 3 * np.pi * r**3
        # two half spheres, each with its centre of mass 3 r / 8 beyond its flat side
        across += caps * (0.4 * r**2 + half**2 + 2 * half * 0.375 * r)
        along += caps * 0.4 * r**2
        return MassProperties(volume + caps, frozen((0, 0, 0)), frozen(np.diag((across, across, along))))


@dataclass(frozen=True, eq=False)
class ConvexMesh(Shape):
    """The convex hull of points (n, 3)."""

    points: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        points = numbers("ConvexMesh.points", self.points)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
            raise InvalidInputError(f"ConvexMesh.points: expected (n >= 4, 3), got shape {points.shape}")
        if np.linalg.matrix_rank(points - points[0], tol=1e-9 * max(1e-300, float(np.ptp(points)))) < 3:
            raise InvalidInputError("ConvexMesh.points: expected points that span a volume, got flat ones")
        object.__setattr__(self, "points", points)

    @cached_property
    def triangles(self) -> Array:
        """Faces of the hull (n, 3, 3), counter-clockwise seen from outside."""
        from scipy.spatial import ConvexHull

        points = np.asarray(self.points)
        hull = ConvexHull(points)
        faces = points[hull.simplices]
        normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
        inwards = (normals * hull.equations[:, :3]).sum(axis=1) < 0
        faces[inwards] = faces[inwards][:, ::-1]
        return frozen(faces)

    def _solid(self) -> MassProperties:
        # tetrahedra from one vertex to every face; second moments of a tetrahedron with corners 0, a, b, c
        origin = np.asarray(self.points)[0]
        corners = self.triangles - origin
        six_volumes = np.linalg.det(corners)
        volume = float(six_volumes.sum() / 6)
        com = (six_volumes[:, None] * corners.sum(axis=1)).sum(axis=0) / 24 / volume
        total = corners.sum(axis=1)
        second = np.einsum("n,nki,nkj->ij", six_volumes, corners, corners)
        second = (second + np.einsum("n,ni,nj->ij", six_volumes, total, total)) / 120
        second -= volume * np.outer(com, com)
        inertia = np.trace(second) * np.eye(3) - second
        return MassProperties(volume, frozen(com + origin), frozen(inertia))
