"""World: several mechanisms in one forest that grows from the ground, their state, and the joints between them.

The structure may change at any moment [SV00 V]: `connect` adds a virtual link and solves the velocity jump, `cut` takes
a connection or a joint away. A failed change leaves everything as it was.
"""

from __future__ import annotations

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
from ukemi.chain.ties import TieRow
from ukemi.chain.virtual import Directions, Spring, VirtualLink, closed_chain
from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.inverse import inverse_dynamics as tree_inverse_dynamics
from ukemi.dynamics.kinematics import jacobian, link_poses
from ukemi.dynamics.momentum import energy
from ukemi.dynamics.wrenches import Wrenches, on_links
from ukemi.errors import InvalidInputError, ModelError, SingularError, UnknownNameError
from ukemi.model.arrays import Array, numbers
from ukemi.model.description import WORLD, Coupling, Description, LinkDescription
from ukemi.model.joints import Free, Joint
from ukemi.model.model import Link, Model
from ukemi.model.pose import Pose
from ukemi.sim.connection import BreakForce, Connection, JointHandle, LinkHandle, checked_break_force
from ukemi.sim.figure import Figure
from ukemi.sim.limits import Stop
from ukemi.sim.tie import Tie, tie_terms

#: Frames that are to meet may be this far apart [m, rad]; more wants snap=True.
MEETING = 1e-6


class World:
    """Holds the structure and the state; gravity (3,) in world axes [m/s^2]."""

    def __init__(self, gravity: ArrayLike = (0, 0, -9.81)) -> None:
        self._gravity = numbers("World.gravity", gravity, (3,))
        self.time = 0.0
        self.figures: dict[str, Figure] = {}
        self.connections: list[Connection] = []
        #: constraints on joint coordinates that act now
        self.ties: list[Tie] = []
        #: joint limits that hold now; a simulation keeps them
        self.stops: list[Stop] = []
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
        self._held: list[Connection | Tie] | None = None
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

        Its links are called ``name/link`` in `World.model`. Loop closures of its file become connections, mimic joints
        and joint equalities become ties; the figure moves by the least that makes them fit.
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
        before = self._snapshot()
        figure = Figure(self, name, model)
        forest = _description(self.model)
        forest.links += [_renamed(link, name) for link in _description(model).links]
        forest.springs += [spring.renamed(f"{name}/") for spring in model.springs]
        forest.limits += [limit.renamed(f"{name}/") for limit in model.joint_limits]
        self._restructure(Model(forest), np.concatenate([self.q, start]), np.concatenate([self.v, speed]))
        self.figures[name] = figure
        try:
            if model.loops or model.couplings:
                with nullcontext() if self._held is not None else self.at_once():
                    for loop in model.loops:
                        a, b = (LinkHandle(self, None if end == WORLD else f"{name}/{end}") for end in (loop.a, loop.b))
                        ends = a.at(loop.at_a), b.at(loop.at_b)
                        self.connect(*ends, loop.joint, at="frames", name=f"{name}/{loop.name}", snap=True)
                    for coupling in model.couplings:
                        self._couple(figure, coupling)
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
        if self.stops:
            self.hold_limits([])
        energy(self.model, new_q, new_v)
        if self.is_closed:
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

    def tie(
        self,
        terms: Mapping[JointHandle, ArrayLike],
        value: float | None = None,
        *,
        name: str | None = None,
        restitution: float = 0.0,
        snap: bool = False,
    ) -> Tie:
        """A constraint on joint coordinates: sum of factor times coordinate = ``value`` (as it is now, if None).

        terms: {joint: factor}; ``joint[1]`` is a joint's second coordinate; a spherical joint's is the angle by which
            it is turned. Instead of a factor, up to four coefficients of x, x^2, x^3, x^4.
        snap: moves the figures by the least that makes the coordinates fit.
        restitution: share of the velocity that comes back; then the impulse acts and the tie ends.
        Two shafts geared 1:2 are ``tie({a: 2, b: 1}, 0)``.
        """
        found = tie_terms(self, terms)
        made = Tie(self, self._new_name(name, "-".join(term.link for term in found), "tie"), found, 0.0)
        made.restitution = float(numbers(f"restitution of {made.name!r}", restitution, ()))
        if not 0 <= made.restitution <= 1:
            raise InvalidInputError(f"restitution of {made.name!r}: expected a number from 0 to 1, got {restitution!r}")
        now = self._sum_of(made) if value is None else float(numbers("tie: value", value, ()))
        self.switch_on(made, now, snap=snap)
        return made

    def hold(
        self,
        joint: JointHandle,
        value: float | None = None,
        *,
        name: str | None = None,
        restitution: float = 0.0,
        snap: bool = False,
    ) -> Tie:
        """Holds one coordinate of a joint where it is (or at ``value``): a tie whose force is the reaction torque."""
        return self.tie({joint: 1.0}, value, name=name, restitution=restitution, snap=snap)

    def switch_on(self, tie: Tie, value: float | None = None, *, snap: bool = False) -> None:
        """See `Tie.on`."""
        if tie.active:
            raise InvalidInputError(f"{tie!r} acts already")
        before = tie.value
        tie.value = before if value is None else float(numbers("tie: value", value, ()))
        try:
            self._make([tie], None, snap)
        except BaseException:
            tie.value = before
            raise

    def _couple(self, figure: Figure, coupling: Coupling) -> None:
        terms: dict[JointHandle, ArrayLike] = {figure.joint(coupling.joint): 1.0}
        if coupling.master is not None:
            terms[figure.joint(coupling.master)] = -np.array([coupling.multiplier, *coupling.higher])
        name = f"{figure.name}/{coupling.joint}~{coupling.master or 'fixed'}"
        self.tie(terms, coupling.offset, name=name, snap=True)

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

    def cut(self, what: Connection | JointHandle | Tie, when: Callable[[World], float] | None = None) -> None:
        """Takes a connection, tie or joint away, now or when a condition becomes true; velocities go on as they are.

        A link whose own joint is cut continues on a free joint with its pose and velocity [SV00 V-B]; its ties end.
        """
        if not isinstance(what, JointHandle | Connection | Tie):
            raise InvalidInputError(f"cut: expected a connection, a tie or a joint, got {what!r}")
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

    def when(
        self, condition: Callable[[World], float], action: Callable[[World], object], label: str, *, once: bool = True
    ) -> None:
        """Calls action(world) where condition(world) becomes positive; the time is located within the step.

        With ``once=False`` again and again: the action must then make the condition negative, as an impact does that
        turns an approaching point back.
        """
        _require_callable("condition", condition)
        _require_callable("action", action)
        self.rules.append(Rule(condition, action, label, once=once))

    def _new_connection(self, a: LinkHandle, b: LinkHandle, joint: Joint | Directions, name: str | None) -> Connection:
        for end in (a, b):
            if not isinstance(end, LinkHandle) or end.world is not self:
                raise InvalidInputError(f"connect: expected links of this world such as man['left_hand'], got {end!r}")
        if not isinstance(joint, Joint | Directions):
            raise InvalidInputError(f"connect: expected a joint or Directions, got {joint!r}")
        if a.name == b.name:
            raise InvalidInputError(f"connect: {a!r} cannot be connected to itself")
        name = self._new_name(name, f"{a.name or 'ground'}-{b.name or 'ground'}", "connect")
        return Connection(self, name, a, b, joint)

    def _new_name(self, name: str | None, stem: str, what: str) -> str:
        """The given name, or one made from the stem, that nothing else has."""
        taken = {c.name for c in self.connections} | {t.name for t in self.ties} | {rule.makes for rule in self.rules}
        if name is None:
            return next(n for n in chain([stem], (f"{stem}-{k}" for k in count(2))) if n not in taken)
        if not isinstance(name, str):
            raise InvalidInputError(f"{what}: expected a name, got {name!r}")
        if name in taken:
            raise ModelError(f"{what}: the name {name!r} is taken")
        return name

    def _make(self, new: Sequence[Connection | Tie], at: Pose | str | None, snap: bool) -> None:
        before = self._snapshot()
        try:
            for item in new:
                if isinstance(item, Connection):
                    self._place(item, at)
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

    def _activate(self, new: Sequence[Connection | Tie]) -> None:
        for item in new:
            item.active = True
        self.connections = [*self.connections, *(c for c in new if isinstance(c, Connection))]
        self.ties = [*self.ties, *(t for t in new if isinstance(t, Tie))]
        self._changed()

    def _snap(self, new: Sequence[Connection | Tie]) -> None:
        self.q, _, left = self.closed.project(self.q, self.v)
        if left > 1e-9:
            names = ", ".join(connection.name for connection in new)
            raise SingularError(f"connect: the loop of {names} cannot close: {left:.3g} m (or rad) are left")

    def _jump(self, new: Sequence[Connection | Tie]) -> None:
        """Velocity jump at a connection ([SV00] eq. 25-38, [CC00] eq. 13-19), all rows in one solve."""
        restitution = np.zeros(self.closed.rows)
        rebounding = [c for c in new if np.any(c.restitution)]
        for item in rebounding:
            rows = self._rows(item)
            e = numbers(f"restitution of {item.name!r}", item.restitution, (), (rows.stop - rows.start,))
            restitution[rows] = e
        v, gap, lost, acting, impulses = self.closed.jump(self.q, self.v, restitution)
        if gap > MEETING:
            worst = max(new, key=self._gap)
            what = "frames" if isinstance(worst, Connection) else "coordinates"
            apart = f"{self._gap(worst):.3g} m (or rad) apart"
            raise InvalidInputError(
                f"connect: the {what} of {worst.name!r} are {apart}; bring them together, or snap=True"
            )
        self.v = v
        for item in new:
            if isinstance(item, Connection):
                item.impulse = acting[self.connections.index(item)]
            else:
                item.impulse = float(impulses[self._rows(item)][0])
            item.energy_lost = lost
        if rebounding:
            self._drop(rebounding)

    def _drop(self, gone: Sequence[Connection | Tie]) -> None:
        for item in gone:
            item.active = False
        self.connections = [c for c in self.connections if c not in gone]
        self.ties = [t for t in self.ties if t not in gone]
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
        forest.springs = [spring for spring in forest.springs if link.joint_name not in spring.joints()]
        forest.limits = [limit for limit in forest.limits if link.joint_name not in limit.joints()]
        self._drop([tie for tie in self.ties if any(term.link == link.name for term in tie.terms)])
        model = Model(forest)
        order = model.link_names
        self._restructure(model, np.concatenate([q[n] for n in order]), np.concatenate([v[n] for n in order]))

    # --- the present structure --------------------------------------------------------------------------------------

    @property
    def closed(self) -> _core.ClosedChain:
        """The core's view of the present structure."""
        if self._closed is None:
            self._closed = self.chain_without_stops([stop.limit.row for stop in self.stops])
        return self._closed

    def chain_without_stops(self, more: Sequence[TieRow] = ()) -> _core.ClosedChain:
        """The closed chain of connections and ties, and of more rows after them."""
        return closed_chain(self.model, self._virtual(), [*(tie.row(self.model) for tie in self.ties), *more])

    def hold_limits(self, stops: Sequence[Stop]) -> None:
        """Which joint limits hold from now on; velocities go on as they are."""
        self.stops = list(stops)
        self._changed()

    @property
    def is_closed(self) -> bool:
        """Whether anything besides the trees' own joints acts: connections or ties."""
        return bool(self.connections or self.ties or self.stops)

    def _virtual(self) -> list[VirtualLink]:
        def index(handle: LinkHandle) -> int:
            return -1 if handle.name is None else self.model.link_index(handle.name)

        return [
            VirtualLink(index(c.a), index(c.b), c.a.pose, c.b.pose, c.joint, c.axial, c.length)
            for c in self.connections
        ]

    def _rows(self, item: Connection | Tie) -> slice:
        """Where its rows stand among those of `closed`: connections first, then ties."""
        if isinstance(item, Tie):
            row = self.closed.rows - len(self.stops) - len(self.ties) + self.ties.index(item)
            return slice(row, row + 1)
        counts = [link.rows for link in self._virtual()]
        k = self.connections.index(item)
        return slice(sum(counts[:k]), sum(counts[: k + 1]))

    def _changed(self) -> None:
        self.version += 1
        self._closed = None

    def _restructure(self, model: Model, q: Array, v: Array) -> None:
        self.model, self.q, self.v = model, q, v
        self.tau = np.zeros(model.nv)
        self.stops = []
        self._changed()

    def _snapshot(self) -> tuple[Any, ...]:
        return (
            self.model,
            self.q,
            self.v,
            self.tau,
            list(self.connections),
            list(self.ties),
            list(self.stops),
            dict(self.figures),
        )

    def _restore(self, snapshot: tuple[Any, ...]) -> None:
        (self.model, self.q, self.v, self.tau, self.connections, self.ties, self.stops, self.figures) = snapshot
        self._changed()

    def _forces(self) -> Array:
        """Constraint forces along all rows under the last torques; the least, where they are not determined."""
        _, forces = self.closed.dynamics(self.q, self.v, self.tau, None, self.gravity)
        return self.closed.least_norm(forces)

    def connection_wrenches(self) -> Array:
        """(connections, 6): see `Connection.wrench`."""
        return self.closed.wrenches(self.q, self.v, self._forces())[1]

    def tie_force(self, tie: Tie) -> float:
        """See `Tie.force`."""
        return float(self._forces()[self._rows(tie)][0])

    def _gap(self, item: Connection | Tie) -> float:
        """See `Connection.gap` and `Tie.gap`."""
        error, _ = self.closed.state(self.q, self.v)
        return float(np.abs(error[self._rows(item)]).max(initial=0.0))

    connection_gap = tie_gap = _gap

    def _sum_of(self, tie: Tie) -> float:
        """What the terms of a tie add up to now, whether it acts or not."""
        alone = closed_chain(self.model, (), [tie.row(self.model)])
        return float(alone.state(self.q, self.v)[0][0]) + tie.value

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
            [tie.row(self.model) for tie in self.ties],
            [tie.name for tie in self.ties],
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
    """Something that happens, once or every time, when a function of the world becomes positive (or true)."""

    condition: Callable[[World], float]
    action: Callable[[World], object]
    label: str
    #: name of the connection it will make, if any
    makes: str = ""
    once: bool = True


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
        springs=list(model.springs),
        limits=list(model.joint_limits),
    )


def _renamed(link: LinkDescription, figure: str) -> LinkDescription:
    parent = WORLD if link.parent == WORLD else f"{figure}/{link.parent}"
    return replace(link, name=f"{figure}/{link.name}", parent=parent, joint_name=f"{figure}/{link.joint_name}")
