"""Gait cycles: curves from one touch-down of a foot to its next, on one scale; peaks, times and symmetry of stances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ukemi.forces.plates import Stance
from ukemi.model.arrays import Array
from ukemi.motion.ground_forces import GroundForces

#: Samples of a cycle: every percent.
SAMPLES = 101


@dataclass(frozen=True)
class StancePeaks:
    """Of a whole stance [% of body weight] and [s]: duration, largest vertical force, braking and propulsion (largest
    force backwards and forwards), impulse of the vertical force [% of body weight s]."""

    foot: str
    touch_down: float
    duration: float
    vertical: float
    braking: float
    propulsion: float
    impulse: float


def normalised(time: Array, values: Array, foot: str, found: Sequence[Stance]) -> Array:
    """(cycles, 101, ...): values (n, ...) from each touch-down of a foot to its next."""
    downs = [s.touch_down for s in found if s.foot == foot and s.touch_down > time[0]]
    flat = values.reshape(len(time), -1)
    rows = []
    for first, last in pairwise(downs):
        if last > time[-1]:
            continue
        at = np.linspace(first, last, SAMPLES)
        rows.append(np.stack([np.interp(at, time, column) for column in flat.T], axis=1))
    shape = (len(rows), SAMPLES, *values.shape[1:])
    return np.array(rows).reshape(shape) if rows else np.zeros(shape)


def stance_peaks(forces: GroundForces, found: Sequence[Stance], forward: Array, weight: float) -> list[StancePeaks]:
    """Of every stance that the record has as a whole."""
    from scipy.integrate import trapezoid

    out = []
    for stance in found:
        if not stance.whole or stance.foot not in forces.names:
            continue
        k = forces.names.index(stance.foot)
        rows = (forces.time >= stance.touch_down) & (forces.time <= stance.release)
        if rows.sum() < 3:
            continue
        f = 100 * forces.force[rows, k] / weight
        ahead = f @ forward
        impulse = float(trapezoid(f[:, 2], forces.time[rows]))
        out.append(
            StancePeaks(
                stance.foot,
                stance.touch_down,
                stance.release - stance.touch_down,
                *(float(f[:, 2].max()), float(-ahead.min()), float(ahead.max()), impulse),
            )
        )
    return out


def symmetry(peaks: Sequence[StancePeaks], names: tuple[str, str]) -> dict[str, float]:
    """Quantity -> difference of the means of two feet, first less second, over the mean of both [%] (Robinson et al.
    1987); without a whole stance of each foot, nothing."""
    sides = [[p for p in peaks if p.foot == name] for name in names]
    if not all(sides):
        return {}
    out = {}
    for quantity in ("duration", "vertical", "braking", "propulsion", "impulse"):
        a, b = (float(np.mean([getattr(p, quantity) for p in side])) for side in sides)
        if a + b != 0:
            out[quantity] = 100 * (a - b) / (0.5 * (a + b))
    return out
