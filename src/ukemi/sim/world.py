"""World: several mechanisms in one forest that grows from the ground, their state, and the joints between them.

The structure may change at any moment [SV00 V]: `connect` adds a virtual link and solves the velocity jump, `cut` takes
a connection or a joint away. A failed change leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.chain.virtual import Directions, Spring
from ukemi.dynamics.coupled import coupled_neutral
from ukemi.dynamics.momentum import energy
from ukemi.errors import InvalidInputError, ModelError, SingularError, UnknownNameError
from ukemi.model.arrays import Array, numbers
from ukemi.model.description import WORLD, Coupling
from ukemi.model.joints import Free, Joint
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.sim.changing import ChangingStructure
from ukemi.sim.connection import BreakForce, Connection, JointHandle, LinkHandle, checked_break_force
from ukemi.sim.figure import Figure
from ukemi.sim.forest import planted
from ukemi.sim.tie import Tie, tie_terms
from ukemi.sim.touching import Touching


class World(ChangingStructure, Touching):
    """Holds the structure and the state; gravity (3,) in world axes [m/s^2].

    allow_rigid: lets `connect` take the last freedom away; otherwise that is refused.
    """

    def __init__(self, gravity: ArrayLike = (0, 0, -9.81), *, allow_rigid: bool = False) -> None:
        ChangingStructure.__init__(self, gravity, allow_rigid)
        Touching.__init__(self)
        self.time = 0.0
        self.rules: list[Rule] = []
        #: what happened, in order of time: {"time", "what"}
        self.events: list[dict[str, Any]] = []

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles keep: what the core holds is made again where it is needed, stops by a simulation."""
        return {**self.__dict__, "_closed": None, "stops": [], "_stepped": None}

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
        and joint equalities become ties; the figure moves by the least that makes them fit. In the zero pose joints
        that follow others stand where these put them.
        """
        if not isinstance(model, Model):
            raise InvalidInputError(f"World.add: expected a Model, got {model!r}")
        name = model.name if name is None else name
        if not isinstance(name, str) or not name or "/" in name:
            raise InvalidInputError(f"World.add: expected a name without '/', got {name!r}")
        if name in self.figures:
            raise ModelError(f"World.add: the name {name!r} is taken")
        start = coupled_neutral(model) if q is None else numbers("q", q, (model.nq,))
        speed = np.zeros(model.nv) if v is None else numbers("v", v, (model.nv,))
        energy(model, start, speed)  # lets the core refuse bad quaternions before anything changes
        with self._all_or_nothing():
            figure = Figure(self, name, model)
            forest = planted(self.model, model, name)
            self._restructure(forest, np.concatenate([self.q, start]), np.concatenate([self.v, speed]))
            self.figures = {**self.figures, name: figure}
            if model.loops or model.couplings:
                with nullcontext() if self._held is not None else self.at_once():
                    for loop in model.loops:
                        a, b = (LinkHandle(self, None if end == WORLD else f"{name}/{end}") for end in (loop.a, loop.b))
                        ends = a.at(loop.at_a), b.at(loop.at_b)
                        self.connect(*ends, loop.joint, at="frames", name=f"{name}/{loop.name}", snap=True)
                    for coupling in model.couplings:
                        self._couple(figure, coupling)
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
        if q is not None and self.touches:
            self.version += 1  # a run goes on only if this is not deep inside something

    def _forces(self) -> Array:
        alone = super()._forces()
        return self.closed.least_norm(self.forces_beside_contacts()) if self.touches else alone

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

        Raises:
            SingularError: a loop that cannot close, or nothing could move any more (see ``World(allow_rigid=True)``).
        """
        connection = self._new_connection(a, b, joint, name)
        connection.break_force = checked_break_force(connection.name, break_force)
        connection.restitution = _checked_restitution(connection.name, restitution)
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
        if connection.length < 0:
            raise InvalidInputError(f"spring: expected no negative length, got {connection.length:g}")
        with self._all_or_nothing():
            connection.place(self.model, self.q, "frames")
            self._activate([connection])
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
        made.restitution = _checked_restitution(made.name, restitution)
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
        if not isinstance(joint, JointHandle):
            raise InvalidInputError(
                f"hold: expected a joint of this world such as man.joint('knee'), got {joint!r:.100}"
            )
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

    def _sum_of(self, tie: Tie) -> float:
        """What the terms of a tie that is not made yet add up to now."""
        tie.renumber(self.model)
        alone = _core.ClosedChain(self.model.tree, [], [tie.row])
        return float(alone.state(self.q, self.v)[0][0]) + tie.value

    def _couple(self, figure: Figure, coupling: Coupling) -> None:
        terms: dict[JointHandle, ArrayLike] = {figure.joint(coupling.joint): 1.0}
        if coupling.master is not None:
            terms[figure.joint(coupling.master)] = -np.array([coupling.multiplier, *coupling.higher])
        name = f"{figure.name}/{coupling.joint}~{coupling.master or 'fixed'}"
        self.tie(terms, coupling.offset, name=name, snap=True)

    def cut(self, what: Connection | JointHandle | Tie, when: Callable[[World], float] | None = None) -> None:
        """Takes a connection, tie or joint away, now or when a condition becomes true; velocities go on as they are.

        A link whose own joint is cut continues on a free joint with its pose and velocity [SV00 V-B]; its ties end.
        Links that overlap when their connection is cut pass through each other from then on (`set_surface` ends that).
        """
        if not isinstance(what, JointHandle | Connection | Tie):
            raise InvalidInputError(f"cut: expected a connection, a tie or a joint, got {what!r}")
        if what.world is not self:
            raise InvalidInputError(f"cut: {what.name!r} belongs to another world")
        if when is not None:
            _require_callable("when", when)
            self.rules.append(Rule(when, partial(World.cut, what=what), f"cut {what.name}"))
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
        taken = {item.name for items in (self.connections, self.ties) for item in items}
        taken.update(rule.makes for rule in self.rules)
        if name is None:
            if stem not in taken:
                return stem
            return next(n for n in (f"{stem}-{k}" for k in count(2)) if n not in taken)
        if not isinstance(name, str):
            raise InvalidInputError(f"{what}: expected a name, got {name!r}")
        if name in taken:
            raise ModelError(f"{what}: the name {name!r} is taken")
        return name


@dataclass(eq=False)
class Rule:
    """Something that happens, once or every time, when a function of the world becomes positive (or true)."""

    condition: Callable[[World], float]
    action: Callable[[World], object]
    label: str
    #: name of the connection it will make, if any
    makes: str = ""
    once: bool = True


def _require_callable(name: str, value: object) -> None:
    if not callable(value):
        raise InvalidInputError(f"{name}: expected a function of the world, got {value!r}")


def _checked_restitution(name: str, restitution: ArrayLike) -> Array | None:
    if isinstance(restitution, float | int) and restitution == 0:
        return None
    e = numbers(f"restitution of {name!r}", restitution)
    if not ((e >= 0) & (e <= 1)).all():
        raise InvalidInputError(f"restitution of {name!r}: expected numbers from 0 to 1, got {e.tolist()}")
    return e if e.any() else None
