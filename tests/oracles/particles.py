"""One step of springs and particles in plain NumPy, written for reading; what the core is checked and timed against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.particles import ParticleSystem
from ukemi.particles.checks import Array


@dataclass
class NumpyParticles:
    """Links only: particles, springs, dampers, gravity."""

    x: Array
    v: Array
    inverse_mass: Array
    a: NDArray[np.int_]
    b: NDArray[np.int_]
    length: Array
    stiffness: Array
    damping: Array
    gravity: Array

    @classmethod
    def of(cls, system: ParticleSystem) -> NumpyParticles:
        rows = system._link_rows()
        inverse = np.where(system.fixed, 0.0, 1 / system.mass)[:, None]
        a, b = rows[:, :2].astype(int).T
        length, stiffness, damping = rows[:, 2:].T
        return cls(system.x.copy(), system.v.copy(), inverse, a, b, length, stiffness, damping, system.gravity)

    def step(self, h: float) -> None:
        """Drift half a step, kick, drift half a step."""
        self.x += 0.5 * h * self.v
        d = self.x[self.b] - self.x[self.a]
        length = np.sqrt(np.einsum("ij,ij->i", d, d))
        u = d / length[:, None]
        speed = np.einsum("ij,ij->i", self.v[self.b] - self.v[self.a], u)
        pull = (self.stiffness * (length - self.length) + self.damping * speed)[:, None] * u  # [PART05] eq. 7-10
        n = len(self.x)  # bincount is several times faster than np.add.at
        f = np.stack([np.bincount(self.a, p, n) - np.bincount(self.b, p, n) for p in pull.T], axis=1)
        self.v += h * (self.inverse_mass * f + (self.inverse_mass > 0) * self.gravity)
        self.x += 0.5 * h * self.v
