"""Through time: the step that is stable, samples of a run, a run that failed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ukemi.errors import InvalidInputError, SimulationError
from ukemi.particles.checks import Array, positive

if TYPE_CHECKING:
    from ukemi.particles.system import ParticleSystem

Control = Callable[[float, "ParticleSystem"], None]
METHODS = ("semi-implicit", "implicit")
#: The default step, as a share of the stable one: springs are then followed and not only survived.
SHARE = 0.5
#: The default implicit step, in stable ones.
IMPLICIT_STEPS = 20.0
#: Without any spring: the step [s] of free flight.
FREE_STEP = 1e-3


@dataclass(frozen=True, eq=False)
class Recording:
    """States at the sample times.

    Attributes:
        time: (k,) [s].
        x, v: (k, n, 3) places and velocities.
        angle, torque: (k, hinges) hinge angles [rad], torques given and of the drives [N m], without friction.
        floor_force: (k, n, 3) mean force of the floor since the sample before [N].
        energy: (k,) as `ParticleSystem.energy` [J].
        mass: (n,) [kg].
    """

    time: Array
    x: Array
    v: Array
    angle: Array
    torque: Array
    floor_force: Array
    energy: Array
    mass: Array

    @property
    def center_of_mass(self) -> Array:
        """(k, 3), of all particles."""
        com: Array = np.einsum("n,knc->kc", self.mass, self.x) / self.mass.sum()
        return com

    @property
    def center_of_pressure(self) -> Array:
        """(k, 2): where the vertical forces of the floor act; NaN while nothing touches."""
        f = self.floor_force[:, :, 2]
        total = f.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            cop: Array = np.einsum("kn,knc->kc", f, self.x[:, :, :2]) / np.where(total > 0, total, np.nan)[:, None]
        return cop


def step_for(system: ParticleSystem, duration: float, dt: float | None, method: str) -> tuple[int, float]:
    """Number and size of the steps that fill a duration.

    Raises:
        InvalidInputError: a step too large for the stiffness; the message says which would do.
    """
    if method not in METHODS:
        raise InvalidInputError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    stable = system.stable_step()
    if dt is None:
        wanted = stable * (SHARE if method == "semi-implicit" else IMPLICIT_STEPS)
        wanted = wanted if math.isfinite(wanted) else FREE_STEP
    else:
        wanted = positive("dt", dt)
        if method == "semi-implicit" and wanted > stable:
            raise InvalidInputError(
                f"dt: {wanted:g} s is too large for the stiffness; {stable:.3g} s would do, or method='implicit', "
                "or a larger stretch"
            )
    steps = max(1, math.ceil(duration / wanted * (1 - 1e-12)))
    return steps, duration / steps


def _check(system: ParticleSystem) -> None:
    n, h = len(system.x), len(system.hinges)
    shapes = {"x": (n, 3), "v": (n, 3), "force": (n, 3), "torque": (h,), "target": (h,), "target_rate": (h,)}
    for name, shape in shapes.items():
        a = np.ascontiguousarray(getattr(system, name), dtype=np.float64)
        if len(system.mass) != n or a.shape != shape:
            raise InvalidInputError(f"{name}: expected shape {shape}, got {a.shape} for {len(system.mass)} particles")
        if not np.isfinite(a).all():
            raise InvalidInputError(f"{name}: expected finite numbers, got {a[~np.isfinite(a)].ravel()[0]}")
        setattr(system, name, a)
    system.v[system.fixed] = 0.0


def advance(system: ParticleSystem, duration: float, dt: float | None, method: str) -> Array:
    _check(system)
    steps, h = step_for(system, positive("duration", duration), dt, method)
    return _advance(system, steps, h, method)


def _advance(system: ParticleSystem, steps: int, h: float, method: str) -> Array:
    drives = np.stack([system.torque, system.target, system.target_rate], axis=1)
    core = system.core
    done = core.advance(system.x, system.v, system.force, drives, h, steps, method == "implicit")
    system.time += done * h
    if done < steps:
        raise SimulationError(
            f"at t = {system.time:g} s the particles left the finite numbers within the next steps of {h:g} s: "
            "particles that meet, or a force without bound; the system holds the last good state",
            system.time,
            system.x.copy(),
            system.v.copy(),
        )
    mean: Array = core.floor_impulse() / (steps * h)
    return mean


def run(
    system: ParticleSystem, duration: float, dt: float | None, sample: float, control: Control | None, method: str
) -> Recording:
    _check(system)
    positive("duration", duration)
    sample = min(positive("sample", sample), duration)
    edges = np.minimum(np.arange(math.ceil(duration / sample - 1e-9) + 1) * sample, duration)
    start = system.time
    pushed = np.zeros_like(system.x)
    time, states = [system.time], [_sample(system, pushed)]
    for a, b in pairwise(edges):
        if control is not None:
            control(system.time, system)
            _check(system)
        steps, h = step_for(system, b - a, dt, method)
        try:
            pushed = _advance(system, steps, h, method)
        except SimulationError as error:
            error.recording = _recording(system, time, states)
            raise
        system.time = start + b
        time.append(system.time)
        states.append(_sample(system, pushed))
    return _recording(system, time, states)


def _sample(system: ParticleSystem, pushed: Array) -> tuple[Array, ...]:
    hinges = system.core.hinge_state(system.x, system.v)
    energy = np.array(system.energy())
    return system.x.copy(), system.v.copy(), hinges[:, 0], hinges[:, 2], pushed, energy


def _recording(system: ParticleSystem, time: list[float], states: list[tuple[Array, ...]]) -> Recording:
    x, v, angle, torque, pushed, energy = (np.stack(part) for part in zip(*states, strict=True))
    return Recording(np.array(time), x, v, angle, torque, pushed, energy, system.mass.copy())
