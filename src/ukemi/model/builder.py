"""Builder: mechanisms by hand, link by link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError, ModelError
from ukemi.model.across import Coordinate, JointLimit, JointSpring
from ukemi.model.arrays import frozen, numbers, positive
from ukemi.model.description import WORLD, Coupling, Description, Landmark, LinkDescription, LoopClosure
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Fixed, Joint
from ukemi.model.kinds import items_of, of_kind
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.model.shapes import Shape


class Builder:
    """Collects links in any order and builds a frozen Model.

    >>> b = Builder("pendulum")
    >>> b.link("rod", joint=Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0.001))
    >>> model = b.build()
    """

    def __init__(self, name: str = "model") -> None:
        self.description = Description(name)

    def link(
        self,
        name: str,
        parent: str = WORLD,
        joint: Joint | None = None,
        at: Pose | None = None,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        density: float | None = None,
        shapes: Iterable[Shape] = (),
        joint_name: str | None = None,
    ) -> Builder:
        """Adds a link.

        joint: how it moves relative to the parent (default: Fixed); ``at``: pose of the joint in the parent link.
        Mass properties: ``mass`` [kg] with ``com`` [m] and ``inertia`` (about the centre of mass, in link axes: 3x3 or
        its diagonal) [kg m^2]; or ``density`` [kg/m^3] of the shapes; or ``mass`` and shapes alone, as a solid of even
        density. None of them: a massless frame.

        Raises:
            ModelError: a name used twice, or properties that no body can have.
            InvalidInputError: arguments of the wrong kind.
        """
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"link: expected a name, got {name!r}")
        if name == WORLD:
            raise ModelError(f"link: the name {WORLD!r} is the ground's")
        if any(link.name == name for link in self.description.links):
            raise ModelError(f"link {name!r}: the name is taken")
        joint = Fixed() if joint is None else joint
        if not isinstance(joint, Joint):
            raise InvalidInputError(f"link {name!r}: expected a joint such as Revolute((0, 0, 1)), got {joint!r}")
        at = Pose() if at is None else at
        if not isinstance(at, Pose):
            raise InvalidInputError(f"link {name!r}: at: expected a Pose, got {at!r}")
        of_kind(f"link {name!r}: parent", parent, str, "the name of a link")
        of_kind(f"link {name!r}: joint_name", "" if joint_name is None else joint_name, str, "a name")
        shapes = items_of(f"link {name!r}: shapes", shapes, "shapes such as Box((1, 1, 1))")
        for shape in shapes:
            if not isinstance(shape, Shape):
                raise InvalidInputError(f"link {name!r}: expected shapes such as Box((1, 1, 1)), got {shape!r}")
        try:
            properties = _mass_properties(mass, com, inertia, density, shapes)
        except (ModelError, InvalidInputError) as error:
            raise type(error)(f"link {name!r}: {error}") from None
        self.description.links.append(LinkDescription(name, parent, joint, joint_name or name, at, properties, shapes))
        return self

    def landmark(self, name: str, link: str, at: Pose | None = None) -> Builder:
        """Names a frame on a link, such as a sole."""
        for word in (name, link):
            of_kind("landmark", word, str, "names")
        if name in self.description.landmarks:
            raise ModelError(f"landmark {name!r}: the name is taken")
        if at is not None and not isinstance(at, Pose):
            raise InvalidInputError(f"landmark {name!r}: at: expected a Pose, got {at!r}")
        self.description.landmarks[name] = Landmark(link, Pose() if at is None else at)
        return self

    def loop(self, name: str, a: str, b: str, joint: Joint, at_a: Pose, at_b: Pose) -> Builder:
        """Notes that links a and b are joined across branches; it becomes a virtual link in a World."""
        for word in (name, a, b):
            of_kind("loop", word, str, "names")
        for value, kind in ((joint, Joint), (at_a, Pose), (at_b, Pose)):
            if not isinstance(value, kind):
                raise InvalidInputError(f"loop {name!r}: expected a {kind.__name__}, got {value!r}")
        self.description.loops.append(LoopClosure(name, a, b, joint, at_a, at_b))
        return self

    def couple(self, joint: str, master: str, multiplier: float = 1.0, offset: float = 0.0) -> Builder:
        """Notes that one joint follows another: q[joint] = multiplier q[master] + offset; a tie in a World."""
        ratio, shift = (float(numbers(f"couple {joint!r}", x, ())) for x in (multiplier, offset))
        self.description.couplings.append(Coupling(joint, master, ratio, shift))
        return self

    def spring(
        self,
        coordinates: Sequence[Coordinate],
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        rest: ArrayLike | None = None,
    ) -> Builder:
        """A spring and damper across joints: tau = -K (q - rest) - B v with symmetric n x n matrices.

        coordinates: n joints by name (their first coordinate), or (name, number); angles and distances only.
        """
        self.description.springs.append(JointSpring.of(coordinates, stiffness, damping, rest))
        return self

    def limit(self, terms: Mapping[Coordinate, ArrayLike], at_most: float, *, restitution: float = 0.0) -> Builder:
        """A limit that depends on several coordinates: the sum of factor times coordinate is at most ``at_most``.

        terms: {joint or (joint, number): factor, or up to four coefficients of x, x^2, x^3, x^4}. A knuckle whose
        abduction narrows with flexion is ``limit({("mcp", 0): 1, ("mcp", 1): 0.15}, 0.3)`` and its mirror image.
        """
        self.description.limits.append(JointLimit.of(terms, at_most, restitution))
        return self

    def build(self) -> Model:
        """The frozen model, numbered depth-first.

        Raises:
            UnknownNameError: a parent, or the link of a landmark or loop, that does not exist.
            ModelError: links that form a cycle, or joint names used twice.
        """
        return Model(self.description)


def _mass_properties(
    mass: float | None,
    com: ArrayLike | None,
    inertia: ArrayLike | None,
    density: float | None,
    shapes: tuple[Shape, ...],
) -> MassProperties:
    if density is not None:
        if mass is not None or com is not None or inertia is not None:
            raise InvalidInputError("give either density, or mass with com and inertia")
        if not shapes:
            raise InvalidInputError("density needs shapes")
        return sum((shape.mass_properties(density) for shape in shapes), MassProperties.none())
    if mass is None:
        if com is not None or inertia is not None:
            raise InvalidInputError("com or inertia without mass")
        return MassProperties.none()
    if inertia is None and com is None and shapes and mass != 0:
        solid = sum((shape.mass_properties(1.0) for shape in shapes), MassProperties.none())
        even = positive("mass", mass) / solid.mass if mass > 0 else mass
        return MassProperties(float(mass), solid.com, frozen(even * solid.inertia)).checked()
    return MassProperties.of(mass, (0, 0, 0) if com is None else com, (0, 0, 0) if inertia is None else inertia)
