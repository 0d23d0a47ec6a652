"""Virtual links: joints that close loops while the motion runs.

A connection between links a and b is a virtual link [SV00 IV-B]: a frame A on link a (its parent), a joint, and a frame
B on link b (its ``real`` link), which the joint lets move relative to A. As in [CC00] 2.1 the joint has six directions,
and each is either fixed (a row of the constraint, with its force), free, or a spring and damper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from ukemi import _core
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.arrays import numbers as checked_numbers
from ukemi.model.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ukemi.model.pose import IDENTITY, Pose


@dataclass(frozen=True)
class Spring:
    """A spring and damper along or about one direction: stiffness [N/m, N m/rad], damping [N s/m, N m s/rad]."""

    stiffness: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            value = float(checked_numbers(f"Spring.{name}", getattr(self, name), ()))
            if value < 0:
                raise InvalidInputError(f"Spring.{name}: expected no negative number, got {value:g}")
            object.__setattr__(self, name, value)


Direction = Literal["fixed", "free"] | Spring


@dataclass(frozen=True)
class Directions:
    """A joint by its six directions [CC00 3.1]: along and about x, y, z of the connection's frame.

    Each is "fixed", "free" or a `Spring`. With one rotation fixed, the other two turn in their order x, y, z like a
    universal joint (a gimbal with three free rotations is spherical).
    """

    x: Direction = "fixed"
    y: Direction = "fixed"
    z: Direction = "fixed"
    rx: Direction = "fixed"
    ry: Direction = "fixed"
    rz: Direction = "fixed"

    def __post_init__(self) -> None:
        for name, value in zip(("x", "y", "z", "rx", "ry", "rz"), self.all(), strict=True):
            if not isinstance(value, Spring) and not (isinstance(value, str) and value in ("fixed", "free")):
                raise InvalidInputError(f"Directions.{name}: expected 'fixed', 'free' or a Spring, got {value!r}")

    def all(self) -> tuple[Direction, ...]:
        return (self.x, self.y, self.z, self.rx, self.ry, self.rz)


@dataclass(frozen=True)
class _Rows:
    """What the core knows of a joint: fixed translations (bits), number of fixed rotations, free axes, springs."""

    lin: int
    rot: int
    axis1: Array = field(default_factory=lambda: np.array((0.0, 0, 1)))
    axis2: Array = field(default_factory=lambda: np.array((0.0, 0, 1)))
    stiffness: Array = field(default_factory=lambda: np.zeros(6))
    damping: Array = field(default_factory=lambda: np.zeros(6))


def _towards(axis: Array) -> Pose:
    """A frame whose z is the axis."""
    z = axis / np.linalg.norm(axis)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    y = np.cross(z, x)
    y /= np.linalg.norm(y)
    return Pose.from_matrix(np.stack([np.cross(y, z), y, z], axis=1))


def _elastic(joint: Joint, directions: Sequence[int]) -> tuple[Array, Array]:
    """Stiffness and damping of a joint's freedoms, put on the directions of the frame they move along."""
    kind = type(joint).__name__
    if np.asarray(joint.armature).any() or not np.array_equal(np.asarray(joint.rest), joint.neutral()):
        raise InvalidInputError(f"{kind}: a connection takes no armature and no rest position of its own")
    stiffness, damping = np.zeros(6), np.zeros(6)
    for full, given, what in ((stiffness, joint.stiffness, "stiffness"), (damping, joint.damping, "damping")):
        if given is None:
            continue
        matrix = np.asarray(given, dtype=np.float64)
        if not len(directions):
            raise InvalidInputError(f"{kind}.{what}: a {kind} connection takes no springs and dampers; use Directions")
        if np.abs(matrix - np.diag(np.diag(matrix))).max(initial=0) > 0:
            raise InvalidInputError(f"{kind}.{what}: a connection takes no coupled matrix, got {matrix.tolist()}")
        full[list(directions)] = np.diag(matrix)
    return stiffness, damping


@lru_cache(maxsize=1024)
def _rows(joint: Joint | Directions) -> tuple[Pose, _Rows]:
    """The frame in which the joint's directions are axes, and its rows there."""
    z = np.array((0.0, 0, 1))
    match joint:
        case Directions():
            return IDENTITY, _rows_of_directions(joint)
        case Fixed():
            return IDENTITY, _Rows(0b111, 3)
        case Revolute():
            return _towards(np.asarray(joint.axis)), _Rows(0b111, 2, z, z, *_elastic(joint, [5]))
        case Prismatic():
            return _towards(np.asarray(joint.axis)), _Rows(0b011, 3, z, z, *_elastic(joint, [2]))
        case Universal():
            return IDENTITY, _Rows(0b111, 1, np.asarray(joint.first), np.asarray(joint.second), *_elastic(joint, []))
        case Spherical():
            return IDENTITY, _Rows(0b111, 0, z, z, *_elastic(joint, [3, 4, 5]))
        case Planar():
            return _towards(np.asarray(joint.normal)), _Rows(0b100, 2, z, z, *_elastic(joint, []))
        case Free():
            return IDENTITY, _Rows(0, 0, z, z, *_elastic(joint, [0, 1, 2, 3, 4, 5]))
    raise InvalidInputError(f"connect: expected a joint or Directions, got {joint!r}")


def _rows_of_directions(joint: Directions) -> _Rows:
    ways = joint.all()
    lin = sum(1 << k for k in range(3) if ways[k] == "fixed")
    turning = [k for k in range(3) if ways[3 + k] != "fixed"]
    axes = np.eye(3)
    first = axes[turning[0]] if turning else axes[2]
    second = axes[turning[1]] if len(turning) == 2 else first
    springs = [way if isinstance(way, Spring) else Spring() for way in ways]
    return _Rows(
        lin,
        3 - len(turning),
        first,
        second,
        np.array([s.stiffness for s in springs]),
        np.array([s.damping for s in springs]),
    )


@lru_cache(maxsize=1024)
def loop_joint(joint: Joint | Directions) -> _core.LoopJoint:
    """The joint as the core knows it."""
    turned, rows = _rows(joint)
    numbers = (turned.R.ravel(), rows.axis1, rows.axis2, rows.stiffness, rows.damping, (-1.0,))
    return _core.LoopJoint(rows.lin, rows.rot, np.concatenate(numbers))


def axial_joint(spring: Spring, length: float) -> _core.LoopJoint:
    """A spring and damper along the line between the frames' origins, slack at ``length``."""
    along = np.eye(6)[0]
    numbers = (np.eye(3).ravel(), np.zeros(6), spring.stiffness * along, spring.damping * along, (length,))
    return _core.LoopJoint(0, 0, np.concatenate(numbers))


@dataclass(frozen=True, eq=False)
class VirtualLink:
    """A joint between frame A on link a and frame B on link b: links by index (-1: the ground), frames (4, 4) there."""

    name: str
    a: int
    b: int
    frame_a: Array
    frame_b: Array
    joint: Joint | Directions


def subspace(joint: Joint | Directions, R_AB: Array) -> Array:
    """J_n (6, p) of [SV00] eq. 27: velocity of B in A (A's axes, at the origin of B) per freedom of the joint."""
    eye = np.eye(3)

    def column(lin: Array | None, ang: Array | None) -> Array:
        nothing = np.zeros(3)
        return np.concatenate([nothing if lin is None else lin, nothing if ang is None else ang])

    columns: list[Array]
    match joint:
        case Directions():
            ways = joint.all()
            free = [k for k in range(6) if ways[k] != "fixed"]
            columns = [np.eye(6)[k] for k in free]
            turning = [i for i, k in enumerate(free) if k >= 3]
            if len(turning) == 2:  # the second axis turns with B, as in a universal joint
                columns[turning[1]] = column(None, R_AB @ columns[turning[1]][3:])
        case Fixed():
            columns = []
        case Revolute():
            columns = [column(None, np.asarray(joint.axis))]
        case Prismatic():
            columns = [column(np.asarray(joint.axis), None)]
        case Universal():
            columns = [column(None, np.asarray(joint.first)), column(None, R_AB @ np.asarray(joint.second))]
        case Spherical():
            columns = [column(None, R_AB[:, k]) for k in range(3)]
        case Planar():
            n, x = np.asarray(joint.normal), np.asarray(joint.x)
            columns = [column(x, None), column(np.cross(n, x), None), column(None, n)]
        case _:
            columns = [column(R_AB @ e, None) for e in eye] + [column(None, R_AB @ e) for e in eye]
    return np.array(columns).reshape(-1, 6).T


def subspace_rate(joint: Joint | Directions, R_AB: Array, relative: Array) -> Array:
    """J_n_dot theta_n_dot (6), when B moves in A with velocity ``relative`` (6): columns that turn with B."""
    out = np.zeros(6)
    turning = subspace(joint, R_AB)[3:]
    turning = turning[:, np.abs(turning).any(axis=0)]
    if isinstance(joint, Universal | Directions) and turning.shape[1] == 2:
        first, second = np.linalg.lstsq(turning, relative[3:], rcond=None)[0]
        out[3:] = np.cross(turning[:, 0], turning[:, 1]) * first * second
    elif isinstance(joint, Free):
        out[:3] = np.cross(relative[3:], relative[:3])
    return out  # a spherical joint turns about its own angular velocity: nothing changes
