"""How far forces are from a solution of a frictional contact problem, written for reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukemi.model.arrays import Array

ROWS = {"contact": 3, "unilateral": 1, "bilateral": 1}


def project(z: Array, mu: float) -> Array:
    """The point of the cone |x_t| <= mu x_n nearest to z: itself, the tip, or on the side."""
    normal, tangent = z[0], np.linalg.norm(z[1:])
    if tangent <= mu * normal:
        return z
    if mu * tangent <= -normal:
        return np.zeros(3)
    x = (normal + mu * tangent) / (1 + mu**2)
    return np.array([x, *(mu * x * z[1:] / tangent)])


def residual(W: Array, q: Array, mu: Sequence[float], kinds: Sequence[str], r: Array) -> float:
    """max over the blocks of D |r - P_K(r - u^ / D)| / max |q| (1 where q is zero)."""
    u, worst, row, frictions = W @ r + q, 0.0, 0, iter(mu)
    for kind in kinds:
        at = slice(row, row + ROWS[kind])
        row = at.stop
        D = np.diag(W)[at].mean()
        if kind == "bilateral":
            worst = max(worst, abs(u[at][0]))
        elif kind == "unilateral":
            worst = max(worst, abs(D * r[at][0] - max(0.0, D * r[at][0] - u[at][0])))
        else:
            m = next(frictions)
            shifted = u[at] + np.array([m * np.linalg.norm(u[at][1:]), 0, 0])
            worst = max(worst, float(np.linalg.norm(D * r[at] - project(D * r[at] - shifted, m))))
    return worst / (np.abs(q).max(initial=0.0) or 1.0)
