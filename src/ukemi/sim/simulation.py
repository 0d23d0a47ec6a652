"""Simulation: moves a world through time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.contact.reports import Contact, ContactReport
from ukemi.contact.scene import Scene
from ukemi.dynamics.forward import forward_dynamics
from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics.wrenches import Wrenches, on_links
from ukemi.errors import InvalidInputError, SimulationError, SingularError, UkemiError
from ukemi.model.arrays import Array, numbers, positive
from ukemi.model.kinds import truth
from ukemi.sim.events import advance_with_events
from ukemi.sim.limits import LimitKeeper
from ukemi.sim.recording import Recording
from ukemi.sim.torques import ConstantTorques, Pushed
from ukemi.sim.world import World

IntegratorName = Literal["semi-implicit", "implicit", "rk4", "adaptive"]
#: A run longer than this is a slip of the pen.
MOST_STEPS = 1e9
#: Touch-downs are located to this distance [m]; and when events are asked for, with what touched staying in contact up
#: to the second.
ACCEPTED = 1e-5
LOCATED, TOUCHING = 1e-11, 1e-6
#: Touch-downs that divide a step, without events and with them. What else touches in a step arrives at its end.
FEW, ALL = 2, 64
#: control(t, q, v) -> tau (nv)
Control = Callable[[float, Array, Array], ArrayLike]


class Simulation:
    """Integrates a world with a time step dt [s].

    integrator: "semi-implicit" (Euler, order 1: velocities, then positions by the new ones), "implicit" (the same with
    the joints' springs and dampers at the end of the step: stiff joints stay stable at any dt), "rk4" (order 4), or
    "adaptive" (Dormand-Prince 5(4), which takes as many steps inside each dt as the tolerances ask). All work on the
    configuration manifold: quaternions stay unit and no order is lost.
    limits: joints stop at their limits [HAND07 3.3]: the time is located within the step, the joint is held by a
    reaction that only pushes, speed comes back by the joint's restitution. False: joints ignore their limits.

    In a world with a terrain (or with collisions) every step is a contact step, whatever the integrator's name: the
    midpoint rule of order 2, divided where something touches down, with hard contacts, impacts and joint stops, and
    with the joints' springs and dampers implicit. Control is then asked once a step. events: all touch-downs are
    located to rounding and listed in the world's events (otherwise the first two of a step, to 10 um). trace:
    `report.trace` keeps the hypotheses of the last step.
    """

    def __init__(
        self,
        world: World,
        dt: float = 1e-3,
        integrator: IntegratorName = "semi-implicit",
        *,
        rtol: float = 1e-8,
        atol: float = 1e-10,
        limits: bool = True,
        events: bool = False,
        trace: bool = False,
    ) -> None:
        if not isinstance(world, World):
            raise InvalidInputError(f"Simulation: expected a World, got {world!r}")
        self.world = world
        self.dt = dt
        if not isinstance(integrator, str):
            raise InvalidInputError(
                f"integrator: expected 'implicit', 'semi-implicit', 'rk4' or 'adaptive', got {integrator!r}"
            )
        self.integrator = integrator
        rtol, atol = positive("rtol", rtol), positive("atol", atol)
        self.rtol, self.atol = rtol, atol
        self.events, self.trace = bool(events), bool(trace)
        #: wrenches on links, {link name: (6,)} in link coordinates, that act until changed; but for contact steps they
        #: are turned into torques by a callback, which is slower
        self.external: Wrenches | None = None
        self._evaluations = 0
        self._scene: Scene | None = None
        self._limits = bool(limits)
        self._keeper = LimitKeeper(world, integrator == "implicit") if limits and not world.touches else None
        if (not limits or world.touches) and world.stops:
            world.hold_limits([])
        self._core = self._integrator()

    @property
    def dt(self) -> float:
        """Of a step [s]."""
        return self._dt

    @dt.setter
    def dt(self, dt: float) -> None:
        self._dt = positive("dt", dt)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy goes on from a copy of the world; what was reported of the last step stays behind."""
        again = partial(
            Simulation,
            rtol=self.rtol,
            atol=self.atol,
            limits=self._limits,
            events=self.events,
            trace=self.trace,
        )
        return again, (self.world, self.dt, self.integrator), {"external": self.external}

    def _integrator(self) -> _core.Integrator:
        world = self.world
        self._version = world.version
        self._scene = world.checked_scene(self._limits) if world.touches else None
        if self._scene is not None:
            options = (LOCATED, TOUCHING, ALL) if self.events else (ACCEPTED, 2 * ACCEPTED, FEW)
            self._scene.engine.options(*options, self.trace)
        by_itself = self._keeper is not None and self._keeper.implicit  # limits are no part of its chain
        closed = None
        if by_itself and (world.connections or world.ties):
            closed = world.chain_without_stops()
        elif not by_itself and world.is_closed:
            closed = world.closed
        core = _core.Integrator(world.model.tree, self.integrator, world.gravity, self.rtol, self.atol, closed)
        if self._keeper is not None and by_itself:
            core.restitution, core.active = self._keeper.restitution, self._keeper.held
        return core

    @property
    def evaluations(self) -> int:
        """How often accelerations were computed so far."""
        return self._evaluations + self._core.evaluations

    @property
    def rough(self) -> int:
        """Adaptive steps of the present structure that kept less than the tolerance at the smallest step: near singular
        poses, and where torques jump."""
        return self._core.rough

    def reactions(self) -> dict[str, float]:
        """{limit: generalized force} of the joint limits that hold now, along the limit and positive [N m, N]; with
        implicit and contact steps those of the last step (of a swing: [N m] per its share)."""
        if self._scene is not None:
            return self._scene.reactions()
        stops = self.world.stops
        if self._keeper is None or not stops:
            return {}
        if self._keeper.implicit:
            forces = self._core.pushes()
            return {stop.limit.label: forces[stop.index] for stop in stops if stop.index in forces}
        return {stop.limit.label: float(f) for stop, f in zip(stops, self._keeper.reactions(), strict=True)}

    def step(self, control: Control | ConstantTorques | ArrayLike | None = None, steps: int = 1) -> None:
        """Moves the world by ``steps`` time steps; connections break and rules fire where they cross.

        Raises:
            SingularError: a joint that moves no inertia.
            SimulationError: the state left the finite numbers; it carries the last good one.
        """
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or not 0 <= steps <= MOST_STEPS:
            raise InvalidInputError(f"steps: expected a whole number up to {MOST_STEPS:g}, got {steps!r:.100}")
        control = self._lasting(control)
        if self.external is not None:
            numbers("external", on_links(self.world.model, self.external), (self.world.model.nlinks, 6))
        self.world.tau, self.world.wrenches = self._torques(control), self.external
        self._follow_structure()
        try:
            self._step(control, steps)
        except SimulationError as error:
            _require_inertia(self.world, error)
            raise

    def _step(self, control: Control | ConstantTorques | None, steps: int) -> None:
        while steps > 0:
            left = self.dt
            if not (self.world.rules or any(c.break_force is not None for c in self.world.connections)):
                if self._keeper is not None:
                    self._keeper.refresh()
                done, stopped = self._advance(control, self.dt, steps, self._keeper)
                steps -= done
                if self._keeper is not None and stopped >= 0:
                    self._keeper.settle()
                    left -= stopped
            if steps > 0:
                advance_with_events(self.world, self._advance, control, left, self._keeper)
                steps -= 1

    def _advance(
        self, control: Control | ConstantTorques | None, dt: float, steps: int = 1, keeper: LimitKeeper | None = None
    ) -> tuple[int, float]:
        """Moves the world without looking for events, or (keeper) up to where a limit is reached or left; implicit
        steps keep limits themselves. Returns the whole steps done and the time after them at which a limit stopped the
        motion (-1: none did). A changed structure gets a new integrator."""
        world = self.world
        if self._keeper is not None and self._keeper.implicit:
            keeper = self._keeper
            keeper.refresh()
        self._follow_structure()
        if self._scene is not None:
            self._advance_touching(self._scene, control, dt, steps)
            return steps, -1.0
        watched = (keeper.chain, keeper.held, keeper.outside) if keeper is not None and keeper.limits else ()
        now = control.of(world.model) if isinstance(control, ConstantTorques) else control
        if self.external is not None:
            now = Pushed(world.model, on_links(world.model, self.external), now)
        q, v, done, stopped = self._core.advance(world.time, world.q, world.v, dt, steps, now, *watched)
        if world.version != self._version:
            raise InvalidInputError("control: it must not connect or cut; give `when=` to connect and cut instead")
        world.q, world.v = q, v
        world.time += done * dt + max(stopped, 0.0)
        if keeper is not None and keeper.implicit:
            keeper.follow(self._core.take_changes(), self._core.active)
            self._version = world.version  # the integrator has followed already
        world.tau = self._torques(control)
        return done, stopped

    def _follow_structure(self) -> None:
        """A changed structure gets a new integrator, and a world that begins to touch its engine."""
        world = self.world
        if world.version == self._version:
            return
        if world.touches and self._keeper is not None:
            self._keeper = None
            if world.stops:
                world.hold_limits([])
        self._evaluations += self._core.evaluations
        self._core = self._integrator()

    def _advance_touching(self, scene: Scene, control: Control | ConstantTorques | None, dt: float, steps: int) -> None:
        """Contact steps; torques and wrenches are those at the start of each."""
        world = self.world
        at_once = 1 if callable(control) or self.events else steps
        external = None if self.external is None else on_links(world.model, self.external)
        for _ in range(steps // max(1, at_once)):
            world.tau = self._torques(control)
            q, v, done = scene.engine.advance(world.q, world.v, dt, at_once, world.tau, external, world.gravity)
            if world.version != self._version:
                raise InvalidInputError("control: it must not connect or cut; give `when=` to connect and cut instead")
            world.q, world.v = q, v
            if done < at_once:
                what = f"at t = {world.time + done * dt:g} s the state is no longer finite"
                raise SimulationError(what, world.time + done * dt, q, v)
            if self.events:
                times = scene.engine.report()["impact_times"]
                world.events += [{"time": world.time + at, "what": "impact"} for at in times]
            world.stepped(scene)
            world.time += at_once * dt

    @property
    def contacts(self) -> list[Contact]:
        """What touched in the last step, with its forces."""
        return [] if self._scene is None else self._scene.contacts()

    @property
    def report(self) -> ContactReport:
        """Certificate, trace and counts of the last call to `step` (or of the last sample of a run)."""
        if self._scene is None:
            raise InvalidInputError("report: nothing can touch in this world; set world.terrain")
        return self._scene.report()

    def _lasting(self, control: Control | ConstantTorques | ArrayLike | None) -> Control | ConstantTorques | None:
        """Torques that are given as numbers belong to the joints of the present structure."""
        if control is None or callable(control) or isinstance(control, ConstantTorques):
            return control
        model = self.world.model
        return ConstantTorques(model, numbers("control", control, (model.nv,)))

    def _torques(self, control: Control | ConstantTorques | None) -> Array:
        """Torques (nv) at the world's state."""
        world = self.world
        if control is None:
            return np.zeros(world.model.nv)
        if isinstance(control, ConstantTorques):
            return control.of(world.model).copy()
        asked = control(world.time, world.q, world.v)
        return np.array(numbers("what control(t, q, v) returned", asked, (world.model.nv,)))

    def run(
        self,
        duration: float,
        control: Control | ArrayLike | None = None,
        progress: bool = False,
        *,
        every: int = 1,
    ) -> Recording:
        """Runs for ``duration`` [s] and records every ``every``-th step, the first and the last state included.

        control: torques that stay (nv), or a function control(t, q, v) -> tau, asked wherever accelerations are
        needed; nothing: no torques. Torques that stay follow their joints when the structure changes. progress: a bar
        on the terminal. When a joint of a figure is cut during the run, q and v change their meaning: the recording
        then keeps the world's link poses and leaves q, v and tau at the structure of the start until the cut.

        Raises:
            SimulationError: the state left the finite numbers; it carries the last good one, and the recording so far.
        """
        world = self.world
        show = truth("progress", progress)
        samples = _samples(positive("duration", duration), self.dt, every)
        log = _Log(self, len(samples) + 1)
        start, done = world.time, 0
        lasting = self._lasting(control)
        try:
            with _bar(show, samples.sum()) as advance:
                world.tau = self._torques(lasting)
                log.note()
                for steps in samples:
                    self.step(lasting, int(steps))
                    done += int(steps)
                    world.time = start + done * self.dt  # no sum of rounding errors
                    log.note()
                    advance(int(steps))
        except SimulationError as error:
            error.recording = log.recording()
            raise
        return log.recording()


class _Log:
    """Collects samples of a run."""

    def __init__(self, simulation: Simulation, samples: int) -> None:
        self.simulation = simulation
        self.world = world = simulation.world
        self.model = world.model
        self.first_event = len(world.events)
        self.time, self.energy = np.empty(samples), np.empty(samples)
        self.q, self.v = np.full((samples, world.model.nq), np.nan), np.full((samples, world.model.nv), np.nan)
        self.tau = np.zeros_like(self.v)
        self.poses = np.empty((samples, world.model.nlinks, 4, 4))
        self.wrenches: dict[str, Array] = {}
        self.contacts: list[list[Contact]] = []
        self.count = 0

    def note(self) -> None:
        world, k = self.world, self.count
        self.time[k], self.energy[k] = world.time, world.energy()
        order = [world.model.link_index(name) for name in self.model.link_names]
        self.poses[k] = link_poses(world.model, world.q)[order]
        if (world.model.nq, world.model.nv) == (self.model.nq, self.model.nv):
            self.q[k], self.v[k], self.tau[k] = world.q, world.v, world.tau
        if world.connections:
            for connection, wrench in zip(world.connections, world.connection_wrenches(), strict=True):
                empty = np.full((len(self.time), 6), np.nan)
                self.wrenches.setdefault(connection.name, empty)[k] = wrench
        self.contacts.append(self.simulation.contacts if k else [])
        self.count += 1

    def recording(self) -> Recording:
        n = self.count
        return Recording(
            self.time[:n],
            self.q[:n],
            self.v[:n],
            self.tau[:n],
            self.energy[:n],
            self.poses[:n],
            {name: wrench[:n] for name, wrench in self.wrenches.items()},
            contacts=self.contacts[:n],
            events=self.world.events[self.first_event :],
            link_names=self.model.link_names,
            joint_names=self.model.joint_names,
        )


def _require_inertia(world: World, error: SimulationError) -> None:
    """A joint that moves nothing is the reason, where there is one, for a state that is no number."""
    try:
        forward_dynamics(world.model, error.q, np.zeros(world.model.nv), np.zeros(world.model.nv))
    except SingularError as reason:
        raise reason from error
    except UkemiError:
        return


def _samples(duration: float, dt: float, every: int) -> Array:
    """Steps between samples: ``every`` each, and what is left for the last."""
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise InvalidInputError(f"every: expected a whole number of at least 1, got {every!r}")
    if duration / dt > MOST_STEPS:
        raise InvalidInputError(f"duration: {duration:g} s in steps of {dt:g} s are more than {MOST_STEPS:g} steps")
    steps = max(1, round(duration / dt))
    full, rest = divmod(steps, every)
    return np.array([every] * full + ([rest] if rest else []))


def _bar(show: bool, total: float) -> Any:
    """A context that gives a function to call with the number of steps done."""
    if not show:
        return nullcontext(lambda steps: None)
    from ukemi.report.progress import progress_bar

    return progress_bar("simulating", float(total))
