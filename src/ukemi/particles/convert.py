"""A figure of the package as particles: rigid links become nets of springs with the same mass, centre and inertia.

A link's pseudo-inertia, the sum of m (r, 1)(r, 1)^T over its mass, holds mass, centre and inertia together. Particles
at its joints take a small share of it; four more, at the corners of a tetrahedron along the principal axes, carry
exactly what is left [PART05 eq. 33 for all axes at once]. A link shares one particle with its parent at a ball joint,
and two at a hinge, along its axis; every pair of particles of a link is joined by a spring.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.particles.checks import Array, array, positive
from ukemi.particles.floors import Floor
from ukemi.particles.system import ParticleSystem

if TYPE_CHECKING:
    from ukemi.model.model import Model

#: Share of a link's mass that each particle at a joint takes; halved until what is left can be a body.
SHARE = 0.05
#: Corners of a tetrahedron: equal masses there have equal second moments along all axes and no products.
CORNERS = np.array(((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)), dtype=np.float64)
#: A flat or thin body is given this share of its largest radius of gyration across, so that its net is a body.
THINNEST = 0.02


@dataclass
class _Body:
    """Links that move as one: pseudo-inertia in the first link's frame, and points shared with neighbours."""

    name: str
    link: int
    pseudo: Array = field(default_factory=lambda: np.zeros((4, 4)))
    points: dict[str, Array] = field(default_factory=dict)

    def divide(self) -> tuple[list[tuple[str, Array, float]], list[tuple[Array, float]]]:
        """(name, place, mass) of the shared points, (place, mass) of the tetrahedron."""
        m, com, radii, _ = _principal(self.pseudo)
        reach = max([float(np.linalg.norm(p - com)) for p in self.points.values()] + [float(radii[-1])])
        if m <= 0 or reach == 0:
            raise InvalidInputError(f"link {self.name!r}: expected a body with mass and size, got {m:g} kg")
        thinnest = THINNEST * reach
        joints = sum((np.outer(r, r) for r in (np.append(p, 1.0) for p in self.points.values())), np.zeros((4, 4)))
        share = SHARE * m
        while True:
            mass, com, left, axes = _principal(self.pseudo - share * joints)
            if mass > 0 and left[0] >= min(thinnest, radii[0]) * (1 - 1e-6):
                break
            share /= 2
            if share < 1e-6 * m:  # a thin rod: its joints can take nothing from across it
                share, (mass, com, left, axes) = 0.01 * m, _principal(self.pseudo - 0.01 * m * joints)
                break
        corners = com + (CORNERS * np.maximum(left, thinnest)) @ axes.T
        return [(name, p, share) for name, p in self.points.items()], [(c, mass / 4) for c in corners]


def _principal(pseudo: Array) -> tuple[float, Array, Array, Array]:
    """Mass, centre, radii (root of the second moments per mass, negative where they are), principal axes."""
    mass = float(pseudo[3, 3])
    com = pseudo[:3, 3] / (mass or 1.0)
    moments, axes = np.linalg.eigh(pseudo[:3, :3] - mass * np.outer(com, com))
    return mass, com, np.sign(moments) * np.sqrt(np.abs(moments) / (abs(mass) or 1.0)), axes


def from_model(
    model: Model,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    landmarks: tuple[str, ...] = (),
    hinge_width: float = 0.08,
    gravity: ArrayLike = (0, 0, -9.81),
    stretch: float = 1e-3,
    ratio: float = 0.1,
    load: float | None = None,
    floor: Floor | None = None,
) -> ParticleSystem:
    """A model as particles, in state q, v (the zero pose at rest by default).

    landmarks: each gets a particle of that name, so that it can be fixed or pushed. hinge_width [m]: between the two
    particles of a hinge. Particles are named ``<link>/0`` to ``/3``, joints ``<joint>`` or ``<joint>/-`` and ``/+``.
    The other settings are those of `ParticleSystem`.

    Raises:
        InvalidInputError: joints other than Free, Spherical, Revolute and Fixed; springs, dampers and armature of
            joints. They are not approximated.
    """
    from ukemi.dynamics.kinematics import jacobian, link_poses

    coordinates = model.neutral() if q is None else array("q", q, model.nq)
    velocities = np.zeros(model.nv) if v is None else array("v", v, model.nv)
    unknown = [name for name in landmarks if name not in model.landmarks]
    if unknown:
        raise UnknownNameError("landmark", unknown[0], model.landmarks)
    bodies, held = _bodies(model, landmarks, positive("hinge_width", hinge_width))
    poses = link_poses(model, coordinates)
    system = ParticleSystem(gravity, stretch=stretch, ratio=ratio, load=load, floor=floor)

    for body in bodies:
        X = poses[body.link]
        shared, corners = body.divide()

        def placed(p: Array, X: Array = X, link: int = body.link) -> tuple[Array, Array]:
            J = jacobian(model, coordinates, model.links[link].name, p)
            return X[:3, :3] @ p + X[:3, 3], J[:3] @ velocities

        members = []
        for name, p, mass in shared:
            if name in system.names:
                i = system.number(name)
                system.mass[i] += mass
            else:
                x, xdot = placed(p)
                i = system.add(x, mass, velocity=xdot, name=name)
            members.append(i)
        for k, (p, mass) in enumerate(corners):
            x, xdot = placed(p)
            members.append(system.add(x, mass, velocity=xdot, name=f"{body.name}/{k}"))
        joined = {frozenset((e.a, e.b)) for e in system.links}
        for a, b in combinations(members, 2):
            if frozenset((a, b)) not in joined:
                system.link(a, b)
    system.fix(*held)
    return system


def _bodies(model: Model, landmarks: tuple[str, ...], width: float) -> tuple[list[_Body], list[str]]:
    """Bodies with their shared points, and the names of points that the world holds."""
    bodies: list[_Body] = []
    of: dict[int, tuple[_Body | None, Any]] = {-1: (None, np.eye(4))}  # link -> body (None: the world), frame in it
    held: list[str] = []
    for link in model.links:
        carrier, X = of[-1 if link.parent is None else link.parent.index]
        X = X @ link.at.matrix
        kind, joint = type(link.joint).__name__, link.joint
        if kind == "Fixed":
            body = carrier
        else:
            _require_plain(link, kind)
            body = _Body(link.name, link.index)
            bodies.append(body)
            for name, p in _points(link.joint_name, kind, joint, width):
                body.points[name] = p
                if carrier is None:
                    held.append(name)
                else:
                    carrier.points[name] = X[:3, :3] @ p + X[:3, 3]
            X = np.eye(4)
        of[link.index] = body, X
        if body is not None:
            properties = link.mass_properties
            body.pseudo += _pseudo(properties.mass, properties.com, properties.inertia, X)
    for name in landmarks:
        mark = model.landmarks[name]
        body, X = of[model.link_index(mark.link)]
        if body is None:
            raise InvalidInputError(f"landmark {name!r} stands on the ground")
        body.points[name] = (X @ mark.at.matrix)[:3, 3]
    return bodies, held


def _points(name: str, kind: str, joint: Any, width: float) -> list[tuple[str, Array]]:
    if kind == "Free":
        return []
    if kind == "Spherical":
        return [(name, np.zeros(3))]
    axis = joint.axes()[:3]
    return [(f"{name}/{sign}", s * 0.5 * width * axis) for sign, s in (("-", -1), ("+", 1))]


def _require_plain(link: Any, kind: str) -> None:
    if kind not in ("Free", "Spherical", "Revolute"):
        raise InvalidInputError(f"joint {link.joint_name!r}: {kind} joints have no form in particles")
    for what in ("stiffness", "damping", "armature"):
        value = getattr(link.joint, what)
        if value is not None and np.any(np.asarray(value)):
            raise InvalidInputError(f"joint {link.joint_name!r}: its {what} has no form in particles")


def _pseudo(mass: float, com: Array, inertia: Array, X: Array) -> Array:
    """Sum of m (r, 1)(r, 1)^T, seen from the body's frame."""
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(com, com)
    P = np.block([[second, mass * com[:, None]], [mass * com[None], np.array([[mass]])]])
    return np.asarray(X @ P @ X.T)
