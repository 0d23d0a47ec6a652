"""Steps without spikes: a walker's centre of mass asks for no more than a walker's ground forces.

Captures bounce more than people do: soft skin, legs of the wrong length and smoothing at the ends ask for spikes of 1.5
body weights and more, where force plates show humps of 1.0 to 1.3. Some millimetres of height are all it takes to have
them off: the least change d of the course with d'' = - excess, for what is faster than `SLOWEST`.
"""

from __future__ import annotations

import numpy as np

from ukemi.dynamics_filter.reference import Reference, runs
from ukemi.model.arrays import Array

GRAVITY = 9.81
#: What a step may ask for [body weights]; what asks for more than the second is a push or a landing, not a step.
STEP, PUSH = 1.3, 2.0
#: Slower changes of height than this stay as they are [Hz].
SLOWEST = 1.5
ROUNDS = 4


def soft_steps(reference: Reference) -> Reference:
    """The reference, its centre of mass without the spikes of its steps; itself if there are none."""
    c, dt = reference.centroid, reference.dt
    walks = reference.walks
    change = np.zeros(len(c))
    for _ in range(ROUNDS):
        weight = 1 + (_rate(c[:, 5], dt) + _rate(_rate(change, dt), dt)) / GRAVITY
        excess = np.where(walks, np.maximum(weight - STEP, 0.0), 0.0)
        for first, end in runs(excess > 0):
            if weight[first:end].max() > PUSH:
                excess[first:end] = 0.0
        if not excess.any():
            break
        change += _least_change(-GRAVITY * excess, dt)
    if not change.any():
        return reference
    soft = c.copy()
    soft[:, 2] += change
    soft[:, 5] += _rate(change, dt)
    reference.__dict__["centroid"] = soft
    return reference


def _rate(x: Array, dt: float) -> Array:
    rate: Array = np.gradient(x, dt) if len(x) > 1 else np.zeros(len(x))
    return rate


def _least_change(acceleration: Array, dt: float) -> Array:
    """d (n,) that minimises |d'' - acceleration|^2 + |w^2 d|^2, w = 2 pi SLOWEST."""
    from scipy.linalg import solveh_banded

    n = len(acceleration)
    if n < 5:
        return np.zeros(n)
    # normal equations, D^T D by diagonals: each row of D is (1, -2, 1) / dt^2
    bands, rhs = np.zeros((3, n)), np.zeros(n)
    bands[2] = (2 * np.pi * SLOWEST * dt) ** 4
    for i, a in enumerate((1, -2, 1)):
        rhs[i : n - 2 + i] += a * acceleration[1:-1] * dt**2
        for j, b in enumerate((1, -2, 1)[: i + 1]):
            bands[2 - i + j, i : n - 2 + i] += a * b
    return np.asarray(solveh_banded(bands, rhs))
