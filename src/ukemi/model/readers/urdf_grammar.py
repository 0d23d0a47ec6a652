"""Which elements and attributes a URDF may hold, and a warning for each kind that nobody knows."""

from __future__ import annotations

from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.xmltree import Element

#: Known, and without meaning for dynamics: not looked into.
IGNORED = frozenset(
    {"visual", "material", "transmission", "gazebo", "sensor", "ros2_control", "safety_controller", "calibration"}
)

#: Attributes and children of every element that is read.
GRAMMAR: dict[str, tuple[set[str], set[str]]] = {
    "robot": ({"name", "version"}, {"link", "joint"}),
    "link": ({"name"}, {"inertial", "collision"}),
    "inertial": (set(), {"origin", "mass", "inertia"}),
    "mass": ({"value"}, set()),
    "inertia": ({"ixx", "ixy", "ixz", "iyy", "iyz", "izz"}, set()),
    "collision": ({"name"}, {"origin", "geometry"}),
    "geometry": (set(), {"box", "sphere", "cylinder", "capsule", "mesh"}),
    "box": ({"size"}, set()),
    "sphere": ({"radius"}, set()),
    "cylinder": ({"radius", "length"}, set()),
    "capsule": ({"radius", "length"}, set()),
    "mesh": ({"filename", "scale"}, set()),
    "joint": ({"name", "type"}, {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}),
    "origin": ({"xyz", "rpy"}, set()),
    "parent": ({"link"}, set()),
    "child": ({"link"}, set()),
    "axis": ({"xyz"}, set()),
    "limit": ({"lower", "upper", "effort", "velocity"}, set()),
    "dynamics": ({"damping", "friction"}, set()),
    "mimic": ({"joint", "multiplier", "offset"}, set()),
}


def warn_unknown(element: Element, diagnostics: Diagnostics) -> None:
    """Warns about what the grammar does not hold, below a known element."""
    attributes, children = GRAMMAR[element.tag]
    for attribute in element.attributes:
        if attribute not in attributes and not attribute.startswith("xmlns"):
            diagnostics.warn(f"unknown attribute {attribute!r} of <{element.tag}> is ignored", element)
    for child in element.children:
        if child.tag in children:
            warn_unknown(child, diagnostics)
        elif child.tag not in IGNORED:
            diagnostics.warn(f"unknown element <{child.tag}> in <{element.tag}> is ignored", child)
