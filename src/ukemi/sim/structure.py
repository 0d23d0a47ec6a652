"""The present structure of a world and what it does: mobility, forward and inverse dynamics, forces in connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.chain.forward import minimal_forward_dynamics
from ukemi.chain.freedoms import actuated_freedoms
from ukemi.chain.inverse import Solution, Task, closed_inverse_dynamics, solve_mixture
from ukemi.chain.mobility import Mobility, find_mobility
from ukemi.dynamics.forward import mass_matrix
from ukemi.dynamics.inverse import inverse_dynamics as tree_inverse_dynamics
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics.momentum import energy
from ukemi.dynamics.wrenches import Wrenches, on_links
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, numbers
from ukemi.model.description import Description
from ukemi.model.kinds import items_of
from ukemi.model.model import Model
from ukemi.sim.connection import Connection, JointHandle
from ukemi.sim.limits import Stop
from ukemi.sim.tie import Tie
from ukemi.sim.torques import pushes

#: joints by name, index into v, or handle
Joints = Sequence[str | int | JointHandle]


class Structure:
    """Trees, the connections and ties between them, and one state. `World` changes it; here it is asked."""

    def __init__(self, gravity: ArrayLike) -> None:
        self._gravity = numbers("World.gravity", gravity, (3,))
        self.model = Model(Description("world"))
        self.q: Array = np.zeros(0)
        self.v: Array = np.zeros(0)
        #: torques (nv) that act now; connection wrenches are those under them
        self.tau: Array = np.zeros(0)
        #: wrenches on links that act now (`Simulation.external`)
        self.wrenches: Wrenches | None = None
        self.connections: list[Connection] = []
        #: constraints on joint coordinates that act now
        self.ties: list[Tie] = []
        #: joint limits that hold now; a simulation keeps them
        self.stops: list[Stop] = []
        #: counts changes of structure
        self.version = 0
        self._closed: _core.ClosedChain | None = None

    @property
    def gravity(self) -> Array:
        """(3,) in world axes [m/s^2]; may be set."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._gravity = numbers("World.gravity", value, (3,))
        self.version += 1

    @property
    def closed(self) -> _core.ClosedChain:
        """The core's view of the present structure."""
        if self._closed is None:
            self._closed = self.chain_without_stops([stop.limit.row for stop in self.stops])
        return self._closed

    def chain_without_stops(self, more: Sequence[_core.Tie] = ()) -> _core.ClosedChain:
        """The chain of connections and ties alone, and of more rows after them."""
        loops, ties = [c.loop for c in self.connections], [t.row for t in self.ties]
        return _core.ClosedChain(self.model.tree, loops, [*ties, *more])

    @property
    def is_closed(self) -> bool:
        """Whether anything besides the trees' own joints acts: connections, ties or joint limits."""
        return bool(self.connections or self.ties or self.stops)

    def rows_of(self, item: Connection | Tie) -> slice:
        """Where its rows stand among those of `closed`: connections first, then ties."""
        if isinstance(item, Tie):
            return slice(*self.closed.rows_of(len(self.connections) + self.ties.index(item)))
        return slice(*self.closed.rows_of(self.connections.index(item)))

    def link_pose(self, name: str) -> Array:
        """X_WL (4, 4) of a link, by its name in `World.model`."""
        pose: Array = link_poses(self.model, self.q)[self.model.link_index(name)]
        return pose

    def energy(self) -> float:
        """Kinetic and potential energy of everything, springs of connections included [J]."""
        own = float(energy(self.model, self.q, self.v, self.gravity))
        return own + (self.closed.wrenches(self.q, self.v, np.zeros(self.closed.rows))[0] if self.connections else 0.0)

    # --- forces of connections and ties -------------------------------------------------------------------------------

    def _forces(self) -> Array:
        """Constraint forces along all rows under the last torques; the least, where they are not determined."""
        _, forces = self.closed.dynamics(self.q, self.v, self.acting(), None, self.gravity)
        return self.closed.least_norm(forces)

    def acting(self) -> Array:
        """Torques (nv) that act now, with what wrenches on links do to the joints."""
        if self.wrenches is None:
            return self.tau
        return self.tau + pushes(self.model, self.q, on_links(self.model, self.wrenches))

    def connection_wrenches(self) -> Array:
        """(connections, 6): see `Connection.wrench`."""
        return self.closed.wrenches(self.q, self.v, self._forces())[1]

    def tie_force(self, tie: Tie) -> float:
        """See `Tie.force`."""
        return float(self._forces()[self.rows_of(tie)][0])

    def gap(self, item: Connection | Tie) -> float:
        """See `Connection.gap` and `Tie.gap`."""
        error, _ = self.closed.state(self.q, self.v)
        return float(np.abs(error[self.rows_of(item)]).max(initial=0.0))

    # --- dynamics -----------------------------------------------------------------------------------------------------

    def mobility(self, independent: Joints | None = None, actuated: Joints | None = None) -> Mobility:
        """What the structure can do now [SV00 II]; coordinates are chosen automatically unless given."""
        return find_mobility(
            self.model,
            [c.virtual(self.model) for c in self.connections if c.axial is None],
            {tie.name: tie.row for tie in self.ties},
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
            return closed.accelerations(self.q, self.v, torques, external, self._gravity)
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
        actuated: Joints | None = None,
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
        actuated: Joints | None = None,
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
            accelerations={} if accelerations is None else accelerations,
            tasks=tasks,
            torques={} if torques is None else torques,
            actuated=_joint_names(actuated),
        )


def _joint_names(items: Joints | None) -> list[str | int] | None:
    if items is None:
        return None
    given = items_of("actuated", items, "joints or their names")
    return [item.name if isinstance(item, JointHandle) else item for item in given]
