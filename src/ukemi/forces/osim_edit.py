"""Writes an OpenSim model of other proportions: the file it came from, with what grows scaled.

Scaled as OpenSim's ScaleTool has it: frames on bodies, functions that shift, markers, path points, wrap objects, the
pictures, mass centres and inertias, masses to the person's; fibres and tendons by the length of the muscle's path in
the default pose, here from point to point. Everything else, comments too, stays. Contact geometry is not scaled, there
neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ukemi.errors import FileFormatError
from ukemi.forces.osim_kinematics import OsimKinematics
from ukemi.model.arrays import Array
from ukemi.model.pose import Pose
from ukemi.model.readers.osim_functions import KINDS, read_function
from ukemi.model.readers.osim_parts import Osim
from ukemi.model.readers.osim_text import floats, pose_of, word_of
from ukemi.model.readers.xmltree import Element
from ukemi.model.readers.xmltree import read_xml as check_xml

Node = ElementTree.Element
FRAMES = ("socket_parent_frame", "socket_parent_frame_connectee_name", "socket_parent", "body")
#: Lengths that follow the length of a path.
ALONG_PATH = ("optimal_fiber_length", "tendon_slack_length", "resting_length", "slack_length")


def write_scaled(
    source: Path,
    target: Path,
    osim: Osim,
    kinematics: OsimKinematics,
    markers: Mapping[str, tuple[str, Pose]],
    *,
    mass: float | None = None,
    preserve_mass: bool = True,
    name: str = "",
) -> Path:
    """Writes the model of ``source`` scaled by the factors of ``kinematics``, with these markers and no others.

    mass: of the whole model [kg]; None leaves what scaling gives. preserve_mass: segments keep their shares of the
    mass; else they grow with their volume.
    """
    check_xml(source)  # bounded, and without entities
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    tree = ElementTree.parse(source, parser)
    model = tree.getroot().find("Model")
    if model is None:
        raise FileFormatError(source, None, "<OpenSimDocument>: expected a <Model>")
    lengths = path_lengths(osim, kinematics)
    edit = _Edit(model, kinematics)
    edit.places()
    edit.bodies(mass, preserve_mass)
    edit.muscles(lengths)
    edit.markers(markers)
    if name:
        model.set("name", name)
    tree.write(target, encoding="UTF-8", xml_declaration=True)
    return target


class _Edit:
    def __init__(self, model: Node, kinematics: OsimKinematics) -> None:
        self.model, self.kinematics = model, kinematics
        self.above = {child: parent for parent in model.iter() for child in parent}
        offsets = [e for e in model.iter() if e.tag == "PhysicalOffsetFrame"]
        self.offsets = {(self._owner(e), e.get("name", "")): e for e in offsets}
        self.old = model.find("JointSet") is None  # OpenSim 3 has joints inside of bodies, and names for paths

    # --- which body something stands on -------------------------------------------------------------------------------
    def _owner(self, element: Node) -> str:
        """The name of the nearest component that an element is part of."""
        while (element := self.above.get(element, self.model)) is not self.model:
            if element.get("name") and element.tag not in ("objects", "frames", "components"):
                return element.get("name", "")
        return ""

    def base(self, path: str, owner: str) -> str:
        """The body of a frame's path, such as /bodyset/femur_r, /jointset/hip_r/pelvis_offset, or femur_r."""
        *before, last = path.strip().split("/")
        for key in ((owner, last), (before[-1] if before else "", last)):
            frame = self.offsets.get(key)
            if frame is not None:
                above = _text(frame, "socket_parent", "socket_parent_connectee_name")
                return self.base(above, self._owner(frame))
        return last

    def of(self, element: Node) -> Array:
        """(3,) factors of the body that an element's frame is on."""
        return self.kinematics.scale(self.base(_frame(element), self._owner(element)))

    def around(self, element: Node) -> Array:
        """(3,) factors of the body (or the frame on one) that an element is inside of."""
        while (element := self.above.get(element, self.model)) is not self.model:
            if element.tag == "Body":
                return self.kinematics.scale(element.get("name", ""))
            if element.tag == "PhysicalOffsetFrame":
                return self.of(element)
        return np.ones(3)

    # --- what scales --------------------------------------------------------------------------------------------------
    def places(self) -> None:
        """Frames, joints, functions that shift, path points, wrap objects, pictures."""
        for e in list(self.model.iter()):
            tag = str(e.tag)
            if tag == "PhysicalOffsetFrame":
                _multiply(e, "translation", self.of(e))
            elif tag in ("PathPoint", "ConditionalPathPoint", "Station"):
                _multiply(e, "location", self.of(e))
            elif tag == "MovingPathPoint":
                for axis, factor in zip("xyz", self.of(e), strict=True):
                    location = e.find(f"{axis}_location")
                    if location is not None:
                        _grow(location, factor)
            elif tag.startswith("Wrap") and e.find("translation") is not None:
                _wrap(e, self.around(e))
            elif tag == "attached_geometry":
                for picture in e:
                    _multiply(picture, "scale_factors", self.around(picture))
            elif tag == "VisibleObject" and self.above[e].tag == "Body":
                _multiply(e, "scale_factors", self.around(e))
            elif tag.endswith("Joint"):
                self._joint(e)
            elif tag == "CoordinateCouplerConstraint":
                self._coupler(e)

    def _joint(self, joint: Node) -> None:
        parent, child = self._ends(joint)
        _multiply(joint, "location_in_parent", parent)  # OpenSim 3
        _multiply(joint, "location", child)
        _multiply(joint, "location_in_child", child)
        transform = joint.find("SpatialTransform")
        for axis in [] if transform is None else transform.findall("TransformAxis")[3:]:
            along = np.abs(_numbers(axis.find("axis")))
            _grow(axis, float(along / np.linalg.norm(along) @ parent), coordinate=_text(axis, "coordinates"))

    def _ends(self, joint: Node) -> tuple[Array, Array]:
        """Factors of the bodies that a joint connects."""
        for known in self.kinematics.osim.joints:
            if known.name == joint.get("name"):
                return self.kinematics.scale(known.parent), self.kinematics.scale(known.child)
        return np.ones(3), np.ones(3)

    def _coupler(self, constraint: Node) -> None:
        """What puts a distance grows with it."""
        follower = _text(constraint, "dependent_coordinate_name")
        for joint in self.kinematics.osim.joints:
            for axis in joint.axes:
                if axis.coordinate == follower and axis.unit_slope and not axis.turns:
                    factor = float(np.abs(axis.along) @ self.kinematics.scale(joint.parent))
                    _set(constraint, "scale_factor", factor * float(_text(constraint, "scale_factor") or 1))

    def bodies(self, mass: float | None, preserve: bool) -> None:
        found = [e for e in self.model.iter("Body") if e.find("mass") is not None and e.get("name") != "ground"]
        for body in found:
            factors = self.kinematics.scale(body.get("name", ""))
            _multiply(body, "mass_center", factors)
            old = float(_text(body, "mass") or 0)
            new = old if preserve else old * float(np.prod(factors))
            _set(body, "mass", new)
            _inertia(body, lambda I, old=old, new=new, f=factors: scaled_inertia(I, old, new, f))  # type: ignore[misc]
        total = sum(float(_text(body, "mass")) for body in found)
        if mass is None or total <= 0:
            return
        for body in found:
            _set(body, "mass", float(_text(body, "mass")) * mass / total)
            _inertia(body, lambda I: I * mass / total)

    def muscles(self, lengths: Mapping[str, tuple[float, float]]) -> None:
        for e in self.model.iter():
            if e.get("name") in lengths and e.find("GeometryPath") is not None:
                before, after = lengths[e.get("name", "")]
                for tag in ALONG_PATH:
                    _multiply(e, tag, after / before if before > 0 else 1.0)

    def markers(self, markers: Mapping[str, tuple[str, Pose]]) -> None:
        """Moves markers to their places, takes away those that are not there, adds those that are new."""
        holder = self.model.find("MarkerSet")
        if holder is None:
            holder = ElementTree.SubElement(self.model, "MarkerSet", {"name": "markerset"})
        objects = holder.find("objects")
        if objects is None:
            objects = ElementTree.SubElement(holder, "objects")
        there = {e.get("name", ""): e for e in objects if e.tag == "Marker"}
        for name, e in there.items():
            if name not in markers:
                objects.remove(e)
        for name, (body, at) in markers.items():
            if name not in there:
                there[name] = ElementTree.SubElement(objects, "Marker", {"name": name})
                ElementTree.SubElement(there[name], "fixed").text = "false"
            e = there[name]
            if self.base(_frame(e), self._owner(e)) != body:
                _set(e, "body" if self.old else FRAMES[0], body if self.old else f"/bodyset/{body}")
            _set(e, "location", at.position)
        ElementTree.indent(objects, "\t", level=3)


def scaled_inertia(I: Array, old: float, new: float, factors: Array) -> Array:
    """Inertia (3, 3) at the mass centre of a body of which axes grow, and whose mass changes [kg].

    All axes alike: by their square. Else as OpenSim has it (Body::scaleInertialProperties): diagonal elements as of a
    cylinder along the axis of the smallest of them, products by the two axes' factors.
    """
    if old <= 0 or new <= 0:
        return np.zeros((3, 3))
    if np.ptp(factors) <= 1e-14 * factors[0]:
        return I * (new / old) * factors[0] ** 2
    along = int(np.argmin(np.diag(I)))
    a, b = (k for k in range(3) if k != along)
    across = 2 * max(I[along, along], 0) / old  # radius^2
    length = 12 * max(I[a, a] / old - across / 4, 0)  # length^2
    across *= factors[a] * factors[b]
    length *= factors[along] ** 2
    scaled: Array = I * np.outer(factors, factors) * (new / old)
    scaled[along, along] = new * across / 2
    scaled[a, a] = scaled[b, b] = new * (length / 12 + across / 4)
    return scaled


# --- paths ------------------------------------------------------------------------------------------------------------
def path_lengths(osim: Osim, kinematics: OsimKinematics) -> dict[str, tuple[float, float]]:
    """Muscle or ligament -> length of its path [m] in the default pose, before and after scaling, from point to point:
    wrapping is left out, which matters little for their ratio."""
    plain = OsimKinematics(osim)
    q = plain.all_of(plain.free_of(plain.default)[None])
    poses = [[part[0] for part in k.poses(q)] for k in (plain, kinematics)]
    lengths = {}
    for element in osim.element.walk():
        path = element.one("GeometryPath") if len(element.all("GeometryPath")) == 1 else None
        if path is not None and "name" in element.attributes:
            points = list(_points(path, plain, q[0]))
            both = []
            for k, (R, p) in zip((plain, kinematics), poses, strict=True):
                at = [
                    x if body not in k.bodies else p[k.bodies[body]] + R[k.bodies[body]] @ (x * k.scale(body))
                    for body, x in points
                ]
                both.append(float(np.linalg.norm(np.diff(np.array(at), axis=0), axis=1).sum()) if len(at) > 1 else 0.0)
            lengths[element.attributes["name"]] = (both[0], both[1])
    return lengths


def _points(path: Element, k: OsimKinematics, q: Array) -> Iterator[tuple[str, Array]]:
    """Body and place [m] of the points of a path that are in use at q."""
    for point in path.walk():
        if point.tag not in ("PathPoint", "ConditionalPathPoint", "MovingPathPoint"):
            continue
        body = word_of(point, *FRAMES).rpartition("/")[2]
        if point.tag == "MovingPathPoint":
            functions = [point.one(f"{axis}_location") for axis in "xyz"]
            found = [None if f is None else read_function(f) for f in functions]
            leaders = [word_of(point, f"socket_{a}_coordinate", f"{a}_coordinate").rpartition("/")[2] for a in "xyz"]
            at = [
                0.0 if f is None else float(f(q[k.names.index(leader)] if leader in k.names else 0.0))  # type: ignore[arg-type]
                for f, leader in zip(found, leaders, strict=True)
            ]
            yield body, np.array(at)
            continue
        if point.tag == "ConditionalPathPoint":
            leader = word_of(point, "socket_coordinate", "coordinate").rpartition("/")[2]
            lower, upper = floats(point, "range", 2, (-np.inf, np.inf))
            if leader in k.names and not lower - 1e-5 <= q[k.names.index(leader)] <= upper + 1e-5:
                continue
        yield body, floats(point, "location", 3, (0.0, 0.0, 0.0))


# --- numbers in elements ----------------------------------------------------------------------------------------------
def _text(element: Node, *tags: str) -> str:
    for tag in tags:
        found = element.find(tag)
        if found is not None and (found.text or "").strip():
            return (found.text or "").strip()
    return ""


def _frame(element: Node) -> str:
    """The path of the frame that something is on."""
    return _text(element, *FRAMES) or _text(element, "connectors/*/connectee_name")  # as before OpenSim 4's release


def _numbers(element: Node | None) -> Array:
    return np.array([float(word) for word in ((element.text if element is not None else "") or "").split()])


def _set(element: Node, tag: str, value: str | float | Array) -> None:
    found = element.find(tag)
    if found is None:
        found = ElementTree.SubElement(element, tag)
    found.text = value if isinstance(value, str) else " ".join(repr(float(x)) for x in np.atleast_1d(value))


def _multiply(element: Node, tag: str, factors: Array | float) -> None:
    values = _numbers(element.find(tag))
    if len(values):
        _set(element, tag, values * factors)


def _grow(holder: Node, factor: float, coordinate: str = "") -> None:
    """Multiplies the function in an element; a coordinate that is the distance itself stays."""
    inner = holder.find("function")
    holder = holder if inner is None else inner
    for k, function in enumerate(holder):
        if function.tag not in KINDS:
            continue
        if function.tag == "MultiplierFunction":
            _set(function, "scale", float(_text(function, "scale") or 1) * factor)
        elif function.tag == "Constant":
            _multiply(function, "value", factor)
        elif not (coordinate and function.tag == "LinearFunction" and _is_coordinate(function)):
            grown = ElementTree.Element("MultiplierFunction", {"name": function.get("name", "function")})
            grown.tail = function.tail
            ElementTree.SubElement(grown, "function").append(function)
            _set(grown, "scale", factor)
            holder[k] = grown
        return


def _is_coordinate(line: Node) -> bool:
    return _numbers(line.find("coefficients")).tolist() == [1.0, 0.0]


def _wrap(e: Node, factors: Array) -> None:
    """A wrap object: its place, and its size along its own axes."""
    _multiply(e, "translation", factors)
    turn = Element("", {}, Path(), 0, [Element("r", {}, Path(), 0, [], _text(e, "xyz_body_rotation") or "0 0 0")])
    x, y, z = np.linalg.norm(pose_of(turn, "", "r").R * factors[:, None], axis=0)
    for tag, factor in (("length", z), ("inner_radius", (x + y) / 2), ("outer_radius", (x + y) / 2)):
        _multiply(e, tag, float(factor))
    _multiply(e, "radius", float(factors.mean() if e.tag == "WrapSphere" else (x + y) / 2))
    _multiply(e, "dimensions", np.array((x, y, z)))


def _inertia(body: Node, change: Callable[[Array], Array]) -> None:
    """Changes a body's inertia, written in one line, or in six (OpenSim 3)."""
    whole, names = body.find("inertia"), ("xx", "yy", "zz", "xy", "xz", "yz")
    values = _numbers(whole) if whole is not None else [float(_text(body, f"inertia_{k}") or 0) for k in names]
    xx, yy, zz, xy, xz, yz = values
    I = change(np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))))
    new = I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    if whole is not None:
        _set(body, "inertia", new)
        return
    for k, value in zip(names, new, strict=True):
        _set(body, f"inertia_{k}", float(value))
