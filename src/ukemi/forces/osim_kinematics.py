"""Where the markers of an OpenSim model are, and how they move with its coordinates, for many frames at once.

The joints move as their file says, by its own functions (splines stay splines), so that angles are OpenSim's; axes are
OpenSim's too: y up. A figure of other proportions is the same model with scale factors of its bodies: translations of
joint frames, functions that shift, and markers grow with the body that they stand on, as OpenSim's ScaleTool has it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ukemi.errors import ModelError, UkemiWarning, UnknownNameError
from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.osim_functions import Function
from ukemi.model.readers.osim_parts import GROUND, Axis, Osim, OsimJoint, read_parts
from ukemi.model.readers.xmltree import read_xml

ONES = (1.0, 1.0, 1.0)
EYE = np.eye(3)


@dataclass(frozen=True)
class _Move:
    """A turn about an axis, or a shift along it, by a function of a coordinate (by a constant: none)."""

    turns: bool
    along: Array
    function: Function
    coordinate: int | None
    below: Array  # markers that it carries

    @cached_property
    def line(self) -> tuple[float, float] | None:
        return self.function.line

    @cached_property
    def cross(self) -> tuple[Array, Array]:
        """K, with K b = along x b, and K K."""
        x, y, z = self.along
        K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return K, K @ K

    def amount(self, q: Array) -> Array:
        """Angle or distance (frames,)."""
        x = np.zeros(len(q)) if self.coordinate is None else q[:, self.coordinate]
        return self.function(x) if self.line is None else self.line[0] * x + self.line[1]

    def slope(self, q: Array) -> Array | float:
        assert self.coordinate is not None
        return self.function(q[:, self.coordinate], 1)[:, None] if self.line is None else self.line[0]

    def turn(self, angle: Array) -> Array:
        """R (frames, 3, 3), by Rodrigues' formula."""
        K, KK = self.cross
        return EYE + np.sin(angle)[:, None, None] * K + (1 - np.cos(angle))[:, None, None] * KK


@dataclass(frozen=True)
class _Joint:
    parent: int  # -1: the ground
    at: Pose
    moves: tuple[_Move, ...]
    back: Pose


def open_osim(path: str | Path) -> Osim:
    """The parts of an .osim file; what its motion lacks for it is said in warnings.

    Raises:
        FileFormatError: with file and line.
    """
    file = Path(path)
    root = read_xml(file)
    if root.tag != "OpenSimDocument":
        raise root.error(f"the root element is <{root.tag[:80]}>: expected <OpenSimDocument>")
    diagnostics = Diagnostics(file)
    osim = read_parts(root, diagnostics)
    for message in diagnostics.messages():
        if "constraint" in message:  # forces and shapes do not matter here
            warnings.warn(message, UkemiWarning, stacklevel=2)
    return osim


class OsimKinematics:
    """An OpenSim model's markers as functions of its coordinates.

    ``x`` (frames, free) are the coordinates that are free, ``q`` (frames, all) all of them, in the order of the file:
    locked ones at their defaults, and those that follow others (`CoordinateCouplerConstraint`) where these put them
    [rad, m]. ``markers``: which, in what order. ``factors``: body -> scale factors along its x, y and z.
    """

    def __init__(
        self, osim: Osim, markers: tuple[str, ...] | None = None, factors: Mapping[str, tuple[float, ...]] | None = None
    ) -> None:
        self.osim = osim
        self.factors = {} if factors is None else dict(factors)
        self.markers = tuple(osim.markers) if markers is None else markers
        for name in self.markers:
            if name not in osim.markers:
                raise UnknownNameError("marker", name, osim.markers)
        self.bodies = {joint.child: k for k, joint in enumerate(osim.joints)}
        coordinates = osim.coordinates
        self.names = tuple(c.name for joint in _depth_first(osim) for c in joint.coordinates)
        self._index = {name: k for k, name in enumerate(self.names)}
        self.followers = _leaders_first(osim)
        led = {follower for follower, _, _ in self.followers}
        self.free = tuple(n for n in self.names if n not in led and not coordinates[n].locked)
        self._free = np.array([self._index[name] for name in self.free], dtype=int)
        self.default = np.array([coordinates[name].default for name in self.names])
        self.turning = np.array([_turns(osim, name) for name in self.names])
        bodies = [osim.markers[name][0] for name in self.markers]
        self._on = [np.array([i for i, b in enumerate(bodies) if b == body], dtype=int) for body in self.bodies]
        self._places = [
            np.array([osim.markers[self.markers[i]][1].position * self.scale(body) for i in on]).reshape(-1, 3)
            for body, on in zip(self.bodies, self._on, strict=True)
        ]
        self._joints = [self._joint(joint) for joint in osim.joints]

    def scale(self, body: str) -> Array:
        """(3,) of a body; ones where none were given."""
        return np.array(self.factors.get(body, ONES))

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper bounds (free,) of the free coordinates that are clamped, infinite for the others."""
        coordinates = [self.osim.coordinates[name] for name in self.free]
        clamped = [(c.range if c.clamped else None) or (-np.inf, np.inf) for c in coordinates]
        lower, upper = np.array(clamped).reshape(-1, 2).T
        return lower, upper

    def free_of(self, q: Array) -> Array:
        return np.asarray(q)[..., self._free]

    def all_of(self, x: Array) -> Array:
        """q (frames, all) from x (frames, free)."""
        q = np.tile(self.default, (len(x), 1))
        q[:, self._free] = x
        for follower, function, leader in self.followers:
            q[:, self._index[follower]] = function(q[:, self._index[leader]])
        return q

    def positions(self, q: Array) -> Array:
        """Markers (frames, markers, 3) [m] at q (frames, all)."""
        return self._walk(q)[0]

    def poses(self, q: Array) -> tuple[Array, Array]:
        """R (frames, bodies, 3, 3) and origins (frames, bodies, 3) of all bodies on the ground."""
        _, _, R, p = self._walk(q)
        return np.stack(R, axis=1), np.stack(p, axis=1)

    def linearized(self, x: Array) -> tuple[Array, Array]:
        """Markers (frames, markers, 3) and their derivatives (frames, free, markers, 3) by the free coordinates."""
        q = self.all_of(x)
        points, moved, _, _ = self._walk(q)
        J = np.zeros((len(q), len(self.names), len(self.markers), 3))
        for move, axis, origin in moved:
            assert move.coordinate is not None
            a = move.slope(q) * axis
            if move.turns:
                J[:, move.coordinate, move.below] += _cross(a[:, None], points[:, move.below] - origin[:, None])
            else:
                J[:, move.coordinate, move.below] += a[:, None]
        for follower, function, leader in reversed(self.followers):
            k = self._index[leader]
            J[:, k] += function(q[:, k], 1)[:, None, None] * J[:, self._index[follower]]
        return points, J[:, self._free]

    def curvature(self, x: Array, forces: Array) -> Array:
        """Second derivatives (frames, free, free) of sum f . p over the markers p, for given f (frames, markers, 3).

        By amounts i above j in the chain that of p is u_i x D_j, with u the axes of turns and D_j the derivative by j;
        that of functions of coordinates is left out, which is exact for lines.
        """
        q = self.all_of(x)
        points, moved, _, _ = self._walk(q)
        u, t = np.zeros((2, len(q), len(moved), 3))
        C = np.zeros((len(q), len(moved), len(self.names)))  # of amounts by coordinates
        for k, (move, axis, origin) in enumerate(moved):
            assert move.coordinate is not None
            C[:, k, move.coordinate] = np.ravel(move.slope(q))
            if move.turns:
                u[:, k] = axis
                D = _cross(axis[:, None], points[:, move.below] - origin[:, None])
            else:
                D = axis[:, None]
            t[:, k] = _cross(D, forces[:, move.below]).sum(axis=1)  # f . (u x D) = u . (D x f)
        for follower, function, leader in reversed(self.followers):
            k = self._index[leader]
            C[:, :, k] += function(q[:, k], 1)[:, None] * C[:, :, self._index[follower]]
        C = C[:, :, self._free]
        S = u @ t.transpose(0, 2, 1) * self._above
        S += (S * (1 - np.eye(len(moved)))).transpose(0, 2, 1)
        return C.transpose(0, 2, 1) @ S @ C

    @cached_property
    def _above(self) -> Array:
        """(amounts, amounts): 1 where the first moves the second, or is it."""
        lines: list[set[int]] = []
        owners = []
        for k, joint in enumerate(self._joints):
            lines.append({k} | (lines[joint.parent] if joint.parent >= 0 else set()))
            owners += [k] * sum(move.coordinate is not None for move in joint.moves)
        n = len(owners)
        return np.array([[float(i <= j and owners[i] in lines[owners[j]]) for j in range(n)] for i in range(n)])

    def _walk(self, q: Array) -> tuple[Array, list[tuple[_Move, Array, Array]], list[Array], list[Array]]:
        """Markers, every move with its axis and origin, and R and p of the bodies, all on the ground."""
        frames = len(q)
        points = np.empty((frames, len(self.markers), 3))
        moved: list[tuple[_Move, Array, Array]] = []
        Rs: list[Array] = []
        ps: list[Array] = []
        ground = np.tile(np.eye(3), (frames, 1, 1)), np.zeros((frames, 3))
        for k, joint in enumerate(self._joints):
            R, p = ground if joint.parent < 0 else (Rs[joint.parent], ps[joint.parent])
            p = p + R @ joint.at.position
            R = R @ joint.at.R
            for move in joint.moves:
                amount = move.amount(q)
                axis = R @ move.along
                if move.coordinate is not None:
                    moved.append((move, axis, p))
                if move.turns:
                    R = R @ move.turn(amount)
                else:
                    p = p + amount[:, None] * axis
            p = p + R @ joint.back.position
            R = R @ joint.back.R
            Rs.append(R)
            ps.append(p)
            points[:, self._on[k]] = p[:, None] + self._places[k] @ R.transpose(0, 2, 1)
        return points, moved, Rs, ps

    def _joint(self, joint: OsimJoint) -> _Joint:
        parent = ONES if joint.parent == GROUND else self.scale(joint.parent)
        below = self._below(joint.child)
        moves = []
        for axis in joint.steps:
            if axis.constant != 0:
                function = axis.function if axis.turns else _scaled(axis, parent)
                k = None if axis.constant is not None or axis.coordinate is None else self._index[axis.coordinate]
                moves.append(_Move(axis.turns, axis.along, function, k, below))
        X_CM = joint.X_CM
        back = Pose.from_rotation(X_CM.R, X_CM.position * self.scale(joint.child)).inverse()
        at = Pose.from_rotation(joint.X_PF.R, joint.X_PF.position * parent)
        return _Joint(self.bodies.get(joint.parent, -1), at, tuple(moves), back)

    def _below(self, body: str) -> Array:
        carried = {body}
        for joint in self.osim.joints:  # parents come first
            if joint.parent in carried:
                carried.add(joint.child)
        return np.array([i for i, name in enumerate(self.markers) if self.osim.markers[name][0] in carried], dtype=int)


def _depth_first(osim: Osim, parent: str = GROUND) -> Iterator[OsimJoint]:
    """The joints below a body, each with what hangs on it: the order in which OpenSim writes coordinates."""
    for joint in osim.joints:
        if joint.parent == parent:
            yield joint
            yield from _depth_first(osim, joint.child)


def _turns(osim: Osim, coordinate: str) -> bool:
    """Whether a coordinate is the angle of an axis: such ones OpenSim writes in degrees, all others as they are."""
    return any(a.turns and a.unit_slope for joint in osim.joints for a in joint.axes if a.coordinate == coordinate)


def _scaled(axis: Axis, factors: Array | tuple[float, ...]) -> Function:
    """A function that shifts, grown with the joint's parent; a coordinate that is the distance itself is none."""
    if axis.coordinate is not None and axis.function.line == (1.0, 0.0):
        return axis.function
    return axis.function.times(float(np.abs(axis.along) @ np.asarray(factors)))


def _cross(a: Array, b: Array) -> Array:
    """a x b along the last axis; np.cross takes four times as long."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return out


def _leaders_first(osim: Osim) -> list[tuple[str, Function, str]]:
    """(follower, function, leader), each after the one that its leader follows."""
    waiting = {follower: (follower, function, leader) for follower, function, leader in osim.couplers}
    ordered: list[tuple[str, Function, str]] = []
    while waiting:
        ready = [item for item in waiting.values() if item[2] not in waiting]
        if not ready:
            raise ModelError(f"coordinates {', '.join(waiting)} of {osim.name!r} follow each other in a ring")
        ordered += ready
        for follower, _, _ in ready:
            del waiting[follower]
    return ordered
