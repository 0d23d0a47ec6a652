"""The parts of an OpenSim model (.osim): bodies, joints with their coordinates, markers; files of OpenSim 3 and 4.

Every joint is written as a CustomJoint is: three translations along axes fixed in the parent's frame, then turns about
one axis after another, each a function of a coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ukemi.errors import UnknownNameError
from ukemi.model.arrays import Array, direction, frozen
from ukemi.model.inertia import MassProperties
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics, located
from ukemi.model.readers.osim_functions import Function, read_function
from ukemi.model.readers.osim_text import flag, floats, number, pose_of, word_of, words_of
from ukemi.model.readers.xmltree import Element
from ukemi.model.shapes import Shape, Sphere

GROUND = "ground"
#: Axes of the joints that name none, in the order of their coordinates: r turns, t shifts.
KINDS = {
    "WeldJoint": (),
    "PinJoint": ("rz",),
    "SliderJoint": ("tx",),
    "UniversalJoint": ("rx", "ry"),
    "BallJoint": ("rx", "ry", "rz"),
    "GimbalJoint": ("rx", "ry", "rz"),
    "PlanarJoint": ("rz", "tx", "ty"),
    "FreeJoint": ("rx", "ry", "rz", "tx", "ty", "tz"),
}


@dataclass(frozen=True)
class Coordinate:
    name: str
    default: float
    #: (lower, upper) as the file has it; OpenSim keeps to it only where ``clamped``
    range: tuple[float, float] | None
    clamped: bool
    locked: bool


@dataclass(frozen=True)
class Axis:
    """A turn about a direction (``turns``), or a shift along it, by a function of a coordinate (None: of nothing)."""

    name: str
    turns: bool
    along: Array
    function: Function
    coordinate: str | None

    @property
    def unit_slope(self) -> bool:
        """Whether the coordinate, up to its sign and a constant, is the angle or distance itself."""
        line = self.function.line
        return self.coordinate is not None and line is not None and abs(abs(line[0]) - 1) < 1e-9

    @property
    def constant(self) -> float | None:
        """The angle or distance, if it never changes."""
        line = self.function.line
        if self.coordinate is None:
            return float(self.function(np.zeros(1))[0])
        return line[1] if line is not None and line[0] == 0 else None


@dataclass(frozen=True)
class OsimJoint:
    """X_PC = X_PF, the axes' motion, inverse of X_CM."""

    name: str
    element: Element
    parent: str
    child: str
    X_PF: Pose
    X_CM: Pose
    axes: tuple[Axis, ...]
    coordinates: tuple[Coordinate, ...]

    @property
    def steps(self) -> tuple[Axis, ...]:
        """The axes in the order in which they move: shifts, then turns."""
        return tuple(a for a in self.axes if not a.turns) + tuple(a for a in self.axes if a.turns)


@dataclass
class Osim:
    """A model as its file has it; y up. ``joints``: from the ground outwards, one for each body."""

    name: str
    element: Element
    #: as the file has them, checked or not
    bodies: dict[str, MassProperties] = field(default_factory=dict)
    #: of the bodies
    elements: dict[str, Element] = field(default_factory=dict)
    joints: list[OsimJoint] = field(default_factory=list)
    markers: dict[str, tuple[str, Pose]] = field(default_factory=dict)
    shapes: dict[str, list[Shape]] = field(default_factory=dict)
    #: (coordinate, function, coordinate it follows)
    couplers: list[tuple[str, Function, str]] = field(default_factory=list)

    @property
    def coordinates(self) -> dict[str, Coordinate]:
        return {c.name: c for joint in self.joints for c in joint.coordinates}


def read_parts(root: Element, diagnostics: Diagnostics) -> Osim:
    """The parts of an <OpenSimDocument>.

    Raises:
        FileFormatError: with file and line.
    """
    model = root.one("Model")
    if model is None:
        raise root.error("<OpenSimDocument>: expected a <Model>")
    osim = Osim(model.attributes.get("name") or root.path.stem, model)
    elements = osim.elements
    for body in _objects(model, "BodySet"):
        name = body.text("name")
        if name in elements:
            raise body.error(f"body {name!r}: the name is taken by line {elements[name].line}")
        elements[name] = body
        if name != GROUND:
            osim.bodies[name] = _mass_properties(body)
    joints = [_joint(e, None) for e in _objects(model, "JointSet")]
    joints += [_joint(e, name) for name, body in elements.items() for e in _old_joint(body)]
    osim.joints = _ordered(osim, joints)
    for marker in _objects(model, "MarkerSet"):
        body_name = _last(word_of(marker, "socket_parent_frame", "socket_parent_frame_connectee_name", "body"))
        if body_name in osim.bodies:
            place = floats(marker, "location", 3, (0.0, 0.0, 0.0))
            osim.markers[marker.text("name")] = (body_name, Pose(place))
    for shape in _objects(model, "ContactGeometrySet"):
        _contact(shape, osim, diagnostics)
    for constraint in _objects(model, "ConstraintSet"):
        _constraint(constraint, osim, diagnostics)
    for force in _objects(model, "ForceSet"):
        diagnostics.warn("muscles and other forces are not modelled", force, force.attributes.get("name", ""))
    return osim


def _objects(model: Element, tag: str) -> list[Element]:
    group = model.one(tag)
    inner = None if group is None else group.one("objects")
    return [] if inner is None else inner.children


def _last(path: str) -> str:
    """The body or frame of a path such as /bodyset/femur_r."""
    return path.rpartition("/")[2]


def _mass_properties(body: Element) -> MassProperties:
    """As they are: a motion that is read with its model does not need them."""
    if body.one("inertia") is not None:
        xx, yy, zz, xy, xz, yz = floats(body, "inertia", 6)
    else:  # OpenSim 3
        xx, yy, zz, xy, xz, yz = (number(body, f"inertia_{k}", 0.0) for k in ("xx", "yy", "zz", "xy", "xz", "yz"))
    tensor = frozen(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    return MassProperties(number(body, "mass", 0.0), frozen(floats(body, "mass_center", 3, (0.0, 0.0, 0.0))), tensor)


def _old_joint(body: Element) -> list[Element]:
    """The joint inside a body of OpenSim 3."""
    holder = body.one("Joint") or body.one("joint")
    return [] if holder is None else [child for child in holder.children if child.tag.endswith("Joint")]


def _joint(element: Element, child: str | None) -> OsimJoint:
    name = element.text("name") if child is None else element.attributes.get("name", "").strip() or f"{child}_joint"
    connectors = element.one("connectors")
    if connectors is not None:  # files of OpenSim 4 before its release
        bodies = {c.attributes.get("name", ""): _last(word_of(c, "connectee_name")) for c in connectors.children}
        ends = [
            (bodies.get(f"{side}_body", ""), pose_of(element, f"location_in_{side}", f"orientation_in_{side}"))
            for side in ("parent", "child")
        ]
    elif child is None:
        frames = element.one("frames")
        owned = {frame.text("name"): frame for frame in (frames.children if frames else ())}
        ends = [
            _end(element, owned, word_of(element, f"socket_{side}_frame", f"socket_{side}_frame_connectee_name"))
            for side in ("parent", "child")
        ]
    else:
        if flag(element, "reverse"):
            raise element.error(f"joint {name!r}: reversed joints are not read")
        parent = word_of(element, "parent_body") or GROUND
        at = pose_of(element, "location_in_parent", "orientation_in_parent")
        ends = [(parent, at), (child, pose_of(element, "location", "orientation"))]
    coordinates = _coordinates(element, name)
    if element.tag == "CustomJoint":
        axes = _custom_axes(element, name, {c.name for c in coordinates})
    elif element.tag in KINDS:
        kinds = KINDS[element.tag]
        coordinates += [Coordinate(f"{name}_coord_{k}", 0.0, None, False, False) for k in range(len(kinds))][
            len(coordinates) :
        ]
        if len(coordinates) != len(kinds):
            raise element.error(f"joint {name!r}: expected {len(kinds)} coordinates, got {len(coordinates)}")
        axes = tuple(
            Axis(kind, kind[0] == "r", np.eye(3)["xyz".index(kind[1])], Function.straight(1.0, 0.0), c.name)
            for kind, c in zip(kinds, coordinates, strict=True)
        )
    else:
        known = ", ".join((*KINDS, "CustomJoint"))
        raise element.error(f"joint {name!r}: a {element.tag[:80]} is not read; {known} are")
    (parent, X_PF), (end, X_CM) = ends
    return OsimJoint(name, element, parent, end, X_PF, X_CM, axes, tuple(coordinates))


def _end(joint: Element, owned: Mapping[str, Element], path: str) -> tuple[str, Pose]:
    """The body of a frame and the frame's pose on it."""
    name = _last(path)
    if not name:
        raise joint.error(
            f"joint {joint.attributes['name']!r}: expected <socket_parent_frame> and <socket_child_frame>"
        )
    if name not in owned:
        return name, Pose()
    frame = owned[name]
    above = _last(word_of(frame, "socket_parent", "socket_parent_connectee_name"))
    if not above or above in owned:
        raise frame.error(f"frame {name!r}: expected a <socket_parent> that is a body, got {above!r}")
    return above, pose_of(frame, "translation", "orientation")


def _coordinates(joint: Element, name: str) -> list[Coordinate]:
    holder = joint.one("coordinates")
    elements = holder.children if holder is not None else _objects(joint, "CoordinateSet")
    found = []
    for element in elements:
        if element.tag != "Coordinate":
            raise element.error(f"joint {name!r}: expected a <Coordinate>, got <{element.tag[:80]}>")
        lower, upper = floats(element, "range", 2, (0.0, 0.0))
        if lower > upper:
            raise element.error(f"coordinate {element.text('name')!r}: range: expected lower <= upper")
        span = (float(lower), float(upper)) if words_of(element, "range") else None
        flags = [flag(element, what) for what in ("clamped", "locked")]
        found.append(Coordinate(element.text("name"), number(element, "default_value", 0.0), span, *flags))
    return found


def _custom_axes(joint: Element, name: str, coordinates: set[str]) -> tuple[Axis, ...]:
    transform = joint.one("SpatialTransform")
    if transform is None:
        raise joint.error(f"joint {name!r}: expected a <SpatialTransform>")
    axes = []
    for k, element in enumerate(transform.all("TransformAxis")):
        label = element.attributes.get("name") or f"axis{k + 1}"
        used = words_of(element, "coordinates")
        if len(used) > 1:
            raise element.error(f"joint {name!r}, {label}: functions of several coordinates are not read")
        if used and used[0] not in coordinates:
            raise element.error(f"joint {name!r}, {label}: {UnknownNameError('coordinate', used[0], coordinates)}")
        # without a function OpenSim takes the coordinate itself, or nothing
        function = read_function(element) or Function.straight(1.0 if used else 0.0, 0.0)
        with located(element, f"joint {name!r}, {label}"):
            along = direction("axis", floats(element, "axis", 3))
        axes.append(Axis(label, k < 3, along, function, used[0] if used else None))
    if len(axes) != 6:
        raise transform.error(f"joint {name!r}: expected six <TransformAxis>, got {len(axes)}")
    return tuple(axes)


def _ordered(osim: Osim, joints: list[OsimJoint]) -> list[OsimJoint]:
    """Joints from the ground outwards; every body hangs on one."""
    by_child: dict[str, OsimJoint] = {}
    seen: dict[str, str] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end != GROUND and end not in osim.bodies:
                what = UnknownNameError("body", end, osim.bodies)
                raise joint.element.error(f"joint {joint.name!r}: {what}")
        if joint.child == GROUND or joint.child in by_child:
            raise joint.element.error(
                f"joint {joint.name!r}: {joint.child!r} hangs on another joint: loops are not read"
            )
        by_child[joint.child] = joint
        for coordinate in joint.coordinates:
            if coordinate.name in seen:
                other = seen[coordinate.name]
                raise joint.element.error(f"joint {joint.name!r}: {coordinate.name!r} is a coordinate of {other!r} too")
            seen[coordinate.name] = joint.name
    for name in osim.bodies:
        if name not in by_child:
            raise osim.elements[name].error(f"body {name!r} hangs on no joint")
    if not osim.bodies:
        raise osim.element.error("a model without bodies")
    ordered: list[OsimJoint] = []
    reached = {GROUND}
    waiting = [by_child[name] for name in osim.bodies]
    while waiting:
        ready = [joint for joint in waiting if joint.parent in reached]
        if not ready:
            raise waiting[0].element.error(f"body {waiting[0].child!r} hangs on itself in a cycle")
        ordered += ready
        reached |= {joint.child for joint in ready}
        waiting = [joint for joint in waiting if joint.child not in reached]
    return ordered


def _contact(element: Element, osim: Osim, diagnostics: Diagnostics) -> None:
    body = _last(word_of(element, "socket_frame", "socket_frame_connectee_name", "body_name"))
    if element.tag != "ContactSphere" or body not in osim.bodies:
        diagnostics.warn("contact geometry other than spheres on bodies is left out", element, element.tag)
        return
    with located(element, f"<{element.tag}>"):
        sphere = Sphere(number(element, "radius"), at=Pose(floats(element, "location", 3, (0.0, 0.0, 0.0))))
    osim.shapes.setdefault(body, []).append(sphere)


def _constraint(element: Element, osim: Osim, diagnostics: Diagnostics) -> None:
    if flag(element, "isDisabled") or not flag(element, "isEnforced", True):
        return
    function = read_function(element) if element.tag == "CoordinateCouplerConstraint" else None
    if function is None:
        diagnostics.warn(
            f"constraints of kind {element.tag[:80]} are left out", element, element.attributes.get("name", "")
        )
        return
    follower, leaders = word_of(element, "dependent_coordinate_name"), words_of(element, "independent_coordinate_names")
    for name in (follower, *leaders):
        if name not in osim.coordinates:
            raise element.error(f"<{element.tag}>: {UnknownNameError('coordinate', name, osim.coordinates)}")
    if len(leaders) != 1:
        raise element.error(f"<{element.tag}>: expected one independent coordinate, got {len(leaders)}")
    osim.couplers.append((follower, function.times(number(element, "scale_factor", 1.0)), leaders[0]))
