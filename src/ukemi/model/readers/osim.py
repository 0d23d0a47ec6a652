"""OpenSim models (.osim, OpenSim 3 and 4).

Read: bodies with mass, centre and inertia; joints Pin, Slider, Weld, Universal, Gimbal, Ball, Planar, Free and Custom
with their coordinates (ranges where clamped), one revolute or prismatic joint for each, of its name, so that columns of
a .mot file are joints; markers as landmarks; spheres of the contact geometry. y up becomes z up: the world is turned,
bodies keep their axes. Locked coordinates, coordinate couplers, and axes that follow another axis' coordinate (the
knee's shift along a spline) become couplings: polynomials of degree 4 for a World, which say how far off they are, and
the functions themselves beside them (`Model.functions`). A coordinate that is itself no angle or distance of its joint
(the patella's) is a joint of a link without mass, which the axes follow.
Warned about: muscles and other forces, other constraints, other contact geometry, inertia that no body can have, which
is kept as OpenSim keeps it.
Refused: other joints, functions of several coordinates, loops of bodies.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukemi.errors import InvalidInputError, ModelError
from ukemi.model.arrays import Array
from ukemi.model.description import WORLD, Coupling, Description, Landmark, LinkDescription
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Fixed, Joint, Prismatic, Revolute
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics, located
from ukemi.model.readers.mjcf_names import unused
from ukemi.model.readers.osim_functions import Function
from ukemi.model.readers.osim_parts import GROUND, Axis, Coordinate, Osim, OsimJoint, read_parts
from ukemi.model.readers.osim_text import floats, turned
from ukemi.model.readers.xmltree import Element

#: OpenSim's ground in the world: y becomes z, z becomes -y.
Z_UP = turned(np.eye(3)[0], np.pi / 2)
#: A polynomial stands for a function over the coordinate's range and between its knots, or within this.
WIDEST = (-np.pi, np.pi)
POWERS = 4
#: Less than this is rounding [m, rad].
EXACT = 1e-9
#: Inertia of a coordinate that moves no body itself [kg]: its equation of motion needs some; far less than a body's.
CARRIER = 1e-6


def read_osim(root: Element, diagnostics: Diagnostics, base: Joint | None = None) -> Description:
    """The mechanism of an <OpenSimDocument>; ``base`` in place of the joint between the ground and the only body on it.

    Raises:
        FileFormatError: with file and line.
        InvalidInputError: a base for a model with several bodies on the ground.
    """
    osim = read_parts(root, diagnostics)
    for name in osim.bodies:
        _check(osim, name, diagnostics)
    description = Description(osim.name)
    maker = _Links(osim, diagnostics)
    grounded = [joint for joint in osim.joints if joint.parent == GROUND]
    if base is not None and len(grounded) > 1:
        raise InvalidInputError(f"base: {len(grounded)} bodies of {root.path} stand on the ground: expected one")
    for joint in osim.joints:
        if base is not None and joint is grounded[0]:
            description.links += maker.on_base(joint, base)
        else:
            description.links += maker.links(joint)
    description.couplings += maker.couplings
    made = {link.joint_name for link in description.links if link.joint.nq == 1}
    description.defaults |= {c.name: c.default for c in osim.coordinates.values() if c.default and c.name in made}
    description.coordinates = [name for name in osim.coordinates if name in made]
    for follower, function, leader in osim.couplers:
        description.couplings.append(maker.coupling(follower, function, osim.coordinates[leader]))
    description.functions |= maker.functions
    x, y, z = floats(osim.element, "gravity", 3, (0.0, -9.80665, 0.0))
    description.gravity = (float(x), float(-z), float(y))
    for name, (body, at) in osim.markers.items():
        description.landmarks[name] = Landmark(body, at)
    return description


def _check(osim: Osim, name: str, diagnostics: Diagnostics) -> None:
    """Warns of inertia that no body can have: published models have some, and OpenSim takes it."""
    try:
        osim.bodies[name].checked()
    except ModelError as error:
        if osim.bodies[name].mass < 0:
            raise osim.elements[name].error(f"body {name!r}: {error}") from error
        diagnostics.warn("inertia that no body can have is kept as it is", osim.elements[name], name)


class _Links:
    """Makes the links of each joint, and the couplings among them."""

    def __init__(self, osim: Osim, diagnostics: Diagnostics) -> None:
        self.osim, self.diagnostics = osim, diagnostics
        self.couplings: list[Coupling] = []
        self.functions: dict[str, Function] = {}
        self.links_taken, self.joints_taken = set(osim.bodies), set(osim.coordinates)

    def links(self, joint: OsimJoint) -> Iterator[LinkDescription]:
        """One link for each axis that moves; the last of them, or one fixed to it, carries the body."""
        own = {c.name: c for c in joint.coordinates}
        leads = {name: self._leading(joint, name) for name in own}
        moving: list[tuple[Pose, Joint, str]] = []
        at = Z_UP @ joint.X_PF if joint.parent == GROUND else joint.X_PF
        for axis in joint.steps:
            if axis.constant is not None:
                at = at @ _motion(axis, axis.constant)
                continue
            assert axis.coordinate is not None
            coordinate = own[axis.coordinate]
            kind = Revolute if axis.turns else Prismatic
            if leads[axis.coordinate] is axis:
                assert axis.function.line is not None
                slope, intercept = axis.function.line
                along = np.sign(slope) * axis.along
                moved = at @ _motion(axis, intercept)
                moving.append((moved, self._joint(joint, kind, along, coordinate), coordinate.name))
            else:
                name = unused(f"{joint.name}/{axis.name}", self.joints_taken)
                moving.append((at, kind(axis.along), name))
                self.couplings.append(self.coupling(name, axis.function, coordinate))
            at = Pose()
        at = at @ joint.X_CM.inverse()
        parent = WORLD if joint.parent == GROUND else joint.parent
        for name, lead in leads.items():
            if lead is None:
                link = unused(name, self.links_taken)
                carrier = self._joint(joint, Prismatic, np.eye(3)[0], own[name], CARRIER)
                yield LinkDescription(link, parent, carrier, name, Pose(), MassProperties.none())
        body = (self.osim.bodies[joint.child], tuple(self.osim.shapes.get(joint.child, ())))
        for k, (frame, kind_of_joint, name) in enumerate(moving):
            if k == len(moving) - 1 and at.is_identity:
                yield LinkDescription(joint.child, parent, kind_of_joint, name, frame, *body)
                return
            link = unused(f"{joint.child}/{name}", self.links_taken)
            yield LinkDescription(link, parent, kind_of_joint, name, frame, MassProperties.none())
            parent = link
        fixed = unused(f"{joint.child}_fixed" if moving else joint.name, self.joints_taken)
        yield LinkDescription(joint.child, parent, Fixed(), fixed, at, *body)

    def on_base(self, joint: OsimJoint, base: Joint) -> Iterator[LinkDescription]:
        """The body on a joint of the user's, upright in its zero pose."""
        self.joints_taken -= {c.name for c in joint.coordinates}
        link = unused(f"{joint.child}_base", self.links_taken)
        yield LinkDescription(link, WORLD, base, unused(joint.name, self.joints_taken), Pose(), MassProperties.none())
        fixed = unused(f"{joint.child}_fixed", self.joints_taken)
        body = (self.osim.bodies[joint.child], tuple(self.osim.shapes.get(joint.child, ())))
        yield LinkDescription(joint.child, link, Fixed(), fixed, Z_UP, *body)

    def _joint(
        self, joint: OsimJoint, kind: type[Revolute | Prismatic], along: Array, of: Coordinate, armature: float = 0.0
    ) -> Joint:
        """The joint of a coordinate, within its range where it is clamped, held where it is locked."""
        if of.locked:
            self.couplings.append(Coupling(of.name, None, 0.0, of.default))
        with located(joint.element, f"coordinate {of.name!r}"):
            return kind(along, limits=of.range if of.clamped else None, armature=armature)

    def _leading(self, joint: OsimJoint, coordinate: str) -> Axis | None:
        """The axis whose angle or distance the coordinate is; None: it is used otherwise, or not at all."""
        using = (axis for axis in joint.axes if axis.coordinate == coordinate)
        return next((axis for axis in using if axis.unit_slope), None)

    def coupling(self, follower: str, function: Function, leader: Coordinate) -> Coupling:
        """The follower as a polynomial of the leader, right where the leader is zero, and what it stands for."""
        if function.line is not None:
            return Coupling(follower, leader.name, *function.line)
        lower, upper = _both(leader.range, function.span or WIDEST)
        x = 0.5 * (lower + upper) - 0.5 * (upper - lower) * np.cos(np.linspace(0, np.pi, 201))
        y, zero = function(x), float(function(np.zeros(())))
        powers, scale = np.arange(1, POWERS + 1), np.abs(x).max()
        c, *_ = np.linalg.lstsq((x[:, None] / scale) ** powers, y - zero, rcond=None)
        c /= scale**powers
        off = float(np.abs(np.polynomial.polynomial.polyval(x, [zero, *c]) - y).max())
        if off > EXACT:
            self.functions[follower] = function
            self.diagnostics.warn(
                f"functions that are not straight become polynomials of degree {POWERS} in a World",
                example=f"{follower} of {leader.name}, off by at most {off:.2g}",
            )
        return Coupling(follower, leader.name, float(c[0]), zero, tuple(float(k) for k in c[1:]))


def _both(range_: tuple[float, float] | None, span: tuple[float, float]) -> tuple[float, float]:
    """Where a coordinate goes and its function says something; files write -99999.9 for no limit."""
    lower, upper = span if range_ is None else (max(range_[0], span[0]), min(range_[1], span[1]))
    return (lower, upper) if lower < upper else span


def _motion(axis: Axis, amount: float) -> Pose:
    return turned(axis.along, amount) if axis.turns else Pose(amount * axis.along)
