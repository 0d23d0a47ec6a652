"""Handles that users hold: links of a world, and the connections between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ukemi import _core
from ukemi.chain.virtual import Directions, Spring, VirtualLink, axial_joint, loop_joint
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, frozen
from ukemi.model.joints import Joint
from ukemi.model.model import Model
from ukemi.model.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from ukemi.sim.world import World

#: A largest force [N], a largest (force, moment), or a function of the connection that is positive when it breaks.
BreakForce = float | tuple[float, float] | Callable[["Connection"], float]
_NOTHING = frozen(np.zeros(6))


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

    def moved(self, frame: Array) -> LinkHandle:
        """The frame (4, 4) of the link itself."""
        return LinkHandle(self.world, self.name, Pose.from_rotation(frame[:3, :3], frame[:3, 3]))

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


class Connection:
    """A joint made while the motion runs: link a is its parent, link b its real link.

    Attributes:
        joint: which it is; ``axial`` instead is a spring along the line between the frames, slack at ``length``.
        active: False before it is made, and after it is cut.
        break_force: what it bears; None: anything.
        impulse: (6) that made the velocities fit when it was connected, on link a, in a's coordinates at the
            connection [N s, N m s].
        energy_lost: of that velocity jump, shared with connections made at the same instant [J].
    """

    def __init__(self, world: World, name: str, a: LinkHandle, b: LinkHandle, joint: Joint | Directions) -> None:
        self.world = world
        self.name = name
        self.joint = joint
        self.axial: Spring | None = None
        self.length = 0.0
        self.break_force: BreakForce | None = None
        #: one per fixed direction, or one for all; None: nothing comes back
        self.restitution: Array | None = None
        self.active = False
        self.impulse: Array = _NOTHING
        self.energy_lost = 0.0
        self._a, self._b = a, b
        #: as the core knows it; its two frames in a copy that has not been asked for it yet
        self._loop: _core.Loop | tuple[Array, Array] | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_loop": self._frames}

    @property
    def _frames(self) -> tuple[Array, Array] | None:
        """(4, 4) on link a and on link b, once it is placed."""
        if isinstance(self._loop, _core.Loop):
            return self._loop.frame_a, self._loop.frame_b
        return self._loop

    @property
    def a(self) -> LinkHandle:
        """Link a with the connection's frame on it."""
        return self._a if self._frames is None else self._a.moved(self._frames[0])

    @property
    def b(self) -> LinkHandle:
        """Link b with the connection's frame on it."""
        return self._b if self._frames is None else self._b.moved(self._frames[1])

    @property
    def wrench(self) -> Array:
        """Force and moment (6) on link a, in a's coordinates at the connection, under the last torques [N, N m].

        With contacts: the mean over the last step.
        """
        if not self.active:
            return _NOTHING
        wrench: Array = self.world.connection_wrenches()[self.world.connections.index(self)]
        return wrench

    @property
    def gap(self) -> float:
        """How far the fixed directions are from closed [m, rad]."""
        return self.world.gap(self) if self.active else 0.0

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

    # --- the connection in the present structure ---------------------------------------------------------------------

    def place(self, model: Model, q: Array, at: Pose | str | None) -> None:
        """Puts the joint's two frames where ``at`` says, see `World.connect`."""
        frames = [None if end.pose is IDENTITY else end.pose.matrix for end in (self._a, self._b)]
        if at is None:
            self._make(model, frames, q)
        elif isinstance(at, Pose):
            self._make(model, frames, q, at.matrix)
        elif isinstance(at, str) and at == "frames":
            self._make(model, frames)
        else:
            raise InvalidInputError(f"at: expected None, a Pose in the world, or 'frames', got {at!r}")

    def renumber(self, model: Model) -> None:
        """Finds its links again in a model that is numbered differently."""
        assert self._frames is not None
        self._make(model, self._frames)

    def _make(
        self, model: Model, frames: Sequence[Array | None], q: Array | None = None, at: Array | None = None
    ) -> None:
        joint = loop_joint(self.joint) if self.axial is None else axial_joint(self.axial, self.length)
        a, b = self._indices(model)
        self._loop = _core.Loop(model.tree, joint, a, frames[0], b, frames[1], q, at)

    def _indices(self, model: Model) -> tuple[int, int]:
        a, b = self._a.name, self._b.name
        return -1 if a is None else model.link_index(a), -1 if b is None else model.link_index(b)

    @property
    def loop(self) -> _core.Loop:
        """As the core knows it."""
        if not isinstance(self._loop, _core.Loop):
            self.renumber(self.world.model)
        assert isinstance(self._loop, _core.Loop)
        return self._loop

    def virtual(self, model: Model) -> VirtualLink:
        """As a virtual link of the present structure."""
        return VirtualLink(self.name, *self._indices(model), self.loop.frame_a, self.loop.frame_b, self.joint)

    def __repr__(self) -> str:
        kind = type(self.joint).__name__ if self.axial is None else "spring"
        return f"<connection {self.name!r}: {kind}, {self._a} to {self._b}{'' if self.active else ', cut'}>"


def checked_break_force(name: str, limit: object) -> BreakForce | None:
    """None, a function, a positive force, or a pair of positive force and moment."""
    if limit is None or callable(limit):
        return limit
    x = np.atleast_1d(np.asarray(limit, dtype=object))
    try:
        values = tuple(float(value) for value in x)
    except (TypeError, ValueError, OverflowError):
        values = ()
    if len(values) not in (1, 2) or not all(value > 0 for value in values):
        raise InvalidInputError(
            f"break_force of {name!r}: expected a positive force, (force, moment) or a function, got {limit!r:.100}"
        )
    return values[0] if len(values) == 1 else (values[0], values[1])
