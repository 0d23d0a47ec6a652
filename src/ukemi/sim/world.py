"""World: several mechanisms in one forest that grows from the ground, their state, and the joints between them.

The structure may change at any moment [SV00 V]: `connect` adds a virtual link and solves the velocity jump, `cut` takes
a connection or a joint away. A failed change leaves everything as it was.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.chain.forward import minimal_forward_dynamics
from ukemi.chain.freedoms import actuated_freedoms
from ukemi.chain.inverse import Solution, Task, closed_inverse_dynamics, solve_mixture
from ukemi.chain.mobility import Mobility, find_mobility
from ukemi.chain.virtual import Directions, Spring, VirtualLink, closed_chain
from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.inverse import inverse_dynamics as tree_inverse_dynamics
from ukemi.dynamics.kinematics import jacobian, link_poses
from ukemi.dynamics.momentum import energy
from ukemi.dynamics.wrenches import Wrenches, on_links
from ukemi.errors import InvalidInputError, ModelError, SingularError, UkemiWarning, UnknownNameError
from ukemi.model.arrays import Array, numbers
from ukemi.model.description import WORLD, Description, LinkDescription
from ukemi.model.joints import Free, Joint
from ukemi.model.model import Link, Model
from ukemi.model.pose import Pose
from ukemi.sim.connection import BreakForce, Connection, JointHandle, LinkHandle, checked_break_force
from ukemi.sim.figure import Figure
from ukemi.sim.touching import Touching

#: Frames that are to meet may be this far apart [m, rad]; more wants snap=True.
MEETING = 1e-6


class World(Touching):
    """Holds the structure and the state; gravity (3,) in world axes [m/s^2]."""

    def __init__(self, gravity: ArrayLike = (0, 0, -9.81)) -> None:
        super().__init__()
        self._gravity = numbers("World.gravity", gravity, (3,))
        self.time = 0.0
        self.figures: dict[str, Figure] = {}
        self.connections: list[Connection] = []
        self.model = Model(Description("world"))
        self.q: Array = np.zeros(0)
        self.v: Array = np.zeros(0)
        #: torques (nv) that act now; connection wrenches are those under them
        self.tau: Array = np.zeros(0)
        #: counts changes of structure
        self.version = 0
        self.rules: list[Rule] = []
        #: what happened, in order of time: {"time", "what"}
        self.events: list[dict[str, Any]] = []
        self._held: list[Connection] | None = None
        self._closed: _core.ClosedChain | None = None

    @property
    def gravity(self) -> Array:
        """(3,) in world axes [m/s^2]; may be set."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._gravity = numbers("World.gravity", value, (3,))
        self.version += 1

    # --- what is in the world ---------------------------------------------------------------------------------------

    @property
    def ground(self) -> LinkHandle:
        """The ground, a link like any other."""
        return LinkHandle(self, None)

    def add(
        self, model: Model, name: str | None = None, q: ArrayLike | None = None, v: ArrayLike | None = None
    ) -> Figure:
        """Puts a mechanism into the world, at rest in its zero pose unless q and v say otherwise.

        Its links are called ``name/link`` in `World.model`. Loop closures of its file become connections.
        """
        if not isinstance(model, Model):
            raise InvalidInputError(f"World.add: expected a Model, got {model!r}")
        name = model.name if name is None else name
        if not isinstance(name, str) or not name or "/" in name:
            raise InvalidInputError(f"World.add: expected a name without '/', got {name!r}")
        if name in self.figures:
            raise ModelError(f"World.add: the name {name!r} is taken")
        start = model.neutral() if q is None else numbers("q", q, (model.nq,))
        speed = np.zeros(model.nv) if v is None else numbers("v", v, (model.nv,))
        energy(model, start, speed)  # lets the core refuse bad quaternions before anything changes
        if model.couplings:
            followers = ", ".join(coupling.joint for coupling in model.couplings[:6])
            warnings.warn(
                f"{name}: joints that follow others ({followers}) move on their own", UkemiWarning, stacklevel=2
            )
        before = self._snapshot()
        figure = Figure(self, name, model)
        forest = _description(self.model)
        forest.links += [_renamed(link, name) for link in _description(model).links]
        self._restructure(Model(forest), np.concatenate([self.q, start]), np.concatenate([self.v, speed]))
        self.figures[name] = figure
        try:
            if model.loops:
                with nullcontext() if self._held is not None else self.at_once():
                    for loop in model.loops:
                        a, b = (LinkHandle(self, None if end == WORLD else f"{name}/{end}") for end in (loop.a, loop.b))
                        ends = a.at(loop.at_a), b.at(loop.at_b)
                        self.connect(*ends, loop.joint, at="frames", name=f"{name}/{loop.name}", snap=True)
        except BaseException:
            self._restore(before)
            raise
        return figure

    def figure(self, name: str) -> Figure:
        try:
            return self.figures[name]
        except (KeyError, TypeError):
            raise UnknownNameError("figure", name, self.figures) from None

    def set_state(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Sets the whole state, checked; loops are closed by the least change."""
        new_q = self.q if q is None else numbers("q", q, (self.model.nq,))
        new_v = self.v if v is None else numbers("v", v, (self.model.nv,))
        energy(self.model, new_q, new_v)
        if self.connections:
            new_q, new_v, left = self.closed.project(new_q, new_v)
            if left > 1e-9:
                raise SingularError(f"set_state: the loops cannot close: {left:.3g} m (or rad) are left")
        self.q, self.v = np.array(new_q), np.array(new_v)

    def link_pose(self, name: str) -> Array:
        """X_WL (4, 4) of a link, by its name in `World.model`."""
        pose: Array = link_poses(self.model, self.q)[self.model.link_index(name)]
        return pose

    def energy(self) -> float:
        """Kinetic and potential energy of everything, springs of connections included [J]."""
        own = float(energy(self.model, self.q, self.v, self.gravity))
        return own + (self.closed.wrenches(self.q, self.v, np.zeros(self.closed.rows))[0] if self.connections else 0.0)

    # --- connecting and cutting -------------------------------------------------------------------------------------

    def connect(
        self,
        a: LinkHandle,
        b: LinkHandle,
        joint: Joint | Directions,
        at: Pose | str | None = None,
        break_force: BreakForce | None = None,
        *,
        name: str | None = None,
        restitution: ArrayLike = 0.0,
        snap: bool = False,
        when: Callable[[World], float] | None = None,
    ) -> Connection:
        """Joins two links by a joint, now or when a condition becomes true; velocities jump so that they fit.

        at: where the joint stands: None at frame a (at frame b if a is the bare ground), holding the other link as it
            is; a Pose in the world; or ``"frames"``: frame a and frame b are the joint's two frames and must meet (all
            but the joint's own freedoms) within 1e-6, or ``snap=True`` moves the figures by the least that makes them.
        break_force: cuts the connection when its force exceeds this [N], or (force, moment), or when a function of the
            connection becomes positive.
        restitution: share of the relative velocity that comes back in the fixed directions, one or one per direction.
            Links that rebound do not stay together: with any restitution the impulse acts and the connection ends.
        when: a function of the world; the connection is made when it becomes positive (true).
        """
        connection = self._new_connection(a, b, joint, name)
        connection.break_force = checked_break_force(connection.name, break_force)
        e = numbers(f"restitution of {connection.name!r}", restitution)
        if not ((e >= 0) & (e <= 1)).all():
            raise InvalidInputError(
                f"restitution of {connection.name!r}: expected numbers from 0 to 1, got {e.tolist()}"
            )
        connection.restitution = e
        if when is not None:
            _require_callable("when", when)
            make = partial(World._make, new=[connection], at=at, snap=snap)
            self.rules.append(Rule(when, make, f"connect {connection.name}", connection.name))
            return connection
        self._make([connection], at, snap)
        return connection

    def spring(
        self,
        a: LinkHandle,
        b: LinkHandle,
        stiffness: float,
        damping: float = 0.0,
        length: float | None = None,
        *,
        name: str | None = None,
    ) -> Connection:
        """A spring and damper along the line between the origins of two frames, slack at ``length`` (now, if None)."""
        connection = self._new_connection(a, b, Free(), name)
        distance = float(np.linalg.norm(b.X_W[:3, 3] - a.X_W[:3, 3]))
        connection.axial = Spring(stiffness, damping)
        connection.length = distance if length is None else float(numbers("length", length, ()))
        before = self._snapshot()
        try:
            self._activate([connection])
            _ = self.closed  # refuses two links that are one body
        except BaseException:
            self._restore(before)
            connection.active = False
            raise
        return connection

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Connections made inside are made at the same instant, with one velocity jump for all."""
        if self._held is not None:
            raise InvalidInputError("World.at_once: already collecting connections")
        self._held = []
        before = self._snapshot()
        try:
            yield
            held, self._held = self._held, None
            self._jump(held)
        except BaseException:
            for connection in self._held or []:
                connection.active = False
            self._held = None
            self._restore(before)
            raise

    def cut(self, what: Connection | JointHandle, when: Callable[[World], float] | None = None) -> None:
        """Takes a connection or a joint away, now or when a condition becomes true; velocities go on as they are.

        A link whose own joint is cut continues on a free joint with its pose and velocity [SV00 V-B].
        """
        if not isinstance(what, JointHandle | Connection):
            raise InvalidInputError(f"cut: expected a connection or a joint, got {what!r}")
        if what.world is not self:
            raise InvalidInputError(f"cut: {what.name!r} belongs to another world")
        if when is not None:
            _require_callable("when", when)
            self.rules.append(Rule(when, lambda world: world.cut(what), f"cut {what.name}"))
        elif isinstance(what, JointHandle):
            self._free(what)
        else:
            if not what.active:
                raise InvalidInputError(f"cut: {what!r} is not connected in this world")
            self._drop([what])

    def _new_connection(self, a: LinkHandle, b: LinkHandle, joint: Joint | Directions, name: str | None) -> Connection:
        for end in (a, b):
            if not isinstance(end, LinkHandle) or end.world is not self:
                raise InvalidInputError(f"connect: expected links of this world such as man['left_hand'], got {end!r}")
        if not isinstance(joint, Joint | Directions):
            raise InvalidInputError(f"connect: expected a joint or Directions, got {joint!r}")
        if a.name == b.name:
            raise InvalidInputError(f"connect: {a!r} cannot be connected to itself")
        taken = {c.name for c in self.connections} | {rule.makes for rule in self.rules}
        if name is not None and not isinstance(name, str):
            raise InvalidInputError(f"connect: expected a name, got {name!r}")
        if name is None:
            stem = f"{a.name or 'ground'}-{b.name or 'ground'}"
            name = next(n for n in chain([stem], (f"{stem}-{k}" for k in count(2))) if n not in taken)
        elif name in taken:
            raise ModelError(f"connect: the name {name!r} is taken")
        return Connection(self, name, a, b, joint)

    def _make(self, new: list[Connection], at: Pose | str | None, snap: bool) -> None:
        before = self._snapshot()
        try:
            for connection in new:
                self._place(connection, at)
            self._activate(new)
            if snap:
                self._snap(new)
            if self._held is not None:
                self._held += new
            else:
                self._jump(new)
        except BaseException:
            self._restore(before)
            for connection in new:
                connection.active = False
            raise

    def _place(self, connection: Connection, at: Pose | str | None) -> None:
        """Puts the joint's two frames where ``at`` says."""
        if isinstance(at, str) and at == "frames":
            return
        if at is not None and not isinstance(at, Pose):
            raise InvalidInputError(f"at: expected None, a Pose in the world, or 'frames', got {at!r}")
        poses = link_poses(self.model, self.q)

        def link_pose(handle: LinkHandle) -> Pose | None:
            if handle.name is None:
                return None
            X = poses[self.model.link_index(handle.name)]
            return Pose.from_rotation(X[:3, :3], X[:3, 3])

        if at is None:
            here = connection.b if connection.a.name is None and connection.a.pose.is_identity else connection.a
            link = link_pose(here)
            at = here.pose if link is None else link @ here.pose
        for end in ("a", "b"):
            handle = getattr(connection, end)
            link = link_pose(handle)
            setattr(connection, end, LinkHandle(self, handle.name, at if link is None else link.inverse() @ at))

    def _activate(self, new: list[Connection]) -> None:
        for connection in new:
            connection.active = True
        self.connections = [*self.connections, *new]
        self._changed()

    def _snap(self, new: list[Connection]) -> None:
        self.q, _, left = self.closed.project(self.q, self.v)
        if left > 1e-9:
            names = ", ".join(connection.name for connection in new)
            raise SingularError(f"connect: the loop of {names} cannot close: {left:.3g} m (or rad) are left")

    def _jump(self, new: list[Connection]) -> None:
        """Velocity jump at a connection ([SV00] eq. 25-38, [CC00] eq. 13-19), all rows in one solve."""
        restitution = np.zeros(self.closed.rows)
        rebounding = [c for c in new if np.any(c.restitution)]
        for connection in rebounding:
            rows = self._rows(connection)
            e = numbers(f"restitution of {connection.name!r}", connection.restitution, (), (rows.stop - rows.start,))
            restitution[rows] = e
        v, gap, lost, acting = self.closed.jump(self.q, self.v, restitution)
        if gap > MEETING:
            worst = max(new, key=self.connection_gap)
            apart = f"{self.connection_gap(worst):.3g} m (or rad) apart"
            raise InvalidInputError(
                f"connect: the frames of {worst.name!r} are {apart}; bring them together, or snap=True"
            )
        self.v = v
        for connection in new:
            connection.impulse = acting[self.connections.index(connection)]
            connection.energy_lost = lost
        if rebounding:
            self._drop(rebounding)

    def _drop(self, gone: list[Connection]) -> None:
        for connection in gone:
            connection.active = False
        self.connections = [c for c in self.connections if c not in gone]
        if self._held is not None:
            self._held = [c for c in self._held if c not in gone]
        self._changed()

    def _free(self, handle: JointHandle) -> None:
        """Puts a link on a free joint at its present pose and velocity."""
        link = self.model.link(handle.link)
        if link.parent is None and isinstance(link.joint, Free):
            raise InvalidInputError(f"cut: {handle.link!r} is free already")
        if not _subtree_mass(link):
            raise InvalidInputError(f"cut: {handle.link!r} has no mass and cannot fly on its own")
        X = self.link_pose(handle.link)
        twist = jacobian(self.model, self.q, handle.link) @ self.v
        forest = _description(self.model)
        q = {l.name: self.q[l.q] for l in self.model.links} | {
            link.name: np.concatenate([X[:3, 3], Pose.from_matrix(X).quaternion])
        }
        v = {l.name: self.v[l.v] for l in self.model.links} | {
            link.name: np.concatenate([X[:3, :3].T @ twist[:3], X[:3, :3].T @ twist[3:]])
        }
        forest.links = [
            replace(l, parent=WORLD, joint=Free(), at=Pose()) if l.name == link.name else l for l in forest.links
        ]
        model = Model(forest)
        order = model.link_names
        self._restructure(model, np.concatenate([q[n] for n in order]), np.concatenate([v[n] for n in order]))

    # --- the present structure --------------------------------------------------------------------------------------

    @property
    def closed(self) -> _core.ClosedChain:
        """The core's view of the present structure."""
        if self._closed is None:
            self._closed = closed_chain(self.model, self._virtual())
        return self._closed

    def _virtual(self) -> list[VirtualLink]:
        def index(handle: LinkHandle) -> int:
            return -1 if handle.name is None else self.model.link_index(handle.name)

        return [
            VirtualLink(index(c.a), index(c.b), c.a.pose, c.b.pose, c.joint, c.axial, c.length)
            for c in self.connections
        ]

    def _rows(self, connection: Connection) -> slice:
        counts = [link.rows for link in self._virtual()]
        k = self.connections.index(connection)
        return slice(sum(counts[:k]), sum(counts[: k + 1]))

    def _changed(self) -> None:
        self.version += 1
        self._closed = None

    def _restructure(self, model: Model, q: Array, v: Array) -> None:
        self.model, self.q, self.v = model, q, v
        self.tau = np.zeros(model.nv)
        self._changed()

    def _snapshot(self) -> tuple[Any, ...]:
        return (self.model, self.q, self.v, self.tau, list(self.connections), dict(self.figures))

    def _restore(self, snapshot: tuple[Any, ...]) -> None:
        self.model, self.q, self.v, self.tau, self.connections, self.figures = snapshot
        self._changed()

    def connection_wrenches(self) -> Array:
        """(connections, 6): see `Connection.wrench`."""
        _, forces = self.closed.dynamics(self.q, self.v, self.tau, None, self.gravity)
        return self.closed.wrenches(self.q, self.v, self.closed.least_norm(forces))[1]

    def connection_gap(self, connection: Connection) -> float:
        """See `Connection.gap`."""
        error, _ = self.closed.state(self.q, self.v)
        return float(np.abs(error[self._rows(connection)]).max(initial=0.0))

    # --- dynamics of the present structure --------------------------------------------------------------------------

    def mobility(
        self,
        independent: Sequence[str | int | JointHandle] | None = None,
        actuated: Sequence[str | int | JointHandle] | None = None,
    ) -> Mobility:
        """What the structure can do now [SV00 II]; coordinates are chosen automatically unless given."""
        return find_mobility(
            self.model,
            self._virtual(),
            [c.name for c in self.connections],
            self.q,
            self.v,
            _joint_names(independent),
            _joint_names(actuated),
        )

    def forward_dynamics(
        self, tau: ArrayLike | None = None, external: Wrenches | None = None, *, formulation: str = "forces"
    ) -> Array:
        """Accelerations (nv) of the present structure under joint torques.

        formulation: "forces", by constraint forces [CC00 eq. 20], in the core; or "minimal", in the generalized
        coordinates of `mobility` [SV00 III-B].
        """
        torques = np.zeros(self.model.nv) if tau is None else tau
        if external is not None:
            external = on_links(self.model, external)
        if formulation == "forces":
            closed = self._closed or self.closed
            return closed.dynamics(self.q, self.v, torques, external, self._gravity)[0]
        if formulation != "minimal":
            raise InvalidInputError(f"formulation: expected 'forces' or 'minimal', got {formulation!r}")
        given = numbers("tau", torques, (self.model.nv,))
        required = self._required(np.zeros(self.model.nv), external)
        return minimal_forward_dynamics(self.mobility(), mass_matrix(self.model, self.q), required, given)

    def _required(self, a: Array, external: ArrayLike | None = None) -> Array:
        """M a + b of the tree, less what springs and dampers of connections give."""
        required = tree_inverse_dynamics(self.model, self.q, self.v, a, external, self.gravity)
        return required - self.closed.spring_torques(self.q, self.v)

    def inverse_dynamics(
        self,
        a: ArrayLike,
        actuated: Sequence[str | int | JointHandle] | None = None,
        *,
        torque_weights: ArrayLike = 1.0,
        force_weight: float = 0.0,
    ) -> Array:
        """Torques (nv; zero where not actuated) that give accelerations a which the loops allow [SV00 III-A].

        With more actuators than freedoms the weighted sum of squares of torques, and of constraint forces if
        ``force_weight`` is positive, is least.
        """
        wanted = numbers("a", a, (self.model.nv,))
        H_C, rate = self.closed.jacobian(self.q, self.v)
        open_ = np.abs(H_C @ wanted + rate).max(initial=0.0)
        if open_ > 1e-6 * (1 + np.abs(wanted).max(initial=0.0)):
            raise InvalidInputError(
                f"a: the loops do not allow these accelerations (they would open with {open_:.3g} m/s^2)"
            )
        required = self._required(wanted)
        drives = actuated_freedoms(self.model, _joint_names(actuated))
        return closed_inverse_dynamics(required, H_C, drives, torque_weights, force_weight)[0]

    def solve(
        self,
        *,
        accelerations: Mapping[Any, float] | None = None,
        tasks: Sequence[Task] = (),
        torques: Mapping[Any, float] | None = None,
        actuated: Sequence[str | int | JointHandle] | None = None,
    ) -> Solution:
        """Some accelerations, tasks and torques given: the rest, with the constraint forces [CC00 eq. 11, 22-23]."""
        H_C, rate = self.closed.jacobian(self.q, self.v)
        return solve_mixture(
            self.model,
            self.q,
            self.v,
            mass_matrix(self.model, self.q),
            self._required(np.zeros(self.model.nv)),
            H_C,
            rate,
            accelerations=accelerations or {},
            tasks=tasks,
            torques=torques or {},
            actuated=_joint_names(actuated),
        )


@dataclass(eq=False)
class Rule:
    """Something that happens once, when a function of the world becomes positive (or true)."""

    condition: Callable[[World], float]
    action: Callable[[World], object]
    label: str
    #: name of the connection it will make, if any
    makes: str = ""


def _joint_names(items: Sequence[str | int | JointHandle] | None) -> list[str | int] | None:
    return None if items is None else [item.name if isinstance(item, JointHandle) else item for item in items]


def _require_callable(name: str, value: object) -> None:
    if not callable(value):
        raise InvalidInputError(f"{name}: expected a function of the world, got {value!r}")


def _subtree_mass(link: Link) -> float:
    return link.mass_properties.mass + sum(_subtree_mass(child) for child in link.children)


def _description(model: Model) -> Description:
    """The model's links as a description again."""
    return Description(
        model.name,
        [
            LinkDescription(
                link.name,
                WORLD if link.parent is None else link.parent.name,
                link.joint,
                link.joint_name,
                link.at,
                link.mass_properties,
                link.shapes,
            )
            for link in model.links
        ],
    )


def _renamed(link: LinkDescription, figure: str) -> LinkDescription:
    parent = WORLD if link.parent == WORLD else f"{figure}/{link.parent}"
    return replace(link, name=f"{figure}/{link.name}", parent=parent, joint_name=f"{figure}/{link.joint_name}")
