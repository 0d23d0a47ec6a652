"""URDF files.

Read: links with <inertial> and <collision>; joints of all types (and ``spherical``, an extension) with <origin>,
<axis>, <limit> (lower, upper, effort), <dynamics damping>, <mimic>. Without <inertial> a link is a massless frame.
A root link named ``world`` is the ground.
Ignored: visuals, materials, transmissions, Gazebo and ros2_control blocks, sensors, velocity limits.
Warned about: joint friction, meshes that are missing, elements and attributes that nobody knows.
"""

from __future__ import annotations

from ukemi.errors import InvalidInputError
from ukemi.model.description import WORLD, Description, LinkDescription
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Fixed, Joint
from ukemi.model.pose import Pose
from ukemi.model.readers.diagnostics import Diagnostics, located
from ukemi.model.readers.urdf_grammar import warn_unknown
from ukemi.model.readers.urdf_joints import read_couplings, read_joint
from ukemi.model.readers.urdf_shapes import collision_shape, origin
from ukemi.model.readers.urdf_tree import ends, named, root_of
from ukemi.model.readers.xmltree import Element
from ukemi.model.shapes import Shape

#: The joint between the world and the root link; Pinocchio gives it the same name.
ROOT_JOINT = "root_joint"


def read_urdf(robot: Element, diagnostics: Diagnostics, base: Joint | None = None) -> Description:
    """The mechanism of a <robot>, with ``base`` (default: Fixed) between the world and its root link.

    Raises:
        FileFormatError: with file and line, whatever is wrong with the file.
        InvalidInputError: a base for a robot that the file itself ties to the world.
    """
    warn_unknown(robot, diagnostics)
    description = Description(robot.attributes.get("name") or robot.path.stem)
    links, joints = named(robot, "link"), named(robot, "joint")
    root = root_of(robot, links, joints)
    if root == WORLD:
        _check_ground(links[root], base, diagnostics)
    else:
        name = ROOT_JOINT
        while name in joints:
            name += "_"
        body = _body(links[root], root, diagnostics)
        description.links.append(LinkDescription(root, WORLD, base or Fixed(), name, Pose(), *body))
    for name, element in joints.items():
        parent, child = ends(element, links)
        joint = read_joint(element, name, diagnostics)
        body = _body(links[child], child, diagnostics)
        description.links.append(LinkDescription(child, parent, joint, name, origin(element), *body))
    kinds = {link.joint_name: link.joint for link in description.links}
    description.couplings.extend(read_couplings(joints, kinds, diagnostics))
    return description


def _check_ground(link: Element, base: Joint | None, diagnostics: Diagnostics) -> None:
    """A root link named ``world`` is the ground, and may not weigh anything."""
    if base is not None:
        raise InvalidInputError(f"base: {link.path} already hangs on a link named {WORLD!r}; expected base=None")
    mass_properties, shapes = _body(link, WORLD, diagnostics)
    if mass_properties.mass > 0:
        raise link.error(f"link {WORLD!r} has a mass: the name is the ground's, expected another one")
    if shapes:
        diagnostics.warn("shapes of the ground are left out", link)


def _body(link: Element, name: str, diagnostics: Diagnostics) -> tuple[MassProperties, tuple[Shape, ...]]:
    shapes = [collision_shape(collision, name, diagnostics) for collision in link.all("collision")]
    return _mass_properties(link, name), tuple(shape for shape in shapes if shape is not None)


def _mass_properties(link: Element, name: str) -> MassProperties:
    inertial = link.one("inertial")
    if inertial is None:
        return MassProperties.none()
    mass, inertia = inertial.one("mass"), inertial.one("inertia")
    if mass is None or inertia is None:
        raise inertial.error(f"link {name!r}: <inertial> without <{'mass' if mass is None else 'inertia'}>")
    xx, xy, xz, yy, yz, zz = (inertia.number(f"i{axes}") for axes in ("xx", "xy", "xz", "yy", "yz", "zz"))
    with located(inertial, f"link {name!r}"):
        tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        return MassProperties.of(mass.number("value"), inertia=tensor).moved(origin(inertial))
