"""Handles that users hold: links of a world, and the connections between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ukemi.chain.virtual import Directions, Spring, VirtualLink
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.joints import Joint
from ukemi.model.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from ukemi.sim.world import World

#: A largest force [N], a largest (force, moment), or a function of the connection that is positive when it breaks.
BreakForce = float | tuple[float, float] | Callable[["Connection"], float]


@dataclass(frozen=True, eq=False)
class LinkHandle:
    """A link of a world, or a frame on it; ``handle.at(pose)`` moves the frame."""

    world: World
    #: name in World.model; None: the ground
    name: str | None
    pose: Pose = IDENTITY

    def at(self, pose: Pose) -> LinkHandle:
        """The frame at ``pose`` in this one."""
        return LinkHandle(self.world, self.name, self.pose @ pose)

    @property
    def X_W(self) -> Array:
        """Pose (4, 4) of the frame in the world now."""
        link = np.eye(4) if self.name is None else self.world.link_pose(self.name)
        return link @ self.pose.matrix

    def __repr__(self) -> str:
        return f"<{self.name or 'ground'}>"


@dataclass(frozen=True, eq=False)
class JointHandle:
    """A joint of a figure; `World.cut` takes it. ``handle[1]`` is its second coordinate, for `World.tie`."""

    world: World
    link: str
    freedom: int = 0

    def __getitem__(self, freedom: int) -> JointHandle:
        return JointHandle(self.world, self.link, freedom)

    @property
    def name(self) -> str:
        return self.world.model.link(self.link).joint_name


@dataclass(eq=False)
class Connection:
    """A joint made while the motion runs: link a is its parent, link b its real link.

    Attributes:
        active: False before it is made, and after it is cut.
        impulse: (6) that made the velocities fit when it was connected, on link a, in a's coordinates at the
            connection [N s, N m s].
        energy_lost: of that velocity jump, shared with connections made at the same instant [J].
    """

    world: World
    name: str
    a: LinkHandle
    b: LinkHandle
    joint: Joint | Directions
    break_force: BreakForce | None = None
    axial: Spring | None = None
    length: float = 0.0
    restitution: ArrayLike = 0.0
    active: bool = False
    impulse: Array = field(default_factory=lambda: np.zeros(6))
    energy_lost: float = 0.0
    #: what the chain knows it as, in the present structure
    virtual: VirtualLink | None = None

    @property
    def wrench(self) -> Array:
        """Force and moment (6) on link a, in a's coordinates at the connection, under the last torques [N, N m]."""
        if not self.active:
            return np.zeros(6)
        wrench: Array = self.world.connection_wrenches()[self.world.connections.index(self)]
        return wrench

    @property
    def gap(self) -> float:
        """How far the fixed directions are from closed [m, rad]."""
        return self.world.connection_gap(self) if self.active else 0.0

    def overload(self) -> float:
        """Positive when the connection must break; its zero is where it breaks."""
        limit = self.break_force
        if limit is None:
            return -1.0
        if callable(limit):
            return float(limit(self))
        force, moment = limit if isinstance(limit, tuple) else (limit, np.inf)
        w = self.wrench
        return float(max(np.linalg.norm(w[:3]) / force, np.linalg.norm(w[3:]) / moment)) - 1.0

    def __repr__(self) -> str:
        kind = type(self.joint).__name__ if self.axial is None else "spring"
        return f"<connection {self.name!r}: {kind}, {self.a} to {self.b}{'' if self.active else ', cut'}>"


def checked_break_force(name: str, limit: object) -> BreakForce | None:
    """None, a function, a positive force, or a pair of positive force and moment."""
    if limit is None or callable(limit):
        return limit
    x = np.atleast_1d(np.asarray(limit, dtype=object))
    try:
        values = tuple(float(value) for value in x)
    except (TypeError, ValueError):
        values = ()
    if len(values) not in (1, 2) or not all(value > 0 for value in values):
        raise InvalidInputError(
            f"break_force of {name!r}: expected a positive force, (force, moment) or a function, got {limit!r}"
        )
    return values[0] if len(values) == 1 else (values[0], values[1])
