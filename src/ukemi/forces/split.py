"""The forces that come nearest to a wrench: who bears how much, sample by sample. docs/forces.md states the problem.

    min  sum_p [ e^{u_p} |lambda_p|^2 + line |f_p - f_pn d_p|^2 ] + force |r_f|^2 + moment |r_m|^2,    lambda >= 0,

with r = w - sum_p (f_p, (p - root) x f_p), f_p = sum_e lambda_e e along the edges e of the friction pyramid, u_p how
unlikely a point bears, d_p the line from it to the base of its limb. Then each sample's forces are drawn to the mean of
their neighbours in time (Jacobi sweeps of the problem with a price on changes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi import _core
from ukemi.model.arrays import Array

#: Barriers of the bounds on forces, one after the other [BW^2]; sweeps that spread forces over time.
BARRIERS, SWEEPS = (1e-2, 1e-3, 1e-5), 15


@dataclass(frozen=True, eq=False)
class ForceSplit:
    """One problem per sample. wrench (n, 6): what the ground must exert [BW, BW l / 3] about the root; arm (n, np, 3)
    from there to the points [m]; normals (n, np, 3); cost (n, np): e^u, negative where a point cannot bear; lines
    (n, np, 3), one long along the normal; stiffness (6,): prices of what is left over; line, friction, spread: numbers,
    the last the price of a force's distance from the mean of its neighbours in time."""

    core: _core.Trajectory
    wrench: Array
    arm: Array
    normals: Array
    cost: Array
    lines: Array
    stiffness: Array
    line: float
    friction: float
    spread: float

    def solve(self) -> tuple[Array, Array]:
        """Forces (n, np, 3) [BW] and residual (n, 6) [BW, BW l / 3]."""
        n, points = self.cost.shape
        lam, dual = np.full((n, points, 4), 0.05), np.full((n, points, 4), 1e-3)
        solved = {"force": np.zeros((n, points, 3))}
        for barrier in BARRIERS:
            solved = self._step(lam, dual, barrier, solved["force"], 0.0)
        for _ in range(SWEEPS if self.spread > 0 else 0):
            beside = np.concatenate([solved["force"][:1], solved["force"], solved["force"][-1:]])
            solved = self._step(lam, dual, BARRIERS[-1], 0.5 * (beside[:-2] + beside[2:]), self.spread)
        return solved["force"], solved["residual"]

    def _step(self, lam: Array, dual: Array, barrier: float, target: Array, spread: float) -> dict[str, Array]:
        n = len(self.cost)
        out: dict[str, Array] = self.core.forces(
            *(self.wrench, self.arm, self.normals, self.cost, np.zeros_like(self.cost), target),
            *(self.lines, np.zeros((n, 6)), np.tile(self.stiffness, (n, 1)), lam, dual),
            np.array([self.line, spread, self.friction, barrier]),
        )
        return out
