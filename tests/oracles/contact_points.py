"""Contact forces point by point: the complementarity problem with round friction cones, by projection and repetition.

Unknowns are impulses f_i at points; u = B f + u_free. Normal: f_n >= 0, u_n >= 0, f_n u_n = 0. Friction:
|f_t| <= mu f_n, and f_t = -mu f_n u_t/|u_t| where the point slips. Written for reading: each point is projected onto
its cone in turn until nothing changes (Gauss and Seidel).
"""

from __future__ import annotations

import numpy as np

from ukemi.model.arrays import Array


def solve(B: Array, free: Array, mu: float, sweeps: int = 200_000, settled: float = 1e-14) -> Array:
    """f (n, 3) with rows (x, y, z) per point, z along the normal; B (3n, 3n), free (n, 3)."""
    n = len(free)
    f, u = np.zeros((n, 3)), free.astype(float).copy()
    blocks = [B[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(n)]
    for _ in range(sweeps):
        change = 0.0
        for i in range(n):
            own, old = blocks[i], f[i].copy()
            f[i, 2] = max(0.0, f[i, 2] - u[i, 2] / own[2, 2])
            u_t = u[i, :2] + own[:2, 2] * (f[i, 2] - old[2])
            wish = f[i, :2] - u_t / np.linalg.eigvalsh(own[:2, :2])[-1]
            length, most = float(np.linalg.norm(wish)), mu * f[i, 2]
            f[i, :2] = wish if length <= most else wish * (most / length)
            u += (B[:, 3 * i : 3 * i + 3] @ (f[i] - old)).reshape(n, 3)
            change = max(change, float(np.abs(f[i] - old).max()))
        if change <= settled * np.abs(f).max():
            break
    return f
