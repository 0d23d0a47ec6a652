"""Running a problem with several steps, and what that says of the integrator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.sim.simulation import Control, IntegratorName

State = tuple[Array, Array]


def states_at(
    model: uk.Model,
    q: Array,
    v: Array,
    times: list[float],
    dt: float,
    integrator: IntegratorName,
    control: Control | None = None,
    gravity: tuple[float, float, float] = (0, 0, -9.81),
    rtol: float = 1e-11,
) -> tuple[list[State], float]:
    """States at given times (multiples of dt within rounding), and the largest drift of the energy on the way."""
    world = uk.World(gravity)
    world.add(model, q=q, v=v)
    states, drift, start = [], 0.0, world.energy()
    for t in times:
        steps = max(1, round((t - world.time) / dt))
        sim = uk.Simulation(world, (t - world.time) / steps, integrator, rtol=rtol, atol=1e-13)
        recording = sim.run(t - world.time, control)
        drift = max(drift, float(np.abs(recording.energy - start).max()))
        states.append((world.q.copy(), world.v.copy()))
    return states, drift


def orders(error: Callable[[float], float], dt: float, halvings: int = 3) -> list[float]:
    """Observed orders from successive halvings of the step."""
    errors = [error(dt / 2**k) for k in range(halvings + 1)]
    return [float(np.log2(a / b)) for a, b in pairwise(errors)]
