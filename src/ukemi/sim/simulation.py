"""Simulation: moves a world through time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ukemi import _core
from ukemi.dynamics.momentum import energy
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, positive
from ukemi.sim.recording import Recording
from ukemi.sim.world import World

IntegratorName = Literal["semi-implicit", "rk4", "adaptive"]
#: control(t, q, v) -> tau (nv)
Control = Callable[[float, Array, Array], ArrayLike]


class Simulation:
    """Integrates a world with a time step dt [s].

    integrator: "semi-implicit" (Euler, order 1, symplectic), "rk4" (order 4), or "adaptive" (Dormand-Prince 5(4), which
    takes as many steps inside each dt as the tolerances ask). All work on the configuration manifold: quaternions stay
    unit and no order is lost.
    """

    def __init__(
        self,
        world: World,
        dt: float = 1e-3,
        integrator: IntegratorName = "semi-implicit",
        *,
        rtol: float = 1e-8,
        atol: float = 1e-10,
    ) -> None:
        if not isinstance(world, World):
            raise InvalidInputError(f"Simulation: expected a World, got {world!r}")
        self.world = world
        self.dt = positive("dt", dt)
        self.integrator = integrator
        self.rtol, self.atol = rtol, atol
        self._core = _core.Integrator(world.model.tree, integrator, world.gravity, rtol, atol)

    @property
    def evaluations(self) -> int:
        """How often accelerations were computed so far."""
        return self._core.evaluations

    def step(self, control: Control | ArrayLike | None = None, steps: int = 1) -> None:
        """Moves the world by ``steps`` time steps."""
        world = self.world
        world.q, world.v = self._core.advance(world.time, world.q, world.v, self.dt, steps, control)
        world.time += steps * self.dt

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
        needed; nothing: no torques. progress: a bar on the terminal.

        Raises:
            SimulationError: the state left the finite numbers; it carries the last good one.
        """
        world = self.world
        samples = _samples(positive("duration", duration), self.dt, every)
        n = len(samples) + 1
        time, q, v = np.empty(n), np.empty((n, world.model.nq)), np.empty((n, world.model.nv))
        tau = np.zeros_like(v)
        start = world.time
        done = 0
        with _bar(progress, samples.sum()) as advance:
            for i in range(n):
                time[i], q[i], v[i] = world.time, world.q, world.v
                if control is not None:
                    tau[i] = control(world.time, world.q, world.v) if callable(control) else control
                if i < len(samples):
                    steps = int(samples[i])
                    self.step(control, steps)
                    done += steps
                    world.time = start + done * self.dt  # no sum of rounding errors
                    advance(steps)
        return Recording(
            time,
            q,
            v,
            tau,
            energy(world.model, q, v, world.gravity),
            link_names=world.model.link_names,
            joint_names=world.model.joint_names,
        )


def _samples(duration: float, dt: float, every: int) -> Array:
    """Steps between samples: ``every`` each, and what is left for the last."""
    if every < 1:
        raise InvalidInputError(f"every: expected at least 1, got {every!r}")
    steps = max(1, round(duration / dt))
    full, rest = divmod(steps, every)
    return np.array([every] * full + ([rest] if rest else []))


def _bar(show: bool, total: float) -> Any:
    """A context that gives a function to call with the number of steps done."""
    if not show:
        return nullcontext(lambda steps: None)
    from ukemi.report.progress import progress_bar

    return progress_bar("simulating", float(total))
