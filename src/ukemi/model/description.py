"""The neutral description of a mechanism: what readers and the builder make, and what is compiled into a Model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ukemi.model.across import JointLimit, JointSpring
from ukemi.model.arrays import Array
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Joint
from ukemi.model.pose import Pose
from ukemi.model.shapes import Shape

WORLD = "world"


@dataclass(frozen=True)
class LinkDescription:
    """A link, the joint above it, and where that joint stands in the parent link (at q = 0 the link's own frame)."""

    name: str
    parent: str
    joint: Joint
    joint_name: str
    at: Pose
    mass_properties: MassProperties
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class LoopClosure:
    """Two links joined across branches: at ``at_a`` on link a and ``at_b`` on link b, leaving ``joint`` free."""

    name: str
    a: str
    b: str
    joint: Joint
    at_a: Pose
    at_b: Pose


@dataclass(frozen=True)
class Coupling:
    """q[joint] = offset + multiplier q[master] + higher[0] q[master]^2 + ...: a mimic joint, or an equality of joints.

    ``higher``: up to three coefficients. Without a master the joint stays at the offset.
    """

    joint: str
    master: str | None
    multiplier: float
    offset: float
    higher: tuple[float, ...] = ()


class Function(Protocol):
    """A function of one coordinate, and its derivatives."""

    def __call__(self, x: Array, order: int = 0) -> Array: ...


@dataclass(frozen=True)
class Landmark:
    """A named frame on a link, such as a sole or a grip."""

    link: str
    at: Pose


@dataclass
class Description:
    """All links of a mechanism, in any order, and what ties them together besides the tree."""

    name: str
    links: list[LinkDescription] = field(default_factory=list)
    loops: list[LoopClosure] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    landmarks: dict[str, Landmark] = field(default_factory=dict)
    springs: list[JointSpring] = field(default_factory=list)
    limits: list[JointLimit] = field(default_factory=list)
    #: coordinates of joints with one freedom where the file has other defaults than zero
    defaults: dict[str, float] = field(default_factory=dict)
    #: {joint that follows: what its coupling's polynomial stands for}, where a file has another function
    functions: dict[str, Function] = field(default_factory=dict)
    #: joints that are the coordinates of an OpenSim file, from the ground outwards
    coordinates: list[str] = field(default_factory=list)
    #: that the file asks for [m/s^2], or nothing
    gravity: tuple[float, float, float] | None = None
