"""Which points bear when: what a force on a point costs, and the schedule that the forces found make."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.trajectory.setting import TrajectorySettings
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs, without_short_runs

Schedule = NDArray[np.bool_]
#: A point whose force would cost more than e to this cannot bear.
DEAREST = 8.0
#: Price of a doubtful contact, at most, in units of its rise.
PRICE_CAP = 10.0


def likelihood(above: Array, speed: Array, s: TrajectorySettings, leg: float, g: float) -> Array:
    """(n, np): minus the logarithm of how likely each point bears, from its height [m] and speed [m/s] over ground."""
    height, pace = np.maximum(above, 0) / (s.height * leg), speed / (s.speed * np.sqrt(g * leg))
    out: Array = height**2 + pace**2
    return out


def offence(above: Array, slip: Array, s: TrajectorySettings, leg: float, g: float) -> Array:
    """u (n, np): squared gap and slip in their units; slip (n, np, 3) along the ground."""
    gap, speed = s.gap * leg, s.slip * np.sqrt(g * leg)
    out: Array = (np.maximum(above, 0) / gap) ** 2 + ((slip / speed) ** 2).sum(axis=-1)
    return out


def price(u: Array, kappa: float) -> tuple[Array, Array]:
    """What a unit of normal force pays for the offence u of its point, and the derivative by u; it levels off at 10."""
    d = 1 + kappa * u / PRICE_CAP
    return kappa * u / d, kappa / d**2


def schedule_of(bears: Schedule, step: float, s: TrajectorySettings, tau: float) -> Schedule:
    """(n, np): points that bear, without short gaps and short contacts. step: between samples [s]."""
    on = bears.copy()
    for p in range(on.shape[1]):
        without_short_runs(on[:, p], round(s.fill * tau / step), value=False)
        without_short_runs(on[:, p], round(s.shortest * tau / step), value=True)
    return on


def widened(on: Schedule, samples: int) -> tuple[Schedule, Array]:
    """Contacts longer by some samples at both ends, so that one takes over from the other, and (n, np) how much each
    sample is inside: 1 in what was found, falling to 0 over what was added."""
    share = np.where(on, 1.0, 0.0)
    for k in range(1, samples + 1):
        fall = 1.0 - k / (samples + 1)
        share[k:] = np.maximum(share[k:], fall * on[:-k])
        share[:-k] = np.maximum(share[:-k], fall * on[k:])
    return share > 0, share


def sustained(size: Array, high: float, low: float, shortest: float, step: float) -> NDArray[np.bool_]:
    """(n,): runs in which a size stays above ``low`` and is above ``high`` for at least ``shortest`` [s] in all."""
    out = np.zeros(len(size), dtype=bool)
    for first, last in runs(size > low):
        if step * (size[first:last] > high).sum() >= shortest:
            out[first:last] = True
    return out
