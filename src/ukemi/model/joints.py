"""Joints: what a link may do relative to its parent.

The child's frame coincides with the joint frame when the coordinates are zero. Coordinates q and velocities v:

=========== ==== ==== ======================================== =============================================
joint       nq   nv   q                                        v
=========== ==== ==== ======================================== =============================================
Fixed       0    0
Revolute    1    1    angle about the axis                     its rate
Prismatic   1    1    distance along the axis                  its rate
Universal   2    2    angles: first axis, then second          their rates
Spherical   4    3    quaternion (w, x, y, z)                  angular velocity of the child in its own frame
Planar      3    3    x, y in the plane, angle about normal    their rates
Free        7    6    position, quaternion (w, x, y, z)        linear and angular velocity in the link's frame
=========== ==== ==== ======================================== =============================================

Springs and dampers of a joint act in forward and inverse dynamics: tau = -dU/dq - B v with U = 1/2 d^T K d, d the
offset from the rest pose: differences of coordinates, the rotation vector of spherical joints, place and rotation
vector of free ones.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, direction, frozen, numbers


@dataclass(frozen=True, eq=False)
class Joint:
    """What all joints carry; every number may be left out.

    limits: (lower, upper) of the coordinate, or one pair per coordinate; a spherical joint takes the largest
        rotation angle as (0, angle).
    stiffness: a number, or a symmetric nv x nv matrix that couples the joint's freedoms [N m/rad, N/m]. A universal
        joint may have an unsymmetric one, as the wrist of [HAND07] Table 5-IV: what is not symmetric couples one way
        and has no energy.
    rest: coordinates q where the spring is slack; the zero pose by default.
    damping: a number or a nv x nv matrix [N m s/rad, N s/m].
    armature: inertia of the drive, added to the diagonal of the inertia matrix; a number or one per freedom.
    effort, speed: the largest torque or force of the actuator, and its largest rate; a number or one per freedom.
    restitution: share of the speed that comes back when the joint hits its limit.
    """

    _: KW_ONLY
    limits: ArrayLike | None = None
    stiffness: ArrayLike | None = None
    rest: ArrayLike | None = None
    damping: ArrayLike | None = None
    armature: ArrayLike = 0.0
    effort: ArrayLike | None = None
    speed: ArrayLike | None = None
    restitution: float = 0.0

    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0
    #: the core's number of this kind; -1: no freedom
    kind: ClassVar[int] = -1
    #: its stiffness may be unsymmetric
    one_way: ClassVar[bool] = False

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.limits is not None:
            object.__setattr__(self, "limits", self._checked_limits(f"{name}.limits"))
        for what in ("stiffness", "damping"):
            value = getattr(self, what)
            if value is not None:
                object.__setattr__(
                    self, what, self._checked_matrix(f"{name}.{what}", value, what == "stiffness" and not self.one_way)
                )
        object.__setattr__(self, "rest", self._checked_rest(f"{name}.rest"))
        object.__setattr__(self, "armature", self._per_freedom(f"{name}.armature", self.armature))
        for bound in ("effort", "speed"):
            if (given := getattr(self, bound)) is not None:
                object.__setattr__(self, bound, self._per_freedom(f"{name}.{bound}", given, unbounded=True))
        e = float(numbers(f"{name}.restitution", self.restitution, ()))
        if not 0 <= e <= 1:
            raise InvalidInputError(f"{name}.restitution: expected a number from 0 to 1, got {e:g}")
        object.__setattr__(self, "restitution", e)

    def neutral(self) -> Array:
        """Coordinates of the zero pose."""
        return np.zeros(self.nq)

    def axes(self) -> Array:
        """The core's two axes."""
        return np.zeros(6)

    def _limit_rows(self) -> int:
        return self.nv

    def _checked_limits(self, name: str) -> Array:
        rows = self._limit_rows()
        if rows == 0:
            raise InvalidInputError(f"{name}: this joint has no coordinate to limit")
        shapes = ((2,), (1, 2)) if rows == 1 else ((rows, 2),)
        try:
            pairs = np.array(self.limits, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as cause:
            raise InvalidInputError(f"{name}: expected (lower, upper), got {self.limits!r:.200}") from cause
        if pairs.shape not in shapes:
            raise InvalidInputError(f"{name}: expected {' or '.join(map(str, shapes))}, got shape {pairs.shape}")
        pairs = pairs.reshape(rows, 2)
        if np.isnan(pairs).any() or (pairs[:, 0] > pairs[:, 1]).any():
            raise InvalidInputError(f"{name}: expected lower <= upper, got {pairs.tolist()}")
        return frozen(pairs)

    def _checked_matrix(self, name: str, value: ArrayLike, symmetric: bool) -> Array:
        m = numbers(name, value, (), (self.nv, self.nv))
        full = float(m) * np.eye(self.nv) if m.shape == () else m
        if symmetric and not np.allclose(full, full.T, rtol=1e-9, atol=0):
            raise InvalidInputError(f"{name}: expected a symmetric matrix, got {full.tolist()}")
        smallest = np.linalg.eigvalsh(0.5 * (full + full.T)).min(initial=0.0)
        if smallest < -1e-9 * np.abs(full).max(initial=0.0):
            raise InvalidInputError(f"{name}: expected no negative direction, got {full.tolist()}")
        return frozen(full)

    def _checked_rest(self, name: str) -> Array:
        if self.rest is None:
            return frozen(self.neutral())
        rest = numbers(name, self.rest, *(((), (1,)) if self.nq == 1 else ((self.nq,),))).reshape(self.nq)
        if self.nq >= 4 and abs(float(np.linalg.norm(rest[-4:])) - 1) > 1e-6:
            raise InvalidInputError(f"{name}: expected a unit quaternion (w, x, y, z), got {rest[-4:].tolist()}")
        return frozen(rest)

    def _per_freedom(self, name: str, value: ArrayLike, unbounded: bool = False) -> Array:
        wanted = f"{name}: expected a number or {self.nv} of them, not negative, got {value!r:.200}"
        try:
            x = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as cause:
            raise InvalidInputError(wanted) from cause
        largest = np.inf if unbounded else np.finfo(np.float64).max
        if x.shape not in ((), (self.nv,)) or not ((x >= 0) & (x <= largest)).all():
            raise InvalidInputError(wanted)
        return frozen(np.broadcast_to(x, (self.nv,)))


@dataclass(frozen=True, eq=False)
class Fixed(Joint):
    """No freedom: the link is part of its parent."""


@dataclass(frozen=True, eq=False)
class _AxisJoint(Joint):
    axis: ArrayLike = (0, 0, 1)
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", direction(f"{type(self).__name__}.axis", self.axis))
        super().__post_init__()

    def axes(self) -> Array:
        return np.concatenate([np.asarray(self.axis), np.zeros(3)])


@dataclass(frozen=True, eq=False)
class Revolute(_AxisJoint):
    """Turns about an axis through the joint's origin."""

    kind: ClassVar[int] = 0


@dataclass(frozen=True, eq=False)
class Prismatic(_AxisJoint):
    """Slides along an axis."""

    kind: ClassVar[int] = 1


@dataclass(frozen=True, eq=False)
class Universal(Joint):
    """Two rotations: about ``first`` (fixed in the parent), then about ``second`` (fixed in the child)."""

    first: ArrayLike = (1, 0, 0)
    second: ArrayLike = (0, 1, 0)
    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2
    kind: ClassVar[int] = 2
    one_way: ClassVar[bool] = True

    def __post_init__(self) -> None:
        first, second = direction("Universal.first", self.first), direction("Universal.second", self.second)
        if np.linalg.norm(np.cross(first, second)) < 1e-6:
            raise InvalidInputError("Universal: expected two different axes, got parallel ones")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", second)
        super().__post_init__()

    def axes(self) -> Array:
        return np.concatenate([np.asarray(self.first), np.asarray(self.second)])


@dataclass(frozen=True, eq=False)
class Spherical(Joint):
    """Turns freely about its origin.

    Besides the largest angle (``limits``) it may have limits of swing and twist: the rotation is a twist about ``axis``
    (the child's long axis), followed by a swing that turns that axis.

    twist: (lower, upper) of the twist's angle.
    swing: largest swing in every direction; or ((lower, upper), (lower, upper)) about ``across`` and about
        axis x across, joined by quarters of ellipses: an arm that reaches far to the front and little to the back.
    across: perpendicular to the axis; its part along the axis is taken off. By default y, or x if the axis is near y.
    """

    twist: ArrayLike | None = None
    swing: ArrayLike | None = None
    axis: ArrayLike = (0, 0, 1)
    across: ArrayLike | None = None
    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3
    kind: ClassVar[int] = 3

    def __post_init__(self) -> None:
        axis = direction("Spherical.axis", self.axis)
        near = (np.eye(3)[1] if abs(axis[1]) < 0.9 else np.eye(3)[0]) if self.across is None else self.across
        flat = numbers("Spherical.across", near, (3,)) - (np.asarray(near) @ axis) * axis
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "across", direction("Spherical.across (its part across the axis)", flat))
        if self.twist is not None:
            twist = numbers("Spherical.twist", self.twist, (2,))
            if twist[0] > twist[1] or np.abs(twist).max() > np.pi:
                raise InvalidInputError(f"Spherical.twist: expected lower <= upper within pi, got {twist.tolist()}")
            object.__setattr__(self, "twist", twist)
        if self.swing is not None:
            swing = numbers("Spherical.swing", self.swing, (), (2, 2))
            wide = np.array([(-1, 1), (-1, 1)]) * swing if swing.shape == () else swing
            if (wide[:, 0] >= 0).any() or (wide[:, 1] <= 0).any() or np.abs(wide).max() >= np.pi:
                raise InvalidInputError(
                    f"Spherical.swing: expected ranges from negative to positive angles within pi, got {wide.tolist()}"
                )
            object.__setattr__(self, "swing", frozen(wide))
        super().__post_init__()

    def neutral(self) -> Array:
        return np.array((1.0, 0, 0, 0))

    def _limit_rows(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Planar(Joint):
    """Slides in the plane through the joint's origin and turns about its normal.

    ``x`` is the direction of the first coordinate; by default the parent's x axis laid into the plane.
    """

    normal: ArrayLike = (0, 0, 1)
    x: ArrayLike | None = None
    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3
    kind: ClassVar[int] = 4

    def __post_init__(self) -> None:
        normal = direction("Planar.normal", self.normal)
        x = (np.eye(3)[0] if abs(normal[0]) < 0.9 else np.eye(3)[1]) if self.x is None else self.x
        in_plane = numbers("Planar.x", x, (3,)) - (np.asarray(x) @ normal) * normal
        object.__setattr__(self, "normal", normal)
        object.__setattr__(self, "x", direction("Planar.x (its part in the plane)", in_plane))
        super().__post_init__()

    def axes(self) -> Array:
        return np.concatenate([np.asarray(self.normal), np.asarray(self.x)])


@dataclass(frozen=True, eq=False)
class Free(Joint):
    """No constraint: a floating base."""

    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6
    kind: ClassVar[int] = 5

    def neutral(self) -> Array:
        return np.array((0.0, 0, 0, 1, 0, 0, 0))

    def _limit_rows(self) -> int:
        return 0
